"""The run file (HDF5): its layout, described here and nowhere else.

    /time                   (n_saves,) scaled time; attributes units, paper_time_factor, growth_rate_max
    /moments                (n_saves, K + 1) complex on the circle: int e^{-ik theta} dmu
    /observables/<name>     (n_saves,); clusters/count (n_saves,), clusters/mass and /centre padded
    /density/coefficients   (n_kept, L + 1) complex, zeros above /density/degree; /density/save the
                            index into /time of each kept row
    /measure/points, weights, save    the same for points; weights only where they are not equal
    /diagnostics/<name>     (n_saves,); representation as text
    /stability/growth_rates (degree,) of the uniform state
    /checkpoint             state, with time, step and counts as attributes: where to go on from
    attributes              format_version, meanfield_version, config, seed, created, status, problem

Every axis has its dimension scale, so that xarray opens the file with engine="h5netcdf".
`append` writes rows into an open file; how files stay whole is the recorder's business.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.manifolds import MANIFOLDS
from meanfield.measures import Density, Measure
from meanfield.run import Run
from meanfield.snapshot import Checkpoint, Snapshot

if TYPE_CHECKING:
    import h5py

FORMAT_VERSION = 1


def create(file: h5py.File, attributes: dict[str, Any], growth_rates: FloatArray) -> None:
    """Lay out an empty run file: attributes, time axis and stability."""
    file.attrs["format_version"] = FORMAT_VERSION
    for key, value in attributes.items():
        file.attrs[key] = value
    time = file.create_dataset("time", (0,), maxshape=(None,), chunks=(1024,), dtype="f8")
    time.make_scale("time")
    time.attrs["units"] = "scaled time"
    for key in ("paper_time_factor", "growth_rate_max"):
        time.attrs[key] = attributes[key]
    rates = file.create_dataset("stability/growth_rates", data=growth_rates)
    _grow_scale(file, "stability/degree", len(growth_rates))
    rates.dims[0].attach_scale(file["stability/degree"])


@dataclass(frozen=True, eq=False)
class Row:
    """One saved time: a snapshot, what was observed of it, and whether its state is kept."""

    snapshot: Snapshot
    observed: dict[str, FloatArray]
    keep_state: bool


def append(file: h5py.File, rows: Sequence[Row]) -> None:
    """Append saved times, one write a dataset."""
    if not rows:
        return
    first = len(file["time"])
    file["time"].resize((first + len(rows),))
    file["time"][first:] = [row.snapshot.time for row in rows]
    _put(file, "moments", first, [row.snapshot.moments for row in rows], "time", "degree")
    for name in rows[0].observed:
        values = [row.observed[name] for row in rows]
        _put(file, f"observables/{name}", first, values, "time", "observables/clusters/cluster")
    for name in sorted({name for row in rows for name in row.snapshot.diagnostics}):
        numbers = [np.asarray(row.snapshot.diagnostics.get(name, np.nan)) for row in rows]
        _put(file, f"diagnostics/{name}", first, numbers, "time")
    names = [np.asarray(row.snapshot.representation) for row in rows]
    _put(file, "diagnostics/representation", first, names, "time")
    kept = [(first + i, row.snapshot.measure) for i, row in enumerate(rows) if row.keep_state]
    append_states(file, kept)


def append_states(file: h5py.File, states: Sequence[tuple[int, Density | Measure]]) -> None:
    """Keep states, each with the index of its saved time."""
    densities = [(row, m) for row, m in states if isinstance(m, Density)]
    if densities:
        first = _put_saves(file, "density", [row for row, _ in densities])
        coefficients = [m.coefficients for _, m in densities]
        _put(file, "density/coefficients", first, coefficients, "density/save", "density/mode")
        degrees = [np.asarray(m.max_degree) for _, m in densities]
        _put(file, "density/degree", first, degrees, "density/save")
    points = [(row, m) for row, m in states if isinstance(m, Measure)]
    if points:
        first = _put_saves(file, "measure", [row for row, _ in points])
        _put(file, "measure/points", first, [m.points for _, m in points], "measure/save",
             "measure/token")  # fmt: skip
        weights = [m.weights for _, m in points if m.weights is not None]
        if weights:
            _put(file, "measure/weights", first, weights, "measure/save", "measure/token")


def _put_saves(file: h5py.File, group: str, rows: Sequence[int]) -> int:
    scale = f"{group}/save"
    first = len(file[scale]) if scale in file else 0
    _grow_scale(file, scale, first + len(rows))
    file[scale][first:] = rows
    return first


def write_checkpoint(file: h5py.File, checkpoint: Checkpoint, representation: str) -> None:
    """Replace the checkpoint."""
    if "checkpoint" in file:
        del file["checkpoint"]
    dataset = file.create_dataset("checkpoint", data=checkpoint.state)
    dataset.attrs["representation"] = representation
    dataset.attrs["step"] = np.nan if checkpoint.step is None else checkpoint.step
    for name in ("time", "steps", "rejected", "evaluations"):
        dataset.attrs[name] = getattr(checkpoint, name)


def read_checkpoint(path: str | os.PathLike[str]) -> tuple[Checkpoint, str]:
    """Checkpoint of a run file and the representation it belongs to."""
    with open_run_file(path) as file:
        dataset = file["checkpoint"]
        step = float(dataset.attrs["step"])
        checkpoint = Checkpoint(
            time=float(dataset.attrs["time"]),
            state=dataset[()],
            step=None if np.isnan(step) else step,
            steps=int(dataset.attrs["steps"]),
            rejected=int(dataset.attrs["rejected"]),
            evaluations=int(dataset.attrs["evaluations"]),
        )
        return checkpoint, str(dataset.attrs["representation"])


def open_run_file(path: str | os.PathLike[str]) -> h5py.File:
    """Open a run file for reading.

    Raises
    ------
    ValueError
        If there is no such file, or it is not a run file of a format this version knows.
    """
    import h5py

    name = os.fspath(path)
    if not Path(name).is_file():
        raise ValueError(f"{name}: no such file.")
    try:
        file = h5py.File(name, "r")
    except OSError:
        raise ValueError(f"{name} is not a readable HDF5 file.") from None
    version = file.attrs.get("format_version")
    if version != FORMAT_VERSION or "time" not in file:
        file.close()
        raise ValueError(
            f"{name} is not a run file of format {FORMAT_VERSION} (format_version is {version})."
        )
    return file


def load(path: str | os.PathLike[str]) -> Run:
    """Load a run file.

    Raises
    ------
    ValueError
        If it is not a run file.

    Examples
    --------
    >>> load("nothing.h5")
    Traceback (most recent call last):
    ...
    ValueError: nothing.h5: no such file.
    """
    with open_run_file(path) as file:
        try:
            return _read(file)
        except (KeyError, OSError, RuntimeError, IndexError) as error:
            raise ValueError(f"{os.fspath(path)} is damaged: {error}.") from None


def _read(file: h5py.File) -> Run:
    time = file["time"][()]
    attributes = {key: _plain(value) for key, value in file.attrs.items()}
    observables: dict[str, FloatArray] = {}

    def visit(name: str, item: Any) -> None:
        if hasattr(item, "shape") and "units" not in item.attrs and not item.is_scale:
            observables[name] = item[()]

    if "observables" in file:
        file["observables"].visititems(visit)
    diagnostics = {
        name: item[()]
        for name, item in file.get("diagnostics", {}).items()
        if item.dtype.kind == "f"
    }
    names = file["diagnostics/representation"].asstr()[()] if len(time) else []
    return Run(
        time=time,
        moments=file["moments"][()] if "moments" in file else np.zeros((0, 1), complex),
        observables=observables,
        diagnostics=diagnostics,
        representation=tuple(str(name) for name in names),
        measures=_read_measures(file, len(time), str(attributes["manifold"])),
        attributes=attributes,
        growth_rates=file["stability/growth_rates"][()],
    )


def _read_measures(
    file: h5py.File, count: int, manifold: str
) -> tuple[Density | Measure | None, ...]:
    space = MANIFOLDS[manifold]()
    measures: list[Density | Measure | None] = [None] * count
    if "density" in file:
        degrees = file["density/degree"][()]
        for i, row in enumerate(file["density/save"][()]):
            measures[row] = Density(space, file["density/coefficients"][i, : degrees[i] + 1])
    if "measure" in file:
        weights = file.get("measure/weights")
        for i, row in enumerate(file["measure/save"][()]):
            measures[row] = Measure(
                space, file["measure/points"][i], None if weights is None else weights[i]
            )
    return tuple(measures)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _put(
    file: h5py.File,
    name: str,
    first: int,
    values: Sequence[np.ndarray[Any, Any]],
    row_scale: str,
    column_scale: str = "",
) -> None:
    """Write rows of a dataset that grows downwards and, if rows lengthen, to the right."""
    import h5py

    text = values[0].dtype.kind == "U"
    scalar = values[0].ndim == 0
    dtype = values[0].dtype
    fill = np.array(np.nan if dtype.kind == "f" else 0, None if text else dtype)[()]
    width = max(len(np.atleast_1d(value)) for value in values)
    if name not in file:
        file.create_dataset(
            name,
            (0,) if scalar else (0, width),
            dtype=h5py.string_dtype() if text else values[0].dtype,
            maxshape=(None,) if scalar else (None, None),
            chunks=(1024,) if scalar else (1, max(width, 1)),
            fillvalue=None if text else fill,
        )
        file[name].dims[0].attach_scale(file[row_scale])
        if not scalar:
            _grow_scale(file, column_scale, width)
            file[name].dims[1].attach_scale(file[column_scale])
    dataset = file[name]
    if scalar:
        dataset.resize((first + len(values),))
        dataset[first:] = [str(value) for value in values] if text else np.array(values)
        return
    width = max(dataset.shape[1], width)
    _grow_scale(file, column_scale, width)
    dataset.resize((first + len(values), width))
    block = np.full((len(values), width), fill, dtype=values[0].dtype)
    for row, value in zip(block, values, strict=True):
        row[: len(value)] = value
    dataset[first:] = block


def _grow_scale(file: h5py.File, name: str, length: int) -> None:
    """Make sure of a dimension scale 0, 1, ... of at least this length."""
    if name not in file:
        scale = file.create_dataset(name, (0,), maxshape=(None,), chunks=(1024,), dtype="i8")
        scale.make_scale(name.rsplit("/", 1)[-1])
    scale, old = file[name], len(file[name])
    if length > old:
        scale.resize((length,))
        scale[old:] = np.arange(old, length)
