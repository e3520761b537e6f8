"""Checks of resolution: what truncation leaves out, against the tolerance of the run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from meanfield.carriers.spectra import TRANSFORM_NOISE
from meanfield.measures import Density
from meanfield.observables.resolution import resolution
from meanfield.verification.result import Check, measured, not_applicable
from meanfield.verification.subject import Subject


def resolved(subject: Subject) -> Iterator[Check]:
    """Checks of tails, cells and degrees."""
    yield tails(subject)
    yield cells(subject)
    yield degrees(subject)


def tails(subject: Subject) -> Check:
    """Spectral tails of densities, stored and computed again, are below the tolerance."""
    name, run = "tail", subject.run
    if subject.problem is None:
        return not_applicable(name, subject.no_problem)
    stored = run.diagnostics.get("tail", np.full(len(run.scaled_time), np.nan))
    values = [float(each) for each in stored if np.isfinite(each)]
    for save in subject.kept:
        problem, measure = subject.problem_at(save), run.measures[save]
        if problem is not None and isinstance(measure, Density):
            values.append(resolution(problem, measure))
    if not values:
        return not_applicable(name, "points have none")
    return measured(
        name, max(values), max(subject.tolerance, TRANSFORM_NOISE),
        "what truncation leaves out, stored and of the stored densities; the run's tolerance",
    )  # fmt: skip


def cells(subject: Subject) -> Check:
    """No cell of characteristics leaves more than the tolerance, in the mean."""
    name, run = "cells", subject.run
    error, count = (run.diagnostics.get(each) for each in ("error", "cells"))
    if error is None or count is None or not np.any(np.isfinite(error / count)):
        return not_applicable(name, "no characteristics")
    allowed = max(subject.tolerance, subject.cell_tolerance)
    return measured(
        name, float(np.nanmax(error / count)), allowed,
        "what label cells do not resolve, the mean over cells; the tolerance of each",
    )  # fmt: skip


def degrees(subject: Subject) -> Check:
    """Densities and moments reach the degree that carries the kernel."""
    name, run = "degree", subject.run
    if subject.problem is None:
        return not_applicable(name, subject.no_problem)
    if subject.space.family == "vectors":
        return not_applicable(
            name, "moments end with the mean vector: tokens are summed over pairs"
        )
    needed = subject.problem.kernel_degree
    reached = min((subject.space.degree_of(each) for each in subject.moments), default=needed)
    carried = run.diagnostics.get("degree", np.full(1, np.nan))
    carried = carried[np.isfinite(carried)]
    reached = min([reached, *(int(each) for each in carried)])
    return measured(
        name, float(needed - reached), 0.0,
        f"degree of the kernel, {needed}, beyond that of stored moments and densities, {reached}",
    )  # fmt: skip
