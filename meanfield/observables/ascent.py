"""What never falls along a run, in any carrier: an invariant, looked at at every save."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from meanfield.arrays import ModalArray
from meanfield.fields.mean_field import interaction
from meanfield.measures import Density, Measure
from meanfield.observables.free_energy import free_energy
from meanfield.problem import Problem


def ascent(problem: Problem) -> Callable[[Density | Measure, ModalArray], float]:
    """Function of a measure and its moments that never falls along the flow, of size 1.

    Without diffusion half of int Phi dmu, whose rate is int |grad Phi|^2 / Z dmu; with it minus
    the free energy. In units of the first for all mass in one place, degree by degree without
    sign, and of the diffusivity. NaN where no free energy is known.

    Examples
    --------
    >>> import meanfield as mf
    >>> climbed = ascent(mf.Problem(mf.Circle(), mf.linear(), mf.SA))
    >>> point = mf.Measure(mf.Circle(), np.zeros(1))
    >>> climbed(point, point.moments(12))
    1.0
    """
    space, flow = problem.space, problem.flow
    multipliers = 0.5 * interaction(problem).potential_multipliers
    point = space.moments(np.array([space.origin]), None, len(multipliers) - 1)
    size = space.inner(space.convolve(np.abs(multipliers), point), point)

    def climbed(measure: Density | Measure, moments: ModalArray) -> float:
        if flow.diffusivity:
            return -free_energy(problem, measure, moments) / (size + flow.diffusivity)
        return space.inner(space.convolve(multipliers, moments), moments) / size

    return climbed
