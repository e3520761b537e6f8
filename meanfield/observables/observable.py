"""Interface of observables: data with a name, a long name and a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from meanfield.arrays import FloatArray, ModalArray
from meanfield.measures import Density, Measure
from meanfield.problem import Problem

Values = dict[str, float | FloatArray]


class Axis(NamedTuple):
    """Axis of the arrays of an observable."""

    name: str  # what files and datasets call it
    # Places along it, such as the middles of bins; numbers 0, 1, ... without.
    values: FloatArray | None = None


@dataclass(frozen=True)
class Observable:
    """One entry of the table."""

    name: str  # key in run files and in HDF5
    long_name: str  # axis label
    evaluate: Callable[[Problem, Density | Measure, ModalArray], Values]
    axis: Axis | None = None  # of one whose values are arrays
