"""Heads of trained layers, and a ladder of models from a trained model to Q^T K = beta 1.

With x~ = (x, 1) in R^{d+1} biases are entries of matrices:

    scores of a head    s_ij = x~_i^T B_h x~_j,    B_h = (W_Q | b_Q)_h^T (W_K | b_K)_h / sqrt(k)
    increment           b_O + sum_h V_h sum_j p_ij x~_j,    V_h = W_O,h (W_V | b_V)_h

So attention of a trained layer is attention of `fields.blocks`. In a decoder x is divided by its
RMS, matrices include gains, and B_h omits RoPE, as for i = j.

The ladder has four rungs, each simpler than the one before:

    model          the model itself
    attention      the model without feed-forward layers, with its normalisations and its heads,
                   which `fields.blocks` computes for encoders
    one head       x <- N(x + c A_beta(x)) on the unit sphere, A_beta the softmax average of
                   Q^T K = beta 1, V = 1. beta and c are fitted in each layer to scores and outputs
                   of the model's attention to its own states
    equiangular    all pairs of tokens have one cosine gamma: over one layer
                   gamma' = 2 c (1 - gamma) ((n - 1) gamma + 1) e^{beta gamma}
                            / (e^beta + (n - 1) e^{beta gamma})

Attention of decoders, and their one head, is causal; then cosines do not stay equal, and the last
rung is NaN. Each rung starts from the tokens of the model at depth 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from meanfield.arrays import ComplexArray, FloatArray
from meanfield.fields.blocks import attention_output, row_entropies, unit_vectors
from meanfield.measures import Measure
from meanfield.models.encoder import MultiHead, Stack, softmax
from meanfield.observables.cosines import mean_cosine
from meanfield.spaces import Sphere
from meanfield.terms.attention import HeadMatrices
from meanfield.terms.masks import MaskName

# Largest beta in `entropic_beta`: each token then attends to itself only.
_SHARPEST = 1e6
# Rounding of cosines: products of vectors with a thousand entries.
_ROUNDING = 1e-13


def on_sphere(x: FloatArray) -> Measure:
    """Directions of tokens (n, d) with equal masses, on the unit sphere of R^d."""
    return Measure(Sphere(x.shape[1]), unit_vectors(x))


def lifted(x: FloatArray) -> FloatArray:
    """Tokens (x, 1) in R^{d+1} for tokens x (n, d)."""
    return np.column_stack([x, np.ones(len(x))])


def head_matrices(layer: MultiHead) -> tuple[HeadMatrices, ...]:
    """Scores B_h and values V_h of a layer, each (d + 1, d + 1), for tokens (x, 1).

    The last row of V_h is 0. The bias b_O is divided equally among the heads.
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
    """Quantities of the heads of a layer, one entry each; or of all layers.

    In theory scores are beta <x, y>. A trained head has three estimates of beta:

        beta_norm       sqrt(d) |sym B|_F, B = W_Q^T W_K / sqrt(k). It is beta if B = (beta / d) 1
                        and tokens have the length sqrt(d), which the model's gains may change
        beta_fit        slope of scores over cosines of tokens, all rows together, each centred
        beta_entropy    the softmax of beta cos has the mean entropy of the head

    each with R^2 = 1 - |s - beta c|^2 / |s|^2 for centred rows of scores s and cosines c. R^2 is
    negative if beta c fits worse than a constant.

    - attended_tokens: mean of e^{entropy of a row}, the number of tokens to which a token attends.
    - symmetric: |sym B|_F^2 / |B|_F^2; one half for a random matrix. The signature of sym B has no
      meaning: for 2 k < d it has k positive and k negative eigenvalues for any B (Sylvester).
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
    """Quantities of the heads of a layer at tokens (n, d) with cosines (n, n)."""
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
    """|M|_F^2 and |sym M|_F^2 of M = L^T R, L and R (k, d); and R L^T, with M's eigenvalues but 0.

    |M|^2 = tr(L L^T R R^T) and tr(M M) = tr(R L^T R L^T), with matrices (k, k).
    """
    norm = float(np.vdot(left @ left.T, right @ right.T))
    crossed = right @ left.T
    return norm, 0.5 * (norm + float(np.vdot(crossed.T, crossed))), np.asarray(crossed)


def attended_pairs(layer: MultiHead, n: int) -> npt.NDArray[np.bool_] | None:
    """Pairs (i, j) of n tokens such that i attends to j, (n, n); None for all pairs."""
    return np.tri(n, dtype=np.bool_) if layer.causal else None


def centred(scores: FloatArray, pairs: npt.NDArray[np.bool_] | None) -> FloatArray:
    """Scores minus the mean of their row over these pairs; 0 for other pairs."""
    if pairs is None:
        return np.asarray(scores - scores.mean(axis=1, keepdims=True))
    return np.where(pairs, scores - scores.mean(axis=1, keepdims=True, where=pairs), 0.0)


def entropic_beta(
    cosines: FloatArray, entropy: float, pairs: npt.NDArray[np.bool_] | None = None
) -> float:
    """The beta >= 0 at which rows of softmax(beta cosines) have this mean entropy."""
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
    """Eigenvalues of sum_h V_h = W_O W_V, (d,), which multiply equal tokens; largest first."""
    values = [layer.matrices(h)[2][:, :-1] for h in range(layer.heads)]
    eigenvalues = np.linalg.eigvals(layer.output.weight @ np.concatenate(values))
    return np.asarray(eigenvalues[np.argsort(-np.abs(eigenvalues))], np.complex128)


def slope(scores: FloatArray, centred: FloatArray) -> float:
    """Slope of scores over cosines with centred rows; NaN if cosines differ by rounding only."""
    if np.max(np.abs(centred)) < _ROUNDING:
        return math.nan
    return _ratio(np.vdot(scores, centred), np.vdot(centred, centred))


def _ratio(above: Any, below: Any) -> float:
    return float(above / below) if below > 0.0 else math.nan


_STIFF = 1e4
RUNGS = ("model", "attention", "one head", "equiangular")
"""Rungs of a ladder."""

STEPS = ("nothing", "normalisation", "attention", "no RoPE", "one head")
"""One layer in different models: no change, the model's normalisations, its attention with these,
the same without RoPE, one head."""


@dataclass(frozen=True, eq=False)
class Ladder:
    """Ladder of models for one text, see the header of this module.

    - cosine (4, layers + 1): mean cosine of pairs of tokens on each of `RUNGS`, at each depth.
    - distance (4, layers + 1): root mean square over tokens of |u - u'|, with directions u on a
      rung and u' in the model; NaN for equiangular tokens, sqrt(2) for unrelated directions.
    - step_distance (5, layers): the same after one layer from the model's own state, for `STEPS`.
      "normalisation" is LN_2(LN_1(x)); "no RoPE" differs from "attention" in decoders.
    - beta, strength, share (layers,): beta, c, and R^2 (not centred) of the one head's outputs for
      the model's attention; R^2 is NaN where attention adds nothing.
    """

    cosine: FloatArray
    distance: FloatArray
    step_distance: FloatArray
    beta: FloatArray
    strength: FloatArray
    share: FloatArray

    @property
    def explained(self) -> FloatArray:
        """R^2 of one step, (5, layers): 1 - (step_distance / step_distance of "nothing")^2."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(1.0 - (self.step_distance / self.step_distance[..., :1, :]) ** 2)


