"""Phase diagram with noise: where order sets in, and whether it does so with a jump.

A problem has a critical diffusivity, where uniform loses stability; a branch of ordered states
leaves uniform there. If it leaves towards larger diffusivities, order and uniform coexist up to
the saddle node where the branch turns. Order then sets in with a jump, where the free energies are
equal: the transition is discontinuous.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal

import numpy as np

from meanfield.checks import check_returned, checked
from meanfield.problem import Problem
from meanfield.progress import followed, wants_bar
from meanfield.spectrum.onset import branch_direction, tricritical_beta
from meanfield.stationary.bordered import ContinuationError
from meanfield.stationary.branches import Branch, Kind, SpecialPoint, primary_branch
from meanfield.views import ResultBase, data_frame, plot_method

Order = Literal["continuous", "discontinuous"]

# Relative error of diffusivities: a branch that overhangs by less does so by rounding.
_PROMISED = 1e-10


@dataclass(frozen=True, repr=False)
class PhasePoint(ResultBase):
    """Onset of order at one inverse temperature; diffusivities in scaled time.

    Attributes
    ----------
    beta : float
        Inverse temperature, 0 for the linear kernel.
    critical_diffusivity : float
        Above it uniform is stable.
    transition_diffusivity : float or None
        Where the ordered branch has the free energy of uniform. The critical one if the
        transition is continuous; None if no free energy is known (normalised, exponential kernel).
    saddle_node_diffusivity : float or None
        Largest diffusivity of the ordered branch; None if the transition is continuous.
    order : {"continuous", "discontinuous"}
    order_parameter_at_transition : float or None
        Moment of the critical degree at the transition as a share of that of a Dirac,
        |int x dmu| for degree 1; 0 if continuous or below 1e-3; None if the transition is not
        known.
    problem : Problem or None
        Whose onset it is; a point that was put together by hand may have none.
    """

    beta: float
    critical_diffusivity: float
    transition_diffusivity: float | None
    saddle_node_diffusivity: float | None
    order: Order
    order_parameter_at_transition: float | None
    problem: Problem | None = field(default=None, repr=False, compare=False)

    plot = plot_method(
        "PhasePoint.plot",
        "Figure of the bifurcation diagram, which is computed: order and free energy against "
        "diffusivity.",
    )

    def numbers(self) -> dict[str, Any]:
        """Everything but the problem, by name."""
        names = [each.name for each in fields(self) if each.compare]
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        where = f"below diffusivity {self.critical_diffusivity:.6g}"
        if self.order == "discontinuous":
            diffusivities = self.transition_diffusivity, self.saddle_node_diffusivity
            words = [f"{value:.6g}" if value is not None else "unknown" for value in diffusivities]
            where = f"with a jump at {words[0]}, {where} at the latest; saddle node {words[1]}"
        return f"PhasePoint(beta = {self.beta:g}: order {where})"


ProblemAt = Annotated[
    Callable[[float], Problem],
    "a function of beta, such as lambda beta: mf.Problem(mf.Circle(), mf.exponential(beta))",
]


@dataclass(frozen=True, eq=False, repr=False)
class PhaseDiagram(ResultBase):
    """Points of a phase diagram over inverse temperatures.

    Attributes
    ----------
    manifold, kernel : str
        Names.
    normalized : bool
    tricritical_beta : float or None
        Where the order changes from continuous to discontinuous; None if it does not.
    points : tuple of PhasePoint
        In the order of the betas.
    """

    manifold: str
    kernel: str
    normalized: bool
    tricritical_beta: float | None
    points: tuple[PhasePoint, ...]

    def __repr__(self) -> str:
        betas = [point.beta for point in self.points]
        has_point = self.tricritical_beta is not None
        jump = f", tricritical at {self.tricritical_beta:.6g}" if has_point else ""
        return (
            f"PhaseDiagram({self.manifold}, {self.kernel} kernel, "
            f"{'SA' if self.normalized else 'USA'}, {len(betas)} points from beta = "
            f"{min(betas):g} to {max(betas):g}{jump})"
        )

    @property
    def columns(self) -> dict[str, Any]:
        """Points: a row a beta, NaN where there is no number."""
        rows = [point.numbers() for point in self.points]
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        return {k: np.array([np.nan if v is None else v for v in c]) for k, c in columns.items()}

    def table(self) -> Any:
        """Points as a pandas.DataFrame, without pandas a dict of arrays: a row a beta."""
        return data_frame(self.columns)

    plot = plot_method(
        "PhaseDiagram.plot",
        "Figure of what is stable where, the jump of order and the critical diffusivity over beta."
        "\n\nOf at least two betas.",
    )


@checked
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
    >>> point = phase_point(mf.Problem(mf.Circle(), mf.exponential(beta=3.0), mf.USA))
    >>> point.order, round(point.critical_diffusivity / point.transition_diffusivity, 8)
    ('discontinuous', 0.99122557)
    """
    problem.check_own_clock("phases")
    return onset(primary_branch(problem))


