"""Moments of scattered tokens on the sphere, and fields and gradients at scattered points.

    m_lm = sum_j w_j conj(Y_lm(x_j)),     g(x) = sum_l g_l0 Y_l0(x) + 2 Re sum_{m>0} g_lm Y_lm(x)

All three are ducc0's transforms at general points. With more than one thread those do not
give the same bits twice, so points are cut into chunks, one call on one thread each, and
moments are added in the order of the chunks: the same to the bit for any number of threads.
"""

from __future__ import annotations

import operator

import ducc0
import numpy as np
import numpy.typing as npt

from meanfield.arrays import ComplexArray, FloatArray
from meanfield.compute.threads import map_chunks
from meanfield.manifolds.sphere.angles import angles_of, tangent_vectors
from meanfield.manifolds.sphere.coefficients import count_of, degree_of, resize
from meanfield.manifolds.sphere.margin import arguments, with_margin, without_margin
from meanfield.manifolds.sphere.scratch import Scratch

# Harmonics orthonormal for sigma are sqrt(4 pi) times ducc0's.
_SCALE = np.sqrt(4.0 * np.pi)
# The finest that ducc0 accepts; 1e-13 would save a tenth of the time.
_EPSILON = 1e-14
# Each chunk makes (moments: collapses) its own fine grid, at a cost that grows with the degree.
_LEAST_CHUNK = 16_384
_LEAST_CHUNK_PER_COEFFICIENT = 16
_ENOUGH_CHUNKS = 8
_LARGEST_CHUNK = 131_072

_scratch = Scratch()


def moments(points: FloatArray, weights: FloatArray | None, max_degree: int) -> ComplexArray:
    """Moments of weighted tokens.

        m_lm = sum_j w_j conj(Y_lm(x_j)),    0 <= m <= l <= max_degree

    Parameters
    ----------
    points : ndarray, shape (n, 3)
        Vectors of length 1e-100 to 1e100, of which only the directions count. Others, and a NaN,
        make all moments NaN.
    weights : ndarray, shape (n,), or None
        Masses; None means 1/n each, and no array of them is made.
    max_degree : int
        L, at least 0.

    Returns
    -------
    ndarray, shape ((L + 1)(L + 2) / 2,), complex
        Within 1e-13 of the exact sums for masses that sum to 1.

    Raises
    ------
    ValueError
        If there are no points, shapes do not fit, or max_degree is negative.

    Examples
    --------
    The mean vector of one token at the north pole has length 1; Y_10 = sqrt(3) z.

    >>> moments(np.array([[0.0, 0.0, 1.0]]), None, 1).round(6) + 0.0
    array([1.      +0.j, 1.732051+0.j, 0.      +0.j])
    """
    vectors = _vectors(points)
    degree = operator.index(max_degree)
    if degree < 0:
        raise ValueError(f"max_degree must be at least 0, got {degree}.")
    count = len(vectors)
    if weights is None:
        masses = np.broadcast_to(1.0 / count, count)
    else:
        masses = np.asarray(weights, dtype=np.float64)
        if masses.shape != (count,):
            raise ValueError(
                f"weights have shape {masses.shape}, points {vectors.shape}: expected ({count},)."
            )
    bounds = _chunk_bounds(count, degree)

    def of_chunk(i: int) -> ComplexArray:
        chosen = slice(bounds[i], bounds[i + 1])
        locations, valid = _angles(vectors[chosen])
        if not valid:
            return np.full(count_of(degree), np.nan, dtype=np.complex128)
        found: ComplexArray = ducc0.sht.adjoint_synthesis_general(
            map=masses[None, chosen],
            **arguments(degree),
            loc=locations,
            epsilon=_EPSILON,
            nthreads=1,
        )
        return without_margin(found, degree)

    parts = map_chunks(of_chunk, len(bounds) - 1)
    total = parts[0]
    for part in parts[1:]:
        total += part
    total *= _SCALE
    total[: degree + 1].imag = 0.0
    return total


def evaluate(coefficients: ComplexArray, points: FloatArray) -> FloatArray:
    """Values of a real field at points.

    Parameters
    ----------
    coefficients : ndarray, shape ((L + 1)(L + 2) / 2,)
        g_lm, complex or real.
    points : ndarray, shape (n, 3)
        Vectors of length 1e-100 to 1e100, of which only the directions count. Others, and a NaN,
        give NaN there.

    Returns
    -------
    ndarray, shape (n,)

    Raises
    ------
    ValueError
        If there are no points, or the number of coefficients belongs to no degree.

    Examples
    --------
    >>> evaluate(np.array([1.0, 0.5, 0.0]), np.array([[0.0, 0.0, 1.0]])).round(6)
    array([1.866025])
    """
    vectors = _vectors(points)
    degree, alm = _scalar(coefficients)
    values = np.empty(len(vectors))
    bounds = _chunk_bounds(len(vectors), degree)

    def of_chunk(i: int) -> None:
        chosen = slice(bounds[i], bounds[i + 1])
        locations, invalid = _locations(vectors[chosen])
        _values(degree, alm, locations, values[None, chosen])
        if invalid is not None:
            values[chosen][invalid] = np.nan

    map_chunks(of_chunk, len(bounds) - 1)
    return values


