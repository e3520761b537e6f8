"""Multipliers of any zonal function by quadrature, also the oracle of closed forms.

Funk-Hecke on S^m, d = m + 1, with p_l the Gegenbauer polynomial of value 1 at s = 1:

    a_l = int_0^pi a(cos t) p_l(cos t) sin^{d-2}(t) dt / int_0^pi sin^{d-2}(t) dt.

In the angle t the integrand of a smooth kernel is smooth for every d, also odd ones, and
Gauss-Legendre converges faster than any power.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from meanfield.arrays import EPS, FloatArray

_LARGEST_RULE = 2**15
# Two rules that agree to this share of the mean of |a|: 64 eps for their sums.
_AGREEMENT = 64 * EPS
# A narrow kernel magnifies the rounding of s, and rules agree only to that. Accepted below this
# share only, which no kernel with a kink reaches.
_PLATEAU = 1e-11

_FIRST = "give the first of its multipliers on the circle, mf.zonal(multipliers=[...])."
SMOOTHER = f"Round its corners, as np.logaddexp(0, 50 * s) / 50 for np.maximum(s, 0), or {_FIRST}"
"""Advice for a kernel that is not smooth."""
WIDER = f"Widen it, or {_FIRST}"
"""Advice for a kernel that is too narrow."""


def zonal_multipliers(
    function: Callable[[FloatArray], FloatArray], dimension: int, max_degree: int
) -> FloatArray:
    """Multipliers (max_degree + 1,) of a zonal function on the sphere of the given dimension.

    Absolute error about 1e-14 of the mean of |a|, or eps max|a'| for a narrow kernel.

    >>> zonal_multipliers(lambda s: s**2, 2, 2).round(6)
    array([0.333333, 0.      , 0.133333])
    """
    nodes = max(64, 2 * max_degree + 2)
    coarse, _ = _rule(function, dimension, max_degree, nodes)
    before = np.inf
    while nodes <= _LARGEST_RULE:
        nodes *= 2
        fine, size = _rule(function, dimension, max_degree, nodes)
        change = np.abs(fine - coarse).max()
        if change <= _AGREEMENT * size or before / 4 < change <= _PLATEAU * size:
            return fine
        coarse, before = fine, change
    raise ValueError(
        f"the kernel is not smooth enough: quadrature of its multipliers stalls. {SMOOTHER}"
    )


def _rule(
    function: Callable[[FloatArray], FloatArray], dimension: int, max_degree: int, nodes: int
) -> tuple[FloatArray, float]:
    """Multipliers by Gauss-Legendre with that many nodes, and the mean of |a|."""
    import ducc0

    d = dimension + 1
    # Gauss-Legendre in x = cos(thetas) on [-1, 1], mapped to t = pi (1 - x) / 2 in [0, pi];
    # `near` is the distance of t from the nearer end, without cancellation.
    half = 0.5 * ducc0.misc.GL_thetas(nodes)
    near = np.pi * np.minimum(np.sin(half) ** 2, np.cos(half) ** 2)
    sign = np.where(half <= 0.25 * np.pi, 1.0, -1.0)
    measure = ducc0.misc.GL_weights(nodes, 1) * np.sin(near) ** (d - 2)
    s = sign * np.cos(near)
    values = np.asarray(function(s), dtype=np.float64)
    if values.shape != s.shape:
        raise ValueError(f"the kernel gave shape {values.shape} for {s.shape} similarities.")
    if not np.all(np.isfinite(values)):
        raise ValueError("the kernel gave values that are not finite on [-1, 1].")
    even = values * measure / measure.sum()
    odd = even * sign  # p_l(-s) = (-1)^l p_l(s)
    # (l + d - 2) p_{l+1} = (2l + d - 2) |s| p_l - l p_{l-1} (DLMF 18.9.1 rescaled), written
    # for the steps p_{l+1} - p_l: p_l itself would carry l^2 times the rounding of s near 1.
    gap = 2.0 * np.sin(0.5 * near) ** 2  # 1 - |s|
    current, step = 1.0 - gap, -gap
    multipliers = np.empty(max_degree + 1)
    multipliers[0] = even.sum()
    for l in range(1, max_degree + 1):
        # Not a dot product: BLAS threads waiting for each other cost more than they save.
        multipliers[l] = np.sum((odd if l % 2 else even) * current)
        step = (l * step - (2 * l + d - 2) * gap * current) / (l + d - 2)
        current = current + step
    return multipliers, float(np.abs(even).sum())
