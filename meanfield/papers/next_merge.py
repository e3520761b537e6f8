"""Which two clusters meet first, and when: an estimate by pairs.

Alone a pair takes the time of `two_cluster_time`. Where one angle phi is clearly the smallest and
the next is psi, all others change that by a share delta of about e^{-beta (cos phi - cos psi)}:
they pull, and hardly move in the meantime. So the leading pairs move in the field of all others
where these are now. The angle between the two is the clock,

    dt / dphi = 1 / phi',    dx_i / dphi = v_i / phi',    dx_j / dphi = v_j / phi',

which leaves errors of the order delta^2: that the others move by a share delta of what the pair
does, and are pulled themselves. Where several angles are equal delta is no small number; the exact
answer is a run of atoms.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from meanfield.arguments import checked
from meanfield.arrays import FloatArray
from meanfield.measures import Measure
from meanfield.observables.clusters import cluster_radius
from meanfield.papers.two_clusters import attraction, two_cluster_time
from meanfield.problem import Problem
from meanfield.spectrum.cluster_rates import check_clusters
from meanfield.spectrum.pair_attention import attention_and_slope

# Pairs, the fastest alone, that move together with the others; slower ones come late.
_LEADING = 4
_RIVAL = 30.0
# Share of a pair's own pull below which the others part it.
_PARTED = 0.05
# Far below what is left out.
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class MergeEstimate:
    """Which two clusters meet first, and when, in the field of the others; scaled time.

    - pair, runner_up (int, int) or None: indices in the measure, smaller first; None if none meets.
    - time, runner_up_time: when they will have met; infinite if no pair does. If the second is not
      several times the first, do not trust the order.
    """

    pair: tuple[int, int] | None
    time: float
    runner_up: tuple[int, int] | None
    runner_up_time: float

    def __repr__(self) -> str:
        if self.pair is None:
            return "MergeEstimate(no pair meets before 1e308)"
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
    """Estimate of which two clusters meet first, and when, in the field of the others as it is now.

    The fastest pairs move among all others where these are, and those that they would part are
    left out; where they would part all, as in a polygon, each pair has its time alone. Two clusters
    have the exact `two_cluster_time`.

    Parameters
    ----------
    problem : Problem
        On the circle or the sphere, without diffusion; its initial measure is not used.
    measure : Measure
        The clusters, two or more. On the circle neighbours are compared, on the sphere all
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
    MergeEstimate(clusters (0, 1) at about 467, or (1, 2) at about 2.007e+05)
    """
    check_clusters(problem, measure)
    points, mass = measure.points, measure.mass
    if len(points) < 2:
        raise ValueError("a merge needs at least two clusters, got 1.")
    met = cluster_radius(problem.zonal.kernel.beta) if gap is None else gap
    if not 0 < met <= np.pi:
        raise ValueError(f"gap must lie between 0 and pi, got {met}.")
    candidates = []
    for i, j in _candidates(measure):
        angle = float(measure.manifold.distance(points[i], points[j]))
        if angle <= met:
            candidates.append((0.0, angle, (i, j)))
        elif mass[i] + mass[j] > 0 and attraction(problem, angle) > 0:
            time = two_cluster_time(problem, angle, met, (float(mass[i]), float(mass[j])))
            candidates.append((time, angle, (i, j)))
    # Among pairs that have met already the nearer one comes first.
    alone = sorted(entry for entry in candidates if np.isfinite(entry[0]))
    late = _RIVAL * alone[0][0] if alone else np.inf
    among = [
        (_among_others(problem, measure, entry, met) if entry[0] <= late else entry[0], *entry[1:])
        for entry in alone[:_LEADING]
    ]
    # In a balance all of them are parted.
    ranked = sorted(entry for entry in among if np.isfinite(entry[0])) or alone
    first, second = [*ranked, None, None][:2]
    return MergeEstimate(
        pair=first[2] if first else None,
        time=first[0] if first else np.inf,
        runner_up=second[2] if second else None,
        runner_up_time=second[0] if second else np.inf,
    )


def _among_others(
    problem: Problem, measure: Measure, entry: tuple[float, float, tuple[int, int]], met: float
) -> float:
    """Time of a pair in the field of the others where they are; infinite if they would part it."""
    from scipy.integrate import solve_ivp

    alone, angle, pair = entry
    others = np.delete(np.arange(len(measure.points)), pair)
    if alone == 0.0 or not np.any(measure.mass[others]):
        return alone
    points = measure.points
    if not measure.manifold.point_axes:
        points = np.stack([np.cos(points), np.sin(points)], axis=1)
    d = points.shape[1]
    fixed, unit = points[others], problem.zonal.strength * alone
    # Each of the two among: itself, its partner, the others.
    masses = [measure.mass[[*order, *others]] for order in (pair, pair[::-1])]

    def velocity(phi: float, state: FloatArray) -> tuple[float, float, FloatArray]:
        """Speed of approach, what the two do to each other of it, velocities; unit 1 / alone."""
        two = state[: 2 * d].reshape(2, d)
        # A step that is tried may lead far off.
        two = two / np.linalg.norm(two, axis=1, keepdims=True)
        moved, own = np.zeros((2, d)), 0.0
        for i in (0, 1):
            x, y = two[i], two[1 - i]
            angles = np.concatenate([[0.0, phi], _angles(x, fixed)])[None]
            attention = unit * attention_and_slope(problem, masses[i], angles)[0][0]
            # P_x (y - x), which is small where it is.
            toward = np.concatenate([[y], fixed]) - x
            toward -= (toward @ x)[:, None] * x
            moved[i] = attention[1:] @ toward
            own += float(attention[1]) * np.sin(phi)
        along = (two[1] - np.cos(phi) * two[0], two[0] - np.cos(phi) * two[1])
        approach = (moved[0] @ along[0] + moved[1] @ along[1]) / np.sin(phi)
        return float(approach), own, moved

    def speed(phi: float, state: FloatArray) -> FloatArray:
        approach, own, moved = velocity(phi, state)
        # Smaller ones end the integration.
        return np.asarray(-np.append(moved.ravel(), 1.0) / max(approach, 0.5 * _PARTED * own))

    def approaching(phi: float, state: FloatArray) -> float:
        approach, own, _ = velocity(phi, state)
        return approach - _PARTED * own

    approaching.terminal = True  # type: ignore[attr-defined]
    start = np.append(points[list(pair)].ravel(), 0.0)
    if approaching(angle, start) <= 0.0:
        return np.inf
    run = solve_ivp(
        speed,
        (angle, met),
        start,
        method="DOP853",
        rtol=_TOLERANCE,
        atol=_TOLERANCE,
        events=approaching,
    )
    return alone * float(run.y[-1, -1]) if run.status == 0 else np.inf


def _angles(x: FloatArray, points: FloatArray) -> FloatArray:
    """Geodesic angles from one unit vector to others, without loss where they are small."""
    return np.asarray(
        2.0 * np.arctan2(np.linalg.norm(x - points, axis=1), np.linalg.norm(x + points, axis=1))
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
