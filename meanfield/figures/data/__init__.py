"""Data of figures of runs and studies, computed before anything is drawn; no matplotlib."""
