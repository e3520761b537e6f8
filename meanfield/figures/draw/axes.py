"""Frames of pictures: the axis of time, hand-overs, names of curves, the colour bar."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.cm import ScalarMappable
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from matplotlib.typing import ColorType
from numpy.typing import ArrayLike

from meanfield.arrays import FloatArray
from meanfield.figures.data.saved_times import Frame, places_on_axis
from meanfield.figures.draw.style import MUTED

# Numbers beyond these powers of ten are written with one.
_PLAIN = 4
# Decades from which on the ticks are our own, and about how many they are.
_MANY, _TICKS = 100, 8
# About the width of the axes, in inches, and the font of names, in points.
_WIDTH, _SIZE = 7.6, 7.5
_LINE = 1.35  # lines of text, from one to the next
_CHARACTER = 0.6  # width, in sizes of the font
# Distance between neighbouring labels, as a share of the height of a line of text.
_SPACING = 1.25
POINTS_PER_INCH = 72.0


def number_label(value: float, digits: int = 4) -> str:
    r"""Return a number for a formula, with a power of ten where it is large or small.

    Examples
    --------
    >>> number_label(12.34567), number_label(2.5e60, 3), number_label(1e-7)
    ('12.35', '2.5 \\times 10^{60}', '10^{-7}')
    """
    if value == 0 or 10.0**-_PLAIN <= abs(value) < 10.0**_PLAIN:
        return f"{value:.{digits}g}"
    mantissa, power = f"{value:.{digits - 1}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    times = "" if mantissa == "1" else mantissa + r" \times "
    return f"{times}10^{{{int(power)}}}"


def time_label(time: float, frame: Frame) -> str:
    """Time of a panel in the unit of the run, also in growth times if a degree grows."""
    if frame.unit == "layers":
        return f"after {time:g} layers"
    unit = "" if frame.unit == "scaled" else f" {frame.unit} time"
    label = f"$t = {number_label(time)}${unit}"
    rate = frame.growth_rate
    if frame.unit == "growth" or frame.guest or not (rate > 0 and time > 0):
        return label
    return f"{label},  ${number_label(time * rate, 3)}$ growth times"


def set_time_axis(axes: Axes, frame: Frame, *, label: bool = True) -> None:
    """Scale, limits and label of the time axis."""
    times = frame.times
    if times[-1] > times[0]:
        axes.set_xlim(times[0], times[-1])
    # After the limits: margins of an axis to 1e300 would go beyond the largest number.
    if frame.logarithmic:
        axes.set_xscale("log")
    _set_ticks(axes.xaxis, float(times[0]), float(times[-1]))
    if label:
        axes.set_xlabel(time_axis_label(frame))


def time_axis_label(frame: Frame) -> str:
    """Name of the time of a run, in its unit."""
    return "layer" if frame.unit == "layers" else f"{frame.unit} time $t$"


def add_growth_times(axes: Axes, frame: Frame) -> None:
    """Second axis on top, in growth times, if a degree grows and the first is in another unit."""
    rate = frame.growth_rate
    if not rate > 0 or frame.unit == "growth" or frame.guest:
        return

    def to_growth(t: ArrayLike) -> FloatArray:
        return np.asarray(t, dtype=np.float64) * rate

    def to_scaled(t: ArrayLike) -> FloatArray:
        return np.asarray(t, dtype=np.float64) / rate

    top = axes.secondary_xaxis("top", functions=(to_growth, to_scaled))
    top.set_xlabel(r"growth times $t\,\lambda_{\max}$", color=MUTED, fontsize=8.5)
    top.tick_params(labelcolor=MUTED, labelsize=8)
    top.spines["top"].set_visible(True)
    low, high = axes.get_xlim()
    _set_ticks(top.xaxis, rate * low, rate * high)


def _set_ticks(axis: Axis, low: float, high: float) -> None:
    """Ticks of a logarithmic axis of very many decades: matplotlib's own go beyond 1e308."""
    if not axis.get_scale().endswith("log") or np.log10(high) - np.log10(low) < _MANY:
        return
    first, last = int(np.ceil(np.log10(low))), int(np.floor(np.log10(high)))
    powers = np.arange(first, last + 1, -(-(last - first) // _TICKS))
    axis.set_major_locator(FixedLocator((10.0**powers).tolist()))
    axis.set_minor_locator(NullLocator())


def mark_hand_overs(
    axes: Axes, frame: Frame, *, names: bool = True, colour: ColorType = MUTED, first_row: int = 0
) -> None:
    """Mark the hand-overs on a time axis that has its limits.

    Names stand right of their lines, below each other where they would overlap, and lines end at
    them, lest they strike through the name above; the first rows may be left to others.
    """
    low, high = axes.get_xlim()
    logarithmic = axes.get_xscale() == "log"
    start, stop = places_on_axis(np.array([low, high]), logarithmic)
    size = _WIDTH * POINTS_PER_INCH
    if frame.guest:
        size = axes.bbox.width / axes.figure.dpi * POINTS_PER_INCH
    ends: list[float] = []  # of the last name in each row
    for time, name in frame.hand_overs:
        if not low < time < high:
            continue
        line = axes.axvline(time, color=colour, linewidth=0.8, dashes=(2, 2), zorder=2)
        if not names:
            continue
        place = float(places_on_axis(np.array([time]), logarithmic)[0])
        place = (place - start) / (stop - start) * size
        width = (len(name) + 2) * _CHARACTER * _SIZE
        right = place + width < size
        row = 0
        while row < len(ends) and ends[row] > (place if right else place - width):
            row += 1
        ends[row : row + 1] = [place + (width if right else 0.0)]
        down = -2 - (first_row + row) * _LINE * _SIZE
        if row:
            inches = axes.bbox.height / axes.figure.dpi
            line.set_ydata([0.0, 1.0 + down / POINTS_PER_INCH / inches])
        axes.annotate(
            name, (time, 1.0), xycoords=("data", "axes fraction"),
            xytext=(3 if right else -3, down), textcoords="offset points",
            ha="left" if right else "right", va="top", fontsize=_SIZE, color=colour, zorder=6,
        )  # fmt: skip


def set_plain_ticks(axis: Axis, low: float, high: float) -> None:
    """Ticks of a short logarithmic axis at 1, 2 and 5 of each power of ten, as plain numbers."""
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    if len(powers) > _PLAIN + 1:
        return
    ticks = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    axis.set_major_locator(FixedLocator([tick for tick in ticks if low <= tick <= high]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def label_ends(
    axes: Axes, labels: Sequence[tuple[float, str, ColorType]], *, size: float = 8.5, height: float
) -> None:
    """Labels right of the axes, each as close to the end of its curve as the others let it.

    Lines lead to them if one is farther away than half a letter.

    axes: with its limits set.
    labels: where each curve ends, in data units.
    size: of the font, in points.
    height: of the axes in inches, about.
    """
    low, high = axes.get_ylim()
    if axes.get_yscale() == "log":
        low, high = np.log(low), np.log(high)
        labels = [(np.log(value), text, colour) for value, text, colour in labels if value > 0]
    placed = sorted(((value - low) / (high - low), text, colour) for value, text, colour in labels)
    gap = _SPACING * size / POINTS_PER_INCH / height
    ends = np.clip([place for place, _, _ in placed], 0.0, 1.0)
    moved = (np.array(spread(ends.tolist(), gap)) - ends) * height * POINTS_PER_INCH
    far = bool(np.any(np.abs(moved) > 0.5 * size))
    for y, up, (_, text, colour) in zip(ends, moved, placed, strict=True):
        line = {"arrowstyle": "-", "color": colour, "linewidth": 0.6, "relpos": (0.0, 0.5)}
        axes.annotate(
            text, (1.0, y), xycoords="axes fraction", xytext=(14 if far else 6, up),
            textcoords="offset points", color=colour, fontsize=size, va="center", ha="left",
            arrowprops=line | {"shrinkA": 1.0, "shrinkB": 1.0} if far else None,
        )  # fmt: skip


def spread(places: list[float], gap: float) -> list[float]:
    """Increasing places moved apart to at least `gap`, about where they were, none above 1.

    Examples
    --------
    >>> spread([0.0, 0.5, 0.5], 0.25)
    [0.0, 0.375, 0.625]
    """
    # Blocks of labels that touch, each with its centre and size.
    blocks: list[tuple[float, int]] = []
    for place in places:
        blocks.append((place, 1))
        while len(blocks) > 1:
            (c, n), (d, m) = blocks[-2:]
            if d - c >= 0.5 * gap * (n + m) - 1e-12:
                break
            blocks[-2:] = [((c * n + d * m) / (n + m), n + m)]
    moved = [c + gap * (i - 0.5 * (n - 1)) for c, n in blocks for i in range(n)]
    limit = 1.0
    for i in reversed(range(len(moved))):
        moved[i] = min(moved[i], limit)
        limit = moved[i] - gap
    return moved


def colour_ticks(low: float, high: float) -> list[float]:
    """Round values of the colour bar: 1, 2, 5 a decade, or the ends of a short range.

    Examples
    --------
    >>> colour_ticks(0.08, 30.0), colour_ticks(0.8, 1.25)
    ([0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0], [0.8, 1.0, 1.25])
    """
    values = [digit * 10.0**power / 100 for power in range(5) for digit in (1, 2, 5)]
    ticks = [value for value in values if low <= value <= high]
    return ticks if len(ticks) > 2 else sorted({low, 1.0, high})


def add_colour_bar(
    axes: Axes,
    mappable: ScalarMappable,
    values: FloatArray,
    colours: tuple[float, float],
    *,
    place: tuple[float, float, float, float] = (1.015, 0.0, 0.016, 1.0),
    label: str = "density $f$ (uniform = 1)",
) -> None:
    """Colour bar of a density; arrows where `values` go beyond the colours."""
    low, high = colours
    below, above = bool(values.min() < 0.999 * low), bool(values.max() > 1.001 * high)
    extend = ("both" if above else "min") if below else ("max" if above else "neither")
    # Inset axes belong to the panel: panels below it stay as wide.
    bar = axes.figure.colorbar(mappable, cax=axes.inset_axes(place), extend=extend, extendfrac=0.03)
    bar.set_label(label)
    bar.set_ticks(colour_ticks(low, high))
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
    bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=2, color=MUTED)
