"""The scale e^{-c(x)} of a head's series, which cancels in their quotient."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray

# Singular values that differ by more get a scale that follows |S^T x|; a factor e^1 is harmless.
_LEVEL = 1.0
# Digits that a scale may lose, as a natural logarithm; and orders in |z|^2 that lose fewer.
_MOST_LOST = 7.0
_ORDERS = (2, 3)
# Values of |z| in a fit, and iterations until its errors are level.
_SIZES = 401
_ROUNDS = 30


@dataclass(frozen=True)
class RowScale:
    """Scale c(x) of a head's series: a polynomial in |z|^2, z = S^T x, that approximates |z|.

    c = sum_k coefficients[k] (|z| / unit)^{2 k}
    """

    coefficients: tuple[float, ...]
    unit: float = 1.0

    def at(self, z: FloatArray) -> FloatArray:
        """Values c at z = S^T x, (..., d) to (...)."""
        return self.of_squares((np.asarray(z) ** 2).sum(axis=-1))

    def of_squares(self, squares: FloatArray | float) -> FloatArray:
        """Values c at |z|^2."""
        return np.asarray(
            np.polynomial.polynomial.polyval(squares / self.unit**2, self.coefficients)
        )

    def log_peak(self, least: float, largest: float) -> float:
        """Largest |z| - c for |z| from `least` to `largest`: logarithm of the largest value."""
        sizes = np.linspace(least, largest, _SIZES)
        return float((sizes - self.of_squares(sizes**2)).max())


def row_scale(values: FloatArray) -> RowScale:
    """Scale for a score with these singular values, for a quotient of series.

    The polynomial of degree 1 equals |z| at its largest value r_1 and its smallest r_0. It loses a
    factor e^{(r_1 - r_0)^2 / (4 (r_1 + r_0))}; above e^7 the degree is 2 or 3.
    """
    least, largest = float(np.abs(values).min()), float(np.abs(values).max())
    if largest - least <= _LEVEL:
        return RowScale((largest,))
    total = least + largest
    if (largest - least) ** 2 <= 4.0 * _MOST_LOST * total:
        return RowScale((least * largest / total, 1.0 / total))
    sizes = np.linspace(least, largest, _SIZES)
    squares = (sizes / largest) ** 2
    for order in _ORDERS:
        # Lawson's iteration: weights grow where the error is largest, until it is equal.
        weights = np.ones(_SIZES)
        for _ in range(_ROUNDS):
            polynomial = np.polynomial.Polynomial.fit(squares, sizes, order, w=np.sqrt(weights))
            errors = sizes - polynomial(squares)
            weights *= np.abs(errors)
            weights /= weights.sum()
        if np.ptp(errors) <= _MOST_LOST:
            break
    return RowScale(tuple(polynomial.convert().coef.tolist()), largest)
