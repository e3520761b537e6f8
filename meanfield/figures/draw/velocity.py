"""Kind "velocity": the velocity of tokens at a few times, over the density.

    v(x) = sum_h v_h(x),    v_h(x) = P_x V_h int e^{beta x^T B_h y} y mu(dy) / z_h(x)

The integral is a sum over points of the measure, or over nodes of a grid with its masses. Its
weights are positive, so v is accurate also far from all mass. On the circle tokens rest at zeros
of v; a zero is stable if v changes from + to -.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from numpy.typing import NDArray

from meanfield.arrays import FloatArray
from meanfield.fields.heads import HeadsInteraction, heads_interaction
from meanfield.fields.interactions import fixed_field, interaction_of
from meanfield.figures.data.circle import cell_edges, cell_means, wrapped
from meanfield.figures.data.projections import Mollweide, directions
from meanfield.figures.data.saved_times import Frame, colour_range, frame, is_smooth
from meanfield.figures.data.sphere import SpherePanel, chosen_times, missing, values_on
from meanfield.figures.data.tokens import some_tokens
from meanfield.figures.draw.axes import (
    DEGREE_COLOURS,
    ENERGY,
    FAINT,
    INK,
    MUTED,
    ORDER,
    add_colour_bar,
    label_ends,
    number_label,
    set_note,
    set_title,
    time_label,
    write_below,
)
from meanfield.figures.draw.sphere import colours_label, draw_panel
from meanfield.measures import Density, Measure
from meanfield.problem import Problem
from meanfield.runs import Run

_ANGLES, _ARROWS = 720, 260
# Shift of the grid of angles, so that no symmetry puts a zero of v on it.
_SHIFT = 0.381966
_PANELS, _MAPS, _PIXELS = 3, 2, 600
# Most pairs of a place and a point in sums; beyond, v comes from moments.
_MOST_PAIRS = 20_000_000
# Smaller speeds are rounding, as a share of the bound from the values of heads.
_AT_REST = 1e-10
_HALVINGS = 40
_FEW_TOKENS = 60
# Cells of a density; histograms of tokens have about _TOKENS_PER_CELL tokens in each cell.
_CELLS, _FEWEST_CELLS, _TOKENS_PER_CELL = 720, 40, 8
# No arrows beyond this longitude and |z|: the map would tear or turn them.
_SEAM, _POLE = np.deg2rad(174.0), 0.985
_STEP = 1e-4
LONGEST = 0.36
"""Length of an arrow of the largest speed, also one left out, on a map of half width 2 sqrt(2)."""


@dataclass(frozen=True, eq=False)
class CirclePanel:
    """Velocity on the circle at a saved time, over the density, or over a few tokens."""

    time: float  # in the unit of the run
    density: FloatArray  # (cells,): mean density in equal cells from -pi
    tokens: FloatArray  # angles of a few tokens, else empty
    masses: FloatArray
    angles: FloatArray  # (n,): increasing, within [-pi, pi]
    velocity: FloatArray  # (n,): d theta / dt there, t in the unit of the run
    heads: FloatArray  # (heads, n): velocity from each head; no rows for a single head
    zeros: FloatArray  # (k,): angles where v changes sign; empty at rest
    stable: NDArray[np.bool_]  # (k,): whether v changes from + to -
    largest_speed: float  # largest |v|; 0 at rest


@dataclass(frozen=True, eq=False)
class MapPanel:
    """Velocity on the sphere at a saved time, as arrows on a map of the density."""

    panel: SpherePanel  # the map
    places: FloatArray  # (n, 2): tails of arrows
    arrows: FloatArray  # (n, 2)
    largest_speed: float  # |v| of the longest arrow, t in the unit of the run; 0 at rest


@dataclass(frozen=True, eq=False)
class VelocityPicture:
    """Velocity at a few saved times; a note mentions diffusion."""

    frame: Frame
    panels: tuple[CirclePanel, ...] | tuple[MapPanel, ...]
    colours: tuple[float, float]  # densities at the ends of the colours of maps
    note: str = ""


def velocity_picture(run: Run) -> VelocityPicture:
    """Picture of the velocity at up to three saved times, on the sphere at two by default."""
    reason = missing(run)
    if reason is not None:
        raise ValueError(reason)
    problem = run.problem
    if problem.has_labels:
        raise ValueError(
            "tokens with positions under a mask, or with frequencies, move at velocities of their "
            'own in one place: no figure shows them; "labels" has the densities of each.'
        )
    note = "drift alone, without diffusion" if problem.flow.diffusivity > 0 else ""
    if run.manifold.dimension == 1:
        chosen = chosen_times(run, _PANELS)
        panels = tuple(_circle_panel(run, run.problem_at(int(i)), int(i)) for i in chosen)
        return VelocityPicture(frame(run), panels, (0.0, 1.0), note)
    # Three maps are drawn only of a run with three saved times, as `times` selects them.
    chosen = chosen_times(run, _PANELS if len(run.time) == _PANELS else _MAPS)
    maps = tuple(_map_panel(run, run.problem_at(int(i)), int(i)) for i in chosen)
    colours = colour_range(np.array([each.panel.values for each in maps]))
    return VelocityPicture(frame(run), maps, colours, note)


def velocities(problem: Problem, measure: Density | Measure, places: FloatArray) -> FloatArray:
    """Velocity of each head, (heads, n) or (heads, n, 3), in the field of a measure.

    External fields are the last entry. The user's own kernels, and too many pairs, use moments.
    """
    if problem.terms:
        seen = (
            _points(measure, problem.moment_degree) if problem.is_time_dependent else (places, None)
        )
        fixed = fixed_field(problem).seeing(*seen).velocity(places)
        return np.concatenate([velocities(problem.undriven, measure, places), fixed[None]])
    heads = problem.matrices
    points, masses = _points(measure, problem.moment_degree)
    if heads is None or len(points) * len(places) > _MOST_PAIRS:
        return _series(problem, measure, places)
    interaction = heads_interaction(problem)
    each = [replace(interaction, heads=(head,)) for head in heads]
    return np.array([one.pair_velocity(points, masses, places) for one in each])


def _series(problem: Problem, measure: Density | Measure, places: FloatArray) -> FloatArray:
    interaction = interaction_of(problem)
    alone = [interaction]
    if isinstance(interaction, HeadsInteraction):
        alone = [replace(interaction, heads=(head,)) for head in interaction.heads]
    fields = []
    for each in alone:
        if isinstance(measure, Density):
            field = each.of_density(measure.coefficients)
        else:
            field = each.of_points(measure.points, measure.mass)
        fields.append(field.velocity(places))
    return np.array(fields)


def _points(measure: Density | Measure, degree: int) -> tuple[FloatArray, FloatArray]:
    """Points and masses of a measure; for a density, of a grid that resolves scores."""
    if isinstance(measure, Measure):
        return measure.points, measure.mass
    space = measure.manifold
    degree = max(degree, measure.max_degree)
    grid = space.grid(degree)
    nodal = grid.to_nodal(space.resize(measure.coefficients, degree))
    return grid.points, np.maximum(nodal, 0.0) * grid.weights


def _at_rest(problem: Problem, total: FloatArray) -> bool:
    """True if the velocity is rounding."""
    heads = problem.matrices
    allowed = 1.0 if heads is None else sum(np.linalg.norm(head.value, 2) for head in heads)
    return bool(np.abs(total).max() <= _AT_REST * allowed)


def _circle_panel(run: Run, problem: Problem, index: int) -> CirclePanel:
    measure = run.measures[index]
    assert measure is not None
    angles = np.pi * (2.0 * (np.arange(_ANGLES) + _SHIFT) / _ANGLES - 1.0)
    heads = velocities(problem, measure, angles)
    total = heads.sum(axis=0)
    if problem.terms:
        heads = heads[:-1]
    zeros, stable = np.zeros(0), np.zeros(0, dtype=bool)
    if _at_rest(problem, total):
        heads, total = 0.0 * heads, 0.0 * total
    else:
        zeros, stable = _zeros_of(problem, measure, angles, total)
    tokens, masses, cells = np.zeros(0), np.zeros(0), _CELLS
    if isinstance(measure, Measure) and not is_smooth(run, index):
        if len(measure.points) <= _FEW_TOKENS:
            tokens, masses = wrapped(measure.points), measure.mass
        of_one = len(measure.points) / _TOKENS_PER_CELL
        cells = 2 * int(np.clip(of_one, _FEWEST_CELLS, _CELLS) // 2)
    return CirclePanel(
        float(run.time[index]),
        np.maximum(cell_means(measure, cells), 0.0),
        tokens,
        masses,
        angles,
        total * run.unit_length,
        (heads if len(heads) > 1 else heads[:0]) * run.unit_length,
        zeros,
        stable,
        float(np.abs(total).max()) * run.unit_length,
    )


def _zeros_of(
    problem: Problem, measure: Density | Measure, angles: FloatArray, velocity: FloatArray
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Angles where v changes sign, by bisection, and whether it changes from + to -."""
    ahead = velocity > 0.0
    changes = np.flatnonzero(ahead != np.roll(ahead, -1))
    low = angles[changes]
    high = low + 2.0 * np.pi / len(angles)
    leaving = ahead[changes]
    for _ in range(_HALVINGS if len(low) else 0):
        middle = 0.5 * (low + high)
        before = (velocities(problem, measure, middle).sum(axis=0) > 0.0) == leaving
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    return wrapped(0.5 * (low + high)), leaving


