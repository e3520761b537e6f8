"""HTML tables of objects in notebooks: values with their units.

A table is a heading and pairs of name and value; everything is escaped. A value may be a
`Sparkline`. No colour is set: a page, light or dark, has its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.events import successor
from meanfield.observables import OBSERVABLES
from meanfield.problem import TERMS, Problem
from meanfield.results.sparklines import Sparkline, bars, curve
from meanfield.results.words import attention_words
from meanfield.runs import (
    NO_RATES,
    Run,
    problem_attributes,
)
from meanfield.spectrum.stability import dominant_degree, growth_rate_max, growth_rates
from meanfield.spectrum.time_units import paper_time_factor
from meanfield.status import COMPLETED
from meanfield.studies.convergence_results import ConvergenceStudy
from meanfield.studies.ensemble_results import Ensemble
from meanfield.studies.prediction import ClusterPrediction
from meanfield.studies.sweep_results import Sweep, summary

if TYPE_CHECKING:
    from meanfield.models.replay import Replay
    from meanfield.papers.merging_results import MergingDiagram
    from meanfield.stationary.states import StationaryState
    from meanfield.studies.phase import PhaseDiagram, PhasePoint

Pairs = Iterable[tuple[str, Any]]

_LEFT = ' style="text-align: left"'
# Changes of the number of clusters that one line can name, and counts of a law.
_MOST_CHANGES, _LEAST_SHARE, _MOST_BETAS = 8, 0.005, 10
# Heads that are shown, and how much of each: models have hundreds, of thousands of numbers.
_MOST_HEADS, _LONGEST = 8, 160
_MOST_ROWS = 40
# Rates that are drawn: bars of a few pixels.
_MOST_RATES = 24
_FLOWS = {
    "none": "USA, velocity not divided by Z",
    "softmax": "SA, velocity divided by Z",
    "sinkhorn": "Sinkhorn, weights doubly stochastic",
}


def html_table(heading: str, pairs: Pairs) -> str:
    """Table of names and values under a heading.

    Examples
    --------
    >>> print(html_table("Run", [("t < 1", 0.5)]))
    <table><thead><tr><th colspan="2" style="text-align: left">Run</th></tr></thead><tbody>
    <tr><th style="text-align: left">t &lt; 1</th><td style="text-align: left">0.5</td></tr>
    </tbody></table>
    """
    rows = "\n".join(
        f"<tr><th{_LEFT}>{escape(name)}</th><td{_LEFT}>{_told(value)}</td></tr>"
        for name, value in pairs
    )
    head = f'<thead><tr><th colspan="2"{_LEFT}>{escape(heading)}</th></tr></thead>'
    return f"<table>{head}<tbody>\n{rows}\n</tbody></table>"


def rows_html(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Table of rows of values."""
    head = "".join(f"<th{_LEFT}>{escape(name)}</th>" for name in columns)
    body = "\n".join(
        "<tr>" + "".join(f"<td{_LEFT}>{_told(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>"


def _told(value: Any) -> str:
    """A cell, escaped."""
    if value is None:
        return "-"
    if isinstance(value, Sparkline):
        return value.html
    return escape(f"{value:.6g}" if isinstance(value, float | np.floating) else str(value))


def problem_html(problem: Problem) -> str:
    """Table of a problem: what it is, and what linear theory says of uniform."""
    return html_table("Problem", [*_problem(problem), *_linear(problem)])


def _problem(problem: Problem) -> Pairs:
    """Rows of a problem."""
    flow, of = problem.flow, problem.attention
    yield "manifold", problem.manifold.name
    if of is None:
        yield "kernel", repr(problem.kernel)
    else:
        for number, head in enumerate(of.heads[:_MOST_HEADS], 1):
            yield f"head {number}", shorten(repr(head), _LONGEST, placeholder=" ...")
        if len(of.heads) > _MOST_HEADS:
            yield "heads", f"{len(of.heads)} in all"
        yield "beta", f"{problem.beta:g}, the largest beta |B|_2 of the heads"
    yield "flow", _FLOWS[problem.normalization]
    if problem.mask != "none":
        yield "mask", problem.mask
    for name in (*TERMS, "layers", "frequencies"):
        if getattr(problem, name) is not None:
            text = repr(getattr(problem, name))
            yield name.replace("_", " "), shorten(text, _LONGEST, placeholder=" ...")
    if flow.strength != 1.0:
        yield "strength", flow.strength
    yield "diffusivity", f"{flow.diffusivity:g} (scaled time)" if flow.diffusivity else "0"
    for number, stage in enumerate(problem.stages, 1):
        yield f"stage {number}", shorten(repr(stage), _LONGEST, placeholder=" ...")
    law = problem.initial
    yield "initial law", law.name if type(law).__repr__ is object.__repr__ else repr(law)


def _linear(problem: Problem) -> Pairs:
    """Growth about uniform, and how times are converted."""
    degree = dominant_degree(problem) if problem.is_isotropic else None
    if not problem.is_isotropic:
        yield "uniform", NO_RATES
    elif degree is None:
        yield "uniform", "stable: no degree grows"
    else:
        rate = growth_rate_max(problem)
        words = f"{degree}, grows at the rate {rate:.4g} per scaled time"
        rates = growth_rates(problem, max_degree=min(2 * degree, _MOST_RATES))
        yield "fastest degree", bars(rates[1:], words) if degree < _MOST_RATES else words
    yield "paper time", _paper(paper_time_factor(problem))


def _paper(factor: float) -> str:
    """How the papers' time follows from scaled time."""
    if factor == 1.0:
        return "the same as scaled time"
    return f"scaled time * {factor:.4g}" if factor else "scaled time * e^-beta, which underflows"


def run_html(run: Run) -> str:
    """Table of a run: what was solved, when, what became of it, how well it was resolved."""
    facts, times, name = run.attributes, run.time, f"{run.unit} time"
    pairs: list[tuple[str, Any]] = []
    if facts.get("title"):
        pairs.append(("title", facts["title"]))
    pairs.append(("problem", _facts(facts)))
    if not len(times):
        return html_table("Run", [*pairs, ("ended", run.status)])
    pairs += [
        ("initial law", facts.get("initial")),
        ("times", f"{len(times)} from {times[0]:g} to {times[-1]:g} ({name})"),
        ("representation", _representations(run)),
    ]
    if "clusters/count" in run.observables:
        pairs.append(("clusters", _changes(run)))
    for key, words in (("energy", "energy E / E[Dirac]"), ("order_parameter", "order parameter")):
        if key in run.observables:
            pairs.append((words, _ends(run.observables[key])))
    for key, values in run.observables.items():
        if key not in OBSERVABLES and not key.startswith("clusters/"):
            pairs.append((key, _ends(values)))
    ended = run.status
    if ended != COMPLETED:
        ended = f"{ended} (last saved time {times[-1]:g}, {name})"
    pairs.append(("ended", ended))
    pairs += _largest(run)
    return html_table("Run", pairs)


def _ends(values: FloatArray) -> Sparkline | str:
    """An observable by saved time, with its first and last value; how many there are, of arrays."""
    if values.ndim > 1:
        return f"arrays of {values.shape[1]}"
    return curve(values, f"{values[0]:.4g} at first, {values[-1]:.4g} at last")


def _facts(facts: dict[str, Any]) -> str:
    """Manifold, kernel and flow in one line."""
    kernel_words, flow = attention_words(facts)
    parts = [str(facts.get("manifold", "")), kernel_words]
    if facts.get("kernel") != "linear" and "beta" in facts:
        parts.append(f"beta = {float(facts['beta']):g}")
    parts.append(flow)
    for key, usual in (("strength", 1.0), ("diffusivity", 0.0)):
        if float(facts.get(key, usual)) != usual:
            parts.append(f"{key} {float(facts[key]):g}")
    if facts.get("mask"):
        parts.append(f"{facts['mask']} mask")
    parts += [
        str(facts[key]) for key in ("terms", "layers", "frequencies", "stages") if facts.get(key)
    ]
    return ", ".join(parts)


def _representations(run: Run) -> str:
    """Representations of a run in order, with the times of hand-overs."""
    overs = [e for e in run.events_in(run.unit) if e.kind == "hand-over"]
    if not overs:
        return ", then ".join(key for key, _ in groupby(run.representation))
    first = overs[0].text.partition(" -> ")[0]
    later = [f"{successor(event)} from t = {event.time:.4g}" for event in overs]
    return f"{', '.join([first, *later])} ({run.unit} time)"


def _changes(run: Run) -> str:
    """Numbers of clusters over time: each with the time from which it was seen."""
    counts, times = run.cluster_counts(), run.time
    if np.all(np.isnan(counts)):
        return "none"
    begins = [i for i in range(len(counts)) if i == 0 or _differ(counts[i - 1], counts[i])]
    text = begins
    if len(begins) > _MOST_CHANGES:
        half = _MOST_CHANGES // 2
        text = begins[:half] + begins[-half:]
    words = [f"{_count(counts[i])} from t = {times[i]:.4g}" for i in text]
    if np.isnan(counts[0]):
        words[0] = "none at first"
    if len(begins) > _MOST_CHANGES:
        words.insert(_MOST_CHANGES // 2, "...")
    return f"{', '.join(words)} ({run.unit} time)"


def _differ(one: float, other: float) -> bool:
    return one != other and not (np.isnan(one) and np.isnan(other))


def _count(value: float) -> str:
    return "none" if np.isnan(value) else f"{value:g}"


def _largest(run: Run) -> Pairs:
    """Largest values of the diagnostics that say how good a run is."""
    names = {"tail": "largest spectral tail", "error": "largest error of cells", "steps": "steps"}
    for key, words in names.items():
        values = run.diagnostics.get(key)
        if values is not None and np.isfinite(values).any():
            largest = float(np.nanmax(values))
            yield words, f"{largest:.0f}" if key == "steps" else f"{largest:.2g}"


def prediction_html(prediction: ClusterPrediction) -> str:
    """Table of a prediction: the answer, its laws, and linear theory."""
    pairs: list[tuple[str, Any]] = [
        ("problem", _facts(problem_attributes(prediction.problem))),
        ("tokens", prediction.format_tokens),
    ]
    if prediction.positions is None and prediction.message:
        return html_table("Cluster prediction", [*pairs, ("clusters", prediction.message)])
    pairs.append(("answer", prediction.answer))
    laws = [("corrected law", prediction.corrected), ("linear law", prediction.linear)]
    for name, law in laws:
        if law is not None:
            shares = ", ".join(
                f"{count}: {100 * share:.1f} %"
                for count, share in law.distribution.items()
                if share >= _LEAST_SHARE
            )
            error = f" +- {law.standard_error:.2g}" if law.standard_error > 0 else ""
            text = f"{shares}; mean {law.mean:.4g}{error}"
            pairs.append((name, bars(list(law.distribution.values()), text)))
    if prediction.note:
        pairs.append(("note", prediction.note))
    pairs += [
        ("end of the linear phase", f"t = {prediction.onset_time:.4g} (scaled time)"),
        ("fastest degree", prediction.dominant_degree),
    ]
    return html_table("Cluster prediction", pairs)


def phase_point_html(point: PhasePoint) -> str:
    """Table of the onset of order at one beta."""
    pairs = [
        ("beta", point.beta),
        ("order sets in", _order(point)),
        ("critical diffusivity", point.critical_diffusivity),
        ("transition diffusivity", point.transition_diffusivity),
        ("saddle-node diffusivity", point.saddle_node_diffusivity),
        ("order parameter at the transition", point.order_parameter_at_transition),
    ]
    return html_table("Phase point, diffusivities in scaled time", pairs)


def _order(point: PhasePoint) -> str:
    return "continuously" if point.order == "continuous" else "with a jump"


def phase_diagram_html(diagram: PhaseDiagram) -> str:
    """Facts of a phase diagram, and a row a beta."""
    flow = "SA" if diagram.normalized else "USA"
    head = html_table(
        "Phase diagram, diffusivities in scaled time",
        [
            ("problem", f"{diagram.manifold}, {diagram.kernel} kernel, {flow}"),
            ("tricritical beta", diagram.tricritical_beta),
        ],
    )
    columns = ("beta", "order sets in", "critical", "transition", "saddle node")
    rows = [
        (
            point.beta,
            _order(point),
            point.critical_diffusivity,
            point.transition_diffusivity,
            point.saddle_node_diffusivity,
        )
        for point in diagram.points
    ]
    return head + rows_html(columns, rows)


def comparison_html(study: ConvergenceStudy) -> str:
    """Facts of a comparison, and a row a size at the headline time."""
    low, high = study.exponent_interval
    pairs: list[tuple[str, Any]] = [
        ("problem", _facts(study.attributes)),
        ("at", f"t = {study.exponent_time:.4g} (scaled time)"),
        ("runs", study.distances.shape[1]),
    ]
    if np.isfinite(study.exponent):
        law = f"{study.metric} ~ n^({study.exponent:.3f}), 95 % {low:.3f} to {high:.3f}"
        pairs.append(("law", law))
    if study.attributes.get("status", COMPLETED) != COMPLETED:
        pairs.append(("ended", study.attributes["status"]))
    if study.note:
        pairs.append(("note", study.note))
    if np.isfinite(study.certified_exponents).any():
        until = study.certified_until[-1]
        validity = f"below pi until t = {until:.4g}" if np.isfinite(until) else "beyond pi"
        pairs.append(("certified distance", f"{validity} for n = {study.tokens[-1]}"))
    at = study.headline
    rows = zip(
        study.tokens, study.mean_distance[:, at], study.standard_error[:, at], study.onset_times,
        strict=True,
    )  # fmt: skip
    unit = "" if study.metric == "mmd" else " (rad)"
    columns = ("n", f"mean {study.metric}{unit}", "standard error", "onset time (scaled)")
    return html_table("Comparison with the density", pairs) + rows_html(columns, rows)


def ensemble_html(ensemble: Ensemble) -> str:
    """Facts of an ensemble, and a row a size and time."""
    pairs: list[tuple[str, Any]] = [
        ("problem", _facts(ensemble.attributes)),
        ("representation", ensemble.attributes.get("representation")),
    ]
    if ensemble.attributes.get("status", COMPLETED) != COMPLETED:
        pairs.append(("ended", ensemble.attributes["status"]))
    rows = []
    for i, tokens in enumerate(ensemble.tokens):
        for j, time in enumerate(ensemble.times):
            shares = ensemble.distribution(i, j).items()
            law = ", ".join(f"{n}: {100 * p:.1f} %" for n, p in shares if p >= _LEAST_SHARE)
            mean = f"{ensemble.mean_count[i, j]:.4g} +- {ensemble.standard_error[i, j]:.2g}"
            onset = f"{ensemble.onset_times[i]:.4g}"
            rows.append((tokens, ensemble.finished[i], onset, f"{time:g}", mean, law))
    columns = (
        "tokens", "runs", "onset time (scaled)", "at, in onset times", "mean clusters",
        "share of runs",
    )  # fmt: skip
    return html_table("Ensemble", pairs) + rows_html(columns, rows)


def merging_html(diagram: MergingDiagram) -> str:
    """Facts of a merging diagram, and a row for some of its betas."""
    attributes = diagram.attributes
    pairs: list[tuple[str, Any]] = [
        ("tokens", f"{diagram.tokens} in R^{diagram.dimension}"),
        ("normalization", attributes.get("normalization")),
        ("matrices", attributes.get("matrices")),
        ("motion", attributes.get("motion")),
    ]
    if attributes.get("status", COMPLETED) != COMPLETED:
        pairs.append(("ended", attributes["status"]))
    rows = [
        (
            f"{diagram.betas[i]:g}",
            diagram.finished[i],
            f"{diagram.fraction[i, -1]:.4g} +- {diagram.standard_error[i, -1]:.2g}",
        )
        for i in np.unique(np.linspace(0, len(diagram.betas) - 1, _MOST_BETAS).astype(int))
    ]
    columns = ("beta", "runs", f"share of merged pairs at t = {diagram.times[-1]:g}")
    return html_table("Merging diagram", pairs) + rows_html(columns, rows)


def replay_html(replay: Replay) -> str:
    """Facts of a replay, and a row for each depth."""
    pairs = [
        ("model", replay.model),
        ("texts", len(replay.texts)),
        ("tokens", len(replay.tokens)),
        ("beta, median of heads", f"{replay.beta:.4g}"),
    ]
    cosine, rank = (
        replay.observed[name].mean(axis=0) for name in ("mean_cosine", "effective_rank")
    )
    r2 = np.median(replay.heads.r2_fit, axis=(0, 2))
    rows = [
        (k, f"{cosine[k]:.4f}", f"{rank[k]:.1f}", f"{r2[k - 1]:.3f}" if k else "-")
        for k in range(replay.depth + 1)
    ]
    columns = ("layer", "mean cosine", "effective rank", "R^2 of beta times cosine, median")
    return html_table("Replay", pairs) + rows_html(columns, rows)


def state_html(state: StationaryState) -> str:
    """Table of a stationary state."""
    pairs = [
        ("problem", _facts(problem_attributes(state.problem))),
        ("symmetry", state.symmetry.name),
        ("order parameter", state.order_parameter),
        ("free energy above uniform", state.free_energy),
        ("residual", f"{state.residual:.2g}"),
    ]
    return html_table("Stationary state, diffusivity in scaled time", pairs)


def sweep_html(sweep: Sweep) -> str:
    """Facts of a sweep, and a row a run, of many the first and last."""
    columns = summary(sweep)
    rows = [
        (member.file, *map(_cell, row))
        for member, *row in zip(sweep.members, *columns.values(), strict=True)
    ]
    if len(rows) > _MOST_ROWS:
        half = _MOST_ROWS // 2
        rows = [*rows[:half], ("...", *("" for _ in columns)), *rows[-half:]]
    head = html_table("Sweep", [("folder", sweep.folder), ("runs", sweep.summary)])
    return head + rows_html(("run", *(name.replace("_", " ") for name in columns)), rows)


def _cell(value: Any) -> Any:
    return None if isinstance(value, float) and np.isnan(value) else value
