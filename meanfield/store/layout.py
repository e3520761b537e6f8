"""Open HDF5 files and check them: whatever is wrong with a file becomes one line.

Types and shapes of attributes and datasets are checked. Another program that changes a file removes
its seal, and may write anything. A file that passes may hold other numbers than were computed,
which its result hash shows. But all readers can handle it.

Sizes and links are checked before anything is read. A link may lead to a device that never answers,
or to numbers without a checksum. Chunks that were never written take no space on the disk, but all
memory when they are read. A file that passes has no links, and its data have at most 1032 times
its size, beside gaps of 256 MiB.
"""

from __future__ import annotations

import math
import numbers
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from meanfield.store.locks import is_broken

if TYPE_CHECKING:
    import h5py

TEXT, NUMBER, INTEGER, TRUTH = "a text", "a number", "an integer below 2^63", "true or false"
NUMBER_OR_NAN = "a number or NaN"
HASH = "64 hexadecimal digits"

ATTRIBUTES = {
    TEXT: "meanfield_version created config title status manifold kernel normalization initial "
    "versions platform processor changes metric note carrier representation units "
    "requested_time_unit label_name layout model",
    NUMBER: "beta strength diffusivity paper_time_factor headline_time tolerance "
    "seconds_setup seconds_stepping seconds_observing seconds_running seconds_writing clock epoch "
    "unit time",
    NUMBER_OR_NAN: "growth_rate_max agreement tail resolved_until",
    INTEGER: "heads seed sessions threads steps rejected evaluations events degree tokens "
    "max_degree resolved_degree nodes",
    TRUTH: "normalized",
    HASH: "result_hash",
}
"""Kind of an attribute -> names of the attributes of this kind, in all files."""

# Longer texts are cut: the layout of a title of a million characters takes minutes.
_LONGEST_TEXT = 1000
_MOST_INTEGER = 2**63 - 1
_KINDS = {name: kind for kind, names in ATTRIBUTES.items() for name in names.split()}
_WORDS = {"f": "real numbers", "c": "complex numbers", "i": "integers", "O": "texts"}


def checked_attribute(name: str, value: Any) -> Any:
    """Attribute as Python's own number or text; a text as `printable_text` makes it."""
    plain = value.item() if isinstance(value, np.generic) else value
    kind = _KINDS.get(name)
    if not (is_of(kind, plain) if kind else isinstance(plain, str | int | float)):
        text = repr(plain) if isinstance(plain, str | int | float) else type(plain).__name__
        raise ValueError(f"attribute {name} is {text}, expected {kind or 'a number or a text'}")
    if not isinstance(plain, str) or name == "config":
        # The run file is compared exactly, and never shown.
        return plain
    return "\n".join(map(printable_text, plain.split("\n") if name == "changes" else [plain]))


def printable_text(text: str) -> str:
    r"""Text of a file for output: `escaped`, and not too long.

    >>> len(printable_text("a" * 10**6))
    1003
    """
    return escaped(text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "...")


