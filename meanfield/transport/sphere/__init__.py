"""Certified distances on the sphere."""
