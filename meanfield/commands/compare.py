"""`meanfield compare`: particle systems against their mean-field limit, in Wasserstein distance."""
def add_arguments(c): c.add_argument("config")
def execute(o): return 0
