"""Weights in files of two formats, safetensors and GGUF.

Nothing in such a file is executed. Every count, size and offset is checked against the length of
the file before memory is taken, and an array takes memory only when it is read. Safetensors:

    8 bytes      N, little endian
    N bytes      JSON: {name: {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
    the rest     arrays in C order, at these offsets from its beginning

GGUF:

    "GGUF"       version (2, 3), number of arrays, number of settings
    settings     name, type, value: numbers, texts, lists of them
    arrays       name, shape (the fastest axis first), type, offset
    the rest     arrays at these offsets from the next multiple of the alignment

Blocks of 32 numbers share a scale d in half precision, and in Q4_1 a smallest value m:

    Q8_0    d q,  q one byte            Q4_0    d (q - 8)          Q4_1    d q + m,  q four bits
    Q4_K    d s q - m t                 Q6_K    d s (q - 32)

In Q4_K and Q6_K 256 numbers share d and m, and 32 or 16 of them share integers s and t of 6 or 8
bits.
"""

from __future__ import annotations

import json
import math
import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from meanfield.arrays import FloatArray
from meanfield.errors import one_line

_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4"}
# Limit of the format.
_LONGEST_HEADER = 100_000_000


class Place(NamedTuple):
    """Type and shape of an array, and its range of bytes in the file."""

    kind: str
    shape: tuple[int, ...]
    begin: int
    end: int


