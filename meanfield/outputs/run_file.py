"""The run file (HDF5): its layout, described here and nowhere else, and how to read it.

    /time                   (n_saves,) scaled time, with units, paper_time_factor, growth_rate_max
    /moments                circle (n_saves, K + 1) complex: int e^{-ik theta} dmu
                            sphere (n_saves, 2, L + 1, L + 1) real: int Y_lm dmu, laid out as
                            in pyshtools (4-pi normalised, no Condon-Shortley phase)
    /observables/<name>     (n_saves,); clusters/count (n_saves,), clusters/mass and /centre padded
    /density/coefficients   (n_kept, ...) with the axes of moments, zeros above /density/degree;
                            /density/save the index into /time of each kept row
    /measure/points, weights, save    the same for points: angles (n_kept, n) or vectors
                            (n_kept, n, 3), NaN beyond /measure/count; weights only where they
                            are not equal
    /diagnostics/<name>     (n_saves,); representation as text
    /events/<column>        (n_events,) what happened on the way, see `events.Event`: time, kind and
                            text; first_cluster, second_cluster; first_mass, second_mass
    /stability/growth_rates (n_degrees,) of the uniform state
    /checkpoint/state       where to go on from, one-dimensional; epoch, clock (time is their sum),
                            unit, step and counts as attributes; checkpoint/fixed/<name> what the
                            representation needs besides
    attributes              format_version, meanfield_version, config, seed, created, status,
                            result_hash (not while running), those of `provenance` and
                            `wall_time`, ...

Every axis has its dimension scale, so that xarray opens the file with engine="h5netcdf"; time is
linked into the groups of series. A checksum over the whole file follows its end (`seal`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray
from meanfield.events import Event
from meanfield.manifolds import MANIFOLDS, Manifold
from meanfield.measures import Density, Measure
from meanfield.outputs.reading import FormatError, opened, plain_attributes
from meanfield.outputs.result_hash import run_results
from meanfield.outputs.study_file import STUDY_COMMANDS, study_kind
from meanfield.representations import REPRESENTATIONS
from meanfield.run import Run
from meanfield.snapshot import Checkpoint

if TYPE_CHECKING:
    import h5py

_Indices = npt.NDArray[np.int64]

FORMAT_VERSION = 2

EVENT_NUMBERS = ("time", "first_cluster", "second_cluster", "first_mass", "second_mass")
"""Columns of /events that are numbers, in the order of an `Event`'s."""

_SLAB_BYTES = 2**25
_NO_MOMENTS = np.zeros((0, 1), complex)


def load(path: str | os.PathLike[str], states: str = "all") -> Run:
    """Load a run file.

    Parameters
    ----------
    path : path
        The file.
    states : str
        "all", "last" or "none": which of its states to read; the others become None.

    Raises
    ------
    ValueError
        If it is not a run file, or damaged.

    Examples
    --------
    >>> load("nothing.h5")
    Traceback (most recent call last):
    ...
    meanfield.outputs.reading.FormatError: nothing.h5: no such file.
    """
    with opened(path) as file:
        check_format(path, file)
        return _read(file, states)


def read_checkpoint(path: str | os.PathLike[str]) -> tuple[Checkpoint, str]:
    """Checkpoint of a run file and the representation it belongs to.

    Raises
    ------
    ValueError
        If it is not a run file, or damaged.
    """
    with opened(path) as file:
        check_format(path, file)
        group = file["checkpoint"]
        step = float(group.attrs["step"])
        checkpoint = Checkpoint(
            clock=float(group.attrs["clock"]),
            state=group["state"][()],
            step=None if np.isnan(step) else step,
            steps=int(group.attrs["steps"]),
            rejected=int(group.attrs["rejected"]),
            evaluations=int(group.attrs["evaluations"]),
            epoch=float(group.attrs["epoch"]),
            events=int(group.attrs["events"]),
            unit=float(group.attrs["unit"]),
            fixed={name: item[()] for name, item in group["fixed"].items() if not item.is_scale},
        )
        return checkpoint, _known(group.attrs["representation"])


def file_results(file: h5py.File) -> dict[str, Any]:
    """Datasets of an open run file that its hash covers, see `result_hash`."""
    moments = file.get("moments", _NO_MOMENTS)
    return run_results(file["time"], moments, _observables(file))


