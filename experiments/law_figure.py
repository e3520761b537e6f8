"""Figure that compares the laws of the number of clusters with ensembles.

a  mean numbers against beta: closed form, corrected law, runs
b  the dominant degree alone and the same runs
c  closed form over measured mean; d  corrected over measured mean
e  total variation between either law and the runs
f  distributions at a few points

Each number of tokens has a colour. Except in a, points of one beta are moved apart a little.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from law_points import LawPoint, degree_count
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, MultipleLocator, NullLocator

from meanfield.figures.draw.axes import (
    ENERGY,
    INK,
    MUTED,
    ORDER,
    power_of_ten,
    shades,
    style,
    title_above,
)
from meanfield.figures.draw.figures import check_suffix, new_figure, write_figure
from meanfield.spaces import Sphere
from meanfield.spectrum.stability import switching_threshold

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (10.0, 12.6)
_ROWS = [["a", "b"], ["c", "d"], ["e", "e"], ["f", "f"]]
_COLOURS = ("viridis", 0.0, 0.88)
_TICKS = (1, 2, 3, 5, 7, 10, 20, 30, 50, 100, 200, 500, 1000)
# Allowed errors of the laws: shares of the mean, and total variation.
_BANDS = ((0.10, "#f1f3f5"), (0.04, "#dde2e7"))
_DISTANCE = 0.12
# Factor between points of one beta.
_APART = 1.022
# Rarer numbers of clusters are not drawn.
_LEAST_SHARE = 2e-3
_BAR: dict[str, Any] = {"markersize": 4.5, "elinewidth": 0.9, "capsize": 0, "linewidth": 0}


def law_figure(
    points: Sequence[LawPoint], title: str = "", subtitle: str = "", shown: Sequence[LawPoint] = ()
) -> Figure:
    """Figure of points on one manifold; `shown` are those of panel f, by default three."""
    points = sorted(points, key=lambda p: (p.tokens, p.beta))
    sizes = sorted({p.tokens for p in points})
    colours = dict(zip(sizes, shades(*_COLOURS, len(sizes)), strict=True))
    with style():
        figure = new_figure(_SIZE)
        parts: Any = figure.subfigures(2, 1, height_ratios=(3.45, 1.0))
        rows, last = parts
        axes = rows.subplot_mosaic(_ROWS[:3])
        title_above(axes["a"], title, subtitle)
        _means(axes["a"], points, colours)
        _degree_alone(axes["b"], points, colours)
        _ratios(axes["c"], points, colours, corrected=False)
        _ratios(axes["d"], points, colours, corrected=True)
        axes["d"].sharey(axes["c"])
        _distances(axes["e"], points, colours)
        for panel in axes.values():
            _beta_axis(panel, points)
        chosen = list(shown) or _chosen(points)
        panels = last.subplots(1, len(chosen), squeeze=False)[0]
        for panel, point in zip(panels, chosen, strict=True):
            _distribution(panel, point)
        panels[0].set_ylabel("share")
        last.legend(*panels[0].get_legend_handles_labels(), loc="outside upper right", ncols=3)
        for letter, panel in [*axes.items(), ("f", panels[0])]:
            panel.annotate(
                letter, (0.0, 1.0), xycoords="axes fraction", xytext=(-30, 4),
                textcoords="offset points", fontsize=11, fontweight="bold", va="bottom",
            )  # fmt: skip
    return figure


def save_law_plot(points: Sequence[LawPoint], path: str | os.PathLike[str], **options: Any) -> None:
    """Write `law_figure` into a file; ValueError if the suffix is unknown."""
    check_suffix(path)
    write_figure(law_figure(points, **options), path)


def _means(axes: Axes, points: list[LawPoint], colours: dict[int, str]) -> None:
    """Draw mean numbers: closed form as lines, corrected law open, runs filled."""
    # Points are not moved apart, because on a slope that would look like a difference.
    for n, own, _ in _by_size(points, colours):
        beta, law = [p.beta for p in own], [p.corrected.mean for p in own]
        axes.plot(beta, [p.closed_form for p in own], color=colours[n], linewidth=1.0, zorder=1)
        axes.plot(beta, law, "s", color=colours[n], markerfacecolor="none", markersize=7, zorder=2)
        _measured(axes, own, np.array(beta), colours[n])
    axes.set_yscale("log")
    _plain(axes)
    axes.set_ylabel("mean number of clusters")
    handles: list[Any] = [
        Line2D([], [], color=MUTED, linewidth=1.0),
        Line2D([], [], color=MUTED, marker="s", markerfacecolor="none", markersize=7, linewidth=0),
        Line2D([], [], color=MUTED, marker="o", markersize=4.5, linewidth=0),
    ]
    names = ["closed form", "corrected law", "runs"]
    handles += [Line2D([], [], color=colour, linewidth=4) for colour in colours.values()]
    names += [f"$N = {power_of_ten(n)}$" for n in colours]
    axes.legend(handles, names, loc="lower right", handlelength=1.4, labelspacing=0.3)


def _degree_alone(axes: Axes, points: list[LawPoint], colours: dict[int, str]) -> None:
    """Draw the staircase of the dominant degree, and the runs, divided by sqrt(beta)."""
    dimension = points[0].dimension
    low, high = _span(points)
    fine = np.geomspace(low, high, 2000)
    degree, steps = np.ones(len(fine), dtype=int), 1
    while (threshold := switching_threshold(Sphere(dimension + 1), steps)) < high:
        degree += fine >= threshold
        steps += 1
    counts = np.array([0.0] + [degree_count(dimension, l) for l in range(1, steps + 1)])
    symbol = r"k_{\max}" if dimension == 1 else r"\ell_{\max}"
    label = f"dominant degree ${symbol}$ alone"
    axes.plot(fine, counts[degree] / np.sqrt(fine), color=ENERGY, linewidth=1.4, label=label)
    for n, own, beta in _by_size(points, colours):
        _measured(axes, own, beta, colours[n], root=True)
    axes.plot([], [], "o", color=MUTED, markersize=4.5, label="runs")
    axes.set_ylabel(r"mean number of clusters / $\sqrt{\beta}$")
    axes.legend(loc="upper right" if dimension == 1 else "upper left")


def _measured(
    axes: Axes, own: list[LawPoint], beta: np.ndarray, colour: str, *, root: bool = False
) -> None:
    """Draw means of the runs with one standard error; `root` divides by sqrt(beta)."""
    scale = np.sqrt([p.beta for p in own]) if root else np.ones(len(own))
    mean = np.array([p.measured.mean for p in own]) / scale
    error = np.nan_to_num([p.measured.standard_error for p in own]) / scale
    axes.errorbar(beta, mean, error, fmt="o", color=colour, zorder=3, **_BAR)


def _ratios(
    axes: Axes, points: list[LawPoint], colours: dict[int, str], *, corrected: bool
) -> None:
    """Draw predicted over measured means, with bands of allowed errors."""
    for width, shade in _BANDS:
        axes.axhspan(1.0 - width, 1.0 + width, color=shade, zorder=0, linewidth=0)
        axes.annotate(
            rf"$\pm {100 * width:.0f}\,\%$", (1.0, 1.0 - width), xytext=(-3, 2), color=MUTED,
            xycoords=("axes fraction", "data"), textcoords="offset points", ha="right", va="bottom",
        )  # fmt: skip
    axes.axhline(1.0, color=MUTED, linewidth=0.8, zorder=1)
    face: dict[str, Any] = {"fmt": "s", "markerfacecolor": "white"} if corrected else {"fmt": "o"}
    for n, own, beta in _by_size(points, colours):
        ratios = [p.corrected_ratio if corrected else p.closed_form_ratio for p in own]
        value, error = np.array(ratios).T
        axes.errorbar(beta, value, np.nan_to_num(error), color=colours[n], zorder=3, **face, **_BAR)
    axes.yaxis.set_major_locator(MultipleLocator(0.05))
    axes.set_ylabel("corrected / measured mean" if corrected else "closed form / measured mean")


def _distances(axes: Axes, points: list[LawPoint], colours: dict[int, str]) -> None:
    """Draw the total variation between laws and runs, and the part from sampling alone."""
    axes.axhline(_DISTANCE, color=ENERGY, linewidth=1.0, linestyle=(0, (5, 3)), zorder=1)
    for n, own, beta in _by_size(points, colours):
        near: dict[str, Any] = {"color": colours[n], "linewidth": 0.6, "alpha": 0.6, "zorder": 1}
        linear = [p.linear_distance for p in own]
        axes.plot(beta, linear, "o", color=colours[n], markersize=4.5, zorder=3)
        axes.plot(beta, linear, **near)
        law = [p.corrected_distance for p in own]
        axes.plot(beta, law, "s", color=colours[n], markerfacecolor="white", markersize=5, zorder=3)
    betas = sorted({p.beta for p in points})
    noise = [np.mean([p.sampling_distance for p in points if p.beta == b]) for b in betas]
    axes.plot(betas, noise, color=INK, linewidth=1.0, linestyle=":", zorder=2)
    axes.set_ylim(bottom=0.0)
    axes.set_ylabel("total variation from the runs")
    handles = [
        Line2D([], [], color=MUTED, marker="o", markersize=4.5, linewidth=0.6),
        Line2D([], [], color=MUTED, marker="s", markerfacecolor="white", linewidth=0, markersize=5),
        Line2D([], [], color=INK, linewidth=1.0, linestyle=":"),
        Line2D([], [], color=ENERGY, linewidth=1.0, linestyle=(0, (5, 3))),
    ]
    names = ["linear law", "corrected law", "corrected law, sampling alone", f"{_DISTANCE:g}"]
    axes.legend(handles, names, loc="upper left")


def _distribution(axes: Axes, point: LawPoint) -> None:
    """Draw the distribution of the runs and of both laws."""
    laws = [
        ("runs", point.measured, MUTED),
        ("corrected law", point.corrected, ENERGY),
        ("linear law", point.linear, ORDER),
    ]
    for i, (name, law, colour) in enumerate(laws):
        drawn = {k: share for k, share in law.distribution.items() if share >= _LEAST_SHARE}
        places = np.array(list(drawn)) + 0.27 * (i - 1)
        axes.bar(places, list(drawn.values()), width=0.25, color=colour, label=name)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("clusters")
    title = rf"$\beta = {point.beta:g},\ N = {power_of_ten(point.tokens)}$"
    axes.set_title(title, color=MUTED, pad=6)


def _by_size(
    points: list[LawPoint], colours: dict[int, str]
) -> list[tuple[int, list[LawPoint], np.ndarray]]:
    """For each size: its points, and their shifted places on the axis of beta."""
    found = []
    for i, n in enumerate(colours):
        own = [p for p in points if p.tokens == n]
        shift = _APART ** (i - 0.5 * (len(colours) - 1))
        found.append((n, own, shift * np.array([p.beta for p in own])))
    return found


def _chosen(points: list[LawPoint]) -> list[LawPoint]:
    """Points of three betas at their middle sizes."""
    betas = sorted({p.beta for p in points})
    found = []
    for b in sorted({betas[round(share * (len(betas) - 1))] for share in (0.3, 0.65, 0.9)}):
        own = [p for p in points if p.beta == b]
        found.append(own[len(own) // 2])
    return found


def _span(points: list[LawPoint]) -> tuple[float, float]:
    betas = [p.beta for p in points]
    return min(betas) / 1.12, max(betas) * 1.12


def _beta_axis(axes: Axes, points: list[LawPoint]) -> None:
    axes.set_xscale("log")
    low, high = _span(points)
    axes.set_xlim(low, high)
    axes.xaxis.set_major_locator(FixedLocator([t for t in _TICKS if low <= t <= high]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel(r"$\beta$")


def _plain(axes: Axes) -> None:
    """Set round numbers on a logarithmic axis of counts."""
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(FixedLocator([t for t in _TICKS if low <= t <= high]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
