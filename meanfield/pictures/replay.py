"""What a replay of a trained encoder shows: arrays that are ready to be drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanfield.arrays import ComplexArray, FloatArray, IntArray
from meanfield.models.replay import Replay
from meanfield.models.token_limit import TokenLimit


@dataclass(frozen=True, eq=False)
class ReplayPicture:
    """Means over texts.

    Attributes
    ----------
    title, facts : str
        Given. What it is, in a line each.
    similarity : ndarray, shape (layers + 1, bins)
        Given. Density of the cosines of pairs: shares over the width of a bin.
    cosine : ndarray, shape (4, layers + 1)
        Given. Mean cosine of pairs on each rung.
    betas, r2 : ndarray, shape (layers, heads * texts)
        Given. Slope of scores on cosines of every head, and the share of the scores it explains.
    spectrum : ndarray, shape (layers, d)
        Given. Eigenvalues of sum_h V_h.
    """

    title: str
    facts: str
    similarity: FloatArray
    cosine: FloatArray
    betas: FloatArray
    r2: FloatArray
    spectrum: ComplexArray


def replay_picture(found: Replay) -> ReplayPicture:
    """Picture of a replay, from memory or from a file."""
    similarity = found.observed["similarity"].mean(axis=0)
    by_layer = [np.moveaxis(part, 1, 0) for part in (found.heads.beta_fit, found.heads.r2_fit)]
    betas, r2 = (part.reshape(found.depth, -1) for part in by_layer)
    texts = f"{len(found.texts)} texts, " if len(found.texts) > 1 else ""
    heads = found.heads.beta_fit.shape[2]
    facts = f"{texts}{len(found.tokens)} tokens, {found.depth} layers of {heads} heads"
    return ReplayPicture(
        title=str(found.attributes.get("title", "")) or f"{found.model}, layer by layer",
        facts=facts,
        similarity=similarity * similarity.shape[1] / 2.0,
        cosine=found.ladder.cosine.mean(axis=0),
        betas=betas,
        r2=r2,
        spectrum=found.spectrum,
    )


@dataclass(frozen=True, eq=False)
class TokenLimitPicture:
    """Errors of n tokens.

    Attributes
    ----------
    title, facts : str
        Given.
    counts : ndarray of int, shape (n_counts,)
        Given.
    errors : ndarray, shape (layers, n_counts)
        Given. Root mean squares over repetitions.
    slopes : ndarray, shape (layers,)
        Given. Of the last three counts; NaN where there are fewer than two.
    guide : ndarray, shape (n_counts,)
        Given. A multiple of (1/n - 1/N)^(1/2), below all errors.
    """

    title: str
    facts: str
    counts: IntArray
    errors: FloatArray
    slopes: FloatArray
    guide: FloatArray


def token_limit_picture(found: TokenLimit) -> TokenLimitPicture:
    """Picture of what n tokens lack."""
    errors = found.mean.T
    sampled = np.sqrt(1.0 / found.counts - 1.0 / found.tokens)
    slopes = np.full(len(errors), np.nan)
    if len(found.counts) > 1:
        slopes = found.exponents(int(found.counts[-min(3, len(found.counts))]))[0]
    return TokenLimitPicture(
        title=f"{found.model}: n of {found.tokens} tokens",
        facts=f"{len(found.errors)} draws of tokens; slopes of the last three counts",
        counts=found.counts,
        errors=errors,
        slopes=slopes,
        guide=0.7 * float(np.min(errors / sampled)) * sampled,
    )