def ladder(model: Stack, states: Sequence[FloatArray]) -> Ladder:
    """Ladder from the states of a model at all depths, each (n, d)."""
    if len(states[0]) < 2:
        raise ValueError("a text of one token has no pairs: give a longer one.")
    fits = [_fitted(layer, x) for layer, x in zip(model.layers, states, strict=False)]
    directions = [unit_vectors(x) for x in states]
    without, alone = [states[0]], [directions[0]]
    steps = []
    for k, (layer, (beta, strength, _)) in enumerate(zip(model.layers, fits, strict=True)):
        heads = head_matrices(layer)
        without.append(_attended(layer, heads, without[-1]))
        alone.append(_moved(layer, alone[-1], beta, strength))
        x = states[k]
        ends = (
            directions[k],
            _added(layer, x, np.zeros(x.shape)),
            _attended(layer, heads, x),
            _added(layer, x, _without_angles(layer, heads, x)),
            _moved(layer, directions[k], beta, strength),
        )
        steps.append([directions_apart(each, directions[k + 1]) for each in ends])
    beta, strength, share = np.array(fits).T
    rungs = (states, without, alone)
    cosines = [[mean_cosine(on_sphere(x)) for x in rung] for rung in rungs]
    equal = np.full(len(states), math.nan)
    if not any(layer.causal for layer in model.layers):
        equal = equiangular_by_layer(len(states[0]), cosines[0][0], beta, strength)
    distances = [
        [directions_apart(x, u) for x, u in zip(rung, directions, strict=True)] for rung in rungs
    ]
    return Ladder(
        cosine=np.array([*cosines, equal]),
        distance=np.array([*distances, [math.nan] * len(states)]),
        step_distance=np.array(steps).T,
        beta=beta,
        strength=strength,
        share=share,
    )


