"""Weights in the safetensors format: a header of names, types and places, then the numbers.

    8 bytes      N, little endian
    N bytes      JSON: {name: {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
    the rest     arrays in C order, at these offsets from its beginning

Nothing in such a file is executed. Every size and place is checked against the length of the file
before an array is made, and an array takes memory only when it is read.
"""

from __future__ import annotations

import json
import math
import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from meanfield.arrays import FloatArray
from meanfield.errors import one_line

_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4"}
# What the format allows: a header of more is an attack, or another file.
_LONGEST_HEADER = 100_000_000


class Place(NamedTuple):
    """Type and shape of an array, and its bytes in the file."""

    kind: str
    shape: tuple[int, ...]
    begin: int
    end: int


class ArrayFile(Mapping[str, FloatArray]):
    """Arrays of a file by name, read when they are asked for, in double precision."""

    format = ""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        check_ordinary(path)
        try:
            with open(self.path, "rb") as file:
                self._places = self._read(file, os.fstat(file.fileno()).st_size)
        except OSError as error:
            raise ValueError(f"{self.path}: {error.strerror}.") from None
        ends = sorted((place.begin, place.end) for place in self._places.values())
        if any(one[1] > other[0] for one, other in zip(ends, ends[1:], strict=False)):
            self._refuse("two of its arrays overlap")

    @abstractmethod
    def _read(self, file: BinaryIO, size: int) -> dict[str, Place]:
        """Places of all arrays, all of them possible, in a file of this size."""

    @abstractmethod
    def _decoded(self, kind: str, raw: NDArray[np.uint8]) -> NDArray[Any]:
        """Numbers of a type."""

    def _refuse(self, reason: str) -> NoReturn:
        raise ValueError(f"{self.path} is no {self.format} file: {one_line(reason)}.") from None

    def __getitem__(self, name: str) -> FloatArray:
        kind, shape, begin, end = self._places[name]
        raw = np.fromfile(self.path, np.uint8, end - begin, offset=begin)
        with np.errstate(invalid="ignore"):  # scales of blocks may be infinite
            values = self._decoded(kind, raw).astype(np.float64).reshape(shape)
        if not np.all(np.isfinite(values)):
            raise ValueError(f"{self.path}: {short(name)} holds numbers that are not finite.")
        return values

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of an array that is not read."""
        return self._places[name].shape

    def __contains__(self, name: object) -> bool:  # without reading the array
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class Tensors(ArrayFile):
    """Arrays of a safetensors file.

    https://huggingface.co/docs/safetensors (format).
    """

    format = "safetensors"

    def _read(self, file: BinaryIO, size: int) -> dict[str, Place]:
        first = file.read(8)
        length = int.from_bytes(first, "little")
        if len(first) < 8 or length > min(size - 8, _LONGEST_HEADER):
            self._refuse("its first eight bytes are not the length of a header")
        begin = 8 + length
        entries = self._checked(file.read(length), size - begin)
        return {
            name: Place(
                entry["dtype"], tuple(entry["shape"]), *(begin + n for n in entry["data_offsets"])
            )
            for name, entry in entries.items()
        }

    def _decoded(self, kind: str, raw: NDArray[np.uint8]) -> NDArray[Any]:
        values = raw.view(_DTYPES[kind])
        # The upper half of a float.
        return (values.astype("<u4") << 16).view("<f4") if kind == "BF16" else values

    def _checked(self, text: bytes, size: int) -> dict[str, dict[str, Any]]:
        """Entries of the header, all of them possible."""
        twice = False

        def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            nonlocal twice
            entries = dict(pairs)
            twice = twice or len(entries) < len(pairs)
            return entries

        try:
            header = json.loads(text.decode("utf-8"), object_pairs_hook=once)
        except (
            ValueError,
            RecursionError,
        ):  # a number of thousands of digits is a plain ValueError
            self._refuse("its header is no JSON")
        if twice:
            self._refuse("its header names something twice")
        if not isinstance(header, dict):
            self._refuse("its header is no JSON object")
        header.pop("__metadata__", None)
        for name, entry in header.items():
            if not self._is_entry(entry):
                self._refuse(f"the entry of {short(name)} lacks dtype, shape or data_offsets")
            kind, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
            if kind not in _DTYPES:
                self._refuse(f"{short(name)} has the type {short(kind)}, known: {[*_DTYPES]}")
            if not 0 <= begin <= end <= size:
                self._refuse(f"{short(name)} lies from {begin} to {end} of {size} bytes")
            if math.prod(shape) * np.dtype(_DTYPES[kind]).itemsize != end - begin:
                self._refuse(f"{short(name)} of shape {tuple(shape)} has {end - begin} bytes")
        return header

    @staticmethod
    def _is_entry(entry: Any) -> bool:
        """True if an entry has a type, a shape of whole numbers, and two offsets."""

        def whole(numbers: Any, most: int) -> bool:
            return (
                isinstance(numbers, list)
                and len(numbers) <= most
                and all(type(each) is int and 0 <= each < 2**63 for each in numbers)
            )

        return (
            isinstance(entry, dict)
            and isinstance(entry.get("dtype"), str)
            and whole(entry.get("shape"), 8)
            and whole(entry.get("data_offsets"), 2)
            and len(entry["data_offsets"]) == 2
        )


def check_ordinary(path: str | os.PathLike[str]) -> None:
    """Refuse pipes, devices and folders: their length says nothing of what can be read of them."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{os.fspath(path)} is not an ordinary file.")


def short(name: str) -> str:
    """A name in a message."""
    return repr(name if len(name) <= 80 else name[:77] + "...")
