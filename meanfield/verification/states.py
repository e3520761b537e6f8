"""Checks of stored data: origin, times, masses, symmetry, moments, resolution, fluctuations."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from meanfield.arrays import EPS
from meanfield.bases.coordinates import coordinates
from meanfield.carriers.spectra import TRANSFORM_NOISE
from meanfield.carriers.step_limits import GROWN
from meanfield.carriers.symmetry import symmetry_of
from meanfield.finite.results import Fluctuations
from meanfield.measures import Density, LabelledDensity, Measure
from meanfield.observables import OBSERVABLES, observe
from meanfield.observables.resolution import resolution
from meanfield.problem_facts import growth_rates_in_attributes, problem_attributes
from meanfield.store.locks import seal_of
from meanfield.store.result_hash import result_hash, run_results
from meanfield.verification.checked_run import (
    ROUNDING,
    Check,
    CheckedRun,
    NotApplicable,
    check,
    measured,
    verdict,
)

# Measures accept weights whose sum differs from 1 by this, and normalise them.
_MASS = 1e-9
# Tolerance of observables: the same code computes them, maybe on another machine.
_SAME = 1e-11


@check("times")
def times(checked: CheckedRun) -> Check:
    """Saved times increase, from 0 or later."""
    t = checked.run.scaled_time
    sound = len(t) > 0 and bool(np.all(np.isfinite(t))) and t[0] >= 0.0
    sound = sound and bool(np.all(np.diff(t) > 0.0))
    return verdict(sound, f"{len(t)} saved times, finite, not negative and increasing")


@check("finite")
def finite(checked: CheckedRun) -> Check:
    """Moments, order parameter and counts are finite; no observable is infinite; rows are equal."""
    run = checked.run
    wrong = [] if np.all(np.isfinite(run.moments)) else ["moments"]
    for name in ("order_parameter", "clusters/count"):
        if name in run.observables and not np.all(np.isfinite(run.observables[name])):
            wrong.append(name)
    for name, values in run.observables.items():
        if np.any(np.isinf(values)):
            wrong.append(name)
    rows = {len(values) for values in (run.moments, *run.observables.values())}
    if rows != {len(run.scaled_time)}:
        wrong.append("rows")
    note = f"not so: {', '.join(wrong)}" if wrong else "moments and observables, a row a time"
    return verdict(not wrong, note)


@check("mass")
def masses(checked: CheckedRun) -> Check:
    """The mass is 1, weights and densities are not negative, points lie on the manifold."""
    run, worst, what = checked.run, 0.0, "mass 1"
    if not checked.saves:
        raise NotApplicable(checked.no_states)
    for save in checked.saves:
        for defect, of in _defects(checked, save):
            if not defect <= worst:
                worst, what = defect, f"{of} at t = {run.time[save]:.6g}"
    return measured(
        worst, 1.0,
        f"worst defect over what is allowed ({what}): |mass - 1| and |x| - 1 to 1e-9, densities "
        "down to twice the error of all their degrees together",
    )  # fmt: skip


def _defects(checked: CheckedRun, save: int) -> Iterator[tuple[float, str]]:
    """Defects of a saved state over their bounds, and their names."""
    measure, space = checked.run.measures[save], checked.space
    if isinstance(measure, LabelledDensity):
        excess = float(np.abs(measure.parts[:, 0] - 1.0).max())
        yield excess / _MASS, "mass of a label"
        return
    if isinstance(measure, Density):
        grid = space.grid(measure.max_degree)
        yield abs(complex(measure.coefficients[0]) - 1.0) / _MASS, "mass"
        lowest = float(grid.to_nodal(measure.coefficients).min())
        # Change of a value by errors of all degrees together.
        error = checked.grown(save) * float(space.largest_sizes(measure.max_degree).sum())
        yield -lowest / (2.0 * error), f"density {lowest:.2g}"
        return
    if isinstance(measure, Measure):
        yield abs(float(measure.mass.sum()) - 1.0) / _MASS, "mass"
        yield (0.0 if measure.mass.min() >= 0.0 else np.inf), "negative weight"
        yield (0.0 if np.all(np.isfinite(measure.points)) else np.inf), "point"
        if space.is_sphere and space.point_shape and not space.has_rings:
            lengths = np.sqrt((measure.points**2).sum(axis=1))
            yield float(np.abs(lengths - 1.0).max()) / _MASS, "point off the sphere"


@check("moments possible")
def possible(checked: CheckedRun) -> Check:
    """No moment is larger than the moment of a single point, and the mass is 1."""
    space = checked.space
    if not space.is_sphere:
        raise NotApplicable("in R^d moments have no bound")
    sizes = np.array([space.sizes_by_degree(moments) for moments in checked.moments])
    excess = sizes / space.largest_sizes(sizes.shape[1] - 1)
    excess[:, 0] = 1.0 + np.abs(sizes[:, 0] - 1.0)
    allowed = max((checked.grown(save) for save in range(len(sizes))), default=0.0)
    excess_largest = float(excess.max(initial=0.0)) - 1.0
    return measured(
        max(excess_largest, 0.0), allowed,
        "excess over the moments of a single point, and |m_0 - 1|; errors of steps, in tolerances, "
        "may grow to 100",
    )  # fmt: skip


@check("moments")
def recomputed(checked: CheckedRun) -> Check:
    """Stored moments equal the moments of the stored states."""
    run, space = checked.run, checked.space
    if not checked.saves:
        raise NotApplicable(checked.no_states)
    worst, allowed = 0.0, ROUNDING
    for save in checked.saves:
        measure, moments = run.measures[save], checked.moments[save]
        if measure is None:
            continue
        degree = space.degree_of(moments)
        sizes = space.sizes_by_degree(measure.moments(degree) - moments)
        unit = space.largest_sizes(degree) if space.is_sphere else np.ones(len(sizes))
        far = 1.0
        if isinstance(measure, Measure):
            far = max(1.0, float(np.abs(measure.points).max()))
        # Rounding of an angle theta moves e^{ik theta} by up to k |theta| eps.
        unit_error = ROUNDING if space.is_sphere else ROUNDING * far
        allowed = max(allowed, unit_error + 4 * EPS * degree * far)
        worst = max(worst, float((sizes / unit).max()))
    return measured(
        worst, allowed,
        f"stored against those of the stored states, {len(checked.saves)} of "
        f"{len(run.scaled_time)} saves; rounding of sums",
    )  # fmt: skip


@check("observables")
def observables(checked: CheckedRun) -> Check:
    """Stored observables agree with the stored states; `energies.value` checks the energy."""
    run, _ = checked.run, checked.problem
    ours = {key: key.split("/")[0] for key in run.observables if key.split("/")[0] in OBSERVABLES}
    worst, what = 0.0, "none differs"
    for save, measure in enumerate(run.measures):
        problem, moments = run.problem_at(save), checked.moments[save]
        values: dict[str, Any] = {"order_parameter": problem.manifold.order_parameter(moments)}
        if measure is not None and save in checked.sample:
            values |= observe(problem, measure, moments, sorted(set(ours.values())))
        if isinstance(measure, LabelledDensity):
            values["label_order"] = measure.label_order
        for key in values.keys() & run.observables.keys() - {"energy"}:
            off = _difference(run.observables[key][save], values[key])
            if not off <= worst:
                worst, what = off, f"{key} at t = {run.time[save]:.6g} differs most"
    own = sorted(run.observables.keys() - ours.keys() - {"label_order"})
    beside = f"; not {', '.join(own)}, whose functions are not stored" if own else ""
    return measured(
        worst, _SAME,
        f"stored against those of the stored states, {len(checked.sample)} of "
        f"{len(run.scaled_time)} saves, elsewhere the order parameter ({what}){beside}; rounding"
        f"{checked.sample_note}",
    )  # fmt: skip


def _difference(stored: Any, value: Any) -> float:
    """Largest difference, relative to numbers above 1; infinite if NaNs are at other places."""
    stored, value = np.atleast_1d(stored), np.atleast_1d(value)
    if len(stored) < len(value):
        return np.inf
    # Files pad rows with NaN to the longest.
    padded = np.full(stored.shape, np.nan)
    padded[: len(value)] = value
    if not np.array_equal(np.isnan(stored), np.isnan(padded)):
        return np.inf
    size = np.maximum(1.0, np.abs(padded))
    return float(np.nanmax(np.abs(stored - padded) / size, initial=0.0))


@check("start")
def start(checked: CheckedRun) -> Check:
    """The first moments equal the initial law's, unless it draws tokens."""
    run, problem = checked.run, checked.problem
    if not len(run.scaled_time) or run.scaled_time[0] != 0.0:
        raise NotApplicable("time 0 was not saved")
    if problem.has_labels:
        raise NotApplicable("the law is one of labels")
    try:
        law = problem.initial_measure()
    except (ValueError, OSError) as error:
        raise NotApplicable(str(error).removesuffix(".")) from error
    if isinstance(law, Density) and run.representation[0] == "particles":
        raise NotApplicable("tokens were drawn from the law")
    space, first = checked.space, checked.moments[0]
    degree = space.degree_of(first)
    sizes = space.sizes_by_degree(law.moments(degree) - first)
    unit = space.largest_sizes(degree) if space.is_sphere else np.ones(len(sizes))
    allowed = checked.grown(0) if run.representation[0] == "characteristics" else 10 * ROUNDING
    allowed += GROWN * (checked.options.perturb or 0.0)
    return measured(
        float((sizes / unit).max()), allowed,
        "first moments against those of the initial law; rounding, of nodes 100 tolerances",
    )  # fmt: skip


