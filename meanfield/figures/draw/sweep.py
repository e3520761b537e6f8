"""Figure of a sweep: an observable against its parameters, as curves or as a map."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from meanfield.arrays import FloatArray
from meanfield.figures.data.sweep import SweepAxis, SweepPicture, sweep_picture
from meanfield.figures.draw.axes import set_plain_ticks
from meanfield.figures.draw.figures import check_empty, make_room, new_figure
from meanfield.figures.draw.style import DEGREE_COLOURS, FAINT, INK, MUTED, style, title_above
from meanfield.studies.sweep_results import Sweep

_WIDTH, _HEIGHT = 7.2, 4.4
_PANEL, _COLUMNS = 3.2, 4
_COLOURS = "viridis"
# Whole numbers up to this many have a colour each.
_MOST_WHOLE = 24
# Distance of points beside each other, and the width of all, as shares of that between values.
_BESIDE, _WIDEST = 0.06, 0.4
_EARLY = "did not complete: its last saved time"


def sweep_figure(
    sweep: Sweep,
    kind: str | None = None,
    *,
    time: float | None = None,
    ax: Any = None,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    dpi: float | None = None,
) -> Figure:
    """Figure of an observable of a sweep; arguments as for `Sweep.plot`."""
    picture = sweep_picture(sweep, kind, time, title)
    count = len(picture.panels)
    with style():
        if ax is not None:
            if count > 1 or figsize is not None or dpi is not None:
                raise ValueError(
                    "ax is for two parameters at most, and for a figure of yours: leave it out, or "
                    "figsize and dpi."
                )
            check_empty(ax)
            ax.set_title(picture.title)
            _draw(picture, 0, ax)
            if picture.is_map:
                _colour_bar(ax.figure, picture, [ax])
            make_room(ax)
            figure: Figure = ax.figure
            return figure
        columns = min(count, _COLUMNS)
        rows = -(-count // columns)
        size = (_WIDTH, _HEIGHT) if count == 1 else (_PANEL * columns + 0.8, _PANEL * rows + 0.6)
        figure = new_figure(size, figsize, dpi)
        panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
        for i, axes in enumerate(panels):
            if i >= count:
                axes.set_visible(False)
                continue
            _draw(picture, i, axes)
            if count > 1:
                axes.set_title(picture.panels[i], color=MUTED)
                axes.label_outer()
        if count == 1:
            title_above(panels[0], picture.title, picture.facts)
        else:
            lines = [each for each in (picture.title, picture.facts) if each]
            figure.suptitle("\n".join(lines), fontsize=10.5)
        if picture.is_map:
            _colour_bar(figure, picture, panels[:count])
    return figure


def _draw(picture: SweepPicture, panel: int, axes: Axes) -> None:
    if picture.is_map:
        _map(picture, panel, axes)
    else:
        _curves(picture, panel, axes)
    _set_axis(axes, picture.x, "x")


def _curves(picture: SweepPicture, panel: int, axes: Axes) -> None:
    """A curve for each value of the second parameter; of seeds points and their mean."""
    values, early = picture.values[panel], picture.early[panel]
    count, seeds = len(values), picture.y is not None and picture.y.is_seed
    several = picture.y is not None and picture.y.numeric and count > 2
    line = "none" if picture.x.is_seed else "-" if picture.x.numeric else ":"
    for row in range(count):
        if seeds:
            colour: Any = MUTED
        elif several:
            colour = colormaps["viridis"](0.9 * row / (count - 1))
        else:
            colour = DEGREE_COLOURS[1 + 2 * row % 8] if count > 1 else INK
        label = None if picture.y is None or seeds else picture.y.words[row]
        # Whole numbers are often the same: beside each other all are seen.
        places = _beside(picture.x, row, count) if picture.whole else picture.x.places
        axes.plot(places, values[row], linestyle="none" if seeds else line, marker="o",
                  markersize=4.0, color=colour, linewidth=1.4, label=label)  # fmt: skip
        ended = early[row] & np.isfinite(values[row])
        if ended.any():
            axes.plot(places[ended], values[row][ended], "x", markersize=9,
                      markeredgewidth=1.6, color=colour, linestyle="none")  # fmt: skip
    if seeds:
        known = np.isfinite(values)
        mean = np.where(known, values, 0.0).sum(axis=0) / np.where(
            known.any(axis=0), known.sum(axis=0), np.nan
        )
        axes.lines[0].set_label(f"{count} runs")
        axes.plot(picture.x.places, mean, linestyle=line, color=INK, linewidth=1.6, zorder=1.9,
                  label="their mean")  # fmt: skip
    if picture.early.any():
        axes.plot([], [], "x", color=MUTED, label=_EARLY)
    if panel == 0 and (picture.y is not None or picture.early.any()):
        title = picture.y.label if picture.y is not None and not seeds else None
        axes.legend(title=title, title_fontsize=8.5)
    axes.set_ylabel(picture.quantity)
    if picture.whole:
        low, high = np.nanmin(picture.values), np.nanmax(picture.values)
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        if low == high:
            axes.set_ylim(low - 1.0, high + 1.0)


def _beside(axis: SweepAxis, row: int, count: int) -> FloatArray:
    """Places of a row along an axis, moved so that rows stand beside each other."""
    places = np.log(axis.places) if axis.logarithmic else axis.places
    gap = float(np.diff(places).min()) if len(places) > 1 else 1.0
    moved = places + gap * min(_BESIDE, _WIDEST / count) * (row - 0.5 * (count - 1))
    return np.exp(moved) if axis.logarithmic else moved


def _map(picture: SweepPicture, panel: int, axes: Axes) -> None:
    """Cells around the values of both parameters; grey where nothing is known."""
    assert picture.y is not None
    x, y = _edges(picture.x), _edges(picture.y)
    axes.pcolormesh(
        x, y, np.ma.masked_invalid(picture.values[panel]), cmap=_COLOURS, norm=_norm(picture),
        rasterized=True,
    )  # fmt: skip
    axes.set_facecolor(FAINT)
    rows, columns = np.nonzero(picture.early[panel])
    if len(rows):
        axes.plot(picture.x.places[columns], picture.y.places[rows], "x", color="white",
                  markersize=6, markeredgewidth=2.4, linestyle="none")  # fmt: skip
        axes.plot(picture.x.places[columns], picture.y.places[rows], "x", color=INK, markersize=5,
                  markeredgewidth=1.0, linestyle="none", label=_EARLY)  # fmt: skip
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16))
    axes.set_xlim(x.min(), x.max())
    axes.set_ylim(y.min(), y.max())
    _set_axis(axes, picture.y, "y")


def _norm(picture: SweepPicture) -> Normalize:
    """The same colours in all panels; whole numbers have a colour each."""
    low, high = float(np.nanmin(picture.values)), float(np.nanmax(picture.values))
    if picture.whole and high - low < _MOST_WHOLE:
        return BoundaryNorm(np.arange(low - 0.5, high + 1.0), colormaps[_COLOURS].N)
    return Normalize(low, high)


def _colour_bar(figure: Any, picture: SweepPicture, panels: Any) -> None:
    mesh = panels[0].collections[0]
    bar = figure.colorbar(mesh, ax=list(panels), label=picture.quantity)
    if isinstance(mesh.norm, BoundaryNorm):
        low, high = float(np.nanmin(picture.values)), float(np.nanmax(picture.values))
        step = 1 if high - low < 12 else 2
        bar.set_ticks(np.arange(low, high + 0.5, step))
        bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.outline.set_visible(False)


def _set_axis(axes: Axes, axis_picture: SweepAxis, which: str) -> None:
    """Label, scale and ticks of a parameter."""
    getattr(axes, f"set_{which}label")(axis_picture.label)
    axis = axes.xaxis if which == "x" else axes.yaxis
    if axis_picture.logarithmic:
        getattr(axes, f"set_{which}scale")("log")
        set_plain_ticks(axis, float(axis_picture.places.min()), float(axis_picture.places.max()))
    elif not axis_picture.numeric:
        axis.set_major_locator(FixedLocator(axis_picture.places.tolist()))
        axis.set_ticklabels(list(axis_picture.words))


def _edges(axis: SweepAxis) -> FloatArray:
    """Edges of cells around the values, in the middle between neighbours on the axis."""
    centres = np.log(axis.places) if axis.logarithmic else axis.places
    if len(centres) == 1:
        centres = np.array([centres[0] - 0.5, centres[0] + 0.5])
        return np.exp(centres) if axis.logarithmic else centres
    middle = 0.5 * (centres[1:] + centres[:-1])
    ends = [1.5 * centres[0] - 0.5 * centres[1], 1.5 * centres[-1] - 0.5 * centres[-2]]
    edges = np.concatenate([ends[:1], middle, ends[1:]])
    return np.exp(edges) if axis.logarithmic else edges
