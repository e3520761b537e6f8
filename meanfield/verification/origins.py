"""Checks of where a run comes from: whether it is complete, unchanged, and of its problem."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from meanfield.outputs.result_hash import result_hash, run_results
from meanfield.runs import known_rates, problem_attributes
from meanfield.status import COMPLETED
from meanfield.verification.result import Check, measured, not_applicable, told
from meanfield.verification.subject import Subject

# Far above what another version of a library changes.
_SAME = 1e-9
_FACTS = (
    "manifold", "kernel", "beta", "normalized", "strength", "diffusivity", "paper_time_factor",
    "normalization", "heads", "mask", "terms", "layers", "frequencies", "stages", "growth_rate_max",
)  # fmt: skip


def known(subject: Subject) -> Iterator[Check]:
    """Checks of status, hash, problem and growth rates."""
    status = subject.run.status
    yield told("complete", status == COMPLETED, f"status: {status}")
    yield unchanged(subject)
    yield facts(subject)
    yield rates(subject)


def unchanged(subject: Subject) -> Check:
    """The numbers are those that were written."""
    run, name = subject.run, "hash"
    stored = run.attributes.get("result_hash")
    if stored is None:
        return not_applicable(name, "the run was not read from a finished file")
    found = result_hash(run_results(run.scaled_time, run.moments, run.observables))
    note = f"hash of the results {found[:8]}, written {str(stored)[:8]}"
    return told(name, found == stored, note)


def facts(subject: Subject) -> Check:
    """What the file says of the problem is what its run file makes."""
    name = "problem"
    if subject.problem is None:
        return not_applicable(name, subject.no_problem)
    expected, given = problem_attributes(subject.problem), subject.run.attributes
    wrong = [
        key
        for key in _FACTS
        if key in expected and key in given and not _same(expected[key], given[key])
    ]
    note = "its facts beside the run file are those of the problem"
    if wrong:
        told_ = ", ".join(f"{key} = {given[key]}, expected {expected[key]}" for key in wrong[:3])
        note = f"beside the run file stands {told_}"
    return told(name, not wrong, note)


def _same(expected: object, given: object) -> bool:
    if isinstance(expected, str) or isinstance(given, str):
        return str(expected) == str(given)
    return bool(np.isclose(float(expected), float(given), rtol=_SAME, atol=0, equal_nan=True))  # type: ignore[arg-type]


def rates(subject: Subject) -> Check:
    """Stored growth rates are those of the problem."""
    name = "growth rates"
    if subject.problem is None:
        return not_applicable(name, subject.no_problem)
    expected, stored = known_rates(subject.problem), subject.run.growth_rates
    if len(expected) <= 1 and len(stored) <= 1:
        return not_applicable(name, "none are known in closed form")
    if expected.shape != stored.shape:
        note = f"{len(stored)} are stored, the problem has {len(expected)}"
        return told(name, False, note)
    worst = float(np.abs(expected - stored).max() / max(float(np.abs(expected).max()), 1e-300))
    return measured(
        name, worst, _SAME,
        "stored against those of the problem, relative to the largest; other versions of libraries",
    )  # fmt: skip