@check("symmetry")
def symmetry(checked: CheckedRun) -> Check:
    """Moments that the symmetry of the start forbids stay 0, up to rounding or errors of cells."""
    run, problem = checked.run, checked.problem
    if len(run.scaled_time) < 2:
        raise NotApplicable("one saved time")
    if not checked.space.has_series:
        raise NotApplicable("moments up to the mean vector show none")
    group = symmetry_of(problem, checked.options)
    if group is None:
        raise NotApplicable("the start has none that the problem keeps")
    space, worst, where = checked.space, 0.0, 0
    for save, moments in enumerate(checked.moments):
        nodes = run.representation[save] == "characteristics"
        allowed = GROWN * checked.tolerance_at(save) if nodes else ROUNDING
        sizes = space.sizes_by_degree(moments - group.project(moments))
        share = float((sizes / space.largest_sizes(len(sizes) - 1)).max()) / allowed
        if share > worst:
            worst, where = share, save
    return measured(
        worst, 1.0,
        f"{group.summary}; what it forbids of moments over what is allowed, at t = "
        f"{run.time[where]:.6g}: rounding, of nodes {GROWN:g} tolerances",
    )  # fmt: skip


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
    """The mean error of the cells of characteristics is below the tolerance."""
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
    """Densities and moments reach the degree of the kernel."""
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


