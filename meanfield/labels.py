"""Labels of measures: constants of tokens, a position in their list or a frequency.

    d_t mu_i + div(mu_i (v[nu_i] + omega_i d/dtheta)) = 0,    nu_i = sum_j C_ij mu_j

Measures mu_j, one a label, with weights w_j that add up to 1. Rows of C add up to 1:

    frequencies    C_ij = w_j, a quadrature over their law: all see all
    "causal"       positions s in (0, 1): nu(s) = (1 / s) int_0^s mu(s') ds'
    "alibi"        nu(s) = int_0^s e^{-lambda (s - s')} mu(s') ds', over the same of 1
    other masks    the same of their weights, on panels; a matrix as it is (`position_rules`)

Labels stand at u_j = (j + 1/2) / M of a variable u of their own. Positions of the former two are
s = x^2 with 2 x = 1 - cos(pi u): C integrates the polynomial in x of degree M - 1 through the mu_j,
so that smooth profiles converge faster than any power of 1 / M. `Frequencies` gives frequencies, a
midpoint rule in u. An odd number q of times as many labels contains them.

Finitely many frequencies recur. Let them be equidistant, h apart. Moments of degree k are accurate
while the densities in their turning frames have no waves e^{i tau omega} with |tau| > pi / h. Their
mean is the sum where k t <= pi / h, and 0 beyond. Elsewhere the sum itself is the mean, while the
densities at rest have no such waves.

The error is watched. Of frequencies it is the wave of every second label, tau = pi / h; of
positions the last tenth of the Chebyshev coefficients in x, of each panel. A matrix of weights has
the labels of its rows and no error.

References: Karagodin, Polyanskiy, Rigollet, arXiv:2411.04990 (causal attention); Strogatz,
Physica D 143 (2000), 1-20 (frequencies); Trefethen, SIAM Review 50 (2008), 67-87 (quadrature).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from meanfield.arguments import at_least, at_most
from meanfield.arrays import FloatArray, ModalArray
from meanfield.terms.frequencies import Frequencies, Gaussian, GivenFrequencies
from meanfield.terms.masks import Mask
from meanfield.terms.position_rules import Panels

MOST_LABELS = 100_000
USUAL_LABELS = 64
MOST_POSITIONS = 2_000
"""Positions at most: each sees all, by a matrix."""

LabelName = Literal["position", "frequency"]
"""What labels are."""


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels (M,) with weights of sum 1, and what each of them attends to."""

    name: LabelName  # "position" in (0, 1), or "frequency"
    values: FloatArray
    weights: FloatArray
    matrix: FloatArray | None = None  # (M, M): C of positions; None where all see the mean
    # (r, M): its products with moments are the error of integrals over labels, see `error`; no row
    # where labels are exact.
    residual: ModalArray = field(default_factory=lambda: np.zeros((0, 0)))
    refinement: int = 1  # how many times as many there are as are saved, odd
    stored_weights: FloatArray | None = None  # weights of those alone; None where all are saved
    panels: Panels | None = None  # on which moments are polynomials between labels
    # Means of degree k are 0 from k t = band on; infinite where sums are the means.
    band: float = np.inf
    # (M,): angular velocities of the labels, all 0 for positions.
    turning: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        turns = self.name == "frequency"
        object.__setattr__(self, "turning", self.values if turns else np.zeros(len(self.values)))

    @property
    def turns(self) -> bool:
        return bool(self.turning.any())

    @property
    def most(self) -> int:
        """How many there may be."""
        return MOST_POSITIONS if self.name == "position" else MOST_LABELS

    @property
    def stored(self) -> slice:
        """Those that are saved: (j + 1/2) / M = (q j + (q - 1) / 2 + 1/2) / (q M)."""
        return slice(self.refinement // 2, None, self.refinement)

    def mean(self, moments: ModalArray, time: float = 0.0) -> ModalArray:
        """Mean moments sum_j w_j m_j, shape (n,), from the moments m_j of each label, (M, n)."""
        mean = np.asarray(self.weights @ moments)
        if np.isfinite(self.band):
            mean[time * np.arange(len(mean)) > self.band] = 0.0
        return mean

    def attended(self, moments: ModalArray, time: float = 0.0) -> ModalArray:
        """Moments sum_j C_ij m_j of what each label sees, (M, n); (1, n) where all see the same."""
        if self.matrix is None:
            return self.mean(moments, time)[None]
        if not np.iscomplexobj(moments):
            return np.asarray(self.matrix @ moments)
        # Real times complex: as two real columns, not with a complex copy of the matrix.
        pairs = np.ascontiguousarray(moments).view(np.float64)
        return np.asarray(self.matrix @ pairs).view(np.complex128)

    def spectrum(self, moments: ModalArray) -> ModalArray:
        """Waves in u that moments of each label have, (M, n) from (M, n).

        Of positions cos(pi n u), Chebyshev polynomials; of frequencies e^{2 pi i n u}, n = 0, 1,
        ..., -2, -1, in the moments times the density of labels.
        """
        from scipy import fft

        if self.name == "position":
            return np.asarray(fft.dct(moments, axis=0, norm="forward"))
        count = len(self.values)
        waves = np.exp(-1j * np.pi * fft.fftfreq(count, 1.0 / count) / count)
        return np.asarray(waves[:, None] * fft.fft(self.weights[:, None] * moments, axis=0))

    def error(self, moments: ModalArray) -> FloatArray:
        """Estimated error of integrals over labels, one for each moment, shape (n,)."""
        if not len(self.residual):
            return np.zeros(moments.shape[1])
        return np.asarray(np.abs(self.residual @ moments).max(axis=0))


def positions(count: int, mask: Mask, refinement: int = 1) -> Labels:
    """Positions under a mask; refinement: how many times as many there are, odd."""
    at_most(MOST_POSITIONS, labels=count * refinement)
    _checked(count, refinement)
    values, weights, matrix, residual, panels = mask.rule(count, refinement)
    labels = Labels("position", values, weights, matrix, residual, refinement, panels=panels)
    return labels if refinement == 1 else _storing(labels, *mask.rule(count)[:2])


def position_samples(count: int) -> Labels:
    """Positions of a rule whose spectrum alone matters."""
    values = np.sin(0.5 * np.pi * (np.arange(count) + 0.5) / count) ** 4
    return Labels("position", values, np.full(count, 1.0 / count))


def frequency_labels(law: Frequencies, count: int, refinement: int = 1) -> Labels:
    """Nodes and weights of a quadrature over a law of frequencies; parameters as of `positions`."""
    if isinstance(law, GivenFrequencies):
        return Labels("frequency", *law.nodes(count))
    total = _checked(count, refinement)
    values, weights = law.nodes(total)
    # Half the rule minus the rule: weights of alternating sign.
    residual = weights * np.exp(2j * np.pi * (total // 2) / total * np.arange(total))
    band = np.pi / (values[1] - values[0]) if isinstance(law, Gaussian) else np.inf
    labels = Labels("frequency", values, weights, None, residual[None], refinement, band=band)
    return labels if refinement == 1 else _storing(labels, *law.nodes(count))


def _checked(count: int, refinement: int) -> int:
    at_least(2, labels=count)
    at_most(MOST_LABELS, labels=count * refinement)
    return count * refinement


def _storing(labels: Labels, values: FloatArray, weights: FloatArray) -> Labels:
    every = labels.values.copy()
    every[labels.stored] = values
    return replace(labels, values=every, stored_weights=weights)
