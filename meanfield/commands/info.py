"""`meanfield info`: what a file holds and where it comes from, as text, JSON or CSV."""

from __future__ import annotations

import argparse
import csv
import sys
from typing import Any

import numpy as np

from meanfield.commands.happenings import happenings, happenings_json
from meanfield.commands.provenance_report import mismatch, problem_facts, report, report_json
from meanfield.commands.streams import say
from meanfield.commands.study_report import (
    Study,
    kind_of_study,
    load_study,
    study_object,
    study_text,
    write_study_csv,
)
from meanfield.commands.tables import facts, table, to_json
from meanfield.outputs.provenance import read_provenance
from meanfield.outputs.reading import FormatError
from meanfield.outputs.result_hash import result_hash, run_results
from meanfield.outputs.run_file import load
from meanfield.outputs.study_file import Kind
from meanfield.run import Run

_ROWS = 12


def execute(options: argparse.Namespace) -> int:
    """Print it."""
    if options.provenance:
        if options.csv:
            raise ValueError("--provenance is no table: use it with --json, or without --csv.")
        attributes, found = read_provenance(options.file)
        told = report_json(attributes, found)
        print(to_json(told) if options.json else report(attributes, found))
        return _checked(options.file, attributes, found)
    try:
        run = load(options.file, states="none")
    except FormatError:
        # Runs first, which are read once: they may be large, studies are not.
        kind = kind_of_study(options.file)
        if kind is None:
            raise
        return _tell_study(load_study(options.file, kind), kind, options)
    found = result_hash(run_results(run.time, run.moments, run.observables))
    if options.json:
        series = {"time": run.time, "observables": run.observables}
        origin = {"provenance": report_json(run.attributes, found)}
        print(to_json({**run.attributes, **series, **happenings_json(run.events), **origin}))
    elif options.csv:
        _write_csv(run)
    else:
        print(_text(run))
    return _checked(options.file, run.attributes, found)


def _tell_study(study: Study, kind: Kind, options: argparse.Namespace) -> int:
    """Print a comparison or an ensemble."""
    attributes, found = read_provenance(options.file)
    if options.json:
        origin = {"provenance": report_json(attributes, found)}
        print(to_json({"kind": kind, **study_object(study, options.file), **origin}))
    elif options.csv:
        write_study_csv(study, sys.stdout)
    else:
        print(study_text(study, kind))
    return _checked(options.file, attributes, found)


def _checked(path: str, attributes: dict[str, Any], found: str) -> int:
    """Exit status: 1, and a line on standard error, if the numbers are not those written."""
    line = mismatch(path, attributes, found)
    if line is None:
        return 0
    say(f"meanfield: {line}")
    return 1


def _columns(run: Run) -> dict[str, np.ndarray]:
    single = {name: values for name, values in run.observables.items() if values.ndim == 1}
    return {"time": run.time, **dict(sorted(single.items()))}


def _write_csv(run: Run) -> None:
    columns = _columns(run)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([repr(float(v)) for v in row] for row in zip(*columns.values(), strict=True))


def _text(run: Run) -> str:
    pairs = [*problem_facts(run.attributes), ("saved times", len(run.time))]
    if len(run.time) == 0:
        return facts(pairs)
    pairs.append(("representation", ", then ".join(dict.fromkeys(run.representation))))
    known = [name for name in ("steps", "rejected") if name in run.diagnostics]
    pairs += [(name, int(run.diagnostics[name][-1])) for name in known]
    columns = _columns(run)
    picked = np.unique(np.linspace(0, len(run.time) - 1, _ROWS).astype(int))
    rows = [[f"{values[i]:.6g}" for values in columns.values()] for i in picked]
    header = [name.removesuffix("/count") for name in columns]
    return "\n\n".join([facts(pairs), table(header, rows), *_happened(run)])


def _happened(run: Run) -> list[str]:
    """Table of what happened on the way, if anything did."""
    if not run.events:
        return []
    rows, others = happenings(run.events)
    cells = [("time", "what happened"), *((f"{time:.6g}", text) for time, text in rows)]
    width = max(len(time) for time, _ in cells)
    lines = [f"{time.rjust(width)}  {text}" for time, text in cells]
    return ["\n".join([*lines, others] if others else lines)]
