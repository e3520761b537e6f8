"""The observables of the package: one entry each, which run files name."""

from __future__ import annotations

from meanfield.arrays import ModalArray
from meanfield.measures import Density, Measure
from meanfield.observables.attention import attended_share, attended_tokens, attention_entropy
from meanfield.observables.centres import renyi_centres, usual_separation
from meanfield.observables.clusters import clusters
from meanfield.observables.cosines import CENTRES, effective_rank, mean_cosine, similarity
from meanfield.observables.energies import entropy, free_energy, interaction_energy
from meanfield.observables.observable import Axis, Observable, Values
from meanfield.observables.peaks import peaks
from meanfield.observables.resolution import resolution
from meanfield.problem import Problem
from meanfield.spaces import Geometry


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
"""Observables that a run file names."""

DEFAULT_OBSERVABLES = ("order_parameter", "energy", "clusters", "resolution")
_OF_VECTORS = ("order_parameter", "energy", "clusters", "mean_cosine")
# What all runs in Python have: none of these looks at all pairs of tokens.
USUAL_OBSERVABLES = (*DEFAULT_OBSERVABLES, "peaks", "entropy", "free_energy")
ALWAYS_STORED = ("energy", "clusters")


def usual_observables(space: Geometry, *, in_files: bool = False) -> tuple[str, ...]:
    """Default observables; run files have fewer."""
    if not space.has_series:
        return _OF_VECTORS
    return DEFAULT_OBSERVABLES if in_files else USUAL_OBSERVABLES
