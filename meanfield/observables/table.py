"""The observables of the package: one entry each, which run files name."""

from __future__ import annotations

from meanfield.arrays import ModalArray
from meanfield.measures import Density, Measure
from meanfield.observables.clusters import clusters
from meanfield.observables.energies import entropy, free_energy, interaction_energy
from meanfield.observables.observable import Observable, Values
from meanfield.observables.peaks import peaks
from meanfield.observables.resolution import resolution
from meanfield.problem import Problem


def _clusters(problem: Problem, measure: Density | Measure, moments: ModalArray) -> Values:
    found = clusters(measure, problem.beta)
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
    ]
}
"""Observables that a run file names."""

DEFAULT_OBSERVABLES = ("order_parameter", "energy", "clusters", "resolution")
ALWAYS_STORED = ("energy", "clusters")
