"""What figures show of runs and studies, computed before anything is drawn; no matplotlib here."""
