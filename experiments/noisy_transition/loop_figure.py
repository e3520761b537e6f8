"""Figure of the loops: order parameter above, free energy below, a column for each problem."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from noisy_transition.ramp import Loop, breaks_down, sets_in
from scipy.interpolate import CubicSpline

from meanfield.figures.draw.axes import ENERGY, INK, MUTED, ORDER, style, title_above
from meanfield.figures.draw.figures import new_figure, write_figure
from meanfield.figures.draw.phase import BOTH

DOWN, UP = ORDER, ENERGY
STATES = "#a9b1bb"
DASHES = (0, (3.0, 2.0))
TOP = 1.16


def save_figure(loops: Sequence[Loop], path: Path, tokens: int) -> None:
    """Draw all loops into a file."""
    with style():
        figure = new_figure((4.3 * len(loops), 6.8))
        axes = figure.subplots(
            2, len(loops), sharex="col", height_ratios=[1.75, 1.0], squeeze=False
        )
        for loop, (above, below) in zip(loops, axes.T, strict=True):
            edge = 0.5 * loop.width
            ratios = [loop.ratio(p) for p in loop.down]
            above.set_xlim(ratios[-1] - edge, ratios[0] + edge)
            order_panel(above, loop)
            energy_panel(below, loop)
            below.set_xlabel(r"diffusivity $D\,/\,D_\#$")
        axes[0, 0].set_ylabel(r"order parameter $|\int x\, d\mu|$")
        axes[1, 0].set_ylabel("free energy above uniform,\n" + r"in units of $10^{-2} D_\#$")
        legend(axes[0, 1 % len(loops)], tokens)
    write_figure(figure, path)


def order_panel(axes: Axes, loop: Loop) -> None:
    """Draw the order parameter of stationary states and of the loop."""
    point, critical = loop.point, loop.point.critical_diffusivity
    low, high = axes.get_xlim()
    marks(axes, loop, words=True)
    states(axes, loop, loop.branch.order_parameter)
    axes.plot([1.0, high], [0.0, 0.0], color=STATES, linewidth=4.5, solid_capstyle="butt")
    axes.plot([low, 1.0], [0.0, 0.0], color=STATES, linestyle=DASHES)
    for way, colour, marker in ((loop.down, DOWN, "v"), (loop.up, UP, "^")):
        at = [(loop.ratio(p), p.order) for p in way]
        axes.plot(*zip(*at, strict=True), marker, color=colour, markersize=4.5, zorder=4)
    for way, colour in ((loop.particles_down, DOWN), (loop.particles_up, UP)):
        axes.errorbar(
            [loop.ratio(p) for p in way],
            [p.order for p in way],
            [p.spread for p in way],
            fmt="o", markersize=6.5, markerfacecolor="none", color=colour, alpha=0.45,
            linewidth=1.0, zorder=3,
        )  # fmt: skip
    axes.set_ylim(-0.04, TOP)
    axes.set_yticks(np.arange(0.0, 1.01, 0.2))
    name = rf"{loop.problem.manifold.name}, $\beta = {loop.problem.kernel.beta:g}$"
    if not loop.jumps:
        title_above(axes, name, "continuous: the same way down and up")
        return
    assert point.saddle_node_diffusivity is not None
    title_above(axes, name, "a jump, with hysteresis")
    falls, rises = sets_in(loop.down), breaks_down(loop.up)
    jump(axes, loop.ratio(falls), 0.0, falls.order, DOWN)
    before = loop.up[loop.up.index(rises) - 1]
    jump(axes, loop.ratio(rises), before.order, 0.0, UP)
    for plateau, side, colour, words in (
        (falls, -1, DOWN, "$D$ falls:\norder\nsets in"),
        (rises, 1, UP, "$D$ rises:\norder\nbreaks\ndown"),
    ):
        axes.annotate(
            words, (loop.ratio(plateau), 0.42), xytext=(7 * side, 0), textcoords="offset points",
            color=colour, ha="right" if side < 0 else "left", va="center",
        )  # fmt: skip
    axes.text(
        1.0 + 0.5 * (point.saddle_node_diffusivity / critical - 1.0), 0.13, "unstable",
        color=MUTED, fontsize=8.5, ha="center",
    )  # fmt: skip


def jump(axes: Axes, x: float, start: float, end: float, colour: str) -> None:
    """Draw an arrow between the two states of a jump."""
    axes.annotate(
        "", (x, end), xytext=(x, start), zorder=2,
        arrowprops={
            "arrowstyle": "-|>", "color": colour, "linewidth": 1.6, "shrinkA": 5, "shrinkB": 6,
            "mutation_scale": 13,
        },
    )  # fmt: skip


def energy_panel(axes: Axes, loop: Loop) -> None:
    """Draw the free energy of the branch and of the loop; it is zero at the transition."""
    critical = loop.point.critical_diffusivity
    unit = 1e-2 * critical
    marks(axes, loop, words=False)
    low, high = axes.get_xlim()
    axes.plot([1.0, high], [0.0, 0.0], color=STATES, linewidth=4.5, solid_capstyle="butt")
    axes.plot([low, 1.0], [0.0, 0.0], color=STATES, linestyle=DASHES)
    states(axes, loop, loop.branch.free_energy / unit)
    for way, colour, marker in ((loop.down, DOWN, "v"), (loop.up, UP, "^")):
        at = [(loop.ratio(p), p.free_energy / unit) for p in way]
        axes.plot(*zip(*at, strict=True), marker, color=colour, markersize=4.5, zorder=4)
    # The vertical range ends at the jump down; below D_# order has no competitor.
    shown = [sets_in(loop.down)] if loop.jumps else loop.down
    least = min(p.free_energy for p in shown) / unit
    axes.set_ylim(1.08 * least, -0.3 * least)
    if loop.equal is None:
        return
    axes.plot(
        [loop.ratio(loop.equal)], [loop.equal.free_energy / unit], "o", color=INK,
        markersize=6, zorder=5,
    )  # fmt: skip
    axes.annotate(
        "equal at $D_c$", (loop.ratio(loop.equal), 0.0), xytext=(4, -9),
        textcoords="offset points", va="top", fontsize=8.5,
    )  # fmt: skip


def states(axes: Axes, loop: Loop, heights: np.ndarray) -> None:
    """Draw the branch: broad lines if stable, dashed if not; the saddle node separates them."""
    branch = loop.branch
    # The order parameter increases along the branch, so it is the parameter of the splines.
    order = np.linspace(0.0, branch.order_parameter[-1], 600)
    ratios = CubicSpline(branch.order_parameter, branch.values)(order)
    curve = CubicSpline(branch.order_parameter, heights)(order)
    turns = [each.order_parameter for each in branch.special if each.kind == "saddle_node"]
    turn = int(np.searchsorted(order, turns[0])) if turns else 0
    ratios /= loop.point.critical_diffusivity
    axes.plot(ratios[: turn + 1], curve[: turn + 1], color=STATES, linestyle=DASHES)
    axes.plot(ratios[turn:], curve[turn:], color=STATES, linewidth=4.5, solid_capstyle="butt")


def marks(axes: Axes, loop: Loop, *, words: bool) -> None:
    """Mark D_#, D_c and D_SN."""
    point = loop.point
    values = [(r"$D_\#$", point.critical_diffusivity, "right" if loop.jumps else "left")]
    saddle, transition = point.saddle_node_diffusivity, point.transition_diffusivity
    if saddle is not None and transition is not None:
        axes.axvspan(1.0, saddle / point.critical_diffusivity, color=BOTH, linewidth=0, zorder=0)
        values += [("$D_c$", transition, "right"), (r"$D_\mathrm{SN}$", saddle, "left")]
    for word, value, side in values:
        x = value / point.critical_diffusivity
        axes.axvline(x, color=MUTED, linewidth=0.8, linestyle=":", zorder=1)
        if words:
            axes.annotate(
                word, (x, 1.0), xycoords=("data", "axes fraction"), va="top", ha=side,
                xytext=(-3 if side == "right" else 3, -2), textcoords="offset points",
            )  # fmt: skip


def legend(axes: Axes, tokens: int) -> None:
    """Draw the legend of the markers."""
    both = {"linestyle": "none", "markersize": 5}
    entries = [
        Line2D([], [], color=STATES, linewidth=4.5, label="stationary, stable"),
        Line2D([], [], color=STATES, linestyle=DASHES, label="stationary, unstable"),
        Line2D([], [], color=DOWN, marker="v", label="density, $D$ falling", **both),
        Line2D([], [], color=UP, marker="^", label="density, $D$ rising", **both),
    ]
    if tokens:
        entries.append(
            Line2D(
                [],
                [],
                color=MUTED,
                marker="o",
                markerfacecolor="none",
                linestyle="none",
                markersize=6.5,
                label=f"{tokens:,} noisy particles",
            )  # fmt: skip
        )
    axes.legend(handles=entries, loc="center right", bbox_to_anchor=(1.02, 0.48))
