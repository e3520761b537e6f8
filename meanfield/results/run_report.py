"""Report of a run, its events and its truncation errors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from meanfield.carriers.characteristics import economical_degree
from meanfield.carriers.options import Options
from meanfield.events import Event
from meanfield.fields.engines import direct_sum_limit
from meanfield.papers.truncation import Truncation, truncation
from meanfield.problem import Problem
from meanfield.results.report import Report, facts, format_cell, table
from meanfield.runs import NO_RATES, Run, stored_section
from meanfield.spectrum.time_units import time_name

if TYPE_CHECKING:
    from meanfield.finite.results import Fluctuations

_MOST_SAVES = 12


def run_report(run: Run) -> Report:
    """Report with facts, observables at a few saved times, events and fluctuations at the end."""
    observables = run.separated_observables() if len(run.scaled_time) else run.observables
    single = {name: values for name, values in observables.items() if values.ndim == 1}
    columns = {time_name(run.unit): run.time, **dict(sorted(single.items()))}
    pairs = [*problem_rows(run.attributes), ("saved times", len(run.scaled_time))]
    if len(run.scaled_time):
        pairs.append(("representation", ", then ".join(dict.fromkeys(run.representation))))
        lost = _truncation(run)
        pairs += [("truncation", lost)] if lost else []
        if "label_error" in run.diagnostics:
            count, error = (run.diagnostics[name] for name in ("labels", "label_error"))
            pairs.append(("labels", f"{int(count[-1])}, moments to {max(error):.1g}"))
        counted = [name for name in ("steps", "rejected") if name in run.diagnostics]
        pairs += [(name, int(run.diagnostics[name][-1])) for name in counted]
    blocks = [facts(pairs)]
    if len(run.scaled_time):
        picked = np.unique(np.linspace(0, len(run.scaled_time) - 1, _MOST_SAVES).astype(int))
        rows = [[format_cell(values[i]) for values in columns.values()] for i in picked]
        names = [name.removesuffix("/count").replace("_time", " time") for name in columns]
        blocks.append(table(names, rows, below=_legend(columns)))
        blocks += _happened(run)
    if run.fluctuations is not None:
        blocks.append(fluctuations_text(run.fluctuations, run.unit_length))
    elif _wants_fluctuations(run):
        blocks.append(
            "fluctuations: asked for and not there yet: meanfield run --resume finds them"
        )
    data = {
        **run.attributes,
        "time": run.time,
        "scaled_time": run.scaled_time,
        "observables": observables,
        "fluctuations": _fluctuations_json(run.fluctuations, run.unit_length),
        **event_summary_json(run.events_in(run.unit)),
    }
    return Report(blocks, data, columns)


def _truncation(run: Run) -> str | None:
    """Truncation error of the degrees in use, if the run contains its problem."""
    if "config" not in run.attributes:
        return None
    try:
        problem = run.problem
        table = stored_section(run, "representation") or {}
        options = Options(tolerance=table.get("tolerance"), tokens=table.get("tokens"))
    except (ValueError, TypeError):
        return None
    carriers = dict.fromkeys(run.representation)
    return truncation_summary(problem, options, carriers, options.tokens)


def _wants_fluctuations(run: Run) -> bool:
    with suppress(ValueError):
        return stored_section(run, "fluctuations") is not None
    return False


def fluctuations_report(fluctuations: Fluctuations) -> Report:
    """Report of fluctuations without a run at the last time, with columns over all times."""
    data = _fluctuations_json(fluctuations, 1.0)
    return Report([fluctuations_text(fluctuations)], data, fluctuations.columns)


def fluctuations_text(fluctuations: Fluctuations, unit_length: float = 1.0) -> str:
    """Limit, variance and shift of each degree at the last resolved time."""
    data = _fluctuations_json(fluctuations, unit_length)
    until = data["resolved_until"]
    if np.isnan(until):
        return f"fluctuations: {fluctuations.note}"
    tokens = "" if fluctuations.tokens is None else f", sd with N = {fluctuations.tokens}"
    columns = [data["limit"], data["variance"], data["shift"]]
    names = ["degree", "limit", "N variance", "N shift"]
    if fluctuations.tokens is not None:
        columns.append(np.sqrt(np.array(data["variance"]) / fluctuations.tokens))
        names.append("sd")
    rows = [
        [degree, *(format_cell(values[degree - 1]) for values in columns)]
        for degree in range(1, fluctuations.degree + 1)
    ]
    head = f"fluctuations of N tokens at t = {until:.6g}: sizes of moments{tokens}"
    return table(names, rows, head, fluctuations.note)


def _fluctuations_json(fluctuations: Fluctuations | None, unit_length: float) -> Any:
    """Fluctuations for programs: lists from degree 1 on; None without fluctuations."""
    if fluctuations is None:
        return None
    last = max(int(fluctuations.resolved.sum()) - 1, 0)
    return {
        "degree": fluctuations.degree,
        "tokens": fluctuations.tokens,
        "resolved_until": fluctuations.resolved_until / unit_length,
        "note": fluctuations.note,
        "agreement": fluctuations.agreement,
        "limit": fluctuations.space.sizes_by_degree(fluctuations.limit[last])[1:],
        "variance": fluctuations.variance_by_degree[last, 1:],
        "shift": fluctuations.shift_by_degree[last, 1:],
    }


def _legend(columns: Mapping[str, Any]) -> str:
    peaks = "peaks: maxima of the attention potential; " if "peaks" in columns else ""
    return (
        'clusters: groups with gaps between them, "-" while nothing has separated'
        f"\n{peaks}see docs/theory.md, What counts as a cluster"
    )


def _happened(run: Run) -> list[str]:
    if not run.events:
        return []
    rows, others = event_summary(run.events_in(run.unit))
    cells = [
        (time_name(run.unit).replace("_", " "), "what happened"),
        *((f"{time:.6g}", text) for time, text in rows),
    ]
    width = max(len(time) for time, _ in cells)
    lines = [f"{time.rjust(width)}  {text}" for time, text in cells]
    return ["\n".join([*lines, others] if others else lines)]


def problem_rows(attributes: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Rows on the problem, the status and the origin of a run."""
    # Older files have no normalisation but softmax.
    older = "softmax" if attributes.get("normalized") else "none"
    facts = {"normalization": older, **attributes}
    if attributes.get("heads") and attributes.get("kernel") != "none":
        facts["heads"] = f"{attributes['heads']}; beta is the largest beta |B|_2 of them"
    else:
        facts.pop("heads", None)
    if attributes.get("functions"):
        facts["functions"] = f"{attributes['functions']}; values above are those of time 0"
    names = (
        "title status manifold kernel heads beta normalization mask strength terms functions "
        "layers frequencies stages symmetry"
    )
    pairs = [(name, facts[name]) for name in names.split() if facts.get(name, "") != ""]
    if np.isnan(float(attributes.get("growth_rate_max", 0.0))):
        pairs.append(("uniform", NO_RATES))
    if attributes.get("diffusivity"):
        pairs.append(("diffusivity", attributes["diffusivity"]))
    origin = f"{attributes.get('created')} by meanfield {attributes.get('meanfield_version')}"
    pairs.append(("initial", attributes.get("initial")))
    has_origin = "created" in attributes or "meanfield_version" in attributes
    return [*pairs, ("created", origin)] if has_origin else pairs


