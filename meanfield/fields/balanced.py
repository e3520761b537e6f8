"""Doubly stochastic weights of measures on a manifold: of points and of densities.

Few points are summed over pairs. For many, the sums of `sinkhorn.scaling` are series,

    e^{-c(x)} int e^{x^T S y} w(y) dmu(y),

from the moments of w mu, as the partition function of softmax is from moments of mu.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from meanfield.arrays import EPS, FloatArray, ModalArray
from meanfield.bases.coordinates import coordinate_count, coordinates
from meanfield.bases.grid import Grid
from meanfield.engines.sinkhorn import (
    FEW,
    RESIDUAL,
    PositiveKernel,
    Scaling,
    is_positive,
    newton_scaling,
    pair_scaling,
    scaling,
)
from meanfield.spaces.manifold import Manifold

MOST_PAIRS = 2_048
"""Most points whose pairs are all stored: 32 MiB, 3 ms a sweep."""

# Degree of Newton's matrix over beta^{1/2}, by dimension; most rows that it may have.
_REACH = {1: 3.0, 2: 2.0}
_MOST_ROWS = 256
# Newton's method is faster than sweeps or pairs with this many points or nodes for each row.
_MORE = 5
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
    sums = _Sums(
        x,
        masses,
        lambda weights, degree: space.moments(points, weights, degree),
        lambda series: space.evaluate(series, points),
        EPS,
    )
    if len(x) <= MOST_PAIRS:
        # Pairs sum positive terms. Series must be as accurate.
        if len(x) > FEW and _has_newton(space, score, len(x)):
            found = _newton(space, score, sums, rows())
            if found is not None and found.residual <= RESIDUAL:
                return found
        return pair_scaling(score, x, masses)
    return _by_series(space, score, sums, rows, columns)


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
    # With a scale c(x) that varies, series have more degrees in x than in the moments.
    partitions = [side.partition(space.resize(density, side.degree)) for side in sides]
    degree = max(degree, *map(space.degree_of, partitions))
    grid = space.grid(degree)
    values = np.maximum(grid.to_nodal(space.resize(density, degree)), 0.0)
    masses = grid.weights * values
    sums = _Sums(
        space.vectors(grid.points),
        masses,
        lambda weights, l: space.resize(grid.to_modal(weights / grid.weights), l),
        lambda series: grid.to_nodal(space.resize(series, degree)),
        _ROUNDING,
    )
    return grid, masses, _by_series(space, score, sums, rows, columns)


class _Sums(NamedTuple):
    """Weighted points, or nodes of a grid, and series there."""

    x: FloatArray  # (n, d)
    masses: FloatArray
    moments: Callable[[FloatArray, int], ModalArray]  # of weights (n,), up to a degree
    values: Callable[[ModalArray], FloatArray]  # of a series, (n,)
    rounding: float  # of Newton's sums


def _by_series(
    space: Manifold,
    score: FloatArray,
    sums: _Sums,
    rows: Callable[[], Side],
    columns: Callable[[], Side],
) -> Scaling:
    """Weights by series: of rows, and of columns too unless the kernel is positive."""
    sides = [rows()] if is_positive(score) else [rows(), columns()]
    if _has_newton(space, score, len(sums.x)):
        found = _newton(space, score, sums, sides[0])
        if found is not None:
            return found

    def summed(side: Side) -> Callable[[FloatArray], FloatArray]:
        return lambda w: sums.values(side.partition(sums.moments(w * sums.masses, side.degree)))

    return scaling(
        summed(sides[0]),
        sums.masses,
        summed(sides[1]) if len(sides) > 1 else None,
        row_scale=sides[0].scale(sums.x @ score),
        column_scale=sides[-1].scale(sums.x @ score.T),
        rounding=_ROUNDING,
    )


def _newton(space: Manifold, score: FloatArray, sums: _Sums, side: Side) -> Scaling | None:
    """Weights of a positive kernel by Newton's method in moments."""
    matrix = _newton_matrix(space, np.ascontiguousarray(score).tobytes(), side)
    kernel = PositiveKernel(
        lambda weights: sums.moments(weights, side.degree),
        lambda moments: sums.values(side.partition(moments)),
        lambda q: matrix.solver(sums.moments(q, 2 * matrix.degree)),
    )
    return newton_scaling(kernel, sums.masses, side.scale(sums.x @ score), sums.rounding)


def _has_newton(space: Manifold, score: FloatArray, points: int) -> bool:
    """True if Newton's matrix is not singular, and small enough to take less time than sweeps."""
    rows = coordinate_count(space.dimension, _newton_degree(space, score))
    return is_positive(score) and rows < min(_MOST_ROWS, points / _MORE)


def _newton_degree(space: Manifold, score: FloatArray) -> int:
    """Degree of Newton's matrix: higher degrees are e^{-reach^2 / 2} of the kernel."""
    # A bound of the largest eigenvalue.
    sharpness = float(np.abs(score).sum(axis=0).max())
    return 2 + math.ceil(_REACH[space.dimension] * math.sqrt(sharpness))


class _NewtonMatrix:
    """Matrix 1 + B^T q B T up to a degree l, by quadrature on a grid that is exact for it."""

    def __init__(self, space: Manifold, score: FloatArray, side: Side) -> None:
        self.degree = low = min(_newton_degree(space, score), side.degree)
        # Exact for products of q, up to degree 2 l, with two fields up to l.
        self.grid = space.grid(math.ceil(4 * low / 3))
        # Places of the real numbers up to degree l among all pairs.
        count, orders = (coordinates(space.dimension, l).orders for l in (side.degree, low))
        places = space.resize(np.arange(len(count)) + 0j, low).real.astype(np.intp)
        has_imaginary = orders > 0
        self.free = np.concatenate([2 * places, 2 * places[has_imaginary] + 1])
        fields, images = [], []
        for place in self.free:
            unit = np.zeros(2 * len(count))
            unit[place] = 1.0
            coefficients = unit.view(np.complex128)
            fields.append(self.grid.to_nodal(space.resize(coefficients, low)))
            images.append(self.grid.to_nodal(space.resize(side.partition(coefficients), low)))
        # Coefficients of positive order also stand for negative ones.
        self.images = (self.grid.weights[:, None] * np.array(images).T).astype(np.float32)
        twice = np.concatenate([1.0 + has_imaginary, np.full(has_imaginary.sum(), 2.0)])
        self.fields = (np.array(fields) / twice[:, None]).astype(np.float32)

    def solver(self, q: ModalArray) -> Callable[[ModalArray], ModalArray]:
        """Map from r to z with the moments of q up to degree 2 l; above l, z = r.

        Single precision is enough for steps.
        """
        from scipy.linalg.lapack import sgetrf, sgetrs

        system = self.fields @ (self.grid.to_nodal(q).astype(np.float32)[:, None] * self.images)
        system.flat[:: len(system) + 1] += 1.0
        factors, pivots, _ = sgetrf(system)

        def solved(r: ModalArray) -> ModalArray:
            z = np.array(r, dtype=np.complex128)
            pairs = z.view(np.float64)
            pairs[self.free] = sgetrs(factors, pivots, pairs[self.free])[0]
            return z

        return solved


@lru_cache(maxsize=16)
def _newton_matrix(space: Manifold, score: bytes, side: Side) -> _NewtonMatrix:
    return _NewtonMatrix(space, np.frombuffer(score).reshape(2 * (space.ambient,)), side)
