"""`meanfield stability`: growth rates of the uniform state, dominant degree, thresholds."""

from __future__ import annotations

import argparse
from typing import Any

from meanfield.commands.problem_options import problem_of
from meanfield.commands.report import Report, facts, table
from meanfield.problem import Problem
from meanfield.theory.stability import (
    critical_diffusivity,
    dominant_degree,
    growth_rate_max,
    growth_rates,
    onset_time,
    switching_thresholds,
)
from meanfield.theory.time_units import paper_time_factor

_MOST_DEGREES = 1_000_000
_SHOWN = 40
_SHOWN_THRESHOLDS = 12


def execute(options: argparse.Namespace) -> int:
    """Print the analysis."""
    if options.max_degree is not None and options.max_degree > _MOST_DEGREES:
        raise ValueError(f"--max-degree must be at most {_MOST_DEGREES}.")
    problem = problem_of(options)
    data = analysis(problem, options.max_degree, options.tokens)
    if options.plot:
        from meanfield.outputs.plots.dispersion import save_dispersion

        save_dispersion(problem, options.plot, options.max_degree)
    Report(_blocks(problem, data), data).show(options)
    return 0


def analysis(
    problem: Problem, max_degree: int | None = None, tokens: int | None = None
) -> dict[str, Any]:
    """Everything that `meanfield stability --json` prints."""
    data: dict[str, Any] = {
        "manifold": problem.manifold.name,
        "kernel": problem.zonal.kernel.name,
        "beta": problem.zonal.kernel.beta,
        "normalized": problem.flow.normalized,
        "strength": problem.flow.strength,
        "diffusivity": problem.flow.diffusivity,
        "growth_rates": growth_rates(problem, max_degree),
        "dominant_degree": dominant_degree(problem),
        "growth_rate_max": growth_rate_max(problem),
        "thresholds": switching_thresholds(problem),
        "critical_diffusivity": critical_diffusivity(problem),
        "paper_time_factor": paper_time_factor(problem),
    }
    if tokens is not None:
        data["tokens"] = tokens
        data["onset_time"] = onset_time(problem, tokens)
    return data


def _blocks(problem: Problem, data: dict[str, Any]) -> list[str]:
    rates = data["growth_rates"]
    factor = data["paper_time_factor"]
    pairs = [
        ("problem", f"{problem.manifold.name}, {problem.zonal.kernel!r}"),
        (
            "flow",
            f"{'SA' if problem.flow.normalized else 'USA'}, strength {problem.flow.strength:g}",
        ),
        ("dominant degree", data["dominant_degree"]),
        ("largest growth rate", data["growth_rate_max"]),
        ("critical diffusivity", data["critical_diffusivity"]),
    ]
    if "onset_time" in data:
        pairs.append((f"onset time, N = {data['tokens']}", data["onset_time"]))
    last = data["thresholds"][-_SHOWN_THRESHOLDS:]
    thresholds = ", ".join(f"{beta:.10g}" for beta in last)
    if len(last) < len(data["thresholds"]):
        thresholds = f"... ({len(data['thresholds'])} in all), {thresholds}"
    pairs.append(("degree switches at beta", thresholds or "-"))
    header = ["degree", "growth rate (scaled time)", "growth rate (paper time)"]
    paper = rates / factor if factor > 0 else [None] * len(rates)
    rows = [[l, rates[l], paper[l]] for l in range(min(len(rates), _SHOWN))]
    rates_table = table(header, rows)
    if len(rates) > _SHOWN:
        rates_table += f"\n... {len(rates) - _SHOWN} more degrees: --json prints them all."
    return [facts(pairs), rates_table]