MOST_LINES = 20


def event_summary(events: Sequence[Event]) -> tuple[list[tuple[float, str]], str]:
    """Times and texts of the most important events, at most 20, in order; and a line on the others.

    Hand-overs, notes and new clusters come before merges, and heavy merges (by the lighter cluster)
    before light ones. New clusters at one time are one line.
    """
    shortened = _with_beginnings(events)
    weightiest = sorted(range(len(shortened)), key=lambda i: -_weight(shortened[i]))[:MOST_LINES]
    rows = [(shortened[i].time, shortened[i].text) for i in sorted(weightiest)]
    left = len(shortened) - len(rows)
    return rows, f"... and {left} more" if left else ""


def event_lines(events: Sequence[Event], unit: float = 1.0) -> list[str]:
    """Lines of progress on events, without new clusters; `unit`: scaled time of one unit."""
    rows, others = event_summary([event for event in events if event.kind != "cluster"])
    return [f"t = {time / unit:.6g}: {text}" for time, text in rows] + ([others] if others else [])


def event_summary_json(events: Sequence[Event]) -> dict[str, Any]:
    """Events for programs; new clusters are arrays of their properties."""
    atoms = [event for event in events if event.kind == "cluster"]
    return {
        "events": [
            {
                "time": event.time,
                "kind": event.kind,
                "text": event.text,
                "clusters": [number for number in event.clusters if number >= 0],
                "mass": [mass for mass in event.mass if math.isfinite(mass)],
            }
            for event in events
            if event.kind != "cluster"
        ],
        "clusters": {
            "count": len(atoms),
            "numbers": [event.clusters[0] for event in atoms],
            "masses": [event.mass[0] for event in atoms],
            "times": [event.time for event in atoms],
        },
    }