def _map_panel(run: Run, problem: Problem, index: int) -> MapPanel:
    measure, projection = run.measures[index], Mollweide()
    assert measure is not None
    points = _lattice(_ARROWS)
    total = velocities(problem, measure, points).sum(axis=0)
    speed = np.sqrt((total * total).sum(axis=-1))
    largest = 0.0 if _at_rest(problem, total) else float(speed.max())
    inside = (np.abs(np.arctan2(points[:, 1], points[:, 0])) < _SEAM) & (
        np.abs(points[:, 2]) < _POLE
    )
    points, total, speed = points[inside], total[inside], speed[inside]
    places = projection.to_plane(points)
    moved = points + _STEP * total / np.maximum(speed, np.finfo(float).tiny)[:, None]
    moved /= np.sqrt((moved * moved).sum(axis=-1))[:, None]
    along = projection.to_plane(moved) - places
    # Directions are those on the map, lengths those on the sphere.
    along /= np.maximum(np.hypot(*along.T), np.finfo(float).tiny)[:, None]
    arrows = along * (speed / largest)[:, None] if largest else 0.0 * along
    # Arrows that would leave the map are left out.
    within = (((places + LONGEST * arrows) / projection.half_axes) ** 2).sum(axis=1) < 1.0
    places, arrows = places[within], LONGEST * arrows[within]
    bare = isinstance(measure, Measure) and not is_smooth(run, index)
    tokens = some_tokens(measure) if bare and isinstance(measure, Measure) else np.zeros((0, 3))
    panel = SpherePanel(
        float(run.time[index]),
        projection,
        values_on(measure, projection, _PIXELS),
        not isinstance(measure, Density),
        projection.to_plane(tokens),
        None,
        np.zeros((0, 2)),
        np.zeros(0),
    )
    longest = float(speed[within].max()) if largest else 0.0
    return MapPanel(panel, places, arrows, longest * run.unit_length)


