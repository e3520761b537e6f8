"""Files as such, whatever they hold: replaced at once, and not torn by signals."""
