"""The field of heads: attention with matrices, evaluated at z = S^T x.

For a head with score S (beta included) and value V, and a measure mu,

    G(z) = int e^{<z, y>} dmu(y),    m(z) = int e^{<z, y>} y dmu(y),    v(x) = P_x V m / G

summed over heads; without normalisation v = P_x V m e^{-s}. Along x both are smooth functions of
few degrees, linear in the moments; `HeadTable` is this linear map. Their quotient has many degrees,
so it is taken pointwise: at a token, or at the nodes of a grid.

Both series are scaled by e^{-c(x)}, which cancels in the quotient. Z may be e^{-|z|} times its
value for the uniform law. Unless the score is a multiple of a rotation, |S^T x| depends on x. Then
c(x) follows it, or directions of small |S^T x| would sink into the rounding of others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import ClassVar

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.bases.grid import Grid
from meanfield.engines.partition import floored
from meanfield.engines.sinkhorn import tilted_masses
from meanfield.fields import engines, head_pairs
from meanfield.fields.balanced import Side, density_scaling, point_scaling
from meanfield.fields.blocks import attention_output
from meanfield.fields.head_series import HeadField, HeadTable, together
from meanfield.fields.mean_field import Symmetric, Transport
from meanfield.problem import Problem
from meanfield.spaces.manifold import Manifold
from meanfield.terms.attention import (
    Attention,
    HeadMatrices,
    multiple_of_identity,
)
from meanfield.terms.flows import Normalization
from meanfield.terms.kernels import kernel_of
from meanfield.terms.masks import EVERYONE, Mask, pair_weights

# Rounding of the normal part that P_x removes: ten times the value measured on the sphere.
_ROUNDING = 1e-15


@dataclass(frozen=True, eq=False)
class HeadsField:
    """Field that a measure creates for all heads."""

    manifold: Manifold
    heads: tuple[HeadField, ...]

    @property
    def partitions(self) -> tuple[ModalArray, ...]:
        return tuple(head.partition for head in self.heads if head.partition is not None)

    def velocity(self, points: FloatArray) -> FloatArray:
        """Velocity at scattered points, each quotient taken there."""
        return engines.row(self.manifold).heads_velocity(self.heads, points)

    def on_nodes(self, grid: Grid) -> tuple[FloatArray, None]:
        """Velocity at the nodes of a grid; several heads have several Z.

        Far from all mass quotients of rounding errors would be large, and steps and tails are
        measured against the largest speed. So Z is floored, and quotients are bounded by |V|.
        """
        total: FloatArray | float = 0.0
        for head in self.heads:
            total = total + head_on_nodes(head, grid)[0]
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
                own, own_divergence = values[0], slopes[0]
            else:
                own = space.project(points, values.T)
                along = sum(slope[:, a] for a, slope in enumerate(slopes))
                own_divergence = along - space.dimension * (space.vectors(points).T * values).sum(
                    axis=0
                )
            if head.partition is not None:
                below = floored(space.evaluate(head.partition, points))
                own = own / space.per_point(below)
                steep = own * space.gradient(head.partition, points)
                own_divergence = (
                    own_divergence - (steep if steep.ndim == 1 else steep.sum(axis=-1))
                ) / below
            velocity = velocity + own
            divergence += own_divergence
        return np.asarray(velocity), divergence


def head_on_nodes(head: HeadField, grid: Grid) -> tuple[FloatArray, FloatArray | None]:
    """A head's quotients at the nodes before projection, and Z, floored: `HeadsField.on_nodes`."""
    quotients = np.array([grid.to_nodal(field) for field in head.numerators])
    if head.partition is None:
        return quotients, None
    below = floored(grid.to_nodal(head.partition))
    quotients /= below
    return np.clip(quotients, -head.largest, head.largest, out=quotients), below


def head_table(
    space: Manifold, head: HeadMatrices, normalized: bool, log_scale: float, sink: float = 0.0
) -> HeadTable:
    """Table of a head, made once; see `Engines`."""
    score, value = (np.ascontiguousarray(each, dtype=np.float64).tobytes() for each in head)
    scale = 0.0 if normalized and not sink else float(log_scale)
    return _head_table(space, score, value, normalized, scale, sink)


# Room for a dozen heads, with both scales.
@lru_cache(maxsize=32)
def _head_table(
    space: Manifold, score: bytes, value: bytes, normalized: bool, log_scale: float, sink: float
) -> HeadTable:
    head = HeadMatrices(*(np.frombuffer(e).reshape(2 * (space.ambient,)) for e in (score, value)))
    return engines.row(space).head_table(head, normalized, log_scale, sink)


