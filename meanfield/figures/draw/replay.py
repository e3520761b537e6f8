"""Figures of trained models: a replay by layer, n of N tokens, and a diagnosis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meanfield.arrays import ComplexArray, FloatArray, IntArray
from meanfield.figures.draw.axes import (
    ENERGY,
    FAINT,
    INK,
    MUTED,
    ORDER,
    TIME_COLOURS,
    set_plain_ticks,
    style,
    title_above,
)
from meanfield.figures.draw.figures import new_figure, panel_figure, study_figure
from meanfield.models.diagnosis import SHARES, Diagnosis
from meanfield.models.heads import RUNGS
from meanfield.models.replay import Replay
from meanfield.models.token_limit import TokenLimit
from meanfield.observables.cosines import EDGES


@dataclass(frozen=True, eq=False)
class ReplayPicture:
    """Cosines of pairs, slopes of scores and eigenvalues of values, by layer."""

    title: str
    facts: str
    similarity: FloatArray  # (layers + 1, bins): density of the cosines of pairs, mean over texts
    cosine: FloatArray  # (4, layers + 1): mean cosine of pairs on each rung, mean over texts
    betas: FloatArray  # (layers, heads * texts): slope of scores on cosines
    r2: FloatArray  # (layers, heads * texts): share of the variance of scores that it explains
    spectrum: ComplexArray  # (layers, d): eigenvalues of sum_h V_h


def replay_picture(replay: Replay) -> ReplayPicture:
    """Picture of a replay."""
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
    slopes: FloatArray  # (layers,): of the last three counts; NaN for a single count
    guide: FloatArray  # (n_counts,): a multiple of (1/n - 1/N)^(1/2), below all errors


def token_limit_picture(limit: TokenLimit) -> TokenLimitPicture:
    """Picture of the errors of n tokens."""
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
    """Figure of a replay; on axes of the user only the cosines."""
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
    """Draw densities of the cosines of pairs, a curve for each depth."""
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
    """Draw the mean cosine against depth, on each rung that the model has."""
    for name, cosines, drawn in zip(RUNGS, picture.cosine, _RUNG_STYLES, strict=True):
        if not np.isnan(cosines).all():
            axes.plot(cosines, label=name, markersize=4, **drawn)
    axes.set_xlabel("layer")
    axes.set_ylabel("mean cosine of pairs")
    axes.legend()


def draw_betas(picture: ReplayPicture, axes: Axes) -> None:
    """Draw slopes of scores on cosines against R^2."""
    for layer, colour in enumerate(layer_colours(len(picture.betas) + 1)[1:]):
        axes.plot(picture.r2[layer], picture.betas[layer], "o", color=colour, markersize=4,
                  label=layer_label(layer + 1, len(picture.betas)))  # fmt: skip
    axes.axhline(0.0, color=FAINT, linewidth=0.8, zorder=0)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("$R^2$")
    axes.set_ylabel(r"$\beta$ of a head, fitted")
    axes.legend(title="layer")


def draw_values(picture: ReplayPicture, axes: Axes) -> None:
    """Draw eigenvalues in the complex plane."""
    for layer, colour in enumerate(layer_colours(len(picture.spectrum) + 1)[1:]):
        values = picture.spectrum[layer]
        axes.plot(values.real, values.imag, ".", color=colour, markersize=2.5)
    axes.axvline(0.0, color=FAINT, linewidth=0.8, zorder=0)
    axes.axhline(0.0, color=FAINT, linewidth=0.8, zorder=0)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("real part")
    axes.set_ylabel("imaginary part")


def token_limit_figure(limit: TokenLimit, **options: Any) -> Figure:
    """Figure of the errors of n of N tokens, or the drawing on axes of the user."""
    picture = token_limit_picture(limit)
    draw = partial(draw_token_limit, picture)
    return panel_figure(draw, _LIMIT_SIZE, picture.title, picture.facts, **options)


def draw_token_limit(picture: TokenLimitPicture, axes: Axes) -> None:
    """Draw errors against n after each layer, and the rate of Monte Carlo."""
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
    """Label of a layer; of many layers only some have one."""
    return f"{layer}" if layer % (1 + layers // _MOST_LABELS) == 0 else "_"


def layer_colours(count: int) -> list[Any]:
    """Colours of `count` layers, the first one the palest."""
    return [colormaps[TIME_COLOURS](u) for u in np.linspace(_FIRST_COLOUR, 1.0, count)]


_DIAGNOSIS_SIZE = (13.0, 6.8)
_LAYERS = {
    "mean_cosine": "mean cosine of pairs",
    "effective_rank": "effective rank",
    "first_length": "length of first token / median",
    "sink_share": "attention to the first token",
}
_HEADS = ("attended", "exponent", "sampled", "traces")
_STYLES: tuple[dict[str, Any], ...] = (
    {"color": ORDER, "linestyle": "-", "label": "trained"},
    {"color": MUTED, "linestyle": (0, (4, 1.5)), "label": "untrained"},
)
_LAW: dict[str, Any] = {"color": ENERGY, "linewidth": 1.1, "linestyle": ":"}
_REGIMES = {0.0: "sharp", 0.5: "1/2", 1.0: "diffuse"}


def diagnosis_figure(result: Diagnosis, *, title: str | None = None, **options: Any) -> Figure:
    """Figure of a diagnosis."""
    with style():
        figure = new_figure(_DIAGNOSIS_SIZE, **options)
        # The title has its own row, because it is wider than a panel.
        rows = [["title"] * len(_HEADS), list(_LAYERS), list(_HEADS)]
        axes: dict[str, Axes] = figure.subplot_mosaic(rows, height_ratios=[0.001, 1.0, 1.0])  # type: ignore[arg-type]
        axes["title"].set_axis_off()
        _, layers, heads = result.sink_share.shape
        facts = f"{result.tokens.sum()} tokens, {layers} layers of {heads} heads"
        heading = result.facts.title or result.model
        title_above(axes["title"], heading if title is None else title, facts)
        for name, label in _LAYERS.items():
            for numbers, drawn in zip(result.by_layer(name), _STYLES, strict=True):
                axes[name].plot(range(1, layers + 1), numbers, **drawn)
            axes[name].set(xlabel="layer", ylabel=label)
        axes["first_length"].set_yscale("log")
        set_plain_ticks(axes["first_length"].yaxis, *axes["first_length"].get_ylim())
        axes["mean_cosine"].legend()
        law = axes["attended"].plot(result.contexts, result.contexts, **_LAW)
        _draw_bands(axes["attended"], result.contexts, result.quantiles("attended"))
        axes["attended"].legend(law, ["all tokens, $g = 1$"])
        axes["attended"].set(xlabel="context $n$", ylabel="attended tokens $e^S$")
        _draw_exponents(result, axes["exponent"])
        _draw_sampled(result, axes["sampled"])
        _draw_traces(result, axes["traces"])
    return figure


def _draw_bands(axes: Axes, along: Any, quantiles: Any) -> None:
    """Draw medians over heads, and bands from 10 to 90 %, on logarithmic axes."""
    for (middle, low, high), drawn in zip(quantiles.swapaxes(0, 1), _STYLES, strict=True):
        axes.fill_between(along, low, high, color=drawn["color"], alpha=0.16, linewidth=0.0)
        axes.plot(along, middle, marker="o", markersize=3.5, **drawn)
    axes.set(xscale="log", yscale="log")
    for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        set_plain_ticks(axis, *limits)
    axes.set_title("heads: median, 10 to 90 %", loc="left", color=MUTED)


def _draw_exponents(result: Diagnosis, axes: Axes) -> None:
    finite = [each[np.isfinite(each)] for each in result.exponent]
    ends = np.array([0.0, 1.0, *np.concatenate(finite)])
    bins = np.linspace(ends.min(), ends.max(), 33).tolist()
    for numbers, drawn in zip(finite, _STYLES, strict=True):
        axes.hist(numbers, bins, color=drawn["color"], alpha=0.3)
        axes.hist(numbers, bins, color=drawn["color"], histtype="step", linewidth=1.2)
    for place, word in _REGIMES.items():
        axes.axvline(place, color=FAINT, linewidth=0.8, zorder=0)
        axes.text(place, 1.01, word, transform=axes.get_xaxis_transform(), ha="center", color=MUTED)
    axes.set(xlabel=r"exponent $g$ of a head, $e^S\sim n^g$", ylabel="heads")


def _draw_sampled(result: Diagnosis, axes: Axes) -> None:
    """Draw errors of attention to n of N tokens, and the rate of Monte Carlo."""
    shares, errors = np.array(SHARES), result.quantiles("sampled")
    rate = np.sqrt(1.0 / shares - 1.0)
    law = axes.plot(shares, 0.8 * np.nanmin(errors / rate) * rate, **_LAW)
    _draw_bands(axes, shares, errors)
    axes.set_xticks(shares, [f"1/{1.0 / share:g}" for share in SHARES])
    axes.legend(law, ["$(1/n - 1/N)^{1/2}$"], loc="lower left")
    axes.set(xlabel="sampled tokens $n/N$", ylabel="relative error of attention")


def _draw_traces(result: Diagnosis, axes: Axes) -> None:
    """Draw traces of B and V of each head by layer; random matrices have traces near 0."""
    for line in (axes.axvline, axes.axhline):
        line(0.0, color=FAINT, linewidth=0.8, zorder=0)
    (score, untrained_score), (value, untrained_value) = result.score_trace, result.value_trace
    for layer, colour in enumerate(layer_colours(len(score) + 1)[1:]):
        axes.plot(score[layer], value[layer], "o", color=colour, markersize=3.5,
                  label=layer_label(layer + 1, len(score)))  # fmt: skip
    axes.plot(untrained_score, untrained_value, ".", color=MUTED, markersize=2.0)
    axes.legend(title="layer", loc="center left", bbox_to_anchor=(1.0, 0.5), handletextpad=0.1)
    axes.set(xlabel="trace / norm of $B$", ylabel="trace / norm of $V$")
