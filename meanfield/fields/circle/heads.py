"""Heads on the circle: one matrix from moments to series, and velocities.

    G(theta) = int e^{<z, y>} dmu(y),    z = S^T x
    N(theta) = int e^{<z, y>} <e_theta, V y> dmu(y)

as coefficients in theta of e^{-c} G and e^{-c} N. Their matrices are double Fourier coefficients of
e^{<z, y> - c(x)} in x and y, by quadrature of positive values: nothing cancels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from meanfield.arrays import ComplexArray, FloatArray
from meanfield.engines import fourier as circle_points
from meanfield.engines.row_scale import RowScale, row_scale
from meanfield.fields.head_series import HeadField
from meanfield.spaces.circle.circle import Circle
from meanfield.terms.attention import HeadMatrices

# Degrees in x below this share of the largest are cut off as rounding, at sharpness 0.
_CUT = 1e-15


@dataclass(frozen=True, eq=False)
class CircleHead:
    """The linear map from moments to the series of a head."""

    degree: int  # of the relevant moments
    normalized: bool  # whether numerators will be divided by partition functions
    sink: float  # added to e^{-c} G, c(x) being constant
    scale: RowScale  # c(x) in the series
    # (2, 2 (out_degree + 1), 2 (degree + 1)): takes moments as pairs of real numbers to those of
    # numerator and partition.
    matrix: FloatArray

    @property
    def out_degree(self) -> int:
        return int(self.matrix.shape[1] // 2 - 1)

    def fields(self, moments: ComplexArray) -> tuple[tuple[ComplexArray, ...], ComplexArray | None]:
        """Coefficients of e^{-c} N, and of e^{-c} G with normalisation."""
        padded = resized(moments, self.degree).view(np.float64)
        if not self.normalized:
            return ((self.matrix[0] @ padded).view(np.complex128),), None
        # The rows of both in one product.
        numerator, partition = (self.matrix.reshape(-1, len(padded)) @ padded).reshape(2, -1)
        return (numerator.view(np.complex128),), partition.view(np.complex128)

    def partition(self, moments: ComplexArray) -> ComplexArray:
        padded = resized(moments, self.degree).view(np.float64)
        return np.asarray((self.matrix[1] @ padded).view(np.complex128))


def resized(moments: ComplexArray, degree: int) -> ComplexArray:
    """Moments up to a degree, missing ones zero; copied only if necessary."""
    if len(moments) > degree:
        return np.ascontiguousarray(moments[: degree + 1], dtype=np.complex128)
    return Circle().resize(moments, degree)


def stacked(tables: Sequence[CircleHead]) -> tuple[int, FloatArray]:
    """Degree of moments, and one matrix for the series of all heads.

    Its shape is (series, heads, 2 (out_degree + 1), 2 (degree + 1)): (2, heads, ...) with
    normalisation, else (1, 1, ...), where the heads are added.
    """
    degree = max(table.degree for table in tables)
    rows = max(table.matrix.shape[1] for table in tables)
    matrix = np.zeros((2, len(tables), rows, 2 * (degree + 1)))
    for n, table in enumerate(tables):
        matrix[:, n, : table.matrix.shape[1], : table.matrix.shape[2]] = table.matrix
    return degree, matrix if tables[0].normalized else matrix[:1].sum(axis=1, keepdims=True)


def head_table(
    head: HeadMatrices, normalized: bool, log_scale: float, sink: float = 0.0
) -> CircleHead:
    """Table of a head on R^2, see `engines.Engines`.

    A single token attends to itself, and its head turns by a right angle:

    >>> turning = HeadMatrices(2.0 * np.eye(2), np.array([[0.0, -1.0], [1.0, 0.0]]))
    >>> table = head_table(turning, True, 0.0)
    >>> series = table.fields(Circle().moments(np.zeros(1), None, table.degree))
    >>> velocity([HeadField(*series)], np.zeros(1)).round(12)
    array([1.])
    """
    sharpness, degree = head.sharpness, head.degree
    scale = RowScale((log_scale,))
    if normalized and not sink:
        scale = row_scale(np.asarray(np.linalg.svd(head.score, compute_uv=False)))
    reach = 3 * degree // 2 + 8
    # Exponents as large as the sharpness have as much rounding, which is noise at all degrees.
    cut = _CUT * (1.0 + 0.01 * sharpness)
    while True:
        series = np.array([_double_series(head, scale, degree, reach, n) for n in (True, False)])
        sizes = np.abs(series).max(axis=(0, 2))
        last = int(np.flatnonzero(sizes >= cut * sizes.max())[-1])
        if last < reach:
            break
        reach *= 2
    matrix = np.array([_real(each[: last + 1]) for each in series])
    # Each unit of mass, the moment of degree 0, adds its share of a sink.
    matrix[1, 0, 0] += sink
    return CircleHead(degree, normalized, sink, scale, matrix)


def _double_series(
    head: HeadMatrices, scale: RowScale, degree: int, reach: int, numerator: bool
) -> ComplexArray:
    """Coefficients g_lk of e^{<z, y> - c}, or times <e_theta, V y>, (reach + 1, 2 degree + 1).

    l are the degrees in x, and k = -degree ... degree those in y.
    """
    nodes = [2.0 * np.pi * np.arange(n) / n for n in (4 * reach, 4 * degree + 4)]
    x, y = (Circle().vectors(each) for each in nodes)
    z = x @ head.score
    values = np.exp(z @ y.T - scale.at(z)[:, None])
    if numerator:
        values *= np.column_stack([-x[:, 1], x[:, 0]]) @ (y @ head.value.T).T
    modal = np.fft.fft2(values, norm="forward")[: reach + 1]
    return np.concatenate([modal[:, -degree:], modal[:, : degree + 1]], axis=1)


def _real(series: ComplexArray) -> FloatArray:
    """Matrix of sum_k g_lk conj(c_k), c_{-k} = conj(c_k), on pairs of real numbers."""
    degree = series.shape[1] // 2
    below, above = series[:, degree::-1], series[:, degree:]
    real, imaginary = above + below, -1j * (above - below)
    real[:, 0] = above[:, 0]
    # The moment of degree 0 is a mass, hence real.
    imaginary[:, 0] = 0.0
    columns = np.stack([real, imaginary], axis=2).reshape(len(series), -1)
    return np.stack([columns.real, columns.imag], axis=1).reshape(2 * len(series), -1)


def velocity(fields: Sequence[HeadField], points: FloatArray) -> FloatArray:
    """Velocity sum_h N_h / G_h at angles, each quotient there, in one pass a head."""
    total = np.zeros(len(points))
    for head in fields:
        total += circle_points.evaluate(head.numerators[0], points, head.partition)
    return total
