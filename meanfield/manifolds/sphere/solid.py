"""Moments and fields of scattered points by solid harmonics, O(n L^2).

    Y_lm = s_lm R_{l-m}^(m)(z) (x + iy)^m,    R_n^(m)(1) = 1

Polynomials of unit vectors: no angles, no poles, and nothing to set up for a call.
"""

from __future__ import annotations

import math

import numpy as np

from meanfield.arrays import ComplexArray, FloatArray
from meanfield.compute.rows import ROW, empty_rows
from meanfield.compute.threads import map_chunks
from meanfield.manifolds.sphere import solid_kernels as kernels
from meanfield.manifolds.sphere.coefficients import degree_of, resize
from meanfield.manifolds.sphere.solid_rows import BLOCK, FIRST, LINES, SECOND, SUMS
from meanfield.manifolds.sphere.solid_tables import moments_of_sums, set_terms, tables

_NONE = np.empty(0)
_NO_FIELD = np.empty(0, dtype=np.complex128)
_NO_VECTORS = np.empty((0, 3))
# Up to a degree, faster than transforms up to so many tokens: moments or values, and gradients
# (tests/benchmarks/sphere_methods.py). Above the last degree sums over pairs are as fast.
_CROSSOVERS = (
    (25, math.inf, math.inf),
    (32, 100_000, 3_500),
    (40, 5_000, 2_500),
    (48, 2_500, 2_000),
    (64, 1_500, 1_000),
)
# A chunk must outweigh handing it to a thread: about 0.2 ms.
_MOST_CHUNKS = 16
_CHUNK_PRODUCTS = 1 << 19


def is_faster(count: int, max_degree: int, gradient: bool) -> bool:
    """Whether this method is faster than transforms, for moments and values or for gradients.

    Examples
    --------
    >>> is_faster(10**6, 25, True), is_faster(10**6, 32, True), is_faster(1000, 32, True)
    (True, False, True)
    """
    for degree, tokens, tokens_of_gradient in _CROSSOVERS:
        if max_degree <= degree:
            return count <= (tokens_of_gradient if gradient else tokens)
    return False


def moments(points: FloatArray, weights: FloatArray | None, max_degree: int) -> ComplexArray:
    """Moments of weighted tokens; see `points.moments`."""
    known = tables(max_degree)
    bounds = _bounds(len(points), max_degree)
    masses = _NONE if weights is None else weights

    def of_chunk(i: int) -> FloatArray:
        part = slice(bounds[i], bounds[i + 1])
        sums = empty_rows(len(known.poles) * SUMS // ROW)
        mass = 1.0 / len(points)
        kernels.add_sums(points[part], masses[part], mass, max_degree, known.steps, _work(), sums)
        return sums

    total, *others = map_chunks(of_chunk, len(bounds) - 1)
    for sums in others:
        total += sums
    found: ComplexArray = moments_of_sums(max_degree, known.poles, known.scales, total)
    return found


def evaluate(coefficients: ComplexArray, points: FloatArray) -> FloatArray:
    """Values of a real field; see `points.evaluate`."""
    values = np.empty(len(points))
    degree = degree_of(coefficients)
    _fields(degree, _NO_FIELD, coefficients, points, _NONE, _NO_VECTORS, values)
    return values


def gradient(
    coefficients: ComplexArray, points: FloatArray, divisor: ComplexArray | None
) -> FloatArray:
    """Gradient of a real field, divided by another if given; see `points.gradient`."""
    vectors = np.empty((len(points), 3))
    degree, below = degree_of(coefficients), _NO_FIELD
    if divisor is not None:
        degree = max(degree, degree_of(divisor))
        below = _resized(divisor, degree)
    field = _resized(coefficients, degree)
    _fields(degree, field, below, points, _NONE, vectors, _NONE)
    return vectors


def _resized(coefficients: ComplexArray, degree: int) -> ComplexArray:
    return coefficients if degree_of(coefficients) == degree else resize(coefficients, degree)


def _fields(
    max_degree: int,
    first: ComplexArray,
    second: ComplexArray,
    points: FloatArray,
    value: FloatArray,
    vectors: FloatArray,
    other: FloatArray,
) -> None:
    """Write into `value` and `vectors` of the first field, and `other`, where not empty."""
    known = tables(max_degree)
    count = len(known.poles)
    terms = np.empty(FIRST * count), np.empty(SECOND * count)
    set_terms(max_degree, known.poles, known.scales, first, second, *terms)
    bounds = _bounds(len(points), max_degree)

    def of_chunk(i: int) -> None:
        part = slice(bounds[i], bounds[i + 1])
        kernels.fields(
            points[part],
            max_degree,
            known.steps,
            terms[0],
            terms[1],
            len(first) > 0,
            len(second) > 0,
            _work(),
            value[part],
            vectors[part],
            other[part],
        )

    map_chunks(of_chunk, len(bounds) - 1)


def _work() -> FloatArray:
    return empty_rows(LINES * BLOCK // ROW).reshape(LINES, BLOCK)


def _bounds(size: int, max_degree: int) -> list[int]:
    """Where chunks begin and end: as many as the points pay for, whatever the threads."""
    products = size * (max_degree + 1) * (max_degree + 2) // 2
    chunks = min(_MOST_CHUNKS, max(1, products // _CHUNK_PRODUCTS))
    return [size * i // chunks for i in range(chunks + 1)]
