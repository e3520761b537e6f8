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
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.errors import one_line

_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4"}
# What the format allows: a header of more is an attack, or another file.
_LONGEST_HEADER = 100_000_000


class Tensors(Mapping[str, FloatArray]):
    """Arrays of a safetensors file by name, read when they are asked for, in double precision.

    https://huggingface.co/docs/safetensors (format).
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        check_ordinary(self._path)
        try:
            with open(self._path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                first = file.read(8)
                length = int.from_bytes(first, "little")
                if len(first) < 8 or length > min(size - 8, _LONGEST_HEADER):
                    self._refuse("its first eight bytes are not the length of a header")
                text = file.read(length)
        except OSError as error:
            raise ValueError(f"{self._path}: {error.strerror}.") from None
        self._begin = 8 + length
        self._places = self._checked(text, size - self._begin)

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
                self._refuse(f"the entry of {_short(name)} lacks dtype, shape or data_offsets")
            kind, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
            if kind not in _DTYPES:
                self._refuse(f"{_short(name)} has the type {_short(kind)}, known: {[*_DTYPES]}")
            if not 0 <= begin <= end <= size:
                self._refuse(f"{_short(name)} lies from {begin} to {end} of {size} bytes")
            if math.prod(shape) * np.dtype(_DTYPES[kind]).itemsize != end - begin:
                self._refuse(f"{_short(name)} of shape {tuple(shape)} has {end - begin} bytes")
        ends = sorted(entry["data_offsets"] for entry in header.values())
        if any(one[1] > other[0] for one, other in zip(ends, ends[1:], strict=False)):
            self._refuse("two of its arrays overlap")
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

    def _refuse(self, reason: str) -> NoReturn:
        raise ValueError(f"{self._path} is no safetensors file: {one_line(reason)}.") from None

    def __getitem__(self, name: str) -> FloatArray:
        entry = self._places[name]
        kind, shape = entry["dtype"], tuple(entry["shape"])
        raw = np.fromfile(
            self._path,
            _DTYPES[kind],
            math.prod(shape),
            offset=self._begin + entry["data_offsets"][0],
        )
        if kind == "BF16":  # the upper half of a float
            raw = (raw.astype("<u4") << 16).view("<f4")
        values = raw.astype(np.float64).reshape(shape)
        if not np.all(np.isfinite(values)):
            raise ValueError(f"{self._path}: {_short(name)} holds numbers that are not finite.")
        return values

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of an array that is not read."""
        return tuple(self._places[name]["shape"])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def check_ordinary(path: str | os.PathLike[str]) -> None:
    """Refuse pipes, devices and folders: their length says nothing of what can be read of them."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{os.fspath(path)} is not an ordinary file.")


def _short(name: str) -> str:
    return repr(name if len(name) <= 80 else name[:77] + "...")
