"""Weights in the GGUF format: settings, names, types and places, then blocks of numbers.

    "GGUF"       version (2, 3), number of arrays, number of settings
    settings     name, type, value: numbers, texts, lists of them
    arrays       name, shape (the fastest axis first), type, offset
    the rest     arrays at these offsets from the next multiple of the alignment

Blocks of 32 numbers share a scale d in half precision, and perhaps a smallest value m:

    Q8_0    d q,  q one byte            Q4_0    d (q - 8)          Q4_1    d q + m,  q four bits
    Q4_K    d s q - m t                 Q6_K    d s (q - 32)

of Q4_K and Q6_K 256 numbers share d and m, and 32 or 16 of them integers s and t of 6 or 8 bits.
Every count, size and place is checked against the length of the file before memory is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from meanfield.arrays import FloatArray
from meanfield.models.safetensors import ArrayFile, Place, short

Bytes = NDArray[np.uint8]
# Types of settings by number; 7 is a truth value, 8 a text, 9 a list.
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
        """Name of the next array, and its bytes counted from the first array."""
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
    """Scale of each block, (n, 1)."""
    return np.ascontiguousarray(raw[:, begin : begin + 2]).view("<f2").astype(np.float32)


def _nibbles(raw: Bytes, width: int) -> NDArray[np.float32]:
    """Numbers of four bits: low halves of `width` bytes, then their high halves."""
    parts = raw.reshape(len(raw), -1, 1, width)
    return np.concatenate([parts & 15, parts >> 4], axis=2).reshape(len(raw), -1).astype("f4")


def _q8_0(raw: Bytes) -> FloatArray:
    return np.asarray(_half(raw, 0) * raw[:, 2:].view("i1").astype(np.float32))


def _q4_0(raw: Bytes) -> FloatArray:
    return np.asarray(_half(raw, 0) * (_nibbles(raw[:, 2:], 16) - 8))


def _q4_1(raw: Bytes) -> FloatArray:
    return np.asarray(_half(raw, 0) * _nibbles(raw[:, 4:], 16) + _half(raw, 2))


def _q4_k(raw: Bytes) -> FloatArray:
    # Six bits of eight s and t in twelve bytes: four of each, then low bits of the others.
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
"""Type -> bytes of a block, numbers in it, and these in single precision."""
_NUMBERS = {0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 8: "Q8_0", 12: "Q4_K", 14: "Q6_K", 30: "BF16"}
