"""Axial densities on spheres of any dimension: Gegenbauer polynomials of the height."""
