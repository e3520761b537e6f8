"""When the next two clusters meet, of many configurations at once.

Clusters x_i of masses m_i move as atoms,

    x_i' = strength sum_j m_j a(s_ij) P_i x_j [/ Z_i],    s_ij = <x_i, x_j>,

until two are within the radius of the cluster rule; there a configuration is held, and so is its
clock, which runs in u = ln t: u' = e^{-u}. So times of any size cost a few hundred steps.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from meanfield.arrays import FloatArray, IntArray
from meanfield.fields.blocks import unit_vectors
from meanfield.observables.clusters import Clusters, cluster_radius
from meanfield.problem import Problem
from meanfield.schemes.replicas import Numbers, replicas_at

_TOLERANCE = 1e-5
LATEST = 1e6
"""Later merges, in units of the time at which clusters are counted, are not followed."""
_QUARTILES = (0.25, 0.5, 0.75)

MergeTimes = dict[int, tuple[float, float, float]]
"""Number of clusters -> quartiles of the time at which the next two have met."""


def next_merges(problem: Problem, clusters: Sequence[Clusters], time: float) -> MergeTimes:
    """Quartiles of the scaled time of the next merge, of configurations counted at a time.

    Mass beside the clusters is shared out among them. Infinite beyond `LATEST` times the time.
    Empty for beta < 0 or repulsion: clusters then rest apart, which no explicit step follows long.

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(9.0), mf.SA)
    >>> pair = Clusters(np.array([0.5, 0.5]), np.array([0.0, 1.0]))
    >>> [times] = next_merges(problem, [pair], 5.0).values()
    >>> exact = 5.0 + mf.two_cluster_time(problem, 1.0, cluster_radius(9.0))
    >>> bool(abs(times[1] / exact - 1.0) < 1e-3)
    True
    """
    counts = np.array([each.count for each in clusters])
    return quartiles_by_count(counts, merge_times(problem, clusters, time))


def quartiles_by_count(counts: IntArray, times: FloatArray) -> MergeTimes:
    """Quartiles of times by number of clusters, of those that are numbers.

    >>> quartiles_by_count(np.array([2, 3, 2, 2]), np.array([5.0, 1.0, np.inf, np.nan]))
    {2: (5.0, 5.0, inf), 3: (1.0, 1.0, 1.0)}
    """
    # Without interpolation: a quartile may be infinite.
    groups = {int(k): times[(counts == k) & ~np.isnan(times)] for k in np.unique(counts)}
    quartiles = (
        (k, np.quantile(group, _QUARTILES, method="inverted_cdf").tolist())
        for k, group in groups.items()
        if len(group)
    )
    return {k: (low, middle, high) for k, (low, middle, high) in quartiles}


def merge_times(problem: Problem, clusters: Sequence[Clusters], time: float) -> FloatArray:
    """Times as in `next_merges`, NaN of single clusters and where tokens do not attract."""
    space, times = problem.manifold, np.full(len(clusters), np.nan)
    if problem.beta < 0.0 or problem.flow.strength < 0.0:
        return times
    counts = np.array([each.count for each in clusters])
    for count in np.unique(counts[counts > 1]):
        chosen = np.flatnonzero(counts == count)
        equal = [clusters[int(i)] for i in chosen]
        points = np.stack([space.vectors(each.centre) for each in equal])
        masses = np.stack([each.mass / each.mass.sum() for each in equal])
        times[chosen] = _times(problem, points, masses, time)
    return times


def _times(problem: Problem, points: FloatArray, masses: FloatArray, time: float) -> FloatArray:
    """Times of the next merge of configurations (R, n, d) with masses (R, n) at a time."""
    zonal, met, log_start = problem.zonal, np.cos(cluster_radius(problem.beta)), np.log(time)
    apart = -2.0 * np.eye(points.shape[1])

    def between(x: FloatArray) -> FloatArray:
        return np.clip(x @ x.transpose(0, 2, 1), -1.0, 1.0)

    def have_met(cosines: FloatArray) -> FloatArray:
        return np.asarray((cosines + apart).max(axis=(1, 2)) >= met)

    def velocity(numbers: Numbers, state: FloatArray) -> FloatArray:
        # Stages of a step that is tried may lie far from the manifold, and before the start.
        x, clock = unit_vectors(state[:, :-1]), np.maximum(state[:, -1, 0], log_start)
        cosines, moved = between(x), np.zeros_like(state)
        weights = masses[numbers][:, None] * zonal.kernel.attention(cosines)
        if zonal.normalized:
            weights /= weights.sum(axis=2, keepdims=True)
        along = (weights * cosines).sum(axis=2, keepdims=True)
        moved[:, :-1] = zonal.strength * (weights @ x - along * x)
        moved[:, -1, 0] = np.exp(-clock)
        moved[have_met(cosines)] = 0.0
        return moved

    def retract(state: FloatArray) -> FloatArray:
        return np.concatenate([unit_vectors(state[:, :-1]), state[:, -1:]], axis=1)

    start = np.zeros((len(points), points.shape[1] + 1, points.shape[2]))
    start[:, :-1], start[:, -1, 0] = points, log_start
    times = np.full(len(points), np.inf)
    end = np.array([LATEST * time])
    stream = replicas_at(velocity, start, end, tolerance=_TOLERANCE, retract=retract)
    for numbers, _, state in stream:
        merged = have_met(between(state[:, :-1]))
        times[numbers[merged]] = np.exp(state[merged, -1, 0])
    return times
