"""`meanfield info`: what a file holds and where it comes from, as text, JSON or CSV."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from meanfield.commands.answers import answer
from meanfield.commands.streams import say
from meanfield.models.replay import Replay
from meanfield.papers.merging_results import MergingDiagram
from meanfield.results.replay_report import replay_report
from meanfield.results.report import Report, facts
from meanfield.results.run_report import problem_facts, run_report
from meanfield.results.study_reports import comparison_report, ensemble_report, merging_report
from meanfield.results.sweep_report import sweep_report
from meanfield.runs import Run
from meanfield.store.provenance import parsed_versions, read_provenance
from meanfield.store.result_file import load
from meanfield.store.result_hash import result_hash, run_results
from meanfield.store.sweep_file import is_sweep, load_sweep
from meanfield.store.wall_time import seconds_by_phase
from meanfield.studies.complete import runs_of_each
from meanfield.studies.convergence_results import ConvergenceStudy
from meanfield.studies.ensemble_results import Ensemble
from meanfield.studies.sweep_results import Sweep

_MOST_VALUES = 8


def execute(options: argparse.Namespace) -> int:
    """Print it; exit status 1, and a line, if the numbers are not those that were written."""
    if options.provenance and options.csv:
        raise ValueError("--provenance is no table: use it with --json, or without --csv.")
    if is_sweep(options.file):
        return _sweep(options)
    if options.provenance:
        attributes, digest = read_provenance(options.file)
        answer(options, provenance_report(attributes, digest))
    else:
        report, attributes, digest = _read(options.file)
        answer(options, report)
    stored = attributes.get("result_hash")
    if stored is None or stored == digest:
        return 0
    say(
        f"meanfield: {options.file}: the numbers are not those that were written: result hash "
        f"{digest[:8]}, expected {stored[:8]}."
    )
    return 1


def _sweep(options: argparse.Namespace) -> int:
    """Print what is known of a sweep; status 1 where a file is not the one that the index names."""
    if options.provenance:
        raise ValueError(f"--provenance is of a run: name a file of {options.file}.")
    sweep = load_sweep(options.file)
    attributes, report = sweep.attributes, sweep_report(sweep)
    pairs = [
        ("kind", "sweep"),
        *[(k, attributes[k]) for k in ("title", "status") if attributes.get(k)],
    ]
    pairs += [(p.key, f"{len(p.values)} values: {_ends(p.labels)}") for p in sweep.parameters]
    pairs.append(
        (
            "created",
            f"{attributes.get('created')} by meanfield {attributes.get('meanfield_version')}",
        )
    )
    answer(options, replace(report, blocks=[facts(pairs), *report.blocks]))
    for member, run in zip(sweep.members, sweep.observed, strict=True):
        if run is None or member.result_hash is None:
            continue
        digest = result_hash(run_results(run.scaled_time, run.moments, run.observables))
        if digest != member.result_hash:
            say(
                f"meanfield: {sweep.folder / member.file}: the numbers are not those that the "
                f"index tells: result hash {digest[:8]}, expected {member.result_hash[:8]}."
            )
            return 1
    return 0


def _ends(labels: Sequence[str]) -> str:
    """A few values, the first and last of many."""
    few = len(labels) <= _MOST_VALUES
    return ", ".join(labels) if few else f"{labels[0]}, {labels[1]}, ..., {labels[-1]}"


def _read(path: str) -> tuple[Report, dict[str, Any], str]:
    """Report of a file, its attributes, and the hash of the results that it holds."""
    run = load(path, states="none")
    assert not isinstance(run, Sweep)  # told by its folder
    if not isinstance(run, Run):
        attributes, digest = read_provenance(path)
        if isinstance(run, Replay):
            return _replay_report(run, path, attributes, digest), attributes, digest
        if isinstance(run, MergingDiagram):
            return _diagram_report(run, path, attributes, digest), attributes, digest
        return _study_report(run, path, attributes, digest), attributes, digest
    digest = result_hash(run_results(run.scaled_time, run.moments, run.observables))
    report, origin = run_report(run), provenance_report(run.attributes, digest).data
    return replace(report, data={**report.data, "provenance": origin}), run.attributes, digest


def provenance_report(attributes: Mapping[str, Any], digest: str) -> Report:
    """Where a file comes from: what an older one does not know is left out, or null.

    attributes: attributes of the file; digest: hash of the results that it holds.
    """
    names = ("created", "versions", "platform", "processor", "threads", "seed")
    lines: dict[str, Any] = {name: attributes.get(name) for name in names}
    if lines["versions"] is None and "meanfield_version" in attributes:
        lines["versions"] = f"meanfield {attributes['meanfield_version']}"
    seconds = seconds_by_phase(attributes)
    if seconds:
        parts = ", ".join(f"{phase} {spent:.2f}" for phase, spent in seconds.items())
        count = attributes.get("sessions", 1)
        sessions = f" in {count} sessions" if count > 1 else ""
        lines["wall time"] = f"{sum(seconds.values()):.2f} s{sessions}: {parts}"
    changes = str(attributes.get("changes", "")).splitlines()
    pairs = [(name, value) for name, value in lines.items() if value is not None]
    pairs += [("changed", line) for line in changes]
    stored = attributes.get("result_hash")
    pairs.append(("result hash", f"{digest} (not in the file)" if stored is None else stored))

    plain = ("meanfield_version", "created", "seed", "platform", "processor", "threads", "sessions")
    versions = attributes.get("versions")
    data = {name: attributes.get(name) for name in plain} | {
        "versions": None if versions is None else parsed_versions(str(versions)),
        "changes": changes,
        "seconds": seconds,
        "result_hash": stored,
        "result_hash_found": digest,
        "result_hash_fits": None if stored is None else stored == digest,
    }
    return Report([facts(pairs)], data)


def _study_report(
    study: ConvergenceStudy | Ensemble, path: str, attributes: Mapping[str, Any], digest: str
) -> Report:
    """Facts, then the tables that the command itself prints, once there is something in them."""
    stored = study.attributes
    untitled = replace(study, attributes={**stored, "title": ""})
    if isinstance(untitled, Ensemble):
        kind, own, tasks = "ensemble", ("seed", "tolerance"), "runs"
        report = ensemble_report(untitled, path)
    else:
        kind, own, tasks = "comparison", ("metric", "seed"), "particle systems"
        report = comparison_report(untitled, path)
    done, total = int(study.finished.sum()), len(study.tokens) * runs_of_each(study)
    pairs = [
        ("kind", kind),
        *problem_facts(stored),
        ("tokens", ", ".join(map(str, study.tokens))),
        *[(name, stored[name]) for name in own if name in stored],
        (
            "finished",
            f"{done} of {total} {tasks}",
        ),
    ]
    origin = provenance_report(attributes, digest).data
    return Report(
        [facts(pairs), *(report.blocks if study.finished.all() else [])],
        {"kind": kind, **stored, **report.data, "provenance": origin},
        report.columns,
    )


def _diagram_report(
    diagram: MergingDiagram, path: str, attributes: Mapping[str, Any], digest: str
) -> Report:
    """Facts, then the table that the command itself prints, once every beta has a run."""
    stored, report = diagram.attributes, merging_report(diagram, path)
    names = ("title", "status", "seed", "tolerance")
    pairs = [("kind", "diagram"), *[(name, stored[name]) for name in names if stored.get(name, "")]]
    done = f"{int(diagram.finished.sum())} of {diagram.done.size} runs"
    writer = f"{stored.get('created')} by meanfield {stored.get('meanfield_version')}"
    pairs += [("created", writer), ("finished", done)]
    blocks = report.blocks if diagram.finished.all() else []
    origin = provenance_report(attributes, digest).data
    data = {"kind": "diagram", **stored, **report.data, "provenance": origin}
    return Report([facts(pairs), *blocks], data, report.columns)


def _replay_report(replay: Replay, path: str, attributes: Mapping[str, Any], digest: str) -> Report:
    origin_facts, report = replay.attributes, replay_report(replay, path)
    writer = f"{origin_facts.get('created')} by meanfield {origin_facts.get('meanfield_version')}"
    origin = provenance_report(attributes, digest).data
    data = {"kind": "replay", **origin_facts, **report.data, "provenance": origin}
    pairs = [("kind", "replay"), ("created", writer)]
    return Report([facts(pairs), *report.blocks], data, report.columns)
