"""Atoms: weighted clusters that become one when they have met.

The velocity equals the particles'; few atoms are summed over pairs, so a drift of 1e-70 keeps its
relative accuracy. A cluster's own rate of contraction would limit an explicit method to steps of
order one. It goes when its points become one atom. Only the slow rates between clusters remain, up
to the next meeting.
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

# Times of meetings are known to this share, as steps are to their rounding.
_MEETING = 1e-14
# Way in radians, within the longest stable step, that is noise about a stable configuration.
_REST = 1e-12
_LONGEST = 1e300
# Way in radians, over 1 + |beta|, that atoms near an unstable balance move within its lifetime.
# On their way from one merger to the next it is about 1 / |beta|.
_BALANCED = 0.1
# Share of a unit displacement: less is rounding of one that the symmetry forbids.
_FORBIDDEN = 1e-6
# Rates of more atoms take longer than their steps.
_FEW = 50


@dataclass(frozen=True, eq=False)
class AtomRepresentation(Representation):
    """Weighted clusters carried by the flow."""

    problem: Problem
    state: FloatArray  # as of particles: angles (n,), or vectors (3 n,)
    weights: FloatArray  # (n,)
    numbers: IntArray  # (n,): number of the cluster to which each atom belongs
    tolerance: float  # of the moments when atoms become one
    notes: tuple[str, ...] = ()  # what there is to say where they begin
    # Whether they are where nothing moves them any more, as repelling ones come to be.
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
        """Stability limit, from a bound of the rates between atoms; near a balance also less.

        Atom i approaches atom j at most at the rate m_j (|a_ij| + 2 |a'_ij| sin^2 d_ij), over Z_i
        if normalized; the factor 2 is for the change of Z. Near an unstable balance, as of two
        opposite atoms, what leads away may be below the tolerance of a step: steps are a third of
        an e-fold.
        """
        if self.resting:
            return np.inf
        if self.problem.attention is not None:
            # What heads make of a pair is no function of its distance.
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
        # Written so that an infinite lifetime is none.
        return min(
            STABLE / fastest,
            LINEAR * near.lifetime if near.drift * near.lifetime <= balanced else np.inf,
        )

    def _rates(self, measure: Measure) -> ClusterRates:
        """Rates of displacements, of those alone that the symmetry of the run allows."""
        near = cluster_rates(self.problem, measure)
        if self.symmetric is None:
            return near
        sizes = [np.abs(self.symmetric(mode.real.ravel())).max() for mode in near.modes]
        forbidden = np.array(sizes) < _FORBIDDEN
        escape = np.where(forbidden, -np.abs(near.escape).max(), near.escape)
        return replace(near, escape=escape[np.argsort(-escape.real, kind="stable")])

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
        """Clusters that have met: their gap fell below 0.25 beta^{-1/2}, see `meeting`."""
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
        """True if nothing moves, or only by rounding where no rate is positive."""
        moved = np.abs(self.rhs(time, state)).max() * min(self.largest_step(time, state), _LONGEST)
        if moved == 0.0:
            return True
        if self.problem.attention is not None:
            return False
        return bool(moved < _REST) and self._rates(measure).lifetime == np.inf

    def _meeting_clusters(self, measure: Measure) -> list[tuple[int, int]]:
        """Pairs of clusters, by their numbers, that have met; a chain of pairs if several have."""
        pairs: list[tuple[int, int]] = []
        radius = cluster_radius(self.problem.beta)
        # A light one may become one with another while their cluster is still too long to be one.
        for extent in (radius, reach(self.problem, self.tolerance)):
            group = linked(self.problem.manifold, measure.points, extent)
            # Most steps end here: every atom near another one is of its cluster.
            if len(np.unique(np.column_stack([group, self.numbers]), axis=0)) == group.max() + 1:
                break
            groups = groups_of(self.problem, measure, extent, chains=extent == radius)
            for near in np.flatnonzero(groups.met):
                chain = np.unique(self.numbers[groups.number == near])
                pairs += [(int(a), int(b)) for a, b in pairwise(chain)]
        return list(dict.fromkeys(pairs))

    def _meeting_time(self, step: Stepper, first: int, second: int) -> float:
        """Time within the last step from which on two clusters have met, by bisection."""
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
        """Events of clusters that meet one after another."""
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
    """Atoms that start from given points; those in one place are one from the start."""
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
    """Numbers after the clusters of each pair have become one, which keeps the smaller number."""
    joined = numbers.copy()
    for pair in pairs:
        one, other = (joined[numbers == number][0] for number in pair)
        joined[joined == max(one, other)] = min(one, other)
    return joined
