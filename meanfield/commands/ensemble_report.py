"""What `meanfield ensemble` prints: tables for people, one JSON object for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from meanfield.commands.tables import facts, table, to_json
from meanfield.studies.ensemble_results import Ensemble

# Rarer counts are not listed.
_LEAST_SHARE = 0.005


def report(made: Ensemble) -> str:
    """Mean counts beside the linear law, and the distribution of every size at every time."""
    carrier = made.attributes.get("carrier", "")
    pairs = [("runs", made.counts.shape[1]), ("carrier", carrier)]
    parts = [_means(made), _distributions(made), facts(pairs)]
    if made.attributes.get("title"):
        parts.insert(0, str(made.attributes["title"]))
    if np.isfinite(made.predicted).any():
        parts.append("predicted: mean of the linear law at the onset time, in closed form.")
    return "\n\n".join(parts)


def report_json(made: Ensemble, path: Path) -> str:
    """One JSON object; lists are indexed by size, then time."""
    return to_json(report_object(made, path))


def report_object(made: Ensemble, path: Path) -> dict[str, Any]:
    """The same before it is text."""
    sizes, times = made.mean_count.shape
    return {
        "output": str(path),
        "tokens": made.tokens,
        "runs": made.counts.shape[1],
        "finished": made.finished,
        "carrier": made.attributes.get("carrier"),
        "seed": made.attributes.get("seed"),
        "tolerance": made.attributes.get("tolerance"),
        "times": made.times,
        "onset_times": made.onset_times,
        "mean_count": made.mean_count,
        "standard_error": made.standard_error,
        "predicted_mean": made.predicted,
        "distribution": [[made.distribution(i, j) for j in range(times)] for i in range(sizes)],
    }


def _means(made: Ensemble) -> str:
    header = ["n", "onset time", *[f"clusters at {t:g} T" for t in made.times], "predicted"]
    rows = [
        [
            int(n),
            f"{made.onset_times[i]:.5g}",
            *[
                f"{mean:.3f} +- {error:.3f}" if np.isfinite(error) else f"{mean:.3f}"
                for mean, error in zip(made.mean_count[i], made.standard_error[i], strict=True)
            ],
            f"{made.predicted[i]:.3f}",
        ]
        for i, n in enumerate(made.tokens)
    ]
    if not np.isfinite(made.predicted).any():
        header, rows = header[:-1], [row[:-1] for row in rows]
    return table(header, rows)


def _distributions(made: Ensemble) -> str:
    """Share of each count in per cent: a row a size and time."""
    shares = {
        (i, j): made.distribution(i, j)
        for i in range(len(made.tokens))
        for j in range(len(made.times))
    }
    counts = sorted({k for row in shares.values() for k, p in row.items() if p >= _LEAST_SHARE})
    rows = [
        [
            int(made.tokens[i]),
            f"{made.times[j]:g} T",
            *[f"{100 * row[k]:.1f}" if k in row else "-" for k in counts],
        ]
        for (i, j), row in shares.items()
    ]
    return "share of runs with k clusters, in per cent\n" + table(
        ["n", "time", *[f"k = {k}" for k in counts]], rows
    )
