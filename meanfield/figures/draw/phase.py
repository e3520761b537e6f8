"""The phase diagram: where order sets in with noise, over a range of inverse temperatures."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meanfield.arrays import FloatArray
from meanfield.figures.data.phase import PhaseCurves, phase_curves
from meanfield.figures.draw.figures import draw_on, new_figure
from meanfield.figures.draw.style import ENERGY, INK, MUTED, ORDER, style, title_above
from meanfield.studies.phase import PhaseDiagram

CRITICAL, TRANSITION, SADDLE_NODE = INK, ENERGY, ORDER
"""Colours of the three diffusivities, in this figure and in the bifurcation diagram."""

_WIDTH, _HEIGHT, _BELOW = 8.0, 4.4, 1.9
# Fills of the regions in which order alone, both, and uniform alone are stable.
_ORDERED, BOTH, _UNIFORM = "#f6e3df", "#ece6f2", "#e3ecf6"
# Least height of the picture above and below the critical diffusivity.
_LEAST_RISE = 0.05
# Regions thinner than this share of the height have no room for their name.
_ROOM = 0.07


def phase_diagram_figure(
    diagram: PhaseDiagram, *, ax: Axes | None = None, title: str | None = None, **options: Any
) -> Figure:
    """Regions over beta (alone on axes of a user's), jumps of the order, critical diffusivity."""
    curves = phase_curves(diagram)
    if ax is not None:

        def regions(axes: Axes) -> None:
            _regions(axes, diagram, curves)
            _set_beta_axis(axes, curves)

        return draw_on(ax, regions, title)
    panels = ["regions", "jump", "critical"]
    if not np.any(np.isfinite(curves.jump)):
        panels.remove("jump")
    heights = [_HEIGHT if name == "regions" else _BELOW for name in panels]
    with style():
        figure = new_figure((_WIDTH, sum(heights)), **options)
        axes = figure.subplot_mosaic(
            [[name] for name in panels], height_ratios=heights, sharex=True
        )
        flow = "SA" if diagram.normalized else "USA"
        title_above(
            axes["regions"],
            title or "Where order sets in",
            f"{diagram.manifold},  {diagram.kernel} kernel,  {flow}",
        )
        _regions(axes["regions"], diagram, curves)
        if "jump" in axes:
            _jump(axes["jump"], diagram, curves)
        _critical(axes["critical"], curves)
        _set_beta_axis(axes["critical"], curves)
    return figure


def _set_beta_axis(axes: Axes, curves: PhaseCurves) -> None:
    axes.set_xlim(float(curves.beta[0]), float(curves.beta[-1]))
    axes.set_xlabel(r"inverse temperature $\beta$")


def _regions(axes: Axes, diagram: PhaseDiagram, curves: PhaseCurves) -> None:
    """Regions of stability, in units of the critical diffusivity."""
    beta, saddle = curves.beta, curves.saddle / curves.critical
    # Without a saddle node uniform takes over at the critical diffusivity itself.
    edge = np.where(np.isfinite(saddle), saddle, 1.0)
    rise = max(_LEAST_RISE, float(edge.max()) - 1.0)
    low, high = 1.0 - 0.45 * rise, 1.0 + 1.45 * rise
    for bottom, top, colour in ((low, 1.0, _ORDERED), (1.0, edge, BOTH), (edge, high, _UNIFORM)):
        axes.fill_between(beta, bottom, top, color=colour, linewidth=0)
    flat = not np.any(np.isfinite(saddle))
    below = "order grows from 0 below" if flat else "uniform loses stability below"
    lines = (
        (np.ones_like(beta), CRITICAL, rf"critical: {below} $D_\#$"),
        (curves.transition / curves.critical, TRANSITION, "transition: free energies are equal"),
        (saddle, SADDLE_NODE, "saddle node: no ordered state above"),
    )
    for values, colour, label in lines:
        if np.any(np.isfinite(values)):
            _plot(axes, curves, values, color=colour, label=label)
    _names(axes, curves, edge, low, high)
    at = diagram.tricritical_beta
    if at is not None and beta[0] <= at <= beta[-1]:
        axes.scatter(
            [at], [1.0], s=44, color="white", edgecolor=INK, linewidth=1.4, zorder=5,
            label=r"tricritical $\beta_*$: between a continuous order and a jump",
        )  # fmt: skip
        axes.annotate(
            rf"tricritical, $\beta_* = {at:.7g}$", (at, 1.0), xytext=(0, -9),
            textcoords="offset points", ha="center", va="top", fontsize=8.5, zorder=5,
        )  # fmt: skip
    axes.set_ylim(low, high)
    axes.set_ylabel("diffusivity over the critical one\n" + r"$D / D_\#$")
    axes.legend(loc="upper left")


def _names(axes: Axes, curves: PhaseCurves, edge: FloatArray, low: float, high: float) -> None:
    """Names of the regions, where each has most room."""
    beta = curves.beta
    widest = int(np.argmax(edge)) if edge.max() > 1.0 else len(edge) // 2
    at = float(np.clip(beta[widest], *(beta[0] + np.array([0.15, 0.85]) * (beta[-1] - beta[0]))))
    top = float(np.interp(at, beta, edge))
    places = [
        (0.5 * (beta[0] + beta[-1]), 0.5 * (low + 1.0), "ordered: uniform is unstable"),
        (at, 0.5 * (top + high), "uniform: no order"),
    ]
    if top - 1.0 > _ROOM * (high - low):
        places.append((at, 1.0 + 0.4 * (top - 1.0), "both are stable"))
    for x, y, text in places:
        axes.text(x, y, text, ha="center", va="center", color=INK, fontsize=10, style="italic")


def _jump(axes: Axes, diagram: PhaseDiagram, curves: PhaseCurves) -> None:
    """Order parameter of the ordered state at the transition."""
    beta = curves.beta
    _plot(axes, curves, curves.jump, color=TRANSITION)
    axes.set_ylim(0.0, 1.0)
    axes.set_ylabel("order parameter\nat the transition")
    at = diagram.tricritical_beta
    if at is not None and beta[0] <= at <= beta[-1]:
        axes.axvline(at, color=MUTED, linewidth=0.8, linestyle=":")


def _critical(axes: Axes, curves: PhaseCurves) -> None:
    """The unit of the first panel."""
    _plot(axes, curves, curves.critical, color=CRITICAL)
    axes.set_yscale("log")
    axes.set_ylabel("critical diffusivity\n" + r"$D_\#$ (scaled time)")


def _plot(axes: Axes, curves: PhaseCurves, values: FloatArray, **how: Any) -> None:
    """A line with its dots."""
    axes.plot(curves.beta, values, marker="o", markersize=3, markevery=curves.dots, **how)
