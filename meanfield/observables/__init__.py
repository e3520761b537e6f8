"""What is measured of a measure: data with a name, a long name and a function.

Every observable is evaluated as evaluate(problem, measure, moments) and answers with named
numbers or arrays, of a length that may change in time, so that files and figures need not know it.
A function of the user's own, f(measure), becomes one by its name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.checks import came, checked
from meanfield.compute.threads import one_blas_thread
from meanfield.errors import SimulationError, known_names, one_line
from meanfield.measures import Density, Measure
from meanfield.observables.clusters import clusters
from meanfield.observables.energies import entropy, free_energy, interaction_energy
from meanfield.observables.peaks import peaks
from meanfield.observables.resolution import resolution
from meanfield.problem import Problem

__all__ = [
    "ALWAYS_STORED",
    "DEFAULT_OBSERVABLES",
    "OBSERVABLES",
    "Observable",
    "chosen_observables",
    "clusters",
    "entropy",
    "free_energy",
    "interaction_energy",
    "observable",
    "observe",
    "peaks",
    "resolution",
]

Values = dict[str, float | FloatArray]


@dataclass(frozen=True)
class Observable:
    """One entry of the table.

    Attributes
    ----------
    name : str
        Given. Key in run files and in HDF5.
    long_name : str
        Given. Axis label.
    evaluate : callable (problem, measure, moments) -> dict of str to float or ndarray
        Given.
    """

    name: str
    long_name: str
    evaluate: Callable[[Problem, Density | Measure, ModalArray], Values]


def _clusters(problem: Problem, measure: Density | Measure, moments: ModalArray) -> Values:
    found = clusters(measure, problem.kernel.beta)
    return {
        "clusters/count": float(found.count),
        "clusters/mass": found.mass,
        "clusters/centre": found.centre,
    }


OBSERVABLES: dict[str, Observable] = {
    entry.name: entry
    for entry in [
        Observable(
            "order_parameter",
            "order parameter |int x dmu|",
            lambda problem, _, moments: {"order_parameter": problem.space.order_parameter(moments)},
        ),
        Observable(
            "energy",
            "interaction energy E[mu] / E[Dirac]",
            lambda problem, _, moments: {"energy": interaction_energy(problem, moments)},
        ),
        Observable("clusters", "clusters", _clusters),
        Observable(
            "peaks",
            "peaks: maxima of the attention potential",
            lambda problem, _, moments: {"peaks": float(peaks(problem, moments))},
        ),
        Observable(
            "resolution",
            "spectral tail: size of what truncation leaves out",
            lambda problem, measure, _: {"resolution": resolution(problem, measure)},
        ),
        Observable(
            "entropy",
            "entropy -int f log f dsigma",
            lambda problem, measure, _: {"entropy": entropy(measure)},
        ),
        Observable(
            "free_energy",
            "free energy D int f log f - strength/2 int int W dmu dmu",
            lambda problem, measure, moments: {
                "free_energy": free_energy(problem, measure, moments)
            },
        ),
    ]
}
"""Observables that a run file names."""

DEFAULT_OBSERVABLES = ("order_parameter", "energy", "clusters", "resolution")
ALWAYS_STORED = ("energy", "clusters")


Own = Callable[[Density | Measure], Any]
"""A user's observable: what it answers of a measure is a number or a one-dimensional array."""

# Other words than observables that stand beside them in files, tables and datasets.
_RESERVED = {
    *("time", "moments", "growth_rates", "representation", "stability", "events", "diagnostics"),
    *("density", "measure", "degree", "order", "kind", "cluster", "axis"),
}
_RESERVED_PREFIXES = ("clusters_", "diagnostics_")


@checked
def observable(
    name: str, function: Callable[[Density | Measure], Any], long_name: str | None = None
) -> Observable:
    """Observable of your own: `function` of the `Density` or `Measure` at every saved time.

    Parameters
    ----------
    name : str
        What it is called in `run.observables` and in files: letters, digits and underscores.
    function : callable (measure) -> number or ndarray, shape (n,)
        The state is a density at some times and points at others, if the representation is "auto":
        see `Density` and `Measure` for what both have. NaN where there is nothing to measure.
        Lengths of arrays may change in time; shorter ones are padded with NaN.
    long_name : str, optional
        Axis label, by default the name.

    Raises
    ------
    ValueError
        If the name is taken, or cannot name a dataset.
    TypeError
        If the name is no string, or the function none.

    Examples
    --------
    >>> import meanfield as mf
    >>> def spread(measure):
    ...     return 1.0 - abs(measure.moments(1)[1])
    >>> problem = mf.Problem(mf.Circle(), mf.linear(), initial=mf.von_mises_fisher(2.0))
    >>> measure = problem.initial_measure()
    >>> found = observe(problem, measure, measure.moments(12), [observable("spread", spread)])
    >>> float(found["spread"].round(6))
    0.302225
    """
    return _named(Observable(name, long_name or str(name), _OfMeasure(name, function)))


def entry_axis(name: str) -> str:
    """Axis of the arrays of an observable of the user's own, in files and datasets."""
    return name + _ENTRY