# Relative difference of facts, far above changes between versions of libraries.
_SAME_FACT = 1e-9
_FACTS = (
    "manifold", "kernel", "beta", "normalized", "strength", "diffusivity", "paper_time_factor",
    "normalization", "heads", "mask", "terms", "layers", "frequencies", "stages", "growth_rate_max",
)  # fmt: skip


@check("seal")
def sealed(path: str | os.PathLike[str]) -> Check:
    """No other program has written into the file, which would remove its seal."""
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
    """The stored numbers have the stored hash."""
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
    """The file's facts of the problem agree with its run file."""
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
    return bool(np.isclose(float(expected), float(value), rtol=_SAME_FACT, atol=0, equal_nan=True))  # type: ignore[arg-type]


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
        worst, _SAME_FACT,
        "stored against those of the problem, relative to the largest; other versions of libraries",
    )  # fmt: skip


# Rounding of sums over nodes; relative errors of covariances by steps and truncation; errors of
# the limit, which may be coarser than the run.
_FLUCTUATION_ROUNDING = 1e-11
_SHARE = 1e-8
_LIMIT = 1e-6


def fluctuation_checks(checked: CheckedRun) -> Iterator[Callable[[], Check]]:
    """Checks of the covariance, its start and the limit; none without fluctuations."""
    fluctuations = checked.run.fluctuations
    if fluctuations is None or not fluctuations.resolved.any():
        return
    yield partial(spread, fluctuations)
    problem = checked.problem_or_none
    initial = None if problem is None else problem.initial_measure()
    if fluctuations.times[0] == 0.0 and isinstance(initial, Density):
        yield partial(beginning, checked, fluctuations, initial)
    carried = [each == "density" for each in checked.run.representation]
    rows = fluctuations.resolved & np.array(carried)
    if rows.any():
        yield partial(limits, checked, fluctuations, rows)


@check("fluctuations: covariance")
def spread(fluctuations: Fluctuations) -> Check:
    """Covariances are symmetric and positive semidefinite."""
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
    """Tokens begin independent: C = int Y Y^T dmu_0 - m m^T, and the shift is 0."""
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
        _FLUCTUATION_ROUNDING,
        "covariance and shift against those of independent tokens of the initial law",
    )  # fmt: skip


@check("fluctuations: limit")
def limits(checked: CheckedRun, fluctuations: Fluctuations, rows: npt.NDArray[np.bool_]) -> Check:
    """The limit of the fluctuations equals the run."""
    moments = checked.space.resize(checked.moments[rows], fluctuations.degree)
    return measured(
        float(np.abs(fluctuations.limit[rows] - moments).max()), _LIMIT,
        "their limit against the stored moments of densities",
    )  # fmt: skip
