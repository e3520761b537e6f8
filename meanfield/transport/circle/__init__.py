"""Exact distances on the circle."""
