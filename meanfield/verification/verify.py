"""All checks of a run, in the order in which they are read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from meanfield.checks import checked
from meanfield.runs import Run
from meanfield.store.result_file import load
from meanfield.verification.drawn import drawn
from meanfield.verification.energies import climbed
from meanfield.verification.integrated import integrated
from meanfield.verification.motions import moved
from meanfield.verification.origins import known, sealed
from meanfield.verification.resolved import resolved
from meanfield.verification.result import Check, Verification
from meanfield.verification.states import stored
from meanfield.verification.subject import Subject
from meanfield.verification.symmetries import kept

CHECKS: tuple[Callable[[Subject], Iterator[Check]], ...] = (
    known,
    stored,
    moved,
    climbed,
    kept,
    resolved,
    integrated,
    drawn,
)
"""What makes checks, in their order."""


@checked
def verify(run: Run | str | os.PathLike[str]) -> Verification:
    """Put a run to all checks that its mathematics allows.

    Whether it is complete, unchanged and of its problem; times, masses, moments and observables of
    the states; some intervals, integrated again from the stored state, for some seconds;
    speeds; int x ^ v dmu = 0 and the mean angle where weights are symmetric; the energy, its
    direction, dE/dt = int Z |v|^2 dmu / strength and W_2(mu_s, mu_t)^2 <= (t - s) (E_t - E_s);
    the symmetry of the start; tails, cells and degrees; fluctuations, where there are some.
    What does not apply says why.

    Parameters
    ----------
    run : Run or path
        A run, or a file of one. States that were not kept or loaded are not looked at.

    Returns
    -------
    Verification
        Truth of all in `passed`, a `Check` each in `checks` and by its name, a table in print.

    Raises
    ------
    ValueError
        If a path leads to no file of a run, or to a damaged one.

    Examples
    --------
    >>> import meanfield as mf
    >>> law = mf.perturbed_uniform([[3, 0.1, 0.0]])
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA, law)
    >>> found = verify(mf.simulate(problem, until=6.0, save=7))
    >>> found.passed, found["energy balance"].result, found["symmetry"].result
    (True, 'pass', 'pass')
    """
    first: tuple[Check, ...] = ()
    if not isinstance(run, Run):
        loaded = load(run)
        if not isinstance(loaded, Run):
            raise ValueError(
                f"{os.fspath(run)} holds a study or a replay, and no times of one run: verify a "
                "file of meanfield run."
            )
        first, run = (sealed(run),), loaded
    subject = Subject(run)
    return Verification((*first, *(check for make in CHECKS for check in make(subject))))