def _with_beginnings(events: Sequence[Event]) -> list[Event]:
    """Events in which one event replaces all new clusters of the same time."""
    starts: dict[float, list[float]] = {}
    for event in events:
        if event.kind == "cluster":
            starts.setdefault(event.time, []).append(event.mass[0])
    shortened = []
    for event in events:
        if event.kind != "cluster":
            shortened.append(event)
        elif event.time in starts:
            shortened.append(Event(event.time, "cluster", _beginning(starts.pop(event.time))))
    return shortened


def _beginning(masses: list[float]) -> str:
    least, most = f"{min(masses):.4g}", f"{max(masses):.4g}"
    if len(masses) == 1:
        return f"an atom of mass {most} begins"
    size = f"mass {most} each" if least == most else f"masses from {least} to {most}"
    return f"{len(masses)} atoms begin, {size}"


def _weight(event: Event) -> float:
    """Infinite for all events but merges, which have the mass of the lighter cluster."""
    return min(event.mass) if event.kind == "merge" else math.inf


# Error relative to the largest speed that is reported for softmax, if its Z may be too small.
_SMALL_SHARE = 1e-6


def truncation_summary(
    problem: Problem, options: Options, carriers: Iterable[str], tokens: int | None = None
) -> str | None:
    """Bounds of the truncation error of velocities for the carriers of a run; None if unknown.

    tokens: number of tokens of equal mass, or None.
    """
    degrees: dict[int, str] = {}
    space = problem.manifold
    vectors = not problem.manifold.has_series
    for carrier in carriers:
        degree = problem.kernel_degree if not vectors else 0
        if carrier in ("particles", "atoms"):
            # Atoms are few, and other dimensions have no series: sums over pairs.
            if (
                vectors
                or carrier == "atoms"
                or (tokens or np.inf) < direct_sum_limit(space, degree)
            ):
                continue
        elif carrier == "characteristics":
            degree = economical_degree(problem, options.enough(problem))
        degrees.setdefault(degree, carrier)
    if not degrees:
        return "sums over pairs, nothing is cut off"
    try:
        lost = {degree: _lost(truncation(problem, degree), problem, tokens) for degree in degrees}
    except (ValueError, ZeroDivisionError):
        # No bound is known, or attention moves nothing.
        return None
    parts: list[str] = []
    for degree, carrier in degrees.items():
        share, *where = lost[degree]
        text = f"velocities within {share} of the largest" if not parts else share
        name = f"{carrier} " if parts else ""
        parts.append(" ".join([f"{name}degree {degree}: {text}", *where]))
    return "; ".join(parts)


def _lost(truncation_errors: Truncation, problem: Problem, tokens: int | None) -> tuple[str, ...]:
    """Error relative to the largest speed; for softmax also the Z above which it holds."""
    if not truncation_errors.normalized:
        return (f"{truncation_errors.velocity_error / truncation_errors.largest_speed:.2g}",)
    # Tokens attend to themselves, so Z >= 1/N.
    own = tokens if problem.attention is None and problem.beta > 0 else None
    error = (
        float(truncation_errors.softmax_error(None if own is None else 1.0 / own))
        / truncation_errors.largest_speed
    )
    if error <= _SMALL_SHARE:
        return (f"{error:.2g}",)
    lost = sum(
        head.output_error + head.size * head.kernel_error for head in truncation_errors.heads
    )
    least = truncation_errors.kernel_error + lost / (_SMALL_SHARE * truncation_errors.largest_speed)
    return f"{_SMALL_SHARE:.2g}", f"where Z > {least:.2g}"
