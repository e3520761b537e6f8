"""Comparison of the laws of the number of clusters with ensembles: one point for each size N.

A point has the number of clusters by the dominant degree alone, by the linear law in closed form,
by samples of both laws, and by the runs of the ensemble. A small JSON file beside the ensemble
stores the samples:

    [{"of": {...}, "counts": {"2": 310, "3": 9690}}, ...]

"of" has everything that the samples depend on, "counts" the number of samples by cluster count.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from meanfield.arrays import IntArray
from meanfield.files import replace_bytes
from meanfield.problem import Problem
from meanfield.problem_facts import problem_attributes
from meanfield.spectrum.cluster_counts import mean_clusters, mean_maxima
from meanfield.spectrum.stability import dominant_degree
from meanfield.studies.corrected_law import constants, corrected_counts, on_nodes
from meanfield.studies.ensemble_results import CountLaw, Ensemble, law_of, total_variation
from meanfield.studies.prediction import linear_counts

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
    """Points of an ensemble of uniform tokens by increasing size; sizes without runs have none.

    - multiple: time of the counts in onset times, one of the ensemble's.
    - samples, corrected_samples, seed: of the samples of the two laws. They share no random numbers
      with the runs, and do not depend on `executor`.
    - store: file with samples, to which new ones are added.

    ValueError if the problem, the law of the tokens or the time is not that of the ensemble, or the
    store cannot be read.
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
                    carrier=str(measured.attributes.get("representation", "")),
                    independent=on_nodes(problem, n),
                )
            )
    return points


def _facts(problem: Problem, measured: Ensemble) -> dict[str, Any]:
    """Attributes of the problem for the key of samples; ValueError if the ensemble has others."""
    facts = problem_attributes(problem)
    # These follow from the others, and their last digit depends on the machine.
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
    from meanfield import __version__

    return facts | {"meanfield_version": __version__}


def _index(measured: Ensemble, multiple: float) -> int:
    """Index of the time of the counts."""
    found = np.flatnonzero(np.isclose(measured.times, multiple))
    if len(found) == 0:
        raise ValueError(
            f"clusters were counted at {measured.times.tolist()} onset times, got multiple = "
            f"{multiple:g}: use one of them."
        )
    return int(found[0])


def _seed(seed: int, tokens: int, law: int) -> int:
    """Seed of the samples of one law, different from all seeds of the runs."""
    return int(np.random.SeedSequence((seed, tokens, law)).generate_state(1, np.uint64)[0])


