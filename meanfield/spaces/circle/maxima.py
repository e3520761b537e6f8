"""Maxima of band-limited fields on the circle, counted with proof, and their basins.

    Phi(theta) = Re[c_0 + 2 sum_{k=1}^K c_k e^{ik theta}]

A grid alone counts too many maxima or too few. Here bounds on derivatives settle each interval of
the grid, or it is halved (`maxima_kernels`). The count is exact for fields whose extrema exceed
rounding: Phi' between neighbouring ones must exceed about (K + 8) eps times 2 sum k |c_k|. Smaller
extrema (constant fields, multiple zeros of Phi') are not counted.
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import EPS, ComplexArray, FloatArray, IntArray
from meanfield.engines.fourier.maxima_kernels import count_falls, falls, polish
from meanfield.engines.threads import map_chunks

# Grid points for each degree: the interpolant then errs by at most 1.3e-2 sum k |c_k|.
_OVERSAMPLING = 5
# Values on the grid at a time.
_CHUNK = 2**18


def gaussian_fields(variances: FloatArray, count: int, rng: np.random.Generator) -> ComplexArray:
    """Independent real stationary Gaussian fields (count, K + 1) with E|c_k|^2 = variances[k].

    variances (K + 1,): not negative; c_0 = 0 whatever variances[0] is.
    """
    deviations = np.sqrt(0.5 * np.asarray(variances, dtype=np.float64))
    parts = rng.standard_normal((count, len(deviations), 2))
    fields: ComplexArray = deviations * (parts[..., 0] + 1j * parts[..., 1])
    fields[:, 0] = 0.0
    return fields


def count_maxima(fields: ComplexArray) -> IntArray:
    """Exact number of local maxima, (count,), of fields c_k, (count, K + 1); 0 for a constant."""
    array = np.asarray(fields)
    counts = np.zeros(len(array), dtype=np.int64)
    per_chunk = max(1, _CHUNK // (_OVERSAMPLING * max(array.shape[1], 8)))

    def count(chunk: int) -> None:
        chosen = slice(chunk * per_chunk, (chunk + 1) * per_chunk)
        slopes, degrees, bounds, noise = _slopes(array[chosen])
        count_falls(slopes, degrees, *_on_grid(slopes), bounds, noise, counts[chosen])

    map_chunks(count, -(-len(array) // per_chunk))
    return counts


def maxima(field: ComplexArray) -> FloatArray:
    """Angles (m,) of all local maxima of a field c_k in (-pi, pi], highest first.

    Exact to rounding where Phi'' does not vanish. Equally high ones come in the order of angles.
    """
    angles = _summits(field)
    if not len(angles):
        return angles
    scaled = np.asarray(field, dtype=np.complex128)
    scaled = scaled / max(np.abs(scaled).max(), np.finfo(np.float64).tiny)
    k = np.arange(1, len(scaled))
    heights = 2.0 * (np.exp(1j * np.outer(angles, k)) @ scaled[1:]).real
    # Rounded, so that heights that differ by rounding are equal.
    unit = 64.0 * EPS * max(2.0 * np.abs(scaled[1:]).sum(), np.finfo(np.float64).tiny)
    return np.asarray(angles[np.lexsort((angles, -np.rint(heights / unit)))])


def basins(field: ComplexArray, points: FloatArray) -> IntArray:
    """Index into `maxima(field)` of the end of the gradient ascent from each angle, shape (n,).

    From a minimum ascent goes to the right. All indices are -1 for a constant field.
    """
    summits = maxima(field)
    angles = _reduced(np.asarray(points, dtype=np.float64))
    if not len(summits):
        return np.full(len(angles), -1, dtype=np.int64)
    valleys = np.sort(_summits(-np.asarray(field)))
    # One summit follows each valley; the basin of the last valley continues at -pi.
    number = (np.searchsorted(valleys, summits, side="right") - 1) % len(valleys)
    summit_after = np.empty(len(valleys), dtype=np.int64)
    summit_after[number] = np.arange(len(summits))
    return summit_after[(np.searchsorted(valleys, angles, side="right") - 1) % len(valleys)]


def _summits(field: ComplexArray) -> FloatArray:
    """Angles of the maxima in increasing order."""
    slopes, degrees, bounds, noise = _slopes(np.asarray(field)[None])
    degree = int(degrees[0])
    if degree == 0:
        return np.empty(0)
    values, value_slopes = _on_grid(slopes)
    starts, ends = np.empty(degree), np.empty(degree)
    arguments = (slopes[0], degree, values[0], value_slopes[0], bounds[0], noise[0])
    roots = falls(*arguments, starts, ends)
    angles = [polish(slopes[0], degree, starts[i], ends[i]) for i in range(roots)]
    return np.sort(_reduced(np.array(angles)))


def _reduced(angles: FloatArray) -> FloatArray:
    """Angles in (-pi, pi]; pi for angles within rounding of -pi."""
    turned = np.arctan2(np.sin(angles), np.cos(angles))
    return np.where(turned <= -np.pi + 32.0 * EPS, np.pi, turned)


def _slopes(fields: ComplexArray) -> tuple[ComplexArray, IntArray, FloatArray, FloatArray]:
    """Coefficients 2 i k c_k, scaled and cut; and as `falls` takes them, degrees, bounds, noise."""
    fields = np.asarray(fields, dtype=np.complex128)
    count = fields.shape[1]
    k = np.arange(count, dtype=np.float64)
    largest = np.maximum(np.abs(fields[:, 1:].real), np.abs(fields[:, 1:].imag))
    # A power of two is exact; two factors, because 2^1074 overflows.
    exponents = np.frexp(largest.max(axis=1, initial=0.0))[1][:, None]
    parts = np.stack([fields.real, fields.imag])
    parts = np.ldexp(np.ldexp(parts, -(exponents // 2)), -(exponents - exponents // 2))
    slopes = np.empty(fields.shape, dtype=np.complex128)
    slopes.real, slopes.imag = -2.0 * k * parts[1], 2.0 * k * parts[0]
    sizes = np.abs(slopes)
    # Highest degrees that together change Phi' by less than rounding are cut.
    tails = np.cumsum(sizes[:, ::-1], axis=1)[:, ::-1]
    significant = tails > 0.25 * EPS * tails[:, :1]
    degrees = np.where(
        significant.any(axis=1), count - 1 - np.argmax(significant[:, ::-1], axis=1), 0
    )
    slopes[~significant] = 0.0
    sizes[~significant] = 0.0
    bounds = np.stack([degrees.astype(np.float64), sizes @ k**3, sizes @ k**4], axis=1)
    noise = (degrees + 8.0) * EPS * sizes.sum(axis=1)
    cut = slopes[:, : int(degrees.max(initial=0)) + 1]
    return np.ascontiguousarray(cut), degrees.astype(np.int64), bounds, noise


def _on_grid(slopes: ComplexArray) -> tuple[FloatArray, FloatArray]:
    """Phi' and Phi'' at n equispaced angles from 0."""
    from scipy.fft import irfft, next_fast_len

    count = slopes.shape[1]
    n = next_fast_len(_OVERSAMPLING * max(count - 1, 3), real=True)
    half = 0.5 * n * slopes
    return irfft(half, n, axis=1), irfft(half * (1j * np.arange(count)), n, axis=1)
