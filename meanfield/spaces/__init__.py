"""Spaces: geometry and transforms, a folder for each family."""

from collections.abc import Callable

from meanfield.bases.grid import Grid
from meanfield.errors import nearest
from meanfield.spaces.axial.axial import LARGEST_AMBIENT, Axial
from meanfield.spaces.circle.circle import Circle
from meanfield.spaces.euclidean import Euclidean
from meanfield.spaces.manifold import Basis, Geometry, Manifold
from meanfield.spaces.sphere.sphere import Sphere

__all__ = [
    "MANIFOLDS",
    "Axial",
    "Basis",
    "Circle",
    "Grid",
    "Manifold",
    "Geometry",
    "Euclidean",
    "Sphere",
    "density_space",
    "manifold_of",
    "named_space",
]

MANIFOLDS: dict[str, Callable[[], Manifold]] = {"circle": Circle, "sphere": Sphere}
"""Manifolds with a series for any density."""

_LARGEST_AMBIENT_DIMENSION = 10**6
_BY_DIMENSION: dict[str, tuple[int, int, Callable[[int], Manifold]]] = {
    "sphere": (2, _LARGEST_AMBIENT_DIMENSION, lambda d: Circle() if d == 2 else Sphere(d)),
    "axial": (2, LARGEST_AMBIENT, Axial),
    "space": (1, _LARGEST_AMBIENT_DIMENSION, Euclidean),
}


def manifold_of(name: str) -> Manifold:
    """Manifold of a name in a run file or command.

    Names are circle, sphere, sphere:D (unit sphere of R^D), axial:D (its densities with an axis)
    and space:D (R^D).
    """
    if name in MANIFOLDS:
        return MANIFOLDS[name]()
    prefix, _, number = name.partition(":")
    if prefix in _BY_DIMENSION and number.isascii() and number.isdigit():
        least, most, make = _BY_DIMENSION[prefix]
        if least <= int(number) <= most:
            return make(int(number))
    near = nearest(name, [*MANIFOLDS, *_BY_DIMENSION])
    meant = f"Did you mean {near}? " if near and prefix not in _BY_DIMENSION else ""
    rest = ", ".join(
        f"{each}:D with D = {least} to {most:,}" for each, (least, most, _) in _BY_DIMENSION.items()
    )
    raise ValueError(f"manifold {name} is not known. {meant}Known: circle, sphere, {rest}.")


def named_space(name: str) -> Manifold:
    """Manifold of a name in a result: "sphere:2" has vectors there, not angles.

    >>> named_space("sphere:2"), manifold_of("sphere:2")
    (Sphere(2), Circle())
    """
    return Sphere(2) if name == Sphere(2).name else manifold_of(name)


def density_space(space: Manifold) -> Manifold:
    """Space of densities for tokens on a space: `Axial` for spheres without a series.

    >>> density_space(Sphere(8)), density_space(Sphere(3)), density_space(Euclidean(2))
    (Axial(8), Sphere(), Euclidean(2))
    """
    if not space.has_series and space.is_sphere:
        return Axial(space.ambient)
    return space
