"""Checks of resolution, of fluctuations, and of what a file says of its origin."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from meanfield.bases.coordinates import coordinates
from meanfield.carriers.spectra import TRANSFORM_NOISE
from meanfield.finite.results import Fluctuations
from meanfield.measures import Density
from meanfield.observables.resolution import resolution
from meanfield.problem_facts import growth_rates_in_attributes, problem_attributes
from meanfield.store.locks import seal_of
from meanfield.store.result_hash import result_hash, run_results
from meanfield.verification.checked_run import CheckedRun
from meanfield.verification.result import Check, NotApplicable, check, measured, verdict


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


# Rounding of sums over nodes; what steps and truncation leave in covariances, as shares; and in the
# limit, which tails of influence functions allow to be coarser than the run.
_ROUNDING = 1e-11
_SHARE = 1e-8
_LIMIT = 1e-6


def fluctuation_checks(checked: CheckedRun) -> Iterator[Check]:
    """Checks of the covariance, of its start and of the limit; none without fluctuations."""
    fluctuations = checked.run.fluctuations
    if fluctuations is None or not fluctuations.resolved.any():
        return
    yield spread(fluctuations)
    problem = checked.problem_or_none
    initial = None if problem is None else problem.initial_measure()
    if fluctuations.times[0] == 0.0 and isinstance(initial, Density):
        yield beginning(checked, fluctuations, initial)
    carried = [each == "density" for each in checked.run.representation]
    rows = fluctuations.resolved & np.array(carried)
    if rows.any():
        yield limits(checked, fluctuations, rows)


@check("fluctuations: covariance")
def spread(fluctuations: Fluctuations) -> Check:
    """Covariances are symmetric and not negative in any direction."""
    covariance = fluctuations.real_covariance[fluctuations.resolved]
    if not np.isfinite(covariance).all():
        return verdict(False, "not all of its entries are finite")
    scale = np.abs(covariance).max(axis=(1, 2), initial=1e-300)
    skew = np.abs(covariance - covariance.mT).max(axis=(1, 2))
    least = np.linalg.eigvalsh((covariance + covariance.mT) / 2)[:, 0]
    return measured(
        float((np.maximum(skew, -least) / scale).max()), _SHARE,
        "how far covariances are from symmetric and not negative, a share of their largest entry",
    )  # fmt: skip


@check("fluctuations: start")
def beginning(checked: CheckedRun, fluctuations: Fluctuations, initial: Density) -> Check:
    """Tokens begin independent: C = int Y Y^T dmu_0 - m m^T, and no shift."""
    space, of = checked.space, coordinates(checked.space.dimension, fluctuations.degree)
    grid = space.grid(initial.max_degree + 2 * fluctuations.degree)
    fields = space.resize(of.to_coefficients(np.eye(of.size)), grid.max_degree)
    density = space.resize(initial.coefficients, grid.max_degree)
    fields[:, 0] -= [space.inner(each, density) for each in fields]
    nodal = grid.to_nodal(fields)
    covariance = (grid.weights * grid.to_nodal(density) * nodal) @ nodal.T
    defect = np.abs(fluctuations.real_covariance[0] - covariance).max()
    return measured(
        float(max(defect, np.abs(fluctuations.real_shift[0]).max())),
        _ROUNDING,
        "covariance and shift against those of independent tokens of the initial law",
    )  # fmt: skip


@check("fluctuations: limit")
def limits(checked: CheckedRun, fluctuations: Fluctuations, rows: npt.NDArray[np.bool_]) -> Check:
    """Their limit is the run."""
    moments = checked.space.resize(checked.moments[rows], fluctuations.degree)
    return measured(
        float(np.abs(fluctuations.limit[rows] - moments).max()), _LIMIT,
        "their limit against the stored moments of densities",
    )  # fmt: skip
