"""Reports of predictions, phase points and phase diagrams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from meanfield.problem import Problem
from meanfield.problem_facts import problem_attributes
from meanfield.results.report import Report, facts, flow_facts, table
from meanfield.spectrum.time_units import paper_time_factor, papers_kappa
from meanfield.studies.bifurcation import BifurcationDiagram
from meanfield.studies.ensemble_results import CountLaw
from meanfield.studies.phase import PhaseDiagram, PhasePoint, diagram_of, tricritical_of
from meanfield.studies.prediction import ClusterPrediction, TokenPrediction

_ORDERS = {
    "continuous": "continuous: order grows from 0 below the critical diffusivity",
    "discontinuous": "discontinuous: uniform and order both stable from critical to saddle node",
}
_HEADING = "Where order sets in, diffusivities in scaled time"
_NO_TRANSITION = "unknown: no free energy is known for the normalised flow"


def phase_report(diagram: PhaseDiagram) -> Report:
    """Report of one beta in full, or of a range with a row and an object for each beta."""
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
    """Report of one phase point."""
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
    """Relative distance from the critical diffusivity, with six digits."""
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


_MOST_ROWS = 30
_LEGEND = "+-: one standard error of the samples."
_LEGEND_CORRECTED = (
    f"{_LEGEND} The answer is the corrected law.\n"
    "The dominant degree is of linear theory and need not be the number of clusters: other degrees "
    "grow, too, and wells merge."
)
_BAR = 20
_CORRECTED = ("mean", "distribution", "most_likely", "standard_error", "samples")
# Counts with a smaller probability get no row.
_LEAST_PROBABILITY = 5e-4


def prediction_report(prediction: ClusterPrediction) -> Report:
    """Report with both laws, linear theory, and the positions at which given tokens gather."""
    problem = prediction.problem
    pairs: list[tuple[str, Any]] = [
        ("problem", f"{problem.manifold.name}, {problem.zonal.kernel!r}"),
        *flow_facts(problem.flow),
        ("tokens", prediction.format_tokens),
    ]
    where = prediction.positions
    # First the answer for given tokens, then for random ones.
    blocks = [] if where is None else [prediction.answers[0], _positions(where)]
    if prediction.message:
        blocks.append(facts([*pairs, ("clusters", prediction.message)]))
    else:
        blocks.append(prediction.answers[-1])
        blocks.append(facts([*pairs, *_linear_theory(prediction), *_means(prediction)]))
        blocks.append(_distribution(prediction.linear, prediction.corrected))
        blocks.append(_LEGEND_CORRECTED if prediction.corrected is not None else _LEGEND)
    if prediction.note:
        blocks.append(f"note: {prediction.note}.")
    corrected = prediction.corrected
    data = problem_attributes(prediction.problem)
    # The initial law has no part in a prediction.
    del data["initial"]
    data |= {
        "tokens": prediction.tokens,
        "dominant_degree": prediction.dominant_degree,
        "second_degree": prediction.second_degree,
        "rate_ratio": prediction.rate_ratio,
        "tokens_for_dominance": prediction.tokens_for_dominance,
        "onset_time": prediction.onset_time,
        "formation_time": prediction.formation_time,
        "counting_time": prediction.counting_time,
        "answer": prediction.answer,
        "mean_clusters": prediction.mean_clusters_linear,
        "distribution": prediction.linear.distribution,
        "most_likely": prediction.linear.most_likely if prediction.linear_law_holds else None,
        "monte_carlo_mean": prediction.linear.mean,
        "standard_error": prediction.linear.standard_error,
        "corrected": None if corrected is None else {n: getattr(corrected, n) for n in _CORRECTED},
        "merge_times": prediction.merge_times,
        "note": prediction.note,
        "samples": prediction.linear.samples,
        "seed": prediction.seed,
    }
    if prediction.message:
        data["message"] = prediction.message
    if where is not None:
        data |= {
            "positions": where.positions,
            "masses": where.masses,
            "dominant_positions": where.dominant_positions,
        }
    return Report(blocks, data)


def _linear_theory(prediction: ClusterPrediction) -> list[tuple[str, Any]]:
    time, factor = prediction.onset_time, paper_time_factor(prediction.problem)
    pairs: list[tuple[str, Any]] = [("dominant degree", prediction.dominant_degree)]
    if prediction.second_degree is not None:
        degree, second = prediction.dominant_degree, prediction.second_degree
        ratio = f"{second}, grows at {prediction.rate_ratio:.6g} of the rate"
        pairs.append(("second degree", ratio))
        needed = prediction.tokens_for_dominance
        text = f"{needed:.3g} tokens" if np.isfinite(needed) else "more than 1e308 tokens"
        pairs.append(("dominance", f"degree {degree} is ten times degree {second} from {text} on"))
    for name, value in (("onset time", time), ("formed by", prediction.formation_time)):
        text = f"{value:.6g} scaled time"
        if factor not in (0.0, 1.0):
            text += f", {value * factor:.6g} paper time"
        pairs.append((name, text))
    return pairs


def _means(prediction: ClusterPrediction) -> list[tuple[str, Any]]:
    law, corrected = prediction.linear, prediction.corrected
    pairs: list[tuple[str, Any]] = []
    if corrected is not None:
        pairs.append(("corrected law", f"mean {_mean(corrected)}, {corrected.samples} short runs"))
    closed = f"mean {prediction.mean_clusters_linear:.4f} at the onset time, closed form"
    counted = f"mean {_mean(law)}, {law.samples} samples, seed {prediction.seed}"
    return [*pairs, ("linear law", closed), ("the same, sampled", counted)]


def _mean(law: CountLaw) -> str:
    if not np.isfinite(law.standard_error):
        return f"{law.mean:.4f}"
    return f"{law.mean:.4f} +- {law.standard_error:.2g}"


def _distribution(linear: CountLaw, corrected: CountLaw | None) -> str:
    """Table of probabilities with bars, the corrected law first, without rare numbers."""
    named = {"corrected law": corrected, "linear law": linear}
    laws = {name: law for name, law in named.items() if law is not None}
    numbers = {k for law in laws.values() for k in law.distribution}
    most = {k: max(law.distribution.get(k, 0.0) for law in laws.values()) for k in numbers}
    chosen = sorted(sorted(most, key=most.__getitem__, reverse=True)[:_MOST_ROWS])
    chosen = [k for k in chosen if most[k] >= _LEAST_PROBABILITY]
    header, rows = ["clusters"], [[str(k)] for k in chosen]
    largest = max(most.values())
    for name, law in laws.items():
        header += [name, "".ljust(_BAR)]
        for k, row in zip(chosen, rows, strict=True):
            share = law.distribution.get(k, 0.0)
            row += [f"{share:.4f}", ("#" * round(_BAR * share / largest)).ljust(_BAR)]
    text = table(header, rows)
    left = len(most) - len(chosen)
    return text + (f"\n... {left} rarer numbers: --json has them all." if left else "")


def _positions(where: TokenPrediction) -> str:
    """Table of the positions and masses of clusters that will form, heaviest first."""
    order = np.argsort(-where.masses, kind="stable")
    on_circle = where.positions.ndim == 1
    rows = []
    for i in order[:_MOST_ROWS]:
        place = np.atleast_1d(where.positions[i])
        rows.append([f"{where.masses[i]:.4f}", *[f"{value:.6f}" for value in place]])
    text = table(["mass", *(["angle"] if on_circle else ["x", "y", "z"])], rows)
    if len(order) > _MOST_ROWS:
        text += f"\n... {len(order) - _MOST_ROWS} lighter ones: --json has them all."
    if len(where.dominant_positions):
        angles = ", ".join(f"{angle:.4f}" for angle in where.dominant_positions[:_MOST_ROWS])
        more = ", ..." if len(where.dominant_positions) > _MOST_ROWS else ""
        text += f"\nthe dominant degree alone: {angles}{more}"
    return text
