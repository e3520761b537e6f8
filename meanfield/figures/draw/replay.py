"""Figures of a trained model: a replay layer by layer, and n among N tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meanfield.arrays import ComplexArray, FloatArray, IntArray
from meanfield.figures.draw.figures import study_figure
from meanfield.figures.draw.style import (
    ENERGY,
    FAINT,
    INK,
    MUTED,
    ORDER,
    TIME_COLOURS,
    title_above,
)
from meanfield.models.ladder import RUNGS
from meanfield.models.replay import Replay
from meanfield.models.token_limit import TokenLimit
from meanfield.observables.cosines import EDGES


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


_SIZE = (9.6, 7.4)
_LIMIT_SIZE = (6.4, 4.6)
# Colours of layers, without the palest.
_FIRST_COLOUR = 0.12
_MOST_LABELS = 8
_RUNG_STYLES: tuple[dict[str, Any], ...] = (
    {"color": INK, "marker": "o"},
    {"color": ORDER, "marker": "s"},
    {"color": ENERGY, "marker": "^"},
    {"color": MUTED, "linestyle": "--"},
)


def replay_figure(replay: Replay, **options: Any) -> Figure:
    """Figure of a replay, on its own canvas that pyplot does not know."""
    return study_figure(replay_picture(replay), _draw_replay, draw_similarity, _SIZE, **options)


def _draw_replay(picture: ReplayPicture, figure: Figure) -> None:
    axes = figure.subplot_mosaic([["cosines", "ladder"], ["betas", "spectrum"]])
    title_above(axes["cosines"], picture.title, picture.facts)
    axes["ladder"].set_title("from the model to an equation", loc="left", color=MUTED)
    axes["betas"].set_title(r"scores $\approx\beta\,\times$ cosine?", loc="left", color=MUTED)
    axes["spectrum"].set_title("eigenvalues of the sum of values", loc="left", color=MUTED)
    draw_similarity(picture, axes["cosines"])
    draw_ladder(picture, axes["ladder"])
    draw_betas(picture, axes["betas"])
    draw_values(picture, axes["spectrum"])


def draw_similarity(picture: ReplayPicture, axes: Axes) -> None:
    """Densities of the cosines of pairs, a curve for each depth."""
    colours = layer_colours(len(picture.similarity))
    for depth, (shares, colour) in enumerate(zip(picture.similarity, colours, strict=True)):
        axes.stairs(
            shares, EDGES, color=colour, linewidth=1.4, label=layer_label(depth, len(colours) - 1)
        )
    occupied = EDGES[:-1][(picture.similarity > 1e-3).any(axis=0)]
    axes.set_xlim(float(occupied.min(initial=0.0)), 1.0)
    axes.set_ylim(0.0)
    axes.set_xlabel("cosine of two tokens")
    axes.set_ylabel("density of pairs")
    axes.legend(title="layer")


def draw_ladder(picture: ReplayPicture, axes: Axes) -> None:
    """Mean cosine against depth, on each rung that the model has."""
    for name, cosines, drawn in zip(RUNGS, picture.cosine, _RUNG_STYLES, strict=True):
        if not np.isnan(cosines).all():
            axes.plot(cosines, label=name, markersize=4, **drawn)
    axes.set_xlabel("layer")
    axes.set_ylabel("mean cosine of pairs")
    axes.legend()


def draw_betas(picture: ReplayPicture, axes: Axes) -> None:
    """Slope of scores on cosines, against the share of the scores that it explains."""
    for layer, colour in enumerate(layer_colours(len(picture.betas) + 1)[1:]):
        axes.plot(picture.r2[layer], picture.betas[layer], "o", color=colour, markersize=4,
                  label=layer_label(layer + 1, len(picture.betas)))  # fmt: skip
    axes.axhline(0.0, color=FAINT, linewidth=0.8, zorder=0)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("$R^2$")
    axes.set_ylabel(r"$\beta$ of a head, fitted")
    axes.legend(title="layer")


def draw_values(picture: ReplayPicture, axes: Axes) -> None:
    """Eigenvalues in the complex plane."""
    for layer, colour in enumerate(layer_colours(len(picture.spectrum) + 1)[1:]):
        values = picture.spectrum[layer]
        axes.plot(values.real, values.imag, ".", color=colour, markersize=2.5)
    axes.axvline(0.0, color=FAINT, linewidth=0.8, zorder=0)
    axes.axhline(0.0, color=FAINT, linewidth=0.8, zorder=0)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("real part")
    axes.set_ylabel("imaginary part")


def token_limit_figure(limit: TokenLimit, **options: Any) -> Figure:
    """Figure of the errors of n tokens among N, or axes of a user's with them."""

    def draw(picture: TokenLimitPicture, figure: Figure) -> None:
        draw_token_limit(picture, figure.subplots())

    return study_figure(token_limit_picture(limit), draw, _errors, _LIMIT_SIZE, **options)


def draw_token_limit(picture: TokenLimitPicture, axes: Axes) -> None:
    """Errors of n tokens among N, below the title."""
    title_above(axes, picture.title, picture.facts)
    _errors(picture, axes)


def _errors(picture: TokenLimitPicture, axes: Axes) -> None:
    """Errors against n after each layer, and the rate of Monte Carlo."""
    for layer, colour in enumerate(layer_colours(len(picture.errors) + 1)[1:]):
        slope = picture.slopes[layer]
        label = f"{layer + 1}" if np.isnan(slope) else f"{layer + 1}, slope {slope:.2f}"
        axes.loglog(picture.counts, picture.errors[layer], "o-", color=colour, markersize=4,
                    linewidth=1.4, label=label)  # fmt: skip
    axes.loglog(picture.counts, picture.guide, "--", color=MUTED, label=r"$(1/n - 1/N)^{1/2}$")
    axes.set_xlabel("tokens $n$")
    axes.set_ylabel("error of states, relative")
    axes.legend(title="layer", loc="center left", bbox_to_anchor=(1.01, 0.5))


def layer_label(layer: int, layers: int) -> str:
    """Label of a layer, none for most where there are many."""
    return f"{layer}" if layer % (1 + layers // _MOST_LABELS) == 0 else "_"


def layer_colours(count: int) -> list[Any]:
    """Colours of so many layers, the first the palest."""
    return [colormaps[TIME_COLOURS](u) for u in np.linspace(_FIRST_COLOUR, 1.0, count)]
