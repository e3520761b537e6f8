"""`meanfield info` and `verify`: contents and origin of a file, and checks of a run."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from meanfield.commands.options import answer
from meanfield.commands.progress import say, with_progress
from meanfield.models.replay import Replay
from meanfield.results.report import Report, facts
from meanfield.results.run_report import problem_rows, run_report
from meanfield.results.study_reports import full_report, replay_report, sweep_report
from meanfield.runs import Run
from meanfield.store.provenance import parsed_versions, read_provenance
from meanfield.store.result_file import load
from meanfield.store.result_hash import result_hash, run_results
from meanfield.store.sweep_file import is_sweep, load_sweep
from meanfield.store.wall_time import seconds_by_phase
from meanfield.studies.sweep_results import Sweep
from meanfield.verification import Check, Verification, verify

_MOST_VALUES = 8
# Kind of a study -> attributes that `info` lists, and the name of its runs.
_STUDIES = {
    "comparison": (("metric", "seed"), "particle systems"),
    "ensemble": (("seed", "tolerance"), "runs"),
    "diagram": (("title", "status", "seed", "tolerance"), "runs"),
}


def info_command(options: argparse.Namespace) -> int:
    """Contents and origin of a file, as text, JSON or CSV."""
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
    """Print the report of a sweep; status 1 if the hash of a run is not that of the index."""
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
    """All labels if they are few, else the first two and the last."""
    few = len(labels) <= _MOST_VALUES
    return ", ".join(labels) if few else f"{labels[0]}, {labels[1]}, ..., {labels[-1]}"


def _read(path: str) -> tuple[Report, dict[str, Any], str]:
    """Report of a file, its attributes, and the hash of the results that it holds."""
    result = load(path, states="none")
    assert not isinstance(result, Sweep)  # `info_command` reads sweeps
    if not isinstance(result, Run):
        attributes, digest = read_provenance(path)
        pairs, report = _described(result, path)
        origin = provenance_report(attributes, digest).data
        data = {"kind": result.kind, **result.attributes, **report.data, "provenance": origin}
        blocks = [facts([("kind", result.kind), *pairs]), *report.blocks]
        return Report(blocks, data, report.columns), attributes, digest
    digest = result_hash(run_results(result.scaled_time, result.moments, result.observables))
    report, attributes = run_report(result), result.attributes
    origin = provenance_report(attributes, digest).data
    return replace(report, data={**report.data, "provenance": origin}), attributes, digest


def provenance_report(attributes: Mapping[str, Any], digest: str) -> Report:
    """Origin of a file; facts that an older file lacks are left out, or null in JSON."""
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


def _described(result: Any, path: str) -> tuple[list[tuple[str, Any]], Report]:
    """Facts and report of a study; its tables only once it is finished."""
    stored, kind = result.attributes, result.kind
    names, tasks = _STUDIES.get(kind, ((), ""))
    pairs = [(name, stored[name]) for name in names if stored.get(name, "") != ""]
    if kind in ("diagram", "diagnosis", "replay"):
        origin = f"{stored.get('created')} by meanfield {stored.get('meanfield_version')}"
        pairs.append(("created", origin))
    else:
        sizes = [("tokens", ", ".join(map(str, result.tokens)))] if tasks else []
        pairs = [*problem_rows(stored), *sizes, *pairs]
    if not tasks:
        return pairs, replay_report(result, path) if isinstance(result, Replay) else result.report()
    finished = result.finished
    pairs.append(("finished", f"{finished.sum()} of {finished.size * result.runs} {tasks}"))
    # The facts have the title already.
    report = full_report(replace(result, attributes={**stored, "title": ""}), path)
    return pairs, report if finished.all() else replace(report, blocks=[])


def verify_command(options: argparse.Namespace) -> int:
    """Check a stored run against the laws that it must obey; status 1 if it breaks one."""
    verification = verify(
        options.file,
        progress=lambda checks: with_progress(
            checks, len(checks), "verify", note=lambda check: check.name, first_line=2.0
        ),
    )
    answer(options, verification_report(verification, options.file))
    return 0 if verification.passed else 1


def verification_report(verification: Verification, path: str) -> Report:
    """Report of all checks, in their order."""
    data = {
        "file": str(path),
        "passed": verification.passed,
        "failed": [check.name for check in verification.failed],
        "checks": [_row(check) for check in verification.checks],
    }
    return Report([str(verification)], data)


def _row(check: Check) -> dict[str, Any]:
    names = ("name", "passed", "measured", "allowed", "note")
    return {name: getattr(check, name) for name in names}
