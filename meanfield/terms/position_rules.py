"""Quadrature over positions: nodes, and averages of profiles under masks.

    nu_i = int w(s_i, s') p(s') ds' / int w(s_i, s') ds' = sum_j C_ij mu_j

p is the polynomial through the mu_j, one on each panel. Nodes of a panel are Chebyshev's in s, or
for causal masks in the root of s. Profiles have kinks where the edge of a window meets an end of
the list or an earlier kink: panels end there. So errors fall faster than any power of 1 / M, and
the last coefficients of each panel, the residual, estimate them. An odd multiple of the number of
nodes contains the same nodes.

Reference: Trefethen, SIAM Review 50 (2008), 67-87 (quadrature).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from numpy.polynomial.legendre import leggauss

from meanfield.arrays import FloatArray

if TYPE_CHECKING:
    from meanfield.terms.masks import Mask

# "alibi" attends back to 40 / lambda: e^{-40} is below rounding.
_FADED = 40.0
# Numbers of Gauss's nodes: for e^{-40 y} times half a wave to rounding, and for a smooth piece.
_SHORT_RULE, _PIECE = 45, 16
# Least nodes of a panel, if there are several.
_LEAST = 4
# Kinks nearer to the ends of the list, or to each other, are one.
_END = 1e-9


class Panels(NamedTuple):
    """Panels between edges in x, s = x^power, with a number of nodes each."""

    edges: FloatArray
    counts: tuple[int, ...]
    power: int
    left: int  # 0, or the derivative that jumps at kinks within panels

    @property
    def values(self) -> FloatArray:
        """Nodes s, shape (M,)."""
        rules = zip(self.edges, np.diff(self.edges), self.counts, strict=False)
        x = [first + length * _nodes(count) for first, length, count in rules]
        return np.asarray(np.concatenate(x) ** self.power)

    def polynomials(self, x: FloatArray, panel: int) -> FloatArray:
        """Values (n, m) at x of Chebyshev's polynomials of a panel."""
        first, last = self.edges[panel : panel + 2]
        at = np.clip(1.0 - 2.0 * (x - first) / (last - first), -1.0, 1.0)
        return np.asarray(chebyshev.chebvander(at, self.counts[panel] - 1))

    def interpolation(self, values: FloatArray) -> FloatArray:
        """Matrix (n, M) from moments at the nodes to moments at other positions."""
        x = values ** (1.0 / self.power)
        of = np.clip(np.searchsorted(self.edges, x) - 1, 0, len(self.counts) - 1)
        matrix, begin = np.zeros((len(x), sum(self.counts))), 0
        for panel, count in enumerate(self.counts):
            rows = self.polynomials(x[of == panel], panel) @ _analysis(count)
            matrix[of == panel, begin : begin + count] = rows
            begin += count
        return matrix


class PositionRule(NamedTuple):
    """Nodes s_j, weights of their mean, C (None: the mean), and rows that show the error."""

    values: FloatArray
    weights: FloatArray
    matrix: FloatArray | None
    residual: FloatArray
    panels: Panels | None = None


