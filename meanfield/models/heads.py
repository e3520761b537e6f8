"""Trained layers in the terms of this package, and their distance from Q^T K = beta 1.

On x~ = (x, 1) in R^{d+1} biases are entries of matrices: with A_h = (W_Q | b_Q)_h, and the same of
keys, values, outputs,

    scores of a head    s_ij = x~_i^T B_h x~_j,    B_h = A_h^T (W_K | b_K)_h / sqrt(k)
    what it adds        sum_h V_h sum_j p_ij x~_j,    V_h = W_O,h (W_V | b_V)_h,    and b_O

so that attention of a trained layer is attention of `fields.blocks`, term by term. Of a decoder x
is divided by its RMS, gains are part of the matrices, and RoPE is left out: B_h is that of i = j.

A ladder leads from a trained model down to the equations, rung by rung:

    model          the model itself
    attention      without its feed-forward layers: heads with the model's matrices (of an encoder
                   through the attention of this package), and the model's normalisations
    one head       x <- N(x + c A_beta(x)) on the unit sphere, A_beta the softmax average of
                   Q^T K = beta 1, V = 1; beta and c are fitted, layer by layer, to scores and
                   outputs of the model's own attention on its own states
    equiangular    tokens of one cosine gamma each to each: over one layer
                   gamma' = 2 c (1 - gamma) ((n - 1) gamma + 1) e^{beta gamma}
                            / (e^beta + (n - 1) e^{beta gamma})

Attention of decoders, and their one head, is causal; then cosines do not stay equal, and the last
rung is NaN.

Each begins where the model does and goes on by itself. Two numbers a layer: the mean cosine of
pairs, and how far directions of tokens are from the model's, the root mean square of |u - u'|.
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


_STIFF = 1e4
RUNGS = ("model", "attention", "one head", "equiangular")
"""From the model down to an equation for one number."""

STEPS = ("nothing", "normalisation", "attention", "no RoPE", "one head")
"""What moves tokens over one layer: nothing, the model's normalisations, attention and these, the
same without angles, one head."""


@dataclass(frozen=True, eq=False)
class Ladder:
    """The rungs for one text.

    - cosine (4, layers + 1): mean cosine of pairs of tokens on each of `RUNGS`, at each depth.
    - distance (4, layers + 1): root mean square of |u - u'| over tokens, u their directions on a
      rung, u' the model's; NaN of equiangular tokens, sqrt(2) of unrelated directions.
    - step_distance (5, layers): the same after one layer from the model's own state: of tokens that
      stay, of the model's normalisations LN_2(LN_1(x)), of attention and these, of the same without
      the angles of a decoder, of one head.
    - beta, strength, share (layers,): the one head: beta, c, and R^2 of its outputs against the
      model's attention, about 0; NaN where attention adds nothing.
    """

    cosine: FloatArray
    distance: FloatArray
    step_distance: FloatArray
    beta: FloatArray
    strength: FloatArray
    share: FloatArray

    @property
    def explained(self) -> FloatArray:
        """R^2 of one step, (5, layers): 1 - (its distance / that of tokens that stay)^2."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(1.0 - (self.step_distance / self.step_distance[..., :1, :]) ** 2)


def ladder(model: Stack, states: Sequence[FloatArray]) -> Ladder:
    """Rungs below the states of a model at all depths, each (n, d)."""
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
    """Cosine of equiangular tokens at depths 0, 1, ..., step by step, as c may be negative."""
    from scipy.integrate import solve_ivp

    n, cosines = tokens, [start]
    for beta, strength in zip(betas, strengths, strict=True):

        def pace(_: float, y: FloatArray, beta: float = beta, c: float = strength) -> FloatArray:
            # e^{beta (gamma - 1)} on both sides of the quotient: beta may be negative and large.
            (gamma,) = y
            one = 1.0 / (math.exp(min(beta * (1.0 - gamma), 700.0)) + n - 1)
            return np.array([2.0 * c * (1.0 - gamma) * ((n - 1) * gamma + 1.0) * one])

        # Stability limits explicit steps to about 1 / |c n|.
        method = "DOP853" if abs(strength) * n < _STIFF else "LSODA"
        solved = solve_ivp(pace, (0.0, 1.0), cosines[-1:], method, rtol=1e-12, atol=1e-13)
        cosines.append(float(solved.y[0, -1]))
    return np.array(cosines)


def _fitted(layer: MultiHead, x: FloatArray) -> tuple[float, float, float]:
    """One head for a layer: beta of all scores on cosines, c of outputs on averages, its R^2."""
    u = unit_vectors(x)
    pairs = attended_pairs(layer, len(x))
    # One slope for the mean of the heads' scores: the least squares of all of them at once.
    scores = np.asarray(sum(layer.scores(x)) / layer.heads)
    beta = slope(centred(scores, pairs), centred(u @ u.T, pairs))
    beta = 0.0 if math.isnan(beta) else beta  # tokens that all agree: the same average at any beta
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
    """Tokens after a layer that adds this, and has no feed-forward layer."""
    y = layer.after_attention(x, added)
    return layer.after_feed_forward(y, np.zeros(y.shape))


def _without_angles(layer: MultiHead, heads: Sequence[HeadMatrices], x: FloatArray) -> FloatArray:
    """Increment by attention with R_i = 1, which an encoder has."""
    return attention_output(lifted(layer.normalised(x)), heads, mask=_mask(layer))[:, :-1]


def _attended(layer: MultiHead, heads: Sequence[HeadMatrices], x: FloatArray) -> FloatArray:
    turns = layer.causal
    return _added(layer, x, layer.attention(x) if turns else _without_angles(layer, heads, x))


def directions_apart(x: FloatArray, directions: FloatArray) -> float:
    """Root mean square over tokens of the distance of their directions from these."""
    apart = unit_vectors(x) - directions
    return float(np.sqrt(np.mean(np.sum(apart**2, axis=1))))
