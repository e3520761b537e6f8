"""Phase diagram with noise: the onset of order, continuous or with a jump.

At the critical diffusivity uniform loses stability, and a branch of ordered states begins. If it
leaves towards larger diffusivities, order and uniform coexist up to the saddle node where the
branch turns. Then the transition is discontinuous: order sets in with a jump, where the free
energies are equal.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np

from meanfield.arguments import check_returned, checked
from meanfield.arrays import FloatArray
from meanfield.described import Array, ResultBase, StudyResult, plot_method
from meanfield.files import OutputError
from meanfield.problem import Problem
from meanfield.problem_facts import problem_attributes
from meanfield.spaces import named_space
from meanfield.stationary.branches import (
    Branch,
    Kind,
    SpecialPoint,
    branch_direction,
    primary_branch,
    tricritical_beta,
)
from meanfield.stationary.continuation import ContinuationError
from meanfield.studies.study import ArrayStudy, Execution, Request, Runs
from meanfield.terms.flows import Flow
from meanfield.terms.kernels import exponential, linear

Order = Literal["continuous", "discontinuous"]

# Relative error of diffusivities: smaller overhangs of a branch are rounding.
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
        Where the ordered branch has the free energy of uniform; the critical one if the transition
        is continuous. None if no free energy is known (normalised, exponential kernel).
    saddle_node_diffusivity : float or None
        Largest diffusivity of the ordered branch; None if the transition is continuous.
    order : {"continuous", "discontinuous"}
    order_parameter_at_transition : float or None
        Moment of the critical degree at the transition as a share of a Dirac's, |int x dmu| for
        degree 1; 0 if continuous, or next to the tricritical point. None without free energy.
    problem : Problem or None
        The problem; points of files with a user's own kernel have none.
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
        """Values by name, without the problem."""
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


_NUMBERS = (
    "critical_diffusivity",
    "transition_diffusivity",
    "saddle_node_diffusivity",
    "order_parameter_at_transition",
)


@dataclass(frozen=True, eq=False, repr=False)
class PhaseDiagram(StudyResult):
    """Points of a phase diagram over inverse temperatures.

    Attributes
    ----------
    manifold, kernel : str
        Names.
    normalized : bool
    tricritical_beta : float or None
        Where the order changes from continuous to discontinuous; None if it does not.
    points : tuple of PhasePoint
        In the order of the betas; of an unfinished file the finished points.
    attributes : dict
        Attributes of a file: status, created, ...
    """

    kind = "phase_diagram"
    stored_as = {name: name for name in ("manifold", "kernel", "normalized", "tricritical")}
    required = ("manifold", "kernel", "normalized", "tricritical")

    manifold: str
    kernel: str
    normalized: bool
    tricritical_beta: float | None
    points: tuple[PhasePoint, ...]
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def tricritical(self) -> float:
        """Tricritical beta in files: NaN for none."""
        return _or_nan(self.tricritical_beta)

    @classmethod
    def described(cls) -> dict[str, Array]:
        units = {name: "" if "parameter" in name else "1 / scaled time" for name in _NUMBERS}
        numbers = {name: Array(("beta",), name, unit) for name, unit in units.items()}
        return {
            "beta": Array(("beta",), "beta"),
            "discontinuous": Array(("beta",), "discontinuous", kind="b"),
        } | numbers

    def stored_values(self) -> dict[str, Any]:
        numbers = {
            name: np.array([_or_nan(getattr(point, name)) for point in self.points])
            for name in ("beta", *_NUMBERS)
        }
        return numbers | {
            "discontinuous": np.array([each.order == "discontinuous" for each in self.points], bool)
        }

    @classmethod
    def check_values(cls, values: Mapping[str, Any], attributes: Mapping[str, Any]) -> None:
        if not np.all(np.isfinite(values["beta"]) & np.isfinite(values["critical_diffusivity"])):
            raise ValueError("beta or critical_diffusivity holds what is no number")

    @classmethod
    def restored(cls, values: Mapping[str, Any], attributes: dict[str, Any]) -> Self:
        kernel, tricritical = attributes["kernel"], float(attributes["tricritical"])
        space, normalized = named_space(attributes["manifold"]), attributes["normalized"]
        flow = Flow(normalized=normalized, strength=float(attributes.get("strength", 1.0)))
        columns = (values[name] for name in ("beta", "discontinuous", *_NUMBERS))
        points = []
        for beta, jumps, *numbers in zip(*columns, strict=True):
            # Files do not contain a user's own kernel.
            of = exponential(beta) if beta else linear()
            known = kernel in ("exponential", "linear")
            problem = Problem(space, of, flow) if known else None
            points.append(_point(float(beta), bool(jumps), numbers, problem))
        tricritical_beta = None if np.isnan(tricritical) else tricritical
        return cls(space.name, kernel, normalized, tricritical_beta, tuple(points), attributes)

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
        """Columns of the points, a row for each beta, NaN for None."""
        rows = [point.numbers() for point in self.points]
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        return {k: np.array([np.nan if v is None else v for v in c]) for k, c in columns.items()}

    plot = plot_method(
        "PhaseDiagram.plot",
        "Figure of what is stable where, the jump of order and the critical diffusivity over beta."
        "\n\nOf at least two betas.",
    )


@checked
def phase_point(problem: Problem) -> PhasePoint:
    """Onset of order of a problem, on the branch that leaves uniform first.

    The transition is discontinuous if the branch leaves towards larger diffusivities, or overhangs
    later. Branches that never meet uniform are not computed.

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
        If the branch cannot be followed, or has no transition.

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

    ContinuationError if the branch overhangs and has no transition.
    """
    problem, critical = branch.problem, float(branch.values[0])
    beta, has_energy = problem.zonal.kernel.beta, problem.has_free_energy
    transition, jump = (critical, 0.0) if has_energy else (None, None)
    turn, equal = _largest(branch, "saddle_node"), _largest(branch, "transition")
    overhangs = turn is not None and turn.value > (1.0 + _PROMISED) * critical
    if branch_direction(problem) <= 0.0 and not overhangs:
        return PhasePoint(beta, critical, transition, None, "continuous", jump, problem)
    # Near the tricritical point all three diffusivities agree within their accuracy.
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
    output: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: bool | Callable[[Iterable[Branch]], Iterable[Branch]] | None = None,
) -> PhaseDiagram:
    """Phase diagram over inverse temperatures.

    Parameters
    ----------
    problem_at : callable (beta) -> Problem
        Problems on one manifold with one flow.
    betas : sequence of float
        At least one.
    output, resume, overwrite, workers, executor
        As in `meanfield.ensemble`; only betas may be added.
    progress : bool or callable (branches) -> branches
        Show a bar; by default in notebooks. A callable passes the primary branches through; it
        excludes output, workers and executor.

    Raises
    ------
    TypeError
        If problem_at is no callable that returns problems.
    ValueError, ContinuationError
        If there are no betas; else as in `phase_point`.

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
    execution = Execution(output, resume, overwrite, workers, executor,
                          None if callable(progress) else progress)  # fmt: skip
    if callable(progress):
        if output is not None or workers is not None or executor is not None:
            raise ValueError(
                "with a function as progress, branches are computed in this process and not "
                "written: leave out output, workers and executor."
            )
        branches = progress(map(primary_branch, problems))
        points = tuple(onset(branch) for branch in branches)
        return diagram_of(problems, points, tricritical_of(problem_at, problems))
    return phase_request(problem_at, problems, betas, "phase_diagram").results(execution)


