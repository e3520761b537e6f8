"""Style of figures, and their common parts: titles, time axis, hand-overs, labels, colour bar."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.path import Path
from matplotlib.patheffects import withStroke
from matplotlib.style import context
from matplotlib.text import Annotation, Text
from matplotlib.textpath import TextPath
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from matplotlib.typing import ColorType
from numpy.typing import ArrayLike

from meanfield.arrays import FloatArray
from meanfield.described import Facts
from meanfield.figures.data.saved_times import Frame
from meanfield.results.report import at_start, attention_words
from meanfield.status import stop_rule

INK = "#22262b"
MUTED = "#7a828c"
FAINT = "#d5d9de"

ENERGY = "#c2432d"
ORDER = "#2f6db3"
COUNT = "#8d96a1"

# Outlines that keep labels readable across lines, on white and on dark panels.
HALO = [withStroke(linewidth=2.5, foreground="white")]
DARK_HALO = [withStroke(linewidth=2.0, foreground=INK)]

# Perceptually uniform, dark where the density is thin.
DENSITY_COLOURS = "magma"
# Colours of the first eight degrees in the order of hues, and of all higher ones. Neighbours differ
# clearly on white.
DEGREE_COLOURS = (
    "#46166b", "#2f6db3", "#17a2b8", "#2a9134", "#9aa300", "#e09f00", "#d9541e", "#b3186d",
    "#22262b",
)  # fmt: skip
TIME_COLOURS = "viridis_r"

_TITLE_SIZE, _GUEST_SIZE = 12.5, 11.0
# Share of a figure's width that a title may take: a longer one leaves no room for the axes.
_TITLE_SHARE = 0.85

_STYLE: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "mathtext.fontset": "dejavusans",
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9.0,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlecolor": INK,
    "axes.formatter.useoffset": False,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "xtick.minor.visible": False,
    "lines.linewidth": 1.8,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.dpi": 100,
    "savefig.dpi": 150,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "figure.constrained_layout.h_pad": 0.07,
    "figure.constrained_layout.w_pad": 0.08,
    # Text stays text in vector files; ids are the same in all files.
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "meanfield",
}


def style() -> AbstractContextManager[None]:
    """Context of settings for drawing and writing; it leaves the user's settings alone."""
    return context(["default", _STYLE])


def set_title(axes: Axes, frame: Frame) -> None:
    """Write the title of the run in bold, the problem below it; on guest axes a plain title."""
    if frame.guest:
        title = frame.title
        axes.set_title(title, fontsize=_GUEST_SIZE, parse_math=_is_mathtext(title))
        return
    title_above(axes, frame.title, facts_title(frame.facts))


def set_note(axes: Axes, frame: Frame, note: str) -> None:
    """Write a note above the axes, on the right; on guest axes only instead of a title."""
    if not frame.guest:
        axes.set_title(note, loc="right", color=MUTED, pad=8)
    elif not frame.title:
        axes.set_title(note, color=MUTED)


def write_below(axes: Axes, text: str) -> Annotation:
    """Write the name of a panel below its middle."""
    return axes.annotate(
        text, (0.5, 0.0), xycoords="axes fraction", xytext=(0, -3), textcoords="offset points",
        ha="center", va="top", fontsize=8.5, color=MUTED,
    )  # fmt: skip


def title_above(axes: Axes, title: str, subtitle: str) -> None:
    """Write a bold title above a muted subtitle, both flush left; a long title is cut."""
    below = axes.set_title(subtitle, loc="left", color=MUTED, pad=8)
    if title:
        title = _fitting(title, 72 * _TITLE_SHARE * axes.figure.bbox.width / axes.figure.dpi)
        axes.annotate(
            title, (0.0, 1.0), xycoords=below, xytext=(0, 5), textcoords="offset points",
            fontsize=_TITLE_SIZE, fontweight="bold", va="bottom", annotation_clip=False,
            parse_math=_is_mathtext(title),
        )  # fmt: skip


def _fitting(text: str, points: float) -> str:
    """Text, cut to at most about `points` of width in the font of titles."""
    font = FontProperties(weight="bold")
    longest = min(len(text), 200)
    while longest > 1:
        text_drawn = text if longest == len(text) else text[:longest] + "..."
        outline = TextPath((0, 0), text_drawn.replace("$", "S"), size=_TITLE_SIZE, prop=font)
        width = outline.get_extents().width
        if width <= points:
            return text_drawn
        longest = min(longest - 1, int(longest * points / width))
    return text[:1]


