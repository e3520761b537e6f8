"""Replacing files on disks that are full, fail, are slow or lose their power."""

from __future__ import annotations

import os
import random
import stat
from pathlib import Path
from typing import Any

import h5py
import pytest

from meanfield.files.replacing import OutputError, replace_bytes
from meanfield.outputs import output_file
from meanfield.outputs.output_file import is_broken, replace_file


def put(name: str, value: int) -> Any:
    """Write one number."""

    def write(file: h5py.File) -> None:
        file[name] = value

    return write


def numbers(path: Path) -> dict[str, int]:
    """All numbers of a file."""
    with h5py.File(path) as file:
        return {name: int(item[()]) for name, item in file.items()}


def test_full_disk_is_found_before_hdf5_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HDF5 would be left with a file that it can neither write nor close, and crash at the end."""
    path = tmp_path / "x.h5"
    replace_file(path, None, put("a", 1))
    asked = []

    def full(descriptor: int, offset: int, size: int) -> None:
        asked.append(size)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OutputError, match="cannot be written: No space left on device"):
        replace_file(path, path, put("b", 2), room=1000)
    assert asked[0] >= path.stat().st_size + 1000
    assert numbers(path) == {"a": 1}
    assert [file.name for file in tmp_path.iterdir()] == ["x.h5"]


def test_reserved_space_is_given_back(tmp_path: Path) -> None:
    """A file would keep the room that it might have needed."""
    path = tmp_path / "x.h5"
    replace_file(path, None, put("a", 1), room=10**7)
    replace_file(path, path, put("b", 1), room=10**7)
    assert path.stat().st_size < 10**5


def test_file_systems_that_cannot_reserve_are_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs would be impossible on some network disks."""

    def unsupported(descriptor: int, offset: int, size: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "posix_fallocate", unsupported)
    replace_file(tmp_path / "x.h5", None, put("a", 1))
    monkeypatch.delattr(os, "posix_fallocate")
    replace_file(tmp_path / "x.h5", tmp_path / "x.h5", put("b", 2))
    assert numbers(tmp_path / "x.h5") == {"a": 1, "b": 2}


class Failing:
    """File whose k-th write or cut fails, once."""

    def __init__(self, raw: Any, chosen: int) -> None:
        self._raw, self._left = raw, chosen

    def __getattr__(self, name: str) -> Any:
        """Everything of the file, and two things that may fail."""
        method = getattr(self._raw, name)
        if name not in ("write", "truncate"):
            return method

        def maybe(argument: Any) -> Any:
            self._left -= 1
            if self._left == -1:
                raise OSError(5, "Input/output error")
            return method(argument)

        return maybe


def test_no_failure_of_the_disk_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HDF5 forgets what it could not write when it closes a dataset: a hole would be sealed."""
    path, real, failing = tmp_path / "x.h5", output_file._Disk, 0
    replace_file(path, None, put("a", 1))

    def write(file: h5py.File) -> None:
        file.create_dataset("chunks", data=[1.0] * 1000, chunks=(50,))
        file["b"] = 2

    monkeypatch.setattr(output_file, "_Disk", lambda raw: real(Failing(raw, failing)))
    while True:
        try:
            replace_file(path, path, write)
        except OutputError as error:
            assert str(error) == f"{path} cannot be written: Input/output error."
            assert numbers(path) == {"a": 1}
            failing += 1
        else:
            break
    assert failing > 30


class Sluggish:
    """File that takes few bytes at a time."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def __getattr__(self, name: str) -> Any:
        """Everything else of the file."""
        return getattr(self._raw, name)

    def write(self, data: memoryview) -> int:
        """Write at most 7 bytes."""
        return int(self._raw.write(data[:7]))


def test_disk_that_takes_few_bytes_at_a_time_gets_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of a large write would be missing."""
    path, real, written = tmp_path / "x.h5", output_file._Disk, random.Random(1).randbytes(100)
    with (tmp_path / "x").open("w+b", buffering=0) as raw:
        disk = real(Sluggish(raw))  # type: ignore[arg-type]
        assert disk.write(memoryview(written)) == 100 and disk.error is None
    assert (tmp_path / "x").read_bytes() == written
    monkeypatch.setattr(output_file, "_Disk", lambda raw: real(Sluggish(raw)))
    replace_file(path, None, put("a", 1))
    replace_file(path, path, put("b", 2))
    assert numbers(path) == {"a": 1, "b": 2} and not is_broken(path)


def write_bytes(path: Path) -> None:
    """Write a figure."""
    replace_bytes(path, b"new")


def write_hdf5(path: Path) -> None:
    """Write an HDF5 file."""
    replace_file(path, None, put("b", 2))


@pytest.mark.skipif(os.name != "posix", reason="folders cannot be flushed")
@pytest.mark.parametrize("write", [write_bytes, write_hdf5])
def test_file_and_then_its_name_are_flushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Any
) -> None:
    """A power cut would leave an empty file, or bring the older one back."""
    path, done = tmp_path / "x", []
    path.write_bytes(b"old")

    def seen(found: os.stat_result) -> tuple[int, int, int]:
        return found.st_ino, found.st_size, found.st_mtime_ns

    flush, rename = os.fsync, os.replace

    def fsync(descriptor: int) -> None:
        done.append(("flushed", *seen(os.fstat(descriptor))))
        flush(descriptor)

    def replace(source: Any, target: Any) -> None:
        done.append(("renamed", *seen(os.stat(source))))
        rename(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    write(path)
    new = seen(path.stat())
    assert done[:2] == [("flushed", *new), ("renamed", *new)]
    assert [step[:2] for step in done[2:]] == [("flushed", tmp_path.stat().st_ino)]


@pytest.mark.skipif(os.name != "posix", reason="folders cannot be flushed")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_cannot_be_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """A file that is not on the disk would be trusted; or one that is there be called lost."""
    path, flush, is_chosen = tmp_path / "x", os.fsync, [stat.S_ISREG, stat.S_ISDIR][what != "file"]
    path.write_bytes(b"old")

    def fsync(descriptor: int) -> None:
        if is_chosen(os.fstat(descriptor).st_mode):
            raise OSError(5, "Input/output error")
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    if what == "folder":
        write_bytes(path)
    else:
        with pytest.raises(OutputError, match="x cannot be written: Input/output error"):
            write_bytes(path)
    assert path.read_bytes() == (b"new" if what == "folder" else b"old")
    assert [file.name for file in tmp_path.iterdir()] == ["x"]


def test_file_that_hdf5_cannot_finish_is_told(tmp_path: Path) -> None:
    """What the disk said would hide behind what HDF5 makes of it, or the other way round."""
    path = tmp_path / "x.h5"

    def fail(file: h5py.File) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OutputError, match="No space left on device"):
        replace_file(path, None, fail)
    assert list(tmp_path.iterdir()) == []
