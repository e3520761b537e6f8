"""Gegenbauer polynomials of the height: the basis of axial densities on S^{d-1}, any d."""
