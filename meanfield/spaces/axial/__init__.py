"""Measures on S^{d-1} that no rotation about an axis changes: laws of the angle to it."""
