"""Kind "velocity": what moves tokens at a few times, over the density."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm

from meanfield.figures.data.circle import cell_edges
from meanfield.figures.data.velocity import CirclePanel, MapPanel, VelocityPicture
from meanfield.figures.draw.axes import (
    add_colour_bar,
    label_ends,
    number_label,
    time_label,
)
from meanfield.figures.draw.sphere import colours_label, draw_panel
from meanfield.figures.draw.style import (
    DEGREE_COLOURS,
    ENERGY,
    FAINT,
    INK,
    MUTED,
    ORDER,
    set_note,
    set_title,
    write_below,
)

# From below, as shares of the axes: the velocity, arrows around the circle, the density.
_VELOCITY, _ARROWS, _DENSITY = (0.0, 0.54), (0.56, 0.07), (0.66, 0.28)
_GAP = 0.09
_ARROW_COUNT, _ARROW_SHARE = 18, 0.85
# Heads up to which each has a colour and a name.
_NAMED = len(DEGREE_COLOURS) - 1
_ARROW = "#8fe3ff"
_HEIGHT = 4.0  # of the axes in inches, about


def draw_velocity(picture: VelocityPicture, axes: Axes) -> None:
    """Panels from left to right; stable zeros filled, unstable ones open."""
    set_title(axes, picture.frame)
    axes.set_axis_off()
    first = picture.panels[0]
    if isinstance(first, CirclePanel):
        _draw_circles(picture, axes)
    else:
        _draw_maps(picture, axes)


def _draw_circles(picture: VelocityPicture, axes: Axes) -> None:
    panels = [panel for panel in picture.panels if isinstance(panel, CirclePanel)]
    notes = [picture.note] if picture.note else []
    count = len(panels[0].heads)
    if count > _NAMED:
        notes.append(f"grey: each of {count} heads")
    if any(len(panel.zeros) for panel in panels):
        notes.append("zeros at the instant: filled stable, open unstable")
    set_note(axes, picture.frame, ",  ".join(notes))

    wide = (1.0 - _GAP * (len(panels) - 1)) / len(panels)
    for k, panel in enumerate(panels):
        left = k * (wide + _GAP)
        above = axes.inset_axes((left, _DENSITY[0], wide, _DENSITY[1]))
        _density(above, panel, label=k == 0)
        _arrows(axes.inset_axes((left, _ARROWS[0], wide, _ARROWS[1])), panel)
        below = axes.inset_axes((left, _VELOCITY[0], wide, _VELOCITY[1]))
        _curves(below, panel, names=k == len(panels) - 1)
        if k == 0:
            below.set_ylabel(r"velocity $\dot\theta$")
        below.set_xlabel(r"angle $\theta$ (rad)")
        speed = "at rest"
        if panel.largest_speed:
            speed = f"speed up to ${number_label(panel.largest_speed, 3)}$"
        above.set_title(
            f"{time_label(panel.time, picture.frame).split(',  ')[0]},  {speed}",
            fontsize=8.5, color=MUTED, pad=4,
        )  # fmt: skip


def _density(axes: Axes, panel: CirclePanel, *, label: bool) -> None:
    few = len(panel.tokens) > 0
    if few:
        axes.vlines(panel.tokens, 0.0, panel.masses, color=MUTED, linewidth=2.0, clip_on=False)
    else:
        edges = cell_edges(len(panel.density))
        axes.stairs(panel.density, edges, color=MUTED, alpha=0.25, fill=True)
        axes.stairs(panel.density, edges, color=MUTED, linewidth=0.9)
    _angles(axes, labels=False)
    axes.set_ylim(0.0, 1.08 * float((panel.masses if few else panel.density).max()))
    axes.locator_params(axis="y", nbins=3)
    if label:
        axes.set_ylabel("mass" if few else "density $f$")


def _arrows(axes: Axes, panel: CirclePanel) -> None:
    """Which way tokens go, as arrows as long as they are fast."""
    _angles(axes, labels=False)
    axes.set_axis_off()
    axes.set_ylim(-1.0, 1.0)
    axes.axhline(0.0, color=FAINT, linewidth=0.8, zorder=1)
    largest = panel.largest_speed
    if not largest:
        return
    step = len(panel.angles) // _ARROW_COUNT
    angles, velocity = panel.angles[step // 2 :: step], panel.velocity[step // 2 :: step]
    length = _ARROW_SHARE * velocity / largest * 2.0 * np.pi / _ARROW_COUNT
    axes.quiver(
        angles - 0.5 * length, 0.0 * angles, length, 0.0 * angles, angles="xy", scale_units="xy",
        scale=1.0, color=ORDER, units="inches", width=0.016, headwidth=4.5, headlength=4.5,
        headaxislength=4.0, minlength=0.6, zorder=2,
    )  # fmt: skip
    _zeros(axes, panel, 4.0)


def _curves(axes: Axes, panel: CirclePanel, *, names: bool) -> None:
    """Velocity, what each head adds to it, and zeros."""
    axes.axhline(0.0, color=FAINT, linewidth=0.8, zorder=1)
    ends = []
    for number, head in enumerate(panel.heads):
        named = len(panel.heads) <= _NAMED
        colour = _head_colour(number) if named else MUTED
        axes.plot(panel.angles, head, color=colour, linewidth=0.9, alpha=0.9, zorder=2)
        if named:
            ends.append((float(head[-1]), f"head {number + 1}", colour))
    axes.plot(panel.angles, panel.velocity, color=INK, linewidth=1.6, zorder=3)
    if len(panel.heads):
        ends.append((float(panel.velocity[-1]), "sum", INK))
    _angles(axes, labels=True)
    if not panel.largest_speed:
        axes.set_ylim(-1.0, 1.0)
        axes.set_yticks([0.0])
    else:
        axes.margins(y=0.08)
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, -0.04 * high), max(high, -0.04 * low))
        axes.locator_params(axis="y", nbins=6)
    _zeros(axes, panel, 5.0)
    if names and ends:
        label_ends(axes, ends, size=8.0, height=_HEIGHT * _VELOCITY[1])


def _head_colour(number: int) -> str:
    """Colours of heads, neighbours far apart in hue."""
    return DEGREE_COLOURS[(1, 6, 3, 5, 0, 7, 2, 4)[number % _NAMED]]


def _zeros(axes: Axes, panel: CirclePanel, size: float) -> None:
    for chosen, face in ((panel.stable, ENERGY), (~panel.stable, "white")):
        angles = panel.zeros[chosen]
        axes.plot(
            angles, 0.0 * angles, "o", markersize=size, markerfacecolor=face,
            markeredgecolor=ENERGY, markeredgewidth=1.1, linestyle="none", clip_on=False, zorder=5,
        )  # fmt: skip


def _angles(axes: Axes, *, labels: bool) -> None:
    axes.set_xlim(-np.pi, np.pi)
    names = [r"$-\pi$", r"$-\frac{\pi}{2}$", "$0$", r"$\frac{\pi}{2}$", r"$\pi$"]
    axes.set_xticks(np.arange(-2, 3) * np.pi / 2, names if labels else [""] * 5)


def _draw_maps(picture: VelocityPicture, axes: Axes) -> None:
    panels = [panel for panel in picture.panels if isinstance(panel, MapPanel)]
    set_note(axes, picture.frame, picture.note)
    norm = LogNorm(*picture.colours)
    width = 1.0 / len(panels)
    for k, each in enumerate(panels):
        inset = axes.inset_axes((k * width + 0.005, 0.08, width - 0.01, 0.92))
        image = draw_panel(inset, each.panel, norm, len(panels))
        if each.largest_speed:
            inset.quiver(
                *each.places.T, *each.arrows.T, angles="xy", scale_units="xy",
                scale=1.0, color=_ARROW, edgecolor=INK, linewidth=0.3, units="inches",
                width=0.014, headwidth=4.5, headlength=5.0, headaxislength=4.5, minlength=0.5,
                zorder=4,
            )  # fmt: skip
        speed = "at rest"
        if each.largest_speed:
            speed = f"longest arrow: speed ${number_label(each.largest_speed, 3)}$"
        time = time_label(each.panel.time, picture.frame).split(",  ")[0]
        write_below(inset, f"{time},  {speed}")
    values = np.array([each.panel.values for each in panels])
    add_colour_bar(
        axes, image, values, picture.colours, place=(1.015, 0.14, 0.016, 0.82),
        label=colours_label(panels[-1].panel),
    )  # fmt: skip
