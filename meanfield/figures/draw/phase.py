"""Phase diagrams over beta, merging diagrams over beta and time, and data of bifurcations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meanfield.arrays import FloatArray
from meanfield.described import Facts
from meanfield.figures.data.saved_times import edges_between
from meanfield.figures.draw.axes import (
    DENSITY_COLOURS,
    ENERGY,
    FAINT,
    INK,
    MUTED,
    ORDER,
    style,
    title_above,
)
from meanfield.figures.draw.figures import draw_on, new_figure, panel_figure
from meanfield.papers.equiangular import equiangular_beta
from meanfield.papers.merging import MergingDiagram
from meanfield.problem_facts import facts_of
from meanfield.stationary.branches import Branch
from meanfield.studies.phase import PhaseDiagram, PhasePoint
from meanfield.terms.attention import Head

AT_ORDER, AT_VALUE, AT_ENERGY = range(3)
"""Columns of a piece: order parameter, parameter, free energy (0 if unknown)."""
Pieces = list[tuple[bool, FloatArray]]
"""Parts of a branch: whether stable within the symmetry, and states (n, 3)."""
_DENSE = 300  # points of a drawn piece
_DOTS = 40  # most betas that are marked by dots


@dataclass(frozen=True, eq=False)
class BifurcationPicture:
    """Stationary states against diffusivity."""

    point: PhasePoint  # its diffusivities are marked
    pieces: Pieces  # of the branch
    facts: Facts  # manifold, kernel and flow
    symmetry: str  # of the states
    degree: int  # degree of the moment that defines the order parameter
    has_energy: bool  # whether free energies are known


def bifurcation_picture(point: PhasePoint, branch: Branch) -> BifurcationPicture:
    """Picture of a branch in the diffusivity, and of a point of the phase diagram."""
    return BifurcationPicture(
        point,
        branch_pieces(branch),
        replace(facts_of(branch.problem), diffusivity=0.0),
        branch.symmetry.name,
        branch.degree,
        bool(np.all(np.isfinite(branch.free_energy))),
    )


def branch_pieces(branch: Branch) -> Pieces:
    """Pieces of a branch, each of one stability; saddle nodes join them."""
    energies = np.nan_to_num(branch.free_energy)
    points = np.column_stack([branch.order_parameter, branch.values, energies])
    stable = branch.stable_within_symmetry
    turns = [special for special in branch.special if special.kind == "saddle_node"]
    ends = [0, *(np.flatnonzero(np.diff(stable.astype(int))) + 1), len(points)]
    pieces = []
    joint: FloatArray = np.empty((0, 3))
    for begin, end in zip(ends[:-1], ends[1:], strict=True):
        before, joint = joint, np.empty((0, 3))
        if end < len(points):
            low, high = sorted(branch.order_parameter[end - 1 : end + 1])
            here = [turn for turn in turns if low <= turn.order_parameter <= high]
            joint = points[end - 1 : end]
            if here:
                turn = here[0]
                height = np.nan_to_num(turn.free_energy)
                joint = np.array([[turn.order_parameter, turn.value, height]])
        pieces.append((bool(stable[begin]), np.vstack([before, points[begin:end], joint])))
    return _smooth(pieces)


def _smooth(pieces: Pieces) -> Pieces:
    """Pieces with more points, by splines: D and F are smooth in the squared order parameter."""
    from scipy.interpolate import CubicSpline

    points = np.concatenate([piece for _, piece in pieces])
    square = points[:, AT_ORDER] ** 2
    knots, first = np.unique(square, return_index=True)
    if len(knots) < 4 or np.any(np.diff(square) < 0):
        return pieces
    curve = CubicSpline(knots, points[first, AT_VALUE:])
    dense = []
    for stable, piece in pieces:
        ends = piece[0, AT_ORDER], piece[-1, AT_ORDER]
        order = np.linspace(*ends, _DENSE)
        if ends[0] > 0.0:
            # Equal ratios, too, because a turn at a small order parameter may be magnified.
            order = np.union1d(order, np.geomspace(*ends, _DENSE))
        dense.append((stable, np.column_stack([order, curve(order**2)])))
    return dense


@dataclass(frozen=True)
class PhaseCurves:
    """Columns (n,) of a diagram, beta increasing, NaN where a curve is absent."""

    dots: list[int]  # indices of points with dots
    beta: FloatArray
    critical: FloatArray
    transition: FloatArray
    saddle: FloatArray
    jump: FloatArray


def phase_curves(diagram: PhaseDiagram) -> PhaseCurves:
    """Columns of the points, and of the tricritical point, where the three curves meet."""
    rows = [
        [
            point.beta,
            point.critical_diffusivity,
            point.transition_diffusivity,
            point.saddle_node_diffusivity,
            point.order_parameter_at_transition,
        ]
        for point in sorted(diagram.points, key=lambda point: point.beta)
    ]
    table = np.array(rows, dtype=np.float64)
    computed, at = set(table[:, 0]), _tricritical_inside(diagram)
    if at is not None:
        i = int(np.searchsorted(table[:, 0], at))
        share = (at - table[i - 1, 0]) / (table[i, 0] - table[i - 1, 0])
        # Between two points the critical diffusivity is nearly exponential in beta.
        level = table[i - 1, 1] ** (1 - share) * table[i, 1] ** share
        transition = level if np.any(np.isfinite(table[:, 2])) else np.nan
        table = np.insert(table, i, [at, level, transition, level, 0.0 * transition], axis=0)
    dots = [i for i, beta in enumerate(table[:, 0]) if beta in computed]
    # Many dots would merge to a line.
    return PhaseCurves(dots if len(dots) <= _DOTS else [], *table.T)


def _tricritical_inside(diagram: PhaseDiagram) -> float | None:
    """Tricritical beta if it lies between two points that differ in order."""
    at = diagram.tricritical_beta
    points = sorted(diagram.points, key=lambda point: point.beta)
    if at is None or not points[0].beta < at < points[-1].beta:
        return None
    after = next(i for i, point in enumerate(points) if point.beta >= at)
    return at if points[after - 1].order != points[after].order else None


CRITICAL, TRANSITION, SADDLE_NODE = INK, ENERGY, ORDER
"""Colours of the three diffusivities, here and in bifurcation diagrams."""

_WIDTH, _HEIGHT, _BELOW = 8.0, 4.4, 1.9
# Fills of the regions in which only order, both, and only uniform are stable.
_ORDERED, BOTH, _UNIFORM = "#f6e3df", "#ece6f2", "#e3ecf6"
# Least D / D# - 1 that sets the height of the regions.
_LEAST_RISE = 0.05
# Thinner regions have no room for their name; a share of the height.
_ROOM = 0.07


def phase_diagram_figure(
    diagram: PhaseDiagram, *, ax: Axes | None = None, title: str | None = None, **options: Any
) -> Figure:
    """Regions over beta, jumps, critical diffusivities; on axes of the user only the regions."""
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
            "Where order sets in" if title is None else title,
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
    """Draw the regions of stability, in units of the critical diffusivity."""
    beta, saddle = curves.beta, curves.saddle / curves.critical
    # Without a saddle node, order ends at the critical diffusivity.
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
    """Write the names of the regions at their widest places."""
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
    """Draw the order parameter of the ordered state at the transition."""
    beta = curves.beta
    _plot(axes, curves, curves.jump, color=TRANSITION)
    axes.set_ylim(0.0, 1.0)
    axes.set_ylabel("order parameter\nat the transition")
    at = diagram.tricritical_beta
    if at is not None and beta[0] <= at <= beta[-1]:
        axes.axvline(at, color=MUTED, linewidth=0.8, linestyle=":")


def _critical(axes: Axes, curves: PhaseCurves) -> None:
    """Draw the critical diffusivity, which is the unit of the first panel."""
    _plot(axes, curves, curves.critical, color=CRITICAL)
    axes.set_yscale("log")
    axes.set_ylabel("critical diffusivity\n" + r"$D_\#$ (scaled time)")


def _plot(axes: Axes, curves: PhaseCurves, values: FloatArray, **how: Any) -> None:
    axes.plot(curves.beta, values, marker="o", markersize=3, markevery=curves.dots, **how)


_CURVE_POINTS = 200


@dataclass(frozen=True, eq=False)
class MergingPicture:
    """Shares of merged pairs over beta and time."""

    facts: str  # tokens, dimension, flow and matrices, one line
    title: str  # may be empty
    times: FloatArray
    betas: FloatArray
    fraction: FloatArray  # (n_betas, n_times): NaN without runs
    # (n, 2): times and betas at which pairs of orthogonal tokens reach the threshold; only for
    # softmax with Q = K = V = 1.
    curve: FloatArray | None


def merging_picture(made: MergingDiagram) -> MergingPicture:
    """Picture of a merging diagram."""
    facts, asked = made.facts, made.attributes
    flow = "SA" if facts.normalization == "softmax" else "USA"
    words = [f"{made.tokens} tokens in $\\mathbb{{R}}^{{{made.dimension}}}$", flow]
    if asked.get("motion") == "layers":
        words.append(f"layers of step {asked.get('step', 0.1):g}")
    plain = asked.get("matrices", repr(Head())) == repr(Head())
    if not plain:
        words.append(str(asked["matrices"]))
    words.append(f"{int(made.finished.min())} runs")
    title = facts.title or "Share of pairs of tokens that have merged"
    curve = _curve(made) if plain and flow == "SA" else None
    return MergingPicture(",  ".join(words), title, made.times, made.betas, made.fraction, curve)


def _curve(diagram: MergingDiagram) -> FloatArray | None:
    """The curve (6.12) for the tokens and the threshold of the diagram, within its betas."""
    n, delta = diagram.tokens, 1.0 - float(diagram.attributes.get("threshold", 0.999))
    first = 0.5 * np.log(((n - 1) * (1.0 - delta) + 1.0) / delta)
    if diagram.times[-1] <= first:
        return None
    # beta is 0 at `first`, where the curve is steep and needs more points.
    shares = np.linspace(0.0, 1.0, _CURVE_POINTS)[1:] ** 2
    times = first + (diagram.times[-1] - first) * shares
    betas = np.asarray(equiangular_beta(n, times, delta))
    curve: FloatArray = np.column_stack([times, betas])[betas <= diagram.betas[-1]]
    return curve


_SIZE = (7.2, 4.6)


def merging_figure(diagram: MergingDiagram, **options: Any) -> Figure:
    """Figure of a merging diagram, or the drawing on axes of the user."""
    picture = merging_picture(diagram)
    draw = partial(draw_merging, picture)
    return panel_figure(draw, _SIZE, picture.title, picture.facts, **options)


def draw_merging(picture: MergingPicture, axes: Axes) -> None:
    """Draw shares as colours with the equiangular curve; a single beta or time as a curve."""
    axes.set_xlabel("time $t$")
    if len(picture.betas) == 1 or len(picture.times) == 1:
        _curves(picture, axes)
        return
    mesh = axes.pcolormesh(
        edges_between(picture.times, False), edges_between(picture.betas, False),
        np.ma.masked_invalid(picture.fraction),
        cmap=DENSITY_COLOURS, vmin=0.0, vmax=1.0, rasterized=True,
    )  # fmt: skip
    axes.set_facecolor(FAINT)
    limits = axes.get_xlim(), axes.get_ylim()
    if picture.curve is not None and len(picture.curve):
        axes.plot(*picture.curve.T, color="white", linewidth=3.2, alpha=0.8)
        axes.plot(*picture.curve.T, color=INK, linewidth=1.4, linestyle="--",
                  label=r"orthogonal tokens, $d \to \infty$")  # fmt: skip
        axes.legend(loc="lower right", frameon=True, framealpha=0.85)
    axes.set_xlim(limits[0])
    axes.set_ylim(limits[1])
    axes.set_ylabel(r"inverse temperature $\beta$")
    axes.figure.colorbar(mesh, ax=axes, label="share of merged pairs")


def _curves(picture: MergingPicture, axes: Axes) -> None:
    """Draw one beta against time, or one time against beta."""
    in_time = len(picture.betas) == 1
    at = picture.times if in_time else picture.betas
    fixed = rf"$\beta = {picture.betas[0]:g}$" if in_time else f"$t = {picture.times[0]:g}$"
    axes.plot(at, picture.fraction.ravel(), color=INK, marker="o", markersize=3, label=fixed)
    if not in_time:
        axes.set_xlabel(r"inverse temperature $\beta$")
    axes.set_ylim(-0.02, 1.02)
    axes.set_ylabel("share of merged pairs")
    axes.legend()