@dataclass(frozen=True, eq=False)
class HeadsInteraction:
    """Interaction of all heads: the map from measures to their field."""

    manifold: Manifold
    heads: tuple[HeadMatrices, ...]
    normalization: Normalization  # as in `Attention`
    log_scale: float  # s in the weights e^{<z, y> - s} without normalisation, or with a sink
    mask: Mask = EVERYONE  # see `ordered`
    sink: float = 0.0  # c: softmax divides by e^{-s} Z + c

    fixed: ClassVar[None] = None

    @property
    def attention(self) -> HeadsInteraction:
        return self

    @property
    def normalized(self) -> bool:
        return self.normalization != "none"

    @property
    def log_sink(self) -> float:
        """Logarithm of the term that a sink adds to Z."""
        return self.log_scale + math.log(self.sink) if self.sink else -math.inf

    @cached_property
    def tables(self) -> tuple[HeadTable, ...]:
        common = self.normalized, self.log_scale, self.sink
        return tuple(head_table(self.manifold, head, *common) for head in self.heads)

    @cached_property
    def degree(self) -> int:
        return max(head.degree for head in self.heads)

    @cached_property
    def largest(self) -> tuple[float, ...]:
        """Largest speed |V|_2 of each head with normalised weights."""
        return tuple(float(np.linalg.norm(head.value, 2)) for head in self.heads)

    @property
    def rounding(self) -> float:
        """Speed that rounding may leave where P_x V m vanishes, relative to sum_h |V_h|_2."""
        return _ROUNDING * sum(self.largest)

    def field(self, moments: ModalArray | Sequence[ModalArray]) -> HeadsField:
        """Field of a measure with these moments; a sequence has moments for each head."""
        fields = self._fields(moments)
        if not self.normalized and len(fields) > 1:
            fields = [together(self.manifold, fields)]
        return HeadsField(self.manifold, tuple(fields))

    def _fields(self, moments: ModalArray | Sequence[ModalArray]) -> list[HeadField]:
        several = [moments] * len(self.heads) if isinstance(moments, np.ndarray) else moments
        return [
            HeadField(*table.fields(own), largest)
            for table, own, largest in zip(self.tables, several, self.largest, strict=True)
        ]

    def of_density(self, density: ModalArray) -> HeadsField:
        if self.normalization == "sinkhorn":
            return self.field(self.balanced_moments(density))
        return self.field(density)

    def of_points(
        self, points: FloatArray, weights: FloatArray | None, symmetric: Symmetric | None = None
    ) -> HeadsField:
        """Field of weighted points, or of their mean over a group; weights None means equal."""

        def moments(masses: FloatArray | None) -> ModalArray:
            sums = self.manifold.moments(points, masses, self.degree)
            return sums if symmetric is None else symmetric.project(sums)

        if self.normalization == "sinkhorn":
            return self.field([moments(each) for each in self.masses(points, weights)])
        return self.field(moments(weights))

    def nodal_velocities(self, densities: ModalArray, grid: Grid) -> FloatArray:
        return np.array([self.of_density(each).on_nodes(grid)[0] for each in densities])

    def nodal_by_head(
        self, density: ModalArray, grid: Grid
    ) -> list[tuple[FloatArray, FloatArray | None]]:
        """Velocity and Z of each head at the nodes of a grid."""
        nodal = (head_on_nodes(field, grid) for field in self._fields(density))
        return [(grid.project(output), below) for output, below in nodal]

    def relevant(self, densities: ModalArray) -> ModalArray:
        """Coefficients that the field depends on: all of them for doubly stochastic weights."""
        if self.normalization == "sinkhorn":
            return densities
        degree = min(self.degree, self.manifold.degree_of(densities))
        return self.manifold.resize(densities, degree)

    def transport(self, max_degree: int) -> Transport:
        return engines.row(self.manifold).heads_transport(self, max_degree)

    def pair_velocity(
        self, points: FloatArray, weights: FloatArray | None, targets: FloatArray | None = None
    ) -> FloatArray:
        if not self.manifold.has_series and targets is None:
            x = self.manifold.vectors(points)
            return self.manifold.project(points, self.output(x, weights))
        masses = self.masses(points, weights)
        return head_pairs.pair_velocity(
            self.manifold, self.heads, masses, points, self._unit, targets, self.log_sink
        )

    def output(self, x: FloatArray, weights: FloatArray | None) -> FloatArray:
        """Attention output A at weighted vectors x (n, d), over pairs with the mask: v = P_x A."""
        return attention_output(
            x,
            self.heads,
            weights,
            normalization=self.normalization,
            log_scale=self.log_scale,
            mask=pair_weights(self.mask, len(x)),
            log_sink=self.log_sink,
        )

    def far_velocity(self, points: FloatArray, weights: FloatArray | None) -> FloatArray | None:
        """Velocity of many weighted points in their own field, for any Z; None if too costly."""
        masses = self.masses(points, weights)
        return engines.row(self.manifold).far_velocity(self.heads, masses, points, self.log_sink)

    def pair_velocity_and_divergence(
        self, points: FloatArray, weights: FloatArray | None, targets: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """As `pair_velocity`, and its divergence there, shape (n,)."""
        masses = self.masses(points, weights)
        return head_pairs.pair_velocity_and_divergence(
            self.manifold, self.heads, masses, points, self._unit, targets, self.log_sink
        )

    def pair_errors(self, points: FloatArray, weights: FloatArray, noise: FloatArray) -> FloatArray:
        """Relative error of each point's Z where masses err by `noise`, the worst of all heads."""
        y = self.manifold.vectors(points)
        worst = np.zeros(len(y))
        for head in self.heads:
            z = y @ head.score
            means = head_pairs.tilted(z, y, weights, log_sink=self.log_sink).log_partition
            erring = head_pairs.tilted(z, y, noise).log_partition
            worst = np.maximum(worst, np.exp(np.minimum(erring - means, 0.0)))
        return worst

    def masses(self, points: FloatArray, weights: FloatArray | None) -> tuple[FloatArray, ...]:
        """Masses of points for each head; doubly stochastic ones are times w, up to a factor."""
        equal = np.full(len(points), 1.0 / len(points)) if weights is None else weights
        if self.normalization != "sinkhorn":
            return (equal,) * len(self.heads)
        return tuple(
            tilted_masses(
                equal,
                point_scaling(
                    self.manifold,
                    head.score,
                    points,
                    equal,
                    partial(side, self.manifold, head.score),
                    partial(side, self.manifold, head.score.T),
                ).log_w,
            )
            for head in self.heads
        )

    def balanced_moments(self, density: ModalArray) -> list[ModalArray]:
        """Moments of w mu for a density, one array a head, each up to a factor."""
        return [self._balanced_moments(head, density) for head in self.heads]

    def _balanced_moments(self, head: HeadMatrices, density: ModalArray) -> ModalArray:
        space, score = self.manifold, head.score
        grid, masses, weighted = density_scaling(
            space, score, density, partial(side, space, score), partial(side, space, score.T)
        )
        return grid.to_modal(tilted_masses(masses, weighted.log_w) / grid.weights)

    @property
    def _unit(self) -> float | None:
        return None if self.normalized else self.log_scale


def side(space: Manifold, score: FloatArray) -> Side:
    """Sums of a kernel e^{x^T S y} as series, for doubly stochastic weights."""
    return _side(space, np.ascontiguousarray(score, dtype=np.float64).tobytes())


@lru_cache(maxsize=32)
def _side(space: Manifold, entries: bytes) -> Side:
    score = np.frombuffer(entries).reshape(2 * (space.ambient,))
    table = head_table(space, HeadMatrices(score, np.eye(len(score))), True, 0.0)
    partition, beta = table.partition, multiple_of_identity(score)
    if beta:
        multipliers = kernel_of(beta).attention_multipliers(space.dimension, table.degree)
        partition = partial(space.convolve, multipliers)
    return Side(table.degree, partition, table.scale.at)


# Keeps the tables of all heads, however many.
@lru_cache(maxsize=16)
def _of_attention(space: Manifold, attention: Attention, log_scale: float) -> HeadsInteraction:
    heads, sink = attention.matrices(space.ambient), attention.sink
    how, mask = attention.normalization, attention.masking
    scale = attention.sharpness(space.ambient) if sink else log_scale
    return HeadsInteraction(space, heads, how, scale, mask, sink)


def heads_interaction(problem: Problem) -> HeadsInteraction:
    """Interaction of the heads of a problem; a built-in kernel is one head.

    A single token attends to itself, and its head turns by a right angle:

    >>> import meanfield as mf
    >>> turning = mf.Attention([mf.Head(value=[[0, -1], [1, 0]])], beta=4.0)
    >>> felt = heads_interaction(mf.Problem(mf.Circle(), turning))
    >>> felt.of_points(np.zeros(1), None).velocity(np.zeros(1)).round(12)
    array([1.])
    """
    if problem.attention is not None:
        return _of_attention(problem.manifold, problem.attention, problem.log_scale)
    heads = problem.heads
    if heads is None:
        raise ValueError(
            f"kernel {problem.own_kernel.name!r} is no head of attention on "
            f"{problem.manifold.name}, expected mf.exponential, mf.linear or mf.Attention. "
            "Own kernels run on mf.Circle() and mf.Sphere(d)."
        )
    return HeadsInteraction(problem.manifold, heads, problem.normalization, problem.log_scale)
