"""Kind "spectrum": sizes of the moments by degree, against what linear theory predicts.

    |m_l(t)| = |m_l(0)| e^{lambda_l t}     while the measure is close to uniform

On the sphere |m_l| is the root of the power sum_m |m_lm|^2 of the degree, m = -l ... l: every
order grows at the same rate.
"""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from meanfield.outputs.plots.curves import label_ends
from meanfield.outputs.plots.energy import points_if_few
from meanfield.outputs.plots.hand_overs import mark_hand_overs
from meanfield.outputs.plots.style import (
    DEGREE_COLOURS,
    MUTED,
    set_title,
)
from meanfield.outputs.plots.time_axis import add_growth_times, set_time_axis
from meanfield.pictures.saved_times import shown
from meanfield.pictures.series import NEGLIGIBLE, linear_prediction, shown_degrees
from meanfield.run import Run


def draw(run: Run, figure: Figure) -> None:
    """Draw the whole figure."""
    axes = figure.subplots()
    set_title(axes, run)
    on_axes(run, axes, height=3.4)
    set_time_axis(axes, run)
    mark_hand_overs(axes, run)
    add_growth_times(axes, run)


def on_axes(run: Run, axes: Axes, *, height: float) -> None:
    """Moments of the first degrees and their linear predictions on axes of a height in inches."""
    kept = shown(run)
    times, sizes = run.time[kept], run.sizes_by_degree()[kept]
    degrees, dominant = shown_degrees(run)
    positive = sizes[:, degrees][sizes[:, degrees] > NEGLIGIBLE]
    low = max(NEGLIGIBLE, 0.5 * float(positive.min())) if len(positive) else NEGLIGIBLE
    high = 2.0 * max(float(positive.max()) if len(positive) else 1.0, 10 * low)
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    axes.yaxis.set_minor_formatter(NullFormatter())
    colours = mpl.colormaps[DEGREE_COLOURS](np.linspace(0.0, 0.88, len(degrees)))
    for l, colour in zip(degrees, colours, strict=True):
        width = 2.4 if l == dominant else 1.3
        visible = np.where(sizes[:, l] > NEGLIGIBLE, sizes[:, l], np.nan)
        axes.plot(times, visible, color=colour, linewidth=width, zorder=3, **points_if_few(run))
        predicted = linear_prediction(run, l)[kept]
        inside = (predicted >= low) & (predicted <= high)
        axes.plot(
            times, np.where(inside, predicted, np.nan), color=colour, linewidth=1.0, dashes=(4, 2.5)
        )
    axes.set_ylabel(moments_label(run))
    ends = [
        (float(sizes[-1, l]), rf"$\ell = {l}$", colour)
        for l, colour in zip(degrees, colours, strict=True)
    ]
    label_ends(axes, ends, height=height)
    axes.plot([], [], color=MUTED, linewidth=1.0, dashes=(4, 2.5), label="linear prediction")
    axes.legend(loc="lower right")


def moments_label(run: Run) -> str:
    """What is drawn: moduli on the circle, roots of the power per degree on the sphere."""
    if run.manifold.dimension == 1:
        return r"moments $|m_\ell|$"
    return r"power$^{1/2}$, $(\sum_m |m_{\ell m}|^2)^{1/2}$"
