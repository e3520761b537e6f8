"""Finitely many tokens: a run linearised, forwards, backwards, and to second order."""
