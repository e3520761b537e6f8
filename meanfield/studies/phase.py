"""Phase diagram with noise: where order sets in, and whether it does so with a jump.

A problem has a critical diffusivity, where uniform loses stability; a branch of ordered states
leaves uniform there. If it leaves towards larger diffusivities, order and uniform coexist up to
the saddle node where the branch turns, and order sets in with a jump where the free energies are
equal: the transition is discontinuous.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from meanfield.problem import Problem
from meanfield.stationary.bordered import ContinuationError
from meanfield.stationary.branches import Branch, Kind, SpecialPoint, primary_branch
from meanfield.stationary.families import dirac_moments
from meanfield.stationary.transition import (
    branch_direction,
    critical_degree,
    near_tricritical,
    tricritical_beta,
)
from meanfield.theory.stability import critical_diffusivity

Order = Literal["continuous", "discontinuous"]

# Below this B the fold is nearer to uniform than continuation resolves, and the expansion about
# the tricritical point is exact to about 1e-5 of D_SN - D_#.
_WEAK = 4e-6
_NEARLY_CRITICAL = 0.9
# Moments between which the branch shows its next coefficient: above rounding, before higher ones.
_SMALL_MOMENTS = (0.02, 0.3)


@dataclass(frozen=True)
class PhasePoint:
    """Onset of order at one inverse temperature; diffusivities in scaled time.

    Attributes
    ----------
    beta : float
        Given. Inverse temperature, 0 for the linear kernel.
    critical_diffusivity : float
        Derived. Above it uniform is stable.
    transition_diffusivity : float or None
        Derived. Where the ordered branch has the free energy of uniform. The critical one if the
        transition is continuous; None if no free energy is known (normalised, exponential kernel).
    saddle_node_diffusivity : float or None
        Derived. Largest diffusivity of the ordered branch; None if the transition is continuous.
    order : {"continuous", "discontinuous"}
        Derived.
    order_parameter_at_transition : float or None
        Derived. |int x dmu| of the ordered state at the transition, 0 if continuous; None if the
        transition is not known.
    """

    beta: float
    critical_diffusivity: float
    transition_diffusivity: float | None
    saddle_node_diffusivity: float | None
    order: Order
    order_parameter_at_transition: float | None


@dataclass(frozen=True, eq=False)
class PhaseDiagram:
    """Points of a phase diagram over inverse temperatures.

    Attributes
    ----------
    manifold, kernel : str
        Given. Names.
    normalized : bool
        Given.
    tricritical_beta : float or None
        Derived. Where the order changes from continuous to discontinuous; None if it does not.
    points : tuple of PhasePoint
        Derived. In the order of the betas.
    """

    manifold: str
    kernel: str
    normalized: bool
    tricritical_beta: float | None
    points: tuple[PhasePoint, ...]


def phase_point(problem: Problem) -> PhasePoint:
    """Onset of order of a problem, on the branch that leaves uniform first.

    The direction in which the branch leaves decides the order; a branch that leaves continuously
    and overhangs farther on is discontinuous all the same. Branches that never meet uniform are not
    looked for.

    Parameters
    ----------
    problem : Problem
        On any sphere. Its diffusivity and its initial measure are not used.

    Returns
    -------
    PhasePoint
        Diffusivities to 1e-10 relative or better.

    Raises
    ------
    ValueError
        If nothing grows at any diffusivity, or no equation for stationary states is known.
    ContinuationError
        If the branch cannot be followed, or no transition is found on it.

    See Also
    --------
    meanfield.stationary.branches.primary_branch : the branch itself.

    References
    ----------
    Mun, Rosenzweig, arXiv:2604.16288 and arXiv:2606.05140.

    Examples
    --------
    >>> import meanfield as mf
    >>> point = phase_point(mf.Problem(mf.Circle(), mf.exponential(beta=3.0)))
    >>> point.order, round(point.critical_diffusivity / point.transition_diffusivity, 8)
    ('discontinuous', 0.99122557)
    """
    critical, direction = critical_diffusivity(problem), branch_direction(problem)
    known = not (problem.flow.normalized and problem.kernel.name == "exponential")
    weak = 0.0 < direction < _WEAK
    if direction > 0.0 and known and not weak:
        # Below D_# the ordered state has won: no need to go there.
        branch = primary_branch(problem, smallest=_NEARLY_CRITICAL, stop=lambda energy: energy < 0)
    else:
        branch = primary_branch(problem)
    beta, turns = problem.kernel.beta, _specials(branch, "saddle_node")
    turn = max((each.value for each in turns), default=0.0)
    if weak and turn < critical * (1.0 + _WEAK):
        onset = near_tricritical(direction, _quartic(branch, direction))
        return PhasePoint(
            beta,
            critical,
            critical * onset.transition if known else None,
            critical * onset.saddle_node,
            "discontinuous",
            onset.moment / _dirac_moment(branch) if known else None,
        )
    if turn <= critical:
        transition = critical if known else None
        return PhasePoint(beta, critical, transition, None, "continuous", 0.0 if known else None)
    if not known:
        return PhasePoint(beta, critical, None, turn, "discontinuous", None)
    equal = _specials(branch, "transition")
    if not equal:
        raise ContinuationError(
            f"the ordered branch at beta = {beta:g} never has the free energy of uniform: "
            "follow it with primary_branch and look at it."
        )
    first = max(equal, key=lambda each: each.value)
    return PhasePoint(beta, critical, first.value, turn, "discontinuous", first.order_parameter)


def phase_diagram(
    problem_at: Callable[[float], Problem],
    betas: Sequence[float],
    *,
    report: Callable[[PhasePoint], None] | None = None,
) -> PhaseDiagram:
    """Phase diagram over inverse temperatures.

    Parameters
    ----------
    problem_at : callable
        The problem at a beta; all on one manifold with one flow.
    betas : sequence of float
        At least one.
    report : callable, optional
        Called with each point as it is found.

    Raises
    ------
    ValueError
        If there are no betas; else as `phase_point`.
    ContinuationError
        As `phase_point`.

    Examples
    --------
    >>> import meanfield as mf
    >>> diagram = phase_diagram(lambda b: mf.Problem(mf.Circle(), mf.exponential(b)), [2.4, 3.0])
    >>> [point.order for point in diagram.points], round(diagram.tricritical_beta, 6)
    (['continuous', 'discontinuous'], 2.446918)
    """
    if len(betas) == 0:
        raise ValueError("a phase diagram needs at least one beta, got none.")
    problems = [problem_at(float(beta)) for beta in betas]
    points = []
    for problem in problems:
        points.append(phase_point(problem))
        if report is not None:
            report(points[-1])
    # The linear kernel is the exponential one of beta = 0.
    kernel = next((each.kernel for each in problems if each.kernel.name != "linear"), None)
    return PhaseDiagram(
        manifold=problems[0].manifold.name,
        kernel="linear" if kernel is None else kernel.name,
        normalized=problems[0].flow.normalized,
        tricritical_beta=_tricritical(problem_at, problems),
        points=tuple(points),
    )


def _specials(branch: Branch, kind: Kind) -> list[SpecialPoint]:
    return [each for each in branch.special if each.kind == kind]


def _quartic(branch: Branch, direction: float) -> float:
    """C in D = D_# (1 + B eps^2 - C eps^4 + ...), fitted to the branch."""
    moments = branch.order_parameter * _dirac_moment(branch)
    least, largest = _SMALL_MOMENTS
    chosen = (moments > least) & (moments < largest)
    squares = moments[chosen] ** 2
    ratios = branch.values[chosen] / branch.values[0] - 1.0
    return float(np.polyfit(squares, (direction - ratios / squares) / squares, 3)[-1])


def _dirac_moment(branch: Branch) -> float:
    """Moment of the critical degree of a Dirac, by which the order parameter is a share of it."""
    degree = critical_degree(branch.problem)
    return float(dirac_moments(branch.symmetry)[branch.symmetry.degrees == degree][0])


def _tricritical(
    problem_at: Callable[[float], Problem], problems: Sequence[Problem]
) -> float | None:
    """Where the order changes: in closed form, or between two of these problems."""
    from scipy.optimize import brentq

    exponential = [each for each in problems if each.kernel.name == "exponential"]
    if not exponential:
        return None
    flow, dimension = exponential[0].flow, exponential[0].manifold.dimension
    if flow.strength > 0 and not flow.normalized:
        return tricritical_beta(dimension)
    betas = sorted(each.kernel.beta for each in exponential)
    for low, high in itertools.pairwise(betas):
        ends = [branch_direction(problem_at(beta)) for beta in (low, high)]
        if np.all(np.isfinite(ends)) and ends[0] * ends[1] < 0:
            return float(brentq(lambda beta: branch_direction(problem_at(beta)), low, high))
    return None
