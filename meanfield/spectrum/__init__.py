"""Linear theory: growth rates, onset times and cluster counts, without a run."""