def check_format(path: str | os.PathLike[str], file: h5py.File) -> None:
    """Refuse an open file that is not a run file of this format.

    Raises
    ------
    FormatError
        With what it is, and what to do with it.
    """
    version = file.attrs.get("format_version")
    kind = study_kind(file)
    if kind is not None:
        command = STUDY_COMMANDS[kind]
        raise FormatError(
            f"{os.fspath(path)} is a file of meanfield {command}, no run: look at it with "
            f"meanfield {command} --resume and its run file, or load_{kind}."
        )
    if version != FORMAT_VERSION or "time" not in file:
        raise FormatError(
            f"{os.fspath(path)} is not a run file of format {FORMAT_VERSION} "
            f"(format_version is {version}). Run its configuration again with this version."
        )


def _read(file: h5py.File, states: str) -> Run:
    time = file["time"][()]
    attributes = plain_attributes(file)
    observables: dict[str, FloatArray]
    observables = {name: item[()] for name, item in _observables(file).items()}
    diagnostics = {
        name: item[()]
        for name, item in file.get("diagnostics", {}).items()
        if item.dtype.kind == "f" and not item.is_scale
    }
    names = file["diagnostics/representation"].asstr()[()] if len(time) else []
    moments = file["moments"][()] if len(time) else _NO_MOMENTS
    for name, series in [*observables.items(), *diagnostics.items(), ("moments", moments)]:
        if len(series) != len(time):
            raise ValueError(f"{name} has {len(series)} rows, expected {len(time)}")
    return Run(
        time=time,
        moments=moments,
        observables=observables,
        diagnostics=diagnostics,
        representation=tuple(_known(name) for name in names),
        measures=_read_measures(file, len(time), states),
        attributes=attributes,
        growth_rates=file["stability/growth_rates"][()],
        events=_read_events(file),
    )


def _observables(file: h5py.File) -> dict[str, h5py.Dataset]:
    found: dict[str, h5py.Dataset] = {}

    def visit(name: str, item: Any) -> None:
        if hasattr(item, "shape") and not item.is_scale:
            found[name] = item

    if "observables" in file:
        file["observables"].visititems(visit)
    return found


def _read_events(file: h5py.File) -> tuple[Event, ...]:
    if "events" not in file:
        return ()
    group = file["events"]
    texts = [group[name].asstr()[()] for name in ("kind", "text")]
    numbers = [group[name][()] for name in EVENT_NUMBERS]
    return tuple(
        Event(float(time), str(kind), str(text), (int(a), int(b)), (float(m), float(n)))
        for kind, text, time, a, b, m, n in zip(*texts, *numbers, strict=True)
    )


def _read_measures(
    file: h5py.File, count: int, states: str
) -> tuple[Density | Measure | None, ...]:
    space = MANIFOLDS[str(file.attrs["manifold"])]()
    measures: list[Density | Measure | None] = [None] * count
    readers: dict[str, Callable[[Manifold, Any, _Indices], Iterator[Density | Measure]]]
    readers = {"density": _densities, "measure": _points}
    for name, read in readers.items():
        if states == "none" or name not in file:
            continue
        saves = file[name]["save"][()]
        kept = np.arange(len(saves)) if states == "all" else np.flatnonzero(saves == count - 1)
        for i, measure in zip(kept, read(space, file[name], kept), strict=True):
            measures[int(saves[i])] = measure
    return tuple(measures)


def _densities(space: Manifold, group: h5py.Group, kept: _Indices) -> Iterator[Density]:
    degrees = group["degree"][()][kept]
    for degree, row in zip(degrees, _rows(group["coefficients"], kept), strict=True):
        yield Density(space, space.resize(space.packed(row), int(degree)))


def _points(space: Manifold, group: h5py.Group, kept: _Indices) -> Iterator[Measure]:
    counts = group["count"][()][kept]
    weights = _rows(group["weights"], kept) if "weights" in group else repeat(None)
    rows = zip(counts, _rows(group["points"], kept), weights, strict=False)
    for count, points, row in rows:
        # Equal weights are not written.
        weight = None if row is None or np.isnan(row[0]) else row[:count]
        yield Measure(space, points[:count], weight)


def _rows(dataset: h5py.Dataset, kept: _Indices) -> Iterator[Any]:
    """Rows of a dataset, read in slabs: one read a row takes a tenth of a millisecond."""
    slab = max(_SLAB_BYTES // max(dataset.dtype.itemsize * int(np.prod(dataset.shape[1:])), 1), 1)
    for first in range(0, len(kept), slab):
        chosen = kept[first : first + slab]
        yield from dataset[chosen[0] : chosen[-1] + 1][chosen - chosen[0]]


def _known(name: Any) -> str:
    if name not in REPRESENTATIONS:
        raise ValueError(f"representation {name!r} is not known")
    return str(name)
