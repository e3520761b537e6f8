"""Characteristics that go on from what a checkpoint keeps."""

from __future__ import annotations

import numpy as np

from meanfield.arrays import FixedArrays, State
from meanfield.measures import Density
from meanfield.problem import Problem
from meanfield.representations.characteristics import CharacteristicsRepresentation
from meanfield.representations.options import MOST_NODES
from meanfield.representations.step_limits import NOISY, check_movable, check_no_diffusion


def resumed_characteristics(
    problem: Problem,
    state: State,
    fixed: FixedArrays,
    *,
    tolerance: float,
    max_nodes: int = MOST_NODES,
    enough: float = 0.0,
) -> CharacteristicsRepresentation:
    """Characteristics in a later state, from what `fixed` gave.

    Raises
    ------
    ValueError
        If the problem cannot be carried, or the state does not fit the cells.
    """
    check_movable(problem)
    check_no_diffusion(problem, "characteristics", NOISY)
    space = problem.space
    cells = space.cells_of(fixed["bounds"])
    expected = cells.points.size + len(cells.weights)
    if state.shape != (expected,):
        raise ValueError(
            f"state has shape {state.shape}, expected ({expected},) for {len(cells.bounds)} cells."
        )
    initial = Density(space, fixed["initial"])
    # The law's own density, which may know its values better than the coefficients do.
    law = problem.initial_measure()
    if isinstance(law, Density) and np.array_equal(law.coefficients, initial.coefficients):
        initial = law
    return CharacteristicsRepresentation(
        problem, state, cells, initial, tolerance, max_nodes, enough
    )
