"""Lowest value of a field, and a bound above all its values; one door.

Loads ducc0: import it where it is used.

On a great circle a field of degree L is a trigonometric polynomial of degree L. On N points
equally spaced on it the largest modulus is missed by a factor of at most 1 / cos(pi L / N)
(Ehlich and Zeller 1964). Points equally spaced in both angles, poles included, lie on parallels,
where the same holds, and on meridians, which close to great circles: the factor enters twice.
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
# A strip of rings has about this many points, so that memory stays small at any degree.
_STRIP = 2**21
_TRANSFORM_NOISE = 1e-12


def on_sphere(coefficients: ComplexArray) -> tuple[float, FloatArray, float]:
    """Lowest value on a grid four times finer than the degree needs, where, and a bound.

    coefficients ((L + 1)(L + 2) / 2,): of a real field.

    Returns lowest: lowest value on the grid; where (3,): unit vector of that point; bound: no
    value, anywhere, has a larger modulus.
    """
    degree = degree_of(coefficients)
    # Half as many intervals from pole to pole as points around: meridians close.
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
        # Written so that a NaN, once met, stays.
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
    """Rings 0 ... rings in strips, each ring with its mirror image: ducc0 makes both at once."""
    near = np.arange(rings // 2 + 1)
    strips = []
    for begin in range(0, len(near), size):
        north = near[begin : begin + size]
        strips.append(np.unique(np.concatenate([north, rings - north])))
    return strips


def _nan_is_largest(value: float) -> float:
    return np.inf if np.isnan(value) else value


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
