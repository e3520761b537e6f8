"""Picture of a sweep: an observable against the parameters.

One parameter runs along the axis: of numbers, if there is one, that with the most values, and seeds
only if there is no other. A second makes curves if it has few values or words, points if it is a
seed, else a map; the others make panels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray
from meanfield.observables import OBSERVABLES
from meanfield.runs import Run
from meanfield.studies.sweep_results import Parameter, Sweep

# More curves than these are a map, more panels than these are not looked at.
_MOST_CURVES, _MOST_PANELS = 6, 12
# From this ratio of their ends on, numbers of equal ratios have a logarithmic axis.
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
    places: FloatArray  # (n,): numbers, or 0, 1, ... of words
    words: tuple[str, ...]  # the values as words
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
    y: SweepAxis | None  # of the curves, or of the other axis of a map; None for one curve
    is_map: bool
    panels: tuple[str, ...]  # what each panel is of
    values: FloatArray  # (n_panels, n_y, n_x): NaN where there is none
    # Runs that did not complete: their values are those of their last saved time.
    early: npt.NDArray[np.bool_]
    whole: bool  # whether all values are whole numbers


def sweep_picture(
    sweep: Sweep, kind: str | None = None, time: float | None = None, title: str | None = None
) -> SweepPicture:
    """Picture of an observable, by default the number of clusters or what else there is."""
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
    # Values that are dropped from the axes: one each.
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
    """The number of clusters, or what else runs have."""
    names = sweep.observables()
    for name in (*_USUAL, *names):
        if name in names and np.isfinite(sweep.values(name)).any():
            return name
    return "time"


def _order(parameters: Sequence[Parameter]) -> list[int]:
    """Parameters in the order of axis, curves or other axis, panels."""
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
    """Axis of a parameter, its numbers increasing, and the places of these among its values."""
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
    """True for seeds, which only number random runs."""
    return parameter.key.endswith("seed")


def _has_ratios(places: FloatArray) -> bool:
    """True if increasing numbers are spread by ratios."""
    if len(places) < 3 or places.min() <= 0 or places.max() < _WIDE * places.min():
        return False
    middle, low, high = np.median(places), places[0], places[-1]
    mean, ratio = 0.5 * (low + high), np.sqrt(low * high)
    return bool(abs(np.log(middle / ratio)) < abs(np.log(middle / mean)))


def _panels(sweep: Sweep, others: Sequence[int]) -> list[str]:
    """Titles of the panels."""
    texts = [
        [f"{sweep.names[i]} = {label}" for label in sweep.parameters[i].labels] for i in others
    ]
    return [", ".join(each) for each in product(*texts)]


def _when(sweep: Sweep, time: float | None) -> str:
    """At which time values are taken."""
    runs = [run for run in sweep.observed if run is not None and len(run.scaled_time)]
    units = {run.unit for run in runs}
    unit = f" {units.pop()} time" if len(units) == 1 else ""
    if time is not None:
        return f"at $t = {time:g}${unit}"
    last = {f"{run.time[-1]:.6g}" for run in runs if run.finished}
    return f"at $t = {last.pop()}${unit}" if len(last) == 1 else "at the last saved times"


def _problem(sweep: Sweep) -> list[str]:
    """Manifold and flow, where all runs have the same."""
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
