"""Measures on S^{d-1} that are symmetric about an axis: laws of the angle to it."""
