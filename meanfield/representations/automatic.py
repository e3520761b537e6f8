"""Which representation takes over from which, and when: what "auto" means.

    density -> characteristics     when its spectrum is full
    characteristics -> atoms       when every cluster has met and next to no mass lies between
    particles -> atoms             when tokens that have met leave few enough

Mass is conserved exactly and every stored moment to the tolerance: a hand-over that would change
one by more waits. With diffusion a density stays what it is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from meanfield.arrays import State
from meanfield.measures import Density, Measure
from meanfield.observables.clusters import cluster_radius
from meanfield.problem import Problem
from meanfield.representations.atoms import atoms
from meanfield.representations.characteristics import characteristics
from meanfield.representations.meeting import gathered, groups, reach
from meanfield.representations.options import Options
from meanfield.representations.representation import Representation

HandOver = Callable[[Representation, State, bool], tuple[Representation, str] | None]
"""(representation, state, whether its next step failed) -> who takes over, and why; or None."""

# Degrees at which a density's spectrum counts as full: a density that steepens further is carried
# by fewer characteristics, in longer steps.
_FULL_DEGREE = 512

# Tokens that cross less than this share of a cluster's radius in the longest step of particles are
# at rest on the time scale of particles.
_AT_REST = 0.01


def never(representation: Representation, state: State, failed: bool) -> None:
    """Nobody takes over."""
    return None


def succession(problem: Problem, options: Options) -> HandOver:
    """Rule of a run that chooses its representation by itself."""
    if problem.flow.diffusivity:
        return never
    rules = {
        "characteristics": _from_characteristics,
        "particles": _from_particles,
    }

    def rule(
        representation: Representation, state: State, failed: bool
    ) -> tuple[Representation, str] | None:
        if representation.name == "density":
            return _from_density(problem, options, representation, state, failed)
        successor = rules.get(representation.name)
        return None if successor is None else successor(problem, options, representation, state)

    return rule


def _from_density(
    problem: Problem,
    options: Options,
    representation: Representation,
    state: State,
    failed: bool,
) -> tuple[Representation, str] | None:
    full = options.max_degree or _FULL_DEGREE
    degree = problem.space.degree_of(state)
    if degree < full or not (failed or representation.adapt(state) is not None):
        return None
    tail = representation.diagnostics(state)["tail"]
    successor = characteristics(
        problem,
        Density(problem.space, state),
        tolerance=options.tolerance,
        max_nodes=options.max_nodes,
    )
    return successor, f"spectral tail {tail:.1e} at degree {degree}"


def _from_characteristics(
    problem: Problem, options: Options, representation: Representation, state: State
) -> tuple[Representation, str] | None:
    measure = representation.measure(state)
    assert isinstance(measure, Measure)
    extent = reach(problem, options.tolerance)
    found = groups(problem, measure, extent)
    if found.mass[~found.met].sum() > options.tolerance:
        return None
    # Groups so light that together they weigh less than the tolerance lie between the clusters,
    # as do nodes that have met nobody; their mass goes to the nearest atom.
    order = np.argsort(found.mass)
    light = np.zeros(found.count, dtype=bool)
    light[order] = np.cumsum(found.mass[order]) <= options.tolerance
    heavy = found.met & ~light
    if found.mass[~heavy].sum() > options.tolerance:
        return None
    number, mass = found.number, measure.mass
    centres = problem.space.mean_points(measure.points, mass, number, found.count)[heavy]
    weights = found.mass[heavy]
    for i in np.flatnonzero(~heavy[number]):
        nearest = np.argmin(problem.space.distance(measure.points[i], centres))
        weights[nearest] += mass[i]
    successor = atoms(
        problem, Measure(problem.space, centres, weights), tolerance=options.tolerance
    )
    change = _change(problem, representation, state, successor)
    if change > options.tolerance:
        return None
    return successor, (
        f"{len(weights)} clusters no longer than {extent:.1e}; moments change by {change:.1e}"
    )


def _from_particles(
    problem: Problem, options: Options, representation: Representation, state: State
) -> tuple[Representation, str] | None:
    measure = representation.measure(state)
    assert isinstance(measure, Measure)
    few = problem.space.few_points(problem.kernel_degree)
    extent = reach(problem, options.tolerance)
    found = groups(problem, measure, extent)
    if found.size[~found.met].sum() + found.met.sum() > few:
        return None
    # Tokens still on their way to a cluster are no clusters yet, unless they hardly move.
    if found.mass[found.met].sum() < 0.5:
        velocity = representation.rhs(0.0, state)
        moved = representation.largest_step(state) * np.abs(velocity).max()
        if moved > _AT_REST * cluster_radius(problem.kernel.beta):
            return None
    points, weights, _ = gathered(measure, found)
    successor = atoms(problem, Measure(problem.space, points, weights), tolerance=options.tolerance)
    change = _change(problem, representation, state, successor)
    if change > options.tolerance:
        return None
    return successor, (
        f"{len(measure.points)} tokens have met in {len(weights)} places; moments change by "
        f"{change:.1e}"
    )


def _change(
    problem: Problem, representation: Representation, state: State, successor: Representation
) -> float:
    """Largest change of a moment that the run stores."""
    degree = problem.moment_degree
    old = representation.moments(state, degree)
    new = successor.moments(successor.state, degree)
    return float(problem.space.sizes_by_degree(new - old).max())
