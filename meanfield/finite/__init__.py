"""What finitely many tokens do: a run linearised, forwards, backwards, and to second order."""
