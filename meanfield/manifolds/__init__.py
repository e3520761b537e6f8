"""Manifolds: geometry and transforms, one file each, one protocol."""

from collections.abc import Callable

from meanfield.manifolds.circle.circle import Circle
from meanfield.manifolds.grid import Grid
from meanfield.manifolds.hypersphere import Hypersphere
from meanfield.manifolds.manifold import Manifold
from meanfield.manifolds.sphere.sphere import Sphere

__all__ = ["MANIFOLDS", "Circle", "Grid", "Hypersphere", "Manifold", "Sphere", "manifold_of"]

MANIFOLDS: dict[str, Callable[[], Manifold]] = {"circle": Circle, "sphere": Sphere}
"""Manifolds on which measures evolve."""

_LARGEST_AMBIENT_DIMENSION = 10**6


def manifold_of(name: str) -> Manifold | Hypersphere:
    """Manifold by the name that the command line takes: circle, sphere or sphere:D in R^D.

    Raises
    ------
    ValueError
        If the name is another one.

    Examples
    --------
    >>> manifold_of("sphere:3").name, manifold_of("sphere:4")
    ('sphere', Hypersphere(dimension=3))
    """
    same = {"sphere:2": "circle", "sphere:3": "sphere"}.get(name, name)
    if same in MANIFOLDS:
        return MANIFOLDS[same]()
    prefix, _, ambient = name.partition(":")
    digits = prefix == "sphere" and ambient.isascii() and ambient.isdigit()
    if digits and 2 <= int(ambient) <= _LARGEST_AMBIENT_DIMENSION:
        return Hypersphere(int(ambient) - 1)
    raise ValueError(
        f"manifold {name} is not known. Known: circle, sphere, sphere:D with 2 <= D <= "
        f"{_LARGEST_AMBIENT_DIMENSION}."
    )