@dataclass(frozen=True, eq=False)
class LawPoint:
    """Predictions and ensemble at one inverse temperature and one number of tokens."""

    beta: float
    tokens: int
    dimension: int  # 1 for the circle, 2 for the sphere
    dominant_degree: int
    closed_form: float  # mean number of clusters of the linear law, by Rice's formula
    linear: CountLaw  # sampled
    corrected: CountLaw  # sampled
    measured: CountLaw  # runs of the ensemble
    carrier: str  # representation of these runs
    # False if tokens carry the samples of the corrected law, too: then it is itself an ensemble,
    # and agreement proves nothing.
    independent: bool = True

    @property
    def degree_count(self) -> float:
        """Mean number of clusters from the dominant degree alone."""
        return degree_count(self.dimension, self.dominant_degree)

    @property
    def closed_form_ratio(self) -> tuple[float, float]:
        """Closed form over measured mean, and its standard error."""
        return _ratio(self.closed_form, 0.0, self.measured)

    @property
    def corrected_ratio(self) -> tuple[float, float]:
        """Corrected over measured mean, and its standard error."""
        return _ratio(self.corrected.mean, self.corrected.standard_error, self.measured)

    @property
    def linear_deviation(self) -> float:
        """Sampled minus closed-form mean of the linear law, in standard errors.

        An integer random variable with mean m has a variance of at least f (1 - f), where f is the
        fractional part of m. This bound matters if all samples happen to be equal.
        """
        law, part = self.linear, self.closed_form % 1.0
        error = max(law.standard_error, math.sqrt(part * (1.0 - part) / law.samples))
        difference = law.mean - self.closed_form
        if error == 0.0:
            return 0.0 if difference == 0.0 else math.copysign(math.inf, difference)
        return difference / error

    @property
    def linear_distance(self) -> float:
        """Total variation between the linear law and the runs."""
        return total_variation(self.linear.distribution, self.measured.distribution)

    @property
    def corrected_distance(self) -> float:
        """Total variation between the corrected law and the runs."""
        return total_variation(self.corrected.distribution, self.measured.distribution)

    @property
    def sampling_distance(self) -> float:
        """Mean total variation of two samples of one law, of sizes n (corrected) and m (runs).

        Differences of shares are Gaussian with variance p (1 - p) (1/n + 1/m), where p is the share
        in both samples together. `corrected_distance` has this mean if the law is exact.
        """
        n, m = self.corrected.samples, self.measured.samples
        one, other = self.corrected.distribution, self.measured.distribution
        shares = [(n * one.get(k, 0.0) + m * other.get(k, 0.0)) / (n + m) for k in {*one, *other}]
        spread = sum(math.sqrt(p * (1.0 - p)) for p in shares)
        return 0.5 * math.sqrt(2.0 / math.pi * (1.0 / n + 1.0 / m)) * spread

    def __repr__(self) -> str:
        return (
            f"LawPoint(beta = {self.beta:g}, {self.tokens} tokens: closed form "
            f"{self.closed_form:.3f}, corrected {self.corrected.mean:.3f}, measured "
            f"{self.measured.mean:.3f} +- {self.measured.standard_error:.3f})"
        )


def degree_count(dimension: int, degree: int) -> float:
    """Mean number of maxima of a random field of one degree; on the circle, the degree.

    >>> degree_count(1, 4), round(degree_count(2, 4), 3)
    (4.0, 6.014)
    """
    return mean_maxima(dimension, np.eye(1, degree + 1, degree)[0])


def _ratio(mean: float, error: float, measured: CountLaw) -> tuple[float, float]:
    """Ratio to the measured mean and its standard error; squares of relative errors add."""
    ratio = mean / measured.mean
    relative = math.hypot(error / mean, measured.standard_error / measured.mean)
    return ratio, ratio * relative


def stored_counts(
    store: Path | None, of: Mapping[str, Any], make: Callable[[], Iterable[IntArray]]
) -> IntArray:
    """Counts in increasing order, from the file `store` if it has them, else from `make`.

    `of` has everything that the counts depend on, for JSON. New counts are added to the file. No
    file is used if `store` is None. ValueError if the file has other content.

    >>> stored_counts(None, {}, lambda: [np.array([3, 2]), np.array([3])])
    array([2, 3, 3])
    """
    key = json.loads(json.dumps(of))
    entries = [] if store is None or not store.exists() else _read(store)
    for entry in entries:
        if entry["of"] == key:
            values = [int(value) for value in entry["counts"]]
            return np.repeat(values, list(entry["counts"].values()))
    counts = np.sort(np.concatenate(list(make())))
    if store is not None:
        found = dict(zip(*(a.tolist() for a in np.unique(counts, return_counts=True)), strict=True))
        lines = [json.dumps(entry) for entry in [*entries, {"of": key, "counts": found}]]
        replace_bytes(store, ("[\n" + ",\n".join(lines) + "\n]\n").encode())
    return counts


def _read(store: Path) -> list[dict[str, Any]]:
    try:
        entries = json.loads(store.read_text(encoding="utf-8"))
        if all("of" in entry and _are_counts(entry["counts"]) for entry in entries):
            return list(entries)
    except (ValueError, AttributeError, KeyError, TypeError):
        pass
    raise ValueError(f"{store} holds no samples of laws: delete it, and they are made again.")


def _are_counts(found: Mapping[str, Any]) -> bool:
    return all(
        number.isdecimal() and type(times) is int and 0 < times < 2**31
        for number, times in found.items()
    )
