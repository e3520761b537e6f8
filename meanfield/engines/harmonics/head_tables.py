"""Tables of a head on the sphere: from moments to the series of int e^{<S^T x, y> - c(x)} dmu(y).

With S = P diag(s) Q^T, P and Q rotations, let x = P x', y = Q y'. Then

    e^{<S^T x, y> - c(x)} = e^{-c} prod_i e^{s_i x'_i y'_i}

does not change when the signs of x'_i and y'_i change together. So a harmonic in y' gives only
harmonics in x' of the same three parities. There are eight blocks, each with 1/64 of all entries,

    T_{LM,lm} = int int Y_LM(x') e^{-c} prod_i {cosh, sinh}(s_i x'_i y'_i) Y_lm(y') dsigma dsigma,

and each integral needs one octant of a grid. Exponentials are positive: nothing cancels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import ducc0
import numpy as np

from meanfield.arrays import FloatArray, IntArray
from meanfield.engines.row_scale import RowScale

# Entries below these shares of the largest entry and of the kernel's largest value are cut.
_CUT, _ROUNDING = 1e-15, 1e-16
# Largest entry of the last two computed degrees, in units of the cut.
_SAFETY = 10.0
# Targets, and directions of sources, on the great circle that determines the degree.
_CIRCLE_NODES = 8192
_CIRCLE_SOURCES = 33
# Exponent whose rounding is as large as that of the transform along that circle.
_ROUNDED = 20.0


def decomposed(score: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rotations P, Q and s with S = P diag(s) Q^T; the largest |s| last unless S is diagonal."""
    diagonal = np.diag(score)
    if np.array_equal(score, np.diag(diagonal)):
        return np.eye(3), diagonal.copy(), np.eye(3)
    left, values, right = np.linalg.svd(score)
    # Largest last: the symmetry axis of a score of rank one is then the axis of the harmonics.
    left, values, right = left[:, ::-1].copy(), values[::-1].copy(), right[::-1].T.copy()
    for matrix in (left, right):
        if np.linalg.det(matrix) < 0:
            matrix[:, 0] *= -1.0
            values[0] *= -1.0
    return left, values, right


@dataclass(frozen=True)
class Block:
    """Part of a table, for harmonics with one triple of parities."""

    sources: IntArray
    targets: IntArray
    table: FloatArray  # (sources, targets)


def blocks(values: FloatArray, scale: RowScale, degree: int) -> tuple[int, list[Block]]:
    """Degree in x of the series, and blocks from moments to the series, cut below 1e-15."""
    singular = np.abs(values)
    largest = float(singular.max())
    peak = np.exp(scale.log_peak(float(singular.min()), largest))
    # Integrals are about 1 / (1 + 2 |z|) of the largest value, and round like it.
    negligible = peak * (_CUT / (1.0 + 2.0 * largest) + _ROUNDING)
    reach = target_degree(values, scale)
    while True:
        tables, sizes = [], np.zeros(reach + 1)
        for parity in product((0, 1), repeat=3):
            columns, rows = _Octant(parity, degree), _Octant(parity, reach)
            table = _table(parity, values, scale, columns, rows)
            of_rows = np.maximum(table.max(axis=0, initial=0.0), -table.min(axis=0, initial=0.0))
            np.maximum.at(sizes, rows.degrees, of_rows)
            rows_used = np.flatnonzero(of_rows > 0.1 * negligible)
            table = table[:, rows_used]
            columns_used = np.flatnonzero(np.abs(table).max(axis=1, initial=0.0) > 0.1 * negligible)
            tables.append((columns, columns_used, rows, rows_used, table[columns_used]))
        # Two successive degrees have all parities.
        if sizes[-2:].max() <= _SAFETY * negligible:
            break
        reach += 2 + reach // 8
    last = int(max(np.flatnonzero(sizes > negligible), default=0))
    cut = []
    for columns, columns_used, rows, rows_used, table in tables:
        within = rows.degrees[rows_used] <= last
        sources = columns.positions(degree)[columns_used]
        targets = rows.positions(last)[rows_used[within]]
        if len(sources) and len(targets):
            cut.append(Block(sources, targets, np.ascontiguousarray(table[:, within])))
    return last, cut


def target_degree(values: FloatArray, scale: RowScale) -> int:
    """Degree in x beyond which e^{<z, y> - c(x)} is rounding, on the circle of extreme |s|."""
    least, largest = float(np.abs(values).min()), float(np.abs(values).max())
    t = 2.0 * np.pi * np.arange(_CIRCLE_NODES) / _CIRCLE_NODES
    x = np.array([least * np.cos(t), largest * np.sin(t)])
    a = np.linspace(0.0, 0.5 * np.pi, _CIRCLE_SOURCES)
    y = np.column_stack([np.cos(a), np.sin(a)])
    # Only differences of c matter; a constant would add rounding.
    exponent = y @ x - (scale.of_squares((x**2).sum(axis=0)) - scale.of_squares(largest**2))
    # Exponents up to `largest` are rounded, and so is the transform.
    cut = _CUT * (1.0 + largest / _ROUNDED)
    sizes = np.abs(np.fft.rfft(np.exp(exponent - exponent.max()))).max(axis=0)
    degree = int(np.flatnonzero(sizes > cut * sizes.max())[-1])
    # The rest decays faster than a geometric series.
    return degree + 3 + degree // 16


