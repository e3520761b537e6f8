"""Picture of a replay of a trained model: arrays that are ready to be drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanfield.arrays import ComplexArray, FloatArray, IntArray
from meanfield.models.replay import Replay
from meanfield.models.token_limit import TokenLimit


@dataclass(frozen=True, eq=False)
class ReplayPicture:
    """Means over texts; betas, r2 (layers, heads * texts): slopes of scores, their shares."""

    title: str
    facts: str
    # (layers + 1, bins): density of the cosines of pairs: shares over the width of a bin.
    similarity: FloatArray
    cosine: FloatArray  # (4, layers + 1): mean cosine of pairs on each rung
    betas: FloatArray
    r2: FloatArray
    spectrum: ComplexArray  # (layers, d): eigenvalues of sum_h V_h


def replay_picture(replay: Replay) -> ReplayPicture:
    """Picture of a replay, from memory or from a file."""
    similarity = replay.observed["similarity"].mean(axis=0)
    by_layer = [np.moveaxis(part, 1, 0) for part in (replay.heads.beta_fit, replay.heads.r2_fit)]
    betas, r2 = (part.reshape(replay.depth, -1) for part in by_layer)
    texts = f"{len(replay.texts)} texts, " if len(replay.texts) > 1 else ""
    heads = replay.heads.beta_fit.shape[2]
    facts = f"{texts}{len(replay.tokens)} tokens, {replay.depth} layers of {heads} heads"
    return ReplayPicture(
        title=replay.facts.title or f"{replay.model}, layer by layer",
        facts=facts,
        similarity=similarity * similarity.shape[1] / 2.0,
        cosine=replay.ladder.cosine.mean(axis=0),
        betas=betas,
        r2=r2,
        spectrum=replay.spectrum,
    )


@dataclass(frozen=True, eq=False)
class TokenLimitPicture:
    """Errors of n tokens."""

    title: str
    facts: str
    counts: IntArray  # (n_counts,)
    errors: FloatArray  # (layers, n_counts): root mean squares over runs
    slopes: FloatArray  # (layers,): of the last three counts; NaN where there are fewer than two
    guide: FloatArray  # (n_counts,): A multiple of (1/n - 1/N)^(1/2), below all errors


def token_limit_picture(limit: TokenLimit) -> TokenLimitPicture:
    """Picture of what n tokens lack."""
    errors = limit.mean.T
    sampled = np.sqrt(1.0 / limit.counts - 1.0 / limit.tokens)
    slopes = np.full(len(errors), np.nan)
    if len(limit.counts) > 1:
        slopes = limit.exponents(int(limit.counts[-min(3, len(limit.counts))]))[0]
    return TokenLimitPicture(
        title=f"{limit.model}: n of {limit.tokens} tokens",
        facts=f"{len(limit.errors)} draws of tokens; slopes of the last three counts",
        counts=limit.counts,
        errors=errors,
        slopes=slopes,
        guide=0.7 * float(np.min(errors / sampled)) * sampled,
    )
