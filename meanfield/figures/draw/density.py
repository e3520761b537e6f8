"""Kind "density": the density over time and angle, with paths of tokens."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm

from meanfield.figures.data.circle import cell_edges
from meanfield.figures.data.density import DensityPicture
from meanfield.figures.draw.axes import (
    DARK_HALO,
    DENSITY_COLOURS,
    FAINT,
    add_colour_bar,
    add_growth_times,
    mark_hand_overs,
    set_time_axis,
    set_title,
)

_WAVE = "#8fe3ff"
# Widths of atoms in points: of mass 1, and the smallest.
_ATOM_WIDTH, _THINNEST = 8.0, 0.7


def draw_density(picture: DensityPicture, axes: Axes) -> None:
    """Draw the density, with title and time axis, on empty axes."""
    frame = picture.frame
    set_title(axes, frame)
    on_axes(picture, axes)
    set_time_axis(axes, frame)
    add_growth_times(axes, frame)
    mark_hand_overs(axes, frame, colour=FAINT)


def on_axes(picture: DensityPicture, axes: Axes) -> None:
    """Draw density, token paths, atoms and colour bar on given axes."""
    colours = mpl.colormaps[DENSITY_COLOURS]
    axes.set_facecolor(colours(0.0))
    if picture.table.any():  # not atoms alone
        angles = cell_edges(len(picture.values), picture.lowest)
        mesh = axes.pcolormesh(
            picture.edges, angles, picture.values, shading="flat",
            norm=LogNorm(*picture.colours), cmap=DENSITY_COLOURS, rasterized=True,
        )  # fmt: skip
        label = "density $f$ (uniform = 1)" if picture.lowest else "density of the angle (even = 1)"
        label = f"smoothed {label}" if picture.smoothed else label
        add_colour_bar(axes, mesh, picture.table, picture.colours, label=label)
    set_angle_axis(axes, picture.lowest)
    lines = LineCollection(picture.paths, colors="white", linewidths=0.6, alpha=0.55)
    axes.add_collection(lines, autolim=False)
    _crest(picture, axes)
    if picture.atoms:
        widths = np.maximum(_ATOM_WIDTH * picture.masses, _THINNEST)
        dashes = LineCollection(
            picture.atoms, colors=[colours(1.0)], linewidths=widths, capstyle="butt", zorder=2.5
        )
        axes.add_collection(dashes, autolim=False)


def _crest(picture: DensityPicture, axes: Axes) -> None:
    """Draw the crest of the wave that linear theory predicts, and its name."""
    if picture.wave is None:
        return
    lines = LineCollection(
        picture.crest, colors=[_WAVE], linewidths=1.3, linestyles=[(0, (5, 3))], zorder=2.4
    )
    axes.add_collection(lines, autolim=False)
    axes.annotate(
        rf"linear theory: mode $k = {picture.wave.order}$ turns at ${picture.wave.velocity:.3g}$",
        (0.0, 0.0), xycoords="axes fraction", xytext=(5, 5), textcoords="offset points",
        fontsize=7.5, color=_WAVE, zorder=6, path_effects=DARK_HALO,
    )  # fmt: skip


def set_angle_axis(axes: Axes, lowest: float = -np.pi) -> None:
    """Set a vertical axis of angles from -pi to pi, or of polar angles from 0 to pi."""
    if lowest == 0.0:
        axes.set_ylim(0.0, np.pi)
        axes.set_yticks(np.pi * np.array([0, 0.25, 0.5, 0.75, 1]))
        axes.set_yticklabels(["$0$", r"$\pi/4$", r"$\pi/2$", r"$3\pi/4$", r"$\pi$"])
        axes.set_ylabel(r"polar angle $\theta$ (rad)")
        return
    axes.set_ylim(-np.pi, np.pi)
    axes.set_yticks(np.pi * np.array([-1, -0.5, 0, 0.5, 1]))
    axes.set_yticklabels([r"$-\pi$", r"$-\pi/2$", "$0$", r"$\pi/2$", r"$\pi$"])
    axes.set_ylabel(r"angle $\theta$ (rad)")
