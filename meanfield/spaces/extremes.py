"""Lowest value of a field, and a bound on its modulus. Loads ducc0: import it where it is used.

On a great circle a field of degree L is a trigonometric polynomial p of degree L. Its values on N
equispaced points bound it: max |p| <= max_j |p(x_j)| / cos(pi L / N) (Ehlich and Zeller 1964).
A grid equispaced in both angles, poles included, consists of parallels, where the same holds, and
of meridians, pairs of which are great circles. So the factor enters twice.
"""

from __future__ import annotations

from collections.abc import Callable

import ducc0
import numpy as np

from meanfield.arrays import ComplexArray, FloatArray, ModalArray
from meanfield.bases.fourier import CircleGrid
from meanfield.bases.gegenbauer.harmonics import roots
from meanfield.engines.harmonics.coefficients import degree_of
from meanfield.engines.harmonics.margin import SCALE, arguments, with_margin
from meanfield.engines.threads import threads
from meanfield.spaces.manifold import Manifold, of_space

OVERSAMPLING = 4
# Points of a strip of rings, so that memory stays small at any degree.
_STRIP = 2**21
_TRANSFORM_NOISE = 1e-12


def on_sphere(coefficients: ComplexArray) -> tuple[float, FloatArray, float]:
    """Extremes of a real field on the sphere, as `extremes` returns them."""
    degree = degree_of(coefficients)
    # Half as many intervals from pole to pole as points on a parallel: meridians form circles.
    length = 2 * int(ducc0.fft.good_size(OVERSAMPLING * max(degree, 1), True))
    rings = length // 2
    alm = with_margin(SCALE * np.asarray(coefficients), degree)
    lowest, largest, where = np.inf, 0.0, (0, 0)
    for chosen in _strips(rings, max(_STRIP // length, 1)):
        values = ducc0.sht.synthesis(
            alm=alm,
            **arguments(degree),
            theta=np.pi * chosen / rings,
            nphi=np.full(len(chosen), length, dtype=np.uint64),
            phi0=np.zeros(len(chosen)),
            ringstart=length * np.arange(len(chosen), dtype=np.uint64),
            nthreads=threads(),
        )[0]
        position = int(np.argmin(values))
        # A NaN replaces every number and is never replaced.
        if values[position] < lowest or np.isnan(values[position]):
            lowest = float(values[position])
            where = int(chosen[position // length]), position % length
        largest = max(largest, float(np.abs(values).max()), key=_nan_is_largest)
    theta, phi = np.pi * where[0] / rings, 2.0 * np.pi * where[1] / length
    sine = 0.0 if where[0] in (0, rings) else np.sin(theta)
    point = np.array([sine * np.cos(phi), sine * np.sin(phi), np.cos(theta)])
    margin = (1.0 + _TRANSFORM_NOISE) / float(np.cos(np.pi * degree / length)) ** 2
    return lowest, point, largest * margin


def _strips(rings: int, size: int) -> list[np.ndarray]:
    """Rings 0 ... rings in strips, each with its mirror image: ducc0 computes both at once."""
    near = np.arange(rings // 2 + 1)
    strips = []
    for begin in range(0, len(near), size):
        north = near[begin : begin + size]
        strips.append(np.unique(np.concatenate([north, rings - north])))
    return strips


def _nan_is_largest(value: float) -> float:
    return np.inf if np.isnan(value) else value


def extremes(space: Manifold, coefficients: ModalArray) -> tuple[float, FloatArray | float, float]:
    """Lowest value of a field on a fine grid, its point, and a bound on all moduli of the field.

    The grid is at least four times as fine as the degree needs.
    """
    if space.has_rings:
        return _axial(space, coefficients)
    return of_space(_EXTREMES, space, "bound of fields")(coefficients)


def _axial(space: Manifold, coefficients: ModalArray) -> tuple[float, float, float]:
    """Extremes of a zonal field; the bound uses |Y_l| <= sqrt(N_l)."""
    degree = space.degree_of(coefficients)
    angles = np.linspace(0.0, np.pi, 2 * OVERSAMPLING * max(degree, 1) + 1)
    values = space.evaluate(coefficients, angles)
    lowest = int(np.argmin(values))
    bound = float(np.abs(coefficients) @ roots(space.ambient, degree))
    return float(values[lowest]), float(angles[lowest]), bound


def on_circle(coefficients: ModalArray) -> tuple[float, float, float]:
    """Extremes on the circle. The bound is that of 8 L nodes; the grid has over 12 L."""
    grid = CircleGrid(OVERSAMPLING * max(len(coefficients) - 1, 1))
    values = grid.to_nodal(coefficients)
    lowest = int(np.argmin(values))
    bound = float(np.abs(values).max()) / float(np.cos(np.pi / (2 * OVERSAMPLING)))
    return float(values[lowest]), float(grid.points[lowest]), bound


_EXTREMES: dict[str, Callable[[ModalArray], tuple[float, FloatArray | float, float]]] = {
    "circle": on_circle,
    "sphere": on_sphere,
}