def _is_mathtext(text: str) -> bool:
    """True if matplotlib can set the formulas of a text; if not, dollars are plain text."""
    from matplotlib.mathtext import MathTextParser

    try:
        MathTextParser("path").parse(text)
    except ValueError:
        return False
    return True


def facts_title(facts: Facts) -> str:
    """Manifold, kernel and flow on one line."""
    kernel_words, flow = attention_words(facts)
    start, parts = at_start(facts), [facts.manifold, kernel_words]
    if facts.heads and kernel_words:
        # Heads have matrices, so the largest score of two tokens replaces beta.
        parts += [flow, rf"$\beta{start} |B| = {facts.beta:.3g}$"]
    else:
        own = kernel_words and facts.kernel != "linear"
        parts += [rf"$\beta{start} = {facts.beta:g}$" if own else "", flow]
    parts += [f"{facts.mask} mask"] if facts.mask else []
    law = facts.frequencies.replace(", centre=0.0", "")
    parts.append(law.replace("GivenFrequencies()", "given frequencies"))
    parts += [facts.terms.replace("_", "-"), facts.layers, facts.stages.partition(":")[0]]
    parts += [f"strength ${facts.strength:g}$"] if facts.strength != 1.0 else []
    parts += [f"diffusivity ${facts.diffusivity:g}$"] if facts.diffusivity else []
    rule = stop_rule(facts.status)
    parts += [f"stopped: {rule}" if rule else "", facts.symmetry]
    return ",  ".join(part for part in parts if part.strip())


def shades(name: str, low: float, high: float, count: int) -> list[str]:
    """Colours from a part of a colour map, evenly from `low` to `high`."""
    return [to_hex(colour) for colour in colormaps[name](np.linspace(low, high, count))]


def power_of_ten(n: int) -> str:
    """Mathtext of a number: a power of ten or its multiple from 1,000 on, else plain digits."""
    digits = len(str(n)) - 1
    lead = n / 10**digits
    if digits < 3 or lead != int(lead):
        return str(n)
    return f"10^{{{digits}}}" if lead == 1 else rf"{lead:g} \times 10^{{{digits}}}"


# Numbers outside 10^-4 to 10^4 are written with a power of ten.
_PLAIN = 4
# An axis of at least so many decades has ticks of our own, about so many.
_MANY, _TICKS = 100, 8
_SIZE = 7.5  # font size of names, in points
_LINE = 1.35  # line spacing of names, in font sizes
_SPACING = 1.25  # least distance between labels at the ends of curves, in font sizes
POINTS_PER_INCH = 72.0


def number_label(value: float, digits: int = 4) -> str:
    """Mathtext of a number, with a power of ten if it is large or small."""
    if value == 0 or 10.0**-_PLAIN <= abs(value) < 10.0**_PLAIN:
        return f"{value:.{digits}g}"
    mantissa, power = f"{value:.{digits - 1}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    times = "" if mantissa == "1" else mantissa + r" \times "
    return f"{times}10^{{{int(power)}}}"


def time_label(time: float, frame: Frame) -> str:
    """Time of a panel in the unit of the run, and in growth times if a degree grows."""
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
    # After the limits, because margins around 1e300 would overflow.
    if frame.logarithmic:
        axes.set_xscale("log")
    _set_ticks(axes.xaxis, float(times[0]), float(times[-1]))
    if label:
        axes.set_xlabel(time_axis_label(frame))


def time_axis_label(frame: Frame) -> str:
    """Label of the time axis, with the unit."""
    return "layer" if frame.unit == "layers" else f"{frame.unit} time $t$"


