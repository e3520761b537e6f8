"""Make figures and write them: no pyplot, no file half written, the same bytes every time."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, cast

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from meanfield.figures.draw.axes import axes_in_the_place_of, style, title_above
from meanfield.store.locks import check_figure_place, replace_figure

SUFFIXES, FILM_SUFFIXES = (".png", ".pdf", ".svg"), (".mp4", ".gif")
"""Suffixes of figure files and of film files."""

# Agg draws no larger ones.
_MOST_DOTS = 2**16 - 1
# What half a label of the last tick takes, in inches.
_TICK = 0.16

# No dates: the same run gives the same file.
_SAVE_OPTIONS: dict[str, dict[str, Any]] = {
    ".png": {"metadata": {"Software": None}, "pil_kwargs": {"optimize": True}},
    ".pdf": {"metadata": {"CreationDate": None}},
    ".svg": {"metadata": {"Date": None}},
}


def new_figure(
    size: tuple[float, float],
    figsize: tuple[float, float] | None = None,
    dpi: float | None = None,
) -> Figure:
    """Empty figure of a size in inches, with a canvas of its own; `figsize` wins."""
    size = figsize or size
    dots = 100.0 if dpi is None else dpi
    if not (dots > 0 and all(1 <= side * dots <= _MOST_DOTS for side in size)):
        raise ValueError(
            f"figsize in inches times dpi must be 1 to {_MOST_DOTS} dots a side, got figsize = "
            f"{tuple(size)} and dpi = {dots:g}."
        )
    figure = Figure(figsize=size, dpi=dpi, layout="constrained")
    FigureCanvasAgg(figure)
    # Notebooks ask for this; without pyplot nobody else tells them how to show a figure.
    figure._repr_png_ = partial(encoded, figure, ".png", dpi)  # type: ignore[attr-defined]
    return figure


def check_empty(axes: Axes) -> None:
    """Refuse axes on which something is drawn, as by a cell of a notebook that is run again."""
    # All axes in one place: a second axis of ours outlives ax.clear().
    if any(each.has_data() for each in axes_in_the_place_of(axes)):
        raise ValueError(
            "ax holds a drawing already: give empty axes, such as plt.subplots() makes."
        )


def draw_on(axes: Axes, draw: Callable[[Axes], None], title: str | None) -> Figure:
    """Draw a panel on empty axes of a user's, with a title alone above it."""
    check_empty(axes)
    with style():
        draw(axes)
        axes.set_title("", loc="left")
        if title:
            axes.set_title(title)
        make_room(axes)
    return cast(Figure, axes.figure)


def panel_figure(
    draw: Callable[[Axes], None],
    size: tuple[float, float],
    heading: str,
    facts: str = "",
    *,
    ax: Axes | None = None,
    title: str | None = None,
    **options: Any,
) -> Figure:
    """Figure of one panel below a title and facts, or the panel on axes of a user's."""
    if ax is not None:
        return draw_on(ax, draw, title)
    with style():
        figure = new_figure(size, **options)
        axes = figure.subplots()
        title_above(axes, heading if title is None else title, facts)
        draw(axes)
    return figure


def study_figure(
    picture: Any,
    draw: Callable[[Any, Figure], None],
    panel: Callable[[Any, Axes], None],
    size: tuple[float, float],
    *,
    ax: Axes | None = None,
    title: str | None = None,
    **options: Any,
) -> Figure:
    """Figure of a titled picture, or one panel of it on axes of a user's."""
    if ax is not None:
        return draw_on(ax, partial(panel, picture), title)
    picture = picture if title is None else replace(picture, title=title)
    with style():
        figure = new_figure(size, **options)
        draw(picture, figure)
    return figure


def make_room(axes: Axes) -> None:
    """Narrow axes of a user's until what stands right of them lies where they ended."""
    figure, spec = cast(Figure, axes.figure), axes.get_subplotspec()
    if figure.get_layout_engine() is not None:
        return
    position = axes.get_position()
    slot = spec.get_position(figure) if spec else position
    around = [each.get_tightbbox() for each in axes_in_the_place_of(axes)]
    right = max(box.x1 for box in around if box is not None) - figure.bbox.x0
    beyond = (right - _TICK * figure.dpi) / figure.bbox.width - slot.x1
    if beyond > 0.0:
        position.x1 = max(position.x1 - beyond, position.x0 + 0.5 * position.width)
        axes.set_position(position)


def check_suffix(path: str | os.PathLike[str], suffixes: tuple[str, ...] = SUFFIXES) -> str:
    """Suffix of a path if it is one of those known."""
    suffix = Path(path).suffix.lower()
    if suffix not in suffixes:
        raise ValueError(
            f"{os.fspath(path)}: figures end in {', '.join(suffixes[:-1])} or {suffixes[-1]}, "
            f"got {suffix!r}."
        )
    return suffix


def check_figure(path: str | os.PathLike[str], suffixes: tuple[str, ...] = SUFFIXES) -> None:
    """Say before long work whether a figure could be written."""
    check_suffix(path, suffixes)
    if not Path(os.path.realpath(path)).parent.is_dir():
        raise ValueError(f"{os.fspath(path)} cannot be written: its folder does not exist.")
    check_figure_place(Path(path))


def write_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure; the suffix chooses the format."""
    replace_figure(Path(path), encoded(figure, check_suffix(path)))


def encoded(figure: Figure, suffix: str, dpi: float | None = None) -> bytes:
    """Bytes of a figure in the format of a suffix."""
    buffer = BytesIO()
    with style():
        figure.savefig(buffer, format=suffix[1:], dpi=dpi, **_SAVE_OPTIONS[suffix])
    return buffer.getvalue()
