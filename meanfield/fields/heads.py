"""The field of heads: attention with matrices, asked at z = S^T x.

For a head with score S (beta included) and value V, and a measure mu,

    G(z) = int e^{<z, y>} dmu(y),    m(z) = int e^{<z, y>} y dmu(y),    v(x) = P_x V m / G

summed over heads; without normalisation v = P_x V m e^{-s}. Along x both are smooth functions of
few degrees, linear in the moments: `HeadTable` is that linear map, made once. Their quotient
is not of few degrees, and is taken where it is needed: at a token, or at the nodes of a grid.

Both series are scaled by e^{-c(x)}, which the quotient does not feel. Z is as small as e^{-|z|}
times its value for uniform: for scores that are not a multiple of a rotation, |S^T x| depends on x,
and c(x) follows it, else directions of small |S^T x| would sink into the rounding of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.attention import HeadMatrices
from meanfield.fields import head_pairs
from meanfield.fields.mean_field import floored
from meanfield.kernels import exponential
from meanfield.manifolds.grid import Grid
from meanfield.manifolds.manifold import Manifold
from meanfield.problem import Problem

# |S^T x| may differ by this much before c(x) follows it: e^1 costs no digit.
_LEVEL = 1.0
# What is cut off of the degrees in x, of the largest.
_CUT = 1e-15


@dataclass(frozen=True)
class RowScale:
    """The scale c(x) = constant + slope |S^T x|^2 of the two series.

    Equal to |S^T x| where that is largest and where it is smallest, a polynomial between.

    Attributes
    ----------
    constant, slope : float
        Derived.
    """

    constant: float
    slope: float

    def at(self, z: FloatArray) -> FloatArray:
        """Values where S^T x = z, (..., d) to (...)."""
        return np.asarray(self.constant + self.slope * (z * z).sum(axis=-1))


def row_scale(head: HeadMatrices, normalized: bool, log_scale: float) -> RowScale:
    """Scale of a head's series; without normalisation log_scale, which is then that of time.

    Examples
    --------
    >>> head = HeadMatrices(np.diag([9.0, 1.0]), np.eye(2))
    >>> row_scale(head, True, 0.0).at(np.array([[9.0, 0.0], [0.0, 1.0]]))
    array([9., 1.])
    """
    if not normalized:
        return RowScale(log_scale, 0.0)
    sizes = np.linalg.svd(head.score, compute_uv=False)
    largest, least = float(sizes[0]), float(sizes[-1])
    if largest - least <= _LEVEL:
        return RowScale(largest, 0.0)
    return RowScale(largest * least / (largest + least), 1.0 / (largest + least))


@dataclass(frozen=True, eq=False)
class HeadField:
    """Series of one head in the field of one measure.

    Attributes
    ----------
    numerators : tuple of ndarray
        Derived. Coefficients of e^{-c} <e, V m>, e along the circle, or each axis of R^3.
    partition : ndarray or None
        Derived. Coefficients of e^{-c} G; None without normalisation.
    """

    numerators: tuple[ModalArray, ...]
    partition: ModalArray | None


@dataclass(frozen=True, eq=False)
class HeadsField:
    """Field that a measure creates for all heads.

    Attributes
    ----------
    manifold : Manifold
        Derived.
    heads : tuple of HeadField
        Derived.
    """

    manifold: Manifold
    heads: tuple[HeadField, ...]

    @property
    def partitions(self) -> tuple[ModalArray, ...]:
        """Coefficients of what velocities are divided by."""
        return tuple(head.partition for head in self.heads if head.partition is not None)

    def velocity(self, points: FloatArray) -> FloatArray:
        """Velocity at scattered points, each quotient taken there."""
        space = self.manifold
        total: FloatArray | float = 0.0
        for head in self.heads:
            total = total + np.array(
                [space.evaluate(field, points, head.partition) for field in head.numerators]
            )
        total = np.asarray(total)
        return np.asarray(total[0]) if len(total) == 1 else space.project(points, total.T)

    def on_nodes(self, grid: Grid) -> tuple[FloatArray, None]:
        """Velocity at the nodes of a grid; Z is floored, and several heads have several."""
        total: FloatArray | float = 0.0
        for head in self.heads:
            part = np.array([grid.to_nodal(field) for field in head.numerators])
            if head.partition is not None:
                part /= floored(grid.to_nodal(head.partition))
            total = total + part
        return grid.project(np.asarray(total)), None

    def velocity_and_divergence(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Velocity at scattered points, and its divergence there, shape (n,).

            div (N / G) = (div N - <N / G, grad G>) / G,    N = P_x V m
            div P_x u = sum_a <e_a, grad u_a> - (d - 1) <x, u>

        with u_a the fields along the axes of R^3; on the circle N is a derivative already.
        """
        space = self.manifold
        velocity: FloatArray | float = 0.0
        divergence = np.zeros(len(points))
        for head in self.heads:
            values = np.array([space.evaluate(field, points) for field in head.numerators])
            slopes = [space.gradient(field, points) for field in head.numerators]
            if len(values) == 1:
                own, spread = values[0], slopes[0]
            else:
                own = space.project(points, values.T)
                along = sum(slope[:, a] for a, slope in enumerate(slopes))
                spread = along - space.dimension * (space.vectors(points).T * values).sum(axis=0)
            if head.partition is not None:
                below = floored(space.evaluate(head.partition, points))
                own = own / space.per_point(below)
                steep = own * space.gradient(head.partition, points)
                spread = (spread - (steep if steep.ndim == 1 else steep.sum(axis=-1))) / below
            velocity = velocity + own
            divergence += spread
        return np.asarray(velocity), divergence


