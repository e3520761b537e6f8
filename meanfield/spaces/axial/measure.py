"""sigma as a law of the polar angle: density c sin^{d-2}(theta), distribution, primitives.

    c = Gamma(d/2) / (sqrt(pi) Gamma((d-1)/2)),
    int_0^theta Y_l dsigma = -c sin^{d-2}(theta) Y_l'(theta) / (l(l+d-2)),      l >= 1,

the second from the equation of Y_l, (sin^{d-2} Y_l')' = -l(l+d-2) sin^{d-2} Y_l.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from meanfield.arrays import EPS, FloatArray, ModalArray
from meanfield.spaces.manifold import laplacian_eigenvalues

# Rounding of a distribution function up to which masses are masses.
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
    """Mass of a density within polar angles in [0, pi]."""
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
    """Refuse coefficients so large that the masses they add up to are their rounding, eps |f|."""
    noise = EPS * float(np.linalg.norm(coefficients))
    if noise > _MOST_NOISE:
        raise ValueError(
            f"the coefficients of this density on axial:{d} are so large that its masses are known "
            f"to {noise:.1e} only: take a flatter density, or its points or tokens."
        )
