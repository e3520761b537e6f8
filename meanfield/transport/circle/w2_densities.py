"""W_2 on the circle between two densities.

The optimal coupling is a monotone curve F(x) + alpha = G(y). Quantile functions jump where a
density vanishes, and are useless as coordinates there. Along u = x + y the curve is smooth:

    dx/du = g / (f + g),   dy/du = f / (f + g),   mass ds = f g / (f + g) du / 2 pi,

with f at x and g at y, all periodic in u with period 4 pi. Hence

    J(alpha)   = int (y - x)^2 f g / (f + g) du / 2 pi,
    J'(alpha)  = int (y - x) du,
    J''(alpha) = int 4 pi / (f + g) du,

by the trapezoidal rule, which converges geometrically; W_2^2 is the minimum of the convex J.
J' needs no density. From J = int (Q_G(s + alpha) - Q_F(s))^2 ds follows J' = 2 int (y - x) dy,
because int (y - x) d(y - x) = 0 over a period.
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import EPS, FloatArray
from meanfield.engines.compiled import njit
from meanfield.engines.fourier.cdf import cumulative
from meanfield.engines.newton import narrowed
from meanfield.transport.circle.convex import Evaluation, minimise_convex

_MIN_NODES = 256
_MAX_NODES = 2**18
_TOLERANCE = 1e-14
_CDF_NOISE = 1e-16  # of F; a coupling is not known better
_MAX_STEPS = 64


def w2_densities(first: FloatArray, second: FloatArray) -> float:
    """W_2 between two densities, with twice the nodes until W_2^2 settles to 1e-14 of itself."""
    nodes = max(_MIN_NODES, 2 * len(first), 2 * len(second))
    floors = (_floor(first), _floor(second))
    most = max(_MAX_NODES, 4 * nodes)
    alpha, value = 0.0, np.inf
    while nodes <= most:
        previous = value

        def evaluate(shift: float, nodes: int = nodes) -> Evaluation:
            evaluation: Evaluation = _cost(first, second, floors, shift, nodes)
            return evaluation

        # |F - theta / 2 pi| <= 1, so y >= x everywhere at alpha = 2, and y <= x at -2.
        value, alpha = minimise_convex(evaluate, -2.0, 2.0, alpha)
        if abs(value - previous) <= _TOLERANCE * value + _CDF_NOISE:
            break
        nodes *= 2
    return float(np.sqrt(value))


def _floor(rows: FloatArray) -> float:
    """Size of the rounding of a density, some eps times its maximum."""
    return float(4.0 * EPS * 2.0 * len(rows) * rows[:, 1].max())


@njit
def _cost(
    first: FloatArray,
    second: FloatArray,
    floors: tuple[float, float],
    alpha: float,
    nodes: int,
) -> tuple[float, float, float]:
    """J, J' and J'' at alpha by the trapezoidal rule in u."""
    step = 4.0 * np.pi / nodes
    bound = np.pi * (abs(alpha) + 3.0)
    x = _couple(first, second, alpha, 0.0, -bound, bound, 0.0)
    value = 0.0
    slope = 0.0
    curvature = 0.0
    for k in range(nodes):
        u = k * step
        # Rounding, cut at 0, would be mass in places where there is none.
        f = cumulative(first, x)[1]
        f = f if f > floors[0] else 0.0
        g = cumulative(second, u - x)[1]
        g = g if g > floors[1] else 0.0
        both = f + g
        difference = u - 2.0 * x
        slope += difference
        share = 0.5
        if both > 0.0:
            share = g / both
            value += difference * difference * f * share
            curvature += 1.0 / both
        # x and y both grow: x stays within one step of u, and dx/du is a good first guess.
        x = _couple(first, second, alpha, u + step, x, x + step, x + share * step)
    per_node = step / (2.0 * np.pi)
    return value * per_node, slope * step, curvature * 4.0 * np.pi * step


@njit
def _couple(
    first: FloatArray,
    second: FloatArray,
    alpha: float,
    u: float,
    low: float,
    high: float,
    x: float,
) -> float:
    """Point x in [low, high] with F(x) + alpha = G(u - x)."""
    for _ in range(_MAX_STEPS):
        level, f = cumulative(first, x)
        other, g = cumulative(second, u - x)
        excess = level + alpha - other
        if abs(excess) <= _CDF_NOISE:  # also where both are flat: do not move on by chance
            break
        before = x
        low, high, x = narrowed(low, high, x, excess, (f + g) / (2.0 * np.pi))
        if abs(x - before) <= 1e-9:  # the next step is the square of this one
            break
    return x
