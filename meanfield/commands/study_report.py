"""What `meanfield info` says of comparisons and ensembles, finished or not."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from meanfield.commands import comparison_report, ensemble_report
from meanfield.commands.provenance_report import problem_facts
from meanfield.commands.tables import facts
from meanfield.outputs.comparison_file import load_comparison
from meanfield.outputs.ensemble_file import load_ensemble
from meanfield.outputs.reading import opened
from meanfield.outputs.study_file import Kind, study_kind
from meanfield.studies.convergence_results import ConvergenceStudy
from meanfield.studies.ensemble_results import Ensemble

Study = ConvergenceStudy | Ensemble

_OWN_FACTS = {"comparison": ("metric", "seed"), "ensemble": ("seed", "tolerance")}
_TASKS = {"comparison": "particle systems", "ensemble": "runs"}


def kind_of_study(path: str) -> Kind | None:
    """Kind of study that a file holds, None if it holds none.

    Raises
    ------
    FormatError
        If there is no such file, or it is damaged.
    """
    with opened(path) as file:
        return study_kind(file)


def load_study(path: str, kind: Kind) -> Study:
    """Comparison or ensemble from a file.

    Raises
    ------
    FormatError
        If it is of a format that this version does not know, or damaged.
    """
    return load_comparison(path) if kind == "comparison" else load_ensemble(path)


def study_facts(study: Study, kind: Kind) -> list[tuple[str, Any]]:
    """What was asked for and how much of it is done, as names and values."""
    told = study.attributes
    done, total = int(study.finished.sum()), len(study.tokens) * _repetitions(study)
    return [
        ("kind", kind),
        *problem_facts(told),
        ("tokens", ", ".join(map(str, study.tokens))),
        *[(name, told[name]) for name in _OWN_FACTS[kind] if name in told],
        ("finished", f"{done} of {total} {_TASKS[kind]}"),
    ]


def study_text(study: Study, kind: Kind) -> str:
    """Facts, then the tables that the command itself prints, once there is something in them."""
    parts = [facts(study_facts(study, kind))]
    if study.finished.all():
        untitled = {**study.attributes, "title": ""}
        if isinstance(study, Ensemble):
            parts.append(ensemble_report.report(replace(study, attributes=untitled)))
        else:
            parts.append(comparison_report.report(replace(study, attributes=untitled)))
    return "\n\n".join(parts)


def study_object(study: Study, path: str) -> dict[str, Any]:
    """Attributes of the file and what the command prints with --json."""
    if isinstance(study, Ensemble):
        return {**study.attributes, **ensemble_report.report_object(study, Path(path))}
    return {**study.attributes, **comparison_report.report_object(study, Path(path))}


def write_study_csv(study: Study, out: TextIO) -> None:
    """Means of every size at every time, with all digits."""
    if isinstance(study, Ensemble):
        name, mean = "mean_count", study.mean_count
    else:
        name, mean = "mean_distance", study.mean_distance
    rows: list[Sequence[Any]] = [
        [int(n), *map(_digits, (time, mean[i, j], study.standard_error[i, j]))]
        for i, n in enumerate(study.tokens)
        for j, time in enumerate(study.times)
    ]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([["tokens", "time", name, "standard_error"], *rows])


def _digits(value: Any) -> str:
    return repr(float(value))


def _repetitions(study: Study) -> int:
    """Runs of each size that were asked for."""
    return int((study.counts if isinstance(study, Ensemble) else study.distances).shape[1])
