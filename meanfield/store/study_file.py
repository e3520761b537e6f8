"""Files of studies (HDF5): one writer and one reader, by the description of each result.

    attributes       KIND_format_version, attributes of the study, of `provenance` and `wall_time`;
                     result_hash, over every array of the file, unless it is running
    /AXIS            the scale of each axis: an array of the study, or numbers from 0
    /VALUE           every axis of it with its dimension scale attached
    units            an attribute of values with a unit

Names, axes and units come from the fields, see `described.StudyResult`; docs/file-format.md
lists them. Arrays that follow from others serve other readers. The files are small and written
anew each time: at once, about every second while results come, and at the end.
"""

from __future__ import annotations

import os
import time as clock
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from meanfield.described import StudyResult
from meanfield.names import RESULT_KINDS, public
from meanfield.status import COMPLETED, RUNNING, cut_short
from meanfield.store.layout import (
    FormatError,
    arrays,
    check_counts,
    check_distinct,
    check_increasing,
    opened,
    plain_attributes,
)
from meanfield.store.locks import FLUSH_SECONDS, OutputFile, replace_file
from meanfield.store.result_hash import result_hash
from meanfield.store.wall_time import WallTime
from meanfield.studies.study import Runs, Study

if TYPE_CHECKING:
    import h5py

Table = TypeVar("Table")
Result = TypeVar("Result", bound=StudyResult)

Labelled = dict[str, tuple[tuple[str, ...], Any, str]]
"""Arrays by name: axes, values, unit; a scale is one along the axis of its own name."""

_KINDS = {"f": "f", "c": "cf", "i": "i", "b": "i"}

STUDY_COMMANDS = {
    "comparison": "compare",
    "ensemble": "ensemble",
    "diagram": "diagram",
    "replay": "replay",
    "phase_diagram": "phase",
    "corrected_runs": "predict",
}
"""Kind of a study file -> the command that writes it, if there is one."""


def writer_of(kind: str) -> str:
    """Writer of files of a kind."""
    command = STUDY_COMMANDS.get(kind)
    return f"mf.{kind}" if command is None else f"meanfield {command}"


def labelled_arrays(result: StudyResult) -> Labelled:
    """Arrays of a result by name, first the scales of all axes."""
    values = result.stored_values()
    scales: Labelled = {}
    others: Labelled = {}
    lengths: dict[str, int] = {}
    for one in result.described().values():
        value = np.asarray(values[one.name])
        value = value.astype(np.int64) if one.kind == "b" else value
        axes = one.axes_of(value.ndim)
        (scales if axes == (one.name,) else others)[one.name] = (axes, value, one.unit)
        if axes != (one.name,):
            lengths |= dict(zip(axes, value.shape, strict=True))
    return {axis: ((axis,), np.arange(n), "") for axis, n in lengths.items()} | scales | others


def write_result(target: Path | OutputFile, result: StudyResult) -> None:
    """Write a result with its attributes into a file, as `write_study` does."""
    renamed = {*result.stored_as.values()}
    attributes = {name: v for name, v in result.attributes.items() if name not in renamed}
    attributes |= result.stored_facts()
    write_study(target, result.kind, result.version, attributes, labelled_arrays(result))


def read_result(path: str | os.PathLike[str], kind: str) -> Any:
    """Result of a kind in a file, finished or not; FormatError if the file holds another."""
    cls = public(RESULT_KINDS[kind])
    required = [name for name in cls.described_facts() if name not in cls.stored_as]
    with read_study(path, kind, cls.version, *required, *cls.required) as (file, attributes):
        return restored(cls, file, attributes)


def restored(cls: type[Result], file: Any, attributes: dict[str, Any]) -> Result:
    """Result of the arrays of an open file or group, each checked."""
    described = {one.name: one for one in cls.described().values()}
    axes = {
        name: one.axes_of(getattr(file.get(name), "ndim", 0))
        for name, one in described.items()
        if one.axes != (name,) and (name in file or not one.optional)
    }
    # An axis without an array of its own is numbered; on the sphere moments are real.
    kinds = dict.fromkeys((axis for named in axes.values() for axis in named), "i")
    kinds |= {name: _KINDS[one.kind] for name, one in described.items()}
    values = arrays(file, axes, kinds)
    for name, one in described.items():
        if one.increasing is not None:
            check_increasing(name, values[name], one.increasing)
        if one.distinct:
            check_distinct(name, values[name])
        if one.kind == "b":
            check_counts(name, values[name], 1)
            values[name] = values[name].astype(bool)
    cls.check_values(values, attributes)
    return cls.restored(values, attributes)


def write_study(
    target: Path | OutputFile,
    kind: str,
    version: int,
    attributes: Mapping[str, Any],
    arrays: Labelled,
) -> None:
    """Write a study into a file in place of its contents, see `replace_file`."""

    def write(file: h5py.File) -> None:
        file.attrs[_version_name(kind)] = version
        for name, value in attributes.items():
            file.attrs[name] = value
        put_arrays(file, arrays)
        # Attributes of a study that was read have its old hash; while it runs there is none.
        file.attrs.pop("result_hash", None)
        if attributes.get("status", RUNNING) != RUNNING:
            file.attrs["result_hash"] = result_hash(file)

    others = [value for name, (axes, value, _) in arrays.items() if axes != (name,)]
    replace_file(target, None, write, sum(np.asarray(value).nbytes for value in others))


def put_arrays(file: Any, arrays: Labelled) -> None:
    """Put arrays into an open file or group, which may have some of the scales already."""
    new = {name: one for name, one in arrays.items() if name not in file}
    for name, (axes, value, _) in new.items():
        dataset = file.create_dataset(name, data=value)
        if axes == (name,):
            dataset.make_scale(name)
            continue
        for dimension, axis in zip(dataset.dims, axes, strict=True):
            dimension.attach_scale(file[axis])
    for name, (_, _, unit) in new.items():
        if unit:
            file[name].attrs["units"] = unit


@contextmanager
def read_study(
    path: str | os.PathLike[str], kind: str, version: int, *required: str
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
        # The version belongs to the file: a study that is written again gets the current one.
        del attributes[_version_name(kind)]
        yield file, attributes


def study_kind(file: h5py.File) -> str | None:
    """Kind of study that an open file holds; None if it holds none."""
    return next((kind for kind in RESULT_KINDS if _version_name(kind) in file.attrs), None)


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

    - file: also written at once, and at the end, see `replace_file`. An earlier result stays until
      the first runs are finished.
    - write: writes results into the file, as `write_result` does.
    - study, table: the study and its results so far; the table may be filled in place.
    - spent: wall time of "running" and "writing", stored whenever the file is written.

    Yields runs after the table has their results. However the stream ends, the file has them all.
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


def _version_name(kind: str) -> str:
    return f"{kind}_format_version"
