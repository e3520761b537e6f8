"""Sums and fields at scattered points by ducc0's transforms at general points.

With more than one thread ducc0's results do not repeat to the bit. So points are cut into chunks,
one call on one thread each, and moments are added in the order of the chunks. Results are equal to
the bit for any number of threads. Each call makes a plan and fine grids.
"""

from __future__ import annotations

import ducc0
import numpy as np
import numpy.typing as npt

from meanfield.arrays import ComplexArray, FloatArray
from meanfield.engines.harmonics.angles import angles_of, tangent_vectors
from meanfield.engines.harmonics.coefficients import count_of, degree_of, resize
from meanfield.engines.harmonics.margin import SCALE, arguments, with_margin, without_margin
from meanfield.engines.harmonics.scratch import Scratch
from meanfield.engines.threads import chunk_bounds, map_chunks

# The least that ducc0 accepts; 1e-13 would save a tenth of the time.
EPSILON = 1e-14
# Each chunk makes its own fine grid, at a cost that grows with the degree.
_LEAST_CHUNK = 16_384
_LEAST_CHUNK_PER_COEFFICIENT = 16
_ENOUGH_CHUNKS = 8
_LARGEST_CHUNK = 131_072

_scratch = Scratch()


def moments(points: FloatArray, weights: FloatArray | None, max_degree: int) -> ComplexArray:
    """Moments of weighted tokens; see `points.moments`."""
    count = len(points)
    masses = np.broadcast_to(1.0 / count, count) if weights is None else weights
    bounds = _chunk_bounds(count, max_degree)

    def of_chunk(i: int) -> ComplexArray:
        chosen = slice(bounds[i], bounds[i + 1])
        locations, valid = _angles(points[chosen])
        if not valid:
            return np.full(count_of(max_degree), np.nan, dtype=np.complex128)
        result: ComplexArray = ducc0.sht.adjoint_synthesis_general(
            map=masses[None, chosen],
            **arguments(max_degree),
            loc=locations,
            epsilon=EPSILON,
            nthreads=1,
        )
        return without_margin(result, max_degree)

    parts = map_chunks(of_chunk, len(bounds) - 1)
    total = parts[0]
    for part in parts[1:]:
        total += part
    total *= SCALE
    total[: max_degree + 1].imag = 0.0
    return total


def evaluate(coefficients: ComplexArray, points: FloatArray) -> FloatArray:
    """Values of a real field; see `points.evaluate`."""
    return np.asarray(evaluate_several(coefficients[None], points)[0])


def evaluate_several(coefficients: ComplexArray, points: FloatArray) -> FloatArray:
    """Values (k, n) of real fields of one degree; see `points.evaluate_several`."""
    degree, fields = _scalar(coefficients)
    values = np.empty((len(fields), len(points)))
    bounds = _chunk_bounds(len(points), degree)

    def of_chunk(i: int) -> None:
        chosen = slice(bounds[i], bounds[i + 1])
        locations, invalid = _locations(points[chosen])
        for alm, out in zip(fields, values, strict=True):
            _values(degree, alm, locations, out[None, chosen])
        if invalid is not None:
            values[:, chosen][:, invalid] = np.nan

    map_chunks(of_chunk, len(bounds) - 1)
    return values


def gradient(
    coefficients: ComplexArray, points: FloatArray, divisor: ComplexArray | None
) -> FloatArray:
    """Gradient of a real field, divided by another if given; see `points.gradient`."""
    # ducc0 has no gradients of degree 0.
    degree = max(degree_of(coefficients), 1)
    alm = SCALE * (resize(coefficients, 1) if degree_of(coefficients) == 0 else coefficients)
    under = None if divisor is None else _scalar(divisor)
    result = np.empty((len(points), 3))
    bounds = _chunk_bounds(len(points), degree)

    def of_chunk(i: int) -> None:
        chosen = slice(bounds[i], bounds[i + 1])
        locations, invalid = _locations(points[chosen])
        components = ducc0.sht.synthesis_general(
            alm=alm[None],
            spin=1,
            mode="DERIV1",
            lmax=degree,
            loc=locations,
            epsilon=EPSILON,
            nthreads=1,
            map=_scratch.array("components", (2, len(locations))),
        )
        if under is not None:
            below = _scratch.array("divisor", (1, len(locations)))
            with np.errstate(divide="ignore", invalid="ignore"):
                components /= _values(*under, locations, below)
        tangent_vectors(points[chosen], components, result[chosen])
        if invalid is not None:
            result[chosen][invalid] = np.nan

    map_chunks(of_chunk, len(bounds) - 1)
    return result


def _angles(vectors: FloatArray) -> tuple[FloatArray, bool]:
    return angles_of(vectors, _scratch.array("angles", (len(vectors), 2)))


def _locations(vectors: FloatArray) -> tuple[FloatArray, npt.NDArray[np.bool_] | None]:
    """Angles that ducc0 accepts, and a mask of vectors without a direction or None."""
    locations, valid = _angles(vectors)
    if valid:
        return locations, None
    invalid = np.isnan(locations[:, 0])
    locations[invalid] = 0.0
    return locations, invalid


def _values(degree: int, alm: ComplexArray, locations: FloatArray, out: FloatArray) -> FloatArray:
    ducc0.sht.synthesis_general(
        alm=alm, **arguments(degree), loc=locations, epsilon=EPSILON, nthreads=1, map=out
    )
    return out


def _chunk_bounds(count: int, degree: int) -> list[int]:
    """Bounds of chunks; their number depends on the work, not on the threads."""
    dear = _LEAST_CHUNK_PER_COEFFICIENT * count_of(degree)
    few = min(count // max(_LEAST_CHUNK, dear), _ENOUGH_CHUNKS)
    chunks = max(few, -(-count // max(_LARGEST_CHUNK, dear)))
    return chunk_bounds(count, chunks)


def _scalar(coefficients: ComplexArray) -> tuple[int, ComplexArray]:
    """Degree, and array for ducc0's scalar transforms."""
    degree = degree_of(coefficients)
    return degree, with_margin(SCALE * coefficients, degree)
