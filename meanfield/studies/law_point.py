"""Predictions and runs of one inverse temperature and one number of tokens, side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from meanfield.studies.count_law import CountLaw, total_variation
from meanfield.theory.cluster_counts import mean_maxima


@dataclass(frozen=True, eq=False)
class LawPoint:
    """Predictions and ensemble at one inverse temperature and one number of tokens.

    Attributes
    ----------
    beta : float
        Given. Inverse temperature.
    tokens : int
        Given. Number N of tokens.
    dimension : int
        Given. 1 for the circle, 2 for the sphere.
    dominant_degree : int
        Given. Degree that grows fastest.
    closed_form : float
        Given. Mean number of the linear law by Rice's formula.
    linear, corrected : CountLaw
        Given. The two laws, sampled.
    measured : CountLaw
        Given. Clusters of the runs of the ensemble.
    carrier : str
        Given. What carried these runs.
    independent : bool
        Given. False where tokens carry the samples of the corrected law too: it is then an ensemble
        of its own, and to agree is no proof.
    degree_count : float
        Derived. Mean number of clusters that the dominant degree alone would make.
    closed_form_ratio, corrected_ratio : (float, float)
        Derived. Predicted over measured mean, and its standard error.
    linear_deviation : float
        Derived. Sampled minus closed-form mean of the linear law, in standard errors.
    linear_distance, corrected_distance : float
        Derived. Total variation between the law and the runs.
    sampling_distance : float
        Derived. What `corrected_distance` would be on average if the law were exact: both are
        samples.
    """

    beta: float
    tokens: int
    dimension: int
    dominant_degree: int
    closed_form: float
    linear: CountLaw
    corrected: CountLaw
    measured: CountLaw
    carrier: str
    independent: bool = True

    @property
    def degree_count(self) -> float:
        """Mean number of clusters that the dominant degree alone would make."""
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
        """Sampled minus closed-form mean, in standard errors.

        A number that takes whole values and has the mean m has a variance of at least f (1 - f), f
        the fractional part of m. It counts where the samples happen to be all alike.
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
        """Mean total variation of two samples of one law, of the sizes of these.

        Differences of shares are Gaussian of variance p (1 - p) (1/n + 1/m), p the shares of both
        together.
        """
        n, m = self.corrected.samples, self.measured.samples
        one, other = self.corrected.distribution, self.measured.distribution
        shares = [(n * one.get(k, 0.0) + m * other.get(k, 0.0)) / (n + m) for k in {*one, *other}]
        spread = sum(math.sqrt(p * (1.0 - p)) for p in shares)
        return 0.5 * math.sqrt(2.0 / math.pi * (1.0 / n + 1.0 / m)) * spread

    def __repr__(self) -> str:
        """One line."""
        return (
            f"LawPoint(beta = {self.beta:g}, {self.tokens} tokens: closed form "
            f"{self.closed_form:.3f}, corrected {self.corrected.mean:.3f}, measured "
            f"{self.measured.mean:.3f} +- {self.measured.standard_error:.3f})"
        )


def degree_count(dimension: int, degree: int) -> float:
    """Mean number of maxima of a random field of one degree alone: the degree on the circle.

    Examples
    --------
    >>> degree_count(1, 4), round(degree_count(2, 4), 3)
    (4.0, 6.014)
    """
    return mean_maxima(dimension, np.eye(1, degree + 1, degree)[0])


def _ratio(mean: float, error: float, measured: CountLaw) -> tuple[float, float]:
    """Ratio to the measured mean; errors add in squares."""
    ratio = mean / measured.mean
    relative = math.hypot(error / mean, measured.standard_error / measured.mean)
    return ratio, ratio * relative
