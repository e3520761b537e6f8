"""Distances between axial measures: those of their laws of the polar angle."""
