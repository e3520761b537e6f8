"""Kind "fluctuations": sizes of moments in the limit, with the band of N tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meanfield.figures.data.fluctuations import FluctuationsPicture, linearised_picture
from meanfield.figures.draw.axes import set_time_axis
from meanfield.figures.draw.figures import draw_on, new_figure
from meanfield.figures.draw.style import DEGREE_COLOURS, INK, MUTED, set_note, set_title, style
from meanfield.finite.results import Fluctuations
from meanfield.runs import Run

_COLUMNS = 4
_GAP, _ROW_GAP = 0.075, 0.16
_ROW = 2.6  # inches


def draw_fluctuations(picture: FluctuationsPicture, axes: Axes) -> None:
    """One panel a degree."""
    set_title(axes, picture.frame)
    set_note(axes, picture.frame, picture.note)
    axes.set_axis_off()
    count = picture.limit.shape[1]
    rows, columns = panel_grid(count)
    wide = (1.0 - _GAP * (columns - 1)) / columns
    high = (0.94 - _ROW_GAP * (rows - 1)) / rows
    for i in range(count):
        row, column = divmod(i, columns)
        bottom = 0.94 - high - row * (high + _ROW_GAP)
        place = axes.inset_axes((column * (wide + _GAP), bottom, wide, high))
        _draw_degree(picture, i, place)
        set_time_axis(place, picture.frame, label=i + columns >= count)
        if i == 0:
            place.legend(loc="upper left", labelcolor=MUTED, fontsize=7.5, handlelength=1.5)


def panel_grid(count: int) -> tuple[int, int]:
    """Rows and columns of so many panels."""
    rows = -(-count // _COLUMNS)
    return rows, -(-count // rows)


def figure_height(count: int) -> float:
    """Height in inches of a figure of so many panels."""
    return 0.9 + _ROW * panel_grid(count)[0]


def _draw_degree(picture: FluctuationsPicture, i: int, axes: Axes) -> None:
    times, colour = picture.frame.times, DEGREE_COLOURS[i % len(DEGREE_COLOURS)]
    many = f"$N = {picture.tokens}$"
    axes.fill_between(
        times, picture.low[:, i], picture.high[:, i], color=colour, alpha=0.18, linewidth=0,
        label=f"{many}, 95 %",
    )  # fmt: skip
    for n, (moments, sizes) in enumerate(picture.samples):
        axes.plot(
            moments, sizes[:, i], color=INK, linewidth=0.7, alpha=0.7, zorder=2,
            label=None if n else "particles",
        )  # fmt: skip
    axes.plot(times, picture.limit[:, i], color=colour, label="limit", zorder=4)
    axes.plot(
        times, picture.mean[:, i], color=colour, linewidth=1.1, dashes=(3, 2), label="mean of $N$",
        zorder=3,
    )  # fmt: skip
    axes.set_ylim(bottom=0.0)
    name = f"$|c_{{{i + 1}}}|$" if picture.frame.on_circle else rf"degree $\ell = {i + 1}$"
    axes.set_title(name, fontsize=9.5, loc="left", pad=3)


def fluctuations_figure(
    fluctuations: Fluctuations,
    *,
    particles: Sequence[Run] = (),
    tokens: int | None = None,
    ax: Axes | None = None,
    title: str | None = None,
    **options: Any,
) -> Figure:
    """Figure of fluctuations, on its own canvas that pyplot does not know, or on axes."""
    picture = linearised_picture(fluctuations, particles, tokens)
    if title is not None:
        picture = replace(picture, frame=replace(picture.frame, title=title))
    if ax is not None:
        guest = replace(picture, frame=replace(picture.frame, guest=True))
        return draw_on(ax, partial(draw_fluctuations, guest), title)
    with style():
        figure = new_figure((9.0, figure_height(fluctuations.degree)), **options)
        draw_fluctuations(picture, figure.subplots())
    return figure