def escaped(text: str) -> str:
    r"""Text in one line, without control characters."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def is_of(kind: str, value: Any) -> bool:
    """True if a plain value is of the kind of an attribute.

    >>> is_of(NUMBER, 3), is_of(NUMBER, float("nan")), is_of(INTEGER, True)
    (True, False, False)
    """
    if kind == HASH:
        return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None
    if kind == TEXT:
        # What is not UTF-8 arrives as surrogates, which cannot be printed.
        return isinstance(value, str) and not any("\ud800" <= c <= "\udfff" for c in value)
    if kind == TRUTH or isinstance(value, bool):
        return kind == TRUTH and isinstance(value, bool)
    if kind == INTEGER:
        return isinstance(value, int) and 0 <= value <= _MOST_INTEGER
    return isinstance(value, numbers.Real) and (kind == NUMBER_OR_NAN or not math.isnan(value))


def dataset(file: Any, name: str, kinds: str, shape: tuple[int | None, ...]) -> h5py.Dataset:
    """Dataset of an open file or group, if its type and shape are the expected ones.

    kinds: allowed kinds of NumPy's types: "f", "c", "i", "O" (texts).
    shape: lengths of its axes; None is any.
    """
    item = file.get(name)
    if item is None or not hasattr(item, "shape"):
        raise ValueError(f"{name} is missing")
    kind = "i" if item.dtype.kind == "u" else item.dtype.kind
    if kind not in kinds or item.dtype.itemsize not in (8, 16):
        expected = " or ".join(_WORDS[one] for one in kinds)
        raise ValueError(f"{name} holds {item.dtype}, expected {expected}")
    if not fits(item.shape, shape):
        raise ValueError(f"{name} has shape {item.shape}, expected {_axes(shape)}")
    return item


def fits(actual: tuple[int, ...] | None, shape: tuple[int | None, ...]) -> bool:
    """True if a shape is the expected one; None fits any length."""
    if actual is None or len(actual) != len(shape):
        return False
    return all(wanted in (None, length) for length, wanted in zip(actual, shape, strict=True))


def increasing_times(file: h5py.File) -> Any:
    """Times of an open file, finite and not decreasing.

    A run has a row for each time: more times than the file can hold would be gaps, and take all
    memory.
    """
    times = dataset(file, "time", "f", (None,))
    if times.nbytes > file.id.get_filesize():
        raise ValueError(f"time has {len(times)} rows, more than the file can hold")
    values = times[()]
    check_increasing("time", values)
    return values


def check_increasing(name: str, values: Any, least: float = 0) -> None:
    """Refuse numbers that are less than `least` or than the one before, or not finite."""
    if not (np.all(np.isfinite(values)) and np.all(np.diff(values, prepend=least) >= 0)):
        raise ValueError(f"{name} holds other numbers than finite ones, increasing from {least}")


def check_distinct(name: str, values: Any) -> None:
    """Refuse increasing numbers if two are equal."""
    if np.any(np.diff(values) == 0):
        raise ValueError(f"{name} holds the same number twice")


def check_indices(name: str, values: Any, most: int) -> None:
    """Refuse indices that are not increasing, or not from 0 to most - 1."""
    if len(values) and not (values[0] >= 0 and values[-1] < most and np.all(np.diff(values) > 0)):
        raise ValueError(f"{name} holds other indices than 0 to {most - 1}, increasing")


def check_counts(name: str, values: Any, most: int) -> None:
    """Refuse counts that are negative, or larger than `most`."""
    if values.size and not (values.min() >= 0 and values.max() <= most):
        raise ValueError(f"{name} holds other numbers than 0 to {most}")


class ForeignError(ValueError):
    """Another program has added an item that is in the way; the rest is sound."""

    def __init__(self, item: Any) -> None:
        kind, name = "dataset" if hasattr(item, "shape") else "group", printable_text(item.name[1:])
        super().__init__(
            f"another program has added the {kind} {name}, which is in the way. Delete it there, "
            f'with h5py: del file["{name}"]'
        )


def check_ours(item: Any) -> None:
    """Refuse items of other programs: groups, and datasets without dimension scales."""
    if not (hasattr(item, "shape") and (item.is_scale or all(map(len, item.dims)))):
        raise ForeignError(item)


def check_grows(group: Any, *without: str) -> None:
    """Refuse an open file to which no rows can be added, except in the groups `without`."""
    for name, item in group.items():
        path = f"{group.name}/{name}".lstrip("/")
        if hasattr(item, "shape"):
            grows = item.chunks is not None and {*item.maxshape} == {None}
            if not (grows and item.dtype.kind in "fciO"):
                check_ours(item)
                raise ValueError(f"no rows can be added to {path}")
        elif path not in without:
            check_grows(item, *without)


def arrays(
    file: Any, axes: Mapping[str, tuple[str, ...]], kinds: Mapping[str, str]
) -> dict[str, Any]:
    """Arrays of an open file and the scales of their axes, by name.

    axes: name of an array -> the names of its axes, each the name of a scale.
    kinds: of arrays and scales, as `dataset` has them; the others are real numbers.
    """
    values: dict[str, Any] = {}
    for name in sorted({axis for named in axes.values() for axis in named}):
        values[name] = dataset(file, name, kinds.get(name, "f"), (None,))[()]
    for name, named in axes.items():
        shape = tuple(len(values[axis]) for axis in named)
        values[name] = dataset(file, name, kinds.get(name, "f"), shape)[()]
    return values


def _axes(shape: tuple[int | None, ...]) -> str:
    text = ", ".join("any" if length is None else str(length) for length in shape)
    return f"({text}{',' if len(shape) == 1 else ''})"


ADVICE = "Restore a copy, or make it anew."
"""Advice for a damaged file."""
EXPECTED = "Expected results that meanfield wrote, such as those of meanfield run."
"""Advice for a file of another program."""
# A run has about a hundred names; other programs may add more.
_MOST_NAMES = 5000
_LONGEST_NAME = 255
EXPANSION = 1032
"""Largest number of bytes that Deflate makes of one (zlib, technical details)."""

# Allowed bytes of gaps, in one dataset and in all: rows of a million saved times, never written.
_GAPS, _ALL_GAPS = 2**24, 2**28


class FormatError(ValueError):
    """A file that is missing, of another kind, or damaged; the message is one line."""

    def __init__(self, message: str) -> None:
        line = " ".join(message.split())
        super().__init__(line if line.isprintable() else ascii(line)[1:-1])


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[h5py.File]:
    """HDF5 file, open for reading inside the block."""
    import h5py

    name = os.fspath(path)
    check_whole(name)
    try:
        file = h5py.File(name, "r")
    except BlockingIOError:
        raise FormatError(
            f"{name} is open for writing in another program. Close it there."
        ) from None
    except Exception:
        # h5py raises almost any error for a damaged file.
        raise FormatError(f"{name} is not a readable HDF5 file{_what_else(name)}") from None
    with file, damage_message(name):
        check_bounded(file)
        yield file


# First bytes of files that are no results -> their kind.
_OTHERS = {
    b"\x89PNG": "a figure",
    b"%PDF": "a figure",
    b"<?xml": "a figure",
    b"GIF8": "a film",
    b"\x93NUMPY": "an array of NumPy, as tokens are kept",
    b"PK\x03\x04": "an archive, as NumPy's .npz",
}


def _what_else(name: str) -> str:
    """Kind of a file that is not HDF5, by its name and first bytes, and the remedy."""
    if name.endswith(".toml"):
        return f", but a run file: make its results with meanfield run {name}."
    with open(name, "rb") as file:
        begin = file.read(8)
    for signature, kind in _OTHERS.items():
        if begin.startswith(signature):
            return f", but {kind}. {EXPECTED}"
    return f". {ADVICE}"


@contextmanager
def damage_message(path: str | os.PathLike[str]) -> Iterator[None]:
    """Block whose errors are reported as damage of the file."""
    try:
        yield
    except FormatError:
        raise
    except ForeignError as error:
        raise FormatError(f"{os.fspath(path)}: {error}.") from None
    except MemoryError:
        line = f"{os.fspath(path)} takes more memory to read than there is."
        raise FormatError(line) from None
    except Exception as error:
        # Damage shows as almost any error: the bytes may say anything.
        is_damage = isinstance(error, OSError | ValueError | KeyError)
        reason = f": {error}".rstrip(".") if is_damage else ""
        raise FormatError(f"{os.fspath(path)} is damaged{reason}. {ADVICE}") from None


def check_whole(path: str | os.PathLike[str]) -> None:
    """Refuse a path that is no file, or a file that has changed since it was sealed."""
    name = os.fspath(path)
    try:
        # A pipe or a device would make us wait, or never end.
        if not stat.S_ISREG(os.stat(name).st_mode):
            raise FormatError(f"{name} is a folder or a device, expected a file.")
        # Before HDF5 opens it: some damage makes HDF5 crash.
        broken = is_broken(name)
    except (FileNotFoundError, NotADirectoryError):
        raise FormatError(f"{name}: no such file.") from None
    except OSError as error:
        raise FormatError(f"{name} cannot be read: {error.strerror or error}.") from None
    if broken:
        raise FormatError(f"{name} is damaged: its checksum does not fit. {ADVICE}")


def plain_attributes(item: Any, *required: str) -> dict[str, Any]:
    """Attributes of an open file or group as Python's own numbers and texts."""
    attributes = {name: checked_attribute(name, value) for name, value in item.attrs.items()}
    for name in required:
        if name not in attributes:
            raise ValueError(f"attribute {name} is missing")
    return attributes


