"""Series of one head, and the table that makes them from moments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from meanfield.arrays import ModalArray
from meanfield.engines.row_scale import RowScale
from meanfield.spaces.manifold import Manifold


class HeadField(NamedTuple):
    """Series of one head in the field of one measure."""

    # Coefficients of e^{-c} <e, V m>, e along the circle, or each axis of R^3.
    numerators: tuple[ModalArray, ...]
    partition: ModalArray | None  # coefficients of e^{-c} G; None without normalisation
    # |V|_2: means are in the unit ball, so no quotient of numerators by G is larger.
    largest: float = math.inf


def together(space: Manifold, fields: Sequence[HeadField]) -> HeadField:
    """Heads without normalisation as one head, whose numerators are the sums."""
    degree = max(space.degree_of(series) for head in fields for series in head.numerators)
    each = [[space.resize(series, degree) for series in head.numerators] for head in fields]
    return HeadField(tuple(np.sum(each, axis=0)), None)


class HeadTable(Protocol):
    """The linear map from moments to the series of a head."""

    @property
    def degree(self) -> int:
        """Degree of the relevant moments."""

    @property
    def sink(self) -> float:
        """Number that the partition function adds to e^{-c} G for a unit of mass."""

    @property
    def scale(self) -> RowScale:
        """Scale c(x) of the series."""

    def fields(self, moments: ModalArray) -> tuple[tuple[ModalArray, ...], ModalArray | None]:
        """Numerators, and partition function; None without normalisation."""

    def partition(self, moments: ModalArray) -> ModalArray:
        """Partition function e^{-c} G plus the sink, also without normalisation."""
