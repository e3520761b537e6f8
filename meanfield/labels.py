"""Labels of measures: constants of tokens, a position in their list or a frequency.

    d_t mu_i + div(mu_i (v[nu_i] + omega_i d/dtheta)) = 0,    nu_i = sum_j C_ij mu_j

Label j has a measure mu_j and a weight w_j. The weights and each row of C add up to 1:

    frequencies    C_ij = w_j, a quadrature over their law: every label attends to all
    "causal"       positions s in (0, 1): nu(s) = (1 / s) int_0^s mu(s') ds'
    "alibi"        nu(s) = int_0^s e^{-lambda (s - s')} mu(s') ds', divided by its value for mu = 1
    other masks    the same with their weights, on panels (`position_rules`); a matrix is C itself

Labels lie at u_j = (j + 1/2) / M. Causal and alibi positions are s = x^2 with 2 x = 1 - cos(pi u):
C integrates the polynomial in x of degree M - 1 through the mu_j, so smooth profiles converge
faster than any power of 1 / M. `Frequencies` gives frequencies by a midpoint rule in u. For odd q,
q M labels contain the M labels.

Finitely many frequencies recur. Gaussian ones are equidistant, h apart. Moments of degree k are
accurate while the densities in their turning frames have no waves e^{i tau omega}, |tau| > pi / h.
The mean is the sum where k t <= pi / h, and 0 beyond. For other laws the mean is the sum; it is
accurate while the densities at rest have no such waves.

`error` estimates the error. For frequencies it is the wave tau = pi / h, of alternating sign; for
positions the last tenth of the Chebyshev coefficients in x on each panel. A weight matrix has one
label per row and no error.

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
"""Largest number of positions, which need a matrix (M, M)."""

LabelName = Literal["position", "frequency"]


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels (M,), their weights of sum 1, and the matrix of their attention."""

    name: LabelName  # "position" in (0, 1), or "frequency"
    values: FloatArray
    weights: FloatArray
    matrix: FloatArray | None = None  # (M, M): C of positions; None where all attend to the mean
    # (r, M): its products with moments give `error`; without rows where labels are exact.
    residual: ModalArray = field(default_factory=lambda: np.zeros((0, 0)))
    refinement: int = 1  # odd q: every q-th label is saved
    stored_weights: FloatArray | None = None  # weights of the saved labels; None where all are
    panels: Panels | None = None  # on each, moments are polynomials between labels
    # Means of degree k are 0 for k t > band; infinite where the sum is the mean.
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
        """Largest number of labels."""
        return MOST_POSITIONS if self.name == "position" else MOST_LABELS

    @property
    def stored(self) -> slice:
        """Saved labels: (j + 1/2) / M = (q j + (q - 1) / 2 + 1/2) / (q M)."""
        return slice(self.refinement // 2, None, self.refinement)

    def mean(self, moments: ModalArray, time: float = 0.0) -> ModalArray:
        """Mean moments sum_j w_j m_j, shape (n,), from moments (M, n) of the labels."""
        mean = np.asarray(self.weights @ moments)
        if np.isfinite(self.band):
            mean[time * np.arange(len(mean)) > self.band] = 0.0
        return mean

    def attended(self, moments: ModalArray, time: float = 0.0) -> ModalArray:
        """Moments sum_j C_ij m_j of nu_i, shape (M, n); (1, n) where all labels share the mean."""
        if self.matrix is None:
            return self.mean(moments, time)[None]
        if not np.iscomplexobj(moments):
            return np.asarray(self.matrix @ moments)
        # Real times complex: as two real columns, not with a complex copy of the matrix.
        pairs = np.ascontiguousarray(moments).view(np.float64)
        return np.asarray(self.matrix @ pairs).view(np.complex128)

    def spectrum(self, moments: ModalArray) -> ModalArray:
        """Coefficients of waves in u of the moments, shape (M, n) from (M, n).

        Positions: cos(pi n u), Chebyshev polynomials. Frequencies: e^{2 pi i n u}, n = 0, 1, ...,
        -2, -1, of the moments times M w_j.
        """
        from scipy import fft

        if self.name == "position":
            return np.asarray(fft.dct(moments, axis=0, norm="forward"))
        count = len(self.values)
        waves = np.exp(-1j * np.pi * fft.fftfreq(count, 1.0 / count) / count)
        return np.asarray(waves[:, None] * fft.fft(self.weights[:, None] * moments, axis=0))

    def error(self, moments: ModalArray) -> FloatArray:
        """Estimated error of integrals over labels for each moment, shape (n,)."""
        if not len(self.residual):
            return np.zeros(moments.shape[1])
        return np.asarray(np.abs(self.residual @ moments).max(axis=0))


def positions(count: int, mask: Mask, refinement: int = 1) -> Labels:
    """Positions under a mask: count * refinement labels, refinement odd; `count` are saved."""
    at_most(MOST_POSITIONS, labels=count * refinement)
    _checked(count, refinement)
    values, weights, matrix, residual, panels = mask.rule(count, refinement)
    labels = Labels("position", values, weights, matrix, residual, refinement, panels=panels)
    return labels if refinement == 1 else _storing(labels, *mask.rule(count)[:2])


def position_samples(count: int) -> Labels:
    """Causal positions with equal weights and without a matrix, for spectra."""
    values = np.sin(0.5 * np.pi * (np.arange(count) + 0.5) / count) ** 4
    return Labels("position", values, np.full(count, 1.0 / count))


def frequency_labels(law: Frequencies, count: int, refinement: int = 1) -> Labels:
    """Nodes and weights of a quadrature over a law of frequencies; arguments as in `positions`."""
    if isinstance(law, GivenFrequencies):
        return Labels("frequency", *law.nodes(count))
    total = _checked(count, refinement)
    values, weights = law.nodes(total)
    # Every second node minus the whole rule: weights of alternating sign.
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
