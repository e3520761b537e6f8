"""Runs and sweeps as xarray.Dataset, with named axes, units and long names.

Variables of a run:

    coordinates   time, degree; cluster if the run has clusters
    moments       (time, degree) complex on the circle, real with an axis; (time, kind, degree,
                  order) on S^2; (time, component) in other dimensions: mass and mean vector
    observables   by name; clusters_count, clusters_mass, clusters_centre
    diagnostics   diagnostics_<name>
    density       (time, angle), (time, lat, lon) or (time, polar_angle), if `grid` is given
    label_moments (time, label, degree) of labelled densities, with coordinates label, label_weight
    fluctuations  fluctuations_covariance, _relation (time, moment, other_moment), _shift and _limit
                  (time, moment), if the run has them, flat as in its file
    growth_rates  (degree), as many as moments by degree; NaN where no rate is stored

Variables of a sweep:

    coordinates   a dimension for each parameter, by its short name: numbers or words; time
    observables   (parameters..., time) by name; clusters, their number
    last_time     (parameters...) the last saved time of each run, in its unit
    status        (parameters...) how each run ended, or "not finished"

The axis time exists if every run has the first saved times of the longest run, each in its own
unit. Otherwise observables belong to the last saved time of each run; the attribute `values`
says which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from meanfield.arguments import at_most
from meanfield.arrays import FloatArray, IntArray
from meanfield.described import StudyResult
from meanfield.figures.data.projections import directions
from meanfield.finite.results import Fluctuations
from meanfield.measures import Density, LabelledDensity
from meanfield.observables import OBSERVABLES, entry_axis
from meanfield.observables.table import Axis
from meanfield.runs import Run, same_times
from meanfield.spaces import Manifold
from meanfield.status import COMPLETED
from meanfield.store.study_file import labelled_arrays
from meanfield.studies.sweep_results import Sweep, observable_names, series

if TYPE_CHECKING:
    import xarray

_LONG_NAMES = {name: entry.long_name for name, entry in OBSERVABLES.items()} | {
    "clusters/count": "number of clusters, NaN where nothing has separated",
    "clusters/mass": "mass of each cluster, largest first",
    "clusters/centre": "mean angle of each cluster",
    "label_order": "order parameter |int x dmu_j| of each label",
}
_UNITS = {"clusters/centre": "rad"}


def to_xarray(run: Run, *, grid: int | None = None, width: float | None = None) -> xarray.Dataset:
    """Dataset of a run: moments, observables, diagnostics, growth rates, and density on a grid.

    - grid: adds `density` relative to uniform at this number of angles in [-pi, pi), or of
      longitudes `lon` and half as many latitudes `lat`, all in radians and in the middle of equal
      cells. NaN where a state was not kept, and for tokens and atoms unless a width is given.
    - width: angle over which to smooth the densities, see `Measure.smoothed`.

    A slash in a name becomes an underscore. Attributes are the run's. Time is in the unit of the
    run, and its attributes have the factors to convert it.

    >>> import meanfield as mf
    >>> from meanfield.api import simulate
    >>> law = mf.perturbed_uniform([[1, 0.1, 0.0]])
    >>> run = simulate(mf.Problem(mf.Circle(), mf.linear(), mf.USA, law), until=1.0, save=3)
    >>> dataset = to_xarray(run)
    >>> dict(dataset.moments.sizes), float(dataset.energy.sel(time=0.0).round(6))
    ({'time': 3, 'degree': 13}, 0.0025)
    """
    if grid is None and width is not None:
        raise ValueError("width is of the density on a grid: give grid=, such as grid=360.")
    time = ("time", run.time, _time_attributes(run))
    space, moments = run.manifold, np.asarray(run.moments)
    by_degree = "degree" in space.modal_axes
    description = (
        "moments int conj(Y_l) dmu" if by_degree else "mass, and components of the mean vector"
    )
    rates = run.growth_rates
    variables: dict[str, Any] = {
        "moments": (("time", *space.modal_axes), moments, {"long_name": description}),
        "growth_rates": (
            "degree",
            _to_length(rates, moments.shape[-1]) if by_degree else rates,
            {"long_name": "growth rates of the uniform state", "units": "1 / scaled time"},
        ),
        "representation": (
            "time",
            np.array(run.representation, dtype=str),
            {"long_name": "representation in use"},
        ),
    }
    coordinates: dict[str, Any] = {"time": time}
    for name, values in run.separated_observables().items():
        entries = Axis("cluster") if name.startswith("clusters/") else entry_axis(name)
        entries = Axis("label") if name == "label_order" else entries
        axes = ("time", entries.name, *space.point_axes)[: values.ndim]
        if values.ndim > 1 and entries.values is not None:
            coordinates[entries.name] = entries.values
        details = {"long_name": _LONG_NAMES.get(name, name)}
        if name in _UNITS:
            details["units"] = _UNITS[name]
        variables[name.replace("/", "_")] = (axes, values, details)
    for name, values in run.diagnostics.items():
        variables[f"diagnostics_{name}"] = ("time", values, {"long_name": name.replace("_", " ")})
    for axis, length in zip(space.modal_axes, moments.shape[1:], strict=True):
        coordinates[axis] = np.arange(length)
    coordinates["degree"] = np.arange(len(variables["growth_rates"][1]))
    if "clusters/mass" in run.observables:
        coordinates["cluster"] = np.arange(run.observables["clusters/mass"].shape[1])
    labelled = [measure for measure in run.measures if isinstance(measure, LabelledDensity)]
    if labelled:
        coordinates["label"] = ("label", labelled[0].labels, {"long_name": labelled[0].label_name})
        coordinates["label_weight"] = ("label", labelled[0].label_weights)
        axes = ("time", "label", *space.modal_axes)
        details = {"long_name": "moments of the density of each label"}
        variables["label_moments"] = (axes, _label_moments(run, labelled[0]), details)
    if run.fluctuations is not None:
        variables |= _fluctuations(run.fluctuations)
    if grid is not None:
        places, points = _grid(run.manifold, grid)
        coordinates |= places
        variables["density"] = (
            ("time", *places),
            _densities(run, points, width),
            {"long_name": "density relative to uniform"} | ({"width": width} if width else {}),
        )
    return named_dataset(variables, coordinates, run.attributes)


def study_to_xarray(result: StudyResult) -> xarray.Dataset:
    """Dataset of a study: its arrays with the axes, units and attributes of its file."""
    arrays = {
        name: (axes, values, {"units": unit} if unit else {})
        for name, (axes, values, unit) in labelled_arrays(result).items()
    }
    coordinates = {name: one for name, one in arrays.items() if one[0] == (name,)}
    variables = {name: one for name, one in arrays.items() if name not in coordinates}
    return named_dataset(variables, coordinates, result.attributes | result.stored_facts())


def named_dataset(
    variables: dict[str, Any], coordinates: dict[str, Any], attributes: Mapping[str, Any]
) -> xarray.Dataset:
    """Dataset of xarray; ValueError if xarray is not installed."""
    try:
        import xarray
    except ImportError:
        raise ValueError("to_xarray needs xarray: pip install xarray h5netcdf.") from None
    # NetCDF has no booleans.
    plain = {k: int(v) if isinstance(v, bool) else v for k, v in attributes.items()}
    return xarray.Dataset(variables, coordinates, plain)


def _fluctuations(fluctuations: Fluctuations) -> dict[str, Any]:
    labels = {
        "limit": "moments of the limit",
        "shift": "lim N (E m - limit) of N tokens",
        "covariance": "lim N Cov(m, conj m) of N tokens",
        "relation": "lim N E zeta zeta of N tokens, zeta = m - E m",
    }
    arrays = labelled_arrays(fluctuations)
    return {
        f"fluctuations_{name}": (*arrays[name][:2], {"long_name": words, "note": fluctuations.note})
        for name, words in labels.items()
    }


def _grid(space: Manifold, count: int) -> tuple[dict[str, Any], FloatArray]:
    """Coordinates of the middles of equal cells, and these points (lat, lon, 3) or (angle,)."""
    if not (isinstance(count, int | np.integer) and count >= 2):
        raise ValueError(f"grid must be a number of angles, at least 2, got {count!r}.")
    if not space.has_series:
        raise ValueError(f"tokens on {space} have no density: leave out grid.")
    # Two angles per degree; more add nothing.
    at_most(2 * space.largest_degree, grid=count)
    angles = 2 * np.pi * (np.arange(count) + 0.5) / count - np.pi
    radians = {"units": "rad"}
    if space.has_rings:
        polar = np.pi * (np.arange(count) + 0.5) / count
        return {"polar_angle": ("polar_angle", polar, radians)}, polar
    if space.dimension == 1:
        return {"angle": ("angle", angles, radians)}, angles
    rows = count // 2
    latitudes = np.pi * (np.arange(rows) + 0.5) / rows - 0.5 * np.pi
    places = {
        "lat": ("lat", latitudes, radians | {"long_name": "latitude"}),
        "lon": ("lon", angles, radians | {"long_name": "longitude"}),
    }
    return places, directions(*np.meshgrid(angles, latitudes))


def _label_moments(run: Run, density: LabelledDensity) -> np.ndarray[Any, Any]:
    """Moments of every label at every saved time; NaN where a state was not kept."""
    space, moments = run.manifold, np.asarray(run.moments)
    degree = moments.shape[-1] - 1
    nothing = np.full((len(density.labels), *moments.shape[1:]), np.nan)
    return np.array(
        [
            [space.unpacked(space.resize(part, degree)) for part in measure.parts]
            if isinstance(measure, LabelledDensity)
            else nothing
            for measure in run.measures
        ]
    )


def _densities(run: Run, points: FloatArray, width: float | None) -> FloatArray:
    """Density at points at every saved time; NaN where a measure has none."""
    nothing = np.full(points.shape[: points.ndim - len(run.manifold.point_shape)], np.nan)
    return np.array(
        [
            measure(points, width=width)
            if measure is not None and (width or isinstance(measure, Density) or measure.cell_order)
            else nothing
            for measure in run.measures
        ]
    )


def _time_attributes(run: Run) -> dict[str, Any]:
    names = ("paper_time_factor", "growth_rate_max")
    factors = {key: run.attributes[key] for key in names if key in run.attributes}
    name = f"{run.unit} time"
    return {"long_name": name, "units": name, **factors}


def _to_length(values: np.ndarray[Any, Any], length: int) -> np.ndarray[Any, Any]:
    """Values cut, or filled with NaN, to a length."""
    filled = np.full(length, np.nan)
    common = min(len(values), length)
    filled[:common] = values[:common]
    return filled


# Number of members that one task of Dask reads.
_CHUNK = 64


def sweep_to_xarray(sweep: Sweep, lazy: bool = False) -> xarray.Dataset:
    """Dataset of a sweep; `lazy` makes Dask arrays, with shapes of the first completed run."""
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
    """The first completed run, as a list."""
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
    """Dask array of the observables of members, several members per task."""
    from dask.array import from_array
    from dask.array.core import normalize_chunks

    limit = _CHUNK * numbers.itemsize
    chunks = normalize_chunks("auto", numbers.shape, limit, numbers.dtype)  # type: ignore[no-untyped-call]
    blocks = from_array(numbers, chunks)  # type: ignore[no-untyped-call]
    chunks, new = (*blocks.chunks, *shape), [numbers.ndim, numbers.ndim + 1]
    return blocks.map_blocks(read, chunks=chunks, new_axis=new, meta=np.empty(0))


def shared_times(runs: Sequence[Run | None]) -> FloatArray | None:
    """Saved times of the longest run if all others have the first of them, else None."""
    finished = [run for run in runs if run is not None and len(run.scaled_time)]
    if not finished or len({run.unit for run in finished}) > 1:
        return None
    longest = max((run.time for run in finished), key=len)
    return longest if all(_shares(run, longest) for run in finished) else None


def _shares(run: Run, times: FloatArray) -> bool:
    """True if the saved times of a run are the first of these."""
    begin = times[: len(run.time)]
    return len(begin) == len(run.time) and bool(same_times(run.time, begin).all())


def _long_name(name: str) -> str:
    if name == "clusters":
        return "number of clusters, NaN where nothing has separated"
    return OBSERVABLES[name].long_name if name in OBSERVABLES else name
