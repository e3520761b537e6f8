"""Pure functions of a problem: what is known without a simulation."""
