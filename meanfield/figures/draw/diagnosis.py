"""Figure of a diagnosis: layers above, heads below; the trained model beside its copy."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meanfield.figures.draw.axes import set_plain_ticks
from meanfield.figures.draw.figures import new_figure
from meanfield.figures.draw.replay import layer_colours, layer_label
from meanfield.figures.draw.style import ENERGY, FAINT, MUTED, ORDER, style, title_above
from meanfield.models.diagnosis import SHARES, Diagnosis

_SIZE = (13.0, 6.8)
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
    """Figure of a diagnosis, on its own canvas that pyplot does not know."""
    with style():
        figure = new_figure(_SIZE, **options)
        # The title has a row of its own: it is wider than a panel.
        rows = [["title"] * len(_HEADS), list(_LAYERS), list(_HEADS)]
        axes: dict[str, Axes] = figure.subplot_mosaic(rows, height_ratios=[0.001, 1.0, 1.0])  # type: ignore[arg-type]
        axes["title"].set_axis_off()
        _, layers, heads = result.sink_share.shape
        facts = f"{result.tokens.sum()} tokens, {layers} layers of {heads} heads"
        title_above(axes["title"], title or result.facts.title or result.model, facts)
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
    """Medians over heads, between their quantiles of 10 and 90 %, on logarithmic axes."""
    for (middle, low, high), drawn in zip(quantiles.swapaxes(0, 1), _STYLES, strict=True):
        axes.fill_between(along, low, high, color=drawn["color"], alpha=0.16, linewidth=0.0)
        axes.plot(along, middle, marker="o", markersize=3.5, **drawn)
    axes.set(xscale="log", yscale="log")
    for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        set_plain_ticks(axis, *limits)
    axes.set_title("heads: median, 10 to 90 %", loc="left", color=MUTED)


def _draw_exponents(result: Diagnosis, axes: Axes) -> None:
    """Histograms of the exponents of heads."""
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
    """Errors of attention to n of N tokens, above the rate of Monte Carlo."""
    shares, errors = np.array(SHARES), result.quantiles("sampled")
    rate = np.sqrt(1.0 / shares - 1.0)
    law = axes.plot(shares, 0.8 * np.nanmin(errors / rate) * rate, **_LAW)
    _draw_bands(axes, shares, errors)
    axes.set_xticks(shares, [f"1/{1.0 / share:g}" for share in SHARES])
    axes.legend(law, ["$(1/n - 1/N)^{1/2}$"], loc="lower left")
    axes.set(xlabel="sampled tokens $n/N$", ylabel="relative error of attention")


def _draw_traces(result: Diagnosis, axes: Axes) -> None:
    """Traces of B and V of each head, by layer; 0 of random matrices."""
    for line in (axes.axvline, axes.axhline):
        line(0.0, color=FAINT, linewidth=0.8, zorder=0)
    (score, untrained_score), (value, untrained_value) = result.score_trace, result.value_trace
    for layer, colour in enumerate(layer_colours(len(score) + 1)[1:]):
        axes.plot(score[layer], value[layer], "o", color=colour, markersize=3.5,
                  label=layer_label(layer + 1, len(score)))  # fmt: skip
    axes.plot(untrained_score, untrained_value, ".", color=MUTED, markersize=2.0)
    axes.legend(title="layer", loc="center left", bbox_to_anchor=(1.0, 0.5), handletextpad=0.1)
    axes.set(xlabel="trace / norm of $B$", ylabel="trace / norm of $V$")