_ENTRY = "_entry"


@dataclass(frozen=True)
class _OfMeasure:
    """A user's function among observables; pickles if it does."""

    name: str
    function: Own

    def __call__(self, problem: Problem, measure: Density | Measure, moments: ModalArray) -> Values:
        return {self.name: self.function(measure)}


def _named(own: Observable) -> Observable:
    """An observable of the user's own, if its name may stand beside ours."""
    name = own.name
    if not isinstance(name, str):
        raise TypeError(f"observable: name must be a string, got {came(name)}.")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise ValueError(
            f"{name!r} cannot name an observable: take letters, digits and underscores, a letter "
            "first."
        )
    taken = name in {*OBSERVABLES, *_RESERVED} or name.startswith(_RESERVED_PREFIXES)
    if taken or name.endswith(_ENTRY):
        raise ValueError(f"observable {name!r}: this name is taken, choose another.")
    return own


def chosen_observables(
    given: str | Observable | Mapping[str, Own] | Iterable[Any],
) -> tuple[Observable, ...]:
    """Observables that were asked for, and those that are always stored: ours first.

    Parameters
    ----------
    given : sequence of str, Observable or (name, function); or mapping of names to functions
        Strings name ours. A function is the user's own, see `observable`.

    Raises
    ------
    ValueError
        If a name is not known, or taken twice.
    TypeError
        If something else is given.

    Examples
    --------
    >>> [each.name for each in chosen_observables(["resolution", ("mass", len)])]
    ['energy', 'clusters', 'resolution', 'mass']
    """
    if isinstance(given, str | Observable):
        given = [given]
    if isinstance(given, Mapping):
        given = given.items()
    if not isinstance(given, Iterable):
        raise TypeError(
            "observables must be a list of names and (name, function), or a mapping of names to "
            f"functions, got {came(given)}."
        )
    asked = [_observable_of(each) for each in given]
    names = {*ALWAYS_STORED, *(each.name for each in asked)}
    own = [each for each in asked if each.name not in OBSERVABLES]
    for name, count in Counter(each.name for each in own).items():
        if count > 1:
            raise ValueError(f"observable {name!r} is given twice: choose another name for one.")
    return (*(entry for name, entry in OBSERVABLES.items() if name in names), *own)


def _observable_of(given: Any) -> Observable:
    if isinstance(given, Observable):
        return given if OBSERVABLES.get(given.name) is given else _named(given)
    if isinstance(given, str):
        if given in OBSERVABLES:
            return OBSERVABLES[given]
        raise ValueError(
            f"observable {given!r} is not known. {known_names(given, OBSERVABLES)} One of your own "
            "is given as (name, function)."
        )
    if isinstance(given, tuple) and len(given) == 2:
        return observable(*given)
    raise TypeError(
        f"observables holds {came(given)}, expected a name of ours, (name, function) or "
        "mf.observable(...)."
    )


def observe(
    problem: Problem,
    measure: Density | Measure,
    moments: ModalArray,
    observables: Iterable[str | Observable],
    *,
    time: float = 0.0,
    step: int = 0,
) -> dict[str, FloatArray]:
    """Evaluate observables and those that are always stored.

    Parameters
    ----------
    problem, measure, moments
        What is observed, and the problem that it is a state of.
    observables : as `chosen_observables` takes them
        Which.
    time, step
        When, for errors.

    Raises
    ------
    SimulationError
        If a function of the user's own fails, or answers with anything but numbers.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(9.0))
    >>> measure = mf.Measure(mf.Circle(), np.array([0.0, 0.0]))
    >>> found = observe(problem, measure, measure.moments(31), ("order_parameter",))
    >>> float(found["energy"].round(12))
    1.0
    """
    values: dict[str, FloatArray] = {}
    # The last bits of a sum by BLAS depend on its threads.
    with one_blas_thread():
        for each in chosen_observables(observables):
            if each.name in OBSERVABLES:
                found = each.evaluate(problem, measure, moments)
            else:
                try:
                    found = _checked(each.name, each.evaluate(problem, measure, moments))
                except Exception as error:
                    told = f"observable {each.name!r} failed: {type(error).__name__}: {error}"
                    raise SimulationError(time, step, one_line(told)) from error
            values |= {key: np.asarray(value, dtype=np.float64) for key, value in found.items()}
    return values


def _checked(name: str, found: Values) -> Values:
    """What a user's observable answered, if it is under its name, and numbers."""
    if not isinstance(found, dict) or [*found] != [name]:
        raise TypeError(f"it gave {came(found)}, expected {{{name!r}: number or array}}")
    values = np.asarray(found[name])
    if values.dtype.kind not in "biuf" or values.ndim > 1:
        raise TypeError(
            f"it gave {came(found[name])}, expected a real number or a one-dimensional array "
            "of them"
        )
    if np.any(np.isinf(values)):
        raise ValueError(f"it gave {came(found[name])}, expected finite numbers, or NaN for none")
    # A copy: the user's array may be one that is filled anew at every call.
    return {name: np.array(values, dtype=np.float64)}