class ArrayFile(Mapping[str, FloatArray]):
    """Arrays of a file by name, in double precision; each is read on access."""

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
        """Places of all arrays in a file of this size; refuses impossible ones."""

    @abstractmethod
    def _decoded(self, kind: str, raw: NDArray[np.uint8]) -> NDArray[Any]:
        """Numbers of a type from their bytes."""

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
        """Shape of an array, without reading it."""
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
        # BF16 is the upper half of a float.
        return (values.astype("<u4") << 16).view("<f4") if kind == "BF16" else values

    def _checked(self, text: bytes, size: int) -> dict[str, dict[str, Any]]:
        """Entries of the header; refuses impossible ones."""
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
    """Refuse pipes, devices and folders, whose length does not limit the bytes that are read."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{os.fspath(path)} is not an ordinary file.")


def short(name: str) -> str:
    """Short form of a name for a message."""
    return repr(name if len(name) <= 80 else name[:77] + "...")


Bytes = NDArray[np.uint8]
# Types of settings by number; 7 is a bool, 8 a text, 9 a list.
_SCALARS = {
    0: "<u1", 1: "<i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", 7: "<u1", 10: "<u8",
    11: "<i8", 12: "<f8",
}  # fmt: skip
_TEXT, _LIST, _TRUTH = 8, 9, 7
# The shortest setting and the shortest entry of an array, in bytes.
_SETTING, _ENTRY = 13, 24
_LARGEST_ALIGNMENT = 2**20


class GGUF(ArrayFile):
    """Arrays of a GGUF file, and its `settings`.

    https://github.com/ggml-org/ggml (format, and blocks of its types).
    """

    format = "GGUF"

    def _read(self, file: BinaryIO, size: int) -> dict[str, Place]:
        self._file, self._left = file, size
        if self._take(4) != b"GGUF":
            self._refuse("it does not begin with GGUF")
        if (version := self._number("<u4")) not in (2, 3):
            self._refuse(f"it has version {version}, known are 2 and 3")
        count, many = self._number("<u8"), self._number("<u8")
        if count * _ENTRY + many * _SETTING > self._left:
            self._refuse(f"{count} arrays and {many} settings have no room in it")
        self.settings: dict[str, Any] = {}
        for _ in range(many):
            name = self._text()
            if name in self.settings:
                self._refuse(f"it has the setting {short(name)} twice")
            self.settings[name] = self._value(self._number("<u4"))
        entries = {name: place for name, place in (self._entry() for _ in range(count))}
        if len(entries) < count:
            self._refuse("it names an array twice")
        align = self.settings.get("general.alignment", 32)
        if type(align) is not int or not 0 < align <= _LARGEST_ALIGNMENT:
            self._refuse(f"its alignment is {align!r}, expected 1 to {_LARGEST_ALIGNMENT} bytes")
        begin = -(-(size - self._left) // align) * align
        places = {}
        for name, place in entries.items():
            places[name] = place._replace(begin=begin + place.begin, end=begin + place.end)
            if places[name].end > size:
                self._refuse(f"{short(name)} ends at byte {places[name].end} of {size}")
        return places

    def _decoded(self, kind: str, raw: Bytes) -> NDArray[Any]:
        length, _, decode = _TYPES[kind]
        return np.asarray(decode(raw.reshape(-1, length)))

    def _entry(self) -> tuple[str, Place]:
        """Name and place of the next array, with offsets from the first array."""
        name = self._text()
        axes = self._number("<u4")
        if not 1 <= axes <= 4:
            self._refuse(f"{short(name)} has {axes} axes, expected 1 to 4")
        shape = tuple(self._number("<u8") for _ in range(axes))
        number, offset = self._number("<u4"), self._number("<u8")
        if number not in _NUMBERS:
            self._refuse(f"{short(name)} has type number {number}, known: {_NUMBERS}")
        length, count, _ = _TYPES[_NUMBERS[number]]
        if shape[0] % count or not all(shape):
            self._refuse(f"{short(name)} has shape {shape}, expected blocks of {count}")
        end = offset + math.prod(shape) // count * length
        return name, Place(_NUMBERS[number], shape[::-1], offset, end)

    def _value(self, kind: int) -> Any:
        if kind == _TEXT:
            return self._text()
        if kind != _LIST:
            return self._numbers(kind, 1)[0].item()
        kind, count = self._number("<u4"), self._number("<u8")
        if kind != _TEXT:
            return self._numbers(kind, count)
        if 8 * count > self._left:
            self._refuse(f"a list of {count} texts has no room in it")
        return [self._text() for _ in range(count)]

    def _numbers(self, kind: int, count: int) -> NDArray[Any]:
        if kind not in _SCALARS:
            self._refuse(f"a setting has type number {kind}, known: {[*_SCALARS, _TEXT, _LIST]}")
        dtype = np.dtype(_SCALARS[kind])
        values = np.frombuffer(self._take(count * dtype.itemsize), dtype)
        return values != 0 if kind == _TRUTH else values

    def _text(self) -> str:
        try:
            return self._take(self._number("<u8")).decode("utf-8")
        except UnicodeDecodeError:
            self._refuse("a text in it is no UTF-8")

    def _number(self, dtype: str) -> int:
        return int.from_bytes(self._take(int(dtype[2])), "little")

    def _take(self, count: int) -> bytes:
        if count > self._left:
            self._refuse(f"it ends before {count} bytes that its header promises")
        self._left -= count
        return self._file.read(count)


def _half(raw: Bytes, begin: int) -> NDArray[np.float32]:
    """Half-precision number of each block at a byte, (n, 1)."""
    return np.ascontiguousarray(raw[:, begin : begin + 2]).view("<f2").astype(np.float32)


def _nibbles(raw: Bytes, width: int) -> NDArray[np.float32]:
    """Four-bit numbers: low halves of `width` bytes, then their high halves."""
    parts = raw.reshape(len(raw), -1, 1, width)
    return np.concatenate([parts & 15, parts >> 4], axis=2).reshape(len(raw), -1).astype("f4")


def _q8_0(raw: Bytes) -> FloatArray:
    return np.asarray(_half(raw, 0) * raw[:, 2:].view("i1").astype(np.float32))


def _q4_0(raw: Bytes) -> FloatArray:
    return np.asarray(_half(raw, 0) * (_nibbles(raw[:, 2:], 16) - 8))


def _q4_1(raw: Bytes) -> FloatArray:
    return np.asarray(_half(raw, 0) * _nibbles(raw[:, 4:], 16) + _half(raw, 2))


def _q4_k(raw: Bytes) -> FloatArray:
    # Eight s and t of six bits in twelve bytes: four of each, then low bits of the others.
    low, middle, high = raw[:, 4:8], raw[:, 8:12], raw[:, 12:16]
    scales = np.hstack([low & 63, high & 15 | low >> 6 << 4]).astype(np.float32)
    shifts = np.hstack([middle & 63, high >> 4 | middle >> 6 << 4]).astype(np.float32)
    q = _nibbles(raw[:, 16:], 32).reshape(-1, 8, 32)
    return np.asarray((_half(raw, 0) * scales)[..., None] * q - (_half(raw, 2) * shifts)[..., None])


def _q6_k(raw: Bytes) -> FloatArray:
    low = raw[:, :128].reshape(-1, 2, 1, 64)
    high = raw[:, 128:192].reshape(-1, 2, 1, 32)
    low = np.concatenate([low & 15, low >> 4], axis=2).reshape(-1, 2, 4, 32)
    upper = np.concatenate([high >> shift & 3 for shift in (0, 2, 4, 6)], axis=2)
    q = (low | upper << 4).reshape(-1, 16, 16).astype(np.float32) - 32
    scales = raw[:, 192:208].view("i1").astype(np.float32)
    return np.asarray((_half(raw, 208) * scales)[..., None] * q)


_TYPES: dict[str, tuple[int, int, Callable[[Bytes], Any]]] = {
    "F32": (4, 1, lambda raw: raw.view("<f4")),
    "F16": (2, 1, lambda raw: raw.view("<f2")),
    "BF16": (2, 1, lambda raw: (raw.view("<u2").astype("<u4") << 16).view("<f4")),
    "Q8_0": (34, 32, _q8_0),
    "Q4_0": (18, 32, _q4_0),
    "Q4_1": (20, 32, _q4_1),
    "Q4_K": (144, 256, _q4_k),
    "Q6_K": (210, 256, _q6_k),
}
"""Type -> bytes of a block, count of its numbers, and function that decodes blocks."""
_NUMBERS = {0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 8: "Q8_0", 12: "Q4_K", 14: "Q6_K", 30: "BF16"}
