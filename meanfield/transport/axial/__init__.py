"""Distances between axial measures, by their laws of the polar angle."""
