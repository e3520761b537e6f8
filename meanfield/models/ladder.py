"""From a trained encoder down to the equations, rung by rung, and what is lost on each.

    model          the encoder itself
    attention      without its feed-forward layers: heads with the model's matrices, through the
                   attention of this package, and the model's normalisations
    one head       x <- N(x + c A_beta(x)) on the unit sphere, A_beta the softmax average of
                   Q^T K = beta 1, V = 1; beta and c are fitted, layer by layer, to scores and
                   outputs of the model's own attention on its own states
    equiangular    tokens of one cosine gamma each to each: over one layer
                   gamma' = 2 c (1 - gamma) ((n - 1) gamma + 1) e^{beta gamma}
                            / (e^beta + (n - 1) e^{beta gamma})

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
from meanfield.models.encoder import Encoder, EncoderLayer
from meanfield.models.heads import head_matrices, lifted, on_sphere, slope
from meanfield.observables.cosines import mean_cosine
from meanfield.terms.attention import HeadMatrices

_STIFF = 1e4
RUNGS = ("model", "attention", "one head", "equiangular")
"""From the model down to an equation for one number."""

STEPS = ("nothing", "normalisation", "attention", "one head")
"""What moves tokens over one layer: nothing, the model's normalisations, attention and these, one
head."""


@dataclass(frozen=True, eq=False)
class Ladder:
    """The rungs for one text.

    - cosine (4, layers + 1): mean cosine of pairs of tokens on each of `RUNGS`, at each depth.
    - distance (4, layers + 1): root mean square of |u - u'| over tokens, u their directions on a
      rung, u' the model's; NaN of equiangular tokens, sqrt(2) of unrelated directions.
    - step_distance (4, layers): the same after one layer from the model's own state: of tokens that
      stay, of the model's normalisations LN_2(LN_1(x)), of attention and these, of one head.
    - beta, strength, share (layers,): the one head: beta, c, and R^2 of its outputs against the
      model's attention, about 0; NaN where attention adds nothing.
    """

    cosine: FloatArray
    distance: FloatArray
    step_distance: FloatArray
    beta: FloatArray
    strength: FloatArray
    share: FloatArray


def ladder(encoder: Encoder, states: Sequence[FloatArray]) -> Ladder:
    """Rungs below the states of an encoder at all depths, each (n, d)."""
    if len(states[0]) < 2:
        raise ValueError("a text of one token has no pairs: give a longer one.")
    fits = [_fitted(layer, x) for layer, x in zip(encoder.layers, states, strict=False)]
    directions = [unit_vectors(x) for x in states]
    without, alone = [states[0]], [directions[0]]
    steps = []
    for k, (layer, (beta, strength, _)) in enumerate(zip(encoder.layers, fits, strict=True)):
        heads = head_matrices(layer)
        without.append(_attended(layer, heads, without[-1]))
        alone.append(_moved(alone[-1], beta, strength))
        moved = _moved(directions[k], beta, strength)
        normalised = layer.norm(layer.attention_norm(states[k]))
        ends = directions[k], normalised, _attended(layer, heads, states[k]), moved
        steps.append([_distance(each, directions[k + 1]) for each in ends])
    beta, strength, share = np.array(fits).T
    rungs = (states, without, alone)
    cosines = [[mean_cosine(on_sphere(x)) for x in rung] for rung in rungs]
    equal = equiangular_by_layer(len(states[0]), cosines[0][0], beta, strength)
    distances = [[_distance(x, u) for x, u in zip(rung, directions, strict=True)] for rung in rungs]
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


def _fitted(layer: EncoderLayer, x: FloatArray) -> tuple[float, float, float]:
    """One head for a layer: beta of all scores on cosines, c of outputs on averages, its R^2."""
    u = unit_vectors(x)
    cosines = u @ u.T
    centred = cosines - cosines.mean(axis=1, keepdims=True)
    # One slope for the mean of the heads' scores: the least squares of all of them at once.
    scores = sum(layer.scores(x)) / layer.heads
    beta = slope(np.asarray(scores), centred)
    beta = 0.0 if math.isnan(beta) else beta  # tokens that all agree: the same average at any beta
    average = _average(u, beta, 1.0) * np.sqrt(np.mean(np.sum(x**2, axis=1)))
    added = layer.attention(x)
    length, total = np.vdot(average, average), np.vdot(added, added)
    strength = float(np.vdot(added, average) / length) if length > 0.0 else 0.0
    residual = added - strength * average
    share = 1.0 - float(np.vdot(residual, residual) / total) if total > 0.0 else math.nan
    return beta, strength, share


def _average(u: FloatArray, beta: float, strength: float) -> FloatArray:
    one = np.eye(u.shape[1])
    return attention_output(u, [HeadMatrices(beta * one, strength * one)])


def _moved(u: FloatArray, beta: float, strength: float) -> FloatArray:
    return unit_vectors(u + _average(u, beta, strength))


def _attended(layer: EncoderLayer, heads: Sequence[HeadMatrices], x: FloatArray) -> FloatArray:
    added = attention_output(lifted(x), heads)[:, :-1]
    return layer.norm(layer.attention_norm(x + added))


def _distance(x: FloatArray, directions: FloatArray) -> float:
    apart = unit_vectors(x) - directions
    return float(np.sqrt(np.mean(np.sum(apart**2, axis=1))))
