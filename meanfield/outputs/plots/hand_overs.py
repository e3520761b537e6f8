"""Thin lines where one representation took over from another, with the name of the new one."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.typing import ColorType

from meanfield.events import successor
from meanfield.outputs.plots.style import MUTED
from meanfield.pictures.saved_times import places_on_axis
from meanfield.run import Run

# About that of the axes, in inches.
_WIDTH = 7.6
_SIZE = 7.5
_LINE = 1.35  # lines of text, from one to the next
_CHARACTER = 0.6  # width, in sizes of the font
_POINTS_PER_INCH = 72.0


def mark_hand_overs(
    axes: Axes, run: Run, *, names: bool = True, colour: ColorType = MUTED, first_row: int = 0
) -> None:
    """Mark the hand-overs on a time axis that has its limits.

    Names stand right of their lines, below each other where they would overlap; the first rows may
    be left to others.
    """
    low, high = axes.get_xlim()
    logarithmic = axes.get_xscale() == "log"
    start, stop = places_on_axis(np.array([low, high]), logarithmic)
    size = _WIDTH * _POINTS_PER_INCH
    ends: list[float] = []  # of the last name in each row
    for event in run.events:
        if event.kind != "hand-over" or not low < event.time < high:
            continue
        axes.axvline(event.time, color=colour, linewidth=0.8, dashes=(2, 2), zorder=2)
        if not names:
            continue
        place = float(places_on_axis(np.array([event.time]), logarithmic)[0])
        place = (place - start) / (stop - start) * size
        width = (len(successor(event)) + 2) * _CHARACTER * _SIZE
        right = place + width < size
        row = 0
        while row < len(ends) and ends[row] > (place if right else place - width):
            row += 1
        ends[row : row + 1] = [place + (width if right else 0.0)]
        down = -2 - (first_row + row) * _LINE * _SIZE
        axes.annotate(
            successor(event), (event.time, 1.0), xycoords=("data", "axes fraction"),
            xytext=(3 if right else -3, down), textcoords="offset points",
            ha="left" if right else "right", va="top", fontsize=_SIZE, color=colour, zorder=6,
        )  # fmt: skip
