"""Laws of a number of clusters: distribution, mean, and how far two of them are apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from meanfield.arrays import IntArray


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


def law_of(counts: IntArray) -> CountLaw:
    """Distribution, mean and standard error of counts.

    The standard error of one count alone is NaN.

    Raises
    ------
    ValueError
        If there is none.

    Examples
    --------
    >>> law_of(np.array([2, 3, 3, 3]))
    CountLaw(mean 2.75 +- 0.2, most likely 3: 0.75)
    """
    if len(counts) == 0:
        raise ValueError("no counts: a law needs one at least.")
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
