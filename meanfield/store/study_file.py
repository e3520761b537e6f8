"""Files of studies (HDF5): common parts of `compare`, `ensemble`, `diagram` and `replay` files.

    attributes       KIND_format_version, then what the study knows of itself, `provenance` and
                     `wall_time`; result_hash, over every array of the file, unless it is running
    /AXIS            the scale of each axis
    /VALUE           every axis of it with its dimension scale attached
    units            an attribute of values with a unit

`comparison_file`, `ensemble_file`, `merging_file` and `replay_file` describe axes and values.
The files are small and written anew each time: at once, about every second while
results come, and at the end.
"""

from __future__ import annotations

import os
import time as clock
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from meanfield.status import COMPLETED, RUNNING, cut_short
from meanfield.store.output_file import FLUSH_SECONDS, OutputFile, replace_file
from meanfield.store.reading import FormatError, opened, plain_attributes
from meanfield.store.result_hash import result_hash
from meanfield.store.wall_time import WallTime
from meanfield.studies.study import Runs, Study

if TYPE_CHECKING:
    import h5py

Kind = Literal["comparison", "ensemble", "diagram", "replay"]
Table = TypeVar("Table")

STUDY_COMMANDS: dict[Kind, str] = {
    "comparison": "compare",
    "ensemble": "ensemble",
    "diagram": "diagram",
    "replay": "replay",
}
"""Kind of a study file -> the command that writes it."""


def write_study(
    target: Path | OutputFile,
    kind: Kind,
    version: int,
    attributes: Mapping[str, Any],
    scales: Mapping[str, Any],
    values: Mapping[str, Any],
    axes: Mapping[str, tuple[str, ...]],
    units: Mapping[str, str],
) -> None:
    """Write a study into a file in place of what was there.

    target: the file; one that is to be recognised is refused if another took its place.
    axes: name of a dataset -> the names of its axes, one for each of its dimensions.
    units: name of a scale or dataset -> its units, where it has some.
    """

    def write(file: h5py.File) -> None:
        file.attrs[_version_name(kind)] = version
        for name, value in attributes.items():
            file.attrs[name] = value
        for name, scale in scales.items():
            file.create_dataset(name, data=scale).make_scale(name)
        for name, value in values.items():
            dataset = file.create_dataset(name, data=value)
            for dimension, axis in zip(dataset.dims, axes[name], strict=True):
                dimension.attach_scale(file[axis])
        for name, unit in units.items():
            file[name].attrs["units"] = unit
        # A study that was read has the hash of its day; while it runs there is none.
        file.attrs.pop("result_hash", None)
        if attributes.get("status", RUNNING) != RUNNING:
            file.attrs["result_hash"] = result_hash(file)

    replace_file(target, None, write, sum(np.asarray(value).nbytes for value in values.values()))


@contextmanager
def read_study(
    path: str | os.PathLike[str], kind: Kind, version: int, *required: str
) -> Iterator[tuple[h5py.File, dict[str, Any]]]:
    """Study file, open for reading inside the block, and its attributes without its version."""
    with opened(path) as file:
        number = file.attrs.get(_version_name(kind))
        if not np.array_equal(number, version):
            raise FormatError(
                f"{os.fspath(path)} is not {'an' if kind[0] in 'aeiou' else 'a'} {kind} of format "
                f"{version} ({_version_name(kind)} is {number})."
            )
        attributes = plain_attributes(file, *required)
        # The version is the file's: a study that is read and written again gets that of its day.
        del attributes[_version_name(kind)]
        yield file, attributes


def study_kind(file: h5py.File) -> Kind | None:
    """Kind of study that an open file holds; None if it holds none."""
    return next((kind for kind in STUDY_COMMANDS if _version_name(kind) in file.attrs), None)


def record_study(
    file: Path | OutputFile,
    write: Callable[[Path | OutputFile, Any], None],
    study: Study[Table, Any],
    table: Table,
    parts: Iterable[tuple[Runs, Table]],
    attributes: Mapping[str, Any],
    spent: WallTime | None = None,
) -> Generator[Runs, None, None]:
    """Put results of runs into the table of a study as they come, and write it about every second.

    - file: written at once, and at the end; one that is to be recognised is refused if another took
      its place. An earlier result stays until the first runs are finished.
    - write: writes results into the file, as `write_ensemble` does.
    - study, table: what is to be run, and what is known already; may be filled in place.
    - spent: where the time goes, results counting as running, the rest as writing; told in the
      file, as far as it is known when the file is written.

    Yields runs after their results were taken. Whatever ends the stream, the file holds them all.
    """
    spent = spent or WallTime()
    output = file if isinstance(file, OutputFile) else OutputFile(file)

    def put_down(status: str) -> None:
        if output.earlier and status != COMPLETED:
            return
        with spent.during("writing"):
            results = study.results(table)
            beyond = {**attributes, **spent.attributes(), "status": status}
            write(output, replace(results, attributes=results.attributes | beyond))

    put_down(RUNNING)
    written = clock.perf_counter()
    try:
        for runs, part in spent.over(parts, "running"):
            with spent.during("writing"):
                table = study.placed(table, runs, part)
                output.earlier = False
            if clock.perf_counter() - written > FLUSH_SECONDS:
                put_down(RUNNING)
                written = clock.perf_counter()
            yield runs
    except BaseException as error:
        put_down(cut_short(error, f"with {study.progress(table)} finished"))
        raise
    put_down(COMPLETED)


def _version_name(kind: Kind) -> str:
    return f"{kind}_format_version"
