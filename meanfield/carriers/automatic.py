"""Hand-overs of "auto": which representation follows which, and when.

    density -> characteristics     when its spectrum is full, or rounding nears the tolerance
    characteristics -> atoms       when every cluster has met and almost no mass lies between
    particles -> atoms             when tokens that have met leave few enough

Atoms take over only if every stored moment stays within the tolerance; mass is conserved exactly.
With diffusion a density never hands over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from meanfield.arrays import State
from meanfield.carriers.atoms import atoms
from meanfield.carriers.carrier import Representation
from meanfield.carriers.characteristics import (
    CharacteristicsRepresentation,
    characteristics,
)
from meanfield.carriers.density import DensityRepresentation
from meanfield.carriers.layered import layered_nodes
from meanfield.carriers.meeting import gathered, groups_of, may_meet, narrow_groups, reach
from meanfield.carriers.options import Options, full_degree, labelled_degree, usual_degree
from meanfield.carriers.particles import ParticleRepresentation
from meanfield.fields.engines import direct_sum_limit
from meanfield.fields.lost_digits import partition_cancels, series_noise
from meanfield.fields.positive_sums import sums_pairs
from meanfield.measures import Density, Measure
from meanfield.observables.clusters import cluster_radius
from meanfield.problem import Problem
from meanfield.spaces.neighbourhoods import linked, mean_points

Successor = tuple[Representation, str]
"""Successor and reason."""

HandOver = Callable[[Representation, float, State, bool], Successor | None]
"""(representation, time, state, whether its next step failed) -> successor, or None."""

# Tokens are at rest if they move less than this share of a cluster's radius in the longest step.
_AT_REST = 0.01
# The representations that may follow each, in order.
_FOLLOWERS = {
    "density": ("characteristics", "atoms"),
    "characteristics": ("atoms",),
    "particles": ("atoms",),
}
# A density hands over if rounding exceeds this share of the tolerance; above 1 the run ends.
_LOST = 0.1


def never(representation: Representation, time: float, state: State, failed: bool) -> None:
    """Rule without hand-overs."""


def largest_degree(problem: Problem, options: Options) -> int:
    """Largest degree of a density: then characteristics take over, or the run ends."""
    usual = labelled_degree(problem) if problem.has_labels else usual_degree(problem)
    if hands_over(problem, options):
        usual = max(full_degree(problem), problem.kernel_degree)
    return min(options.max_degree or usual, problem.manifold.largest_degree)


def hands_over(problem: Problem, options: Options) -> bool:
    """True if one representation may follow another.

    False with diffusion, where tokens have no smooth paths; with labels or functions of time; and
    on spaces without series.
    """
    if options.name != "auto" or not problem.manifold.has_series or problem.time_functions:
        return False
    return not any(
        stage.flow.diffusivity or stage.has_labels for stage in (problem, *problem.staged)
    )


def carriers(problem: Problem, options: Options) -> tuple[str, ...]:
    """Names of the representations of a run, in order.

    "auto" takes the first from the initial measure, the labels and the layers.

    >>> import meanfield as mf
    >>> carriers(mf.Problem(mf.Circle(), mf.exponential(beta=9.0), mf.USA), Options())
    ('density', 'characteristics', 'atoms')
    """
    name = options.name
    if name == "auto":
        few = problem.initial.name == "atoms" and problem.manifold.has_series
        few = few and not problem.is_time_dependent
        few = few and (not problem.stages or stay_met(problem.staged))
        points = "atoms" if few and problem.layers is None else "particles"
        densities = "labelled" if problem.staged[0].has_labels else "density"
        if problem.layers is not None:
            densities = "density" if problem.layers.moves_densities else "characteristics"
        name = points if isinstance(problem.initial_measure(), Measure) else densities
    followers = _FOLLOWERS.get(name, ()) if hands_over(problem, options) else ()
    if not stay_met(problem.staged):
        followers = tuple(each for each in followers if each != "atoms")
    return (name, *followers)


def hand_over_rule(problem: Problem, options: Options) -> HandOver:
    """Rule of hand-overs; only "auto" hands over."""
    if not hands_over(problem, options):
        return never
    meets = stay_met(problem.staged)

    def rule(here: Representation, time: float, state: State, failed: bool) -> Successor | None:
        if isinstance(here, DensityRepresentation):
            return _from_density(options, here, time, state, failed)
        if not meets:
            return None
        if isinstance(here, CharacteristicsRepresentation):
            return _from_characteristics(options, here, state)
        if isinstance(here, ParticleRepresentation):
            return _from_particles(options, here, time, state)
        return None

    return rule


def stay_met(stages: Sequence[Problem]) -> bool:
    """True if points that have met stay together in every stage: none repels them later."""
    if len(stages) == 1:
        return may_meet(stages[0])
    return all(
        may_meet(each)
        # Heads that `may_meet` accepts attract.
        and (each.attention or each.flow.strength * each.own_kernel.attention(np.ones(1))[0] > 0.0)
        for each in stages
    )


def _from_density(
    options: Options, here: DensityRepresentation, time: float, state: State, failed: bool
) -> Successor | None:
    full, degree = options.max_degree or full_degree(here.problem), here.grid.max_degree
    lost, noise = here.partition_error(state), series_noise(here.problem.manifold, state)
    if noise > here.tolerance:
        # Nodes would begin from it.
        return None
    if max(lost, noise) <= _LOST * here.tolerance and (
        degree < full or not (failed or here.adapt(time, state) is not None)
    ):
        return None
    successor = _on_characteristics(here.problem, here.measure(state), options)
    if successor is None:
        return None
    if degree >= full:
        return successor, f"spectral tail {here.tail(state):.1e} at degree {degree}"
    if noise > _LOST * here.tolerance:
        return successor, f"rounding of the series changes coefficients by {noise:.1e}"
    if not sums_pairs(here.problem, len(successor.masses)):
        return None
    return successor, f"rounding of Z changes velocities by {lost:.1e}"


def first_carrier(problem: Problem, measure: Density, options: Options) -> Representation | None:
    """Characteristics that start a run in place of a density; None to start with the density.

    They are needed under layers that move no densities, and for mixtures if Z cancels or rounding
    of large coefficients spoils the others. If Z cancels, the nodes must be few enough for pairs.
    """
    if carriers(problem, options)[0] == "characteristics":
        return nodes(problem, measure, options)
    if not measure.components:
        return None
    noisy = series_noise(problem.manifold, measure.coefficients) > _LOST * options.step_tolerance
    if noisy and hands_over(problem, options):
        return _on_characteristics(problem, measure, options)
    if not partition_cancels(problem):
        return None
    start = _on_characteristics(problem, measure, options)
    return start if start is not None and sums_pairs(problem, len(start.masses)) else None


def _on_characteristics(
    problem: Problem, measure: Density, options: Options
) -> CharacteristicsRepresentation | None:
    """Characteristics of a density; None if they need too many nodes."""
    try:
        return nodes(problem, measure, options)
    except ValueError:
        return None


def nodes(
    problem: Problem, measure: Density | Measure, options: Options
) -> CharacteristicsRepresentation:
    """Characteristics of a density, or layered ones if the problem has such layers."""
    start = characteristics(
        problem,
        measure,
        tolerance=options.cell_tolerance(problem),
        max_nodes=options.max_nodes,
        enough=options.enough(problem),
    )
    return start if problem.layering.moves_densities else layered_nodes(start)


def _from_characteristics(
    options: Options, here: CharacteristicsRepresentation, state: State
) -> Successor | None:
    problem, measure = here.problem, here.measure(state)
    extent = reach(problem, here.tolerance)
    why = f"no longer than {extent:.1e}"
    if not problem.manifold.point_shape or partition_cancels(problem):
        groups = groups_of(problem, measure, extent)
    else:
        groups = narrow_groups(problem, measure, here.tolerance)
        why = f"of mean width below {0.5 * extent:.1e}"
    # Light groups, together below the tolerance, and nodes that have not met lie between the
    # clusters; their mass goes to the nearest atom.
    order = np.argsort(groups.mass)
    light = np.zeros(groups.count, dtype=bool)
    if not partition_cancels(problem):
        # If Z cancels, almost no mass may move all of it.
        light[order] = np.cumsum(groups.mass[order]) <= here.tolerance
    heavy = groups.met & ~light
    if partition_cancels(problem) and not heavy.all():
        return None
    if not heavy.any() or groups.mass[~heavy].sum() > here.tolerance:
        return None
    number, mass = groups.number, measure.mass
    centres = mean_points(problem.manifold, measure.points, mass, number, groups.count)[heavy]
    weights = groups.mass[heavy]
    for i in np.flatnonzero(~heavy[number]):
        nearest = np.argmin(problem.manifold.distance(measure.points[i], centres))
        weights[nearest] += mass[i]
    gathered_ = Measure(problem.manifold, centres, weights)
    return _as_atoms(
        options, here, state, gathered_, f"{len(weights)} clusters {why}", here.tolerance
    )


def _from_particles(
    options: Options, here: ParticleRepresentation, time: float, state: State
) -> Successor | None:
    problem, measure = here.problem, here.measure(state)
    few = direct_sum_limit(problem.manifold, problem.kernel_degree)
    extent = reach(problem, options.step_tolerance)
    if linked(problem.manifold, measure.points, extent).max() >= few:
        return None
    groups = groups_of(problem, measure, extent)
    if groups.size[~groups.met].sum() + groups.met.sum() > few:
        return None
    # Tokens still on their way to a cluster are no clusters yet, unless they hardly move.
    if groups.mass[groups.met].sum() < 0.5:
        fastest = np.abs(here.rhs(time, state)).max()
        # Where nothing moves, the longest step is infinite.
        moved = here.largest_step(time, state) * fastest if fastest else 0.0
        if moved > _AT_REST * cluster_radius(problem.beta):
            return None
    points, weights, _ = gathered(measure, groups)
    atoms = "one atom" if len(weights) == 1 else f"{len(weights)} atoms"
    why = f"{len(measure.points)} tokens go on as {atoms}"
    met = Measure(problem.manifold, points, weights)
    return _as_atoms(options, here, state, met, why, options.step_tolerance)


def _as_atoms(
    options: Options,
    here: CharacteristicsRepresentation | ParticleRepresentation,
    state: State,
    measure: Measure,
    why: str,
    tolerance: float,
) -> Successor | None:
    """Atoms as successor; None if a stored moment would change by more than the tolerance."""
    problem = here.problem
    degree = problem.moment_degree
    change = here.moments(state, degree) - measure.moments(degree)
    largest = float(problem.manifold.sizes_by_degree(change).max())
    if largest > tolerance:
        return None
    successor = atoms(problem, measure, tolerance=options.step_tolerance)
    return successor, f"{why}; moments change by {largest:.1e}"


def carried(problem: Problem, representation: str) -> Problem:
    """Problem that a run evolves; for a density on S^{d-1}, d > 3, the axial problem.

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Sphere(8), mf.exponential(5.0), mf.SA, mf.von_mises_fisher(2.0))
    >>> carried(problem, "auto").manifold, carried(problem, "particles").manifold
    (Axial(8), Sphere(8))
    """
    space = problem.manifold
    if space.has_series or not space.is_sphere or representation == "particles":
        return problem
    return problem.axial if isinstance(problem.initial_measure(), Density) else problem
