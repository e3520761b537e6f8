"""Groups of points that have met: they move as one from then on, and may become one point.

A group linked by gaps below `reach` has met if it is no longer than that, and contracts by its own
attraction |strength| a(1) M / Z, where M is its mass. In half a time unit of this attraction its
distances must shrink to three quarters or less; alone it would shrink to about one half. Tokens
that are near each other by chance have not met: other tokens pull them apart or together. If only
others hold points together, as for beta < 0, these have met when they are a thousand times nearer
and still contract.

Replacing a group by its mass at its mean point changes a moment of degree k by at most
M (k reach)^2 / 8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray, IntArray
from meanfield.carriers.step_limits import contraction_rate
from meanfield.fields.head_pairs import tilted
from meanfield.fields.heads import HeadsInteraction
from meanfield.fields.interactions import Field, attended
from meanfield.fields.mean_field import MeanField
from meanfield.fields.positive_sums import velocity
from meanfield.measures import Measure
from meanfield.observables.clusters import cluster_radius
from meanfield.problem import Problem
from meanfield.spaces import Manifold
from meanfield.spaces.neighbourhoods import dense, linked, mean_points

# Share of the tolerance by which one meeting may change the moments of its mass.
_SHARE = 0.1
# Points become one well within the radius at which their clusters meet.
_WITHIN = 0.1
# Points nearer than the rounding of an angle are one.
SAME = 4e-15
# Variances must shrink to (3/4)^2; those of a group alone shrink to (1 - 1/2)^2.
_CONTRACTED = 0.5625
# Points that only others hold together have met below this share of the extent.
_MUCH_NEARER = 1e-3


@dataclass(frozen=True, eq=False)
class Groups:
    """Points by groups."""

    number: IntArray  # (n,): group of every point, 0 ... count - 1
    size: IntArray  # (count,): points of each group
    mass: FloatArray  # (count,): mass of each group
    met: np.ndarray  # (count,): whether it has met; false for single points

    @property
    def count(self) -> int:
        return len(self.size)


def reach(problem: Problem, tolerance: float) -> float:
    """Extent below which a group of points may count as one, radians.

    sqrt(8 * 0.1 tolerance) / K with K the largest degree of stored moments, and at most a tenth of
    the radius of a cluster.

    >>> import meanfield as mf
    >>> round(reach(mf.Problem(mf.Circle(), mf.linear(), mf.USA), 1e-10), 12)  # K = 12
    7.45356e-07
    """
    resolved = math.sqrt(8.0 * _SHARE * tolerance) / problem.moment_degree
    return min(resolved, _WITHIN * cluster_radius(problem.beta))


def groups_of(problem: Problem, measure: Measure, extent: float, *, chains: bool = False) -> Groups:
    """Groups of points linked by gaps below `extent`, and which of them have met.

    With `chains` only the gaps must be below `extent`, else the whole group.
    """
    space, points, mass = measure.manifold, measure.points, measure.mass
    number = linked(space, points, extent)
    size = np.bincount(number)
    total = _sums(number, mass)
    groups = Groups(number, size, total, np.zeros(len(size), dtype=bool))
    several = size > 1
    if not several.any():
        return groups
    # Extent from the first point of each group: exactly zero where all are in one place.
    first = np.zeros(len(size), dtype=np.int64)
    first[number[::-1]] = np.arange(len(points))[::-1]
    longest = np.zeros(len(size))
    np.maximum.at(longest, number, space.distance(points, points[first[number]]))
    candidates = several & (chains | (longest < extent))
    if not candidates.any():
        return groups
    if not may_meet(problem):
        return Groups(number, size, total, candidates & (longest == 0.0))
    interaction = attended(problem)
    if isinstance(interaction, HeadsInteraction):
        field: Field = interaction.of_points(points, mass)
        own = _own_rates_of_heads(interaction, measure, number, first)
    else:
        field = mean_field = interaction.of_points(points, mass)
        own = _own_rates(problem, interaction.scale, mean_field, points[first], total)
    met = candidates & (longest <= SAME) & ((own > 0.0) | (longest == 0.0))
    open_ = candidates & ~met & (total > 0.0)
    if open_.any():
        alone = open_ & (own > 0.0)
        moving = velocity(problem, field, points, measure.mass)
        time = np.where(alone, 0.5 / np.where(alone, own, 1.0), 0.0)
        met |= alone & (_contraction(measure, moving, number, time) <= _CONTRACTED)
        near = open_ & (longest < _MUCH_NEARER * extent)
        if near.any():
            time = np.where(near, 0.5 / contraction_rate(problem), 0.0)
            met |= near & (_contraction(measure, moving, number, time) < 1.0)
    return Groups(number, size, total, met)


def narrow_groups(problem: Problem, measure: Measure, tolerance: float) -> Groups:
    """Clusters joined by curves of little mass, as on the sphere; met if all are narrow.

    Points with less mass than the tolerance within the radius of a cluster are the last group,
    which has not met. Gaps below that radius link the others. These have met if they contract and
    sqrt(sum_i m_i d_i^2), d_i the distances from their centres, is at most half of `reach`. A
    moment of degree k then changes by at most (k reach)^2 / 8.
    """
    space, points, mass = measure.manifold, measure.points, measure.mass
    radius = cluster_radius(problem.beta)
    inside = dense(space, points, mass, radius, tolerance)
    if mass[~inside].sum() > tolerance:
        everything = np.zeros(len(mass), dtype=np.int64)
        return Groups(everything, np.array([len(mass)]), np.ones(1), np.array([False]))
    part = Measure(space, points[inside], mass[inside] / mass[inside].sum())
    groups = groups_of(problem, part, radius, chains=True)
    width = math.sqrt(_variances(space, part.points, part.mass, groups.number).sum())
    met = groups.met & (width <= 0.5 * reach(problem, tolerance))
    number = np.full(len(mass), groups.count)
    number[inside] = groups.number
    size = np.append(groups.size, len(mass) - inside.sum())
    total = np.append(_sums(groups.number, mass[inside]), mass[~inside].sum())
    return Groups(number, size, total, np.append(met, False))


def gathered(measure: Measure, groups: Groups) -> tuple[FloatArray, FloatArray, IntArray]:
    """Points and weights, with one point for each met group, and the heaviest old point of each."""
    mass = measure.mass
    joined = groups.met[groups.number]
    # The heaviest of each group that has met stands for it.
    order = np.lexsort((np.arange(len(mass)), -mass))
    _, place = np.unique(groups.number[order], return_index=True)
    heaviest = order[place]
    stays = ~joined
    stays[heaviest[groups.met]] = True
    source = np.flatnonzero(stays)
    points, weights = measure.points[source].copy(), mass[source].copy()
    replaced = joined[source]
    if replaced.any():
        centres = mean_points(measure.manifold, measure.points, mass, groups.number, groups.count)
        centres = centres[groups.number[source[replaced]]]
        # Points of no mass have no mean.
        points[replaced] = np.where(np.isfinite(centres), centres, points[replaced])
        weights[replaced] = groups.mass[groups.number[source[replaced]]]
    return points, weights, source


def may_meet(problem: Problem) -> bool:
    """True if points that have met stay together: kernels, and heads with scalar matrices.

    Other heads, fixed fields, masks, frequencies, layers and functions of time may separate points.
    Spaces without series, and rings, are excluded too.
    """
    if problem.terms or problem.layers or problem.has_labels or problem.time_functions:
        return False
    if problem.manifold.has_rings or not problem.manifold.has_series:
        return False
    numbers = [head.multiples for head in problem.kernel.matrices(problem.manifold.ambient)]
    return all(each is not None and min(each) > 0.0 for each in numbers)


def _own_rates_of_heads(
    interaction: HeadsInteraction, measure: Measure, number: IntArray, first: IntArray
) -> FloatArray:
    """`_own_rates` for heads with scalar matrices: the sum of c e^{b} M / Z."""
    y = interaction.manifold.vectors(measure.points)
    x, rates = y[first], np.zeros(len(first))
    for head, masses in zip(
        interaction.heads, interaction.masses(measure.points, measure.mass), strict=True
    ):
        z = x @ head.score
        unit: float | FloatArray = interaction.log_scale
        if interaction.normalized:
            unit = tilted(z, y, masses, log_sink=interaction.log_sink).log_partition
        total = np.maximum(_sums(number, masses), np.finfo(np.float64).tiny)
        own = (z * x).sum(axis=1) + np.log(total) - unit
        rates += head.value[0, 0] * np.exp(np.minimum(own, 0.0))
    return rates


def _own_rates(
    problem: Problem, scale: float, field: MeanField, places: FloatArray, mass: FloatArray
) -> FloatArray:
    """Rate strength a(1) M / Z at which each group would contract alone."""
    own = float(problem.own_kernel.attention(np.ones(1))[0])
    attraction = scale * problem.flow.strength * own
    rates = attraction * mass
    if field.partition is None:
        return rates
    partition = field.manifold.evaluate(field.partition, places)
    return rates / np.maximum(np.maximum(partition, rates), np.finfo(np.float64).tiny)


def _contraction(
    measure: Measure, velocity: FloatArray, number: IntArray, time: FloatArray
) -> FloatArray:
    """Factor of the variance of each group after a step of its own `time`."""
    space, points, mass = measure.manifold, measure.points, measure.mass
    columns = velocity.reshape(len(points), -1)
    # Points of no mass may be a group.
    total = np.maximum(_sums(number, mass), np.finfo(np.float64).tiny)
    mean = np.column_stack([_sums(number, mass * column) for column in columns.T])
    relative = (columns - (mean / total[:, None])[number]).reshape(points.shape)
    moved, _ = space.retract(points + (relative.T * time[number]).T)
    before, after = (_variances(space, x, mass, number) for x in (points, moved))
    return np.asarray(after / np.where(before > 0.0, before, 1.0))


def _variances(
    space: Manifold, points: FloatArray, mass: FloatArray, number: IntArray
) -> FloatArray:
    """Mass times mean square distance from its mean point, of each group."""
    count = int(number.max()) + 1
    centres = mean_points(space, points, mass, number, count)
    return _sums(number, mass * space.distance(points, centres[number]) ** 2)


def _sums(number: IntArray, values: FloatArray) -> FloatArray:
    return np.asarray(np.bincount(number, values), dtype=np.float64)
