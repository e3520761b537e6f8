"""Checks of symmetries: what the start and the problem share, a run keeps."""

from __future__ import annotations

from collections.abc import Iterator

from meanfield.carriers.step_limits import GROWN
from meanfield.carriers.symmetry import symmetry_of
from meanfield.verification.result import Check, measured, not_applicable
from meanfield.verification.subject import Subject

# Moments of points are sums of unit terms, known to rounding.
_ROUNDING = 1e-12


def kept(subject: Subject) -> Iterator[Check]:
    """A check of the symmetry of the start: moments that it forbids stay rounding.

    Nodes of characteristics are chosen without regard to it: theirs are errors of cells.
    """
    yield _kept(subject)


def _kept(subject: Subject) -> Check:
    name, run, problem = "symmetry", subject.run, subject.problem
    if problem is None:
        return not_applicable(name, subject.no_problem)
    if len(run.scaled_time) < 2:
        return not_applicable(name, "one saved time")
    if subject.space.family == "vectors":
        return not_applicable(name, "moments up to the mean vector tell of none")
    symmetry = symmetry_of(problem, subject.options)
    if symmetry is None:
        return not_applicable(name, "the start has none that the problem keeps")
    space, worst, where = subject.space, 0.0, 0
    for save, moments in enumerate(subject.moments):
        nodes = run.representation[save] == "characteristics"
        allowed = GROWN * subject.tolerance_at(save) if nodes else _ROUNDING
        sizes = space.sizes_by_degree(moments - symmetry.project(moments))
        share = float((sizes / space.largest_sizes(len(sizes) - 1)).max()) / allowed
        if share > worst:
            worst, where = share, save
    return measured(
        name, worst, 1.0,
        f"{symmetry.summary}; what it forbids of moments over what is allowed, at t = "
        f"{run.time[where]:.6g}: rounding, of nodes {GROWN:g} tolerances",
    )  # fmt: skip
