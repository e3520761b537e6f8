"""All checks of a run, in the order of the table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from meanfield.arguments import checked
from meanfield.engines.threads import one_blas_thread
from meanfield.progress import followed, wants_bar
from meanfield.runs import Run
from meanfield.store.result_file import load
from meanfield.verification import energies, integrated, motions, states
from meanfield.verification.checked_run import Check, CheckedRun, Verification

CHECKS: tuple[Callable[[CheckedRun], Check], ...] = (
    states.complete,
    states.unchanged,
    states.facts,
    states.rates,
    states.times,
    states.finite,
    states.masses,
    states.possible,
    states.recomputed,
    states.observables,
    states.start,
    motions.speed,
    motions.torque,
    motions.mean_angle,
    motions.order,
    energies.value,
    energies.direction,
    energies.dissipation,
    energies.balance,
    energies.path,
    energies.action,
    states.symmetry,
    states.tails,
    states.cells,
    states.degrees,
    integrated.integrated,
)
"""Checks of every run, in the order of the table."""


class Checks:
    """Checks of a run: of its file, of every run, and of fluctuations; each is made when needed."""

    def __init__(self, run: Run, path: str | os.PathLike[str] | None) -> None:
        checked_run = CheckedRun(run)
        self._makers: list[Callable[[], Check]] = [
            *([] if path is None else [partial(states.sealed, path)]),
            *(partial(check, checked_run) for check in CHECKS),
            *states.fluctuation_checks(checked_run),
        ]

    def __len__(self) -> int:
        return len(self._makers)

    def __iter__(self) -> Iterator[Check]:
        return (make() for make in self._makers)


@checked
def verify(
    run: Run | str | os.PathLike[str],
    *,
    progress: bool | Callable[[Checks], Iterable[Check]] | None = None,
) -> Verification:
    """Check a run by all laws that apply to its problem.

    - File: complete, unchanged, agrees with its problem.
    - States: times, masses, moments, observables, resolution, symmetry.
    - Motion: speeds; int x ^ v dmu = 0 and the mean angle for symmetric weights; some intervals are
      integrated again.
    - Energy: direction; dE/dt = int Z |v|^2 dmu / strength;
      W_2(mu_s, mu_t)^2 <= (t - s) (E_t - E_s) / min Z.

    A check that does not apply gives the reason. Large runs are checked at a sample of their saves.

    Parameters
    ----------
    run : Run or path
        A run, or its file. States that are not stored or loaded are not checked.
    progress : bool or callable (checks) -> checks, optional
        Show a bar, by default in notebooks; or pass the checks through the callable;
        `len(checks)` is their number.

    Returns
    -------
    Verification
        `passed`, and a `Check` for each name; `print` shows a table.

    Raises
    ------
    ValueError
        If the path is no file of a run, or the file is damaged.

    Examples
    --------
    >>> import meanfield as mf
    >>> law = mf.perturbed_uniform([[3, 0.1, 0.0]])
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA, law)
    >>> verification = verify(mf.simulate(problem, until=6.0, save=7))
    >>> verification.passed, verification["energy balance"].result
    (True, 'pass')
    """
    path = None if isinstance(run, Run) else run
    stored = run if isinstance(run, Run) else load(run)
    if not isinstance(stored, Run):
        raise ValueError(
            f"{run} holds a study or a replay, and no times of one run: verify a file of meanfield "
            "run."
        )
    checks = Checks(stored, path)
    stream: Iterable[Check] = checks
    if callable(progress):
        stream = progress(checks)
    elif wants_bar(progress):
        stream = followed(checks, len(checks), "verify", note=lambda check: check.name)
    # As in runs: on a busy machine several threads make sums over pairs many times slower.
    with one_blas_thread():
        return Verification(tuple(stream))
