"""Manifolds: geometry and transforms, one file each, one protocol."""

from collections.abc import Callable

from meanfield.manifolds.circle.circle import Circle
from meanfield.manifolds.hypersphere import Hypersphere
from meanfield.manifolds.manifold import Grid, Manifold

__all__ = ["MANIFOLDS", "Circle", "Grid", "Hypersphere", "Manifold"]

MANIFOLDS: dict[str, Callable[[], Manifold]] = {"circle": Circle}
"""Manifolds on which measures evolve."""
