"""Labels of measures: what tokens carry along and keep, a position in their list or a frequency.

    d_t mu_i + div(mu_i (v[nu_i] + omega_i d/dtheta)) = 0,    nu_i = sum_j C_ij mu_j

Measures mu_j, one a label, with weights w_j that add up to 1. Rows of C add up to 1:

    frequencies    C_ij = w_j, a quadrature over their law: all see all
    "causal"       positions s_i = (i + 1/2) / M: nu(s) = (1 / s) int_0^s mu(s') ds'
    "alibi"        nu(s) = int_0^s e^{-lambda (s - s')} mu(s') ds', over the same of 1

Of integrals up to a layer's own position its own mass is there by half (the midpoint rule): with
all or none of it they would be of first order in 1 / M.

References: Karagodin, Polyanskiy, Rigollet, arXiv:2411.04990 (causal attention); Strogatz,
Physica D 143 (2000), 1-20 (frequencies).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.checks import at_least, at_most
from meanfield.frequencies import Frequencies

MOST_LABELS = 100_000
USUAL_LABELS = 64

# Gauss and Hermite's outer nodes have weights of no use: all of them together are rounding.
_NO_WEIGHT = 1e-18

LabelName = Literal["position", "frequency"]
"""What labels are."""


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels with their weights, and what each of them sees.

    Attributes
    ----------
    name : str
        Given. "position" in (0, 1], or "frequency".
    values, weights : ndarray, shape (M,)
        Given. Labels in increasing order of positions; weights add up to 1.
    rate : float or None
        Given. Lambda of "alibi"; 0 where all that came before counts alike, None where all see all.
    turning : ndarray, shape (M,)
        Derived. Angular velocities of the labels, all 0 for positions.

    Examples
    --------
    Three layers, whose first moments are 0, 1 and 1: what the second sees is its own half and the
    first.

    >>> positions(3).seen(np.array([[0.0], [1.0], [1.0]])).ravel().round(6).tolist()
    [0.0, 0.333333, 0.6]
    """

    name: LabelName
    values: FloatArray
    weights: FloatArray
    rate: float | None = None
    turning: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        """Frequencies turn, positions do not."""
        turns = self.name == "frequency"
        object.__setattr__(self, "turning", self.values if turns else np.zeros(len(self.values)))

    @property
    def turns(self) -> bool:
        """Whether a label has a drift."""
        return bool(self.turning.any())

    def mean(self, moments: ModalArray) -> ModalArray:
        """Moments sum_j w_j m_j of all together, shape (n,), of those of each label, (M, n)."""
        return np.asarray(self.weights @ moments)

    def seen(self, moments: ModalArray) -> ModalArray:
        """Moments sum_j C_ij m_j of what each label sees, (M, n); (1, n) where all see the same.

        Running sums: as many operations as there are moments.
        """
        if self.rate is None:
            return self.mean(moments)[None]
        own, before, total = self._masses
        return np.asarray((before * self._earlier(moments) + own * moments) / total)

    def _earlier(self, moments: ModalArray) -> ModalArray:
        """Sum_{j < i} q^{i - 1 - j} m_j, q the weight of a layer's distance."""
        from scipy.signal import lfilter

        if not self.rate:
            sums = np.cumsum(moments, axis=0)
        else:
            sums = lfilter([1.0], [1.0, -np.exp(-self.rate / len(moments))], moments, axis=0)
        earlier = np.zeros_like(moments)
        earlier[1:] = sums[:-1]
        return earlier

    @property
    def _masses(self) -> tuple[float, float, FloatArray]:
        """Mass that a layer gives itself, those before it as the nearest does, and all, (M, 1)."""
        h, s, rate = 1.0 / len(self.values), self.values, self.rate or 0.0
        if not rate:
            return 0.5 * h, h, s[:, None]
        own = -np.expm1(-0.5 * rate * h) / rate
        # From h / 2 to 3 h / 2 away.
        nearest = np.exp(-0.5 * rate * h) * -np.expm1(-rate * h) / rate
        return float(own), float(nearest), (-np.expm1(-rate * s) / rate)[:, None]


def positions(count: int, rate: float = 0.0) -> Labels:
    """Positions (i + 1/2) / M of layers that see what came before them.

    Parameters
    ----------
    count : int
        M.
    rate : float
        Lambda of the weights e^{-lambda (s - s')}; 0 of a causal mask alone.

    Raises
    ------
    ValueError
        If there is no layer, or there are more than 100,000.
    """
    _check_count(count)
    return Labels("position", (np.arange(count) + 0.5) / count, np.full(count, 1.0 / count), rate)


def frequency_labels(law: Frequencies, count: int) -> Labels:
    """Nodes and weights of a quadrature over a law of frequencies.

    Nodes whose weight is below rounding are left out: of 64 for Gauss's law those beyond eight
    standard deviations.

    Raises
    ------
    ValueError
        If there is no node, or there are more than 100,000.
    """
    _check_count(count)
    values, weights = law.nodes(count)
    kept = weights > _NO_WEIGHT
    values, weights = values[kept], weights[kept]
    return Labels("frequency", values, weights / weights.sum())


def _check_count(count: int) -> None:
    at_least(1, labels=count)
    at_most(MOST_LABELS, labels=count)
