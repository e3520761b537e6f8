"""The time axis of every figure: scaled time below, growth times above."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FixedLocator, NullLocator
from numpy.typing import ArrayLike

from meanfield.arrays import FloatArray
from meanfield.outputs.plots.style import MUTED
from meanfield.pictures.saved_times import is_logarithmic, shown
from meanfield.run import Run

# Numbers beyond these powers of ten are written with one.
_PLAIN = 4
# Decades from which on the ticks are our own, and about how many they are.
_MANY, _TICKS = 100, 8


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


def set_time_axis(
    axes: Axes, run: Run, *, label: bool = True, logarithmic: tuple[float, float] | None = None
) -> None:
    """Scale, limits and label of the time axis; `logarithmic` gives the limits of such an axis."""
    times = np.array(logarithmic) if logarithmic else run.time[shown(run)]
    if times[-1] > times[0]:
        axes.set_xlim(times[0], times[-1])
    # After the limits: margins of an axis to 1e300 would go beyond the largest number.
    if logarithmic or is_logarithmic(run.time):
        axes.set_xscale("log")
    _set_ticks(axes.xaxis, float(times[0]), float(times[-1]))
    if label:
        axes.set_xlabel("scaled time $t$")


def add_growth_times(axes: Axes, run: Run) -> None:
    """Second axis on top, in growth times, if a degree grows."""
    rate = float(run.attributes.get("growth_rate_max", 0.0))
    if not rate > 0:
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
