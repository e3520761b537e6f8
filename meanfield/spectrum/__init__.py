"""Linear theory: growth rates, onset and cluster counts before any run."""
