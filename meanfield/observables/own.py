"""Observables of the user's own: functions of the measure, by name."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from meanfield.arguments import checked, describe
from meanfield.arrays import ModalArray
from meanfield.measures import Density, Measure
from meanfield.observables.observable import Axis, Observable, Values
from meanfield.observables.table import OBSERVABLES
from meanfield.problem import Problem

Own = Callable[[Density | Measure], Any]
"""A user's observable: what it answers of a measure is a number or a one-dimensional array."""

# Other words than observables that stand beside them in files, tables and datasets.
_RESERVED = {
    *("time", "moments", "growth_rates", "representation", "stability", "events", "diagnostics"),
    *("density", "measure", "degree", "order", "kind", "cluster", "axis", "cosine", "head"),
    *("label", "label_order", "label_moments", "label_weight"),
}
_RESERVED_PREFIXES = ("clusters_", "diagnostics_")


@checked
def observable(
    name: str, function: Callable[[Density | Measure], Any], long_name: str | None = None
) -> Observable:
    """Observable of your own: `function` of the `Density` or `Measure` at every saved time.

    - name: what it is called in `run.observables` and in files: letters, digits and underscores.
    - function (callable (measure) -> number or ndarray, shape (n,)): the state is a density at some
      times and points at others, if the representation is "auto": see `Density` and `Measure` for
      what both have. NaN where there is nothing to measure. Lengths of arrays may change in time;
      shorter ones are padded with NaN.
    - long_name: axis label, by default the name.

    ValueError if the name is taken, or cannot name a dataset. TypeError if the name is no string,
    or the function none.

    >>> import meanfield as mf
    >>> def spread(measure):
    ...     return 1.0 - abs(measure.moments(1)[1])
    >>> problem = mf.Problem(mf.Circle(), mf.linear(), mf.USA, initial=mf.von_mises_fisher(2.0))
    >>> run = mf.simulate(problem, 1.0, save=2, observables=[mf.observable("spread", spread)])
    >>> run.observables["spread"][0].round(6)
    np.float64(0.302225)
    """
    return of_own_kind(Observable(name, long_name or name, _OfMeasure(name, function)))


def entry_axis(name: str) -> Axis:
    """Axis of the arrays of an observable, in files and datasets."""
    axis = OBSERVABLES[name].axis if name in OBSERVABLES else None
    return axis or Axis(name + _ENTRY)


_ENTRY = "_entry"


@dataclass(frozen=True)
class _OfMeasure:
    """A user's function among observables; pickles if it does."""

    name: str
    function: Own

    def __call__(self, problem: Problem, measure: Density | Measure, moments: ModalArray) -> Values:
        return {self.name: self.function(measure)}


def of_own_kind(own: Observable) -> Observable:
    """An observable of the user's own, if its name may stand beside ours."""
    name = own.name
    if not isinstance(name, str):
        raise TypeError(f"observable: name must be a string, got {describe(name)}.")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise ValueError(
            f"{name!r} cannot name an observable: take letters, digits and underscores, a letter "
            "first."
        )
    taken = name in {*OBSERVABLES, *_RESERVED} or name.startswith(_RESERVED_PREFIXES)
    if taken or name.endswith(_ENTRY):
        raise ValueError(f"observable {name!r}: this name is taken, choose another.")
    return own


def own_values(name: str, result: Values) -> Values:
    """Checked result of a user's observable: numbers under its name."""
    if not isinstance(result, dict) or [*result] != [name]:
        raise TypeError(f"it gave {describe(result)}, expected {{{name!r}: number or array}}")
    values = np.asarray(result[name])
    if values.dtype.kind not in "biuf" or values.ndim > 1:
        raise TypeError(
            f"it gave {describe(result[name])}, expected a real number or a one-dimensional array "
            "of them"
        )
    if np.any(np.isinf(values)):
        raise ValueError(
            f"it gave {describe(result[name])}, expected finite numbers, or NaN for none"
        )
    # A copy: the user's array may be one that is filled anew at every call.
    return {name: np.array(values, dtype=np.float64)}
