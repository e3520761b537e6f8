"""W_2 on the circle when a density is involved.

Between points and a density, cut at the level alpha, point i receives the arc between the quantiles
b_{i-1} and b_i,

    F(b_i) = w_0 + ... + w_i + alpha,
    J(alpha) = sum_i int_{b_{i-1}}^{b_i} (theta - x_i)^2 dF(theta),
    J'(alpha) = sum_i (x_{i+1} - x_i) (2 b_i - x_i - x_{i+1}),

and W_2^2 is the minimum of the convex J. F is a polynomial in every cell of `cdf`. Seven
Gauss-Legendre nodes between neighbouring quantiles and edges integrate its terms up to degree 12
exactly. Only positive numbers are added, so small distances keep their digits.

Between two densities the optimal coupling is a monotone curve F(x) + alpha = G(y). Quantile
functions jump where a density vanishes, so they are no coordinates. Along u = x + y the curve is
smooth:

    dx/du = g / (f + g),   dy/du = f / (f + g),   mass ds = f g / (f + g) du / 2 pi,

with f at x and g at y, all of period 4 pi in u. Hence

    J(alpha)   = int (y - x)^2 f g / (f + g) du / 2 pi,
    J'(alpha)  = int (y - x) du,
    J''(alpha) = int 4 pi / (f + g) du,

by the trapezoidal rule, which converges geometrically. J' needs no density: J =
int (Q_G(s + alpha) - Q_F(s))^2 ds has J' = 2 int (y - x) dy, and int (y - x) d(y - x) = 0 over a
period.
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import EPS, FloatArray
from meanfield.engines.compiled import njit
from meanfield.engines.elementary import fma
from meanfield.engines.fourier.cdf import TERMS, cell_edges, cumulative, quantile
from meanfield.engines.newton import narrowed
from meanfield.transport.circle.convex import Evaluation, minimise_convex

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(7)
_FLAT = 1e-15  # smaller dF/dt is rounding and gives no curvature


def w2_points_density(points: FloatArray, levels: FloatArray, rows: FloatArray) -> float:
    """W_2 between sorted points (n,) with cumulative masses `levels` and a density."""
    edges = cell_edges(rows)

    def evaluate(alpha: float) -> Evaluation:
        evaluation: Evaluation = _cost(points, levels, rows, edges, alpha)
        return evaluation

    # Near uniform the best shift is the mean of F minus the mean of the levels.
    start = float(np.diff(levels, prepend=0.0) @ points) / (2.0 * np.pi) - 0.5
    low, high = edges[0] - 1.0, edges[0] + 1.0  # all b_i <= x_i, all b_i >= x_{i+1}
    least = minimise_convex(evaluate, low, high, start).value
    return float(np.sqrt(max(least, 0.0)))  # densities that rounding makes negative cost < 0


@njit
def _cost(
    points: FloatArray, levels: FloatArray, rows: FloatArray, edges: FloatArray, alpha: float
) -> tuple[float, float, float]:
    """J, J' and J'' at alpha."""
    n = len(points)
    cells = len(rows)
    half = np.pi / cells
    laps = np.floor(alpha - edges[0])
    cell = np.searchsorted(edges, alpha - laps, side="right") - 1
    cell = min(max(cell, 0), cells - 1)
    t, rate = quantile(rows, cell, alpha - laps, -1.0, _chord(edges, cell, alpha - laps))
    before = alpha
    value = 0.0
    slope = 0.0
    curvature = 0.0
    for i in range(n):
        level = alpha + levels[i]
        guess = t + (level - before) / rate if rate > 0.0 else 1.0
        while level - laps > edges[cell + 1]:
            centre = 2.0 * np.pi * laps + half * (2 * cell + 1)
            value += _second_moment(rows, cell, t, 1.0, centre - points[i], half)
            t = -1.0
            cell += 1
            if cell == cells:
                cell = 0
                laps += 1.0
            guess = _chord(edges, cell, level - laps)
        centre = 2.0 * np.pi * laps + half * (2 * cell + 1)
        end, rate = quantile(rows, cell, level - laps, t, guess)
        value += _second_moment(rows, cell, t, end, centre - points[i], half)
        t, before = end, level
        following = points[i + 1] if i + 1 < n else points[0] + 2.0 * np.pi
        gap = following - points[i]
        slope += gap * (2.0 * (centre + half * t) - points[i] - following)
        # db / dalpha = 1 / F'(b); where F is flat b jumps, and J has a kink.
        curvature += 2.0 * gap * half / rate if rate > _FLAT else 0.0
    return value, slope, curvature


@njit
def _chord(edges: FloatArray, cell: int, level: float) -> float:
    """First guess of the t at which F reaches the level: F linear in the cell."""
    rise = edges[cell + 1] - edges[cell]
    return 2.0 * (level - edges[cell]) / rise - 1.0 if rise > 0.0 else -1.0


@njit
def _second_moment(
    rows: FloatArray, cell: int, start: float, end: float, offset: float, half: float
) -> float:
    """Integral of (offset + half t)^2 dF(t) over a part of a cell."""
    radius = 0.5 * (end - start)
    if radius <= 0.0:
        return 0.0
    middle = 0.5 * (start + end)
    total = 0.0
    for k in range(7):
        t = middle + radius * _NODES[k]
        density = (TERMS - 1) * rows[cell, TERMS - 1]
        for j in range(TERMS - 2, 0, -1):
            density = fma(density, t, j * rows[cell, j])
        total += _WEIGHTS[k] * (offset + half * t) ** 2 * density
    return radius * total


_MIN_NODES = 256
_MAX_NODES = 2**18
_TOLERANCE = 1e-14
_CDF_NOISE = 1e-16  # rounding of F
_MAX_STEPS = 64


def w2_densities(first: FloatArray, second: FloatArray) -> float:
    """W_2 between two densities; nodes double until W_2^2 changes by less than 1e-14 of itself.

    Rounding alone may change it by 2e-14 up to the most nodes, a negative part of mass 1e-3 by
    1e-9, less than its error.
    """
    nodes = max(_MIN_NODES, 2 * len(first), 2 * len(second))
    floors = (_floor(first), _floor(second))
    most = max(_MAX_NODES, 4 * nodes)
    alpha, value = 0.0, np.inf
    while nodes <= most:
        previous = value

        def evaluate(shift: float, nodes: int = nodes) -> Evaluation:
            evaluation: Evaluation = _density_cost(first, second, floors, shift, nodes)
            return evaluation

        # |F - theta / 2 pi| <= 1, so y >= x everywhere at alpha = 2, and y <= x at -2.
        value, alpha = minimise_convex(evaluate, -2.0, 2.0, alpha)
        if abs(value - previous) <= _TOLERANCE * value + _CDF_NOISE:
            break
        nodes *= 2
    return float(np.sqrt(value))


def _floor(rows: FloatArray) -> float:
    """Rounding of a density: some eps times its maximum."""
    return float(4.0 * EPS * 2.0 * len(rows) * rows[:, 1].max())


@njit
def _density_cost(
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
        # Rounding above 0 would be mass where there is none.
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
        # x and y both grow, so x grows by at most the step; dx/du gives the first guess.
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
        if abs(excess) <= _CDF_NOISE:  # where both are flat, x stays
            break
        before = x
        low, high, x = narrowed(low, high, x, excess, (f + g) / (2.0 * np.pi))
        if abs(x - before) <= 1e-9:  # Newton's next step would be its square
            break
    return x
