"""Spaces: geometry and transforms, a folder each; doors to what only some of the package needs."""

from collections.abc import Callable

from meanfield.errors import nearest
from meanfield.manifolds.circle.circle import Circle
from meanfield.manifolds.grid import Grid
from meanfield.manifolds.manifold import Basis, Manifold, Space
from meanfield.manifolds.sphere.sphere import Sphere

__all__ = [
    "MANIFOLDS",
    "Basis",
    "Circle",
    "Grid",
    "Manifold",
    "Space",
    "Sphere",
    "manifold_of",
]

MANIFOLDS: dict[str, Callable[[], Manifold]] = {"circle": Circle, "sphere": Sphere}
"""Manifolds on which measures evolve."""

_LARGEST_AMBIENT_DIMENSION = 10**6


def manifold_of(name: str) -> Circle | Sphere:
    """Manifold by the name that the command line takes: circle, sphere or sphere:D in R^D.

    Raises
    ------
    ValueError
        If the name is another one.

    Examples
    --------
    >>> manifold_of("sphere:3").name, manifold_of("sphere:4")
    ('sphere', Sphere(4))
    """
    if name in ("circle", "sphere:2"):
        return Circle()
    if name == "sphere":
        return Sphere()
    prefix, _, ambient = name.partition(":")
    digits = prefix == "sphere" and ambient.isascii() and ambient.isdigit()
    if digits and 2 <= int(ambient) <= _LARGEST_AMBIENT_DIMENSION:
        return Sphere(int(ambient))
    near = nearest(name, ["circle", "sphere"])
    meant = f"Did you mean {near}? " if near else ""
    raise ValueError(
        f"manifold {name} is not known. {meant}Known: circle, sphere, sphere:D with 2 <= D <= "
        f"{_LARGEST_AMBIENT_DIMENSION}."
    )
