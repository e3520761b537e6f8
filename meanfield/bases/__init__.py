"""Bases: series of densities, with grids on which their products are exact."""