def equiangular_by_layer(
    tokens: int, start: float, betas: FloatArray, strengths: FloatArray
) -> FloatArray:
    """Cosine of equiangular tokens at depths 0, 1, ..., by an ODE solver, as c may be negative."""
    from scipy.integrate import solve_ivp

    n, cosines = tokens, [start]
    for beta, strength in zip(betas, strengths, strict=True):

        def pace(_: float, y: FloatArray, beta: float = beta, c: float = strength) -> FloatArray:
            # The fraction is reduced by e^{beta gamma}; beta may be negative and large.
            (gamma,) = y
            one = 1.0 / (math.exp(min(beta * (1.0 - gamma), 700.0)) + n - 1)
            return np.array([2.0 * c * (1.0 - gamma) * ((n - 1) * gamma + 1.0) * one])

        # Stability limits explicit steps to about 1 / |c n|.
        method = "DOP853" if abs(strength) * n < _STIFF else "LSODA"
        solved = solve_ivp(pace, (0.0, 1.0), cosines[-1:], method, rtol=1e-12, atol=1e-13)
        cosines.append(float(solved.y[0, -1]))
    return np.array(cosines)


def _fitted(layer: MultiHead, x: FloatArray) -> tuple[float, float, float]:
    """The one head of a layer: beta from scores over cosines, c from outputs over averages, R^2."""
    u = unit_vectors(x)
    pairs = attended_pairs(layer, len(x))
    # The slope of the mean score is the least-squares slope of all heads together.
    scores = np.asarray(sum(layer.scores(x)) / layer.heads)
    beta = slope(centred(scores, pairs), centred(u @ u.T, pairs))
    beta = 0.0 if math.isnan(beta) else beta  # equal tokens have the same average at any beta
    average = _average(layer, u, beta, 1.0) * np.sqrt(np.mean(np.sum(x**2, axis=1)))
    added = layer.attention(x)
    length, total = np.vdot(average, average), np.vdot(added, added)
    strength = float(np.vdot(added, average) / length) if length > 0.0 else 0.0
    residual = added - strength * average
    share = 1.0 - float(np.vdot(residual, residual) / total) if total > 0.0 else math.nan
    return beta, strength, share


def _average(layer: MultiHead, u: FloatArray, beta: float, strength: float) -> FloatArray:
    one = np.eye(u.shape[1])
    return attention_output(u, [HeadMatrices(beta * one, strength * one)], mask=_mask(layer))


def _mask(layer: MultiHead) -> MaskName:
    return "causal" if layer.causal else "none"


def _moved(layer: MultiHead, u: FloatArray, beta: float, strength: float) -> FloatArray:
    return unit_vectors(u + _average(layer, u, beta, strength))


def _added(layer: MultiHead, x: FloatArray, added: FloatArray) -> FloatArray:
    """Tokens after a layer with this increment and without its feed-forward layer."""
    y = layer.after_attention(x, added)
    return layer.after_feed_forward(y, np.zeros(y.shape))


def _without_angles(layer: MultiHead, heads: Sequence[HeadMatrices], x: FloatArray) -> FloatArray:
    """Increment by attention with R_i = 1, as in an encoder."""
    return attention_output(lifted(layer.normalised(x)), heads, mask=_mask(layer))[:, :-1]


def _attended(layer: MultiHead, heads: Sequence[HeadMatrices], x: FloatArray) -> FloatArray:
    turns = layer.causal
    return _added(layer, x, layer.attention(x) if turns else _without_angles(layer, heads, x))


def directions_apart(x: FloatArray, directions: FloatArray) -> float:
    """Root mean square over tokens of the distance between their directions and these."""
    apart = unit_vectors(x) - directions
    return float(np.sqrt(np.mean(np.sum(apart**2, axis=1))))
