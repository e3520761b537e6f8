"""What is measured of a measure: data with a name, a long name and a function.

Every observable is evaluated as evaluate(problem, measure, moments) and answers with named
numbers or arrays, of a length that may change in time, so that files and figures need not know it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.compute.threads import one_blas_thread
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
    "clusters",
    "entropy",
    "free_energy",
    "interaction_energy",
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


def observe(
    problem: Problem, measure: Density | Measure, moments: ModalArray, names: tuple[str, ...]
) -> dict[str, FloatArray]:
    """Evaluate the named observables and those that are always stored.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(9.0))
    >>> measure = mf.Measure(mf.Circle(), np.array([0.0, 0.0]))
    >>> found = observe(problem, measure, measure.moments(31), ("order_parameter",))
    >>> float(found["energy"].round(12))
    1.0
    """
    wanted = [name for name in OBSERVABLES if name in names or name in ALWAYS_STORED]
    values: dict[str, FloatArray] = {}
    # The last bits of a sum by BLAS depend on its threads.
    with one_blas_thread():
        for name in wanted:
            found = OBSERVABLES[name].evaluate(problem, measure, moments)
            values |= {key: np.asarray(value, dtype=np.float64) for key, value in found.items()}
    return values
