"""Sweeps: a run file over a product of values, each member a run file of its own in one folder."""
