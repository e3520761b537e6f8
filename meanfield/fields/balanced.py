"""Doubly stochastic weights of measures on a manifold: of points and of densities.

Few points are summed over pairs. For many, the sums of `sinkhorn.scaling` are series,

    e^{-c(x)} int e^{x^T S y} w(y) dmu(y),

from the moments of w mu, as a softmax's partition function is from the moments of mu.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from meanfield.arrays import EPS, FloatArray, ModalArray
from meanfield.bases.grid import Grid
from meanfield.engines.sinkhorn import Scaling, is_positive, pair_scaling, scaling
from meanfield.spaces.manifold import Manifold

MOST_PAIRS = 2_048
"""Points up to which all pairs are kept, 32 MiB, 3 ms a sweep."""

# Error of a series whose largest value is the mass.
_ROUNDING = 16 * EPS


class Side(NamedTuple):
    """Rows or columns of a kernel as a series."""

    degree: int  # of the moments that it needs
    # Moments of a measure to the coefficients of e^{-c(x)} int e^{<z, y>} dmu(y), with z = S^T x
    # for rows and z = S x for columns.
    partition: Callable[[ModalArray], ModalArray]
    scale: Callable[[FloatArray], FloatArray]  # c at z, (n, d) to (n,)


def point_scaling(
    space: Manifold,
    score: FloatArray,
    points: FloatArray,
    masses: FloatArray,
    rows: Callable[[], Side],
    columns: Callable[[], Side],
) -> Scaling:
    """Weights of points, by pairs or by series; sides are made if they are needed."""
    x = space.vectors(points)
    if len(x) <= MOST_PAIRS:
        return pair_scaling(score, x, masses)

    def sums(side: Side) -> Callable[[FloatArray], FloatArray]:
        def summed(values: FloatArray) -> FloatArray:
            moments = space.moments(points, values * masses, side.degree)
            return np.asarray(space.evaluate(side.partition(moments), points))

        return summed

    sides = [rows()] if is_positive(score) else [rows(), columns()]
    return _by_series(score, x, masses, sides, sums)


def density_scaling(
    space: Manifold,
    score: FloatArray,
    density: ModalArray,
    rows: Callable[[], Side],
    columns: Callable[[], Side],
) -> tuple[Grid, FloatArray, Scaling]:
    """Weights of a density at the nodes of a grid: grid, masses of its nodes, weights there.

    Values of the density below zero, which are rounding, count as zero.
    """
    sides = [rows()] if is_positive(score) else [rows(), columns()]
    degree = max(space.degree_of(density), *(side.degree for side in sides))
    # The series of a scale that is not constant reach further in x than they need moments.
    partitions = [side.partition(space.resize(density, side.degree)) for side in sides]
    degree = max(degree, *map(space.degree_of, partitions))
    grid = space.grid(degree)
    values = np.maximum(grid.to_nodal(space.resize(density, degree)), 0.0)

    def sums(side: Side) -> Callable[[FloatArray], FloatArray]:
        def summed(weights: FloatArray) -> FloatArray:
            moments = space.resize(grid.to_modal(weights * values), side.degree)
            series = side.partition(moments)
            return grid.to_nodal(space.resize(series, degree))

        return summed

    masses = grid.weights * values
    x = space.vectors(grid.points)
    return grid, masses, _by_series(score, x, masses, sides, sums)


def _by_series(
    score: FloatArray,
    x: FloatArray,
    masses: FloatArray,
    sides: list[Side],
    sums: Callable[[Side], Callable[[FloatArray], FloatArray]],
) -> Scaling:
    """Weights by series: of rows, and of columns too unless the kernel is positive."""
    adjoint = sums(sides[1]) if len(sides) > 1 else None
    return scaling(
        sums(sides[0]),
        masses,
        adjoint,
        row_scale=sides[0].scale(x @ score),
        column_scale=sides[-1].scale(x @ score.T),
        rounding=_ROUNDING,
    )
