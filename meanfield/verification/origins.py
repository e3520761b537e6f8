"""Checks of where a run comes from: whether it is complete, unchanged, and of its problem."""

from __future__ import annotations

import os

import numpy as np

from meanfield.problem_facts import growth_rates_in_attributes, problem_attributes
from meanfield.store.output_file import seal_of
from meanfield.store.result_hash import result_hash, run_results
from meanfield.verification.checked_run import CheckedRun
from meanfield.verification.result import Check, NotApplicable, check, measured, verdict

# Far above what another version of a library changes.
_SAME = 1e-9
_FACTS = (
    "manifold", "kernel", "beta", "normalized", "strength", "diffusivity", "paper_time_factor",
    "normalization", "heads", "mask", "terms", "layers", "frequencies", "stages", "growth_rate_max",
)  # fmt: skip


@check("seal")
def sealed(path: str | os.PathLike[str]) -> Check:
    """No other program has written into the file: any that does removes the seal."""
    note = "the checksum at the end of the file fits all that it holds"
    if seal_of(path):
        return verdict(True, note)
    note = "the file has no checksum at its end: another program has written into it"
    return verdict(False, note)


@check("complete")
def complete(checked: CheckedRun) -> Check:
    """The run finished."""
    return verdict(checked.run.finished, f"status: {checked.run.status}")


@check("hash")
def unchanged(checked: CheckedRun) -> Check:
    """The numbers are those that were written."""
    run = checked.run
    stored = run.attributes.get("result_hash")
    if stored is None and run.source_problem is not None:
        raise NotApplicable("the run was not read from a file")
    if stored is None:
        return verdict(False, "the file has no result_hash, which finished runs have")
    digest = result_hash(run_results(run.scaled_time, run.moments, run.observables))
    note = f"hash of the results {digest[:8]}, written {str(stored)[:8]}"
    return verdict(digest == stored, note)


@check("problem")
def facts(checked: CheckedRun) -> Check:
    """The file's facts on the problem agree with its run file."""
    run = checked.run
    if run.source_problem is None and "config" not in run.attributes:
        return verdict(False, "the file holds no run file: attribute config is missing")
    expected, attributes = problem_attributes(checked.problem), run.attributes
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
    return verdict(not wrong, note)


def _same(expected: object, value: object) -> bool:
    if isinstance(expected, str) or isinstance(value, str):
        return str(expected) == str(value)
    return bool(np.isclose(float(expected), float(value), rtol=_SAME, atol=0, equal_nan=True))  # type: ignore[arg-type]


@check("growth rates")
def rates(checked: CheckedRun) -> Check:
    """Stored growth rates equal the problem's."""
    expected, stored = growth_rates_in_attributes(checked.problem), checked.run.growth_rates
    if len(expected) <= 1 and len(stored) <= 1:
        raise NotApplicable("none are known in closed form")
    if expected.shape != stored.shape:
        note = f"{len(stored)} are stored, the problem has {len(expected)}"
        return verdict(False, note)
    worst = float(np.abs(expected - stored).max() / max(float(np.abs(expected).max()), 1e-300))
    return measured(
        worst, _SAME,
        "stored against those of the problem, relative to the largest; other versions of libraries",
    )  # fmt: skip
