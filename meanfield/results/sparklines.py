"""Curves and bars as small as a word, in SVG, for the tables of notebooks.

They are drawn in the colour of the text around them, so that they show on a dark page, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from meanfield.arrays import FloatArray

_WIDTH, _HEIGHT = 96.0, 18.0
# More places than pixels would make large tables of long runs, and show no more.
_MOST_POINTS = 97


@dataclass(frozen=True)
class Sparkline:
    """A small drawing with the words beside it."""

    shapes: str  # SVG within a box of 96 by 18
    words: str  # plain text, which is also what is read aloud

    @property
    def html(self) -> str:
        """Drawing and words, to stand in a cell."""
        if not self.shapes:
            return escape(self.words)
        return (
            f'<svg role="img" aria-label="{escape(self.words)}" width="{_WIDTH:g}" '
            f'height="{_HEIGHT:g}" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" '
            f'style="vertical-align: middle; margin-right: 0.6em">{self.shapes}</svg>'
            f"{escape(self.words)}"
        )


def curve(values: FloatArray, words: str) -> Sparkline:
    """Values in their order, with gaps where they are not finite.

    >>> curve(np.array([0.0, 1.0, np.nan, 1.0]), "rises").shapes.split(" fill")[0]
    '<path d="M1 17L32.3 1M95 1h0"'
    """
    values = np.asarray(values, float)
    indices = np.linspace(0, len(values) - 1, min(len(values), _MOST_POINTS)).round().astype(int)
    values = values[indices]
    finite = np.isfinite(values)
    if not finite.any():
        return Sparkline("", words)
    x = np.linspace(1.0, _WIDTH - 1.0, len(values))
    y = _heights(values)
    path, previous = "", False
    for i, there in enumerate(finite):
        if there:
            path += f"{'L' if previous else 'M'}{x[i]:.3g} {y[i]:.3g}"
            alone = not previous and (i + 1 == len(finite) or not finite[i + 1])
            path += "h0" if alone else ""
        previous = bool(there)
    return Sparkline(
        f'<path d="{path}" fill="none" stroke="currentColor" stroke-width="1.5" '
        'stroke-linecap="round"/>',
        words,
    )


def bars(values: FloatArray | Sequence[float], words: str) -> Sparkline:
    """Bars from zero up or down, the largest in full colour.

    >>> bars([0.0, 2.0, -1.0], "a mode grows").shapes.count("<rect")
    3
    """
    values = np.asarray(values, float)
    if not len(values) or not np.isfinite(values).all():
        return Sparkline("", words)
    *tops, zero = _heights(np.append(values, 0.0))
    pitch = min(_WIDTH / len(values), 12.0)
    shapes = "".join(
        f'<rect x="{i * pitch:.3g}" y="{min(top, zero):.3g}" width="{0.75 * pitch:.3g}" '
        f'height="{max(abs(zero - top), 0.5):.3g}" fill="currentColor" '
        f'fill-opacity="{1 if i == values.argmax() else 0.4}"/>'
        for i, top in enumerate(tops)
    )
    return Sparkline(shapes, words)


def _heights(values: FloatArray) -> FloatArray:
    """Heights in the box, downwards; a constant lies in the middle."""
    low, high = np.nanmin(values), np.nanmax(values)
    if low == high:
        return np.full(len(values), _HEIGHT / 2)
    shares: FloatArray = (values - low) / (high - low)
    return _HEIGHT - 1.0 - shares * (_HEIGHT - 2.0)