def phase_request(
    problem_at: Callable[[float], Problem],
    problems: Sequence[Problem],
    betas: Sequence[float],
    label: str,
) -> Request[PhaseDiagram]:
    """Request of a phase diagram at some betas; errors begin with `label`."""
    given = tuple(map(float, betas))
    # The dict has equal betas once, so that their branch is computed once.
    options = PhaseOptions(dict(zip(given, problems, strict=True)))

    def plan() -> PhasePlan:
        return PhasePlan(options, given, tricritical_of(problem_at, problems))

    return Request("phase_diagram", plan, options, label, kernels=False)


@dataclass(frozen=True, eq=False)
class PhaseOptions:
    """The problem at each inverse temperature."""

    problems: Mapping[float, Problem]
    runs: int = 1

    def facts(self) -> dict[str, Any]:
        """Facts that a resumed file must share; betas may grow."""
        first = problem_attributes(next(iter(self.problems.values())))
        kept = ("manifold", "normalization", "strength")
        kernels = {each.zonal.kernel.name for each in self.problems.values()} - {"linear"}
        return {
            "problem": {name: first[name] for name in kept} | {"kernel": sorted(kernels)},
            "betas": list(self.problems),
        }


@dataclass(frozen=True, eq=False)
class PhasePlan(ArrayStudy[PhaseDiagram]):
    """Plan of a phase diagram; tables have the numbers of the point at each beta."""

    options: PhaseOptions
    betas: tuple[float, ...]  # as they were given
    tricritical: float | None
    unit: ClassVar[str] = "points"
    overhead: ClassVar[int] = 0
    measured: ClassVar[tuple[str, ...]] = (*_NUMBERS, "discontinuous")

    @property
    def sizes(self) -> tuple[float, ...]:
        return tuple(self.options.problems)

    def name(self, size: float) -> str:
        return f"beta = {size:.3g}"

    def work(self, runs: Runs) -> float:
        return 1.0

    def run(self, runs: Runs) -> FloatArray:
        point = onset(primary_branch(self.options.problems[runs.size]))
        numbers = [_or_nan(getattr(point, name)) for name in _NUMBERS]
        return np.array([[*numbers, float(point.order == "discontinuous")]])

    def resumed(self, stored: PhaseDiagram) -> FloatArray:
        table, values = self.empty(), stored.stored_values()
        rows = np.stack([values[name] for name in self.measured], axis=-1)
        known = dict(zip(values["beta"].tolist(), rows, strict=True))
        for i, problem in enumerate(self.options.problems.values()):
            if problem.zonal.kernel.beta in known:
                table[i, 0] = known[problem.zonal.kernel.beta]
        return table

    def check_resumes(self, stored: PhaseDiagram, path: Path, label: str) -> None:
        before, now = json.loads(stored.attributes["config"]), self.options.facts()
        if before["problem"] != now["problem"]:
            raise OutputError(
                f"{path} has another problem: --resume may only add betas. Use --overwrite to "
                "start again."
            )
        if lost := sorted({*before["betas"]} - {*now["betas"]}):
            raise OutputError(
                f"betas lacks {lost[0]:g}, which {path} holds: --resume may only add. Use "
                "--overwrite to start again."
            )

    def results(self, table: FloatArray) -> PhaseDiagram:
        problems = self.options.problems
        points = {
            beta: _point(problem.zonal.kernel.beta, bool(row[-1]), row[:-1], problem)
            for (beta, problem), row in zip(problems.items(), table[:, 0], strict=True)
            if not np.isnan(row[0])
        }
        known = tuple(points[beta] for beta in self.betas if beta in points)
        return diagram_of(list(problems.values()), known, self.tricritical)


