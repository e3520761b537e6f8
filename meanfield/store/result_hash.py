"""Hash of results: equal numbers have equal hashes in every file.

SHA-256 over a line "meanfield results 1" and then, for each array in the order of their names, a
line "NAME TYPE SHAPE" and its numbers in C order: little-endian doubles (f8), pairs of them for
complex numbers (c16), integers of 8 bytes (i8). Every NaN has the same bytes. Trailing columns that
are NaN in all rows are padding of a run, and do not count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

_TYPES = {"f": "f8", "c": "c16", "i": "i8", "u": "i8"}

# Wide moments are read in pieces of this size.
_PIECE_BYTES = 2**24


def result_hash(results: Mapping[str, Any]) -> str:
    """Hash of named arrays of numbers with at least one axis: 64 hexadecimal digits."""
    digest = hashlib.sha256(b"meanfield results 1\n")
    for name in sorted(results):
        values = results[name]
        if values.dtype.kind not in _TYPES:
            raise TypeError(f"{name} is of {values.dtype}, expected an array of numbers.")
        kind = _TYPES[values.dtype.kind]
        shape = "x".join(map(str, values.shape))
        digest.update(f"{name} {kind} {shape}\n".encode())
        for piece in _pieces(values):
            digest.update(_canonical(piece, kind).data)
    return digest.hexdigest()


def run_results(time: Any, moments: Any, observables: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays of a run that its hash covers; observables with several columns are read here."""
    named = {f"observables/{name}": _unpadded(values) for name, values in observables.items()}
    return {"time": time, "moments": moments, **named}


def _unpadded(values: Any) -> Any:
    if len(values.shape) < 2:
        return values
    table = values[()]
    others = tuple(axis for axis in range(table.ndim) if axis != 1)
    used = np.flatnonzero(~np.isnan(table).all(axis=others))
    return table[:, : used[-1] + 1 if len(used) else 0]


def _pieces(values: Any) -> Iterator[npt.NDArray[Any]]:
    """Rows of an array or dataset, many at a time."""
    row_bytes = values.dtype.itemsize * int(np.prod(values.shape[1:]))
    rows = max(_PIECE_BYTES // max(row_bytes, 1), 1)
    for first in range(0, values.shape[0], rows):
        yield np.asarray(values[first : first + rows])


def _canonical(piece: npt.NDArray[Any], kind: str) -> npt.NDArray[Any]:
    """Numbers of a piece, one-dimensional, with the bytes that are hashed."""
    flat = np.ascontiguousarray(piece, f"<{kind}").reshape(-1)
    if kind == "i8":
        return flat
    numbers = flat.view("<f8")
    missing = np.isnan(numbers)
    # Bits of a NaN depend on its origin, which is no result.
    return np.where(missing, np.nan, numbers) if missing.any() else numbers
