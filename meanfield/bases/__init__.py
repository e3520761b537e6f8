"""Bases: densities as series, on grids where they are exact."""
