"""Observables of a measure: data with a name, a long name and a function.

evaluate(problem, measure, moments) returns named numbers or arrays, whose length may change in
time. Files and figures treat all observables alike, also a user's f(measure).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from meanfield.arguments import describe
from meanfield.arrays import FloatArray, ModalArray
from meanfield.engines.threads import one_blas_thread
from meanfield.errors import SimulationError, list_names, one_line
from meanfield.measures import Density, Measure
from meanfield.observables.attention import (
    attended_share,
    attended_tokens,
    attention_entropy,
    attention_matrix,
    attention_nodes,
)
from meanfield.observables.clusters import clusters
from meanfield.observables.cosines import effective_rank, mean_cosine, renyi_centres, similarity
from meanfield.observables.energies import energy_note, entropy, free_energy, interaction_energy
from meanfield.observables.peaks import peaks
from meanfield.observables.resolution import resolution
from meanfield.observables.table import (
    ALWAYS_STORED,
    DEFAULT_OBSERVABLES,
    OBSERVABLES,
    USUAL_OBSERVABLES,
    Observable,
    Own,
    Values,
    entry_axis,
    observable,
    of_own_kind,
    own_values,
    usual_observables,
)
from meanfield.problem import Problem

__all__ = [
    "ALWAYS_STORED",
    "DEFAULT_OBSERVABLES",
    "OBSERVABLES",
    "USUAL_OBSERVABLES",
    "Observable",
    "attended_share",
    "attended_tokens",
    "attention_entropy",
    "attention_matrix",
    "attention_nodes",
    "chosen_observables",
    "clusters",
    "effective_rank",
    "energy_note",
    "entropy",
    "entry_axis",
    "free_energy",
    "interaction_energy",
    "mean_cosine",
    "observable",
    "observables_beside",
    "observe",
    "peaks",
    "renyi_centres",
    "resolution",
    "similarity",
    "usual_observables",
]


def chosen_observables(
    observables: str | Observable | Mapping[str, Own] | Iterable[Any],
) -> tuple[Observable, ...]:
    """Requested observables and those that are always stored, in the order of the table.

    observables (sequence of str, Observable, function or (name, function); or mapping): strings
    are names in `OBSERVABLES`. Functions are the user's own, see `observable`, and come last.

    ValueError if a name is unknown or given twice. TypeError for other objects.

    >>> [each.name for each in chosen_observables(["resolution", ("mass", len)])]
    ['energy', 'clusters', 'resolution', 'mass']
    """
    if isinstance(observables, str | Observable):
        observables = [observables]
    if isinstance(observables, Mapping):
        observables = observables.items()
    if not isinstance(observables, Iterable):
        raise TypeError(
            "observables must be a list of names and (name, function), or a mapping of names to "
            f"functions, got {describe(observables)}."
        )
    chosen = [_observable_of(each) for each in observables]
    names = {*ALWAYS_STORED, *(each.name for each in chosen)}
    own = [each for each in chosen if each.name not in OBSERVABLES]
    for name, count in Counter(each.name for each in own).items():
        if count > 1:
            raise ValueError(f"observable {name!r} is given twice: choose another name for one.")
    return (*(entry for name, entry in OBSERVABLES.items() if name in names), *own)


def observables_beside(
    observables: Mapping[str, Own] | Iterable[Any] | None, usual: Iterable[str | Observable]
) -> tuple[Observable, ...]:
    """Observables of a call: a list with names replaces the usual ones, functions alone join them.

    >>> [each.name for each in observables_beside({"mass": len}, ["resolution"])]
    ['energy', 'clusters', 'resolution', 'mass']
    """
    if observables is None:
        return chosen_observables(usual)
    if isinstance(observables, Mapping):
        return chosen_observables([*usual, *observables.items()])
    entries, ours = list(observables), OBSERVABLES.values()
    chooses = not entries or any(isinstance(each, str) or each in ours for each in entries)
    return chosen_observables(entries if chooses else [*usual, *entries])


def _observable_of(entry: Any) -> Observable:
    if isinstance(entry, Observable):
        return entry if OBSERVABLES.get(entry.name) is entry else of_own_kind(entry)
    if hasattr(entry, "__name__") and callable(entry):
        return observable(entry.__name__, entry)
    if isinstance(entry, str):
        if entry in OBSERVABLES:
            return OBSERVABLES[entry]
        raise ValueError(
            f"observable {entry!r} is not known. {list_names(entry, OBSERVABLES)} One of your own "
            "is given as (name, function)."
        )
    if isinstance(entry, tuple) and len(entry) == 2:
        return observable(*entry)
    raise TypeError(
        f"observables holds {describe(entry)}, expected a name of ours, a function, "
        "(name, function) or mf.observable(...)."
    )


def observe(
    problem: Problem,
    measure: Density | Measure,
    moments: ModalArray,
    observables: Iterable[str | Observable],
    *,
    time: float = 0.0,
    step: int = 0,
    known: Mapping[str, float] = MappingProxyType({}),
) -> dict[str, FloatArray]:
    """Evaluate observables and those that are always stored.

    known: values of observables of the package that are single numbers and need no computation.

    SimulationError if a user's function fails, or returns anything but numbers.

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(9.0), mf.USA)
    >>> measure = mf.Measure(mf.Circle(), np.array([0.0, 0.0]))
    >>> found = observe(problem, measure, measure.moments(31), ("order_parameter",))
    >>> float(found["energy"].round(12))
    1.0
    """
    values: dict[str, FloatArray] = {}
    # The last bits of a sum by BLAS depend on its threads.
    with one_blas_thread():
        for each in chosen_observables(observables):
            if each.name in known:
                answer: Values = {each.name: known[each.name]}
            elif each.name in OBSERVABLES:
                answer = each.evaluate(problem, measure, moments)
            else:
                try:
                    answer = own_values(each.name, each.evaluate(problem, measure, moments))
                except Exception as error:
                    message = f"observable {each.name!r} failed: {type(error).__name__}: {error}"
                    raise SimulationError(time, step, one_line(message)) from error
            values |= {key: np.asarray(value, dtype=np.float64) for key, value in answer.items()}
    return values
