"""Heads on the circle for many tokens, where series of Z have lost their digits.

Angles are cut into cells within which e^{<z, y>} changes by a factor of a few. There its
interpolant at Chebyshev nodes has relative accuracy. Tokens become masses of
the nodes of their cells, and nodes are summed over pairs. Fields are interpolated from the nodes of
a cell to its tokens, in units of their own. The cost is n, and the square of some 50 |S| nodes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from meanfield.arrays import FloatArray, IntArray
from meanfield.fields.head_pairs import tilted
from meanfield.spaces.circle.circle import Circle
from meanfield.terms.attention import HeadMatrices

# With 3 |S| cells <z, y> changes by 1.05 from the middle of a cell to its end: the Chebyshev
# coefficients of its exponential, of degree 14 on, are below 1e-16 of the value.
_CELLS_PER_SHARPNESS = 3.0
_FEWEST_CELLS = 16
_NODES = 14


def far_velocity(
    heads: Sequence[HeadMatrices],
    masses: Sequence[FloatArray],
    angles: FloatArray,
    log_sink: float = -math.inf,
) -> FloatArray:
    """Velocity sum_h <e_theta, V_h <y>_h> of tokens in their own field, masses one array a head.

    A sink adds e^{log_sink} to each G.

    Tokens around 0 attend to the opposite point, where there is almost no mass:

    >>> import meanfield as mf
    >>> angles = np.linspace(-0.01, 0.01, 101)
    >>> head = HeadMatrices(-25.0 * np.eye(2), np.eye(2))
    >>> v = far_velocity([head], [np.full(101, 1 / 101)], angles)
    >>> felt = tilted(Circle().vectors(angles) @ head.score, Circle().vectors(angles), np.ones(101))
    >>> bool(np.allclose(v, Circle().project(angles, felt.mean), rtol=0, atol=1e-14))
    True
    """
    total = np.zeros(len(angles))
    for head, own in zip(heads, masses, strict=True):
        count = max(_FEWEST_CELLS, int(np.ceil(_CELLS_PER_SHARPNESS * head.sharpness)))
        total += _of_head(head, own, angles, count, log_sink)
    return total


def _of_head(
    head: HeadMatrices, masses: FloatArray, angles: FloatArray, count: int, log_sink: float
) -> FloatArray:
    width = 2.0 * np.pi / count
    turns = np.floor(angles / width)
    cells = np.asarray(turns, dtype=np.int64) % count
    places = 2.0 * (angles / width - turns) - 1.0
    nodes, to_nodes = _chebyshev()
    moments = _sums(cells, places, masses, count)  # (count, nodes)
    occupied = np.flatnonzero(np.bincount(cells, minlength=count))
    middles = width * (occupied[:, None] + 0.5 * (1.0 + nodes))
    y = Circle().vectors(middles.ravel())
    weights = (moments[occupied] @ to_nodes).ravel()
    moments_of_head = tilted(y @ head.score, y, weights, log_sink=log_sink)
    # Both sums in the unit of the cell's first node.
    logs = moments_of_head.log_partition.reshape(len(occupied), -1)
    below = np.exp(logs - logs[:, :1])
    above = moments_of_head.mean.reshape(*below.shape, 2) * below[..., None]
    series = np.concatenate([above, below[..., None]], axis=2)  # (occupied, nodes, 3)
    coefficients = np.einsum("cns,nk->csk", series, to_nodes.T)
    row = np.zeros(count, dtype=np.int64)
    row[occupied] = np.arange(len(occupied))
    x, y_, z = _values(coefficients, row[cells], places)
    mean = np.column_stack([x / z, y_ / z])
    return Circle().project(angles, mean @ head.value.T)


@lru_cache
def _chebyshev() -> tuple[FloatArray, FloatArray]:
    """Nodes in (-1, 1), and the matrix (k, node) from moments of T_k to masses of nodes.

    Its transpose takes values at nodes to coefficients of T_k.
    """
    k = np.arange(_NODES)
    angles = np.pi * (k + 0.5) / _NODES
    to_nodes = (2.0 / _NODES) * np.cos(k[:, None] * angles)
    to_nodes[0] *= 0.5
    return np.cos(angles), to_nodes


def _sums(cells: IntArray, places: FloatArray, masses: FloatArray, count: int) -> FloatArray:
    """Moments sum_i m_i T_k(t_i) of every cell, (count, nodes)."""
    moments = np.empty((count, _NODES))
    before, here = np.ones_like(places), places
    for k in range(_NODES):
        moments[:, k] = np.bincount(cells, masses * before, minlength=count)
        before, here = here, 2.0 * places * here - before
    return moments


def _values(coefficients: FloatArray, rows: IntArray, places: FloatArray) -> FloatArray:
    """Values of three series of each token's cell, (3, n)."""
    total = np.zeros((3, len(places)))
    before, here = np.ones_like(places), places
    for k in range(_NODES):
        for series in range(3):
            total[series] += coefficients[rows, series, k] * before
        before, here = here, 2.0 * places * here - before
    return total
