"""Trained layers in the terms of this package, and their distance from Q^T K = beta 1.

On x~ = (x, 1) in R^{d+1} biases are entries of matrices: with A_h = (W_Q | b_Q)_h, and the same of
keys, values, outputs,

    scores of a head    s_ij = x~_i^T B_h x~_j,    B_h = A_h^T (W_K | b_K)_h / sqrt(k)
    what it adds        sum_h V_h sum_j p_ij x~_j,    V_h = W_O,h (W_V | b_V)_h,    and b_O

so that attention of a trained layer is attention of `fields.blocks`, term by term. Of a decoder x
is divided by its RMS, gains are part of the matrices, and RoPE is left out: B_h is that of i = j.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from meanfield.arrays import ComplexArray, FloatArray
from meanfield.fields.blocks import row_entropies, unit_vectors
from meanfield.measures import Measure
from meanfield.models.encoder import MultiHead, softmax
from meanfield.spaces import Sphere
from meanfield.terms.attention import HeadMatrices

# Sharpest softmax that entropies are compared with: a token then attends to itself alone.
_SHARPEST = 1e6
# Cosines that differ by less do not differ: a product of vectors of a thousand entries.
_ROUNDING = 1e-13


def on_sphere(x: FloatArray) -> Measure:
    """Directions of tokens (n, d) with equal masses, on the unit sphere of R^d."""
    return Measure(Sphere(x.shape[1]), unit_vectors(x))


def lifted(x: FloatArray) -> FloatArray:
    """Tokens (x, 1) of R^{d+1}, for those (n, d) of a layer."""
    return np.column_stack([x, np.ones(len(x))])


def head_matrices(layer: MultiHead) -> tuple[HeadMatrices, ...]:
    """Scores B_h and values V_h of a layer, each (d + 1, d + 1), for tokens (x, 1).

    The last entries of what attention adds are 0, and the bias of W_O is shared among the heads.
    """
    matrices = []
    for h in range(layer.heads):
        query, key, value, output = layer.matrices(h)
        added = output @ value
        added[:, -1] += layer.output.bias / layer.heads
        adds = np.vstack([added, np.zeros(added.shape[1])])
        matrices.append(HeadMatrices(query.T @ key / math.sqrt(layer.size), adds))
    return tuple(matrices)


@dataclass(frozen=True, eq=False)
class HeadTable:
    """Heads of a layer, or of all layers: one entry, or a row, each.

    A head of the theory scores <x, y> by beta. The three numbers that a trained head has instead:

        beta_norm       sqrt(d) |sym B|_F, B = W_Q^T W_K / sqrt(k): beta of B = (beta / d) 1 and
                        tokens of length sqrt(d), which gains of the model may make another
        beta_fit        slope of scores on cosines of the tokens, one of all rows, each centred
        beta_entropy    the softmax of beta cos has the mean entropy that the head has

    with R^2 = 1 - |s - beta c|^2 / |s|^2 of each, rows centred: the share of the scores that are
    beta times a cosine; negative where beta says less than a constant does.

    - attended_tokens: e^{entropy of a row}, its mean: how many tokens a token attends to.
    - symmetric: |sym B|_F^2 / |B|_F^2; one half of a random matrix. The signature of sym B means
      nothing: where 2 k < d it has k positive and k negative eigenvalues, whatever they are
      (Sylvester).
    """

    beta_norm: FloatArray
    beta_fit: FloatArray
    beta_entropy: FloatArray
    r2_norm: FloatArray
    r2_fit: FloatArray
    r2_entropy: FloatArray
    attended_tokens: FloatArray
    symmetric: FloatArray


def head_table(layer: MultiHead, x: FloatArray, cosines: FloatArray) -> HeadTable:
    """Properties of the heads of a layer at tokens (n, d) with these cosines (n, n)."""
    pairs = attended_pairs(layer, len(x))
    own = centred(cosines, pairs)
    rows = []
    for h, scores in enumerate(layer.scores(x)):
        queries, keys = (part[:, :-1] for part in layer.matrices(h)[:2])
        norm, of_symmetric, _ = bilinear_norms(queries / math.sqrt(layer.size), keys)
        entropies = row_entropies(softmax(scores))
        scores = centred(scores, pairs)
        total = np.vdot(scores, scores)
        betas = (
            math.sqrt(x.shape[1] * of_symmetric),
            slope(scores, own),
            entropic_beta(cosines, float(entropies.mean()), pairs),
        )
        residuals = [scores - beta * own for beta in betas]
        r2 = [1.0 - _ratio(np.vdot(each, each), total) for each in residuals]
        rows.append((*betas, *r2, np.exp(entropies).mean(), _ratio(of_symmetric, norm)))
    return HeadTable(*np.array(rows).T)


def bilinear_norms(left: FloatArray, right: FloatArray) -> tuple[float, float, FloatArray]:
    """|M|_F^2 and |sym M|_F^2 of M = L^T R, L and R (k, d); and R L^T, with its eigenvalues but 0.

    |M|^2 = tr(L L^T R R^T) and tr(M M) = tr(R L^T R L^T), of matrices of the size of a head.
    """
    norm = float(np.vdot(left @ left.T, right @ right.T))
    crossed = right @ left.T
    return norm, 0.5 * (norm + float(np.vdot(crossed.T, crossed))), np.asarray(crossed)


def attended_pairs(layer: MultiHead, n: int) -> npt.NDArray[np.bool_] | None:
    """Pairs (i, j) of n tokens of which i attends to j, (n, n); None for all."""
    return np.tri(n, dtype=np.bool_) if layer.causal else None


def centred(scores: FloatArray, pairs: npt.NDArray[np.bool_] | None) -> FloatArray:
    """Scores without the mean of their row, over these pairs alone, and 0 elsewhere."""
    if pairs is None:
        return np.asarray(scores - scores.mean(axis=1, keepdims=True))
    return np.where(pairs, scores - scores.mean(axis=1, keepdims=True, where=pairs), 0.0)


def entropic_beta(
    cosines: FloatArray, entropy: float, pairs: npt.NDArray[np.bool_] | None = None
) -> float:
    """Number beta >= 0 for which rows of softmax(beta cosines) have this mean entropy."""
    from scipy.optimize import brentq

    def excess(beta: float) -> float:
        scores = beta * cosines if pairs is None else np.where(pairs, beta * cosines, -math.inf)
        return float(row_entropies(softmax(scores)).mean()) - entropy

    if excess(0.0) <= 0.0:
        return 0.0
    high = 1.0
    while excess(high) > 0.0:
        high *= 4.0
        if high > _SHARPEST:
            return math.inf
    return float(brentq(excess, 0.0, high, xtol=1e-9, rtol=1e-9))


def value_spectrum(layer: MultiHead) -> ComplexArray:
    """Eigenvalues of sum_h V_h = W_O W_V, (d,): what tokens that all agree are multiplied by."""
    values = [layer.matrices(h)[2][:, :-1] for h in range(layer.heads)]
    eigenvalues = np.linalg.eigvals(layer.output.weight @ np.concatenate(values))
    return np.asarray(eigenvalues[np.argsort(-np.abs(eigenvalues))], np.complex128)


def slope(scores: FloatArray, centred: FloatArray) -> float:
    """Slope of scores on cosines with centred rows; NaN where these are rounding alone."""
    if np.max(np.abs(centred)) < _ROUNDING:
        return math.nan
    return _ratio(np.vdot(scores, centred), np.vdot(centred, centred))


def _ratio(above: Any, below: Any) -> float:
    return float(above / below) if below > 0.0 else math.nan
