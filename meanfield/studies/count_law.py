"""Laws of a number of clusters: distribution, mean, and how far two of them are apart."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from meanfield.arrays import IntArray

# What a sentence tells of a law: numbers until they hold this share, how many at most, and the
# least per cent of others.
_ENOUGH_COUNTS, _MOST_COUNTS, _LEAST_OTHERS = 0.95, 3, 0.05


@dataclass(frozen=True)
class CountLaw:
    """Distribution of the number of clusters.

    - distribution (dict of int to float): probability of each number of clusters that occurred,
      increasing numbers.
    - mean: mean number.
    - standard_error: of the mean; NaN of one sample.
    - samples: how many samples the law is of; 0 where it is exact.
    """

    distribution: dict[int, float]
    mean: float
    standard_error: float
    samples: int = 0

    @property
    def most_likely(self) -> int:
        """Number of clusters of the largest probability."""
        return max(self.distribution, key=self.distribution.__getitem__)

    def summary(self) -> str:
        """The likely numbers in words: the likeliest first, up to 95 % of the law, three at most.

        Behind the share p of n samples stands its standard error sqrt(p (1 - p) / n); what is left
        is that of all others.

        >>> CountLaw({4: 0.44, 5: 0.55, 6: 0.01}, 4.57, 0.03, 400).summary()
        '5 clusters (55 +- 2 %) or 4 (44 +- 2 %), others 1 %'
        """
        likely = sorted(self.distribution, key=self.distribution.__getitem__, reverse=True)
        listed = 0.0
        parts: list[str] = []
        for number in likely[:_MOST_COUNTS]:
            if listed > _ENOUGH_COUNTS:
                break
            share = self.distribution[number]
            listed += share
            plural = "" if parts else " cluster" if number == 1 else " clusters"
            parts.append(f"{number}{plural} ({self._share(share)})")
        text = ", ".join(parts[:-1]) + " or " * (len(parts) > 1) + parts[-1]
        others = 100.0 * (1.0 - listed)
        left = f", others {others:.0f} %" if others >= 1.0 else f", others {others:.1g} %"
        return text + left * (others >= _LEAST_OTHERS)

    def _share(self, share: float) -> str:
        if not self.samples:
            return "certain" if share == 1.0 else f"{100 * share:.1f} %"
        if share == 1.0:
            return f"all of {self.samples} samples"
        error = 100.0 * math.sqrt(share * (1.0 - share) / self.samples)
        digits = 1 if error < 1.0 else 0
        return f"{100 * share:.{digits}f} +- {error:.{digits}f} %"

    def __repr__(self) -> str:
        return (
            f"CountLaw(mean {self.mean:.4g} +- {self.standard_error:.1g}, most likely "
            f"{self.most_likely}: {self.distribution[self.most_likely]:.2f})"
        )


def law_of(counts: IntArray) -> CountLaw:
    """Distribution, mean and standard error of counts.

    The standard error of one count alone is NaN.

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

    first, second (mapping): count -> probability, each summing to 1.

    >>> total_variation({3: 0.5, 4: 0.5}, {4: 0.75, 5: 0.25})
    0.5
    """
    counts = {*first, *second}
    return 0.5 * sum(abs(first.get(count, 0.0) - second.get(count, 0.0)) for count in counts)
