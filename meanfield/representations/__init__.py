"""What carries a measure through time: one file each, one protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from meanfield.arrays import FixedArrays, State
from meanfield.errors import known_names
from meanfield.measures import Density, Measure
from meanfield.problem import Problem
from meanfield.representations.atoms import AtomRepresentation, atoms
from meanfield.representations.automatic import (
    HandOver,
    carriers,
    first_carrier,
    hand_over_rule,
    hands_over,
    never,
)
from meanfield.representations.characteristics import (
    CharacteristicsRepresentation,
    characteristics,
    resumed_characteristics,
)
from meanfield.representations.density import DensityRepresentation, density
from meanfield.representations.labelled import LabelledRepresentation, labelled, labelled_degree
from meanfield.representations.options import Options, usual_degree
from meanfield.representations.particles import ParticleRepresentation, particles
from meanfield.representations.representation import Representation

__all__ = [
    "REPRESENTATIONS",
    "AtomRepresentation",
    "CharacteristicsRepresentation",
    "DensityRepresentation",
    "Family",
    "HandOver",
    "LabelledRepresentation",
    "Options",
    "ParticleRepresentation",
    "Representation",
    "atoms",
    "characteristics",
    "density",
    "hand_over_rule",
    "labelled",
    "never",
    "particles",
    "represent",
]


@dataclass(frozen=True)
class Family:
    """How a representation begins, and how it goes on from what a checkpoint keeps.

    Attributes
    ----------
    begin : callable (problem, initial measure, options) -> Representation
        Given.
    resume : callable (problem, options, state, fixed) -> Representation
        Given.
    """

    begin: Callable[[Problem, Density | Measure, Options], Representation]
    resume: Callable[[Problem, Options, State, FixedArrays], Representation]


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
    "characteristics": Family(
        lambda problem, measure, options: characteristics(
            problem,
            measure,
            tolerance=options.cell_tolerance(problem),
            max_nodes=options.max_nodes,
            enough=options.enough(problem),
        ),
        lambda problem, options, state, fixed: resumed_characteristics(
            problem,
            state,
            fixed,
            tolerance=options.cell_tolerance(problem),
            max_nodes=options.max_nodes,
            enough=options.enough(problem),
        ),
    ),
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
        lambda problem, options, state, _: LabelledRepresentation(
            problem,
            problem.labels(options.labels),
            state,
            options.step_tolerance,
            options.max_degree or labelled_degree(problem),
        ),
    ),
    "particles": Family(
        lambda problem, measure, options: particles(
            problem,
            measure,
            tokens=options.tokens,
            seed=options.seed,
            step=options.step,
            tolerance=options.step_tolerance,
        ),
        lambda problem, options, state, fixed: ParticleRepresentation(
            problem,
            state,
            fixed.get("weights"),
            step=options.step,
            seed=options.seed,
            tolerance=options.step_tolerance,
            frequencies=fixed.get("frequencies"),
        ),
    ),
}
"""Representations that a run file names."""

CARRY_LABELS = ("labelled", "particles")
"""Those that carry what tokens keep, positions under a mask or frequencies."""


def represent(problem: Problem, options: Options) -> Representation:
    """Representation in which a problem starts.

    "auto" begins as the initial measure does: a density as a density (as characteristics where Z
    may get lost in its rounding), tokens as particles, atoms as atoms.

    Raises
    ------
    ValueError
        If the name is not known or cannot carry the problem.
    """
    measure = problem.initial_measure()
    name = carriers(problem, options)[0]
    if name not in REPRESENTATIONS:
        allowed = known_names(name, [*REPRESENTATIONS, "auto"])
        raise ValueError(f"representation {name!r} is not known. {allowed}")
    if problem.has_labels and name not in CARRY_LABELS:
        kind = "frequencies" if problem.frequencies else "positions, which the mask asks for"
        raise ValueError(
            f"{name} cannot carry {kind}: use representation "
            f"{' or '.join(map(repr, CARRY_LABELS))}."
        )
    if hands_over(problem, options) and isinstance(measure, Density):
        first = first_carrier(problem, measure, options)
        if first is not None:
            return first
    return REPRESENTATIONS[name].begin(problem, measure, options)
