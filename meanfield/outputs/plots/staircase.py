"""Kind "staircase": energy against the logarithm of time, with the clusters of each plateau.

A plateau of clusters far apart has the energy sum_j m_j^2 at large beta, drawn as a dashed line.
Where the run tells no atoms, plateaus are the saved times between which the number of clusters
stays the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meanfield.arrays import FloatArray
from meanfield.observables.cluster_tree import Plateau, cluster_tree
from meanfield.outputs.plots.energy import energy_label
from meanfield.outputs.plots.hand_overs import mark_hand_overs
from meanfield.outputs.plots.style import ENERGY, INK, MUTED, set_title
from meanfield.outputs.plots.time_axis import add_growth_times, set_time_axis
from meanfield.pictures.series import NARROWEST, plateaus_of
from meanfield.run import Run

# About that of the axes, in inches.
_WIDTH = 7.8
_SIZE = 7.5
_CHARACTER = 0.62 * _SIZE / 72.0
_MOST_LINES = 3
_LEVEL: dict[str, Any] = {"linewidth": 0.8, "dashes": (4, 3)}
_TOP = 1.12
# Higher than this share of the axes names stand below their plateau.
_HIGH = 0.75


def draw(run: Run, figure: Figure) -> None:
    """Draw the whole figure."""
    later = np.flatnonzero(run.time > 0)
    if len(later) < 2:
        raise ValueError(
            f"a staircase needs at least 2 saved times after 0, the run has {len(later)}."
        )
    times, energy = run.time[later], run.observables["energy"][later]
    axes = figure.subplots()
    set_title(axes, run)
    set_time_axis(axes, run, logarithmic=(float(times[0]), float(times[-1])))
    axes.set_ylim(0.0, _TOP * float(np.nanmax(energy)))
    axes.plot(times, energy, color=ENERGY, zorder=3)
    _draw_merges(run, axes, times, energy)
    for plateau in plateaus_of(run):
        _name(axes, plateau, times, energy)
    axes.plot([], [], color=INK, label="sum of squared masses", **_LEVEL)
    axes.legend(loc="lower right", labelcolor=MUTED)
    mark_hand_overs(axes, run)
    add_growth_times(axes, run)
    axes.set_ylabel(energy_label(run))


def _draw_merges(run: Run, axes: Axes, times: FloatArray, energy: FloatArray) -> None:
    """Dots on the curve where clusters met."""
    merges = cluster_tree(run.events).merge_times
    inside = merges[(merges >= times[0]) & (merges <= times[-1])]
    if not len(inside):
        return
    heights = np.interp(np.log(inside), np.log(times), energy)
    axes.plot(
        inside, heights, linestyle="", marker="o", markersize=4.5, color="white",
        markeredgecolor=ENERGY, markeredgewidth=1.2, zorder=4, label="two clusters meet",
    )  # fmt: skip


def _name(axes: Axes, plateau: Plateau, times: FloatArray, energy: FloatArray) -> None:
    """Level of a plateau, and its clusters as far as there is room for words."""
    begin, end = max(plateau.begin, times[0]), min(plateau.end, times[-1])
    if not begin < end:
        return
    width = _WIDTH * float(np.log(end / begin) / np.log(times[-1] / times[0]))
    if width < NARROWEST * _WIDTH:
        return
    axes.plot([begin, end], [plateau.level] * 2, color=INK, zorder=2, **_LEVEL)
    words = plateau_words(plateau.mass, int(width / _CHARACTER))
    if not words:
        return
    middle = float(np.sqrt(begin) * np.sqrt(end))
    below = float(np.interp(np.log(middle), np.log(times), energy)) > _HIGH * axes.get_ylim()[1]
    # Clear of the curve and of the level, from the first to the last letter.
    half = 0.5 * _CHARACTER * max(map(len, words.splitlines())) / _WIDTH
    around = np.log(middle) + np.linspace(-half, half, 9) * np.log(times[-1] / times[0])
    near = np.append(np.interp(around, np.log(times), energy), plateau.level)
    height = float(near[:-1].min() if below else near.max())
    axes.annotate(
        words, (middle, height), xytext=(0, -5 if below else 5), textcoords="offset points",
        ha="center", va="top" if below else "bottom", fontsize=_SIZE, color=INK, zorder=5,
        linespacing=1.15,
    )  # fmt: skip


def plateau_words(mass: FloatArray, room: int) -> str:
    """Masses of clusters in lines of at most `room` characters; else their number, else nothing.

    Examples
    --------
    >>> print(plateau_words(np.array([0.4, 0.35, 0.25]), 11))
    0.4, 0.35,
    0.25
    >>> plateau_words(np.full(60, 1 / 60), 11), plateau_words(np.full(60, 1 / 60), 4)
    ('60 clusters', '60')
    """
    lines = [""]
    for i, word in enumerate(f"{m:.2g}" for m in mass):
        longer = f"{lines[-1]}, {word}" if lines[-1] else word
        comma = i + 1 < len(mass)
        if len(longer) + comma > room and lines[-1]:
            lines[-1] += ","
            lines.append(word)
        else:
            lines[-1] = longer
    if len(lines) <= _MOST_LINES and max(len(line) for line in lines) <= room:
        return "\n".join(lines)
    count = f"{len(mass)} clusters"
    if len(count) <= room:
        return count
    return str(len(mass)) if len(str(len(mass))) <= room else ""
