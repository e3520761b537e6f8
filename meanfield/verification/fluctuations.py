"""Checks of fluctuations of N tokens, where a run has some."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from meanfield.bases.coordinates import coordinates
from meanfield.finite.results import Fluctuations
from meanfield.measures import Density
from meanfield.verification.checked_run import CheckedRun
from meanfield.verification.result import Check, check, measured, verdict

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
