"""What carries a measure through time: one file each, one protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from meanfield.arrays import State
from meanfield.measures import Density, Measure
from meanfield.problem import Problem
from meanfield.representations.density import DensityRepresentation, density
from meanfield.representations.options import Options
from meanfield.representations.particles import ParticleRepresentation, particles
from meanfield.representations.representation import Representation

__all__ = [
    "REPRESENTATIONS",
    "DensityRepresentation",
    "Options",
    "ParticleRepresentation",
    "Representation",
    "density",
    "particles",
    "represent",
    "restored",
]

REPRESENTATIONS: dict[str, Callable[[Problem, Density | Measure, Options], Representation]] = {
    "density": lambda problem, measure, options: density(
        problem, measure, tolerance=options.tolerance, max_degree=options.max_degree
    ),
    "particles": lambda problem, measure, options: particles(
        problem, measure, tokens=options.tokens, seed=options.seed
    ),
}
"""Representations that a run file names."""


def restored(problem: Problem, options: Options, name: str, state: State) -> Representation:
    """Representation `name` of a problem in a later state, as a checkpoint keeps it."""
    carrier: Any = represent(problem, replace(options, name=name))
    return cast(Representation, replace(carrier, state=state))


def represent(problem: Problem, options: Options) -> Representation:
    """Representation in which a problem starts.

    "auto" begins as the initial measure does: a density as a density, points as particles.

    Raises
    ------
    ValueError
        If the name is not known or cannot carry the problem.
    """
    measure = problem.initial_measure()
    name = options.name
    if name == "auto":
        name = "particles" if isinstance(measure, Measure) else "density"
    if name not in REPRESENTATIONS:
        known = ", ".join(sorted([*REPRESENTATIONS, "auto"]))
        raise ValueError(f"representation {name!r} is not known. Known: {known}.")
    if name == "density" and options.tokens is not None:
        raise ValueError(
            f'tokens = {options.tokens} is for name = "particles"; this run is a density.'
        )
    return REPRESENTATIONS[name](problem, measure, options)
