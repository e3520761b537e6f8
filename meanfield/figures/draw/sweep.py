"""Figure of a sweep: an observable against its parameters, as curves or as a map.

The horizontal axis has the parameter with the most values; numbers come before words, and seeds
last. A second parameter makes curves if it has words or few values, points if it is a seed, and a
map otherwise. Further parameters make panels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from meanfield.arrays import FloatArray
from meanfield.figures.draw.axes import (
    DEGREE_COLOURS,
    FAINT,
    INK,
    MUTED,
    set_plain_ticks,
    style,
    title_above,
)
from meanfield.figures.draw.figures import check_empty, make_room, new_figure
from meanfield.observables import OBSERVABLES
from meanfield.runs import Run
from meanfield.studies.sweep_results import Parameter, Sweep

# More curves make a map, and more panels are refused.
_MOST_CURVES, _MOST_PANELS = 6, 12
# Least ratio of the ends of a logarithmic axis.
_WIDE = 8.0
_LABELS = {
    "clusters": "number of clusters",
    "time": "last saved time",
    "order_parameter": "order parameter $R$",
    "energy": r"energy $E\,/\,E$[Dirac]",
}
_SYMBOLS = {
    "problem.beta": r"inverse temperature $\beta$",
    "problem.diffusivity": "diffusivity $D$",
    "problem.strength": "strength",
}
_USUAL = ("clusters", "order_parameter", "mean_cosine", "energy")


@dataclass(frozen=True, eq=False)
class SweepAxis:
    """Values of a parameter along an axis, or of curves."""

    label: str
    places: FloatArray  # (n,): numbers; 0, 1, ... for words
    words: tuple[str, ...]  # the values as text
    numeric: bool
    logarithmic: bool
    is_seed: bool = False  # whether the values are seeds of random numbers


@dataclass(frozen=True, eq=False)
class SweepPicture:
    """An observable over the parameters of a sweep."""

    title: str
    facts: str
    quantity: str
    x: SweepAxis  # along the axis
    y: SweepAxis | None  # of the curves, or the vertical axis of a map; None for one curve
    is_map: bool
    panels: tuple[str, ...]  # titles of panels
    values: FloatArray  # (n_panels, n_y, n_x): NaN for missing values
    early: npt.NDArray[np.bool_]  # did not complete; values are from the last saved time
    whole: bool  # whether all values are whole numbers


def sweep_picture(
    sweep: Sweep, kind: str | None = None, time: float | None = None, title: str | None = None
) -> SweepPicture:
    """Picture of the observable `kind`, by default that of `usual_observable`."""
    name = usual_observable(sweep) if kind is None else kind
    values = sweep.values(name, time=time)
    if not np.isfinite(values).any():
        raise ValueError(
            f"{name} is known of no run of {sweep.folder} ({sweep.summary}): nothing to draw."
        )
    order = _order(sweep.parameters)
    shape = [len(sweep.parameters[i].values) for i in order]
    others = [i for i in order[2:] if len(sweep.parameters[i].values) > 1]
    panels = int(np.prod(shape[2:]))
    if panels > _MOST_PANELS:
        raise ValueError(
            f"a figure of {panels} panels is too many, at most {_MOST_PANELS}: take "
            "sweep.to_xarray() and choose values of some parameters."
        )
    early = np.array([m.status is not None and not m.finished for m in sweep.members])
    early = early.reshape(sweep.shape)
    rows = shape[1] if len(shape) > 1 else 1
    arranged = [
        np.moveaxis(np.transpose(each, order).reshape(shape[0], rows, panels), (2, 1, 0), (0, 1, 2))
        for each in (values, early)
    ]
    x, by_x = _axis(sweep, order[0])
    y, by_y = _axis(sweep, order[1]) if rows > 1 else (None, np.arange(1))
    arranged = [each[:, by_y][:, :, by_x] for each in arranged]
    # Parameters with a single value have no axis; the subtitle has them.
    fixed = [f"{sweep.names[i]} = {p.labels[0]}" for i, p in enumerate(sweep.parameters)
             if len(p.values) == 1 and i != order[0]]  # fmt: skip
    finite = arranged[0][np.isfinite(arranged[0])]
    is_map = y is not None and y.numeric and not y.is_seed and len(y.places) > _MOST_CURVES
    if is_map and finite.size < arranged[0].size:
        fixed.append("grey: none" if name == "clusters" else "grey: not known")
    return SweepPicture(
        title=sweep.facts.title if title is None else title,
        facts=",  ".join([_when(sweep, time), *_problem(sweep), *fixed]),
        quantity=_quantity(name),
        x=x,
        y=y,
        is_map=is_map,
        panels=tuple(_panels(sweep, others)),
        values=arranged[0],
        early=arranged[1],
        whole=bool(np.all(finite == np.round(finite))),
    )


def usual_observable(sweep: Sweep) -> str:
    """First finite observable, in the order of `_USUAL` and then of the runs; else "time"."""
    names = sweep.observables()
    for name in (*_USUAL, *names):
        if name in names and np.isfinite(sweep.values(name)).any():
            return name
    return "time"


def _order(parameters: Sequence[Parameter]) -> list[int]:
    """Indices of parameters in the order of horizontal axis, curves or vertical axis, panels."""
    return sorted(
        range(len(parameters)),
        key=lambda i: (
            len(parameters[i].values) == 1,
            _is_seed(parameters[i]),
            not parameters[i].is_numeric,
            -len(parameters[i].values),
        ),
    )


def _axis(sweep: Sweep, index: int) -> tuple[SweepAxis, npt.NDArray[np.int64]]:
    """Axis of a parameter with increasing numbers, and their indices among its values."""
    parameter = sweep.parameters[index]
    numeric = parameter.is_numeric
    places = np.array(parameter.values if numeric else range(len(parameter.values)), float)
    order = np.argsort(places, kind="stable")
    label = _SYMBOLS.get(parameter.key, sweep.names[index].replace("_", " "))
    words = tuple(parameter.labels[i] for i in order)
    places = places[order]
    seed = _is_seed(parameter)
    logarithmic = numeric and not seed and _has_ratios(places)
    return SweepAxis(label, places, words, numeric, logarithmic, seed), order


def _is_seed(parameter: Parameter) -> bool:
    return parameter.key.endswith("seed")


def _has_ratios(places: FloatArray) -> bool:
    """True if increasing positive numbers suit a logarithmic axis: even by ratios."""
    if len(places) < 3 or places.min() <= 0 or places.max() < _WIDE * places.min():
        return False
    middle, low, high = np.median(places), places[0], places[-1]
    mean, ratio = 0.5 * (low + high), np.sqrt(low * high)
    return bool(abs(np.log(middle / ratio)) < abs(np.log(middle / mean)))


def _panels(sweep: Sweep, others: Sequence[int]) -> list[str]:
    texts = [
        [f"{sweep.names[i]} = {label}" for label in sweep.parameters[i].labels] for i in others
    ]
    return [", ".join(each) for each in product(*texts)]


def _when(sweep: Sweep, time: float | None) -> str:
    """Time of the values, in words."""
    runs = [run for run in sweep.observed if run is not None and len(run.scaled_time)]
    units = {run.unit for run in runs}
    unit = f" {units.pop()} time" if len(units) == 1 else ""
    if time is not None:
        return f"at $t = {time:g}${unit}"
    last = {f"{run.time[-1]:.6g}" for run in runs if run.finished}
    return f"at $t = {last.pop()}${unit}" if len(last) == 1 else "at the last saved times"


def _problem(sweep: Sweep) -> list[str]:
    """Manifold and flow, each if all runs agree."""
    runs: list[Run] = [run for run in sweep.observed if run is not None]
    flows = {"softmax": "SA", "none": "USA", "sinkhorn": "Sinkhorn"}
    texts = [
        {run.facts.manifold for run in runs},
        {flows.get(run.facts.normalization, "") for run in runs},
    ]
    return [each for each_set in texts if len(each_set) == 1 for each in each_set if each]


def _quantity(name: str) -> str:
    if name in _LABELS:
        return _LABELS[name]
    return OBSERVABLES[name].long_name if name in OBSERVABLES else name


_WIDTH, _HEIGHT = 7.2, 4.4
_PANEL, _COLUMNS = 3.2, 4
_COLOURS = "viridis"
# Fewer whole numbers have one colour each.
_MOST_WHOLE = 24
# Shift between rows of points, and most width of all, as shares of the distance between values.
_BESIDE, _WIDEST = 0.06, 0.4
_EARLY = "did not complete: its last saved time"


def sweep_figure(
    sweep: Sweep,
    kind: str | None = None,
    *,
    time: float | None = None,
    ax: Any = None,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    dpi: float | None = None,
) -> Figure:
    """Figure of an observable of a sweep; arguments as for `Sweep.plot`."""
    picture = sweep_picture(sweep, kind, time, title)
    count = len(picture.panels)
    with style():
        if ax is not None:
            if count > 1 or figsize is not None or dpi is not None:
                raise ValueError(
                    "ax is for two parameters at most, and for a figure of yours: leave it out, or "
                    "figsize and dpi."
                )
            check_empty(ax)
            ax.set_title(picture.title)
            _draw(picture, 0, ax)
            if picture.is_map:
                _colour_bar(ax.figure, picture, [ax])
            make_room(ax)
            figure: Figure = ax.figure
            return figure
        columns = min(count, _COLUMNS)
        rows = -(-count // columns)
        size = (_WIDTH, _HEIGHT) if count == 1 else (_PANEL * columns + 0.8, _PANEL * rows + 0.6)
        figure = new_figure(size, figsize, dpi)
        panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
        for i, axes in enumerate(panels):
            if i >= count:
                axes.set_visible(False)
                continue
            _draw(picture, i, axes)
            if count > 1:
                axes.set_title(picture.panels[i], color=MUTED)
                axes.label_outer()
        if count == 1:
            title_above(panels[0], picture.title, picture.facts)
        else:
            lines = [each for each in (picture.title, picture.facts) if each]
            figure.suptitle("\n".join(lines), fontsize=10.5)
        if picture.is_map:
            _colour_bar(figure, picture, panels[:count])
    return figure


def _draw(picture: SweepPicture, panel: int, axes: Axes) -> None:
    if picture.is_map:
        _map(picture, panel, axes)
    else:
        _curves(picture, panel, axes)
    _set_axis(axes, picture.x, "x")


def _curves(picture: SweepPicture, panel: int, axes: Axes) -> None:
    """Draw a curve for each value of the second parameter; for seeds, points and their mean."""
    values, early = picture.values[panel], picture.early[panel]
    count, seeds = len(values), picture.y is not None and picture.y.is_seed
    several = picture.y is not None and picture.y.numeric and count > 2
    line = "none" if picture.x.is_seed else "-" if picture.x.numeric else ":"
    for row in range(count):
        if seeds:
            colour: Any = MUTED
        elif several:
            colour = colormaps["viridis"](0.9 * row / (count - 1))
        else:
            colour = DEGREE_COLOURS[1 + 2 * row % 8] if count > 1 else INK
        label = None if picture.y is None or seeds else picture.y.words[row]
        # Whole numbers often agree, so rows are shifted to keep all points visible.
        places = _beside(picture.x, row, count) if picture.whole else picture.x.places
        axes.plot(places, values[row], linestyle="none" if seeds else line, marker="o",
                  markersize=4.0, color=colour, linewidth=1.4, label=label)  # fmt: skip
        ended = early[row] & np.isfinite(values[row])
        if ended.any():
            axes.plot(places[ended], values[row][ended], "x", markersize=9,
                      markeredgewidth=1.6, color=colour, linestyle="none")  # fmt: skip
    if seeds:
        known = np.isfinite(values)
        mean = np.where(known, values, 0.0).sum(axis=0) / np.where(
            known.any(axis=0), known.sum(axis=0), np.nan
        )
        axes.lines[0].set_label(f"{count} runs")
        axes.plot(picture.x.places, mean, linestyle=line, color=INK, linewidth=1.6, zorder=1.9,
                  label="their mean")  # fmt: skip
    if picture.early.any():
        axes.plot([], [], "x", color=MUTED, label=_EARLY)
    if panel == 0 and (picture.y is not None or picture.early.any()):
        title = picture.y.label if picture.y is not None and not seeds else None
        axes.legend(title=title, title_fontsize=8.5)
    axes.set_ylabel(picture.quantity)
    if picture.whole:
        low, high = np.nanmin(picture.values), np.nanmax(picture.values)
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        if low == high:
            axes.set_ylim(low - 1.0, high + 1.0)


def _beside(axis: SweepAxis, row: int, count: int) -> FloatArray:
    """Places of a row along an axis, shifted so that rows stand beside each other."""
    places = np.log(axis.places) if axis.logarithmic else axis.places
    gap = float(np.diff(places).min()) if len(places) > 1 else 1.0
    moved = places + gap * min(_BESIDE, _WIDEST / count) * (row - 0.5 * (count - 1))
    return np.exp(moved) if axis.logarithmic else moved


def _map(picture: SweepPicture, panel: int, axes: Axes) -> None:
    """Draw cells around the values of both parameters; cells without a value are grey."""
    assert picture.y is not None
    x, y = _edges(picture.x), _edges(picture.y)
    axes.pcolormesh(
        x, y, np.ma.masked_invalid(picture.values[panel]), cmap=_COLOURS, norm=_norm(picture),
        rasterized=True,
    )  # fmt: skip
    axes.set_facecolor(FAINT)
    rows, columns = np.nonzero(picture.early[panel])
    if len(rows):
        axes.plot(picture.x.places[columns], picture.y.places[rows], "x", color="white",
                  markersize=6, markeredgewidth=2.4, linestyle="none")  # fmt: skip
        axes.plot(picture.x.places[columns], picture.y.places[rows], "x", color=INK, markersize=5,
                  markeredgewidth=1.0, linestyle="none", label=_EARLY)  # fmt: skip
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16))
    axes.set_xlim(x.min(), x.max())
    axes.set_ylim(y.min(), y.max())
    _set_axis(axes, picture.y, "y")


def _norm(picture: SweepPicture) -> Normalize:
    """Range of colours of all panels; a few whole numbers have one colour each."""
    low, high = float(np.nanmin(picture.values)), float(np.nanmax(picture.values))
    if picture.whole and high - low < _MOST_WHOLE:
        return BoundaryNorm(np.arange(low - 0.5, high + 1.0), colormaps[_COLOURS].N)
    return Normalize(low, high)


def _colour_bar(figure: Any, picture: SweepPicture, panels: Any) -> None:
    mesh = panels[0].collections[0]
    bar = figure.colorbar(mesh, ax=list(panels), label=picture.quantity)
    if isinstance(mesh.norm, BoundaryNorm):
        low, high = float(np.nanmin(picture.values)), float(np.nanmax(picture.values))
        step = 1 if high - low < 12 else 2
        bar.set_ticks(np.arange(low, high + 0.5, step))
        bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.outline.set_visible(False)


def _set_axis(axes: Axes, axis_picture: SweepAxis, which: str) -> None:
    getattr(axes, f"set_{which}label")(axis_picture.label)
    axis = axes.xaxis if which == "x" else axes.yaxis
    if axis_picture.logarithmic:
        getattr(axes, f"set_{which}scale")("log")
        set_plain_ticks(axis, float(axis_picture.places.min()), float(axis_picture.places.max()))
    elif not axis_picture.numeric:
        axis.set_major_locator(FixedLocator(axis_picture.places.tolist()))
        axis.set_ticklabels(list(axis_picture.words))


def _edges(axis: SweepAxis) -> FloatArray:
    """Edges of cells around the values: middles between neighbours along the axis."""
    centres = np.log(axis.places) if axis.logarithmic else axis.places
    if len(centres) == 1:
        centres = np.array([centres[0] - 0.5, centres[0] + 0.5])
        return np.exp(centres) if axis.logarithmic else centres
    middle = 0.5 * (centres[1:] + centres[:-1])
    ends = [1.5 * centres[0] - 0.5 * centres[1], 1.5 * centres[-1] - 0.5 * centres[-2]]
    edges = np.concatenate([ends[:1], middle, ends[1:]])
    return np.exp(edges) if axis.logarithmic else edges