def add_growth_times(axes: Axes, frame: Frame) -> None:
    """Add a second axis in growth times on top, if a degree grows and the unit is another."""
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
    """Set ticks of a logarithmic axis of very many decades; matplotlib's would overflow."""
    if not axis.get_scale().endswith("log") or np.log10(high) - np.log10(low) < _MANY:
        return
    first, last = int(np.ceil(np.log10(low))), int(np.floor(np.log10(high)))
    powers = np.arange(first, last + 1, -(-(last - first) // _TICKS))
    axis.set_major_locator(FixedLocator((10.0**powers).tolist()))
    axis.set_minor_locator(NullLocator())


def mark_hand_overs(
    axes: Axes, frame: Frame, *, names: bool = True, colour: ColorType = MUTED
) -> None:
    """Mark the hand-overs on finished axes, with names that avoid curves and other texts."""
    low, high = axes.get_xlim()
    marked = [(time, name) for time, name in frame.hand_overs if low < time < high]
    lines = [
        axes.axvline(time, color=colour, linewidth=0.8, dashes=(2, 2), zorder=2)
        for time, _ in marked
    ]
    if not names or not marked:
        return
    if (engine := axes.figure.get_layout_engine()) is not None:
        # The places of names depend on the size of the axes, which the layout sets.
        engine.execute(axes.figure.figure)
    halo = DARK_HALO if colour == FAINT else HALO
    ends: list[tuple[int, float]] = []  # row of each name, and where it ends
    inches = axes.bbox.height / axes.figure.dpi
    for line, (time, name) in zip(lines, marked, strict=True):
        text = axes.annotate(
            name, (time, 1.0), xycoords=("data", "axes fraction"), xytext=(3, -2),
            textcoords="offset points", ha="left", va="top", fontsize=_SIZE, color=colour,
            zorder=6, path_effects=halo,
        )  # fmt: skip
        if text.get_window_extent().x1 > axes.bbox.x1:
            text.set(ha="right", x=-3.0)
        # The line must not cross earlier names, so the row is below those that reach it.
        place = float(axes.transData.transform((time, 0.0))[0])
        first = max((row + 1 for row, end in ends if end > place), default=0)
        texts = _boxes(axes, text)
        row = _free_row(text, first, [*_paths(axes, lines), *texts], inches)
        row = _free_row(text, first, texts, inches) if row is None else row
        row = first if row is None else row
        text.set_y(_down(row))
        ends.append((row, text.get_window_extent().x1))
        if row:
            line.set_ydata([0.0, 1.0 + _down(row) / POINTS_PER_INCH / inches])


def _free_row(text: Text, first: int, obstacles: Sequence[Path], inches: float) -> int | None:
    """First row from `first` on in which a text meets no obstacle; None without one."""
    for row in range(first, int(inches * POINTS_PER_INCH / (_LINE * _SIZE)) - 1):
        text.set_y(_down(row))
        box = text.get_window_extent()
        if not any(each.intersects_bbox(box, filled=False) for each in obstacles):
            return row
    return None


def _down(row: int) -> float:
    """Offset in points of a row of names from the top; negative."""
    return -2.0 - row * _LINE * _SIZE


def _paths(axes: Axes, others: Sequence[Line2D]) -> list[Path]:
    """Curves of axes and their twins, in pixels, except `others`."""
    curves = [
        line.get_transform().transform_path(line.get_path())
        for each in axes_in_the_place_of(axes)
        for line in each.lines
        if line not in others
    ]
    for each in axes.collections:
        if isinstance(each, LineCollection):
            curves += map(each.get_transform().transform_path, each.get_paths())
    return curves


def _boxes(axes: Axes, text: Text) -> list[Path]:
    """Outlines of the other texts of axes, in pixels."""
    corners = [each.get_window_extent().corners() for each in axes.texts if each is not text]
    return [Path(each[[0, 1, 3, 2, 0]]) for each in corners]


def axes_in_the_place_of(axes: Axes) -> list[Axes]:
    """Axes and those in the same place, for example from `twinx`."""
    place = axes.get_position(original=True).bounds
    return [each for each in axes.figure.axes if each.get_position(original=True).bounds == place]


def set_plain_ticks(axis: Axis, low: float, high: float) -> None:
    """Set ticks of a short logarithmic axis: 1, 2 and 5 of each power of ten, plain numbers."""
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
    """Label curves to the right of the axes, each label as close to its curve as others permit.

    labels: end of the curve in data units, text, colour; size: of the font in points; height: of
    the axes in inches.
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
    """Increasing places, moved apart to at least `gap`, none above 1."""
    # Blocks of touching labels, each with its centre and number of labels.
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
    """Ticks of the colour bar: 1, 2, 5 in each decade; for a short range the ends and 1."""
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
    """Add the colour bar of a density, with arrows where `values` exceed the colours."""
    low, high = colours
    below, above = bool(values.min() < 0.999 * low), bool(values.max() > 1.001 * high)
    extend = ("both" if above else "min") if below else ("max" if above else "neither")
    # Inset axes keep the width of the panel equal to that of the panels below.
    bar = axes.figure.colorbar(mappable, cax=axes.inset_axes(place), extend=extend, extendfrac=0.03)
    bar.set_label(label)
    bar.set_ticks(colour_ticks(low, high))
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
    bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=2, color=MUTED)
