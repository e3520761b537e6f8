"""Write result files of runs (layout: `run_file`), in datasets that grow along every axis.

`append` writes rows into an open file; `recorder` keeps files whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.events import Event
from meanfield.measures import Density, LabelledDensity, Measure
from meanfield.observables import entry_axis
from meanfield.snapshot import Checkpoint, Snapshot
from meanfield.spaces import Manifold
from meanfield.store.run_file import EVENT_NUMBERS, FORMAT_VERSION, drop_fluctuations

if TYPE_CHECKING:
    import h5py

# Bytes of a chunk: few rows of wide datasets, many of narrow ones, never more than HDF5 takes.
_CHUNK_BYTES = 2**14
_WIDEST_CHUNK = 2**20
_LONGEST_CHUNK = 2**10


@dataclass(frozen=True, eq=False)
class Row:
    """One saved time."""

    time: float  # scaled time
    moments: ModalArray  # with the manifold's `modal_axes`
    representation: str
    diagnostics: dict[str, float]
    observed: dict[str, FloatArray]  # observables: numbers, or arrays of any length
    state: Density | Measure | None  # None where the state is not kept
    manifold: Manifold


def row(snapshot: Snapshot, observed: dict[str, FloatArray], keep_state: bool) -> Row:
    """Row of a snapshot and its observables."""
    space = snapshot.measure.manifold
    return Row(
        snapshot.time,
        space.unpacked(snapshot.moments),
        snapshot.representation,
        snapshot.diagnostics,
        observed,
        snapshot.measure if keep_state else None,
        space,
    )


def nbytes(state: Density | Measure | None) -> int:
    """Bytes of a state, without its weights."""
    if state is None:
        return 0
    if isinstance(state, Measure):
        return state.points.nbytes
    count = len(state.parts) if isinstance(state, LabelledDensity) else 1
    return count * int(state.manifold.unpacked(state.coefficients).nbytes)


def room(rows: Sequence[Row]) -> int:
    """Bytes on the disk that rows may take: each as wide as the widest, and a quarter more."""
    if not rows:
        return 0
    numbers = len(rows[0].diagnostics) + sum(value.size for value in rows[-1].observed.values())
    # Twice, for weights beside the points; 64 for a text and its address.
    widest = 2 * max(nbytes(row.state) for row in rows) + rows[0].moments.nbytes + 8 * numbers + 64
    return len(rows) * widest * 5 // 4


def create(file: h5py.File, attributes: dict[str, Any], growth_rates: FloatArray) -> None:
    """Lay out an empty result file: attributes, time axis and stability."""
    file.attrs["format_version"] = FORMAT_VERSION
    for key, value in attributes.items():
        file.attrs[key] = value
    time = file.create_dataset("time", (0,), maxshape=(None,), chunks=(_LONGEST_CHUNK,), dtype="f8")
    time.make_scale("time")
    time.attrs["units"] = "scaled time"
    for key in ("paper_time_factor", "growth_rate_max"):
        time.attrs[key] = attributes[key]
    # The same time under another name: xarray then knows it in every group.
    for group in ("observables", "observables/clusters", "diagnostics"):
        file[f"{group}/time"] = time
    rates = file.create_dataset("stability/growth_rates", data=growth_rates)
    _attach(rates, 0, _grown_scale(file, "stability/rate_degree", len(growth_rates)))


def append(file: h5py.File, rows: Sequence[Row]) -> None:
    """Append saved times, one write a dataset."""
    if not rows:
        return
    # They belong to all saved times.
    drop_fluctuations(file)
    first = len(file["time"])
    file["time"].resize((first + len(rows),))
    file["time"][first:] = [row.time for row in rows]
    _put(
        file, "moments", first, [row.moments for row in rows], "time", *rows[0].manifold.modal_axes
    )
    cluster = ("observables/clusters/cluster", "observables/clusters/axis")
    for name in rows[0].observed:
        axes = cluster if name.startswith("clusters/") else _entry_scale(file, name)
        values = [row.observed[name] for row in rows]
        _put(file, f"observables/{name}", first, _alike(file, name, values), "time", *axes)
    for name in sorted({name for row in rows for name in row.diagnostics}):
        numbers = [np.asarray(row.diagnostics.get(name, np.nan)) for row in rows]
        _put(file, f"diagnostics/{name}", first, numbers, "time")
    names = [np.asarray(row.representation) for row in rows]
    _put(file, "diagnostics/representation", first, names, "time")
    _fill(file, first + len(rows))
    append_states(
        file, [(first + i, row.state) for i, row in enumerate(rows) if row.state is not None]
    )


def _alike(file: h5py.File, name: str, values: list[FloatArray]) -> list[FloatArray]:
    """Values of an observable that are all numbers or all arrays, as those in the file.

    If an observable of the user's own returns both, a number becomes an array of one.
    """
    path = f"observables/{name}"
    dimensions = file[path].ndim - 1 if path in file else 0
    if max(dimensions, *(value.ndim for value in values)) == 0:
        return values
    if path in file and dimensions == 0:
        numbers = file[path][()]
        file[path].dims[0].detach_scale(file["time"])
        del file[path]
        axis = _entry_scale(file, name)
        _put(file, path, 0, [np.atleast_1d(number) for number in numbers], "time", *axis)
    return [np.atleast_1d(value) for value in values]


def _entry_scale(file: h5py.File, name: str) -> tuple[str]:
    """Dimension scale of the arrays of an observable, with its values if it has any."""
    axis = entry_axis(name)
    path = f"observables/{axis.name}"
    if axis.values is not None and path not in file:
        # Growable like all datasets: `check_grows` refuses others.
        places = file.create_dataset(path, data=axis.values, maxshape=(None,), chunks=True)
        places.make_scale(axis.name)
    return (path,)


def append_states(file: h5py.File, states: Sequence[tuple[int, Density | Measure]]) -> None:
    """Append states, each with the index of its saved time."""
    labelled = [(row, m) for row, m in states if isinstance(m, LabelledDensity)]
    if labelled:
        _append_labelled(file, labelled)
    densities = [
        (row, m)
        for row, m in states
        if isinstance(m, Density) and not isinstance(m, LabelledDensity)
    ]
    if densities:
        first = _put_saves(file, "density", [row for row, _ in densities])
        space = densities[0][1].manifold
        coefficients = [space.unpacked(m.coefficients) for _, m in densities]
        # density/degree is the degree of each row.
        axes = [f"density/{'mode' if axis == 'degree' else axis}" for axis in space.modal_axes]
        _put(file, "density/coefficients", first, coefficients, "density/save", *axes, gap=0.0)
        degrees = [np.asarray(m.max_degree) for _, m in densities]
        _put(file, "density/degree", first, degrees, "density/save")
    points = [(row, m) for row, m in states if isinstance(m, Measure)]
    if points:
        first = _put_saves(file, "measure", [row for row, _ in points])
        save, token = "measure/save", "measure/token"
        axes = [f"measure/{axis}" for axis in points[0][1].manifold.point_axes]
        _put(file, "measure/points", first, [m.points for _, m in points], save, token, *axes)
        counts = [np.asarray(len(m.points)) for _, m in points]
        _put(file, "measure/count", first, counts, save)
        if "measure/weights" in file or any(m.weights is not None for _, m in points):
            weights = [
                np.full(len(m.points), np.nan) if m.weights is None else m.weights
                for _, m in points
            ]
            _put(file, "measure/weights", first, weights, save, token)


def _append_labelled(file: h5py.File, states: Sequence[tuple[int, LabelledDensity]]) -> None:
    density, space = states[0][1], states[0][1].manifold
    first = _put_saves(file, "labelled", [row for row, _ in states])
    axes = [f"labelled/{'mode' if axis == 'degree' else axis}" for axis in space.modal_axes]
    parts = [np.array([space.unpacked(part) for part in m.parts]) for _, m in states]
    save, label = "labelled/save", "labelled/label"
    _put(file, "labelled/coefficients", first, parts, save, label, *axes, gap=0.0)
    # Not the mean of the parts: the run may have had more labels than are stored.
    means = [space.unpacked(m.coefficients) for _, m in states]
    _put(file, "labelled/mean", first, means, save, *axes, gap=0.0)
    degrees = [np.asarray(m.max_degree) for _, m in states]
    _put(file, "labelled/degree", first, degrees, save)
    if "labelled/values" not in file:
        file["labelled"].attrs["label_name"] = density.label_name
        for name, numbers in (("values", density.labels), ("weights", density.label_weights)):
            _put(file, f"labelled/{name}", 0, [np.asarray(number) for number in numbers], label)


def drop_states(file: h5py.File) -> None:
    """Delete all states."""
    for group in ("density", "labelled", "measure"):
        if group in file:
            del file[group]


def checkpoint_bytes(checkpoint: Checkpoint) -> int:
    """Bytes of the arrays of a checkpoint."""
    return sum(array.nbytes for array in (checkpoint.state, *checkpoint.fixed.values()))


def write_checkpoint(file: h5py.File, checkpoint: Checkpoint, representation: str) -> None:
    """Replace the checkpoint."""
    if "checkpoint" in file:
        del file["checkpoint"]
    group = file.create_group("checkpoint")
    group.create_group("fixed")
    state = group.create_dataset("state", data=checkpoint.state)
    _attach(state, 0, _grown_scale(file, "checkpoint/entry", len(checkpoint.state)))
    group.attrs["representation"] = representation
    for name, values in checkpoint.fixed.items():
        data = group.create_dataset(f"fixed/{name}", data=values)
        for axis, length in enumerate(values.shape):
            scale = f"checkpoint/fixed/{name}_axis{axis}"
            _attach(data, axis, _grown_scale(file, scale, length))
    group.attrs["step"] = np.nan if checkpoint.step is None else checkpoint.step
    for name in ("clock", "epoch", "unit", "time", "steps", "rejected", "evaluations", "events"):
        group.attrs[name] = getattr(checkpoint, name)


def append_events(file: h5py.File, events: Sequence[Event], count: int) -> None:
    """Append events after the first `count`, in place of those that were there."""
    if "events" in file:
        for column in file["events"].values():
            column.resize(count, axis=0)
    if not events:
        return
    columns: dict[str, list[Any]] = {"kind": [e.kind for e in events]}
    columns["text"] = [e.text for e in events]
    for i, name in enumerate(EVENT_NUMBERS):
        columns[name] = [(e.time, *e.clusters, *e.mass)[i] for e in events]
    _grown_scale(file, "events/event", count + len(events))
    for name, values in columns.items():
        _put(file, f"events/{name}", count, [np.asarray(v) for v in values], "events/event")


def _put_saves(file: h5py.File, group: str, rows: Sequence[int]) -> int:
    scale = f"{group}/save"
    first = len(file[scale]) if scale in file else 0
    _grown_scale(file, scale, first + len(rows))[first:] = rows
    return first


def _put(
    file: h5py.File,
    name: str,
    first: int,
    values: Sequence[np.ndarray[Any, Any]],
    *scales: str,
    gap: float = np.nan,
) -> None:
    """Write rows of a dataset that grows downwards and, if rows lengthen, along their axes.

    `scales` are the dimension scales of the rows and of each axis of a row; `gap` fills what
    shorter rows leave free.
    """
    import h5py

    text = values[0].dtype.kind == "U"
    dtype = h5py.string_dtype() if text else values[0].dtype
    fill = None if text else np.array(0 if dtype.kind == "i" else gap, dtype)[()]
    shape = np.max([value.shape for value in values], axis=0).astype(int).tolist()
    if name not in file:
        axes = [min(max(length, 1), _WIDEST_CHUNK) for length in shape]
        rows = _CHUNK_BYTES // (values[0].dtype.itemsize * int(np.prod(axes)))
        dataset = file.create_dataset(
            name,
            (0, *shape),
            dtype=dtype,
            maxshape=(None,) * (1 + len(shape)),
            chunks=(min(max(rows, 1), _LONGEST_CHUNK), *axes),
            fillvalue=fill,
        )
        _attach(dataset, 0, file[scales[0]])
        for axis, length in enumerate(shape, 1):
            _attach(dataset, axis, _grown_scale(file, scales[axis], length))
    dataset = file[name]
    shape = np.maximum(shape, dataset.shape[1:]).astype(int).tolist()
    for axis, length in enumerate(shape, 1):
        _grown_scale(file, scales[axis], length)
    dataset.resize((first + len(values), *shape))
    if text:
        dataset[first:] = [str(value) for value in values]
        return
    block = np.full((len(values), *shape), fill, dtype=dtype)
    for i, value in enumerate(values):
        place: tuple[int | slice, ...] = (i, *[slice(length) for length in value.shape])
        block[place] = value
    dataset[first:] = block


def _fill(file: h5py.File, count: int) -> None:
    """Extend every series that was not written to `count` rows, with NaN."""

    def lengthen(name: str, item: Any) -> None:
        if hasattr(item, "shape") and not item.is_scale and len(item) < count:
            item.resize((count, *item.shape[1:]))

    for group in ("observables", "diagnostics"):
        if group in file:
            file[group].visititems(lengthen)


def _grown_scale(file: h5py.File, name: str, length: int) -> Any:
    if name not in file:
        scale = file.create_dataset(
            name, (0,), maxshape=(None,), chunks=(_LONGEST_CHUNK,), dtype="i8"
        )
        scale.make_scale(name.rsplit("/", 1)[-1])
    scale, old = file[name], len(file[name])
    if length > old:
        scale.resize((length,))
        scale[old:] = np.arange(old, length)
    return scale


def _attach(dataset: Any, axis: int, scale: Any) -> None:
    dataset.dims[axis].attach_scale(scale)
