"""Reports of studies, for `compare`, `ensemble`, `diagram`, `info` and `print`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from meanfield.described import StudyResult
from meanfield.results.report import Report, facts, table
from meanfield.results.words import problem_words
from meanfield.status import COMPLETED
from meanfield.studies.convergence_results import ConvergenceStudy
from meanfield.studies.ensemble_results import Ensemble

if TYPE_CHECKING:
    from meanfield.papers.merging_results import MergingDiagram

_MOST_TIMES = 9
_MOST_BETAS = 10
_DIAGRAM_FACTS = (
    "normalization", "matrices", "threshold", "motion", "step", "tolerance", "seed",
)  # fmt: skip
# Rarer counts are not listed.
_LEAST_SHARE = 0.005
_HEADINGS = {
    "comparison": "Comparison with the density",
    "ensemble": "Ensemble",
    "diagram": "Merging diagram",
}


def comparison_report(study: ConvergenceStudy, path: str | os.PathLike[str] = "") -> Report:
    """Distances at the headline time, the exponent, amplification; data by size, then time."""
    when = f"t = {study.exponent_time:.6g}"
    if np.isfinite(study.onset_times[0]):
        onset = study.onset_times[0]
        when += f", the saved time nearest to half the onset time of n = {study.tokens[0]}"
        if study.times[-1] < 0.5 * onset:
            when += f", {0.5 * onset:.6g}: it ends before"
    runs, prefactor = study.distances.shape[1], study.prefactors[study.headline]
    pairs: list[tuple[str, Any]] = [
        ("normalization", study.facts.normalization),
        ("scaled time", when),
        ("runs", runs),
    ]
    if np.isfinite(study.exponent):
        low, high = study.exponent_interval
        exponent = f"{study.exponent:.4f}, 95 % confidence {low:.4f} to {high:.4f}"
        law = f"{study.metric} = {prefactor:.4g} n^({study.exponent:.4f})"
        pairs += [("exponent", exponent), ("law", law)]
    else:
        pairs.append(("exponent", "one size gives no exponent"))
    if np.isfinite(study.certified_exponents).any():
        pairs.append(("certified", _certified(study)))
    blocks = [_headline_table(study), facts(pairs), _amplification_table(study)]
    if study.note:
        blocks.append(f"note: {study.note}.")
    data = {
        "output": str(path),
        "metric": study.metric,
        "times": study.times,
        "tokens": study.tokens,
        "runs": runs,
        "finished": study.finished,
        "mean_distance": study.mean_distance,
        "standard_error": study.standard_error,
        "mean_width": study.mean_width,
        "exponent": study.exponent,
        "exponent_interval": study.exponent_interval,
        "exponent_time": study.exponent_time,
        "prefactor": prefactor,
        "exponents": study.exponents,
        "exponent_intervals": study.exponent_intervals,
        "prefactors": study.prefactors,
        "growth_rate_max": study.growth_rate_max,
        "onset_times": study.onset_times,
        "amplification": study.amplification,
        "linear_amplification": study.linear_amplification,
        "certified_distance": study.certified_distance,
        "certified_exponents": study.certified_exponents,
        "certified_until": study.certified_until,
        "note": study.note,
    }
    return _report(study, blocks, data)


def ensemble_report(ensemble: Ensemble, path: str | os.PathLike[str] = "") -> Report:
    """Mean counts beside the linear law, the distributions; data by size, then time."""
    pairs = [
        ("normalization", ensemble.facts.normalization),
        ("runs", ensemble.counts.shape[1]),
        ("representation", ensemble.representation),
    ]
    blocks = [_means(ensemble), _distributions(ensemble), facts(pairs)]
    legend = (
        "T: onset time ln n / (2 lambda_max), scaled time. +-: one standard error of the mean of "
        f"{ensemble.counts.shape[1]} runs."
    )
    if np.isfinite(ensemble.comparable).any():
        legend += "\npredicted: mean of the linear law at the onset time, in closed form."
    blocks.append(legend)
    sizes, times = ensemble.mean_count.shape
    data = {
        "output": str(path),
        "tokens": ensemble.tokens,
        "runs": ensemble.counts.shape[1],
        "finished": ensemble.finished,
        **{name: ensemble.attributes.get(name) for name in ("representation", "seed", "tolerance")},
        "times": ensemble.times,
        "onset_times": ensemble.onset_times,
        "mean_count": ensemble.mean_count,
        "standard_error": ensemble.standard_error,
        "predicted_mean": ensemble.predicted,
        "distribution": [[ensemble.distribution(i, j) for j in range(times)] for i in range(sizes)],
    }
    return _report(ensemble, blocks, data)


def merging_report(diagram: MergingDiagram, path: str | os.PathLike[str] = "") -> Report:
    """Shares of merged pairs at a few betas and times; data by beta, then time."""
    rows = np.unique(np.linspace(0, len(diagram.betas) - 1, _MOST_BETAS).astype(int))
    columns = np.unique(np.linspace(0, len(diagram.times) - 1, _MOST_TIMES).astype(int))
    header = ["beta", *[f"t = {diagram.times[j]:.4g}" for j in columns], "largest s.e."]
    cells = [
        [
            f"{diagram.betas[i]:.4g}",
            *[f"{diagram.fraction[i, j]:.4f}" for j in columns],
            f"{np.max(diagram.standard_error[i]):.2g}",
        ]
        for i in rows
    ]
    attributes = diagram.attributes
    pairs: list[tuple[str, Any]] = [
        ("tokens", f"{diagram.tokens} in R^{diagram.dimension}"),
        ("normalization", attributes["normalization"]),
        ("matrices", attributes["matrices"]),
        ("motion", attributes["motion"]),
        ("merged", f"cosine above {attributes['threshold']:g}"),
        ("runs", f"{int(diagram.finished.min())} of {diagram.done.shape[1]}"),
    ]
    data = {
        "output": str(path),
        "tokens": diagram.tokens,
        "dimension": diagram.dimension,
        "runs": diagram.done.shape[1],
        **{name: attributes.get(name) for name in _DIAGRAM_FACTS},
        "betas": diagram.betas,
        "times": diagram.times,
        "finished": diagram.finished,
        "fraction": diagram.fraction,
        "standard_error": diagram.standard_error,
    }
    shares = table(header, cells, above="share of merged pairs")
    return _report(diagram, [shares, facts(pairs)], data)


def full_report(study: Any, path: str | os.PathLike[str] = "") -> Report:
    """Report of a study with a command, as far as its runs are made."""
    make = _REPORTS.get(study.kind)
    report: Report = study.report() if make is None else make(study, path)
    return report


_REPORTS: dict[str, Callable[..., Report]] = {
    "comparison": comparison_report,
    "ensemble": ensemble_report,
    "diagram": merging_report,
}


def study_report(study: ConvergenceStudy | Ensemble | MergingDiagram) -> Report:
    """Report of a study; one line before each of its rows has a run."""
    if not study.finished.all():
        return Report([repr(study)], dict(study.attributes), study.columns)
    return full_report(study)


def described_report(result: StudyResult) -> Report:
    """Report of the tables that a result has as plain data; all its arrays for programs."""
    blocks = [
        part
        if isinstance(part, str)
        else (
            table(part.header, part.rows, part.above, part.below)
            if part.header
            else facts(part.rows)
        )
        for part in result.parts()
    ]
    values = {one.name: getattr(result, name) for name, one in result.described().items()}
    heading = result.kind.replace("_", " ").capitalize()
    if "kernel" in result.attributes:
        heading += f": {problem_words(result.facts)}"
    blocks = [*filter(None, [result.facts.title]), *blocks]
    return Report(blocks, result.stored_facts() | values, result.columns, heading)


def _report(study: Any, blocks: list[str], data: dict[str, Any]) -> Report:
    """Report under the title of a study, and how it ended where that was early."""
    status = study.facts.status
    early = [facts([("ended", status)])] if status != COMPLETED else []
    heading = _HEADINGS[study.kind]
    if "kernel" in study.attributes:
        heading += f": {problem_words(study.facts)}"
    blocks = [*filter(None, [study.facts.title]), *blocks, *early]
    return Report(blocks, data, study.columns, heading)


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
    if np.isfinite(study.certified_exponents[at]):
        header.insert(2, "certified")
        for row, bound in zip(rows, study.certified_distance[:, at], strict=True):
            row.insert(2, f"{bound:.4g}" if bound < np.pi else "> pi")
    return table(header, rows)


def _certified(study: ConvergenceStudy) -> str:
    """Until when the certified distance of the largest size says something."""
    until, size = study.certified_until[-1], int(study.tokens[-1])
    grows = f"{study.metric} of any tokens grows at most by the factor below"
    if until == study.times[-1]:
        return grows
    if not until > study.times[0]:
        return f"beyond pi at all later times: it says nothing of n = {size}"
    return f"{grows}; beyond pi it says nothing, of n = {size} after t = {until:.5g}"


def _amplification_table(study: ConvergenceStudy) -> str:
    """Growth of the mean distance since time 0 beside that of the fastest mode."""
    picked = np.linspace(0, len(study.times) - 1, min(_MOST_TIMES, len(study.times))).astype(int)
    picked = np.unique([*picked, study.headline])
    finite = np.isfinite(study.growth_rate_max)
    certified = study.certified_exponents
    proved = ["certified"] if np.isfinite(certified).any() else []
    header = ["t", *[f"n = {n}" for n in study.tokens], "e^(lambda t)", *proved, "exponent"]
    rows = [
        [
            f"{study.times[i]:.5g}",
            *[f"{ratio:.4g}" for ratio in study.amplification[:, i]],
            f"{study.linear_amplification[i]:.4g}" if finite else "-",
            *[_factor(certified[i]) for _ in proved],
            f"{study.exponents[i]:.3f}" if np.isfinite(study.exponents[i]) else "-",
        ]
        for i in picked
    ]
    legend = "\nt, onset time: scaled time. s.e.: one standard error of the mean."
    return table(header, rows, f"mean {study.metric} over that at t = 0", legend)


def _factor(exponent: float) -> str:
    with np.errstate(over="ignore"):
        return f"{np.exp(exponent):.4g}" if np.isfinite(exponent) else "-"


def _means(ensemble: Ensemble) -> str:
    header = ["n", "onset time", *[f"clusters at {t:g} T" for t in ensemble.times], "predicted"]
    rows = [
        [
            int(n),
            f"{ensemble.onset_times[i]:.5g}",
            *[
                f"{mean:.3f} +- {error:.3f}" if np.isfinite(error) else f"{mean:.3f}"
                for mean, error in zip(
                    ensemble.mean_count[i], ensemble.standard_error[i], strict=True
                )
            ],
            f"{ensemble.comparable[i]:.3f}" if np.isfinite(ensemble.comparable[i]) else "-",
        ]
        for i, n in enumerate(ensemble.tokens)
    ]
    if not np.isfinite(ensemble.comparable).any():
        header, rows = header[:-1], [row[:-1] for row in rows]
    return table(header, rows)


def _distributions(ensemble: Ensemble) -> str:
    """Share of each count in per cent: a row a size and time."""
    shares = {
        (i, j): ensemble.distribution(i, j)
        for i in range(len(ensemble.tokens))
        for j in range(len(ensemble.times))
    }
    counts = sorted({k for row in shares.values() for k, p in row.items() if p >= _LEAST_SHARE})
    rows = [
        [
            int(ensemble.tokens[i]),
            f"{ensemble.times[j]:g} T",
            *[f"{100 * row[k]:.1f}" if k in row else "-" for k in counts],
        ]
        for (i, j), row in shares.items()
    ]
    header = ["n", "time", *[f"k = {k}" for k in counts]]
    return table(header, rows, above="share of runs with k clusters, in per cent")
