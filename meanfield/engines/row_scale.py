"""The scale e^{-c(x)} of a head's series, which their quotient does not feel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray

# Singular values that differ by more get a scale that follows |S^T x|: e^1 costs no digit.
_LEVEL = 1.0
# Natural logarithms of digits that a scale may lose, and orders that are tried for fewer.
_MOST_LOST = 7.0
_ORDERS = (2, 3)
# Values of |z| that they are fitted to, and iterations until their errors are level.
_SIZES = 401
_ROUNDS = 30


@dataclass(frozen=True)
class RowScale:
    """Scale c(x) of a head's series: a polynomial in |z|^2, z = S^T x, that follows |z|.

    c = sum_k coefficients[k] (|z| / unit)^{2 k}
    """

    coefficients: tuple[float, ...]
    unit: float = 1.0

    def at(self, z: FloatArray) -> FloatArray:
        """Values where S^T x = z, (..., d) to (...)."""
        return self.of_squares((np.asarray(z) ** 2).sum(axis=-1))

    def of_squares(self, squares: FloatArray | float) -> FloatArray:
        """Values where |z|^2 has some."""
        return np.asarray(
            np.polynomial.polynomial.polyval(squares / self.unit**2, self.coefficients)
        )

    def log_peak(self, least: float, largest: float) -> float:
        """Largest |z| - c for |z| from `least` to `largest`: logarithm of what rounds most."""
        sizes = np.linspace(least, largest, _SIZES)
        return float((sizes - self.of_squares(sizes**2)).max())


def row_scale(values: FloatArray) -> RowScale:
    """Scale for a score with these singular values, where series are divided by each other.

    That of degree 1 equals |z| at its largest value r_1 and its smallest r_0, and loses
    (r_1 - r_0)^2 / (4 (r_1 + r_0)) natural logarithms; above 7 a higher degree loses fewer.
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
