"""The scale e^{-c(x)} of a head's series, which their quotient does not feel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray

# Singular values that differ by more get a scale that follows |S^T x|: e^1 costs no digit.
_LEVEL = 1.0


@dataclass(frozen=True)
class RowScale:
    """Scale c(x) = constant + slope |S^T x|^2 of a head's series.

    Z is e^{|z|} times a number, z = S^T x, for a measure that is spread out. As c = |z| where that
    is largest and where it is smallest, no direction of x sinks into the rounding of the others;
    between, e^{|z| - c} <= e^{(r_1 - r_0)^2 / (4 (r_0 + r_1))} for singular values in [r_0, r_1].

    Attributes
    ----------
    constant, slope : float
        Derived.
    """

    constant: float
    slope: float

    def at(self, z: FloatArray) -> FloatArray:
        """Values where S^T x = z, (..., d) to (...)."""
        return np.asarray(self.constant + self.slope * (z * z).sum(axis=-1))


def row_scale(values: FloatArray) -> RowScale:
    """Scale for a score with these singular values, where series are divided by each other.

    Examples
    --------
    >>> row_scale(np.array([9.0, 4.0, 1.0]))
    RowScale(constant=0.9, slope=0.1)
    """
    least, largest = float(np.abs(values).min()), float(np.abs(values).max())
    if largest - least <= _LEVEL:
        return RowScale(largest, 0.0)
    return RowScale(least * largest / (least + largest), 1.0 / (least + largest))
