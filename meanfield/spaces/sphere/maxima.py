"""Maxima of band-limited fields on the sphere, counted with proof, and their basins.

    f(x) = sum_l f_l0 Y_l0 + 2 Re sum_{m>0} f_lm Y_lm

A grid alone counts too many maxima or too few. Here bounds on third derivatives settle its cells,
or they are quartered (`maxima_kernels`), down to 1e-5 of the grid's. The count is exact for every
field whose critical points are isolated and not degenerate. Ridges and plateaus (constant fields,
some zonal ones) have no isolated maximum and count 0.
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import EPS, ComplexArray, FloatArray, IntArray
from meanfield.engines.harmonics.ascent_kernels import ascend, gradients
from meanfield.engines.harmonics.coefficients import degrees_orders
from meanfield.engines.harmonics.jets import jets, recurrence
from meanfield.engines.harmonics.maxima_grid import fineness, normalised, on_rings, rings
from meanfield.engines.harmonics.maxima_kernels import newton, search
from meanfield.engines.threads import map_chunks, one_blas_thread

# Grid points computed at a time: their derivatives stay in the second-level cache.
_CHUNK = 2**16
_POINTS_PER_CHUNK = 1024
# Coordinates that differ by less are equal in the order of equally high maxima.
_ROUNDED_COORDINATE = 1e-9
# Circles on which `_reaches` evaluates gradients: number, spacing in 1 / sqrt(bound), points; and
# the least cosine of a gradient with the direction inwards.
_CIRCLES, _CIRCLE_SPACING, _DIRECTIONS, _INWARD = 20, 0.1, 32, 0.3

_Field = tuple[FloatArray, FloatArray, int, FloatArray, FloatArray]


def gaussian_fields(variances: FloatArray, count: int, rng: np.random.Generator) -> ComplexArray:
    """Independent real isotropic Gaussian fields with E|f_lm|^2 = variances[l], packed.

    variances (L + 1,): not negative; f_00 = 0 whatever variances[0] is.
    """
    variances = np.asarray(variances, dtype=np.float64)
    degrees, orders = degrees_orders(len(variances) - 1)
    deviations = np.sqrt(variances[degrees] * np.where(orders > 0, 0.5, 1.0))
    parts = deviations * rng.standard_normal((count, 2, len(degrees)))
    fields: ComplexArray = parts[:, 0] + 1j * np.where(orders > 0, parts[:, 1], 0.0)
    fields[:, 0] = 0.0
    return fields


def count_maxima(fields: ComplexArray) -> IntArray:
    """Exact number (count,) of isolated, not degenerate local maxima of packed fields."""
    scaled, degrees, bounds = normalised(np.asarray(fields))
    counts = np.zeros(len(scaled), dtype=np.int64)
    degree = int(degrees.max(initial=0))
    if degree == 0:
        return counts
    grid = rings(degree, fineness(degree, bounds))
    per_chunk = max(1, _CHUNK // (len(grid.colatitudes) * grid.longitudes))

    def count(chunk: int) -> None:
        first = chunk * per_chunk
        derivatives = on_rings(scaled[first : first + per_chunk], grid)
        summits = np.empty((4 * (degree + 1) ** 2, 3))
        for i, jet in enumerate(derivatives, first):
            counts[i] = search(
                _field(scaled[i], degree), bounds[i], _noise(degree),
                (grid.colatitudes, grid.strides), jet, summits,
            )[0]  # fmt: skip

    with one_blas_thread():
        map_chunks(count, -(-len(scaled) // per_chunk))
    return counts


def maxima(field: ComplexArray) -> FloatArray:
    """All local maxima of a packed field as unit vectors (m, 3), highest first.

    Equally high ones come in the order of their coordinates.
    """
    return _summits(field)[0]


def basins(field: ComplexArray, points: FloatArray) -> IntArray:
    """Index into `maxima(field)` of the end of the gradient ascent from each point, shape (n,).

    It is the nearest maximum where the ascent ends elsewhere (at a saddle, on a ridge). All indices
    are -1 if the field has no maxima.
    """
    vectors = np.ascontiguousarray(points, dtype=np.float64)
    index = np.full(len(vectors), -1, dtype=np.int64)
    summits, packed, bound = _summits(field)
    if not len(summits):
        return index
    reaches = _reaches(packed, bound, summits)

    def climb(chunk: int) -> None:
        chosen = slice(chunk * _POINTS_PER_CHUNK, (chunk + 1) * _POINTS_PER_CHUNK)
        ascend(packed, bound, _noise(packed[2]), summits, reaches, vectors[chosen], index[chosen])

    map_chunks(climb, -(-len(vectors) // _POINTS_PER_CHUNK))
    return index


def _summits(field: ComplexArray) -> tuple[FloatArray, _Field, float]:
    """Maxima, the normalised field, the bound on its third derivatives."""
    scaled, degrees, bounds = normalised(np.asarray(field)[None])
    degree, bound = int(degrees[0]), float(bounds[0])
    packed = _field(scaled[0], degree)
    if degree == 0:
        return np.empty((0, 3)), packed, bound
    grid = rings(degree, fineness(degree, bounds))
    points = np.empty((4 * (degree + 1) ** 2, 3))
    count, _ = search(
        packed, bound, _noise(degree), (grid.colatitudes, grid.strides),
        on_rings(scaled, grid)[0], points,
    )  # fmt: skip
    summits = points[:count]
    jet = np.empty((count, 6))
    jets(packed, summits, jet)
    # Rounded, so that heights and coordinates that differ by rounding are equal.
    heights = np.rint(jet[:, 0] / (64.0 * _noise(degree)))
    x, y, z = np.rint(summits.T / _ROUNDED_COORDINATE)
    order = np.lexsort((-x, -y, -z, -heights))
    return np.ascontiguousarray(summits[order]), packed, bound


def _reaches(packed: _Field, bound: float, summits: FloatArray) -> FloatArray:
    """Radii of discs around maxima that no ascent leaves.

    Within 2 s / bound of a maximum with Hessian below -s the distance only decreases. Further out
    the gradient must point well inwards on circles that are denser than it changes.
    """
    jet = np.empty((len(summits), 6))
    jets(packed, summits, jet)
    reaches = np.array([-1.99 * newton(*values[1:])[0] / bound for values in jet])
    radii = np.arange(1, _CIRCLES + 1) * (_CIRCLE_SPACING / np.sqrt(bound))
    angles = np.arange(_DIRECTIONS) * (2.0 * np.pi / _DIRECTIONS)
    for k, summit in enumerate(summits):
        first = np.linalg.svd(summit[None])[2][1]
        outward = np.outer(np.cos(angles), first) + np.outer(
            np.sin(angles), np.cross(summit, first)
        )
        points = np.cos(radii)[:, None, None] * summit + np.sin(radii)[:, None, None] * outward
        tangents = np.cos(radii)[:, None, None] * outward - np.sin(radii)[:, None, None] * summit
        slopes = gradients(packed, points.reshape(-1, 3)).reshape(points.shape)
        inward = -(slopes * tangents).sum(axis=-1)
        well = (inward > _INWARD * np.sqrt((slopes**2).sum(axis=-1))).all(axis=1)
        # The first circle must be near enough for the proven disc or for the quadratic part.
        count = int(np.argmin(np.append(well, False)))
        if count:
            reaches[k] = max(reaches[k], radii[count - 1])
    return reaches


def _field(coefficients: ComplexArray, degree: int) -> _Field:
    real, imag = np.ascontiguousarray(coefficients.real), np.ascontiguousarray(coefficients.imag)
    return real, imag, degree, *recurrence(degree)


def _noise(degree: int) -> float:
    """Rounding error of a gradient that is at most 1."""
    return 16.0 * EPS * (degree + 1)
