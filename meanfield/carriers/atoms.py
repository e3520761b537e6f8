"""Atoms: weighted clusters that merge when they meet.

Atoms move as particles do. Sums over pairs of few atoms keep the relative accuracy of a drift of
1e-70. The contraction within a cluster limits explicit steps to order one, until its points become
one atom. Only the slow rates between clusters remain, up to the next merger.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from meanfield.arrays import FixedArrays, FloatArray, IntArray, ModalArray, State
from meanfield.carriers.carrier import Representation
from meanfield.carriers.meeting import SAME, gathered, groups_of, reach
from meanfield.carriers.particles import ParticleRepresentation
from meanfield.carriers.step_limits import (
    LINEAR,
    NOISY,
    NOISY_POINTS,
    STABLE,
    check_carries,
    check_movable,
)
from meanfield.events import Event
from meanfield.measures import Density, Measure
from meanfield.observables.clusters import cluster_radius
from meanfield.problem import Problem
from meanfield.schemes import Stepper
from meanfield.spaces.neighbourhoods import linked
from meanfield.spectrum.cluster_rates import ClusterRates, cluster_rates
from meanfield.spectrum.pair_attention import attention_and_slope

# Relative tolerance of the times of mergers, near rounding.
_MEETING = 1e-14
# Atoms rest about a stable configuration if they move less, in radians, in the longest step.
_REST = 1e-12
_LONGEST = 1e300
# Atoms are near an unstable balance if they move less within its lifetime, in radians over
# 1 + |beta|. Between mergers they move about 1 / |beta|.
_BALANCED = 0.1
# If the projection of a unit displacement is smaller, the symmetry forbids the displacement.
_FORBIDDEN = 1e-6
# Computing the rates of more atoms takes longer than short steps.
_FEW = 50


@dataclass(frozen=True, eq=False)
class AtomRepresentation(Representation):
    """Weighted clusters carried by the flow."""

    problem: Problem
    state: FloatArray  # as for particles: angles (n,), or vectors (3 n,)
    weights: FloatArray  # (n,)
    numbers: IntArray  # (n,): number of the cluster to which each atom belongs
    tolerance: float  # of the moments when atoms become one
    notes: tuple[str, ...] = ()  # notes to report at the start
    # True once no atom moves any more, as happens under repulsion.
    resting: bool = False
    symmetric: Callable[[State], State] | None = None  # projection to the symmetry of the run
    tokens: ParticleRepresentation = field(init=False)
    name: str = field(default="atoms", init=False)

    def __post_init__(self) -> None:
        moving = ParticleRepresentation(
            self.problem, self.state, self.weights, tolerance=self.tolerance
        )
        object.__setattr__(self, "tokens", moving)

    @property
    def fixed(self) -> FixedArrays:
        resting = np.array(float(self.resting))
        return {"weights": self.weights, "numbers": self.numbers, "resting": resting}

    def rhs(self, time: float, state: State) -> State:
        if self.resting:
            return np.zeros_like(state)
        rate = self.tokens.rhs(time, state)
        return rate if self.symmetric is None else self.symmetric(rate)

    def measure(self, state: State) -> Measure:
        return self.tokens.measure(state)

    def moments(self, state: State, max_degree: int) -> ModalArray:
        return self.tokens.moments(state, max_degree)

    def largest_step(self, time: float, state: State) -> float:
        """Stability limit from a bound on the rates between atoms; less near an unstable balance.

        Atom i approaches atom j at most at the rate m_j (|a_ij| + 2 |a'_ij| sin^2 d_ij), over Z_i
        if normalized; the factor 2 is for the change of Z. Near an unstable balance, such as two
        opposite atoms, the growing displacement may be below the tolerance of a step. Steps are
        then a third of an e-fold.
        """
        if self.resting:
            return np.inf
        if self.problem.attention is not None:
            # The interaction of heads is not a function of the distance.
            return self.tokens.largest_step(time, state)
        measure = self.measure(state)
        points = measure.points
        d = self.problem.manifold.distance(points[:, None], points[None])
        attention, slope, _ = attention_and_slope(self.problem, self.weights, d)
        # In the pair (i, j) atom j has the weight m_j a_ij / Z_i; each moves towards the other.
        rates = np.abs(attention) + 2.0 * np.abs(slope) * np.sin(d) ** 2
        rates += rates.T
        np.fill_diagonal(rates, 0.0)
        fastest = abs(self.problem.flow.strength) * float(rates.sum(axis=1).max())
        if fastest <= 0.0:
            return np.inf
        balanced = _BALANCED / (1.0 + abs(self.problem.beta))
        if len(points) > _FEW or np.abs(self.rhs(time, state)).max() > balanced * fastest:
            return STABLE / fastest
        near = self._rates(measure)
        # An infinite lifetime sets no limit: inf, or 0 * inf = NaN, is not <= balanced.
        return min(
            STABLE / fastest,
            LINEAR * near.lifetime if near.drift * near.lifetime <= balanced else np.inf,
        )

    def _rates(self, measure: Measure) -> ClusterRates:
        """Rates of the displacements that the symmetry of the run allows."""
        near = cluster_rates(self.problem, measure)
        if self.symmetric is None:
            return near
        sizes = [np.abs(self.symmetric(mode.ravel())).max() for mode in near.modes]
        forbidden = np.array(sizes) < _FORBIDDEN
        escape = np.where(forbidden, -np.abs(near.escape).max(), near.escape)
        order = np.argsort(-escape.real, kind="stable")
        return replace(near, escape=escape[order], modes=near.modes[order])

    def adapt(self, time: float, state: State) -> AtomRepresentation | None:
        if len(self.weights) == 1 or self.resting:
            return None
        measure = self.measure(state)
        if self._at_rest(time, state, measure):
            return replace(self, state=state, resting=True)
        numbers = _joined(self.numbers, self._meeting_clusters(measure))
        groups = groups_of(self.problem, measure, reach(self.problem, self.tolerance))
        if groups.met.any():
            points, weights, source = gathered(measure, groups)
            return replace(self, state=points.ravel(), weights=weights, numbers=numbers[source])
        if np.array_equal(numbers, self.numbers):
            return None
        return replace(self, state=state, numbers=numbers)

    def failure(self, time: float, state: State) -> str | None:
        return self.tokens.failure(time, state)

    def events(self, step: Stepper) -> Sequence[Event]:
        """Mergers of clusters: their gap fell below 0.25 beta^{-1/2}, see `meeting`."""
        if len(self.weights) == 1:
            return ()
        pairs = self._meeting_clusters(self.measure(step.state))
        return self._merges(sorted((self._meeting_time(step, *pair), *pair) for pair in pairs))

    def arrival(self) -> Sequence[Event]:
        mass = np.bincount(self.numbers, self.weights)
        return [Event(0.0, "note", text) for text in self.notes] + [
            Event(0.0, "cluster", "", (number, -1), (float(mass[number]), math.nan))
            for number in np.unique(self.numbers).tolist()
        ]

    def diagnostics(self, time: float, state: State) -> dict[str, float]:
        return {"atoms": float(len(self.weights))} | self.tokens.diagnostics(time, state)

    def _at_rest(self, time: float, state: State, measure: Measure) -> bool:
        """True if no atom moves, or moves only by rounding about a stable configuration."""
        moved = np.abs(self.rhs(time, state)).max() * min(self.largest_step(time, state), _LONGEST)
        if moved == 0.0:
            return True
        if self.problem.attention is not None:
            return False
        return bool(moved < _REST) and self._rates(measure).lifetime == np.inf

    def _meeting_clusters(self, measure: Measure) -> list[tuple[int, int]]:
        """Pairs of numbers of clusters that have met; more than two clusters make a chain."""
        pairs: list[tuple[int, int]] = []
        radius = cluster_radius(self.problem.beta)
        # Two atoms may have met within `reach` while the whole group within `radius` has not.
        for extent in (radius, reach(self.problem, self.tolerance)):
            group = linked(self.problem.manifold, measure.points, extent)
            # Most steps end here: all neighbours already belong to one cluster.
            if len(np.unique(np.column_stack([group, self.numbers]), axis=0)) == group.max() + 1:
                break
            groups = groups_of(self.problem, measure, extent, chains=extent == radius)
            for near in np.flatnonzero(groups.met):
                chain = np.unique(self.numbers[groups.number == near])
                pairs += [(int(a), int(b)) for a, b in pairwise(chain)]
        return list(dict.fromkeys(pairs))

    def _meeting_time(self, step: Stepper, first: int, second: int) -> float:
        """Time within the last step at which two clusters meet, by bisection."""
        before, after = step.previous_time, step.time
        one, other = (np.flatnonzero(self.numbers == number)[0] for number in (first, second))
        while after - before > _MEETING * (after - step.previous_time + abs(after)):
            middle = 0.5 * (before + after)
            if not before < middle < after:
                break
            met = self._meeting_clusters(self.measure(step.dense_output(middle)))
            joined = _joined(self.numbers, met)
            before, after = (before, middle) if joined[one] == joined[other] else (middle, after)
        return after

    def _merges(self, meetings: Sequence[tuple[float, int, int]]) -> list[Event]:
        """Events of mergers in the order of time; masses include earlier mergers."""
        events, passed = [], list[tuple[int, int]]()
        for time, first, second in meetings:
            cluster = _joined(self.numbers, passed)
            one, other = (int(cluster[self.numbers == number][0]) for number in (first, second))
            masses = [float(self.weights[cluster == number].sum()) for number in (one, other)]
            text = f"clusters of mass {masses[0]:.4g} and {masses[1]:.4g} have met"
            events.append(Event(time, "merge", text, (one, other), (masses[0], masses[1])))
            passed.append((first, second))
        return events


def atoms(problem: Problem, measure: Density | Measure, *, tolerance: float) -> AtomRepresentation:
    """Atoms at given points; points in one place are one atom."""
    if not problem.manifold.has_series:
        raise ValueError(
            f"atoms are known on the circle and the sphere, not on {problem.manifold}: take "
            'representation "particles".'
        )
    noisy = NOISY if isinstance(measure, Density) else NOISY_POINTS
    check_carries(problem, "atoms", AtomRepresentation.carries, noisy)
    if isinstance(measure, Density):
        raise TypeError(
            "representation 'atoms' needs points, got an initial density. Use 'auto', which turns "
            "it into atoms once clusters have formed."
        )
    check_movable(problem, measure)
    groups = groups_of(problem, measure, SAME)
    points, weights, _ = gathered(measure, groups)
    notes = [
        f"atoms {', '.join(map(str, np.flatnonzero(groups.number == group)))} start in one place: "
        "they are one atom"
        for group in np.flatnonzero(groups.met)
    ]
    alone = np.arange(len(weights))
    start = AtomRepresentation(problem, points.ravel(), weights, alone, tolerance, tuple(notes))
    met = start._meeting_clusters(start.measure(start.state))
    return replace(start, numbers=_joined(alone, met))


def _joined(numbers: IntArray, pairs: Sequence[tuple[int, int]]) -> IntArray:
    """Numbers after the clusters of each pair have merged; the smaller number remains."""
    joined = numbers.copy()
    for pair in pairs:
        one, other = (joined[numbers == number][0] for number in pair)
        joined[joined == max(one, other)] = min(one, other)
    return joined
