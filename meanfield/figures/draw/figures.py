"""Make and write figures: without pyplot, whole files only, the same bytes every time."""

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

# The most dots a side that Agg draws.
_MOST_DOTS = 2**16 - 1
# Half the width of the label of the last tick, in inches.
_TICK = 0.16

# Files have no dates: the same run gives the same bytes.
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
    """Empty figure outside pyplot, of `size` or `figsize` in inches."""
    size = figsize or size
    dots = 100.0 if dpi is None else dpi
    if not (dots > 0 and all(1 <= side * dots <= _MOST_DOTS for side in size)):
        raise ValueError(
            f"figsize in inches times dpi must be 1 to {_MOST_DOTS} dots a side, got figsize = "
            f"{tuple(size)} and dpi = {dots:g}."
        )
    figure = Figure(figsize=size, dpi=dpi, layout="constrained")
    FigureCanvasAgg(figure)
    # Notebooks call this method to show a figure that pyplot does not know.
    figure._repr_png_ = partial(encoded, figure, ".png", dpi)  # type: ignore[attr-defined]
    return figure


def check_empty(axes: Axes) -> None:
    """Raise a ValueError for axes with a drawing, as after a second run of a notebook cell."""
    # Twin axes count, too, because they outlive ax.clear().
    if any(each.has_data() for each in axes_in_the_place_of(axes)):
        raise ValueError(
            "ax holds a drawing already: give empty axes, such as plt.subplots() makes."
        )


def draw_on(axes: Axes, draw: Callable[[Axes], None], title: str | None) -> Figure:
    """Draw a panel on empty axes of the user, with only a title above it."""
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
    """Figure of one panel below a title and facts; or the panel on axes of the user."""
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
    """Figure of a titled picture; or one panel of it on axes of the user."""
    if ax is not None:
        return draw_on(ax, partial(panel, picture), title)
    picture = picture if title is None else replace(picture, title=title)
    with style():
        figure = new_figure(size, **options)
        draw(picture, figure)
    return figure


def make_room(axes: Axes) -> None:
    """Narrow axes of the user, so that labels and bars on the right end where the axes ended."""
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
    """Suffix of a path; ValueError if it is not in `suffixes`."""
    suffix = Path(path).suffix.lower()
    if suffix not in suffixes:
        raise ValueError(
            f"{os.fspath(path)}: figures end in {', '.join(suffixes[:-1])} or {suffixes[-1]}, "
            f"got {suffix!r}."
        )
    return suffix


def check_figure(path: str | os.PathLike[str], suffixes: tuple[str, ...] = SUFFIXES) -> None:
    """Raise an error, before long work, if a figure cannot be written."""
    check_suffix(path, suffixes)
    if not Path(os.path.realpath(path)).parent.is_dir():
        raise ValueError(f"{os.fspath(path)} cannot be written: its folder does not exist.")
    check_figure_place(Path(path))


def write_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure; the suffix determines the format."""
    replace_figure(Path(path), encoded(figure, check_suffix(path)))


def encoded(figure: Figure, suffix: str, dpi: float | None = None) -> bytes:
    """Bytes of a figure in the format of a suffix."""
    buffer = BytesIO()
    with style():
        figure.savefig(buffer, format=suffix[1:], dpi=dpi, **_SAVE_OPTIONS[suffix])
    return buffer.getvalue()
