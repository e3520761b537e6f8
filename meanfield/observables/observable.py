"""What an observable is: data with a name, a long name and a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from meanfield.arrays import FloatArray, ModalArray
from meanfield.measures import Density, Measure
from meanfield.problem import Problem

Values = dict[str, float | FloatArray]


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
    """

    name: str
    long_name: str
    evaluate: Callable[[Problem, Density | Measure, ModalArray], Values]
