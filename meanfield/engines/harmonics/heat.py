"""Brownian motion on the sphere for a given time, exact in law.

A token turns by the angle Theta in a uniform direction. cos Theta has the density

    p(x) = sum_l (l + 1/2) e^{-l(l+1) time} P_l(x)                       (the heat kernel).

A plane normal vector of length r gives the direction, and Theta solves S(Theta) = e^{-r^2/2}. The
right side is the probability of a longer normal, and S the probability of a larger angle,

    S(theta) = 4 pi sqrt(2) e^{time/4} / (4 pi time)^{3/2}
               int_theta^{2 pi - theta} phi e^{-phi^2/4 time} sqrt(cos theta - cos phi) d phi

up to a relative error e^{-pi^2/time}: the kernel of S^2 is an integral of the kernel of S^3, a sum
of Gaussians. The variable w, phi^2 = theta^2 + 4 time w, factors out e^{-theta^2/4 time}, so that
both ends of the law keep their digits. For long times the series is summed instead. Theta is smooth
in q = r^2 at any time. Tables for each time give cos Theta and sin Theta / r as polynomials on
intervals of q.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from meanfield.arrays import FloatArray, read_only
from meanfield.engines.threads import map_chunks

LONGEST = 12.0
"""Largest length of normals; longer ones have probability e^{-72}."""

_PIECES = 72  # intervals of q up to LONGEST^2
_DEGREE = 9  # of the polynomials; measured errors are 1e-12 for all times
# From here on the series in e^{-l(l+1) time} loses less than three digits at the antipode; for
# shorter times e^{-pi^2 / time} is below rounding.
_LONG_TIME = 0.25
_NODES = 32  # of the integral over w; 32 reach rounding for all times
_LAST_EXPONENT = 44.0  # e^-44 is below rounding
_NEWTON_STEPS = 60
_CONVERGED = 1e-12  # the next step, the square of this one, is rounding
_CHUNK = 1 << 14  # tokens that take longer than the start of a thread


def diffuse(points: FloatArray, time: float, normals: FloatArray) -> FloatArray:
    """Points (n, 3) moved by Brownian motion (generator Laplacian) for a time, exact in law.

        x -> cos(Theta) x + sin(Theta) (n_1 e_1 + n_2 e_2) / r,   r = |n|,  S(Theta) = e^{-r^2/2}

    with a tangent frame e_1, e_2 at x and independent standard normals (n, 2). Then E Y_l(x) is
    multiplied by e^{-l(l+1) time}; time: diffusivity times elapsed time.

    Perrin, Ann. Sci. Ecole Norm. Sup. 45 (1928) 1-51 (the series). Yu, Zhao, arXiv:1807.05708 (S^2
    from S^3).
    """
    if points.ndim != 2 or points.shape[1] != 3 or normals.shape != (len(points), 2):
        raise ValueError(
            f"points have shape {points.shape} and normals {normals.shape}, expected (n, 3) and "
            "(n, 2)."
        )
    from meanfield.engines.harmonics import heat_kernels

    table = turns(float(time))
    vectors, steps = np.ascontiguousarray(points), np.ascontiguousarray(normals)
    moved = np.empty_like(vectors)

    def chunk(i: int) -> None:
        part = slice(i * _CHUNK, (i + 1) * _CHUNK)
        heat_kernels.turn(vectors[part], steps[part], table, LONGEST, moved[part])

    map_chunks(chunk, -(-len(vectors) // _CHUNK))
    return moved


@lru_cache(maxsize=16)
def turns(time: float) -> FloatArray:
    """Polynomials of cos Theta and sin Theta / r in q = r^2, (pieces, degree + 1, 2).

    On piece k, q = (k + (1 + u) / 2) LONGEST^2 / pieces, they are sum_n table[k, n] u^n.
    """
    table = np.zeros((_PIECES, _DEGREE + 1, 2))
    if time == 0.0:
        table[:, 0, 0] = 1.0
    else:
        u = np.cos(np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))
        width = LONGEST**2 / _PIECES
        q = width * (np.arange(_PIECES)[:, None] + 0.5 + 0.5 * u)
        theta, rest = angles(q.ravel(), time)
        values = np.stack([np.cos(theta), np.sin(np.minimum(theta, rest))]).reshape(2, *q.shape)
        values[1] /= np.sqrt(q)
        table[:] = np.moveaxis(values @ np.linalg.inv(np.vander(u, increasing=True)).T, 0, -1)
    return read_only(table)


def angles(q: FloatArray, time: float) -> tuple[FloatArray, FloatArray]:
    """Theta and pi - Theta with S(Theta) = e^{-q/2}, q > 0, both to relative accuracy."""
    # Both bounds exceed Theta: angles are smaller than lengths in the plane, and than angles of the
    # uniform law. log S is concave in z = log tan(Theta / 2), so Newton's iteration decreases z.
    flat = np.sqrt(2.0 * time * q)
    bounds = np.tan(0.5 * np.minimum(flat, 3.0)), np.sqrt(np.expm1(0.5 * q))
    z = np.log(np.where(flat < 3.0, np.minimum(*bounds), bounds[1]))
    for _ in range(_NEWTON_STEPS):
        log_survival, slope = _law(z, time)
        change = (log_survival + 0.5 * q) / slope
        z = z + change
        if np.abs(change).max() < _CONVERGED:
            break
    return _angles_of(z)


def _angles_of(z: FloatArray) -> tuple[FloatArray, FloatArray]:
    return 2.0 * np.arctan(np.exp(z)), 2.0 * np.arctan(np.exp(-z))


def _law(z: FloatArray, time: float) -> tuple[FloatArray, FloatArray]:
    """Log S and -d log S / dz at z = log tan(theta / 2), where d theta / dz = sin theta."""
    theta, rest = _angles_of(z)
    law = _short_time_law if time < _LONG_TIME else _long_time_law
    log_survival, density = law(theta, rest, time)
    return log_survival, density * np.sin(np.minimum(theta, rest)) ** 2


def _short_time_law(
    theta: FloatArray, rest: FloatArray, time: float
) -> tuple[FloatArray, FloatArray]:
    """Log S and p / S by the integral over w, from 0 to pi (pi - theta) / time."""
    last = np.pi * rest / time
    cut = np.minimum(last, _LAST_EXPONENT)
    # w = cut sin^2(s/2): the integrand has square roots at both ends, so the midpoint rule in s
    # converges exponentially. Beyond the cut the integrand is below rounding.
    s = np.pi * (np.arange(_NODES) + 0.5) / _NODES
    w = cut[:, None] * np.sin(0.5 * s) ** 2
    remaining = (last - cut)[:, None] + cut[:, None] * np.cos(0.5 * s) ** 2
    theta = theta[:, None]
    phi = np.sqrt(theta**2 + 4.0 * time * w)
    # cos theta - cos phi = 2 sin((phi - theta)/2) sin((phi + theta)/2), without cancellation.
    difference = 4.0 * time * w / (phi + theta)
    cosum = 4.0 * time * remaining / (2.0 * np.pi - theta + phi)  # 2 pi - (phi + theta)
    halfsum = 0.5 * np.where(phi + theta < np.pi, phi + theta, cosum)
    root = np.sqrt(2.0 * np.sin(0.5 * difference) * np.sin(halfsum) / time)
    weights = np.exp(-w) * (0.5 * np.pi / _NODES * cut[:, None] * np.sin(s))
    above, below = (weights * root).sum(axis=1), (weights / root).sum(axis=1)
    front = np.sqrt(2.0 / np.pi) * np.exp(0.25 * time)
    log_survival = np.log(front * above) - theta[:, 0] ** 2 / (4.0 * time)
    return log_survival, below / (2.0 * time * above)


def _long_time_law(
    theta: FloatArray, rest: FloatArray, time: float
) -> tuple[FloatArray, FloatArray]:
    """Log S and p / S by the series, int P_l dx = -(1 - x^2) P_l' / (l (l + 1))."""
    x, above = np.cos(theta), 2.0 * np.sin(0.5 * theta) ** 2  # 1 - x
    below = 2.0 * np.sin(0.5 * rest) ** 2  # 1 + x
    density, mean = np.full_like(x, 0.5), np.full_like(x, 0.5)
    previous, legendre = np.ones_like(x), x
    previous_slope, slope = np.zeros_like(x), np.ones_like(x)
    l = 1
    while l * (l + 1) * time < _LAST_EXPONENT:
        factor = (l + 0.5) * np.exp(-l * (l + 1) * time)
        density = density + factor * legendre
        mean = mean - factor / (l * (l + 1)) * above * slope
        # (l + 1) P_{l+1} = (2l + 1) x P_l - l P_{l-1};  P'_{l+1} = P'_{l-1} + (2l + 1) P_l.
        previous_slope, slope = slope, previous_slope + (2 * l + 1) * legendre
        previous, legendre = legendre, ((2 * l + 1) * x * legendre - l * previous) / (l + 1)
        l += 1
    return np.log(below * mean), density / (below * mean)
