"""The run file (HDF5): its layout, described here and nowhere else, and how to read it.

    /time                   (n_saves,) scaled time, with units, paper_time_factor, growth_rate_max
    /moments                (n_saves, K + 1) complex on the circle: int e^{-ik theta} dmu
    /observables/<name>     (n_saves,); clusters/count (n_saves,), clusters/mass and /centre padded
    /density/coefficients   (n_kept, L + 1) complex, zeros above /density/degree; /density/save the
                            index into /time of each kept row
    /measure/points, weights, save    the same for points; weights only where they are not equal
    /diagnostics/<name>     (n_saves,); representation as text
    /stability/growth_rates (n_degrees,) of the uniform state
    /checkpoint/state       where to go on from; the group has time, step, counts as attributes
    attributes              format_version, meanfield_version, config, seed, created, status, ...

Every axis has its dimension scale, so that xarray opens the file with engine="h5netcdf"; time is
linked into the groups of series. A checksum over the whole file follows its end (`seal`).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.manifolds import MANIFOLDS, Manifold
from meanfield.measures import Density, Measure
from meanfield.outputs.reading import FormatError, opened
from meanfield.representations import REPRESENTATIONS
from meanfield.run import Run
from meanfield.snapshot import Checkpoint

if TYPE_CHECKING:
    import h5py

FORMAT_VERSION = 1


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
        _check_format(path, file)
        return _read(file, states)


def read_checkpoint(path: str | os.PathLike[str]) -> tuple[Checkpoint, str]:
    """Checkpoint of a run file and the representation it belongs to.

    Raises
    ------
    ValueError
        If it is not a run file, or damaged.
    """
    with opened(path) as file:
        _check_format(path, file)
        group = file["checkpoint"]
        step = float(group.attrs["step"])
        checkpoint = Checkpoint(
            time=float(group.attrs["time"]),
            state=group["state"][()],
            step=None if np.isnan(step) else step,
            steps=int(group.attrs["steps"]),
            rejected=int(group.attrs["rejected"]),
            evaluations=int(group.attrs["evaluations"]),
        )
        return checkpoint, _known(group.attrs["representation"])


def _check_format(path: str | os.PathLike[str], file: h5py.File) -> None:
    version = file.attrs.get("format_version")
    if version != FORMAT_VERSION or "time" not in file:
        raise FormatError(
            f"{os.fspath(path)} is not a run file of format {FORMAT_VERSION} "
            f"(format_version is {version})."
        )


def _read(file: h5py.File, states: str) -> Run:
    time = file["time"][()]
    attributes = {key: _plain(value) for key, value in file.attrs.items()}
    observables: dict[str, FloatArray] = {}

    def visit(name: str, item: Any) -> None:
        if hasattr(item, "shape") and not item.is_scale:
            observables[name] = item[()]

    if "observables" in file:
        file["observables"].visititems(visit)
    diagnostics = {
        name: item[()]
        for name, item in file.get("diagnostics", {}).items()
        if item.dtype.kind == "f" and not item.is_scale
    }
    names = file["diagnostics/representation"].asstr()[()] if len(time) else []
    moments = file["moments"][()] if len(time) else np.zeros((0, 1), complex)
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
    )


def _read_measures(
    file: h5py.File, count: int, states: str
) -> tuple[Density | Measure | None, ...]:
    space = MANIFOLDS[str(file.attrs["manifold"])]()
    measures: list[Density | Measure | None] = [None] * count
    for group, read in (("density", _density), ("measure", _points)):
        if states == "none" or group not in file:
            continue
        for i, row in enumerate(file[group]["save"][()]):
            if states == "all" or row == count - 1:
                measures[row] = read(space, file[group], i)
    return tuple(measures)


def _density(space: Manifold, group: h5py.Group, i: int) -> Density:
    return Density(space, group["coefficients"][i, : group["degree"][i] + 1])


def _points(space: Manifold, group: h5py.Group, i: int) -> Measure:
    weights = group["weights"][i] if "weights" in group else None
    return Measure(space, group["points"][i], weights)


def _known(name: Any) -> str:
    if name not in REPRESENTATIONS:
        raise ValueError(f"representation {name!r} is not known")
    return str(name)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