def gradient(
    coefficients: ComplexArray, points: FloatArray, divisor: ComplexArray | None = None
) -> FloatArray:
    """Gradient of a real field at points, divided by another field if given.

    Parameters
    ----------
    coefficients : ndarray, shape ((L + 1)(L + 2) / 2,)
        g_lm, complex or real.
    points : ndarray, shape (n, 3)
        Vectors of length 1e-100 to 1e100, of which only the directions count. Others, and a NaN,
        give NaN there.
    divisor : ndarray, optional
        h_lm, of the same degree or another.

    Returns
    -------
    ndarray, shape (n, 3)
        Tangent vectors. At the poles as anywhere.

    Raises
    ------
    ValueError
        If there are no points, or the number of coefficients belongs to no degree.

    Examples
    --------
    The gradient of z = Y_10 / sqrt(3) is the projection of the z axis to the tangent plane:

    >>> z = np.array([0.0, 1.0, 0.0]) / np.sqrt(3.0)
    >>> gradient(z, np.array([[1.0, 0.0, 0.0], [0.6, 0.0, 0.8]])).round(12) + 0.0
    array([[ 0.  ,  0.  ,  1.  ],
           [-0.48,  0.  ,  0.36]])
    """
    vectors = _vectors(points)
    scaled = _scaled(coefficients)
    # ducc0 knows no gradients of degree 0.
    degree = max(degree_of(scaled), 1)
    alm = resize(scaled, degree)[None] if degree_of(scaled) == 0 else scaled[None]
    under = None if divisor is None else _scalar(divisor)
    found = np.empty((len(vectors), 3))
    bounds = _chunk_bounds(len(vectors), degree)

    def of_chunk(i: int) -> None:
        chosen = slice(bounds[i], bounds[i + 1])
        locations, invalid = _locations(vectors[chosen])
        components = ducc0.sht.synthesis_general(
            alm=alm,
            spin=1,
            mode="DERIV1",
            lmax=degree,
            loc=locations,
            epsilon=_EPSILON,
            nthreads=1,
            map=_scratch.array("components", (2, len(locations))),
        )
        if under is not None:
            below = _scratch.array("divisor", (1, len(locations)))
            with np.errstate(divide="ignore", invalid="ignore"):
                components /= _values(*under, locations, below)
        tangent_vectors(vectors[chosen], components, found[chosen])
        if invalid is not None:
            found[chosen][invalid] = np.nan

    map_chunks(of_chunk, len(bounds) - 1)
    return found


def _angles(vectors: FloatArray) -> tuple[FloatArray, bool]:
    return angles_of(vectors, _scratch.array("angles", (len(vectors), 2)))


def _locations(vectors: FloatArray) -> tuple[FloatArray, npt.NDArray[np.bool_] | None]:
    """Angles that ducc0 accepts, and where they stand for vectors that have none."""
    locations, valid = _angles(vectors)
    if valid:
        return locations, None
    invalid = np.isnan(locations[:, 0])
    locations[invalid] = 0.0
    return locations, invalid


def _values(degree: int, alm: ComplexArray, locations: FloatArray, out: FloatArray) -> FloatArray:
    ducc0.sht.synthesis_general(
        alm=alm, **arguments(degree), loc=locations, epsilon=_EPSILON, nthreads=1, map=out
    )
    return out


def _chunk_bounds(count: int, degree: int) -> list[int]:
    """Where chunks begin and end: as many as the points pay for, whatever the threads."""
    dear = _LEAST_CHUNK_PER_COEFFICIENT * count_of(degree)
    few = min(count // max(_LEAST_CHUNK, dear), _ENOUGH_CHUNKS)
    chunks = max(few, -(-count // max(_LARGEST_CHUNK, dear)))
    return [count * i // chunks for i in range(chunks + 1)]


def _vectors(points: FloatArray) -> FloatArray:
    vectors = np.ascontiguousarray(points, dtype=np.float64)
    if vectors.ndim != 2 or vectors.shape[1] != 3 or len(vectors) == 0:
        raise ValueError(
            f"points have shape {vectors.shape}, expected vectors of shape (n, 3), n > 0."
        )
    return vectors


def _scalar(coefficients: ComplexArray) -> tuple[int, ComplexArray]:
    """Degree, and array for ducc0's scalar transforms."""
    scaled = _scaled(coefficients)
    degree = degree_of(scaled)
    return degree, with_margin(scaled, degree)


def _scaled(coefficients: ComplexArray) -> ComplexArray:
    """Coefficients for ducc0's own harmonics."""
    if np.ndim(coefficients) != 1:
        raise ValueError(
            f"coefficients have shape {np.shape(coefficients)}, expected ((L + 1)(L + 2) / 2,)."
        )
    scaled: ComplexArray = _SCALE * np.asarray(coefficients, dtype=np.complex128)
    return scaled
