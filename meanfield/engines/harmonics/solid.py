"""Moments and fields of scattered points by solid harmonics, O(n L^2).

    Y_lm = s_lm R_{l-m}^(m)(z) (x + iy)^m,    R_n^(m)(1) = 1

These are polynomials of unit vectors: they need no angles and no setup, and poles are regular.
"""

from __future__ import annotations

import math

import numpy as np

from meanfield.arrays import ComplexArray, FloatArray
from meanfield.engines.harmonics import solid_kernels as kernels
from meanfield.engines.harmonics.coefficients import degree_of, resize
from meanfield.engines.harmonics.scratch import Scratch
from meanfield.engines.harmonics.solid_rows import BLOCK, FIRST, LINES, SECOND, SUMS
from meanfield.engines.harmonics.solid_tables import (
    moments_of_sums,
    set_terms,
    tables,
)
from meanfield.engines.rows import ROW, empty_rows
from meanfield.engines.threads import MOST_CHUNKS, chunk_bounds, map_chunks

# Terms of two fields; empty where a field is missing.
_Terms = tuple[FloatArray, FloatArray]
_scratch = Scratch(lambda size: empty_rows(-(-size // ROW)))
_NONE = np.empty(0)
_NO_FIELD = np.empty(0, dtype=np.complex128)
_NO_VECTORS = np.empty((0, 3))
# Largest degree; largest numbers of tokens up to which this method is faster than transforms for
# moments or values, and for velocities, also gradients (tests/benchmarks/sphere_methods.py). Above
# the last degree sums over pairs are as fast.
_CROSSOVERS = (
    (21, math.inf, math.inf),
    (23, math.inf, 11_000),
    (25, math.inf, 5_500),
    (28, math.inf, 3_500),
    (32, 8_500, 2_100),
    (36, 4_400, 1_800),
    (40, 3_200, 1_500),
    (48, 2_100, 1_400),
    (64, 1_450, 1_150),
)
# Products that take a thread about 0.2 ms, longer than its start.
_CHUNK_PRODUCTS = 1 << 19


def is_faster(count: int, max_degree: int, gradient: bool) -> bool:
    """True if this method is faster than transforms, for moments and values or for gradients."""
    for degree, tokens, tokens_of_gradient in _CROSSOVERS:
        if max_degree <= degree:
            return count <= (tokens_of_gradient if gradient else tokens)
    return False


def moments(points: FloatArray, weights: FloatArray | None, max_degree: int) -> ComplexArray:
    """Moments of weighted tokens; see `points.moments`."""
    table, sums = tables(max_degree), sums_of(points, weights, max_degree)
    result: ComplexArray = moments_of_sums(max_degree, table.poles, table.scales, sums)
    return result


def evaluate(coefficients: ComplexArray, points: FloatArray) -> FloatArray:
    """Values of a real field; see `points.evaluate`."""
    values = np.empty(len(points))
    degree = degree_of(coefficients)
    terms = _terms(degree, _NO_FIELD, coefficients)
    write_fields(degree, terms, _NONE, points, _NONE, _NO_VECTORS, values)
    return values


def gradient(
    coefficients: ComplexArray,
    points: FloatArray,
    divisor: ComplexArray | None,
    slope: float | None = None,
) -> FloatArray:
    """Gradient of a real field, divided by another if given; see `points.gradient`."""
    vectors = np.empty((len(points), 3))
    degree, below, line = degree_of(coefficients), _NO_FIELD, _NONE
    if divisor is not None and slope is not None:
        line = np.array([divisor[0].real - slope * coefficients[0].real, slope])
    elif divisor is not None:
        degree = max(degree, degree_of(divisor))
        below = _resized(divisor, degree)
    terms = _terms(degree, _resized(coefficients, degree), below)
    write_fields(degree, terms, line, points, _NONE, vectors, _NONE)
    return vectors


def _resized(coefficients: ComplexArray, degree: int) -> ComplexArray:
    return coefficients if degree_of(coefficients) == degree else resize(coefficients, degree)


def sums_of(points: FloatArray, weights: FloatArray | None, max_degree: int) -> FloatArray:
    """Sums of weighted polynomials of tokens, in memory that the next call may overwrite."""
    steps, count = tables(max_degree).steps, len(tables(max_degree).poles)
    bounds = _bounds(len(points), max_degree)
    masses, mass = _NONE if weights is None else weights, 1.0 / len(points)
    # Sums of several chunks exist at the same time, on other threads.
    several, whole = len(bounds) > 2, (count * SUMS,)

    def of_chunk(i: int) -> FloatArray:
        part = slice(bounds[i], bounds[i + 1])
        sums = empty_rows(count * SUMS // ROW) if several else _scratch.array("sums", whole)
        kernels.add_sums(points[part], masses[part], mass, max_degree, steps, _work(), sums)
        return sums

    total, *others = map_chunks(of_chunk, len(bounds) - 1)
    for sums in others:
        total += sums
    return total


def _terms(max_degree: int, first: ComplexArray, second: ComplexArray) -> _Terms:
    """Terms of one or two fields, empty where a field is missing."""
    table = tables(max_degree)
    terms = empty_terms(len(table.poles), len(first) > 0, len(second) > 0)
    set_terms(max_degree, table.poles, table.scales, first, second, *terms)
    return terms


def empty_terms(count: int, first: bool, second: bool) -> _Terms:
    """Arrays for the terms of one or two fields, in memory that the next call may overwrite."""
    return (
        _scratch.array("first", (FIRST * count * first,)),
        _scratch.array("second", (SECOND * count * second,)),
    )


def write_fields(
    max_degree: int,
    terms: _Terms,
    line: FloatArray,
    points: FloatArray,
    value: FloatArray,
    vectors: FloatArray,
    other: FloatArray,
) -> None:
    """Write values and gradients of the first field, and values of the other, where not empty."""
    steps, (first, second) = tables(max_degree).steps, terms
    bounds = _bounds(len(points), max_degree)

    def of_chunk(i: int) -> None:
        part = slice(bounds[i], bounds[i + 1])
        kernels.fields(
            points[part],
            max_degree,
            steps,
            first,
            second,
            len(first) > 0,
            len(second) > 0,
            line,
            _work(),
            value[part],
            vectors[part],
            other[part],
        )

    map_chunks(of_chunk, len(bounds) - 1)


def _work() -> FloatArray:
    return _scratch.array("work", (LINES, BLOCK))


def _bounds(size: int, max_degree: int) -> list[int]:
    """Bounds of chunks; their number depends on the work, not on the threads."""
    products = size * (max_degree + 1) * (max_degree + 2) // 2
    chunks = min(MOST_CHUNKS, max(1, products // _CHUNK_PRODUCTS))
    return chunk_bounds(size, chunks)
