"""Studies of many runs: ensembles, comparisons, sweeps, phase diagrams."""
