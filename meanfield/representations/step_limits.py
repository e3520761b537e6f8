"""How long an explicit step may be, and what cannot be stepped at all."""

from __future__ import annotations

import numpy as np

from meanfield.problem import Problem
from meanfield.theory.stability import growth_rates

STABLE = 5.0
"""Longest step times rate of contraction.

DOP853 is stable on the negative axis down to -6.4, and damps at -5 (|R(-5)| = 0.057).
"""

LINEAR = 0.35
"""Longest step times rate of growth, near the uniform state.

A mode smaller than the tolerance is invisible to the error control, which would take steps of
several e-folds. On steps of a third of one DOP853 follows e^{lambda t} to 1e-10.
"""

_SIMILARITIES = np.linspace(-1.0, 1.0, 201)


def contraction_rate(problem: Problem) -> float:
    """Rate at which a measure in one place falls together: |strength| a(1), SA |strength|.

    a(1) stands for the largest value of |a|.

    Examples
    --------
    >>> import meanfield as mf
    >>> contraction_rate(mf.Problem(mf.Circle(), mf.exponential(beta=9.0), mf.USA))
    1.0
    """
    kernel, flow = problem.kernel, problem.flow
    largest = 1.0 if flow.normalized else np.abs(kernel.attention(_SIMILARITIES)).max()
    return float(abs(flow.strength) * largest)


def linear_rate(problem: Problem) -> float:
    """Largest modulus of the rates of small perturbations of the uniform measure."""
    return float(np.abs(growth_rates(problem, problem.kernel_degree)).max())


def check_movable(problem: Problem) -> None:
    """Refuse problems whose measures nothing here can move.

    Raises
    ------
    ValueError
        If the flow diffuses (not built yet), or the kernel has degrees above what the manifold
        allows.
    """
    if problem.flow.diffusivity:
        raise ValueError(
            f"diffusivity = {problem.flow.diffusivity:g} cannot be evolved yet; use 0."
        )
    largest = problem.space.largest_degree
    if problem.kernel_degree > largest:
        raise ValueError(
            f"the kernel needs degree {problem.kernel_degree}, at most {largest} on the "
            f"{problem.space.name}: reduce beta."
        )
