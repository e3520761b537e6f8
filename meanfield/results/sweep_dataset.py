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

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from meanfield.arrays import FloatArray, IntArray
from meanfield.observables import OBSERVABLES
from meanfield.results.dataset import named_dataset
from meanfield.runs import Run
from meanfield.status import COMPLETED
from meanfield.studies.sweep_results import Sweep, observable_names, series

if TYPE_CHECKING:
    import xarray

# Rounding of times by conversion of units, see `Run.index_of`.
_SAME = 1e-9


# Members that one task of Dask reads.
_CHUNK = 64


def to_xarray(sweep: Sweep, lazy: bool = False) -> xarray.Dataset:
    """Dataset of a sweep; lazy: of Dask arrays, as the first run that has ended promises them."""
    axes = sweep.names
    runs = _first(sweep) if lazy else sweep.observed
    names, times = observable_names(runs), shared_times(runs)
    coordinates: dict[str, Any] = {
        name: (name, parameter.coordinates, {"long_name": parameter.key})
        for name, parameter in zip(axes, sweep.parameters, strict=True)
    }
    last: Any
    if times is None:
        description = "those of the last saved time of each run: their saved times differ"
        over, last = axes, sweep.values("time")
        tables: list[Any] = [sweep.values(name) for name in names]
    else:
        description = "those of all saved times, NaN where a run ended before"
        unit = next(run.unit for run in runs if run is not None)
        facts = {"long_name": f"{unit} time", "units": f"{unit} time"}
        coordinates["time"], over = ("time", times, facts), (*axes, "time")
        read = partial(_rows, sweep, names, times, lazy)
        shape = (len(names) + 1, len(times))
        rows = _delayed(read, sweep.nearest, shape) if lazy else read(sweep.nearest)
        tables = [rows[..., k, :] for k in range(len(names))]
        last = rows[..., -1, -1]
    variables: dict[str, Any] = {
        f"observables_{name}" if name in axes else name: (
            over,
            table,
            {"long_name": _long_name(name)},
        )
        for name, table in zip(names, tables, strict=True)
    }
    variables["last_time"] = (axes, last, {"long_name": "last saved time"})
    variables["status"] = (axes, sweep.statuses, {"long_name": "how it ended"})
    return named_dataset(variables, coordinates, {**sweep.attributes, "values": description})


def _first(sweep: Sweep) -> list[Run]:
    """The first run that has ended with its last saved time."""
    ended = next((member for member in sweep.members if member.status == COMPLETED), None)
    if ended is None:
        raise ValueError(f"no run of {sweep.folder} is completed: leave out lazy=True.")
    return [sweep.read(ended, "none")]


def _rows(
    sweep: Sweep, names: Sequence[str], times: FloatArray, lazy: bool, numbers: IntArray
) -> FloatArray:
    """Observables of members and their last time, shape (*numbers.shape, names + 1, times)."""
    rows = np.full((numbers.size, len(names) + 1, len(times)), np.nan)
    for row, number in zip(rows, numbers.flat, strict=True):
        member = sweep.members[number]
        run = sweep.observed_run(member) if lazy else sweep.observed[number]
        if run is None or len(run.scaled_time) == 0:
            continue
        if not _shares(run, times):
            raise ValueError(
                f"{member.file} of {sweep.folder} has other saved times than the first run: leave "
                "out lazy=True."
            )
        for name, values in zip(names, row, strict=False):
            values[: len(run.time)] = series(run, name)
        row[-1] = run.time[-1]
    return rows.reshape(*numbers.shape, *rows.shape[1:])


def _delayed(
    read: Callable[[IntArray], FloatArray], numbers: IntArray, shape: tuple[int, int]
) -> Any:
    """Dask array of what is read of members, some of them a task."""
    from dask.array import from_array
    from dask.array.core import normalize_chunks

    limit = _CHUNK * numbers.itemsize
    chunks = normalize_chunks("auto", numbers.shape, limit, numbers.dtype)  # type: ignore[no-untyped-call]
    blocks = from_array(numbers, chunks)  # type: ignore[no-untyped-call]
    chunks, new = (*blocks.chunks, *shape), [numbers.ndim, numbers.ndim + 1]
    return blocks.map_blocks(read, chunks=chunks, new_axis=new, meta=np.empty(0))


def shared_times(runs: Sequence[Run | None]) -> FloatArray | None:
    """Saved times of the longest run if all others save the first of them, None else."""
    finished = [run for run in runs if run is not None and len(run.scaled_time)]
    if not finished or len({run.unit for run in finished}) > 1:
        return None
    longest = max((run.time for run in finished), key=len)
    return longest if all(_shares(run, longest) for run in finished) else None


def _shares(run: Run, times: FloatArray) -> bool:
    """True if a run saved the first of these times."""
    begin = times[: len(run.time)]
    same = len(begin) == len(run.time) and np.all(np.abs(run.time - begin) <= _SAME * np.abs(begin))
    return bool(same)


def _long_name(name: str) -> str:
    if name == "clusters":
        return "number of clusters, NaN where nothing has separated"
    return OBSERVABLES[name].long_name if name in OBSERVABLES else name
