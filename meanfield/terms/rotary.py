"""Rotary embeddings: queries and keys turn with their positions, values do not.

    score beta <R(s) Q x, R(s') K y> = beta x^T Q^T R(s' - s) K y,    Omega_k = L base^{-2k/d}

R(s) turns the planes of coordinates (2k, 2k + 1) by Omega_k s, k = 0, ..., d/2 - 1. The usual
embedding of n tokens has L = n: positions count tokens then. Only differences of positions matter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from meanfield.arguments import checked
from meanfield.arrays import FloatArray
from meanfield.terms.masks import EVERYONE, Mask, PairWeights
from meanfield.terms.position_rules import PositionRule


@checked
@dataclass(frozen=True)
class Rotary:
    """Rotary embedding: scores depend on a phase for each pair of positions.

        score <R(s) Q x, R(s') K y>,    R(s) turns plane k by length * base^{-2k/d} s

    Planes are the coordinates (2k, 2k + 1) of queries and keys, of an even number d of components.
    Loaders of models whose planes are halves permute rows of Q and K.

    Attributes
    ----------
    length : float
        Frequency of the first plane per unit of s: the number of tokens in the list (0, 1]. 0 is no
        embedding.
    base : float
        At least 1, which turns all planes alike. On the circle it does not matter.

    Raises
    ------
    ValueError
        If the base is below 1.

    References
    ----------
    Su, Lu, Pan, Murtadha, Wen, Liu, RoFormer, arXiv:2104.09864.

    Examples
    --------
    >>> import meanfield as mf
    >>> mf.Rotary(length=8, base=100).frequencies(4)
    array([8. , 0.8])
    >>> mf.Problem(mf.Circle(), mf.Attention(beta=2.0, rotary=mf.Rotary(3.0), mask="causal")).mask
    causal, Rotary(3, base=10000)
    """

    length: float
    base: float = 10_000.0

    def __post_init__(self) -> None:
        if not self.base >= 1.0:
            raise ValueError(f"base of a rotary embedding must be at least 1, got {self.base:g}.")

    def frequencies(self, d: int) -> FloatArray:
        """Omega of the planes of R^d, shape (d // 2,)."""
        return np.asarray(self.length * self.base ** (-2.0 * np.arange(d // 2) / d))

    def turned(self, vectors: FloatArray, positions: FloatArray) -> FloatArray:
        """R(s_i) u_i of vectors (..., n, d) at positions (n,)."""
        angles = positions[:, None] * self.frequencies(vectors.shape[-1])
        # Coordinates of a plane as a complex number.
        planes = np.ascontiguousarray(vectors).view(np.complex128) * np.exp(1j * angles)
        return np.asarray(planes.view(np.float64))

    def __repr__(self) -> str:
        return f"Rotary({self.length:g}, base={self.base:g})"


@dataclass(frozen=True)
class Turning(Mask):
    """A mask, and a rotary embedding of heads; projections: query, key and beta of each head."""

    mask: Mask
    name: str  # of the mask
    rotary: Rotary
    projections: tuple[tuple[Any, Any, Any], ...]

    def of_tokens(self, n: int) -> PairWeights:
        return replace(self.mask.of_tokens(n), turn=partial(self._queries_and_keys, n))

    def rule(self, count: int, refinement: int = 1) -> PositionRule:
        return self.mask.rule(count, refinement)

    def _queries_and_keys(
        self, n: int, number: int, x: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        query, key, beta = self.projections[number]
        positions = (np.arange(n) + 0.5) / n
        turned = [self.rotary.turned(_applied(each, x), positions) for each in (query, key)]
        return beta * turned[0], turned[1]

    def __repr__(self) -> str:
        text = repr(self.rotary)
        return text if self.mask == EVERYONE else f"{self.name}, {text}"


def _applied(matrix: Any, x: FloatArray) -> FloatArray:
    """M x of a number, a diagonal or rows."""
    m: FloatArray = np.asarray(matrix, dtype=np.float64)
    return np.asarray(x @ m.T if m.ndim == 2 else x * m)
