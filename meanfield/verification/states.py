"""Checks of what is stored: times, numbers, masses, symmetry, and moments against the states."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from meanfield.arrays import EPS
from meanfield.carriers.step_limits import GROWN
from meanfield.carriers.symmetry import symmetry_of
from meanfield.measures import Density, LabelledDensity, Measure
from meanfield.observables import OBSERVABLES, observe
from meanfield.verification.checked_run import ROUNDING, CheckedRun
from meanfield.verification.result import Check, NotApplicable, check, measured, verdict

# Weights of a measure are read, and made to add up, within this.
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
    """Moments are numbers, and so are the observables that always are."""
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
    """Mass 1; weights not negative, points where they belong, densities not below 0."""
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
    """Defects of a saved state over what is allowed, and their names."""
    measure, space = checked.run.measures[save], checked.space
    if isinstance(measure, LabelledDensity):
        excess = float(np.abs(measure.parts[:, 0] - 1.0).max())
        yield excess / _MASS, "mass of a label"
        return
    if isinstance(measure, Density):
        grid = space.grid(measure.max_degree)
        yield abs(complex(measure.coefficients[0]) - 1.0) / _MASS, "mass"
        lowest = float(grid.to_nodal(measure.coefficients).min())
        # What errors of all degrees together move a value by.
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
    """No moment is larger than that of a single point, and the mass is 1."""
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
    """Largest difference, relative to numbers above 1; infinite where one alone is a number."""
    stored, value = np.atleast_1d(stored), np.atleast_1d(value)
    if len(stored) < len(value):
        return np.inf
    # Rows of files are as long as the longest.
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


# Moments of points are sums of unit terms, known to rounding.
_ROUNDING = 1e-12


@check("symmetry")
def symmetry(checked: CheckedRun) -> Check:
    """Moments that the symmetry of the start forbids stay rounding, but for errors of cells."""
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
        allowed = GROWN * checked.tolerance_at(save) if nodes else _ROUNDING
        sizes = space.sizes_by_degree(moments - group.project(moments))
        share = float((sizes / space.largest_sizes(len(sizes) - 1)).max()) / allowed
        if share > worst:
            worst, where = share, save
    return measured(
        worst, 1.0,
        f"{group.summary}; what it forbids of moments over what is allowed, at t = "
        f"{run.time[where]:.6g}: rounding, of nodes {GROWN:g} tolerances",
    )  # fmt: skip