def _point(
    beta: float, jumps: bool, numbers: Sequence[float], problem: Problem | None
) -> PhasePoint:
    """Point with the numbers of a file, where NaN means None."""
    critical, transition, saddle_node, order = (
        None if np.isnan(value) else float(value) for value in numbers
    )
    kind: Order = "discontinuous" if jumps else "continuous"
    return PhasePoint(beta, critical or 0.0, transition, saddle_node, kind, order, problem)


def _or_nan(value: float | None) -> float:
    return np.nan if value is None else value


def diagram_of(
    problems: Sequence[Problem], points: tuple[PhasePoint, ...], tricritical: float | None
) -> PhaseDiagram:
    """Phase diagram of points, with the facts of their problems."""
    # The linear kernel is the exponential one at beta = 0.
    kernel = next(
        (each.zonal.kernel for each in problems if each.zonal.kernel.name != "linear"), None
    )
    return PhaseDiagram(
        manifold=problems[0].manifold.name,
        kernel="linear" if kernel is None else kernel.name,
        normalized=problems[0].flow.normalized,
        tricritical_beta=tricritical,
        points=points,
        attributes={"strength": problems[0].flow.strength},
    )


def _largest(branch: Branch, kind: Kind) -> SpecialPoint | None:
    """Special point of a kind at the largest diffusivity."""
    points = [each for each in branch.special if each.kind == kind]
    return max(points, key=lambda each: each.value, default=None)


def tricritical_of(
    problem_at: Callable[[float], Problem], problems: Sequence[Problem]
) -> float | None:
    """Beta at which the order changes: in closed form, or between two of these problems."""
    from scipy.optimize import brentq

    attending = [each for each in problems if each.zonal.kernel.name == "exponential"]
    if not attending:
        return None
    flow = attending[0].flow
    if flow.strength > 0 and not flow.normalized:
        return tricritical_beta(attending[0].manifold)
    betas = sorted(each.beta for each in attending)
    for low, high in itertools.pairwise(betas):
        ends = [branch_direction(problem_at(beta)) for beta in (low, high)]
        if np.all(np.isfinite(ends)) and ends[0] * ends[1] < 0:
            return float(brentq(lambda beta: branch_direction(problem_at(beta)), low, high))
    return None
