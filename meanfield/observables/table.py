"""Table of the package's observables, and observables of users."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from meanfield.arguments import checked, describe
from meanfield.arrays import FloatArray, ModalArray
from meanfield.measures import Density, Measure
from meanfield.observables.attention import attended_share, attended_tokens, attention_entropy
from meanfield.observables.clusters import clusters
from meanfield.observables.cosines import (
    CENTRES,
    effective_rank,
    mean_cosine,
    renyi_centres,
    similarity,
    usual_separation,
)
from meanfield.observables.energies import entropy, free_energy, interaction_energy
from meanfield.observables.peaks import peaks
from meanfield.observables.resolution import resolution
from meanfield.problem import Problem
from meanfield.spaces import Geometry

Values = dict[str, float | FloatArray]


class Axis(NamedTuple):
    """Axis of the arrays of an observable."""

    name: str  # in files and datasets
    values: FloatArray | None = None  # coordinates, such as middles of bins; default 0, 1, ...


@dataclass(frozen=True)
class Observable:
    """One entry of the table."""

    name: str  # key in run files and in HDF5
    long_name: str  # axis label
    evaluate: Callable[[Problem, Density | Measure, ModalArray], Values]
    axis: Axis | None = None  # if the values are arrays


def _clusters(problem: Problem, measure: Density | Measure, moments: ModalArray) -> Values:
    groups = clusters(measure, problem.beta)
    return {
        "clusters/count": float(groups.count),
        "clusters/mass": groups.mass,
        "clusters/centre": groups.centre,
    }


def _centres(problem: Problem, measure: Density | Measure, moments: ModalArray) -> Values:
    greedy, strong = renyi_centres(measure, usual_separation(problem.beta))
    return {"renyi_centres/greedy": greedy, "renyi_centres/strong": strong}


OBSERVABLES: dict[str, Observable] = {
    entry.name: entry
    for entry in [
        Observable(
            "order_parameter",
            "order parameter |int x dmu|",
            lambda problem, _, moments: {
                "order_parameter": problem.manifold.order_parameter(moments)
            },
        ),
        Observable(
            "energy",
            "interaction energy E[mu] / E[Dirac]",
            lambda problem, measure, moments: {
                "energy": interaction_energy(problem, moments, measure)
            },
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
        Observable(
            "mean_cosine",
            "mean cosine of pairs",
            lambda problem, measure, _: {"mean_cosine": mean_cosine(measure)},
        ),
        Observable(
            "similarity",
            "share of pairs by their cosine",
            lambda problem, measure, _: {"similarity": similarity(measure)},
            Axis("cosine", CENTRES),
        ),
        Observable(
            "effective_rank",
            "effective rank of the Gram matrix",
            lambda problem, measure, _: {"effective_rank": effective_rank(measure)},
        ),
        Observable(
            "attention_entropy",
            "mean entropy of the rows of attention",
            lambda problem, measure, _: {"attention_entropy": attention_entropy(problem, measure)},
            Axis("head"),
        ),
        Observable(
            "attended_tokens",
            "effective number of attended tokens",
            lambda problem, measure, _: {"attended_tokens": attended_tokens(problem, measure)},
            Axis("head"),
        ),
        Observable(
            "attended_share",
            "effective share of the mass that is attended to",
            lambda problem, measure, _: {"attended_share": attended_share(problem, measure)},
            Axis("head"),
        ),
        Observable("renyi_centres", "tokens that come first in their neighbourhood", _centres),
    ]
}
"""Observables of the package by name."""

DEFAULT_OBSERVABLES = ("order_parameter", "energy", "clusters", "resolution")
_OF_VECTORS = ("order_parameter", "energy", "clusters", "mean_cosine")
# Default in Python on the circle and on S^2: none of them sums over all pairs of many tokens.
USUAL_OBSERVABLES = (*DEFAULT_OBSERVABLES, "peaks", "entropy", "free_energy")
ALWAYS_STORED = ("energy", "clusters")


def usual_observables(space: Geometry, *, in_files: bool = False) -> tuple[str, ...]:
    """Names of the default observables; run files have fewer."""
    if not space.has_series:
        return _OF_VECTORS
    return DEFAULT_OBSERVABLES if in_files else USUAL_OBSERVABLES


Own = Callable[[Density | Measure], Any]
"""A user's observable: it returns a number or a one-dimensional array."""

# Names of other entries beside observables in files, tables and datasets.
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

    - name: key in `run.observables` and in files: letters, digits and underscores.
    - function (callable (measure) -> number or ndarray, shape (n,)): with the representation "auto"
      the measure is a `Density` at some times and a `Measure` at others. It returns NaN where there
      is nothing to measure. Arrays may change their length in time; NaN pads shorter ones.
    - long_name: axis label, by default the name.

    ValueError if the name is taken or cannot name a dataset. TypeError if the name is no string or
    `function` no function.

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
    """A user's function as an `evaluate`; it pickles if the function does."""

    name: str
    function: Own

    def __call__(self, problem: Problem, measure: Density | Measure, moments: ModalArray) -> Values:
        return {self.name: self.function(measure)}


def of_own_kind(own: Observable) -> Observable:
    """Return a user's observable; refuse names that are taken or malformed."""
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
    """Checked result of a user's observable: {name: number or array}."""
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
    # A copy, because the user may fill the same array at every call.
    return {name: np.array(values, dtype=np.float64)}
