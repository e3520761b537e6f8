"""One place for fonts, sizes and colours, and for what figures are called."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.font_manager import FontProperties
from matplotlib.patheffects import withStroke
from matplotlib.style import context
from matplotlib.text import Annotation
from matplotlib.textpath import TextPath

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

# Around names that lines may pass, on white and on dark panels.
HALO = [withStroke(linewidth=2.5, foreground="white")]
DARK_HALO = [withStroke(linewidth=2.0, foreground=INK)]

# Perceptually uniform, dark where the density is thin.
DENSITY_COLOURS = "magma"
# In the order of hues, each told apart from its neighbours on white: the first eight degrees, and
# the one that grows fastest if it is a higher one.
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
    # Text stays text in vector files; ids do not change from one file to the next.
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "meanfield",
}


def style() -> AbstractContextManager[None]:
    """Context in which figures are drawn and written; leaves the user's settings alone."""
    return context(["default", _STYLE])


def set_title(axes: Axes, frame: Frame) -> None:
    """Title of the run in bold above the axes, the problem beneath it; on guest axes plain."""
    if frame.guest:
        title = frame.title
        axes.set_title(title, fontsize=_GUEST_SIZE, parse_math=_is_mathtext(title))
        return
    title_above(axes, frame.title, facts_title(frame.facts))


def set_note(axes: Axes, frame: Frame, note: str) -> None:
    """Write a note right above the axes; a guest axes has it instead of a title."""
    if not frame.guest:
        axes.set_title(note, loc="right", color=MUTED, pad=8)
    elif not frame.title:
        axes.set_title(note, color=MUTED)


def write_below(axes: Axes, text: str) -> Annotation:
    """Name of a panel, right below its middle."""
    return axes.annotate(
        text, (0.5, 0.0), xycoords="axes fraction", xytext=(0, -3), textcoords="offset points",
        ha="center", va="top", fontsize=8.5, color=MUTED,
    )  # fmt: skip


def title_above(axes: Axes, title: str, subtitle: str) -> None:
    """Title in bold above a muted subtitle, both flush with the axes; a long one is cut."""
    below = axes.set_title(subtitle, loc="left", color=MUTED, pad=8)
    if title:
        title = _fitting(title, 72 * _TITLE_SHARE * axes.figure.bbox.width / axes.figure.dpi)
        axes.annotate(
            title, (0.0, 1.0), xycoords=below, xytext=(0, 5), textcoords="offset points",
            fontsize=_TITLE_SIZE, fontweight="bold", va="bottom", annotation_clip=False,
            parse_math=_is_mathtext(title),
        )  # fmt: skip


def _fitting(text: str, points: float) -> str:
    """Text that is at most about so wide as a title, cut if it must be."""
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
    """True if matplotlib can set a text's formulas; else its dollars are dollars."""
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
        # The largest score of two tokens: heads have matrices, and beta alone says little.
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
    """Powers of ten from 1,000 on, and their multiples, for mathtext; else the number."""
    digits = len(str(n)) - 1
    lead = n / 10**digits
    if digits < 3 or lead != int(lead):
        return str(n)
    return f"10^{{{digits}}}" if lead == 1 else rf"{lead:g} \times 10^{{{digits}}}"
