"""`meanfield stability`: growth rates of the uniform state, dominant degree, thresholds."""

from __future__ import annotations

import argparse
from typing import Any

from meanfield.commands.problem_options import problem_of
from meanfield.commands.tables import facts, table, to_json
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

_LARGEST_DEGREE = 1_000_000
_SHOWN = 40
_SHOWN_THRESHOLDS = 12


def execute(options: argparse.Namespace) -> int:
    """Print the analysis."""
    if options.max_degree is not None and options.max_degree > _LARGEST_DEGREE:
        raise ValueError(f"--max-degree must be at most {_LARGEST_DEGREE}.")
    problem = problem_of(options)
    found = analysis(problem, options.max_degree, options.tokens)
    if options.plot:
        from meanfield.outputs.plots.dispersion import save_dispersion

        save_dispersion(problem, options.plot, options.max_degree)
    print(to_json(found) if options.json else _text(problem, found))
    return 0


def analysis(
    problem: Problem, max_degree: int | None = None, tokens: int | None = None
) -> dict[str, Any]:
    """Everything that `meanfield stability --json` prints."""
    found: dict[str, Any] = {
        "manifold": problem.manifold.name,
        "kernel": problem.kernel.name,
        "beta": problem.kernel.beta,
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
        found["tokens"] = tokens
        found["onset_time"] = onset_time(problem, tokens)
    return found


def _text(problem: Problem, found: dict[str, Any]) -> str:
    rates = found["growth_rates"]
    factor = found["paper_time_factor"]
    pairs = [
        ("problem", f"{problem.manifold.name}, {problem.kernel!r}"),
        (
            "flow",
            f"{'SA' if problem.flow.normalized else 'USA'}, strength {problem.flow.strength:g}",
        ),
        ("dominant degree", found["dominant_degree"]),
        ("largest growth rate", found["growth_rate_max"]),
        ("critical diffusivity", found["critical_diffusivity"]),
    ]
    if "onset_time" in found:
        pairs.append((f"onset time, N = {found['tokens']}", found["onset_time"]))
    last = found["thresholds"][-_SHOWN_THRESHOLDS:]
    thresholds = ", ".join(f"{beta:.10g}" for beta in last)
    if len(last) < len(found["thresholds"]):
        thresholds = f"... ({len(found['thresholds'])} in all), {thresholds}"
    pairs.append(("degree switches at beta", thresholds or "-"))
    header = ["degree", "growth rate (scaled time)", "growth rate (paper time)"]
    paper = rates / factor if factor > 0 else [None] * len(rates)
    rows = [[l, rates[l], paper[l]] for l in range(min(len(rates), _SHOWN))]
    text = facts(pairs) + "\n\n" + table(header, rows)
    if len(rates) > _SHOWN:
        text += f"\n... {len(rates) - _SHOWN} more degrees: --json prints them all."
    return text