def _table(
    parity: tuple[int, ...],
    values: FloatArray,
    scale: RowScale,
    columns: _Octant,
    rows: _Octant,
) -> FloatArray:
    """Entries (sources, targets) of one parity, for coefficients as pairs of real numbers."""
    parts = np.empty((rows.rings, len(rows.orders), len(columns.degrees)))
    sources = columns.directions  # (3, rings, longitudes)
    for ring in range(rows.rings):
        x = rows.directions[:, ring, :]
        exponents = -scale.of_squares(((values[:, None] * x) ** 2).sum(axis=0))[:, None, None]
        kernel = np.ones((x.shape[1], *sources.shape[1:]))
        for s, odd, along, y in zip(values, parity, x, sources, strict=True):
            a = abs(s) * along[:, None, None] * y
            exponents = exponents + a
            kernel *= 0.5 * (-np.expm1(-2.0 * a) * np.sign(s) if odd else 1.0 + np.exp(-2.0 * a))
        kernel *= np.exp(exponents)
        parts[ring] = rows.cosines.T @ columns.analysis(kernel)
    table = np.empty((len(columns.degrees), len(rows.degrees)))
    for i, (start, stop) in enumerate(rows.ranges):
        table[:, start:stop] = parts[:, i].T @ rows.legendre[i]
    # A stored moment of order m > 0 also stands for -m, so it counts twice.
    table *= np.where(columns.order > 0, 2.0, 1.0)[:, None]
    return table


class _Octant:
    """Harmonics with one triple of parities, and the octant of a grid that resolves them.

    The whole grid has an even number of rings and no node on a plane of symmetry.
    """

    def __init__(self, parity: tuple[int, ...], degree: int) -> None:
        px, py, pz = parity
        # In y cos m phi is even and sin m phi odd; in x cos m phi has the parity of m; and Y_lm has
        # the parity of l + m in z.
        self.sine = py
        first = (px + py) % 2
        self.orders = [m for m in range(first, degree + 1, 2) if m > 0 or not py]
        degrees = [np.arange(m + pz, degree + 1, 2) for m in self.orders]
        self.degrees = np.concatenate([np.zeros(0, dtype=np.int64), *degrees])
        self.order = np.repeat(np.array(self.orders, dtype=np.int64), [len(l) for l in degrees])
        stops = np.cumsum([0, *(len(l) for l in degrees)])
        self.ranges = list(zip(stops[:-1].tolist(), stops[1:].tolist(), strict=True))
        # Exact to degree 2 degree + 1 on the whole sphere.
        self.degree, self.rings = degree, degree // 2 + 1
        longitudes = (degree + 2) // 2
        theta = np.asarray(ducc0.misc.GL_thetas(2 * self.rings))[: self.rings]
        weights = np.asarray(ducc0.misc.GL_weights(2 * self.rings, 1))[: self.rings]
        self._z, self._across = np.cos(theta), np.sin(theta)
        self._weights = weights / (2.0 * np.pi)
        phi = (np.arange(longitudes) + 0.5) * 0.5 * np.pi / longitudes
        orders = np.array(self.orders)[None, :] * phi[:, None]
        waves = np.sin(orders) if py else np.cos(orders)
        signs = np.array([(-1.0) ** m for m in self.orders])
        # With the quadrature weights, and the sign of the Condon-Shortley phase.
        self.cosines = waves * signs / longitudes  # (longitudes, orders)
        self._phi = phi

    @cached_property
    def directions(self) -> FloatArray:
        """Nodes (3, rings, longitudes)."""
        across = self._across[:, None]
        z = np.broadcast_to(self._z[:, None], (self.rings, len(self._phi)))
        return np.array([across * np.cos(self._phi), across * np.sin(self._phi), z])

    @cached_property
    def legendre(self) -> list[FloatArray]:
        """Functions of each order at the rings, times weights: arrays (rings, degrees)."""
        z, across, tables = self._z, self._across, []
        sectoral = np.ones_like(z)
        wanted = {m: i for i, m in enumerate(self.orders)}
        for m in range(self.degree + 1):
            if m:
                sectoral = np.sqrt((2.0 * m + 1.0) / (2.0 * m)) * across * sectoral
            if m not in wanted:
                continue
            # z P_l = A_{l+1} P_{l+1} + A_l P_{l-1}, A_l^2 = (l^2 - m^2) / (4 l^2 - 1)
            rows, before, here, a = [], np.zeros_like(z), sectoral, 0.0
            for l in range(m, self.degree + 1):
                rows.append(here)
                up = np.sqrt(((l + 1.0) ** 2 - m**2) / (4.0 * (l + 1.0) ** 2 - 1.0))
                before, here, a = here, (z * here - a * before) / up, up
            start, stop = self.ranges[wanted[m]]
            first = self.degrees[start] - m if stop > start else 0
            chosen = rows[first::2][: stop - start]
            values = np.array(chosen).reshape(stop - start, len(z)).T
            tables.append(values * self._weights[:, None])
        return tables

    def analysis(self, values: FloatArray) -> FloatArray:
        """Integrals (..., harmonics) of values (..., rings, longitudes) times each harmonic."""
        waves = values @ self.cosines  # (..., rings, orders)
        coefficients = np.empty((*values.shape[:-2], len(self.degrees)))
        for i, (start, stop) in enumerate(self.ranges):
            coefficients[..., start:stop] = waves[..., i] @ self.legendre[i]
        return coefficients

    def positions(self, degree: int) -> IntArray:
        """Positions among coefficients up to a degree, as pairs of real numbers."""
        starts = self.order * (2 * degree + 1 - self.order) // 2
        return np.asarray(2 * (starts + self.degrees) + self.sine)
