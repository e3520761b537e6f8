"""Report of phase points and phase diagrams, for `phase` and `print`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from meanfield.problem import Problem
from meanfield.results.report import Report, facts, table
from meanfield.spectrum.time_units import papers_kappa
from meanfield.studies.bifurcation import BifurcationDiagram
from meanfield.studies.phase import PhaseDiagram, PhasePoint, diagram_of, tricritical_of

_ORDERS = {
    "continuous": "continuous: order grows from 0 below the critical diffusivity",
    "discontinuous": "discontinuous: uniform and order both stable from critical to saddle node",
}
_HEADING = "Where order sets in, diffusivities in scaled time"
_NO_TRANSITION = "unknown: no free energy is known for the normalised flow"


def phase_report(diagram: PhaseDiagram) -> Report:
    """One beta in full, or a range: a row, and an object, each."""
    data = {
        each.name: getattr(diagram, each.name)
        for each in fields(diagram)
        if each.name != "attributes"
    }
    points = [point.numbers() for point in data.pop("points")]
    problems = [point.problem for point in diagram.points if point.problem is not None]
    if len(problems) < len(points):
        return Report([repr(diagram)], data)
    if len(points) == 1:
        return Report(_point_blocks(problems[0], diagram), data | points[0], {}, _HEADING)
    data |= {"diagram": points}
    return Report(_range_blocks(problems, diagram), data, diagram.columns, _HEADING)


def point_report(point: PhasePoint) -> Report:
    """Report of one point."""
    problem = point.problem
    if problem is None:
        return Report([repr(point)], point.numbers())
    return phase_report(
        diagram_of([problem], (point,), tricritical_of(lambda beta: problem, [problem]))
    )


def bifurcation_report(diagram: BifurcationDiagram) -> Report:
    """Report of the onset of order, with the branch for programs."""
    columns = {
        "diffusivity": diagram.branch.values,
        "order_parameter": diagram.branch.order_parameter,
    }
    report = point_report(diagram.point)
    return replace(report, data={**report.data, **columns}, columns=columns)


def _point_blocks(problem: Problem, diagram: PhaseDiagram) -> list[str]:
    point = diagram.points[0]
    pairs: list[tuple[str, Any]] = [
        ("problem", f"{problem.manifold.name}, {problem.zonal.kernel!r}"),
        ("normalization", problem.normalization),
        ("order", _ORDERS[point.order]),
    ]
    if point.transition_diffusivity is None:
        pairs.append(("transition", _NO_TRANSITION))
    else:
        pairs.append(("order parameter at the transition", point.order_parameter_at_transition))
    pairs.append(("tricritical beta", _tricritical(diagram)))
    rows = [
        [name, value, _excess(value, point.critical_diffusivity), papers_kappa(problem, value)]
        for name, value in (
            ("critical", point.critical_diffusivity),
            ("transition", point.transition_diffusivity),
            ("saddle node", point.saddle_node_diffusivity),
        )
        if value is not None
    ]
    return [facts(pairs), table(["", "diffusivity", "above critical", "papers' kappa"], rows)]


def _excess(value: float, critical: float) -> str:
    """How far above the critical diffusivity, with digits where it is hardly so."""
    return f"{100 * (value - critical) / critical:.6g} %"


def _range_blocks(problems: Sequence[Problem], diagram: PhaseDiagram) -> list[str]:
    pairs: list[tuple[str, Any]] = [
        ("problem", f"{diagram.manifold}, {diagram.kernel} kernel"),
        ("normalization", problems[0].normalization),
    ]
    if any(point.transition_diffusivity is None for point in diagram.points):
        pairs.append(("transition", _NO_TRANSITION))
    pairs.append(("tricritical beta", _tricritical(diagram)))
    header = ["beta", "order", "critical", "transition", "saddle node", "order parameter", "kappa"]
    rows = [
        [
            point.beta,
            point.order,
            point.critical_diffusivity,
            point.transition_diffusivity,
            point.saddle_node_diffusivity,
            point.order_parameter_at_transition,
            papers_kappa(problem, point.transition_diffusivity or point.critical_diffusivity),
        ]
        for problem, point in zip(problems, diagram.points, strict=True)
    ]
    last = "transition" if rows[-1][3] is not None else "critical diffusivity"
    note = f"order parameter: at the transition. kappa: the papers' noise at the {last}."
    return [facts(pairs), table(header, rows), note]


def _tricritical(diagram: PhaseDiagram) -> Any:
    return "none" if diagram.tricritical_beta is None else diagram.tricritical_beta
