"""The nonlinear solutions known in closed form: Poisson densities at beta = 0.

With u = <x, axis> the densities, relative to uniform on the sphere S^{d-1},

    f(x) = ((1 - r^2) / (1 - 2 r u + r^2))^{d-1},    r' = strength (1 - r^2) m_1(r) / 2,

stay in their family under the linear kernel, normalised or not (on the circle, d = 2, the
Ott-Antonsen ansatz). In terms of s = ln((1 + r) / (1 - r)), the hyperbolic distance from uniform,
s' = strength m_1, which gives

    circle:  m_1 = tanh(s / 2),               sinh(s / 2) grows like e^{strength t / 2},
    sphere:  m_1 = coth(s) - s / sinh^2(s),   sinh(2 s) - 2 s grows like e^{2 strength t}.
"""

from __future__ import annotations

import math

import numpy as np

from meanfield.arrays import FloatArray

# Terms of sinh(x) - x at x = 1: the next is below rounding.
_SERIES_TERMS = 9
# Newton's method starts within a factor of 1.7 and converges quadratically: 5 steps do.
_NEWTON_STEPS = 8
_ROUNDING = float(np.finfo(np.float64).eps)
# The recurrence of moments is scaled down from here on.
_LARGE = 1e200


def poisson_radius(time: float | FloatArray, start: float, strength: float = 1.0) -> FloatArray:
    """Radius r(t) of the Poisson density on the circle under the linear kernel.

        r(t) = [1 + (r_0^{-2} - 1) e^{-strength t}]^{-1/2},    c_k = r^k

    Parameters
    ----------
    time : float or ndarray
        Scaled time, which is paper time here.
    start : float
        r_0, between 0 and 1, both excluded.
    strength : float
        Of the flow.

    Returns
    -------
    ndarray, shape of time

    Raises
    ------
    ValueError
        If start is not between 0 and 1.

    References
    ----------
    Ott, Antonsen, Chaos 18, 037113 (2008), for identical oscillators.

    Examples
    --------
    >>> poisson_radius(np.array([4.0, 8.0]), 0.1).round(10)
    array([0.59620549, 0.98379708])
    """
    _check_start(start)
    decay = np.exp(-strength * np.asarray(time, dtype=np.float64))
    return np.asarray(1.0 / np.sqrt(1.0 + (start**-2 - 1.0) * decay))


def hyperbolic_poisson_radius(
    time: float | FloatArray, start: float, strength: float = 1.0
) -> FloatArray:
    """Radius r(t) of the hyperbolic Poisson density on the sphere under the linear kernel.

        sinh(x) - x = (sinh(x_0) - x_0) e^{2 strength t},    x = 2 ln((1 + r) / (1 - r))

    Kepler's equation on a hyperbola of eccentricity 1, solved by Newton's method.

    Parameters
    ----------
    time : float or ndarray
        Scaled time, which is paper time here.
    start : float
        r_0, between 0 and 1, both excluded.
    strength : float
        Of the flow.

    Returns
    -------
    ndarray, shape of time

    Raises
    ------
    ValueError
        If start is not between 0 and 1.

    References
    ----------
    Lipton, Mirollo, Strogatz, arXiv:1907.07150 (the family; r' is integrated in the module's
    docstring).

    Examples
    --------
    >>> hyperbolic_poisson_radius(np.array([3.0, 5.0]), 0.1).round(10)
    array([0.57975645, 0.913628  ])
    """
    _check_start(start)
    first = np.array(2.0 * (math.log1p(start) - math.log1p(-start)))
    level = _log_sinh_minus(first) + 2.0 * strength * np.asarray(time, dtype=np.float64)
    # Outside the radius is 0 or 1 to rounding.
    level = np.clip(level, -600.0, 200.0)
    # sinh(x) - x exceeds x^3 / 6, and e^{x-1} / 2 where x > 2: both starts are above the root. In
    # ln(x) the function is convex, so Newton's method descends to it.
    x = np.where(level < 0.5, np.exp((level + math.log(6.0)) / 3.0), level + math.log(2.0) + 1.0)
    for _ in range(_NEWTON_STEPS):
        value = _log_sinh_minus(x)
        slope = 2.0 * x * np.exp(2.0 * np.log(np.sinh(0.5 * x)) - value)
        x = x * np.exp((level - value) / slope)
    return np.asarray(np.tanh(0.25 * x))


def hyperbolic_poisson_moments(radius: float, max_degree: int) -> FloatArray:
    """Moments m_l = int P_l(u) dmu of the hyperbolic Poisson density on the sphere.

    They decrease in l and satisfy

        l m_{l+1} = (2 l + 1) z m_l - (l + 1) m_{l-1},    z = (1 + r^2) / (2 r),    m_0 = 1,

    as -(z^2 - 1) Q_l'(z) does, Q_l the Legendre function of the second kind. The recurrence is
    run downwards, so the work is as 1 / (1 - r).

    Parameters
    ----------
    radius : float
        r, between 0 and 1, both excluded.
    max_degree : int
        L.

    Returns
    -------
    ndarray, shape (L + 1,)
        The coefficients are sqrt(2 l + 1) m_l Y_l0 when the axis is the north pole.

    Raises
    ------
    ValueError
        If radius is not between 0 and 1.

    References
    ----------
    NIST DLMF 14.10.3 (the recurrence, mu = 1) and 3.6(iii) (why downwards).

    Examples
    --------
    >>> hyperbolic_poisson_moments(0.5797564518, 2).round(9)
    array([1.        , 0.71821709, 0.48282478])
    """
    if not 0 < radius < 1:
        raise ValueError(f"radius must lie between 0 and 1, got {radius}.")
    # m_l falls like r^l and the other solution grows like r^{-l}: the error falls like their ratio.
    extra = math.ceil(0.5 * math.log(_ROUNDING) / math.log(radius))
    found = np.zeros(max_degree + 1)
    above, here = 0.0, 1.0
    for l in range(max_degree + extra + 10, 0, -1):
        if here > _LARGE:
            found, above, here = found / here, above / here, 1.0
        if l <= max_degree:
            found[l] = here
        above, here = here, ((l + 0.5) * (radius + 1.0 / radius) * here - l * above) / (l + 1)
    found[0] = here
    return found / here


def _log_sinh_minus(x: FloatArray) -> FloatArray:
    """ln(sinh(x) - x) for x > 0, to a relative error of rounding in sinh(x) - x."""
    small = np.minimum(x, 1.0)
    series = np.ones_like(small)
    for k in range(_SERIES_TERMS, 0, -1):
        series = 1.0 + series * small**2 / ((2 * k + 2) * (2 * k + 3))
    large = np.maximum(x, 1.0)
    far = large - math.log(2.0) + np.log1p(-np.exp(-2.0 * large) - 2.0 * large * np.exp(-large))
    near = 3.0 * np.log(small) - math.log(6.0) + np.log(series)
    return np.asarray(np.where(x < 1.0, near, far))


def _check_start(start: float) -> None:
    if not 0 < start < 1:
        raise ValueError(f"start must lie between 0 and 1, got {start}.")
