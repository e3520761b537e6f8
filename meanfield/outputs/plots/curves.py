"""Small things that figures of curves share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.typing import ColorType

# Distance between neighbouring labels, as a share of the height of a line of text.
_SPACING = 1.25
_POINTS_PER_INCH = 72.0


def label_ends(
    axes: Axes, labels: Sequence[tuple[float, str, ColorType]], *, size: float = 8.5, height: float
) -> None:
    """Labels right of the axes, each as close to the end of its curve as the others let it.

    Parameters
    ----------
    axes : Axes
        With its limits set.
    labels : list of (value, text, colour)
        Where each curve ends, in data units.
    size : float
        Of the font, in points.
    height : float
        Of the axes in inches, about.
    """
    low, high = axes.get_ylim()
    if axes.get_yscale() == "log":
        low, high = np.log(low), np.log(high)
        labels = [(np.log(value), text, colour) for value, text, colour in labels if value > 0]
    placed = sorted(((value - low) / (high - low), text, colour) for value, text, colour in labels)
    gap = _SPACING * size / _POINTS_PER_INCH / height
    at = spread([float(np.clip(place, 0.0, 1.0)) for place, _, _ in placed], gap)
    for y, (_, text, colour) in zip(at, placed, strict=True):
        axes.annotate(
            text,
            (1.0, y),
            xycoords="axes fraction",
            xytext=(6, 0),
            textcoords="offset points",
            color=colour,
            fontsize=size,
            va="center",
            ha="left",
        )


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