@dataclass(frozen=True, eq=False)
class HeadTable:
    """The linear map from moments to the series of a head.

    Attributes
    ----------
    degree : int
        Derived. Of the moments that are felt.
    matrix : ndarray, shape (series * rows, columns)
        Derived. Acts on the moments as pairs of real numbers and gives those of each series.
    series : int
        Derived. Numerators and, last, the partition function.
    """

    manifold: Manifold
    degree: int
    matrix: FloatArray
    series: int

    def field(self, moments: ModalArray, normalized: bool) -> HeadField:
        """Series of the head in the field of a measure."""
        felt = self.manifold.resize(moments, self.degree)
        rows = (self.matrix @ felt.view(np.float64)).reshape(self.series, -1)
        *numerators, partition = rows.view(np.complex128)
        return HeadField(tuple(numerators), partition if normalized else None)

    def partition(self, moments: ModalArray) -> ModalArray:
        """Coefficients of e^{-c} G alone."""
        felt = self.manifold.resize(moments, self.degree)
        below = self.matrix[-(len(self.matrix) // self.series) :] @ felt.view(np.float64)
        return np.asarray(below.view(np.complex128))


def head_table(
    space: Manifold, head: HeadMatrices, normalized: bool, log_scale: float
) -> HeadTable:
    """Table of a head, by quadrature of e^{<z, y> - c}: sums of positive terms.

    Degrees in x are kept down to rounding of the largest.
    """
    return _table(space, _Hashed(head), normalized, log_scale)


class _Hashed:
    """Matrices of a head, which compare by their bytes."""

    def __init__(self, head: HeadMatrices) -> None:
        self.head = head
        self.key = (head.score.tobytes(), head.value.tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Hashed) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@lru_cache(maxsize=16)
def _table(space: Manifold, of: _Hashed, normalized: bool, log_scale: float) -> HeadTable:
    head = of.head
    degree = felt_degree(space, head)
    reach = degree + 8
    scale = row_scale(head, normalized, log_scale)
    while True:
        matrix, sizes, series = _by_quadrature(space, head, scale, degree, reach)
        kept = np.flatnonzero(sizes > _CUT * sizes.max(initial=0.0))
        last = int(kept[-1]) if len(kept) else 0
        if last < reach or not scale.slope:
            break
        reach += reach // 2
    wide = matrix.reshape(series, -1, matrix.shape[1])
    rows = [_cut(space, each, last) for each in wide]
    return HeadTable(space, degree, np.concatenate(rows), series)


def _cut(space: Manifold, rows: FloatArray, degree: int) -> FloatArray:
    """Rows of a series up to a degree."""
    columns = np.ascontiguousarray(rows.T).view(np.complex128)
    cut = np.array([space.resize(column, degree) for column in columns])
    return np.ascontiguousarray(cut.view(np.float64).T)


def felt_degree(space: Manifold, head: HeadMatrices) -> int:
    """Degree of the moments that a head feels: of e^{<z, y>}, and one more for the factor y."""
    sharpness = head.sharpness
    return exponential(sharpness).degree(space.dimension) + 1 if sharpness else 1


def _by_quadrature(
    space: Manifold, head: HeadMatrices, scale: RowScale, degree: int, reach: int
) -> tuple[FloatArray, FloatArray, int]:
    """Matrix of a head with degrees of x up to `reach`, their sizes, and how many series."""
    sources, targets = space.grid(degree), space.grid(reach)
    x, y = space.vectors(targets.points), space.vectors(sources.points)
    z = x @ head.score
    weights = np.exp(z @ y.T - scale.at(z)[:, None])
    along = y @ head.value.T
    if space.dimension == 1:
        tangents = np.column_stack([-x[:, 1], x[:, 0]])
        factors = [tangents @ along.T]
    else:
        factors = [np.broadcast_to(column, weights.shape) for column in along.T]
    doubled = _doubled(space, degree)
    blocks, sizes = [], np.zeros(reach + 1)
    for factor in [*factors, None]:
        terms = weights if factor is None else weights * factor
        # <g, mu> for each node: the coefficients of g as pairs of real numbers.
        rows = np.array([sources.to_modal(row) for row in terms]).view(np.float64) * doubled
        columns = np.array([targets.to_modal(column) for column in rows.T])
        sizes = np.maximum(sizes, np.max([space.sizes_by_degree(c) for c in columns], axis=0))
        blocks.append(columns.view(np.float64).T)
    return np.concatenate(blocks), sizes, len(blocks)


@lru_cache(maxsize=16)
def _doubled(space: Manifold, degree: int) -> FloatArray:
    """How often each real number of coefficients counts in an inner product."""
    count = len(space.resize(space.from_modes([]), degree))
    alone = np.eye(count, dtype=np.complex128)
    return np.repeat([space.inner(each, each) for each in alone], 2)


def _together(space: Manifold, fields: Sequence[HeadField]) -> HeadField:
    """Heads without normalisation as one: their numerators add up."""
    degree = max(space.degree_of(series) for head in fields for series in head.numerators)
    each = [[space.resize(series, degree) for series in head.numerators] for head in fields]
    return HeadField(tuple(np.sum(each, axis=0)), None)


@dataclass(frozen=True, eq=False)
class HeadsInteraction:
    """What a measure does to all heads: the map from measures to their field.

    Attributes
    ----------
    manifold : Manifold
        Derived.
    heads : tuple of HeadMatrices
        Derived.
    normalization : str
        Derived. As that of `Attention`.
    log_scale : float
        Derived. s in the weights e^{<z, y> - s} without normalisation.
    """

    manifold: Manifold
    heads: tuple[HeadMatrices, ...]
    normalization: str
    log_scale: float

    @property
    def normalized(self) -> bool:
        """Whether velocities are divided by Z."""
        return self.normalization != "none"

    @cached_property
    def tables(self) -> tuple[HeadTable, ...]:
        """Tables of all heads, made when they are first used."""
        return tuple(
            head_table(self.manifold, head, self.normalized, self.log_scale) for head in self.heads
        )

    @cached_property
    def degree(self) -> int:
        """Degree of the moments that are felt."""
        return max(felt_degree(self.manifold, head) for head in self.heads)

    def field(self, moments: ModalArray | Sequence[ModalArray]) -> HeadsField:
        """Field of a measure with these moments; of one measure a head, if they are several."""
        several = [moments] * len(self.heads) if isinstance(moments, np.ndarray) else moments
        fields = [
            table.field(own, self.normalized)
            for table, own in zip(self.tables, several, strict=True)
        ]
        if not self.normalized:
            fields = [_together(self.manifold, fields)]
        return HeadsField(self.manifold, tuple(fields))

    def of_density(self, density: ModalArray) -> HeadsField:
        """Field of a density."""
        return self.field(density)

    def of_points(self, points: FloatArray, weights: FloatArray | None) -> HeadsField:
        """Field of weighted points; weights None means equal."""
        return self.field(self.manifold.moments(points, weights, self.degree))

    def pair_velocity(
        self, points: FloatArray, weights: FloatArray | None, targets: FloatArray | None = None
    ) -> FloatArray:
        """Velocity at weighted points, or at targets, in their field, summed over pairs."""
        masses = self.masses(points, weights)
        return head_pairs.pair_velocity(
            self.manifold, self.heads, masses, points, self._unit, targets
        )

    def pair_velocity_and_divergence(
        self, points: FloatArray, weights: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """Velocity at weighted points in their own field and its divergence, over pairs."""
        masses = self.masses(points, weights)
        return head_pairs.pair_velocity_and_divergence(
            self.manifold, self.heads, masses, points, self._unit
        )

    def pair_errors(self, points: FloatArray, weights: FloatArray, noise: FloatArray) -> FloatArray:
        """Relative error of each point's Z where masses err by `noise`, the worst of all heads."""
        y = self.manifold.vectors(points)
        worst = np.zeros(len(y))
        for head in self.heads:
            z = y @ head.score
            seen, erring = (
                head_pairs.tilted(z, y, each).log_partition for each in (weights, noise)
            )
            worst = np.maximum(worst, np.exp(np.minimum(erring - seen, 0.0)))
        return worst

    def masses(self, points: FloatArray, weights: FloatArray | None) -> tuple[FloatArray, ...]:
        """Masses of points as each head weighs them."""
        equal = np.broadcast_to(1.0 / len(points), len(points)) if weights is None else weights
        return (equal,) * len(self.heads)

    @property
    def _unit(self) -> float | None:
        return None if self.normalized else self.log_scale


@lru_cache(maxsize=16)
def _interaction(
    space: Manifold, heads: tuple[_Hashed, ...], normalization: str, log_scale: float
) -> HeadsInteraction:
    return HeadsInteraction(space, tuple(each.head for each in heads), normalization, log_scale)


def heads_interaction(problem: Problem) -> HeadsInteraction:
    """Interaction of a problem whose attention has matrices.

    Examples
    --------
    A token that turns what it sees by a right angle, alone with itself:

    >>> import meanfield as mf
    >>> turning = mf.Attention([mf.Head(value=[[0, -1], [1, 0]])], beta=4.0)
    >>> felt = heads_interaction(mf.Problem(mf.Circle(), turning))
    >>> felt.of_points(np.zeros(1), None).velocity(np.zeros(1)).round(12)
    array([1.])
    """
    attention = problem.attention
    if attention is None:
        raise ValueError("the problem has a kernel, no heads.")
    heads = attention.matrices(problem.manifold.dimension + 1)
    hashed = tuple(map(_Hashed, heads))
    return _interaction(problem.space, hashed, attention.normalization, problem.log_scale)
