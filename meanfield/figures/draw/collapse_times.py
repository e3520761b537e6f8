"""Figure of collapse times: share of runs with more than one cluster, and the predicted law."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meanfield.figures.draw.axes import INK, facts_title, shades
from meanfield.figures.draw.figures import panel_figure
from meanfield.studies.collapse_times import CollapseTimes

_SIZE = (7.0, 4.2)
_SIZES = ("viridis", 0.15, 0.75)


def collapse_times_figure(result: CollapseTimes, **options: Any) -> Figure:
    """Share of runs with more than one cluster against log time; dashed: law of two clusters."""
    heading = result.facts.title or "Time to one cluster"
    facts = facts_title(result.facts) if result.facts.manifold else ""
    return panel_figure(partial(_survival, result), _SIZE, heading, facts, **options)


def _survival(result: CollapseTimes, axes: Axes) -> None:
    reached = result.times[np.isfinite(result.times)]
    first = 0.5 * reached.min() if len(reached) else 0.1 * result.until
    last = result.until if np.isinf(result.times).any() else min(2.0 * reached.max(), result.until)
    times = np.geomspace(first, last, 600)
    colours = shades(*_SIZES, len(result.tokens))
    for i, (n, colour) in enumerate(zip(result.tokens.tolist(), colours, strict=True)):
        axes.step(times, result.survival(times)[i], color=colour, label=f"$N = {n}$", where="post")
        law = result.survival(times, law=True)[i]
        axes.step(times, law, color=INK, linestyle="--", linewidth=0.8, where="post")
    axes.plot([], [], color=INK, linestyle="--", linewidth=0.8, label="last two clusters alone")
    axes.set_xscale("log")
    axes.set_ylim(0.0, 1.02)
    axes.set_xlabel("scaled time")
    axes.set_ylabel("share of runs with more than one cluster")
    axes.legend(loc="lower left")
