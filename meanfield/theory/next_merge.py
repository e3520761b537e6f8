"""Which two clusters meet first, and when: an estimate by pairs.

Each pair is taken as if it were alone, for the time of `two_cluster_time`. What the other clusters
do to it in the meantime is left out. Where one angle phi is clearly the smallest and the next is
psi, that is a share of about e^{-beta (cos phi - cos psi)}; where several are equal it is all that
matters. The exact answer is a run of atoms.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from meanfield.checks import checked
from meanfield.measures import Measure
from meanfield.observables.clusters import cluster_radius
from meanfield.problem import Problem
from meanfield.theory.cluster_rates import check_clusters
from meanfield.theory.two_clusters import attraction, two_cluster_time


@dataclass(frozen=True)
class MergeEstimate:
    """Which two clusters meet first, and when, each pair taken alone; scaled time.

    Attributes
    ----------
    pair : (int, int) or None
        Derived. Indices of the two in the measure, smaller first; None if no pair meets.
    time : float
        Derived. When they will have met; infinite if no pair meets.
    runner_up : (int, int) or None
        Derived. The pair that would be next; None if there is no other that meets.
    runner_up_time : float
        Derived. Its time. If it is not several times `time`, do not trust the order.
    """

    pair: tuple[int, int] | None
    time: float
    runner_up: tuple[int, int] | None
    runner_up_time: float

    def __repr__(self) -> str:
        """Say who and when."""
        if self.pair is None:
            return "MergeEstimate(no pair meets)"
        if self.runner_up is None:
            return f"MergeEstimate(clusters {self.pair} at about {self.time:.4g})"
        return (
            f"MergeEstimate(clusters {self.pair} at about {self.time:.4g}, "
            f"or {self.runner_up} at about {self.runner_up_time:.4g})"
        )


@checked
def next_merge_estimate(
    problem: Problem, measure: Measure, gap: float | None = None
) -> MergeEstimate:
    """Estimate of which two clusters meet first, and when, every pair taken alone.

    Parameters
    ----------
    problem : Problem
        On the circle or the sphere, without diffusion; its initial measure is not used.
    measure : Measure
        The clusters, two or more. On the circle neighbours are looked at, on the sphere all
        n (n - 1) / 2 pairs.
    gap : float, optional
        Geodesic angle at which clusters have met. Default: 0.25 / sqrt(|beta|), by which clusters
        are counted.

    Returns
    -------
    MergeEstimate
        Times are infinite beyond 1e308, for pairs that go apart, and for pairs without mass.

    Raises
    ------
    TypeError
        If measure is no Measure.
    ValueError
        If there are fewer than two clusters, they live on another manifold, the gap is not
        between 0 and pi, or there is diffusion.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=25.0), mf.SA)
    >>> next_merge_estimate(problem, mf.Measure(mf.Circle(), [0.0, 0.9, 2.1, 4.0]))
    MergeEstimate(clusters (0, 1) at about 466.8, or (1, 2) at about 2.007e+05)
    """
    check_clusters(problem, measure)
    points, mass = measure.points, measure.mass
    if len(points) < 2:
        raise ValueError("a merge needs at least two clusters, got 1.")
    met = cluster_radius(problem.zonal.kernel.beta) if gap is None else gap
    if not 0 < met <= np.pi:
        raise ValueError(f"gap must lie between 0 and pi, got {met}.")
    found = []
    for i, j in _candidates(measure):
        angle = float(measure.manifold.distance(points[i], points[j]))
        if angle <= met:
            found.append((0.0, angle, (i, j)))
        elif mass[i] + mass[j] > 0 and attraction(problem, angle) > 0:
            time = two_cluster_time(problem, angle, met, (float(mass[i]), float(mass[j])))
            found.append((time, angle, (i, j)))
    # Of pairs that have met already the nearer one comes first.
    ranked = sorted(entry for entry in found if np.isfinite(entry[0]))
    first, second = [*ranked, None, None][:2]
    return MergeEstimate(
        pair=first[2] if first else None,
        time=first[0] if first else np.inf,
        runner_up=second[2] if second else None,
        runner_up_time=second[0] if second else np.inf,
    )


def _candidates(measure: Measure) -> list[tuple[int, int]]:
    """Pairs that may meet before any other: on the circle neighbours, else all."""
    n = len(measure.points)
    if measure.manifold.dimension > 1 or n < 3:
        return list(combinations(range(n), 2))
    angles = measure.points % (2.0 * np.pi)
    order = np.argsort(angles, kind="stable")
    ends = np.sort(np.stack([order, np.roll(order, -1)], axis=1), axis=1)
    gaps = np.diff(angles[order], append=angles[order[0]] + 2.0 * np.pi)
    # Neighbours by more than half the circle have all the others on their short side.
    return [(int(i), int(j)) for i, j in ends[gaps <= np.pi]]
