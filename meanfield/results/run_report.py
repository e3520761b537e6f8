"""Report of a run, for `info` and `print`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from meanfield.carriers.options import Options
from meanfield.results.event_summary import event_summary, event_summary_json
from meanfield.results.report import Report, facts, table
from meanfield.runs import NO_RATES, Run, stored_section
from meanfield.spectrum.time_units import time_name

if TYPE_CHECKING:
    from meanfield.finite.results import Fluctuations

_MOST_SAVES = 12


def run_report(run: Run) -> Report:
    """Facts, observables at a few saved times, events, fluctuations at the end."""
    observables = run.separated_observables() if len(run.scaled_time) else run.observables
    single = {name: values for name, values in observables.items() if values.ndim == 1}
    columns = {time_name(run.unit): run.time, **dict(sorted(single.items()))}
    pairs = [*problem_facts(run.attributes), ("saved times", len(run.scaled_time))]
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
        rows = [[_format_cell(values[i]) for values in columns.values()] for i in picked]
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
    """Truncation error of the degrees in use, if the file contains the problem."""
    from meanfield.results.truncation import truncation_summary

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
    """Report of fluctuations without a run: at the last time; columns of all times."""
    data = _fluctuations_json(fluctuations, 1.0)
    return Report([fluctuations_text(fluctuations)], data, fluctuations.columns)


def fluctuations_text(fluctuations: Fluctuations, unit_length: float = 1.0) -> str:
    """Limit, variance and shift of each degree at the last time that is resolved."""
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
        [degree, *(_format_cell(values[degree - 1]) for values in columns)]
        for degree in range(1, fluctuations.degree + 1)
    ]
    head = f"fluctuations of N tokens at t = {until:.6g}: sizes of moments{tokens}"
    return table(names, rows, head, fluctuations.note)


def _fluctuations_json(fluctuations: Fluctuations | None, unit_length: float) -> Any:
    """The same for programs: lists from degree 1 on; null where the file has none."""
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


def _format_cell(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.6g}"


def _legend(columns: Mapping[str, Any]) -> str:
    """Legend of the counts in the table."""
    peaks = "peaks: maxima of the attention potential; " if "peaks" in columns else ""
    return (
        'clusters: groups with gaps between them, "-" while nothing has separated'
        f"\n{peaks}see docs/theory.md, What counts as a cluster"
    )


def _happened(run: Run) -> list[str]:
    """Table of what happened on the way, if anything did."""
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


def problem_facts(attributes: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Facts of the problem, its status and its origin."""
    facts = {"normalization": _older_normalization(attributes), **attributes}
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


def _older_normalization(attributes: Mapping[str, Any]) -> str:
    """Normalisation as files say it that know no other than softmax."""
    return "softmax" if attributes.get("normalized") else "none"
