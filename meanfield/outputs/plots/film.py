"""Films: the density in time, a frame a saved time, with energy and order below.

A `Film` is a figure and a function that puts a frame onto it; `film_circle` and `film_sphere`
make them, `film_file` writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from meanfield.outputs.plots.figures import new_figure
from meanfield.outputs.plots.overview import energy_and_order
from meanfield.outputs.plots.style import INK, set_title
from meanfield.outputs.plots.time_axis import set_time_axis
from meanfield.pictures.saved_times import is_logarithmic, shown, spread_evenly
from meanfield.run import Run

SIZE = (8.0, 4.5)
DPI = 100
MOST_FRAMES = 150
_SECONDS = 12.0
_SLOWEST, _FASTEST = 5, 25


@dataclass(frozen=True, eq=False)
class Film:
    """Pictures over time.

    Attributes
    ----------
    figure : Figure
        Given. What every frame is drawn on.
    frames : ndarray of int
        Given. Indices of saved times, one a frame.
    show : callable (k) -> None
        Given. Puts frame number k onto the figure.
    moving : tuple of Artist
        Given. What `show` changes, from the back to the front; the rest is drawn once.
    """

    figure: Figure
    frames: NDArray[np.int64]
    show: Callable[[int], None]
    moving: tuple[Any, ...]

    @property
    def rate(self) -> int:
        """Frames a second: some 12 seconds, neither a slide show nor a flicker."""
        return int(np.clip(round(len(self.frames) / _SECONDS), _SLOWEST, _FASTEST))

    def pixels(self) -> Iterator[NDArray[np.uint8]]:
        """Frame by frame, shape (height, width, 4)."""
        canvas: Any = self.figure.canvas
        self.show(0)
        canvas.draw()
        # Once laid out the axes stay where they are: nothing shakes.
        self.figure.set_layout_engine("none")
        for artist in self.moving:
            artist.set_animated(True)
        canvas.draw()
        still = canvas.copy_from_bbox(self.figure.bbox)
        for k in range(len(self.frames)):
            self.show(k)
            canvas.restore_region(still)
            for artist in self.moving:
                artist.axes.draw_artist(artist)
            yield np.array(canvas.buffer_rgba())


def new_film_figure(run: Run) -> tuple[Figure, Axes, Axes, Axes]:
    """Figure with a square picture on the left, and two panels on the right, the lower done."""
    figure = new_figure(SIZE, dpi=DPI)
    grid = figure.add_gridspec(2, 2, width_ratios=(1.0, 1.05), height_ratios=(1.55, 1.0))
    picture = figure.add_subplot(grid[:, 0])
    above, below = figure.add_subplot(grid[0, 1]), figure.add_subplot(grid[1, 1])
    picture.set_axis_off()
    set_title(picture, run)
    energy_and_order(run, below)
    set_time_axis(below, run)
    return figure, picture, above, below


def film_frames(run: Run, most: int = MOST_FRAMES) -> NDArray[np.int64]:
    """Indices of the saved times that are shown: all, or so many, even along the time axis.

    Raises
    ------
    ValueError
        If fewer than two states were kept.
    """
    kept = np.array([i for i in shown(run) if run.measures[i] is not None], dtype=np.int64)
    if len(kept) < 2:
        raise ValueError(
            f"a film needs at least 2 saved times with their states, the run has {len(kept)}: "
            'set [output] state = "all" and run again.'
        )
    if len(kept) > most:
        kept = kept[spread_evenly(run.time[kept], most, is_logarithmic(run.time))]
    return kept


def time_cursor(axes: Axes, time: float) -> Line2D:
    """Vertical line on a time axis; `set_xdata([t, t])` moves it."""
    return axes.axvline(time, color=INK, linewidth=0.9, alpha=0.7, zorder=5)