def _lattice(count: int) -> FloatArray:
    """Points (count, 3) of a Fibonacci lattice, with about equal areas."""
    i = np.arange(count) + 0.5
    turn = np.pi * (1.0 + np.sqrt(5.0)) * i
    return directions(turn, np.arcsin(1.0 - 2.0 * i / count))


# Bottom and height of velocity, arrows and density, as shares of the axes.
_VELOCITY, _ARROW_ROW, _DENSITY = (0.0, 0.54), (0.56, 0.07), (0.66, 0.28)
_GAP = 0.09
_ARROW_COUNT, _ARROW_SHARE = 18, 0.85
# Most heads with colours and names.
_NAMED = len(DEGREE_COLOURS) - 1
_ARROW = "#8fe3ff"
_HEIGHT = 4.0  # approximate height of the axes in inches


def draw_velocity(picture: VelocityPicture, axes: Axes) -> None:
    """Draw panels from left to right; stable zeros are filled, unstable ones open."""
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
        _arrows(axes.inset_axes((left, _ARROW_ROW[0], wide, _ARROW_ROW[1])), panel)
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
    """Draw the velocity as arrows, with lengths proportional to speed."""
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
    """Draw the velocity, the velocity from each head, and zeros."""
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
    """Colour of a head; neighbours are far apart in hue."""
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
