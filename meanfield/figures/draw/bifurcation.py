"""Bifurcation diagram: stationary states against diffusivity, with their free energy."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from meanfield.figures.draw.axes import INK, MUTED, facts_title, style, title_above
from meanfield.figures.draw.figures import check_empty, check_suffix, new_figure, write_figure
from meanfield.figures.draw.phase import (
    AT_ENERGY,
    AT_ORDER,
    AT_VALUE,
    BOTH,
    CRITICAL,
    SADDLE_NODE,
    TRANSITION,
    BifurcationPicture,
    Pieces,
    bifurcation_picture,
)
from meanfield.stationary.branches import Branch
from meanfield.studies.bifurcation import BifurcationDiagram, bifurcation_diagram
from meanfield.studies.phase import PhasePoint

_SIZE = (9.6, 5.8)
_TITLE = "Stationary states"
_UNIFORM, _ORDERED = MUTED, INK
_DASHES = (0, (3.5, 2.0))
# Margins around the interval in which uniform and order are both stable, in its widths.
_BEFORE, _AFTER = 1.3, 1.1
# A magnified part has a panel of its own if it is less than this share of the whole.
_WORTH_A_PANEL = 0.3
# A narrower share of the whole has ticks relative to an offset; below the second, rounding wins.
_OFFSET_SHARE, _LEAST_SHARE = 1e-3, 1e-12
# Marks closer than this share of an axis are drawn as one.
_APART = 0.02
# Share of an axis that words left of a mark need.
_ROOM = 0.15
# End of a whole branch, relative to the last diffusivity with order.
_BEYOND = 1.25
# Most ticks along an axis, so that many digits have room.
_TICKS = 5
# Numbers with more digits would overlap; only the axis has them.
_MOST_DIGITS = 8
# Height of the axes relative to the curves; words stand above the curves.
_HEADROOM = 1.3


def save_bifurcation(point: PhasePoint, branch: Branch, path: str | os.PathLike[str]) -> None:
    """Write the bifurcation diagram of a branch and a marked point into a file."""
    check_suffix(path)
    write_figure(bifurcation_figure(point, branch), path)


def bifurcation_figure(point: PhasePoint, branch: Branch) -> Figure:
    """Order parameter against diffusivity, free energy below; magnified where both are stable."""
    return draw_bifurcation(bifurcation_picture(point, branch))


def diagram_figure(diagram: BifurcationDiagram, *, ax: Any = None, **options: Any) -> Figure:
    """Figure of a bifurcation diagram; on axes of the user only the order parameter."""
    picture = bifurcation_picture(diagram.point, diagram.branch)
    if ax is None:
        return draw_bifurcation(picture, **options)
    point = picture.point
    check_empty(ax)
    with style():
        _states(ax, point, picture.pieces, _whole(point))
        for value, colour in _marked(point):
            ax.axvline(value, color=colour, linewidth=0.9, linestyle=":")
        ax.set_xlabel("diffusivity $D$")
        ax.set_ylabel(_order_label(picture.degree))
        ax.set_title(options.get("title") or _TITLE)
        _legend(ax, picture.symmetry)
    figure: Figure = ax.figure
    return figure


def point_figure(point: PhasePoint, **options: Any) -> Figure:
    """Figure of the bifurcation diagram in which a phase point lies."""
    if point.problem is None:
        raise ValueError("this phase point has no problem: take that of mf.phase_point(problem).")
    return diagram_figure(bifurcation_diagram(point.problem), **options)


def _whole(point: PhasePoint) -> tuple[float, float]:
    """Range of diffusivities of a whole branch."""
    return (0.0, _BEYOND * (point.saddle_node_diffusivity or point.critical_diffusivity))


def draw_bifurcation(
    picture: BifurcationPicture, *, title: str | None = None, **options: Any
) -> Figure:
    """Figure of the picture of a branch."""
    point, pieces, energy = picture.point, picture.pieces, picture.has_energy
    whole = _whole(point)
    window = _window(point, whole)
    magnified = window != whole
    rows: list[Any] = [["order"], ["energy"]] if energy else [["order"]]
    ratios: dict[str, Any] = {"height_ratios": [1.6, 1.0]} if energy else {}
    if magnified:
        rows = [["whole", *row] for row in rows]
        ratios["width_ratios"] = [1.0, 1.5]
    with style():
        figure = new_figure(_SIZE if energy else (_SIZE[0], 0.75 * _SIZE[1]), **options)
        axes = figure.subplot_mosaic(rows, **ratios)
        first, last = axes["whole" if magnified else "order"], axes["energy" if energy else "order"]
        if magnified:
            _states(first, point, pieces, whole)
            axes["order"].set_title("the framed part, magnified", loc="left", color=MUTED)
            first.axvspan(*window, facecolor="none", edgecolor=MUTED, linewidth=0.8)
            first.set_xlabel("diffusivity $D$")
        title_above(first, _TITLE if title is None else title, facts_title(picture.facts))
        _states(axes["order"], point, pieces, window)
        _marks(axes["order"], point)
        if energy:
            axes["order"].tick_params(labelbottom=False)
            _free_energy(axes["energy"], point, pieces, window)
        for panel in axes.values():
            panel.xaxis.set_major_locator(MaxNLocator(nbins=_TICKS))
        if window[1] - window[0] < _OFFSET_SHARE * whole[1]:
            last.ticklabel_format(axis="x", useOffset=True)
        last.set_xlabel("diffusivity $D$")
        for panel in (first, axes["order"]):
            panel.set_ylabel(_order_label(picture.degree))
        _legend(first, picture.symmetry)
    return figure


def _legend(axes: Axes, symmetry: str) -> None:
    """Legend in alphabetical order: order before uniform, stable before unstable."""
    handles, labels = axes.get_legend_handles_labels()
    chosen = sorted(zip(labels, handles, strict=True), key=lambda entry: entry[0])
    handles, labels = [handle for _, handle in chosen], [label for label, _ in chosen]
    axes.legend(handles, labels, loc="best", title=f"stability among\n{symmetry} states:")


def _window(point: PhasePoint, whole: tuple[float, float]) -> tuple[float, float]:
    """Diffusivities of the large panel: around the interval where both are stable, or all."""
    saddle = point.saddle_node_diffusivity
    if saddle is None:
        return whole
    width = saddle - point.critical_diffusivity
    low, high = point.critical_diffusivity - _BEFORE * width, saddle + _AFTER * width
    share = (high - low) / (whole[1] - whole[0])
    return (low, high) if _LEAST_SHARE < share < _WORTH_A_PANEL else whole


def _states(axes: Axes, point: PhasePoint, pieces: Pieces, window: tuple[float, float]) -> None:
    """Draw uniform and the branch: full lines if stable, dashed if not."""
    _shade(axes, point)
    _uniform(axes, point, window)
    top = _HEADROOM * _draw(axes, pieces, AT_ORDER, window)[1]
    axes.set_xlim(*window)
    axes.set_ylim(-0.04 * top, top)
    # The order parameter is at most 1; the headroom is for words.
    axes.set_yticks([tick for tick in axes.get_yticks() if 0.0 <= tick < min(top, 1.0 + 1e-9)])


def _order_label(degree: int) -> str:
    mean = r"order parameter $|\int x\, d\mu|$"
    return mean if degree == 1 else f"moment of degree {degree}\nas a share of a Dirac's"


def _free_energy(
    axes: Axes, point: PhasePoint, pieces: Pieces, window: tuple[float, float]
) -> None:
    """Draw the free energy of the branch minus that of uniform."""
    _shade(axes, point)
    _uniform(axes, point, window)
    least, most = _draw(axes, pieces, AT_ENERGY, window)
    margin = 0.1 * (most - least)
    axes.set_xlim(*window)
    axes.set_ylim(least - margin, most + margin)
    axes.set_ylabel("free energy\nabove that of uniform")
    axes.ticklabel_format(axis="y", scilimits=(-2, 3))
    for value, colour in _marked(point):
        axes.axvline(value, color=colour, linewidth=0.9, linestyle=":")


def _uniform(axes: Axes, point: PhasePoint, window: tuple[float, float]) -> None:
    """Draw uniform, whose order parameter and relative free energy are 0."""
    critical = point.critical_diffusivity
    for ends, dashes, word in (
        ([critical, window[1]], "-", "stable"),
        ([window[0], critical], _DASHES, "unstable"),
    ):
        axes.plot(ends, [0.0, 0.0], color=_UNIFORM, linestyle=dashes, label=f"uniform, {word}")


def _shade(axes: Axes, point: PhasePoint) -> None:
    if point.saddle_node_diffusivity is not None:
        interval = (point.critical_diffusivity, point.saddle_node_diffusivity)
        axes.axvspan(*interval, color=BOTH, linewidth=0, label="both stable: hysteresis")


def _draw(
    axes: Axes, pieces: Pieces, height: int, window: tuple[float, float]
) -> tuple[float, float]:
    """Draw the pieces of a branch; return the least and largest height in the window and 0."""
    named, drawn = set(), [np.zeros(1)]
    for stable, points in pieces:
        values, heights = points[:, AT_VALUE], points[:, height]
        axes.plot(
            values, heights, color=_ORDERED, linestyle="-" if stable else _DASHES,
            label="_" if stable in named else f"order, {'stable' if stable else 'unstable'}",
        )  # fmt: skip
        named.add(stable)
        drawn.append(heights[(values >= window[0]) & (values <= window[1])])
    extent = np.concatenate(drawn)
    return float(extent.min()), float(extent.max())


def _marked(point: PhasePoint) -> list[tuple[float, str]]:
    """Marked diffusivities and their colours."""
    values = [(point.critical_diffusivity, CRITICAL)]
    if point.order == "discontinuous":
        values += [
            (value, colour)
            for value, colour in (
                (point.transition_diffusivity, TRANSITION),
                (point.saddle_node_diffusivity, SADDLE_NODE),
            )
            if value is not None
        ]
    return values


def _marks(axes: Axes, point: PhasePoint) -> None:
    """Mark critical diffusivity, transition and saddle node with words."""
    height, saddle = point.order_parameter_at_transition, point.saddle_node_diffusivity
    low, high = axes.get_xlim()
    if saddle is None or saddle - point.critical_diffusivity < _APART * (high - low):
        words = "critical (continuous)" if saddle is None else "critical; saddle node beside it"
        _mark(axes, point.critical_diffusivity, CRITICAL, words, "left", 6)
        return
    digits, words_of = _digits(point), {CRITICAL: "critical", TRANSITION: "transition"}
    for value, colour in _marked(point):
        room = value - low > _ROOM * (high - low)
        side = "right" if room and colour != SADDLE_NODE else "left"
        _mark(axes, value, colour, words_of.get(colour, "saddle node"), side, digits)
    at = point.transition_diffusivity
    if at is not None and height is not None:
        axes.plot([at, at], [0.0, height], "o", color=TRANSITION, markersize=5)
        axes.annotate(
            f"jump {height:.4g}", (at, height), xytext=(-6, -4), textcoords="offset points",
            ha="right", va="top", color=TRANSITION, fontsize=8.5,
        )  # fmt: skip


def _mark(axes: Axes, value: float, colour: str, words: str, side: str, digits: int) -> None:
    """Draw a dotted line, its name and diffusivity; `side` of the text touches the line."""
    axes.axvline(value, color=colour, linewidth=0.9, linestyle=":")
    number = f"$D$ = {value:.{digits}g}" if digits <= _MOST_DIGITS else ""
    axes.annotate(
        f"{words}\n{number}", (value, 1.0), xycoords=("data", "axes fraction"),
        xytext=(-4 if side == "right" else 4, -2), textcoords="offset points",
        ha=side, va="top", color=colour, fontsize=8.5,
    )  # fmt: skip


def _digits(point: PhasePoint) -> int:
    """Digits that distinguish the marked diffusivities, at least six."""
    values = np.sort([value for value, _ in _marked(point)])
    gap = float(np.min(np.diff(values), initial=values[0]) / values[0])
    return max(6, min(16, 2 - math.floor(math.log10(gap)))) if gap > 0 else 16
