"""Sampling the number of maxima of a random potential: counts, and their law."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meanfield.problem import Problem
from meanfield.theory.cluster_counts import potential_variances

Counts = npt.NDArray[np.int64]

# Samples of the field that are held at once, and coefficients of theirs.
_SAMPLES_AT_ONCE = 1000
_COEFFICIENTS_AT_ONCE = 500_000
# By default as many samples as these, and on the sphere no more than about half a minute's worth:
# the time that one takes grows with the cube of the degree, and so do the tables.
_SAMPLES, _LEAST_SAMPLES = 10_000, 20
_SPHERE_WORK = 1e8
LARGEST_SPHERE_DEGREE = 200


@dataclass(frozen=True)
class CountLaw:
    """Distribution of the number of clusters.

    Attributes
    ----------
    distribution : dict of int to float
        Given. Probability of each number of clusters that occurred, increasing numbers.
    mean : float
        Given. Mean number.
    standard_error : float
        Given. Of the mean; NaN of one sample.
    samples : int
        Given. How many samples the law is of; 0 where it is exact.
    """

    distribution: dict[int, float]
    mean: float
    standard_error: float
    samples: int = 0

    @property
    def most_likely(self) -> int:
        """Number of clusters of the largest probability."""
        return max(self.distribution, key=self.distribution.__getitem__)

    def __repr__(self) -> str:
        """Mean and most likely number."""
        return (
            f"CountLaw(mean {self.mean:.4g} +- {self.standard_error:.1g}, most likely "
            f"{self.most_likely}: {self.distribution[self.most_likely]:.2f})"
        )


def check_degree(dimension: int, degree: int, beta: float) -> None:
    """Refuse potentials whose maxima would take the memory of the machine.

    Raises
    ------
    ValueError
        On the sphere above degree 200.
    """
    if dimension == 2 and degree > LARGEST_SPHERE_DEGREE:
        raise ValueError(
            f"beta = {beta:g} makes potentials of degree {degree} on the sphere, and maxima are "
            f"counted up to degree {LARGEST_SPHERE_DEGREE}: reduce beta."
        )


def default_samples(dimension: int, degree: int) -> int:
    """Samples unless told otherwise: 10,000, on the sphere as many as half a minute allows.

    With many clusters fewer samples do: the spread of their number over its mean falls.

    Examples
    --------
    >>> default_samples(1, 3000), default_samples(2, 12), default_samples(2, 33)
    (10000, 10000, 2782)
    """
    if dimension == 1:
        return _SAMPLES
    return max(_LEAST_SAMPLES, min(_SAMPLES, int(_SPHERE_WORK / max(degree, 1) ** 3)))


def default_corrected_samples(dimension: int, degree: int) -> int:
    """Samples of the corrected law unless told otherwise: each is a small run.

    400 on the circle and 100 on the sphere, fewer of large degrees, and none where each takes
    minutes.

    Examples
    --------
    >>> default_corrected_samples(1, 20), default_corrected_samples(2, 33)
    (400, 22)
    >>> default_corrected_samples(1, 3000), default_corrected_samples(2, 100)
    (0, 0)
    """
    largest, full, power = (1000, 100, 1) if dimension == 1 else (40, 20, 3)
    most = 400 if dimension == 1 else 100
    if degree > largest:
        return 0
    return min(most, int(most * (full / max(degree, 1)) ** power))


def sampled_counts(problem: Problem, tokens: int, samples: int, seed: int) -> Iterator[Counts]:
    """Numbers of maxima of samples of the potential at the onset time, chunk by chunk."""
    space, variances = problem.space, potential_variances(problem, tokens)
    # Only the shape counts; the size may be near the smallest numbers there are.
    variances = variances / variances.max()
    coefficients = len(space.resize(space.from_modes([]), len(variances) - 1))
    # The chunks are part of the result: they depend on the problem and on nothing else.
    chunk = min(_SAMPLES_AT_ONCE, max(1, _COEFFICIENTS_AT_ONCE // coefficients))
    rng = np.random.default_rng(seed)
    for start in range(0, samples, chunk):
        fields = space.gaussian_fields(variances, min(chunk, samples - start), rng)
        yield space.count_maxima(fields)


def law_of(counts: Counts) -> CountLaw:
    """Distribution, mean and standard error of counts.

    The standard error of one count alone is NaN.

    Examples
    --------
    >>> law_of(np.array([2, 3, 3, 3]))
    CountLaw(mean 2.75 +- 0.2, most likely 3: 0.75)
    """
    # Sorted: the order in which blocks finish must not show in the last digit.
    counts = np.sort(counts)
    values, occurrences = np.unique(counts, return_counts=True)
    n = len(counts)
    error = float(np.std(counts, ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
    shares = {int(k): float(m / n) for k, m in zip(values, occurrences, strict=True)}
    return CountLaw(shares, float(np.mean(counts)), error, n)


def total_variation(first: Mapping[int, float], second: Mapping[int, float]) -> float:
    """Total-variation distance of two distributions, half the sum of |p_k - q_k|.

    Parameters
    ----------
    first, second : mapping
        Count -> probability, each summing to 1.

    Examples
    --------
    >>> total_variation({3: 0.5, 4: 0.5}, {4: 0.75, 5: 0.25})
    0.5
    """
    counts = {*first, *second}
    return 0.5 * sum(abs(first.get(count, 0.0) - second.get(count, 0.0)) for count in counts)
