"""What an observable is: data with a name, a long name and a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from meanfield.arrays import FloatArray, ModalArray
from meanfield.measures import Density, Measure
from meanfield.problem import Problem

Values = dict[str, float | FloatArray]


class Axis(NamedTuple):
    """Axis of the arrays of an observable.

    Attributes
    ----------
    name : str
        Given. What files and datasets call it.
    values : ndarray, optional
        Given. Places along it, such as the middles of bins; numbers 0, 1, ... without.
    """

    name: str
    values: FloatArray | None = None


@dataclass(frozen=True)
class Observable:
    """One entry of the table.

    Attributes
    ----------
    name : str
        Given. Key in run files and in HDF5.
    long_name : str
        Given. Axis label.
    evaluate : callable (problem, measure, moments) -> dict of str to float or ndarray
        Given.
    axis : Axis, optional
        Given. Of one whose values are arrays.
    """

    name: str
    long_name: str
    evaluate: Callable[[Problem, Density | Measure, ModalArray], Values]
    axis: Axis | None = None
