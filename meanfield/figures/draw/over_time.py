"""Curves over time: energy, order parameter, moments, resolution, the staircase, any observable."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullFormatter

from meanfield.arrays import FloatArray
from meanfield.figures.data.saved_times import Frame
from meanfield.figures.data.series import (
    NARROWEST,
    NEGLIGIBLE,
    EnergyPicture,
    ObservablePicture,
    OrderPicture,
    OverTime,
    ResolutionPicture,
    SpectrumPicture,
    StaircasePicture,
)
from meanfield.figures.draw.axes import (
    COUNT,
    DEGREE_COLOURS,
    ENERGY,
    FAINT,
    HALO,
    INK,
    MUTED,
    ORDER,
    POINTS_PER_INCH,
    add_growth_times,
    label_ends,
    mark_hand_overs,
    set_time_axis,
    set_title,
    shades,
)
from meanfield.observables.cluster_tree import Plateau

_LEVEL_SPACING = 0.12
_ENERGY_HEIGHT = 2.8  # approximate height of the axes in inches
_LEAST_TAIL = 1e-18
_LEAST_TOP = 1e-3  # least upper limit of energy and order, which are 1 for one cluster
_STAIRCASE_WIDTH = 7.8  # approximate width of the axes in inches
_SIZE = 7.5
_CHARACTER = 0.62 * _SIZE / 72.0
_MOST_LINES = 3
_ENTRIES, _FEW_ENTRIES = ("viridis", 0.0, 0.88), 10
_PREDICTED: dict[str, Any] = {"linewidth": 3.6, "dashes": (1.1, 0.7), "alpha": 0.45}
_LEVEL: dict[str, Any] = {"linewidth": 0.8, "dashes": (4, 3)}
# Upper limit of the axes relative to the highest energy; share of the axes above which names stand
# below their plateau.
_STAIRCASE_TOP, _HIGH = 1.12, 0.75


def draw_energy(picture: EnergyPicture, axes: Axes) -> None:
    """Draw the interaction energy, and the number of clusters on a second axis."""
    frame = picture.frame
    set_title(axes, frame)
    if picture.count is not None:
        _count_on_twin(frame, picture.count, axes)
    _energy(picture, axes)
    level_lines(picture, axes, height=_ENERGY_HEIGHT)
    set_time_axis(axes, frame)
    add_growth_times(axes, frame)
    axes.set_ylabel(_energy_label(picture.repulsive), color=ENERGY)
    mark_hand_overs(axes, frame)


def draw_order_parameter(picture: OrderPicture, axes: Axes) -> None:
    """Draw the order parameter: the length of the mean vector."""
    frame = picture.frame
    set_title(axes, frame)
    _order(picture, axes)
    _dress(axes, frame)
    axes.set_ylabel("order parameter $R$")


def draw_observable(picture: ObservablePicture, axes: Axes) -> None:
    """Draw an observable; each entry of an array is a curve, with a label if there are few."""
    frame, count = picture.frame, picture.values.shape[1]
    set_title(axes, frame)
    colours = [ORDER] if count == 1 else shades(*_ENTRIES, count)
    for i, colour in enumerate(colours):
        axes.plot(
            frame.times, picture.values[:, i], color=colour, label=f"{i}", **_points_if_few(frame)
        )
    if 1 < count <= _FEW_ENTRIES:
        axes.legend(title="entry")
    _dress(axes, frame)
    axes.set_ylabel(picture.label, parse_math=False)


def draw_spectrum(picture: SpectrumPicture, axes: Axes) -> None:
    """Draw the sizes of the moments by degree."""
    frame = picture.frame
    set_title(axes, frame)
    spectrum_on_axes(picture, axes, height=3.4)
    _dress(axes, frame)


def draw_resolution(picture: ResolutionPicture, axes: Axes) -> None:
    """Draw the spectral tail of a density, and its degree on a second axis."""
    frame = picture.frame
    set_title(axes, frame)
    _degree_on_twin(picture, axes)
    tail = np.where(picture.tail > _LEAST_TAIL, picture.tail, np.nan)
    axes.semilogy(frame.times, tail, color=ENERGY, **_points_if_few(frame))
    axes.set_ylabel("spectral tail", color=ENERGY)
    tolerance = picture.tolerance
    if tolerance is not None:
        axes.axhline(tolerance, color=MUTED, linewidth=1.0, dashes=(4, 2.5))
        axes.annotate(
            f"tolerance {tolerance:g}", (0.0, tolerance), xycoords=("axes fraction", "data"),
            xytext=(6, 4), textcoords="offset points", color=MUTED, fontsize=8.5,
        )  # fmt: skip
        axes.set_ylim(_LEAST_TAIL, 10 * float(np.nanmax([tolerance, *tail])))
    _dress(axes, frame)


def draw_staircase(picture: StaircasePicture, axes: Axes) -> None:
    """Draw the energy against log t, with the clusters of each plateau.

    Dashed: the energy sum_j m_j^2 of clusters far apart at large beta. Without atoms, a plateau is
    an interval of saved times with a constant number of clusters.
    """
    frame = picture.frame
    set_title(axes, frame)
    set_time_axis(axes, frame)
    axes.set_ylim(0.0, _STAIRCASE_TOP * float(np.nanmax(picture.energy)))
    axes.plot(picture.times, picture.energy, color=ENERGY, zorder=3)
    if len(picture.merges):
        axes.plot(
            picture.merges, picture.heights, linestyle="", marker="o", markersize=4.5,
            color="white", markeredgecolor=ENERGY, markeredgewidth=1.2, zorder=4,
            label="two clusters meet", clip_on=False,
        )  # fmt: skip
    for plateau in picture.plateaus:
        _name(axes, plateau, picture.times, picture.energy)
    axes.plot([], [], color=INK, label="sum of squared masses", **_LEVEL)
    axes.legend(loc="lower right", labelcolor=MUTED)
    add_growth_times(axes, frame)
    axes.set_ylabel(_energy_label(picture.repulsive))
    mark_hand_overs(axes, frame)


def energy_and_order(picture: OverTime, axes: Axes, height: float = 1.3) -> None:
    """Draw energy and order parameter on one pair of axes, `height` inches high."""
    energy, order = picture.energy, picture.order
    _energy(energy, axes)
    _order(order, axes)
    level_lines(energy, axes, height=height)
    ends = [(float(order.order[-1]), "order $R$", ORDER)]
    if np.isfinite(energy.energy).any():
        ends.insert(0, (float(energy.energy[-1]), "energy $E$", ENERGY))
    else:
        ends.append((0.0, "no energy", MUTED))
    axes.set_ylabel("energy, order" if energy.repulsive else "relative to\none cluster")
    label_ends(axes, ends, height=height)


def is_flat(picture: OverTime) -> bool:
    """True if there is no energy and the order parameter is visibly 0."""
    energy, order = picture.energy.energy, picture.order.order
    return not np.isfinite(energy).any() and float(np.nanmax(order)) < _LEAST_TOP


def has_moments(picture: SpectrumPicture) -> bool:
    """True if a moment is large enough to draw."""
    return bool(np.any(picture.sizes > NEGLIGIBLE))


def _dress(axes: Axes, frame: Frame) -> None:
    set_time_axis(axes, frame)
    add_growth_times(axes, frame)
    mark_hand_overs(axes, frame)


def _energy_label(repulsive: bool) -> str:
    """Label of the energy, with the reference that it is divided by."""
    return rf"energy $E\,/\,E$[{'uniform' if repulsive else 'Dirac'}]"


def _energy(picture: EnergyPicture, axes: Axes) -> None:
    times, few = picture.frame.times, _points_if_few(picture.frame)
    axes.plot(times, picture.energy, color=ENERGY, **few)


def _order(picture: OrderPicture, axes: Axes) -> None:
    axes.plot(picture.frame.times, picture.order, color=ORDER, **_points_if_few(picture.frame))


def _points_if_few(frame: Frame) -> dict[str, Any]:
    """Style that marks saved times if they are too few for a curve."""
    return {"marker": "o", "markersize": 4} if len(frame.times) < 12 else {}


def level_lines(picture: EnergyPicture, axes: Axes, *, height: float) -> None:
    """Draw lines at the energies of n equal clusters, and set the limits. height: inches."""
    curves = [np.asarray(line.get_ydata(), dtype=np.float64) for line in axes.lines]
    # A missing energy is NaN at all times.
    top = max(float(np.nanmax(curve)) for curve in curves if np.isfinite(curve).any())
    # Rounding that fills the axes would look like growth.
    top = max(top, _LEAST_TOP)
    levels = picture.levels
    near = [level for level in levels.values() if level <= 1.35 * top]
    # Room for the name of the highest line.
    name = 1.6 * _SIZE / POINTS_PER_INCH / height
    top = max([1.06 * top, *(level / (1.0 - name) for level in near)])
    axes.set_ylim(0.0, top)
    last, part = np.inf, max(1, len(picture.frame.times) // 4)
    for n, level in levels.items():
        if level > (1.0 - name) * top * (1.0 + 1e-9) or last - level < _LEVEL_SPACING * top:
            continue
        last = level
        # The name is at the end where the curves are farther away.
        right = _distance(curves, slice(-part, None), level) > _distance(curves, slice(part), level)
        # A curve just above the line would cross the name.
        near_end = slice(-(part // 2 + 1), None) if right else slice(part // 2 + 1)
        heights = np.concatenate([curve[near_end] for curve in curves]) - level
        if np.any((heights > 0.3 * name * top) & (heights < name * top)):
            continue
        axes.axhline(level, color=FAINT, linewidth=0.8, zorder=0)
        axes.annotate(
            f"{n} equal clusters" if n > 1 else "one cluster", (float(right), level),
            xycoords=("axes fraction", "data"), xytext=(-6 if right else 6, 2),
            textcoords="offset points", ha="right" if right else "left", fontsize=_SIZE,
            color=MUTED, va="bottom", zorder=5, path_effects=HALO,
        )  # fmt: skip


def _distance(curves: list[FloatArray], end: slice, level: float) -> float:
    return min(float(np.abs(curve[end] - level).min()) for curve in curves)


def _count_on_twin(frame: Frame, count: FloatArray, axes: Axes) -> None:
    twin = _twin(axes, "clusters")
    twin.step(frame.times, count, where="mid", color=COUNT, linewidth=1.2)
    twin.fill_between(frame.times, count, step="mid", color=COUNT, alpha=0.15, linewidth=0)
    twin.set_ylim(0, float(np.nanmax([1.0, *count])) * 1.15)
    twin.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))


def _degree_on_twin(picture: ResolutionPicture, axes: Axes) -> None:
    twin = _twin(axes, "degree of the density")
    twin.step(picture.frame.times, picture.degree, where="post", color=COUNT, linewidth=1.2)
    twin.set_yscale("log", base=2)
    twin.yaxis.set_major_formatter(lambda value, _: f"{value:g}")


def _twin(axes: Axes, label: str) -> Axes:
    """Second axis behind the first, with ticks on the right."""
    twin = axes.twinx()
    twin.set_ylabel(label, color=COUNT)
    twin.spines["right"].set_visible(True)
    axes.set_zorder(twin.get_zorder() + 1)
    axes.patch.set_visible(False)
    return twin


def spectrum_on_axes(picture: SpectrumPicture, axes: Axes, *, height: float) -> None:
    """Draw moments and their linear predictions on axes `height` inches high."""
    times, sizes, few = picture.frame.times, picture.sizes, _points_if_few(picture.frame)
    positive = sizes[sizes > NEGLIGIBLE]
    low = max(NEGLIGIBLE, 0.5 * float(positive.min())) if len(positive) else NEGLIGIBLE
    high = 2.0 * max(float(positive.max()) if len(positive) else 1.0, 10 * low)
    axes.set_yscale("log")
    low, high = picture.limits or (low, high)
    axes.set_ylim(low, high)
    axes.yaxis.set_minor_formatter(NullFormatter())
    ends, drawn = [], False
    for i, l in enumerate(picture.degrees):
        colour = DEGREE_COLOURS[min(l, len(DEGREE_COLOURS)) - 1]
        width = 2.4 if l == picture.dominant else 1.3
        visible = np.where(sizes[:, i] > NEGLIGIBLE, sizes[:, i], np.nan)
        axes.plot(times, visible, color=colour, linewidth=width, zorder=3, **few)
        predicted = picture.predicted[:, i]
        inside = (predicted >= low) & (predicted <= high)
        # The prediction is wider than the curve, which covers it while linear theory holds.
        axes.plot(
            times, np.where(inside, predicted, np.nan), color=colour, **_PREDICTED | {"zorder": 2.5}
        )
        drawn = drawn or bool(inside.any())
        ends.append((float(sizes[-1, i]), rf"$\ell = {l}$", colour))
    # Moduli on the circle, square roots of the power of each degree on spheres.
    power = r"power$^{1/2}$, $(\sum_m |m_{\ell m}|^2)^{1/2}$"
    if picture.frame.has_angles:
        power = r"moments $|m_\ell|$" if picture.frame.on_circle else r"$N_\ell^{1/2}\, |m_\ell|$"
    axes.set_ylabel(power)
    label_ends(axes, ends, height=height)
    if drawn:
        axes.plot([], [], color=MUTED, label="linear prediction", **_PREDICTED)
        axes.legend(loc="lower right")


def _name(axes: Axes, plateau: Plateau, times: FloatArray, energy: FloatArray) -> None:
    """Draw the level of a plateau, and write its clusters if there is room."""
    begin, end = max(plateau.begin, times[0]), min(plateau.end, times[-1])
    if not begin < end:
        return
    width = _STAIRCASE_WIDTH * float(np.log(end / begin) / np.log(times[-1] / times[0]))
    if width < NARROWEST * _STAIRCASE_WIDTH:
        return
    axes.plot([begin, end], [plateau.level] * 2, color=INK, zorder=2, **_LEVEL)
    words = plateau_words(plateau.mass, int(width / _CHARACTER))
    if not words:
        return
    middle = float(np.sqrt(begin) * np.sqrt(end))
    below = float(np.interp(np.log(middle), np.log(times), energy)) > _HIGH * axes.get_ylim()[1]
    # The words avoid the curve and the level over their whole width.
    half = 0.5 * _CHARACTER * max(map(len, words.splitlines())) / _STAIRCASE_WIDTH
    around = np.log(middle) + np.linspace(-half, half, 9) * np.log(times[-1] / times[0])
    near = np.append(np.interp(around, np.log(times), energy), plateau.level)
    height = float(near[:-1].min() if below else near.max())
    axes.annotate(
        words, (middle, height), xytext=(0, -5 if below else 5), textcoords="offset points",
        ha="center", va="top" if below else "bottom", fontsize=_SIZE, color=INK, zorder=5,
        linespacing=1.15,
    )  # fmt: skip


def plateau_words(mass: FloatArray, room: int) -> str:
    """Masses of clusters in lines of at most `room` characters; else their number, else empty."""
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
    count = f"n = {len(mass)}"
    return count if len(count) <= room else ""
