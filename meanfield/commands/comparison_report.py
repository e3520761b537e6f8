"""What `meanfield compare` prints: tables for people, one JSON object for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from meanfield.commands.tables import facts, table, to_json
from meanfield.studies.convergence_results import ConvergenceStudy

_ROWS = 9


def report(study: ConvergenceStudy) -> str:
    """Tables of a study: distances at the headline time, the exponent, amplification."""
    at, metric = study.headline, study.metric
    parts = [_headline_table(study)]
    when = f"t = {study.exponent_time:.6g}"
    if np.isfinite(study.onset_times[0]):
        when += f", half-way to the onset time of n = {study.tokens[0]}"
    pairs: list[tuple[str, Any]] = [("time", when), ("repetitions", study.distances.shape[1])]
    if np.isfinite(study.exponent):
        low, high = study.exponent_interval
        law = f"{metric} = {study.prefactors[at]:.4g} n^({study.exponent:.4f})"
        exponent = f"{study.exponent:.4f}, 95 % confidence {low:.4f} to {high:.4f}"
        pairs += [("exponent", exponent), ("law", law)]
    else:
        pairs.append(("exponent", "needs two sizes"))
    parts.append(facts(pairs))
    parts.append(_amplification_table(study))
    if study.attributes.get("title"):
        parts.insert(0, str(study.attributes["title"]))
    if study.note:
        parts.append(f"note: {study.note}.")
    return "\n\n".join(parts)


def report_json(study: ConvergenceStudy, path: Path) -> str:
    """One JSON object; distances are indexed by size, then time."""
    return to_json(report_object(study, path))


def report_object(study: ConvergenceStudy, path: Path) -> dict[str, Any]:
    """The same before it is text."""
    return {
        "output": str(path),
        "metric": study.metric,
        "times": study.times,
        "tokens": study.tokens,
        "repetitions": study.distances.shape[1],
        "finished": study.finished,
        "mean_distance": study.mean_distance,
        "standard_error": study.standard_error,
        "mean_width": study.mean_width,
        "exponent": study.exponent,
        "exponent_interval": study.exponent_interval,
        "exponent_time": study.exponent_time,
        "prefactor": study.prefactors[study.headline],
        "exponents": study.exponents,
        "exponent_intervals": study.exponent_intervals,
        "prefactors": study.prefactors,
        "growth_rate_max": study.growth_rate_max,
        "onset_times": study.onset_times,
        "amplification": study.amplification,
        "linear_amplification": study.linear_amplification,
        "note": study.note,
    }


def _headline_table(study: ConvergenceStudy) -> str:
    at, metric = study.headline, study.metric
    header = ["n", f"mean {metric}", "s.e.", f"sqrt(n) {metric}", "onset time", "known within"]
    rows = [
        [
            int(n),
            f"{mean:.5g}",
            f"{error:.2g}",
            f"{mean * np.sqrt(n):.4g}",
            f"{onset:.5g}" if np.isfinite(onset) else "-",
            f"{100 * width:.2g} %",
        ]
        for n, mean, error, width, onset in zip(
            study.tokens,
            study.mean_distance[:, at],
            study.standard_error[:, at],
            study.mean_width[:, at],
            study.onset_times,
            strict=True,
        )
    ]
    if not np.any(study.widths > 0):
        # Exact distances need no column that says so.
        header, rows = header[:-1], [row[:-1] for row in rows]
    return table(header, rows)


def _amplification_table(study: ConvergenceStudy) -> str:
    """Growth of the mean distance since time 0 beside that of the fastest mode."""
    picked = np.linspace(0, len(study.times) - 1, min(_ROWS, len(study.times))).astype(int)
    picked = np.unique([*picked, study.headline])
    header = ["t", *[f"n = {n}" for n in study.tokens], "e^(lambda t)", "exponent"]
    rows = [
        [
            f"{study.times[i]:.5g}",
            *[f"{ratio:.4g}" for ratio in study.amplification[:, i]],
            f"{study.linear_amplification[i]:.4g}",
            f"{study.exponents[i]:.3f}" if np.isfinite(study.exponents[i]) else "-",
        ]
        for i in picked
    ]
    return f"mean {study.metric} over that at t = 0\n" + table(header, rows)
