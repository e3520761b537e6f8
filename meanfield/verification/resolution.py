"""Checks of resolution: what truncation leaves out, against the tolerance of the run."""

from __future__ import annotations

import numpy as np

from meanfield.carriers.spectra import TRANSFORM_NOISE
from meanfield.measures import Density
from meanfield.observables.resolution import resolution
from meanfield.verification.checked_run import CheckedRun
from meanfield.verification.result import Check, NotApplicable, check, measured


@check("tail")
def tails(checked: CheckedRun) -> Check:
    """Spectral tails of densities, stored and computed again, are below the tolerance."""
    run, _ = checked.run, checked.problem
    stored = run.diagnostics.get("tail", np.full(len(run.scaled_time), np.nan))
    values = [float(each) for each in stored if np.isfinite(each)]
    for save in checked.saves:
        measure = run.measures[save]
        if isinstance(measure, Density):
            values.append(resolution(checked.problem_at(save), measure))
    if not values:
        raise NotApplicable("points have none")
    return measured(
        max(values), max(checked.tolerance, TRANSFORM_NOISE),
        "what truncation leaves out, stored and of the stored densities; the run's tolerance",
    )  # fmt: skip


@check("cells")
def cells(checked: CheckedRun) -> Check:
    """No cell of characteristics leaves more than the tolerance, in the mean."""
    run = checked.run
    error, count = (run.diagnostics.get(each) for each in ("error", "cells"))
    if error is None or count is None or not np.any(np.isfinite(error / count)):
        raise NotApplicable("no characteristics")
    allowed = max(checked.tolerance, checked.cell_tolerance)
    return measured(
        float(np.nanmax(error / count)), allowed,
        "what label cells do not resolve, the mean over cells; the tolerance of each",
    )  # fmt: skip


@check("degree")
def degrees(checked: CheckedRun) -> Check:
    """Densities and moments reach the degree that carries the kernel."""
    run, needed = checked.run, checked.problem.kernel_degree
    if not checked.space.has_series:
        raise NotApplicable("moments end with the mean vector: tokens are summed over pairs")
    reached = min((checked.space.degree_of(each) for each in checked.moments), default=needed)
    carried = run.diagnostics.get("degree", np.full(1, np.nan))
    carried = carried[np.isfinite(carried)]
    reached = min([reached, *(int(each) for each in carried)])
    return measured(
        float(needed - reached), 0.0,
        f"degree of the kernel, {needed}, beyond that of stored moments and densities, {reached}",
    )  # fmt: skip
