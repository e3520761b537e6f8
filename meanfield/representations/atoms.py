"""Atoms: weighted clusters that become one when they have met.

The velocity is that of particles, for few atoms summed over pairs, so that a drift of 1e-70 keeps
its relative accuracy. Once clusters are atoms nothing is stiff any more: a cluster's own rate of
contraction, which would hold an explicit method to steps of order one, went when its points
became one, and what is left are the slow rates between clusters, up to the next meeting.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations

import numpy as np

from meanfield.arrays import FloatArray, IntArray, ModalArray, State
from meanfield.events import Event
from meanfield.integrators import Stepper
from meanfield.measures import Density, Measure
from meanfield.observables.clusters import cluster_radius
from meanfield.problem import Problem
from meanfield.representations.meeting import SAME, gathered, groups, reach
from meanfield.representations.particles import ParticleRepresentation, check_movable

# DOP853 is stable on the negative axis down to -6.4.
_STABLE = 5.0


@dataclass(frozen=True, eq=False)
class AtomRepresentation:
    """Weighted clusters carried by the flow.

    Attributes
    ----------
    problem : Problem
        Given.
    state : ndarray, one-dimensional
        Given. As of particles: angles (n,), or vectors (3 n,).
    weights : ndarray, shape (n,)
        Given.
    numbers : ndarray of int, shape (n,)
        Given. Number of the cluster to which each atom belonged where they took over.
    tolerance : float
        Given. Of the moments when atoms become one.
    notes : tuple of str
        Given. What there is to say where they begin.
    """

    problem: Problem
    state: FloatArray
    weights: FloatArray
    numbers: IntArray
    tolerance: float
    notes: tuple[str, ...] = ()
    tokens: ParticleRepresentation = field(init=False)
    name: str = field(default="atoms", init=False)

    def __post_init__(self) -> None:
        """Atoms move as particles do."""
        moving = ParticleRepresentation(self.problem, self.state, self.weights)
        object.__setattr__(self, "tokens", moving)

    @property
    def fixed(self) -> dict[str, FloatArray]:
        """Weights and numbers."""
        return {"weights": self.weights, "numbers": self.numbers.astype(np.float64)}

    def rhs(self, time: float, state: State) -> State:
        """Velocity of every atom."""
        return self.tokens.rhs(time, state)

    def measure(self, state: State) -> Measure:
        """Atoms and their weights."""
        return self.tokens.measure(state)

    def moments(self, state: State, max_degree: int) -> ModalArray:
        """Moments of the atoms."""
        return self.tokens.moments(state, max_degree)

    def largest_step(self, state: State) -> float:
        """Stability limit, from a bound of the rates between atoms.

        The rate at which atom i sees atom j is at most (m_i + m_j) a_ij (1 + 2 |beta| sin^2 d_ij),
        over Z_i if normalized; the factor 2 is for the change of Z.
        """
        points, flow, kernel = self.measure(state).points, self.problem.flow, self.problem.kernel
        d = self.problem.space.distance(points[:, None], points[None])
        affinity = np.abs(kernel.attention(np.cos(d)))
        rates = affinity * (self.weights[:, None] + self.weights)
        rates *= 1.0 + 2.0 * abs(kernel.beta) * np.sin(d) ** 2
        np.fill_diagonal(rates, 0.0)
        largest = rates.sum(axis=1)
        if flow.normalized:
            largest = largest / (affinity @ self.weights)
        fastest = abs(flow.strength) * float(largest.max())
        return _STABLE / fastest if fastest > 0.0 else np.inf

    def adapt(self, state: State) -> AtomRepresentation | None:
        """Atoms that have met become one."""
        if len(self.weights) == 1:
            return None
        measure = self.measure(state)
        found = groups(self.problem, measure, reach(self.problem, self.tolerance))
        if not found.met.any():
            return None
        points, weights, source = gathered(measure, found)
        return replace(self, state=points.ravel(), weights=weights, numbers=self.numbers[source])

    def refined(self, state: State) -> None:
        """Atoms are all there is."""
        return None

    def failure(self, state: State) -> None:
        """None: atoms are exact."""
        return None

    def events(self, step: Stepper) -> Sequence[Event]:
        """Clusters whose gap fell below 0.25 beta^{-1/2} within the step."""
        if len(self.weights) == 1:
            return ()
        before, after = self._clusters(step.previous_state), self._clusters(step.state)
        if after.max() == before.max():
            return ()
        joined = [np.unique(before[after == group]) for group in range(int(after.max()) + 1)]
        meetings = []
        for first, second in chain.from_iterable(combinations(group, 2) for group in joined):
            one, other = np.flatnonzero(before == first), np.flatnonzero(before == second)
            if self._gap(step.state, one, other) < self._radius:
                time = self._meeting_time(step, one, other)
                meetings.append((time, int(one[0]), int(other[0])))
        return self._merges(sorted(meetings), before)

    def arrival(self) -> Sequence[Event]:
        """The clusters there are."""
        mass = np.bincount(self.numbers, self.weights)
        return [Event(0.0, "note", text) for text in self.notes] + [
            Event(0.0, "atom", atoms=(number, -1), mass=(float(mass[number]), math.nan))
            for number in np.flatnonzero(mass).tolist()
        ]

    def diagnostics(self, state: State) -> dict[str, float]:
        """How many atoms, and what particles say."""
        return {"atoms": float(len(self.weights))} | self.tokens.diagnostics(state)

    @property
    def _radius(self) -> float:
        return cluster_radius(self.problem.kernel.beta)

    def _clusters(self, state: State) -> IntArray:
        return self.problem.space.linked(self.measure(state).points, self._radius)

    def _gap(self, state: State, one: IntArray, other: IntArray) -> float:
        points = self.measure(state).points
        return float(self.problem.space.distance(points[one][:, None], points[other][None]).min())

    def _meeting_time(self, step: Stepper, one: IntArray, other: IntArray) -> float:
        """Time within the last step at which the gap of two clusters comes to the radius."""
        from scipy.optimize import brentq

        start, length = step.previous_time, step.time - step.previous_time

        def excess(elapsed: float) -> float:
            return self._gap(step.inside(start + elapsed), one, other) - self._radius

        if excess(0.0) <= 0.0:
            return start
        return float(start + brentq(excess, 0.0, length, xtol=1e-13 * length, rtol=1e-14))

    def _merges(self, meetings: Sequence[tuple[float, int, int]], cluster: IntArray) -> list[Event]:
        """Events of clusters that meet one after another; `meetings` are (time, atom, atom)."""
        cluster, events = cluster.copy(), []
        for time, one, other in meetings:
            first, second = cluster == cluster[one], cluster == cluster[other]
            if cluster[one] == cluster[other]:
                continue
            masses = float(self.weights[first].sum()), float(self.weights[second].sum())
            pair = int(self.numbers[one]), int(self.numbers[other])
            text = f"clusters of mass {masses[0]:.4g} and {masses[1]:.4g} have met"
            events.append(Event(time, "merge", text, pair, masses))
            cluster[second] = cluster[one]
        return events


def atoms(problem: Problem, measure: Density | Measure, *, tolerance: float) -> AtomRepresentation:
    """Atoms that start from given points; those in one place are one from the start.

    Raises
    ------
    TypeError
        If the measure is a density: those want "density" or "characteristics".
    ValueError
        If the flow diffuses, or the kernel has degrees above what the manifold allows.
    """
    if isinstance(measure, Density):
        raise TypeError(
            "representation 'atoms' needs points, got an initial density. Use 'auto', which turns "
            "it into atoms once clusters have formed."
        )
    check_movable(problem)
    found = groups(problem, measure, SAME)
    points, weights, _ = gathered(measure, found)
    notes = [
        f"atoms {', '.join(map(str, np.flatnonzero(found.number == group)))} start in one place: "
        "they are one atom"
        for group in np.flatnonzero(found.met)
    ]
    # Atoms within the radius of one cluster count as one from the start.
    numbers = problem.space.linked(points, cluster_radius(problem.kernel.beta))
    return AtomRepresentation(problem, points.ravel(), weights, numbers, tolerance, tuple(notes))
