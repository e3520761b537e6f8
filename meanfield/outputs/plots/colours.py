"""Colours of densities: one logarithmic scale around uniform, and its bar."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.ticker import FuncFormatter, NullLocator

from meanfield.arrays import FloatArray
from meanfield.outputs.plots.style import MUTED

# Colours span at most this range, and at least a little around uniform.
_LOWEST, _HIGHEST = 0.05, 30.0
_NEAR_UNIFORM = 1.25


def colour_range(values: FloatArray) -> tuple[float, float]:
    """Lowest and highest density that have a colour of their own.

    Examples
    --------
    >>> import numpy as np
    >>> colour_range(np.array([-1e-9, 0.3, 400.0])), colour_range(np.array([1.0, 1.01]))
    ((0.3, 30.0), (0.8, 1.25))
    """
    positive = values[values > 0]
    lowest = min(max(float(positive.min()), _LOWEST), 1.0 / _NEAR_UNIFORM)
    return lowest, max(min(float(positive.max()), _HIGHEST), _NEAR_UNIFORM)


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
    *,
    place: tuple[float, float, float, float] = (1.015, 0.0, 0.016, 1.0),
    label: str = "density $f$",
) -> None:
    """Colour bar of a density; arrows where `values` go beyond the colours."""
    low, high = colour_range(values)
    below, above = bool(values.min() < 0.999 * low), bool(values.max() > 1.001 * high)
    extend = ("both" if above else "min") if below else ("max" if above else "neither")
    # Inset axes belong to the panel: panels below it stay as wide.
    bar = axes.figure.colorbar(mappable, cax=axes.inset_axes(place), extend=extend, extendfrac=0.03)
    bar.set_label(f"{label} (uniform = 1)")
    bar.set_ticks(colour_ticks(low, high))
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
    bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=2, color=MUTED)
