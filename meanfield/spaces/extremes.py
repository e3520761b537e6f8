"""Lowest value of a field, and a bound above all its values; one door.

Loads ducc0: import it where it is used.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.bases.fourier import CircleGrid
from meanfield.bases.gegenbauer.harmonics import roots
from meanfield.spaces.manifold import Manifold, of_space
from meanfield.spaces.sphere.extremes import OVERSAMPLING
from meanfield.spaces.sphere.extremes import extremes as on_sphere


def extremes(space: Manifold, coefficients: ModalArray) -> tuple[float, FloatArray | float, float]:
    """Lowest value on a grid four times finer than the degree needs, where it is, and a bound.

    No value, anywhere, has a larger modulus than the bound.
    """
    if space.has_rings:
        return _axial(space, coefficients)
    return of_space(_EXTREMES, space, "bound of fields")(coefficients)


def _axial(space: Manifold, coefficients: ModalArray) -> tuple[float, float, float]:
    """Extremes of a zonal field, at equal angles from pole to pole; |Y_l| <= sqrt(N_l)."""
    degree = space.degree_of(coefficients)
    angles = np.linspace(0.0, np.pi, 2 * OVERSAMPLING * max(degree, 1) + 1)
    values = space.evaluate(coefficients, angles)
    lowest = int(np.argmin(values))
    bound = float(np.abs(coefficients) @ roots(space.ambient, degree))
    return float(values[lowest]), float(angles[lowest]), bound


def on_circle(coefficients: ModalArray) -> tuple[float, float, float]:
    """Extremes on the circle.

    A trigonometric polynomial is at most its maximum on a grid q times finer than its degree
    needs, divided by cos(pi / (2 q)) (Ehlich and Zeller 1964).
    """
    grid = CircleGrid(OVERSAMPLING * max(len(coefficients) - 1, 1))
    values = grid.to_nodal(coefficients)
    lowest = int(np.argmin(values))
    bound = float(np.abs(values).max()) / float(np.cos(np.pi / (2 * OVERSAMPLING)))
    return float(values[lowest]), float(grid.points[lowest]), bound


_EXTREMES: dict[str, Callable[[ModalArray], tuple[float, FloatArray | float, float]]] = {
    "circle": on_circle,
    "sphere": on_sphere,
}
