"""Checks of where a run comes from: whether it is complete, unchanged, and of its problem."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from meanfield.runs import known_rates, problem_attributes
from meanfield.store.output_file import seal_of
from meanfield.store.result_hash import result_hash, run_results
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
    yield told("complete", subject.run.finished, f"status: {subject.run.status}")
    yield unchanged(subject)
    yield facts(subject)
    yield rates(subject)


def sealed(path: str | os.PathLike[str]) -> Check:
    """No other program has written into the file: any that does removes the seal."""
    note = "the checksum at the end of the file fits all that it holds"
    if seal_of(path):
        return told("seal", True, note)
    note = "the file has no checksum at its end: another program has written into it"
    return told("seal", False, note)


def unchanged(subject: Subject) -> Check:
    """The numbers are those that were written."""
    run, name = subject.run, "hash"
    stored = run.attributes.get("result_hash")
    if stored is None and run.given_problem is not None:
        return not_applicable(name, "the run was not read from a file")
    if stored is None:
        return told(name, False, "the file has no result_hash, which finished runs have")
    digest = result_hash(run_results(run.scaled_time, run.moments, run.observables))
    note = f"hash of the results {digest[:8]}, written {str(stored)[:8]}"
    return told(name, digest == stored, note)


def facts(subject: Subject) -> Check:
    """The file's facts on the problem agree with its run file."""
    name, run = "problem", subject.run
    if run.given_problem is None and "config" not in run.attributes:
        return told(name, False, "the file holds no run file: attribute config is missing")
    if subject.problem is None:
        return not_applicable(name, subject.no_problem)
    expected, attributes = problem_attributes(subject.problem), run.attributes
    wrong = [
        key
        for key in _FACTS
        if key in expected and key in attributes and not _same(expected[key], attributes[key])
    ]
    note = "its facts beside the run file are those of the problem"
    if wrong:
        listing = ", ".join(
            f"{key} = {attributes[key]}, expected {expected[key]}" for key in wrong[:3]
        )
        note = f"beside the run file stands {listing}"
    return told(name, not wrong, note)


def _same(expected: object, value: object) -> bool:
    if isinstance(expected, str) or isinstance(value, str):
        return str(expected) == str(value)
    return bool(np.isclose(float(expected), float(value), rtol=_SAME, atol=0, equal_nan=True))  # type: ignore[arg-type]


def rates(subject: Subject) -> Check:
    """Stored growth rates equal the problem's."""
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
