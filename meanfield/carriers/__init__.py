"""Representations, which carry a measure through time: one protocol, one file each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from meanfield.arrays import FixedArrays, ModalArray, State
from meanfield.carriers.atoms import AtomRepresentation, atoms
from meanfield.carriers.automatic import (
    HandOver,
    carriers,
    first_carrier,
    hand_over_rule,
    hands_over,
    never,
    nodes,
    stay_met,
)
from meanfield.carriers.carrier import Representation
from meanfield.carriers.characteristics import (
    CharacteristicsRepresentation,
    characteristics,
    resumed_characteristics,
)
from meanfield.carriers.density import DensityRepresentation, density
from meanfield.carriers.labelled import (
    LabelledRepresentation,
    check_turning,
    labelled,
)
from meanfield.carriers.layered import (
    LayeredTokens,
    layered_again,
    layered_tokens,
)
from meanfield.carriers.options import Options, labelled_degree, usual_degree
from meanfield.carriers.particles import ParticleRepresentation, particles
from meanfield.carriers.spectra import check_degrees
from meanfield.carriers.step_limits import (
    check_carries,
    check_movable,
    check_step,
)
from meanfield.errors import list_names
from meanfield.measures import Density, Measure
from meanfield.problem import Problem

__all__ = [
    "REPRESENTATIONS",
    "AtomRepresentation",
    "CharacteristicsRepresentation",
    "DensityRepresentation",
    "HandOver",
    "Options",
    "ParticleRepresentation",
    "Representation",
    "atoms",
    "characteristics",
    "density",
    "hand_over_rule",
    "never",
    "particles",
    "represent",
    "resumed",
    "with_problem",
]


class Family(NamedTuple):
    """Functions that begin a representation, and resume it from a checkpoint."""

    begin: Callable[[Problem, Density | Measure, Options], Representation]
    resume: Callable[[Problem, Options, State, FixedArrays], Representation]


def _tokens(
    problem: Problem, measure: Density | Measure, options: Options
) -> ParticleRepresentation:
    start = particles(
        problem,
        measure,
        tokens=options.tokens,
        seed=options.seed,
        step=options.step,
        tolerance=options.step_tolerance,
    )
    return start if problem.layering.moves_densities else layered_tokens(start)


def _resumed_tokens(
    problem: Problem, options: Options, state: State, fixed: FixedArrays
) -> ParticleRepresentation:
    weights, tolerance = fixed.get("weights"), options.step_tolerance
    if not problem.layering.moves_densities:
        late = "late" in fixed
        return LayeredTokens(problem, state, weights, tolerance=tolerance, late=late)
    return ParticleRepresentation(
        problem,
        state,
        weights,
        step=options.step,
        seed=options.seed,
        tolerance=tolerance,
        frequencies=fixed.get("frequencies"),
    )


def _resumed_nodes(
    problem: Problem, options: Options, state: State, fixed: FixedArrays
) -> CharacteristicsRepresentation:
    nodes = resumed_characteristics(
        problem,
        state,
        fixed,
        tolerance=options.cell_tolerance(problem),
        max_nodes=options.max_nodes,
        enough=options.enough(problem),
    )
    if problem.layering.moves_densities:
        return nodes
    return layered_again(nodes, "late" in fixed)


REPRESENTATIONS: dict[str, Family] = {
    "density": Family(
        lambda problem, measure, options: density(
            problem, measure, tolerance=options.step_tolerance, max_degree=options.max_degree
        ),
        lambda problem, options, state, _: DensityRepresentation(
            problem,
            state,
            options.step_tolerance,
            options.max_degree or usual_degree(problem),
        ),
    ),
    "characteristics": Family(nodes, _resumed_nodes),
    "atoms": Family(
        lambda problem, measure, options: atoms(problem, measure, tolerance=options.step_tolerance),
        lambda problem, options, state, fixed: AtomRepresentation(
            problem,
            state,
            fixed["weights"],
            fixed["numbers"],
            options.step_tolerance,
            resting=bool(fixed["resting"]),
        ),
    ),
    "labelled": Family(
        lambda problem, measure, options: labelled(
            problem,
            measure,
            tolerance=options.step_tolerance,
            max_degree=options.max_degree,
            count=options.labels,
        ),
        lambda problem, options, state, fixed: LabelledRepresentation(
            problem,
            replace(
                problem.labels(options.labels, int(fixed["refinement"])), band=float(fixed["band"])
            ),
            state,
            options.step_tolerance,
            options.max_degree or labelled_degree(problem),
        ),
    ),
    "particles": Family(_tokens, _resumed_tokens),
}
"""Representations that a run file names."""


def represent(problem: Problem, options: Options) -> Representation:
    """First representation of a problem; see `carriers` for "auto"."""
    whole, measure = problem, problem.initial_measure()
    name = carriers(whole, options)[0]
    if name not in REPRESENTATIONS:
        allowed = list_names(name, [*REPRESENTATIONS, "auto"])
        raise ValueError(f"representation {name!r} is not known. {allowed}")
    problem = whole.staged[0]
    first = None
    if hands_over(whole, options) and isinstance(measure, Density):
        first = first_carrier(problem, measure, options)
    if first is None:
        first = REPRESENTATIONS[name].begin(problem, measure, options_of(problem, options))
    for number, stage in enumerate(whole.staged[1:], 2):
        try:
            _check_later_stage(stage, first, measure, options)
        except ValueError as error:
            raise ValueError(f"stage {number}: {error}") from None
    if first.name == "atoms" and whole.stages and not stay_met(whole.staged):
        raise ValueError(
            "atoms that meet become one, and not all stages hold together what has met: use "
            '"particles".'
        )
    return first if options.perturb is None else _disturbed(first, options)


def _disturbed(carrier: Any, options: Options) -> Representation:
    """Carrier in a state disturbed by size = `options.perturb`, with the same mass.

        x <- x + size P_x (M x + b),    f_l <- f_l + size m_l

    with random M, b and moments m of d + 1 random points.
    """
    size, rng = float(options.perturb or 0.0), np.random.default_rng([options.seed, 11])
    space, start = carrier.problem.manifold, carrier.state.copy()
    d = carrier.problem.manifold.ambient
    if isinstance(carrier, DensityRepresentation | LabelledRepresentation):
        rows = start[None]
        if isinstance(carrier, LabelledRepresentation):
            rows = start[:-1].reshape(len(carrier.labels.values), -1)
        drawn = space.random_points(d + 1, rng)
        moments: ModalArray = space.moments(drawn, rng.dirichlet(np.ones(d + 1)), 2)
        moments[0] = 0.0
        rows += size * space.resize(moments, space.degree_of(rows[0]))
    else:
        matrix, b = rng.standard_normal((d, d)), rng.standard_normal(d)
        measure = carrier.measure(carrier.state)
        push = space.vectors(measure.points) @ matrix.T + b
        if not isinstance(carrier, LayeredTokens):
            push = space.project(measure.points, push)
        push = push.reshape(len(measure.points), -1)
        if isinstance(carrier, CharacteristicsRepresentation):
            push = push * carrier.scale[:, None]
        start[: push.size] += size * push.ravel()
    moved: Representation = replace(carrier, state=start)
    return moved


def options_of(stage: Problem, options: Options) -> Options:
    """Options of one stage: particles without noise drop the step."""
    noisy = stage.flow.diffusivity > 0.0
    return options if noisy or options.step is None else replace(options, step=None)


def _check_later_stage(
    stage: Problem, first: Representation, measure: Density | Measure, options: Options
) -> None:
    """Refuse a later stage that the first carrier cannot follow."""
    check_movable(stage, measure)
    carrier = first.name
    if carrier == "labelled" and not stage.has_labels:
        raise ValueError(
            "densities of labels need a mask, or frequencies, in every stage: use representation "
            "'particles'."
        )
    check_carries(stage, carrier, first.carries)
    if isinstance(first, LabelledRepresentation):
        labels = stage.labels(options.labels, first.labels.refinement).values
        if not np.array_equal(labels, first.labels.values):
            raise ValueError(
                "labels stand elsewhere than before, as the mask asks for: use representation "
                "'particles'."
            )
        check_turning(stage, len(labels))
    if carrier == "particles":
        check_step(stage, options_of(stage, options).step)
    if carrier in ("density", "labelled") and options.max_degree:
        check_degrees({"kernel": stage.unlabelled.kernel_degree}, options.max_degree)


def with_problem(
    problem: Problem, options: Options, representation: Representation, state: State
) -> Representation:
    """Same representation and state under the problem of another stage, with no loss.

    >>> import meanfield as mf
    >>> law = mf.perturbed_uniform([[3, 0.1, 0.0]])
    >>> one, other = (mf.Problem(mf.Circle(), mf.exponential(b), mf.SA, law) for b in (2.0, 99.0))
    >>> here = represent(one, Options())
    >>> there = with_problem(other, Options(), here, here.state)
    >>> len(here.state), len(there.state), there.problem.beta
    (65, 91, 99.0)
    """
    # Atoms that rest here may move there.
    fixed = representation.fixed | {"resting": np.zeros(())}
    state = representation.state_under(problem, state)
    return resumed(problem, options, representation.name, state, fixed)


def resumed(
    problem: Problem, options: Options, name: str, state: State, fixed: FixedArrays
) -> Representation:
    """Representation called `name` of one stage, from the arrays of a checkpoint."""
    return REPRESENTATIONS[name].resume(problem, options_of(problem, options), state, fixed)
