"""From a trained model down to the equations, rung by rung, and what is lost on each.

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

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.fields.blocks import attention_output, unit_vectors
from meanfield.models.encoder import MultiHead, Stack
from meanfield.models.heads import (
    attended_pairs,
    centred,
    head_matrices,
    lifted,
    on_sphere,
    slope,
)
from meanfield.observables.cosines import mean_cosine
from meanfield.terms.attention import HeadMatrices
from meanfield.terms.masks import MaskName

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