def panels_of(mask: Mask, count: int, refinement: int) -> Panels:
    """Panels with `count` * `refinement` nodes together, between kinks that these resolve."""
    power, corners = 2 if mask.causal else 1, mask.corners
    # Kinks: where a corner of the weights meets an end of the list, the globals, or a kink.
    inner, more = np.zeros(0), np.concatenate([mask.globals + corners, 1.0 + corners[corners < 0]])
    most = min(count, 8) if count < 64 else count // 8
    level = 1
    while True:
        more = np.sort(more[(more > _END) & (more < 1.0 - _END)])
        more = more[np.diff(more, prepend=0.0) > _END]
        if len(more) == len(inner) or len(more) >= most:
            break
        inner, more = more, np.concatenate([more, np.add.outer(more, corners).ravel()])
        level += 1
    left = 0 if len(more) == len(inner) else level
    edges = np.concatenate([[0.0], inner ** (1.0 / power), [1.0]])
    # At most half of all labels are shared equally, the others by length.
    least = max(1, min(_LEAST, count // (2 * len(inner) + 2))) if len(inner) else 0
    ends = np.round((count - least * (len(inner) + 1)) * edges[1:]).astype(int)
    counts = least + np.diff(ends, prepend=0)
    return Panels(edges, tuple(int(each) * refinement for each in counts), power, left)


@lru_cache(maxsize=8)
def panel_rule(mask: Mask, count: int, refinement: int, mean: bool = False) -> PositionRule:
    """Rule of a mask with `count` * `refinement` nodes; `mean`: all attend to the mean."""
    panels = panels_of(mask, count, refinement)
    values = panels.values
    weights = _row(panels, np.zeros(0), lambda s: np.zeros(len(s)))
    rows = [] if mean else [_row(panels, mask.cuts(s), partial(mask.logarithms, s)) for s in values]
    matrix = None if mean else np.array(rows)
    blocks = [_analysis(m)[-max(m // 10, min(2, m // 4), 1) :] for m in panels.counts]
    if panels.left:
        # Coefficients fall like n^{-left - 1}: the remainder is this multiple of the last one.
        blocks = [max(1.0, len(block.T) / panels.left) * block for block in blocks]
    residual, row, column = np.zeros((sum(map(len, blocks)), len(values))), 0, 0
    for block in blocks:
        residual[row : row + len(block), column : column + block.shape[1]] = block
        row, column = row + len(block), column + block.shape[1]
    return PositionRule(values, weights, matrix, residual, panels)


def _row(
    panels: Panels, cuts: FloatArray, logarithms: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Means (M,) of the polynomials of all nodes under weights that are smooth between cuts."""
    power, edges = panels.power, panels.edges
    ends = np.unique(np.concatenate([edges, np.clip(cuts, 0.0, 1.0) ** (1.0 / power)]))
    nodes, masses, of = [], [], []
    for first, last in zip(ends[:-1], ends[1:], strict=True):
        panel = int(np.searchsorted(edges, 0.5 * (first + last))) - 1
        start, width = edges[panel], edges[panel + 1] - edges[panel]
        angles = np.arccos(np.clip(1.0 - 2.0 * (np.array([first, last]) - start) / width, -1, 1))
        # Two nodes for each wave of a polynomial.
        waves = panels.counts[panel] * (angles[1] - angles[0]) / np.pi
        at, weight = _gauss(_PIECE * (1 + int(np.ceil(waves / _PIECE))))
        x = first + 0.5 * (last - first) * (at + 1.0)
        nodes.append(x)
        masses.append(weight * (last - first) * x ** (power - 1))
        of.append(np.full(len(x), panel))
    x, mass, which = np.concatenate(nodes), np.concatenate(masses), np.concatenate(of)
    logs = logarithms(x**power)
    largest = logs.max()
    mass = mass * np.exp(logs - (largest if np.isfinite(largest) else 0.0))
    row = [
        mass[which == panel] @ panels.polynomials(x[which == panel], panel) @ _analysis(count)
        for panel, count in enumerate(panels.counts)
    ]
    total = mass.sum()
    return np.concatenate(row) / total if total else np.full(sum(panels.counts), np.nan)


@lru_cache(maxsize=8)
def causal_rule(count: int, rate: float) -> PositionRule:
    """Rule of "causal" and "alibi".

    Row i of C is int K(s_i - s') l_j(s') ds' over int K(s_i - s') ds', l_j = 1 at s_j, 0 at others.
    """
    degrees, nodes, analysis = np.arange(count), _nodes(count), _analysis(count)

    def integrals(first: float, last: float, rate: float, rule: FloatArray) -> FloatArray:
        """Integrals int e^{-rate (s - s')} cos(n theta') ds' from x = first to last, s = last^2."""
        if rate:
            first = max(first, np.sqrt(max(last**2 - _FADED / rate, 0.0)))
        x = first + 0.5 * (last - first) * (rule[0] + 1.0)
        mass = rule[1] * (last - first) * x * np.exp(-rate * (last - x) * (last + x))
        return np.asarray(mass @ np.cos(np.outer(np.arccos(1.0 - 2.0 * x), degrees)))

    short, rows, begin = np.array(leggauss(_SHORT_RULE)), np.zeros((count, count)), 0.0
    for i, end in enumerate(nodes):
        # Polynomials of degree below M have half a wave at most between neighbours.
        rows[i] = rows[i - 1] * np.exp(-rate * (end - begin) * (end + begin))
        rows[i] += integrals(begin, end, rate, short)
        begin = end
    matrix = (rows / rows[:, :1]) @ analysis
    whole = np.array(leggauss(count // 2 + 2))
    weights = integrals(0.0, 1.0, 0.0, whole) @ analysis
    rule = PositionRule(nodes**2, weights, matrix, analysis[-max(count // 10, 1) :])
    for array in (rule.values, weights, matrix, rule.residual):
        array.setflags(write=False)
    return rule


def _nodes(count: int) -> FloatArray:
    """Chebyshev's nodes x = (1 - cos theta) / 2 in (0, 1)."""
    return np.asarray(np.sin(0.5 * np.pi * (np.arange(count) + 0.5) / count) ** 2)


@lru_cache(maxsize=32)
def _analysis(count: int) -> FloatArray:
    """Polynomials cos(n theta) of x = (1 - cos theta) / 2 from values at the nodes, (m, m)."""
    degrees = np.arange(count)
    analysis = 2.0 / count * np.cos(np.outer(degrees, np.pi * (degrees + 0.5) / count))
    analysis[0] *= 0.5
    return np.asarray(analysis)


@lru_cache(maxsize=64)
def _gauss(count: int) -> tuple[FloatArray, FloatArray]:
    from scipy.special import roots_legendre  # NumPy's takes seconds for hundreds of nodes.

    at, weights = roots_legendre(count)
    return at, weights
