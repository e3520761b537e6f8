"""A sweep as an xarray.Dataset: observables over its parameters, and over time where it is shared.

Variables:

    coordinates   a dimension for each parameter, by its short name: numbers or words; time
    observables   (parameters..., time) by name; clusters, their number
    last_time     (parameters...) the last saved time of each run, in its unit
    status        (parameters...) how each run ended, "not finished" where it has not

Saved times are shared if every run has the first saved times of the longest run, each in its own
unit. Otherwise observables are taken at the last saved time of each run, without an axis of time;
the attribute `values` says which.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.observables import OBSERVABLES
from meanfield.results.dataset import named_dataset
from meanfield.runs import Run
from meanfield.studies.sweep_results import Sweep, series

if TYPE_CHECKING:
    import xarray

# Rounding of times by conversion of units, see `Run.index_of`.
_SAME = 1e-9


def to_xarray(sweep: Sweep) -> xarray.Dataset:
    """Dataset of a sweep."""
    axes, names = sweep.names, sweep.observables()
    times = shared_times(sweep.observed)
    coordinates: dict[str, Any] = {
        name: (name, parameter.coordinates, {"long_name": parameter.key})
        for name, parameter in zip(axes, sweep.parameters, strict=True)
    }
    variables: dict[str, Any] = {}
    if times is None:
        description = "those of the last saved time of each run: their saved times differ"
    else:
        description = "those of all saved times, NaN where a run ended before"
        unit = next(run.unit for run in sweep.observed if run is not None)
        facts = {"long_name": f"{unit} time", "units": f"{unit} time"}
        coordinates["time"] = ("time", times, facts)
    for name in names:
        details = {"long_name": _long_name(name)}
        variable = f"observables_{name}" if name in axes else name
        if times is None:
            variables[variable] = (axes, sweep.values(name), details)
        else:
            rows = np.array([_filled(run, name, len(times)) for run in sweep.observed])
            table = rows.reshape(*sweep.shape, len(times))
            variables[variable] = ((*axes, "time"), table, details)
    variables["last_time"] = (axes, sweep.values("time"), {"long_name": "last saved time"})
    variables["status"] = (axes, sweep.statuses, {"long_name": "how it ended"})
    return named_dataset(variables, coordinates, {**sweep.attributes, "values": description})


def shared_times(runs: Sequence[Run | None]) -> FloatArray | None:
    """Saved times of the longest run if all others save the first of them, None else."""
    finished = [run for run in runs if run is not None and len(run.scaled_time)]
    if not finished or len({run.unit for run in finished}) > 1:
        return None
    longest = max((run.time for run in finished), key=len)
    for run in finished:
        begin = longest[: len(run.time)]
        if np.any(np.abs(run.time - begin) > _SAME * np.abs(begin)):
            return None
    return longest


def _filled(run: Run | None, name: str, count: int) -> FloatArray:
    """An observable at all times, NaN behind the end of the run."""
    row = np.full(count, np.nan)
    if run is not None and len(run.scaled_time):
        values = series(run, name)
        row[: len(values)] = values
    return row


def _long_name(name: str) -> str:
    if name == "clusters":
        return "number of clusters, NaN where nothing has separated"
    return OBSERVABLES[name].long_name if name in OBSERVABLES else name
