"""Matrices as users give them: a number, a diagonal or rows, made plain data and checked."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from meanfield.arrays import FloatArray

# Larger ones overflow in products; those of transformers are below 100.
_LARGEST_ENTRY = 1e8
# Rows and columns that are printed; larger matrices print their shape.
_PRINTED = 4


def plain(name: str, value: Any) -> Any:
    """Matrix as plain data: number, tuple or tuple of rows; a function of time unchanged."""
    if callable(value) and not isinstance(value, type):
        return value
    try:
        numbers = np.asarray(value)
        # Real numbers alone: complex ones would lose a part, None would be a nan, True a 1.
        if numbers.dtype.kind not in "iuf":
            raise TypeError
        array = numbers.astype(np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name} must be a real number, a diagonal or rows of equal length, got {value!r}."
        ) from None
    if array.ndim > 2 or array.size == 0:
        raise ValueError(
            f"{name} has shape {array.shape}, expected a number, a diagonal (d,) or rows (k, d)."
        )
    wrong = array[~(np.abs(array) <= _LARGEST_ENTRY)]
    if len(np.atleast_1d(wrong)):
        raise ValueError(
            f"{name} holds {np.atleast_1d(wrong)[0]:g}, expected finite numbers up to "
            f"{_LARGEST_ENTRY:g}."
        )
    rows = array.tolist()
    return tuple(map(tuple, rows)) if array.ndim == 2 else tuple(rows) if array.ndim else rows


def matrix(name: str, value: Any, d: int, *, square: bool) -> FloatArray:
    """Matrix on R^d from a number, a diagonal or rows."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0:
        return float(array) * np.eye(d)
    if array.ndim == 1:
        if len(array) != d:
            raise ValueError(f"{name} has {len(array)} numbers on its diagonal, expected {d}.")
        return np.diag(array)
    if array.shape[1] != d or (square and array.shape[0] != d):
        rows = d if square else "k"
        raise ValueError(f"{name} has shape {array.shape}, expected ({rows}, {d}) for tokens in "
                         f"R^{d}.")  # fmt: skip
    return array


def printed(value: Any) -> str:
    """Text of a matrix; of a large one its shape.

    >>> printed((2.0, 1.0)), printed(((0.0,) * 64,) * 64)
    ('(2.0, 1.0)', 'array(64, 64)')
    """
    if callable(value):
        return str(getattr(value, "__name__", value))
    shape = np.shape(value)
    return repr(value) if max(shape, default=0) <= _PRINTED else f"array{shape}"


def repr_of_fields(item: Any) -> str:
    """Repr of a dataclass of matrices."""
    parts = (f"{each.name}={printed(getattr(item, each.name))}" for each in fields(item))
    return f"{type(item).__name__}({', '.join(parts)})"


def turns_alone(matrix: FloatArray) -> bool:
    """True if a matrix multiplies vectors of the plane as a complex number does.

    >>> turns_alone(np.array([[1.0, -2.0], [2.0, 1.0]])), turns_alone(np.diag([1.0, 2.0]))
    (True, False)
    """
    (a, b), (c, d) = matrix
    return bool(a == d and b == -c)