def onset(branch: Branch) -> PhasePoint:
    """Phase point of the problem of a primary branch.

    Raises
    ------
    ContinuationError
        If the branch overhangs and has no transition.
    """
    problem, critical = branch.problem, float(branch.values[0])
    beta, has_energy = problem.zonal.kernel.beta, problem.has_free_energy
    transition, jump = (critical, 0.0) if has_energy else (None, None)
    turn, equal = _largest(branch, "saddle_node"), _largest(branch, "transition")
    overhangs = turn is not None and turn.value > (1.0 + _PROMISED) * critical
    if branch_direction(problem) <= 0.0 and not overhangs:
        return PhasePoint(beta, critical, transition, None, "continuous", jump, problem)
    # Next to the tricritical point D_# is all three, to more digits than are promised.
    saddle_node = critical if turn is None else max(turn.value, critical)
    if equal is not None and equal.value > critical:
        transition, jump = equal.value, equal.order_parameter
    elif has_energy and saddle_node > critical:
        raise ContinuationError(
            f"the ordered branch at beta = {beta:g} never has the free energy of uniform: look at "
            "it with meanfield.stationary.branches.primary_branch."
        )
    return PhasePoint(beta, critical, transition, saddle_node, "discontinuous", jump, problem)


@checked
def phase_diagram(
    problem_at: ProblemAt,
    betas: Sequence[float],
    *,
    progress: bool | Callable[[Iterable[Branch]], Iterable[Branch]] | None = None,
) -> PhaseDiagram:
    """Phase diagram over inverse temperatures.

    Parameters
    ----------
    problem_at : callable
        The problem at a beta; all on one manifold with one flow.
    betas : sequence of float
        At least one.
    progress : bool or callable (branches) -> branches
        Show a bar; by default in notebooks. Or what passes the primary branches through as
        they are found.

    Raises
    ------
    TypeError
        If a problem was given instead of a callable.
    ValueError
        If there are no betas; else as `phase_point`.
    ContinuationError
        As `phase_point`.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem_at = lambda b: mf.Problem(mf.Circle(), mf.exponential(b), mf.USA)
    >>> diagram = phase_diagram(problem_at, [2.4, 3.0])
    >>> [point.order for point in diagram.points], round(diagram.tricritical_beta, 6)
    (['continuous', 'discontinuous'], 2.446918)
    """
    if len(betas) == 0:
        raise ValueError("a phase diagram needs at least one beta, got none.")
    problems = [
        check_returned("problem_at(beta)", problem_at(float(beta)), Problem) for beta in betas
    ]
    branches: Iterable[Branch] = map(primary_branch, problems)
    if callable(progress):
        branches = progress(branches)
    elif wants_bar(progress):
        branches = followed(branches, len(problems), "phase")
    return diagram_of(problem_at, problems, tuple(onset(branch) for branch in branches))


def diagram_of(
    problem_at: Callable[[float], Problem],
    problems: Sequence[Problem],
    points: tuple[PhasePoint, ...],
) -> PhaseDiagram:
    """Phase diagram of points, with the facts of their problems."""
    # The linear kernel is the exponential one of beta = 0.
    kernel = next(
        (each.zonal.kernel for each in problems if each.zonal.kernel.name != "linear"), None
    )
    return PhaseDiagram(
        manifold=problems[0].manifold.name,
        kernel="linear" if kernel is None else kernel.name,
        normalized=problems[0].flow.normalized,
        tricritical_beta=_tricritical(problem_at, problems),
        points=points,
    )


def _largest(branch: Branch, kind: Kind) -> SpecialPoint | None:
    """The special point of a kind at the largest diffusivity."""
    points = [each for each in branch.special if each.kind == kind]
    return max(points, key=lambda each: each.value, default=None)


def _tricritical(
    problem_at: Callable[[float], Problem], problems: Sequence[Problem]
) -> float | None:
    """Where the order changes: in closed form, or between two of these problems."""
    from scipy.optimize import brentq

    exponential = [each for each in problems if each.zonal.kernel.name == "exponential"]
    if not exponential:
        return None
    flow = exponential[0].flow
    if flow.strength > 0 and not flow.normalized:
        return tricritical_beta(exponential[0].manifold)
    betas = sorted(each.beta for each in exponential)
    for low, high in itertools.pairwise(betas):
        ends = [branch_direction(problem_at(beta)) for beta in (low, high)]
        if np.all(np.isfinite(ends)) and ends[0] * ends[1] < 0:
            return float(brentq(lambda beta: branch_direction(problem_at(beta)), low, high))
    return None
