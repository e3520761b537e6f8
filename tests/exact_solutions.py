"""Exact nonlinear solutions: Poisson densities at beta = 0, and rings of the sphere.

With u = <x, axis> the densities, relative to uniform on the sphere S^{d-1},

    f(x) = ((1 - r^2) / (1 - 2 r u + r^2))^{d-1},    r' = strength (1 - r^2) m_1(r) / 2,

stay in their family under the linear kernel, normalised or not (Ott, Antonsen, Chaos 18, 037113
(2008); Lipton, Mirollo, Strogatz, arXiv:1907.07150). On the circle

    r(t) = [1 + (r_0^{-2} - 1) e^{-strength t}]^{-1/2},    c_k = r^k;

on the sphere s = ln((1 + r) / (1 - r)) has s' = strength m_1, m_1 = coth(s) - s / sinh^2(s), so
that sinh(2 s) - 2 s grows like e^{2 strength t}.

All mass on the latitude of height u of S^{d-1} stays a ring. With nu = (d - 3) / 2 and
z = beta (1 - u^2), h = ln(u^2 / (1 - u^2)) has

    h' = 2 [1 - I_{nu+1}(z) / I_nu(z)]    under softmax; for USA times e^{-z} 0F1(nu + 1, z^2 / 4).
"""

import math

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import expit, hyp0f1, logit

# Newton's method starts within a factor of 1.7 and converges quadratically: 5 steps do.
_NEWTON_STEPS = 8


def poisson_radius(time: float | np.ndarray, start: float, strength: float = 1.0) -> np.ndarray:
    """Radius r(t) of the Poisson density on the circle, 0 < start < 1."""
    decay = np.exp(-strength * np.asarray(time, dtype=np.float64))
    return np.asarray(1.0 / np.sqrt(1.0 + (start**-2 - 1.0) * decay))


def hyperbolic_poisson_radius(
    time: float | np.ndarray, start: float, strength: float = 1.0
) -> np.ndarray:
    """Radius r(t) of the hyperbolic Poisson density on the sphere, 0 < start < 1."""
    # With x = 2 s this is Kepler's equation on a hyperbola of eccentricity 1.
    first = np.array(2.0 * (math.log1p(start) - math.log1p(-start)))
    level = _log_sinh_minus(first) + 2.0 * strength * np.asarray(time, dtype=np.float64)
    # sinh(x) - x exceeds x^3 / 6, and e^{x-1} / 2 where x > 2: both starts are above the root. In
    # ln(x) the function is convex, so Newton's method descends to it.
    x = np.where(level < 0.5, np.exp((level + math.log(6.0)) / 3.0), level + math.log(2.0) + 1.0)
    for _ in range(_NEWTON_STEPS):
        value = _log_sinh_minus(x)
        slope = 2.0 * x * np.exp(2.0 * np.log(np.sinh(0.5 * x)) - value)
        x = x * np.exp((level - value) / slope)
    return np.asarray(np.tanh(0.25 * x))


def hyperbolic_poisson_moments(radius: float, max_degree: int) -> np.ndarray:
    """Moments m_l = int P_l(u) dmu, l = 0 ... max_degree, on the sphere; 0 < radius < 1.

        l m_{l+1} = (2 l + 1) z m_l - (l + 1) m_{l-1},    z = (1 + r^2) / (2 r),    m_0 = 1,

    as -(z^2 - 1) Q_l'(z) does (DLMF 14.10.3, mu = 1), run downwards (DLMF 3.6(iii)).
    """
    # m_l falls like r^l and the other solution grows like r^{-l}: the error falls like their ratio.
    extra = math.ceil(0.5 * math.log(np.finfo(float).eps) / math.log(radius))
    result = np.zeros(max_degree + 1)
    above, here = 0.0, 1.0
    for l in range(max_degree + extra + 10, 0, -1):
        if here > 1e200:
            result, above, here = result / here, above / here, 1.0
        if l <= max_degree:
            result[l] = here
        above, here = here, ((l + 0.5) * (radius + 1.0 / radius) * here - l * above) / (l + 1)
    result[0] = here
    return result / here


def ring_height(
    d: int, beta: float, times: list[float], start: float, *, normalized: bool = True
) -> np.ndarray:
    """Heights u of a ring of S^{d-1} at scaled times, from 0 < start < 1."""

    def speed(t: float, h: np.ndarray) -> np.ndarray:
        z, nu = beta * expit(-h), 0.5 * (d - 3)
        zeroth, first = (hyp0f1(nu + 1 + k, 0.25 * z**2) for k in (0, 1))
        # I_{nu+1} / I_nu = z 0F1(nu + 2) / (2 (nu + 1) 0F1(nu + 1)), DLMF 10.39.9.
        pace = 1.0 - z * first / (2.0 * (nu + 1.0) * zeroth)
        return 2.0 * pace * (1.0 if normalized else np.exp(-z) * zeroth)

    options = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-13, "t_eval": times}
    solution = solve_ivp(speed, (0.0, times[-1]), [logit(start**2)], **options)
    return np.asarray(np.sqrt(expit(solution.y[0])))


def _log_sinh_minus(x: np.ndarray) -> np.ndarray:
    """ln(sinh(x) - x) for x > 0, to a relative error of rounding in sinh(x) - x."""
    small, large = np.minimum(x, 1.0), np.maximum(x, 1.0)
    series = np.ones_like(small)
    # At x = 1 the tenth term is below rounding.
    for k in range(9, 0, -1):
        series = 1.0 + series * small**2 / ((2 * k + 2) * (2 * k + 3))
    far = large - math.log(2.0) + np.log1p(-np.exp(-2.0 * large) - 2.0 * large * np.exp(-large))
    near = 3.0 * np.log(small) - math.log(6.0) + np.log(series)
    return np.asarray(np.where(x < 1.0, near, far))
