"""The laws of the number of clusters held against ensembles: one point for each size N.

A point holds four answers to the same question: the dominant degree taken alone, the linear law in
closed form, both laws sampled, and the runs of the ensemble. What was sampled is kept in a file
beside the ensemble, see `law_store`.
"""

from __future__ import annotations

from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np

from meanfield.problem import Problem
from meanfield.run import problem_attributes
from meanfield.studies.corrected_law import constants, corrected_counts, on_nodes
from meanfield.studies.count_law import CountLaw, law_of
from meanfield.studies.ensemble_results import Ensemble
from meanfield.studies.law_point import LawPoint
from meanfield.studies.law_store import stored_counts
from meanfield.studies.linear_law import linear_counts
from meanfield.theory.cluster_counts import mean_clusters
from meanfield.theory.stability import dominant_degree

_DERIVED = ("paper_time_factor", "growth_rate_max")


def law_points(
    problem: Problem,
    measured: Ensemble,
    *,
    multiple: float = 2.0,
    samples: int = 10_000,
    corrected_samples: int = 1_000,
    seed: int = 0,
    executor: Executor | None = None,
    store: Path | None = None,
) -> list[LawPoint]:
    """Hold the laws against an ensemble; sizes without a run make no point.

    Parameters
    ----------
    problem : Problem
        That of the ensemble.
    measured : Ensemble
        Of uniform tokens.
    multiple : float
        Onset times after which the clusters of the runs are counted, one of the ensemble's.
    samples, corrected_samples : int
        Samples of the two laws.
    seed : int
        Of these samples; they share no random numbers with the runs.
    executor : concurrent.futures.Executor, optional
        Where samples of the corrected law are run; they are the same.
    store : Path, optional
        File in which samples are looked up and to which they are added.

    Returns
    -------
    list of LawPoint
        By increasing size.

    Raises
    ------
    ValueError
        If the ensemble is of another problem, its tokens are not uniform, its clusters were not
        counted then, or the store cannot be read.
    """
    facts, time = _facts(problem, measured), _index(measured, multiple)
    degree = dominant_degree(problem)
    if degree is None:
        raise ValueError("nothing grows: uniform is stable, there are no clusters to predict.")

    def linear(n: int) -> CountLaw:
        key = facts | {"law": "linear", "tokens": n, "samples": samples, "seed": seed}
        return law_of(
            stored_counts(store, key, lambda: linear_counts(problem, n, samples, _seed(seed, n, 0)))
        )

    def corrected(n: int) -> CountLaw:
        key = facts | {"law": "corrected", "tokens": n, "samples": corrected_samples, "seed": seed}
        blocks = (problem, n, corrected_samples, _seed(seed, n, 1), executor)
        return law_of(
            stored_counts(
                store,
                key | constants(),
                lambda: (counts for _, counts in corrected_counts(*blocks)),
            )
        )

    points = []
    for i, n in enumerate(measured.tokens.tolist()):
        if measured.finished[i] > 0:
            points.append(
                LawPoint(
                    beta=problem.kernel.beta,
                    tokens=n,
                    dimension=problem.manifold.dimension,
                    dominant_degree=degree,
                    closed_form=mean_clusters(problem, n),
                    linear=linear(n),
                    corrected=corrected(n),
                    measured=measured.law(i, time),
                    carrier=str(measured.attributes.get("carrier", "")),
                    independent=on_nodes(problem, n),
                )
            )
    return points


def _facts(problem: Problem, measured: Ensemble) -> dict[str, Any]:
    """What samples depend on; the ensemble's problem has to be the same."""
    facts = problem_attributes(problem)
    # Derived from the others, and in the last digit from the machine.
    facts = {name: value for name, value in facts.items() if name not in _DERIVED}
    for name, value in facts.items():
        found = measured.attributes.get(name, value)
        if found != value:
            raise ValueError(
                f"the ensemble is of another problem: its {name} is {found}, expected {value}."
            )
    if not np.isfinite(measured.predicted).all():
        raise ValueError(
            f"the laws are those of uniform tokens, and the ensemble starts from "
            f'"{facts["initial"]}": use the initial law "uniform".'
        )
    from meanfield.version import __version__

    return facts | {"meanfield_version": __version__}


def _index(measured: Ensemble, multiple: float) -> int:
    """Index of the time at which clusters were counted."""
    found = np.flatnonzero(np.isclose(measured.times, multiple))
    if len(found) == 0:
        raise ValueError(
            f"clusters were counted at {measured.times.tolist()} onset times, got multiple = "
            f"{multiple:g}: use one of them."
        )
    return int(found[0])


def _seed(seed: int, tokens: int, law: int) -> int:
    """Seed of the samples of one law: none that the runs of the ensemble draw from."""
    return int(np.random.SeedSequence((seed, tokens, law)).generate_state(1, np.uint64)[0])
