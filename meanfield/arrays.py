"""Names for the array types that signatures use, and equality of data that holds arrays."""

from dataclasses import fields
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]
IntArray = npt.NDArray[np.int64]
ModalArray = npt.NDArray[Any]
"""Coefficients of a field: complex, one-dimensional, in the packed layout of the manifold."""
State = npt.NDArray[Any]
"""State vector of a representation, real or complex."""
FixedArrays = dict[str, npt.NDArray[Any]]
"""Constant arrays of a representation besides its state, by name."""
_Array = TypeVar("_Array", bound=npt.NDArray[Any])


def read_only(array: _Array) -> _Array:
    """The array itself, read-only from now on: caches give it to several callers."""
    array.setflags(write=False)
    return array


def value_of(item: Any) -> int:
    """Hash of a frozen dataclass that may hold arrays: by type and values."""
    return hash((type(item), *(_comparable(getattr(item, each.name)) for each in fields(item))))


def same_value(first: Any, second: object) -> bool:
    """Equality of frozen dataclasses that may hold arrays, by type and values.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, eq=False)
    ... class Series:
    ...     coefficients: FloatArray
    ...     __eq__, __hash__ = same_value, value_of
    >>> Series(np.zeros(2)) == Series(np.zeros(2)), Series(np.zeros(2)) == Series(np.zeros(3))
    (True, False)
    """
    names = [each.name for each in fields(first)]
    if type(first) is not type(second):
        return False
    return all(_comparable(getattr(first, n)) == _comparable(getattr(second, n)) for n in names)


def _comparable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    return value


EPS = float(np.finfo(np.float64).eps)
"""Distance from 1 to the next double."""
MOMENT_NOISE = 64 * EPS
"""Rounding of moments, which are sums of unit terms over points."""


class Axes(Protocol):
    """Axes of matplotlib, which is imported only when something is drawn."""

    def inset_axes(self, bounds: Any) -> Any: ...

    def set_xlim(self, left: Any) -> Any: ...
