"""Kind "fluctuations": sizes of moments in the limit, with the band of N tokens.

To first order in 1/N moments are normal, with the mean limit + shift / N and the covariance over N.
The sizes of a degree are not normal near 0, so their mean and quantiles come from samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meanfield.arrays import FloatArray
from meanfield.bases.coordinates import coordinates
from meanfield.figures.data.saved_times import Frame, frame, is_logarithmic, part
from meanfield.figures.draw.axes import (
    DEGREE_COLOURS,
    INK,
    MUTED,
    set_note,
    set_time_axis,
    set_title,
    style,
)
from meanfield.figures.draw.figures import draw_on, new_figure
from meanfield.finite.results import Fluctuations
from meanfield.measures import Measure
from meanfield.problem_facts import facts_of
from meanfield.runs import Run

USUAL_TOKENS = 1000
"""Default of N."""

# Quantiles at the ends of the band, which holds 95 %.
_LEVELS = (0.025, 0.975)
_POINTS = 4096
_SAME = 1e-9  # rounding of times, relative


@dataclass(frozen=True, eq=False)
class FluctuationsPicture:
    """Sizes (n_times, K) of moments of degrees 1 to K: limit, mean and band of N tokens."""

    frame: Frame  # with the resolved times
    tokens: int  # N
    limit: FloatArray
    mean: FloatArray
    low: FloatArray  # ends of the band of 95 %
    high: FloatArray
    samples: tuple[tuple[FloatArray, FloatArray], ...]  # times and sizes (n, K) of particle runs
    note: str  # last resolved time, if it is not the end; other numbers of particles


def fluctuations_picture(
    run: Run, particles: Sequence[Run] = (), tokens: int | None = None
) -> FluctuationsPicture:
    """Picture of a run with fluctuations, and of runs of particles."""
    result = run.fluctuations
    if result is None:
        raise ValueError(
            "the run has no fluctuations: with [fluctuations] in its run file meanfield run "
            "--resume finds them; or mf.fluctuations(...).plot()."
        )
    length = run.unit_length
    _check(result)
    saves = np.flatnonzero(run.scaled_time <= result.resolved_until * (1 + _SAME))
    if not len(saves):
        raise ValueError(f"no time that is shown is resolved: {result.note}")
    own = [run] if run.representation[0] == "particles" else []
    around = frame(part(run, saves))
    return _picture(result, around, length, [*own, *particles], tokens)


def linearised_picture(
    fluctuations: Fluctuations, particles: Sequence[Run] = (), tokens: int | None = None
) -> FluctuationsPicture:
    """Picture of fluctuations without a run."""
    _check(fluctuations)
    facts = facts_of(fluctuations.problem)
    times = fluctuations.times[fluctuations.resolved]
    around = Frame("", facts, times, is_logarithmic(times), facts.growth_rate_max, ())
    return _picture(fluctuations, around, 1.0, particles, tokens)


def _check(fluctuations: Fluctuations) -> None:
    if fluctuations.resolved.sum() < 2:
        raise ValueError(f"this figure needs at least 2 resolved times: {fluctuations.note}")


def _picture(
    fluctuations: Fluctuations,
    around: Frame,
    length: float,
    particles: Sequence[Run],
    tokens: int | None,
) -> FluctuationsPicture:
    samples = [_sample(fluctuations, run, length) for run in particles]
    last = [run.measures[-1] for run in particles]
    counts = [len(each.points) for each in last if isinstance(each, Measure)]
    token_counts = [each for each in (tokens, fluctuations.tokens, *counts) if each is not None]
    number = token_counts[0] if token_counts else USUAL_TOKENS
    low, high = around.times[0] * length, around.times[-1] * length
    inside = (fluctuations.times >= low * (1 - _SAME)) & (fluctuations.times <= high * (1 + _SAME))
    saves = np.flatnonzero(fluctuations.resolved & inside)
    around = replace(around, times=fluctuations.times[saves] / length)
    rows = np.array([_sizes(fluctuations, int(n), number) for n in saves])
    limit, mean, low, high = rows.transpose(1, 0, 2)
    ended = (
        ""
        if not fluctuations.note
        else f"resolved up to t = {fluctuations.resolved_until / length:.4g}"
    )
    # The band of N tokens does not apply to runs with another number.
    others = ", ".join(f"{each}" for each in sorted({*counts} - {number}))
    notes = [ended, f"particles have N = {others}" if others else ""]
    return FluctuationsPicture(
        around,
        number,
        limit=limit,
        mean=mean,
        low=low,
        high=high,
        samples=tuple(samples),
        note="; ".join(filter(None, notes)),
    )


def _sample(fluctuations: Fluctuations, run: Run, length: float) -> tuple[FloatArray, FloatArray]:
    """Times and sizes of a run of particles, up to the last resolved time."""
    if run.manifold.name != fluctuations.space.name:
        raise ValueError(
            f"particles on {run.manifold} beside fluctuations on {fluctuations.space}."
        )
    inside = run.scaled_time <= fluctuations.resolved_until * (1 + _SAME)
    return run.scaled_time[inside] / length, run.sizes_by_degree()[
        inside, 1 : fluctuations.degree + 1
    ]


def _sizes(fluctuations: Fluctuations, n: int, tokens: int) -> FloatArray:
    """Limit, mean and ends of the band of the sizes at time n, (4, K)."""
    of = coordinates(fluctuations.space.dimension, fluctuations.degree)
    sizes, directions = np.linalg.eigh(fluctuations.real_covariance[n])
    # The symmetric root does not depend on the signs of `directions`.
    root = (directions * np.sqrt(np.maximum(sizes, 0.0) / tokens)) @ directions.T
    half = np.random.default_rng(0).standard_normal((_POINTS // 2, of.size))
    around = of.to_vector(fluctuations.limit[n]) + fluctuations.real_shift[n] / tokens
    drawn = around + np.concatenate([half, -half]) @ root
    moduli = np.sqrt(drawn**2 @ fluctuations.size_factors[:, 1:])
    limit = fluctuations.space.sizes_by_degree(fluctuations.limit[n])[1:]
    return np.array([limit, moduli.mean(axis=0), *np.quantile(moduli, _LEVELS, axis=0)])


_COLUMNS = 4
_GAP, _ROW_GAP = 0.075, 0.16
_ROW = 2.6  # inches


def draw_fluctuations(picture: FluctuationsPicture, axes: Axes) -> None:
    """Draw one panel for each degree."""
    set_title(axes, picture.frame)
    set_note(axes, picture.frame, picture.note)
    axes.set_axis_off()
    count = picture.limit.shape[1]
    rows, columns = panel_grid(count)
    wide = (1.0 - _GAP * (columns - 1)) / columns
    high = (0.94 - _ROW_GAP * (rows - 1)) / rows
    for i in range(count):
        row, column = divmod(i, columns)
        bottom = 0.94 - high - row * (high + _ROW_GAP)
        place = axes.inset_axes((column * (wide + _GAP), bottom, wide, high))
        _draw_degree(picture, i, place)
        set_time_axis(place, picture.frame, label=i + columns >= count)
        if i == 0:
            place.legend(loc="upper left", labelcolor=MUTED, fontsize=7.5, handlelength=1.5)


def panel_grid(count: int) -> tuple[int, int]:
    """Rows and columns of `count` panels."""
    rows = -(-count // _COLUMNS)
    return rows, -(-count // rows)


def figure_height(count: int) -> float:
    """Height in inches of a figure of `count` panels."""
    return 0.9 + _ROW * panel_grid(count)[0]


def _draw_degree(picture: FluctuationsPicture, i: int, axes: Axes) -> None:
    times, colour = picture.frame.times, DEGREE_COLOURS[i % len(DEGREE_COLOURS)]
    many = f"$N = {picture.tokens}$"
    axes.fill_between(
        times, picture.low[:, i], picture.high[:, i], color=colour, alpha=0.18, linewidth=0,
        label=f"{many}, 95 %",
    )  # fmt: skip
    for n, (own_times, sizes) in enumerate(picture.samples):
        axes.plot(
            own_times, sizes[:, i], color=INK, linewidth=0.7, alpha=0.7, zorder=2,
            label=None if n else "particles",
        )  # fmt: skip
    axes.plot(times, picture.limit[:, i], color=colour, label="limit", zorder=4)
    axes.plot(
        times, picture.mean[:, i], color=colour, linewidth=1.1, dashes=(3, 2), label="mean of $N$",
        zorder=3,
    )  # fmt: skip
    axes.set_ylim(bottom=0.0)
    name = f"$|c_{{{i + 1}}}|$" if picture.frame.on_circle else rf"degree $\ell = {i + 1}$"
    axes.set_title(name, fontsize=9.5, loc="left", pad=3)


def fluctuations_figure(
    fluctuations: Fluctuations,
    *,
    particles: Sequence[Run] = (),
    tokens: int | None = None,
    ax: Axes | None = None,
    title: str | None = None,
    **options: Any,
) -> Figure:
    """Figure of fluctuations, or the drawing on axes of the user."""
    picture = linearised_picture(fluctuations, particles, tokens)
    if title is not None:
        picture = replace(picture, frame=replace(picture.frame, title=title))
    if ax is not None:
        guest = replace(picture, frame=replace(picture.frame, guest=True))
        return draw_on(ax, partial(draw_fluctuations, guest), title)
    with style():
        figure = new_figure((9.0, figure_height(fluctuations.degree)), **options)
        draw_fluctuations(picture, figure.subplots())
    return figure
