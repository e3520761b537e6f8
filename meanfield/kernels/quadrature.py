"""Multipliers of any zonal function by quadrature: general, and the oracle of closed forms.

Funk-Hecke on S^m, d = m + 1, with p_l the Gegenbauer polynomial of value 1 at s = 1:

    a_l = int_0^pi a(cos t) p_l(cos t) sin^{d-2}(t) dt / int_0^pi sin^{d-2}(t) dt.

In the angle t the integrand of a smooth kernel is smooth for every d, also odd ones, and
Gauss-Legendre converges faster than any power.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from meanfield.arrays import FloatArray

_LARGEST_RULE = 2**15
# Two rules that agree to this share of the largest multiplier: 64 eps for their sums.
_AGREEMENT = 64 * np.finfo(float).eps


def zonal_multipliers(
    function: Callable[[FloatArray], FloatArray], dimension: int, max_degree: int
) -> FloatArray:
    """Multipliers of a zonal function on the sphere of the given dimension.

    Parameters
    ----------
    function : callable
        a(s), s in [-1, 1], vectorised, smooth.
    dimension : int
        1 on the circle, 2 on the sphere.
    max_degree : int
        Largest degree.

    Returns
    -------
    ndarray, shape (max_degree + 1,)
        Absolute error about 1e-14 of the largest.

    Raises
    ------
    ValueError
        If the function gives values that are not finite, or the rules do not converge.

    Examples
    --------
    >>> zonal_multipliers(lambda s: s**2, 2, 2).round(6)
    array([0.333333, 0.      , 0.133333])
    """
    nodes = max(64, 2 * max_degree + 2)
    coarse = _rule(function, dimension, max_degree, nodes)
    while nodes <= _LARGEST_RULE:
        nodes *= 2
        fine = _rule(function, dimension, max_degree, nodes)
        if np.abs(fine - coarse).max() <= _AGREEMENT * np.abs(fine).max():
            return fine
        coarse = fine
    raise ValueError("the kernel is not smooth enough: quadrature of its multipliers stalls.")


def _rule(
    function: Callable[[FloatArray], FloatArray], dimension: int, max_degree: int, nodes: int
) -> FloatArray:
    import ducc0

    d = dimension + 1
    # Gauss-Legendre in x = cos(thetas) on [-1, 1], mapped to t in [0, pi].
    x = np.cos(ducc0.misc.GL_thetas(nodes))
    t = 0.5 * np.pi * (1.0 - x)
    measure = ducc0.misc.GL_weights(nodes, 1) * np.sin(t) ** (d - 2)
    s = np.cos(t)
    values = np.asarray(function(s), dtype=np.float64)
    if values.shape != s.shape:
        raise ValueError(f"the kernel gave shape {values.shape} for {s.shape} similarities.")
    if not np.all(np.isfinite(values)):
        raise ValueError("the kernel gave values that are not finite on [-1, 1].")
    weighted = values * measure / measure.sum()
    multipliers = np.empty(max_degree + 1)
    previous, current = np.ones_like(s), s
    multipliers[0] = weighted.sum()
    for l in range(1, max_degree + 1):
        multipliers[l] = weighted @ current
        # (l + d - 2) p_{l+1} = (2l + d - 2) s p_l - l p_{l-1}, DLMF 18.9.1 rescaled.
        previous, current = (
            current,
            ((2 * l + d - 2) * s * current - l * previous) / (l + d - 2),
        )
    return multipliers
