"""What a user may say about a study of many runs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from meanfield.studies.cluster_runs import CARRIERS
from meanfield.studies.metrics import METRICS
from meanfield.studies.study import check_runs

ENSEMBLE_TOLERANCE = 1e-6
"""Tolerance of the steps of an ensemble, whose answers are counts."""

# Later nothing is left but merging, for which there are atoms; steps stay of order one.
_LATEST = 1000.0


@dataclass(frozen=True)
class StudyOptions:
    """Particle systems to run, and how to measure them.

    Attributes
    ----------
    tokens : tuple of int
        Given. Sizes of the particle systems, increasing, at least 2.
    repetitions : int
        Given. Independent systems of each size, at least 2.
    metric : str
        Given. A name in `METRICS`.
    seed : int
        Given. Not negative.

    Raises
    ------
    ValueError
        If a value is out of range.
    """

    tokens: tuple[int, ...] = (100, 1000, 10000)
    repetitions: int = 20
    metric: str = "W1"
    seed: int = 0

    def __post_init__(self) -> None:
        """Check ranges."""
        check_runs(self.tokens, "repetitions", self.repetitions, 2, self.seed)
        if self.metric not in METRICS:
            known = ", ".join(METRICS)
            raise ValueError(f"metric {self.metric!r} is not known. Known: {known}.")


@dataclass(frozen=True)
class EnsembleOptions:
    """Runs whose clusters are counted, and when.

    Attributes
    ----------
    tokens : tuple of int
        Given. Sizes N, increasing, at least 2.
    runs : int
        Given. Independent runs of each size, at least 1.
    times : tuple of float
        Given. When to count: multiples of the onset time of each size, positive, increasing.
    carrier : str
        Given. "particles", or "density" for runs of the density that has the tokens' moments.
    seed : int
        Given. Not negative.

    Raises
    ------
    ValueError
        If a value is out of range.

    Examples
    --------
    >>> EnsembleOptions(times=(0.0, 1.0))
    Traceback (most recent call last):
    ...
    ValueError: times must be positive multiples of the onset time, got [0.0, 1.0].
    """

    tokens: tuple[int, ...] = (1000,)
    runs: int = 400
    times: tuple[float, ...] = (1.0, 2.0)
    carrier: str = "particles"
    seed: int = 0

    def __post_init__(self) -> None:
        """Check ranges."""
        check_runs(self.tokens, "runs", self.runs, 1, self.seed)
        times = list(self.times)
        if not times or not all(0.0 < t < math.inf for t in times):
            raise ValueError(f"times must be positive multiples of the onset time, got {times}.")
        if times != sorted(set(times)):
            raise ValueError(f"times must be increasing, got {times}.")
        if times[-1] > _LATEST:
            raise ValueError(f"times must be at most {_LATEST:g} onset times, got {times[-1]:g}.")
        if self.carrier not in CARRIERS:
            known = ", ".join(sorted(CARRIERS))
            raise ValueError(f"carrier {self.carrier!r} is not known. Known: {known}.")
