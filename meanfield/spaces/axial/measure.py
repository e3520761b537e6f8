"""Uniform measure sigma as a law of the polar angle; distribution and quantiles of densities.

    sigma = c sin^{d-2}(theta) dtheta,    c = Gamma(d/2) / (sqrt(pi) Gamma((d-1)/2)),
    int_0^theta Y_l dsigma = -c sin^{d-2}(theta) Y_l'(theta) / (l(l+d-2)),      l >= 1.

The last line follows from (sin^{d-2} Y_l')' = -l(l+d-2) sin^{d-2} Y_l.

Label space has panels of Gauss-Legendre nodes, as on the circle, but on [0, pi] and with the
weights of sigma.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from meanfield.arrays import EPS, FloatArray, ModalArray
from meanfield.spaces.circle.panels import Panels, equal_bounds
from meanfield.spaces.manifold import laplacian_eigenvalues

# Largest rounding error of masses that is accepted.
_MOST_NOISE = 1e-6


@lru_cache(maxsize=64)
def scale(d: int) -> float:
    """Density c of sigma at the equator."""
    # Gamma(x + 1/2) / Gamma(x) step by step: no digits are lost as in differences of logarithms.
    c = 1.0 / math.pi if d % 2 == 0 else 0.5
    for n in range(4 if d % 2 == 0 else 5, d + 1, 2):
        c *= (n - 2) / (n - 3)
    return c


def height(d: int, angles: FloatArray) -> FloatArray:
    """Density of sigma in the polar angle, c |sin|^{d-2}."""
    with np.errstate(under="ignore"):
        return np.asarray(scale(d) * np.abs(np.sin(angles)) ** (d - 2))


def cumulative(d: int, coefficients: ModalArray, angles: FloatArray) -> FloatArray:
    """Mass of a density within each of some polar angles in [0, pi]."""
    from scipy.special import betainc

    from meanfield.bases.gegenbauer import series

    cap = 0.5 * betainc(0.5 * (d - 1), 0.5, np.sin(angles) ** 2)
    uniform = np.where(angles <= 0.5 * np.pi, cap, 1.0 - cap)
    f = np.real(coefficients)
    if len(f) < 2:
        return np.asarray(f[0] * uniform)
    primitive = np.concatenate([[0.0], f[1:] / laplacian_eigenvalues(d - 1, len(f) - 1)[1:]])
    return np.asarray(f[0] * uniform - height(d, angles) * series.gradient(d, primitive, angles))


def check_distribution(d: int, coefficients: ModalArray) -> None:
    """Refuse coefficients f so large that their rounding eps |f| hides masses."""
    noise = EPS * float(np.linalg.norm(coefficients))
    if noise > _MOST_NOISE:
        raise ValueError(
            f"the coefficients of this density on axial:{d} are so large that its masses are known "
            f"to {noise:.1e} only: take a flatter density, or its points or tokens."
        )


# Least number of angles in the table, and number for each degree; largest number of steps.
_TABLE, _A_DEGREE = 2048, 16
_STEPS = 60
_CLOSE = 1e-15
_AT_ONCE = 2**16


def polar_angles(d: int, coefficients: ModalArray, levels: FloatArray) -> FloatArray:
    """Polar angles within which a density has the masses `levels`, each in [0, 1].

    Newton's method between bounds, from a table of `cumulative`.
    """
    check_distribution(d, coefficients)
    count = max(_TABLE, _A_DEGREE * len(coefficients), int(_A_DEGREE * np.sqrt(d)))
    edges = np.linspace(0.0, np.pi, count + 1)
    # Where almost no mass is, rounding may decrease the sums.
    table = np.maximum.accumulate(np.clip(cumulative(d, coefficients, edges), 0.0, 1.0))
    angles = np.empty(len(levels))
    for start in range(0, len(levels), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        angles[part] = _inverted(d, coefficients, levels[part], edges, table)
    return angles


def _inverted(
    d: int,
    coefficients: ModalArray,
    levels: FloatArray,
    edges: FloatArray,
    table: FloatArray,
) -> FloatArray:
    from meanfield.bases.gegenbauer import series

    cell = np.clip(np.searchsorted(table, levels, side="right") - 1, 0, len(edges) - 2)
    low, high = edges[cell].copy(), edges[cell + 1].copy()
    rise = table[cell + 1] - table[cell]
    share = np.divide(levels - table[cell], rise, out=np.full(len(levels), 0.5), where=rise > 0.0)
    theta = low + np.clip(share, 0.0, 1.0) * (high - low)
    left = np.arange(len(levels))
    for _ in range(_STEPS):
        at = theta[left]
        miss = cumulative(d, coefficients, at) - levels[left]
        below = miss < 0.0
        low[left] = np.where(below, at, low[left])
        high[left] = np.where(below, high[left], at)
        slope = height(d, at) * series.values(d, np.real(coefficients), at)
        step = np.divide(miss, slope, out=np.full(len(left), np.inf), where=slope > 0.0)
        to = at - step
        inside = (to >= low[left]) & (to <= high[left])
        to = np.where(inside, to, 0.5 * (low[left] + high[left]))
        theta[left] = to
        left = left[np.abs(to - at) > _CLOSE * np.pi]
        if not len(left):
            break
    return np.asarray(theta)


# Longest panel in widths 1/sqrt(d) of sigma about the equator: 16 nodes integrate it to 1e-15.
_WIDTHS = 2.0


@dataclass(frozen=True, eq=False)
class AxialPanels(Panels):
    """Panels of [0, pi], each with 16 nodes."""

    ambient: int = 2  # d of S^{d-1}
    end = np.pi

    def _of_sigma(self, lengths: FloatArray) -> FloatArray:
        return lengths * height(self.ambient, self.points)

    def _next(self, first: float) -> float:
        return np.inf


def axial_panels(d: int, length: float) -> AxialPanels:
    """Equal panels of at most `length` radians, short enough for sigma."""
    return AxialPanels(equal_bounds(np.pi, min(length, _WIDTHS / np.sqrt(d))), d)
