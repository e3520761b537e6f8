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
from typing import TYPE_CHECKING, Any

import numpy as np

from meanfield.compute.limits import available_memory
from meanfield.manifolds import MANIFOLDS
from meanfield.outputs.layout import check_grows, dataset, increasing_times
from meanfield.outputs.reading import FormatError, opened, plain_attributes
from meanfield.outputs.result_hash import run_results
from meanfield.outputs.run_parts import (
    checked_diagnostics,
    checked_observables,
    found_observables,
    read_events,
    read_measures,
    read_moments,
    texts,
)
from meanfield.outputs.study_file import STUDY_COMMANDS, study_kind
from meanfield.representations import REPRESENTATIONS
from meanfield.run import Run
from meanfield.snapshot import Checkpoint

if TYPE_CHECKING:
    import h5py

FORMAT_VERSION = 2

_FACTS = (
    "manifold",
    "kernel",
    "beta",
    "normalized",
    "strength",
    "diffusivity",
    "paper_time_factor",
    "growth_rate_max",
    "initial",
)
_COUNTS = ("steps", "rejected", "evaluations", "events")
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
        check_grows(file, "checkpoint", "stability")
        group = file["checkpoint"]
        told = plain_attributes(group, *_COUNTS, "clock", "epoch", "unit", "representation")
        name = _known(told["representation"])
        # Not a number where the next step is to be chosen.
        step = float(group.attrs["step"])
        clock, epoch, unit = (float(told[key]) for key in ("clock", "epoch", "unit"))
        # The step in which the last saved time lies begins before it, but for rounding.
        last = increasing_times(file)[-1] * (1 + 1e-9)
        sound = min(clock, epoch) >= 0 and clock + epoch <= last and 0 < unit < np.inf
        if not sound or step <= 0 or np.isinf(step):
            raise ValueError("the clock of the checkpoint is out of range")
        checkpoint = Checkpoint(
            clock=clock,
            # A density is its coefficients, all else points.
            state=dataset(group, "state", "fc" if name == "density" else "f", (None,))[()],
            step=None if np.isnan(step) else step,
            **{key: told[key] for key in _COUNTS},
            epoch=epoch,
            unit=unit,
            fixed=_fixed(group["fixed"]),
        )
        return checkpoint, name


def _fixed(group: h5py.Group) -> dict[str, Any]:
    """What a representation needs besides its state; only the density of a start is complex."""
    return {
        name: dataset(group, name, "fic" if name == "initial" else "fi", item.shape)[()]
        for name, item in group.items()
        if not (item.is_scale or name.rpartition("_axis")[0] in group)
    }


def file_results(file: h5py.File) -> dict[str, Any]:
    """Datasets of an open run file that its hash covers, see `result_hash`.

    Raises
    ------
    ValueError
        If one of them has not as many rows as there are times.
    """
    count = len(increasing_times(file))
    moments = file.get("moments", _NO_MOMENTS)
    found = run_results(file["time"], moments, found_observables(file))
    for name, item in found.items():
        if len(item.shape) == 0 or len(item) != count:
            raise ValueError(f"{name} has shape {item.shape}, expected {count} rows")
    return found


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
            f"meanfield info, or load_{kind}."
        )
    if version != FORMAT_VERSION or "time" not in file:
        raise FormatError(
            f"{os.fspath(path)} is not a run file of format {FORMAT_VERSION} "
            f"(format_version is {version}). Run its configuration again with this version."
        )


def _check_memory(file: h5py.File, states: str) -> None:
    """Refuse to read more than there is memory for.

    Raises
    ------
    FormatError
        With both numbers.
    """
    sizes: list[int] = []

    def visit(name: str, item: Any) -> None:
        of_states = name.startswith(("density/", "measure/", "checkpoint/"))
        if hasattr(item, "nbytes") and (states == "all" or not of_states):
            sizes.append(int(item.nbytes))

    file.visititems(visit)
    there = available_memory()
    if sum(sizes) > there:
        raise FormatError(
            f"{file.filename} holds {sum(sizes) / 2**30:.1f} GiB of numbers, more than the memory "
            f"of {there / 2**30:.1f} GiB."
        )


def _read(file: h5py.File, states: str) -> Run:
    _check_memory(file, states)
    attributes = plain_attributes(file, *_FACTS)
    if attributes["manifold"] not in MANIFOLDS:
        raise ValueError(f"manifold {attributes['manifold']!r} is not known")
    space = MANIFOLDS[attributes["manifold"]]()
    time = increasing_times(file)
    count = len(time)
    names, moments = [], _NO_MOMENTS
    if count:
        names = texts(dataset(file, "diagnostics/representation", "O", (count,)))
        moments = read_moments(space, file, count)
    return Run(
        time=time,
        moments=moments,
        observables={n: item[()] for n, item in checked_observables(space, file, count).items()},
        diagnostics={n: item[()] for n, item in checked_diagnostics(file, count).items()},
        representation=tuple(_known(name) for name in names),
        measures=read_measures(space, file, count, states),
        attributes=attributes,
        growth_rates=dataset(file, "stability/growth_rates", "f", (None,))[()],
        events=read_events(file),
    )


def _known(name: Any) -> str:
    if name not in REPRESENTATIONS:
        raise ValueError(f"representation {name!r} is not known")
    return str(name)