def check_bounded(file: h5py.File) -> None:
    """Refuse an open file with links, or with more data than it can hold."""
    links: list[tuple[str, Any]] = []

    def visit(name: str, link: Any) -> bool | None:
        links.append((name, link))
        return True if len(links) > _MOST_NAMES else None

    # This opens no links, and visits those of a ring once.
    if file.visititems_links(visit):
        raise ValueError(f"there are more than {_MOST_NAMES} names in it")
    gaps = 0
    for name, link in links:
        if not name.isprintable() or len(name.rpartition("/")[2]) > _LONGEST_NAME:
            raise ValueError(f"{ascii(name[:60])} is no name")
        # Soft and external links have classes of other names.
        if type(link).__name__ != "HardLink":
            raise ValueError(f"{name} is a link, which is not followed")
        gap = _gap(file, name)
        gaps += gap
        if gap > _GAPS or gaps > _ALL_GAPS:
            raise ValueError(f"{name} claims more than the file can hold")


def _gap(file: h5py.File, name: str) -> int:
    """Bytes that a dataset claims beyond what its part of the file can hold."""
    from h5py import h5d, h5o

    item = h5o.open(file.id, name.encode("utf-8", "surrogateescape"))
    if not isinstance(item, h5d.DatasetID):
        return 0
    properties = item.get_create_plist()
    if properties.get_layout() == h5d.VIRTUAL or properties.get_external_count():
        raise ValueError(f"{name} lies in another file")
    size = item.get_type().get_size()
    # Not HDF5's own product, which may overflow; h5py.Empty has no shape.
    claimed: int = size * math.prod(item.shape or ())
    if properties.get_layout() == h5d.CHUNKED:
        # A chunk that is larger than the dataset is read as a whole.
        claimed = max(claimed, math.prod(properties.get_chunk()) * size)
    return max(claimed - EXPANSION * int(item.get_storage_size()), 0)
