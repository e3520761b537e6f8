"""Reports of studies: compare, ensemble, diagram, sweep and replay."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray
from meanfield.described import StudyResult
from meanfield.results.report import Report, facts, format_cell, problem_words, table
from meanfield.status import COMPLETED
from meanfield.studies.convergence_results import ConvergenceStudy
from meanfield.studies.ensemble_results import Ensemble
from meanfield.studies.sweep_results import Sweep, summary

if TYPE_CHECKING:
    from meanfield.models.replay import Replay
    from meanfield.papers.merging import MergingDiagram

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
    """Report with distances at the headline time, exponent and amplification; data (size, time)."""
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
    """Report with mean counts beside the linear law, and distributions; data (size, time)."""
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
    """Report with shares of merged pairs at a few betas and times; data (beta, time)."""
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
    """Report of a study of a command, for the runs that are finished."""
    make = _REPORTS.get(study.kind)
    report: Report = study.report() if make is None else make(study, path)
    return report


_REPORTS: dict[str, Callable[..., Report]] = {
    "comparison": comparison_report,
    "ensemble": ensemble_report,
    "diagram": merging_report,
}


def study_report(study: ConvergenceStudy | Ensemble | MergingDiagram) -> Report:
    """Report of a study; only its repr until each row has a finished run."""
    if not study.finished.all():
        return Report([repr(study)], dict(study.attributes), study.columns)
    return full_report(study)


def described_report(result: StudyResult) -> Report:
    """Report of the `parts` of a result; its arrays are the data for programs."""
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
    """Report with the title of a study, and its status if it ended early."""
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
        # Without brackets the column of widths is all 0.
        header, rows = header[:-1], [row[:-1] for row in rows]
    if np.isfinite(study.certified_exponents[at]):
        header.insert(2, "certified")
        for row, bound in zip(rows, study.certified_distance[:, at], strict=True):
            row.insert(2, f"{bound:.4g}" if bound < np.pi else "> pi")
    return table(header, rows)


def _certified(study: ConvergenceStudy) -> str:
    """Words on the certified distance, and the time until which it is below pi."""
    until, size = study.certified_until[-1], int(study.tokens[-1])
    grows = f"{study.metric} of any tokens grows at most by the factor below"
    if until == study.times[-1]:
        return grows
    if not until > study.times[0]:
        return f"beyond pi at all later times: it says nothing of n = {size}"
    return f"{grows}; beyond pi it says nothing, of n = {size} after t = {until:.5g}"


def _amplification_table(study: ConvergenceStudy) -> str:
    """Growth of the mean distance since time 0, beside the growth of the fastest mode."""
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
    """Share of each count in per cent, one row per size and time."""
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


_ROWS = 400


def sweep_report(sweep: Sweep) -> Report:
    """Report with one row per run: parameters, last time, clusters, observables, status."""
    columns, summary_table = sweep.columns(), summary(sweep)
    rows = [
        [member.file, *map(format_cell, row)]
        for member, *row in zip(sweep.members[:_ROWS], *summary_table.values(), strict=False)
    ]
    words = ["run", *(name.replace("_", " ") for name in summary_table)]
    blocks = [table(words, rows)]
    if len(sweep.members) > _ROWS:
        blocks.append(f"... and {len(sweep.members) - _ROWS} more: --csv has all")
    blocks.append(f"{sweep.summary}; values are those of the last saved time of each run")
    data = {
        "kind": "sweep",
        "folder": str(sweep.folder),
        **sweep.attributes,
        "parameters": {parameter.key: parameter.values for parameter in sweep.parameters},
        "members": [asdict(member) for member in sweep.members],
        "values": {name: column for name, column in columns.items() if name not in sweep.names},
    }
    files = np.array([member.file for member in sweep.members])
    csv: dict[str, npt.NDArray[Any]] = {"run": files, **columns}
    return Report(blocks, data, csv, f"Sweep: {sweep.folder}")


def replay_report(replay: Replay, path: str | os.PathLike[str] = "") -> Report:
    """Report with tables by layer: means over texts, medians over heads."""
    from meanfield.models.heads import RUNGS, STEPS

    depths = range(replay.depth + 1)
    observed = {name: values.mean(axis=0) for name, values in replay.observed.items()}
    heads = {each.name: getattr(replay.heads, each.name) for each in fields(replay.heads)}
    median = {name: np.median(values, axis=(0, 2)) for name, values in heads.items()}
    sizes, rungs = replay.sizes.mean(axis=0), replay.ladder.cosine.mean(axis=0)
    apart, steps = replay.ladder.distance.mean(axis=0), replay.ladder.step_distance.mean(axis=0)
    share, explained = (
        part.mean(axis=0) for part in (replay.ladder.share, replay.ladder.explained)
    )
    names = ("mean_cosine", "deviation", "alike", "effective_rank", "clusters", "energy")
    of_tokens = table(
        ["layer", *(name.replace("_", " ") for name in names)],
        [[k, *(f"{observed[name][k]:.4g}" for name in names)] for k in depths],
        above="directions of tokens",
    )
    of_heads = table(
        ["layer", "beta fit", "R^2", "beta entropy", "R^2", "beta norm", "R^2", "attended",
         "|attention|", "|feed-forward|"],
        [
            [k + 1, *(f"{median[name][k]:.3g}" for name in (
                "beta_fit", "r2_fit", "beta_entropy", "r2_entropy", "beta_norm", "r2_norm",
                "attended_tokens")), *(f"{size:.3g}" for size in sizes[:, k])]
            for k in range(replay.depth)
        ],
        above="heads, medians: scores as beta times cosine, and the share R^2 that is",
    )  # fmt: skip
    of_rungs = table(
        ["layer", *(f"cosine: {name}" for name in RUNGS), *(f"apart: {n}" for n in RUNGS[1:3])],
        [[k, *("-" if np.isnan(row[k]) else f"{row[k]:.4f}" for row in rungs),
          *(f"{row[k]:.3f}" for row in apart[1:3])] for k in depths],
        above="from the model to an equation: mean cosine of pairs, and how far from the model",
    )  # fmt: skip
    of_steps = table(
        ["layer", *(f"apart: {name}" for name in STEPS), *(f"R^2: {name}" for name in STEPS[2:]),
         "R^2 of one head's output"],
        [[k + 1, *(f"{row[k]:.3f}" for row in [*steps, *explained[2:], share])]
         for k in range(replay.depth)],
        above="one layer from the model's own state: how far from its next, R^2 of its step",
    )  # fmt: skip
    pairs: list[tuple[str, Any]] = [
        ("model", replay.model),
        ("texts", len(replay.texts)),
        ("tokens", len(replay.tokens)),
        ("beta", f"{replay.beta:.4g}, for clusters and energy: median beta fit, 1 if not positive"),
    ]
    if path:
        pairs.append(("file", str(path)))
    blocks = [facts(pairs), of_tokens, of_heads, of_rungs, of_steps]
    data = {
        "output": str(path),
        "model": replay.model,
        "texts": len(replay.texts),
        "tokens": len(replay.tokens),
        "beta": replay.beta,
        "observed": replay.observed,
        "sizes": replay.sizes,
        "heads": heads,
        "ladder": {each.name: getattr(replay.ladder, each.name) for each in fields(replay.ladder)}
        | {"explained": replay.ladder.explained},
    }
    columns: dict[str, FloatArray] = {"layer": np.arange(replay.depth + 1.0)}
    columns |= {name: observed[name] for name in names}
    columns |= {f"cosine {name}": row for name, row in zip(RUNGS, rungs, strict=True)}
    return Report(blocks, data, columns, "Replay")
