"""Checks of symmetries: what the start and the problem share, a run keeps."""

from __future__ import annotations

from meanfield.carriers.step_limits import GROWN
from meanfield.carriers.symmetry import symmetry_of
from meanfield.verification.checked_run import CheckedRun
from meanfield.verification.result import Check, NotApplicable, check, measured

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
