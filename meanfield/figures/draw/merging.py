"""Figure of a merging diagram: the share of merged pairs over time and inverse temperature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meanfield.arrays import FloatArray
from meanfield.figures.data.saved_times import edges_between
from meanfield.figures.draw.figures import study_figure
from meanfield.figures.draw.style import DENSITY_COLOURS, FAINT, INK, title_above
from meanfield.papers.equiangular import equiangular_beta
from meanfield.papers.merging_results import MergingDiagram
from meanfield.terms.attention import Head

_CURVE_POINTS = 200


@dataclass(frozen=True, eq=False)
class MergingPicture:
    """Shares over beta and time."""

    facts: str  # tokens, dimension, flow and matrices, one line
    title: str  # may be empty
    times: FloatArray
    betas: FloatArray
    fraction: FloatArray  # (n_betas, n_times): NaN where nothing was run
    # (n, 2): times and betas at which pairs of orthogonal tokens reach the threshold, where Q = K =
    # V = 1 under softmax.
    curve: FloatArray | None


def merging_picture(made: MergingDiagram) -> MergingPicture:
    """Picture of a diagram, from memory or from a file."""
    facts, asked = made.facts, made.attributes
    flow = "SA" if facts.normalization == "softmax" else "USA"
    words = [f"{made.tokens} tokens in $\\mathbb{{R}}^{{{made.dimension}}}$", flow]
    if asked.get("motion") == "layers":
        words.append(f"layers of step {asked.get('step', 0.1):g}")
    plain = asked.get("matrices", repr(Head())) == repr(Head())
    if not plain:
        words.append(str(asked["matrices"]))
    words.append(f"{int(made.finished.min())} runs")
    title = facts.title or "Share of pairs of tokens that have merged"
    curve = _curve(made) if plain and flow == "SA" else None
    return MergingPicture(",  ".join(words), title, made.times, made.betas, made.fraction, curve)


def _curve(diagram: MergingDiagram) -> FloatArray | None:
    """The curve (6.12) with the tokens and the threshold of the diagram, inside its betas."""
    n, delta = diagram.tokens, 1.0 - float(diagram.attributes.get("threshold", 0.999))
    first = 0.5 * np.log(((n - 1) * (1.0 - delta) + 1.0) / delta)
    if diagram.times[-1] <= first:
        return None
    # At `first` beta is 0: closer to it the curve is steep.
    shares = np.linspace(0.0, 1.0, _CURVE_POINTS)[1:] ** 2
    times = first + (diagram.times[-1] - first) * shares
    betas = np.asarray(equiangular_beta(n, times, delta))
    curve: FloatArray = np.column_stack([times, betas])[betas <= diagram.betas[-1]]
    return curve


_SIZE = (7.2, 4.6)


def merging_figure(diagram: MergingDiagram, **options: Any) -> Figure:
    """Figure of a diagram, on its own canvas that pyplot does not know, or on axes of a user's."""

    def draw(picture: MergingPicture, figure: Figure) -> None:
        draw_merging(picture, figure.subplots())

    return study_figure(merging_picture(diagram), draw, _shares, _SIZE, **options)


def draw_merging(picture: MergingPicture, axes: Axes) -> None:
    """Shares of merged pairs, below the title."""
    title_above(axes, picture.title, picture.facts)
    _shares(picture, axes)


def _shares(picture: MergingPicture, axes: Axes) -> None:
    """Shares as colours, or as curves of a single beta; and the curve of equiangular tokens."""
    axes.set_xlabel("time $t$")
    if len(picture.betas) == 1 or len(picture.times) == 1:
        _curves(picture, axes)
        return
    mesh = axes.pcolormesh(
        edges_between(picture.times, False), edges_between(picture.betas, False),
        np.ma.masked_invalid(picture.fraction),
        cmap=DENSITY_COLOURS, vmin=0.0, vmax=1.0, rasterized=True,
    )  # fmt: skip
    axes.set_facecolor(FAINT)
    limits = axes.get_xlim(), axes.get_ylim()
    if picture.curve is not None and len(picture.curve):
        axes.plot(*picture.curve.T, color="white", linewidth=3.2, alpha=0.8)
        axes.plot(*picture.curve.T, color=INK, linewidth=1.4, linestyle="--",
                  label=r"orthogonal tokens, $d \to \infty$")  # fmt: skip
        axes.legend(loc="lower right", frameon=True, framealpha=0.85)
    axes.set_xlim(limits[0])
    axes.set_ylim(limits[1])
    axes.set_ylabel(r"inverse temperature $\beta$")
    axes.figure.colorbar(mesh, ax=axes, label="share of merged pairs")


def _curves(picture: MergingPicture, axes: Axes) -> None:
    """One beta against time, or one time against beta."""
    in_time = len(picture.betas) == 1
    at = picture.times if in_time else picture.betas
    fixed = rf"$\beta = {picture.betas[0]:g}$" if in_time else f"$t = {picture.times[0]:g}$"
    axes.plot(at, picture.fraction.ravel(), color=INK, marker="o", markersize=3, label=fixed)
    if not in_time:
        axes.set_xlabel(r"inverse temperature $\beta$")
    axes.set_ylim(-0.02, 1.02)
    axes.set_ylabel("share of merged pairs")
    axes.legend()
