"""Rings that attend to rings: the mean of e^{beta <x, y>} over a latitude, in closed form.

x and y have polar angles t and t', and c is the cosine of the angle between them about the axis.
<x, y> = cos t cos t' + sin t sin t' c, and c has the law of a coordinate on S^{d-2}:

    mean e^{z c} = F_nu(z) = Gamma(nu + 1) (2 / z)^nu I_nu(z) = 0F1(; nu + 1; z^2 / 4),
    z = beta sin t sin t',    nu = (d - 3) / 2

(DLMF 10.32.2 and 10.25.2). Its derivatives are means of c e^{zc} and c^2 e^{zc}:

    F_nu' = z / (d - 1) F_{nu+1},    F_nu'' = F_{nu+1} / (d - 1) + z^2 / ((d - 1)(d + 1)) F_{nu+2}

All sums have positive terms, so velocities have relative accuracy for any Z.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from meanfield.arrays import EPS, FloatArray
from meanfield.bases.gegenbauer.grid import nodes
from meanfield.bases.gegenbauer.series import harmonics

# Largest z of the power series, which has about z / 2 terms; then scaled Bessel functions.
_SERIES = 300.0
# Pairs at a time: a dozen arrays of 8 MB.
_PAIRS = 2**20
# Nodes of the quadrature over a latitude, for users' own kernels.
_LATITUDE = 128


def velocity(
    d: int,
    points: FloatArray,
    weights: FloatArray | None,
    beta: float,
    normalized: bool,
    targets: FloatArray | None = None,
) -> FloatArray:
    """Velocity of polar angles in the field of weighted rings, at themselves or at targets.

        dt/ds = int e^{beta u u'} [cos t sin t' F' - sin t cos t' F] dmu(t') / Z

    A single ring of S^2, u' = u (1 - u^2) (1 - I_1(z) / I_0(z)), z = beta (1 - u^2):

    >>> from scipy.special import ive
    >>> u = 0.3
    >>> moving = velocity(3, np.arccos([u]), None, 5.0, True)[0] * -np.sqrt(1 - u * u)
    >>> z = 5.0 * (1 - u * u)
    >>> bool(abs(moving - u * (1 - u * u) * (1 - ive(1, z) / ive(0, z))) < 1e-15)
    True
    """
    gradient, unit = _summed(d, points, weights, beta, targets, False)
    with np.errstate(under="ignore"):
        return gradient[1] / gradient[0] if normalized else gradient[1] * np.exp(unit)


def velocity_and_divergence(
    d: int,
    points: FloatArray,
    weights: FloatArray | None,
    beta: float,
    targets: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Normalised velocity in the field of rings and its divergence on the sphere, as `velocity`.

    div (P_x m / Z) = [beta int (1 - s^2) w - (d - 1) int s w] / Z - beta |v|^2,   s = <x, y>
    """
    (z, moving, along, squares), _ = _summed(d, points, weights, beta, targets, True)
    v = moving / z
    return v, (beta * (z - squares) - (d - 1) * along) / z - beta * v * v


def relative_errors(
    d: int, points: FloatArray, weights: FloatArray, noise: FloatArray, beta: float
) -> FloatArray:
    """Relative error of each ring's Z where masses err by `noise`, at most 1."""
    sums, _ = _summed(d, points, weights, beta, None, False)
    erring, _ = _summed(d, points, noise, beta, None, False)
    return np.minimum(erring[0] / sums[0], 1.0)


def _summed(
    d: int,
    points: FloatArray,
    weights: FloatArray | None,
    beta: float,
    targets: FloatArray | None,
    with_squares: bool,
) -> tuple[tuple[FloatArray, ...], FloatArray]:
    """Sums over rings of weights, motion (and s, s^2), each target in a unit e^{unit} of its own.

    Weights are e^{beta s - |beta|}.
    """
    at = points if targets is None else targets
    mass = np.full(len(points), 1.0 / len(points)) if weights is None else weights
    u, v = np.cos(at), np.abs(np.sin(at))
    uy, vy = np.cos(points), np.abs(np.sin(points))
    sums = np.zeros((4 if with_squares else 2, len(at)))
    units = np.zeros(len(at))
    rows = max(1, _PAIRS // max(len(points), 1))
    for i in range(0, len(at), rows):
        part = slice(i, i + rows)
        a, b = u[part, None], v[part, None]
        z = beta * b * vy
        size, first, second = bessel(d, np.abs(z))
        # beta u u' + |z| - |beta|, at most 0, without cancellation where the rings are near.
        angle = at[part, None] - points if beta > 0 else at[part, None] + points
        closest = (
            -2.0 * abs(beta) * (np.sin(0.5 * angle) ** 2 if beta > 0 else np.cos(0.5 * angle) ** 2)
        )
        logs = closest + np.log(size)
        unit = np.max(np.where(mass > 0.0, logs, -np.inf), axis=1, initial=-1e300)
        w = mass * np.exp(logs - unit[:, None])
        c = np.sign(z) * first
        sums[0, part] = w.sum(axis=1)
        sums[1, part] = (w * (a * vy * c - b * uy)).sum(axis=1)
        if with_squares:
            ring, beside = a * uy, b * vy
            sums[2, part] = (w * (ring + beside * c)).sum(axis=1)
            square = ring**2 + 2.0 * ring * beside * c + beside**2 * second
            sums[3, part] = (w * square).sum(axis=1)
        units[part] = unit
    # Angles beyond a pole by rounding are mirror images.
    sums[1] *= np.where(np.sin(at) < 0.0, -1.0, 1.0)
    return tuple(sums), units


def bessel(d: int, z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """e^{-z} F_nu(z) and F_nu' / F_nu, F_nu'' / F_nu, z >= 0, nu = (d - 3) / 2.

    >>> [each.round(6).tolist() for each in bessel(4, np.array([0.0, 2.0]))]  # sinh(z) / z
    [[1.0, 0.245421], [0.0, 0.537315], [0.333333, 0.462685]]
    """
    nu = 0.5 * (d - 3)
    z = np.asarray(z, dtype=np.float64)
    scaled, ratio = np.empty_like(z), np.empty_like(z)
    small = z <= _SERIES
    scaled[small], ratio[small] = _by_series(nu, z[small])
    scaled[~small], ratio[~small] = _by_bessel(nu, z[~small])
    # I_nu'' follows from its equation: F'' = F - (2 nu + 1) F' / z, where that does not cancel.
    first = z / (d - 1.0) * ratio
    second = np.where(
        z * z > d, 1.0 - (d - 2.0) * np.divide(first, z, out=np.zeros_like(z), where=z > 0), 0.0
    )
    near = z * z <= d
    if near.any():
        x = z[near]
        _, next_ratio = _by_series(nu + 1.0, x)
        second[near] = ratio[near] / (d - 1.0) * (1.0 + x * x / (d + 1.0) * next_ratio)
    return scaled, first, second


def _by_series(nu: float, z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """e^{-z} F_nu and F_{nu+1} / F_nu by power series: terms are positive."""
    quarter = 0.25 * z * z
    term, shifted = np.ones_like(z), np.ones_like(z)
    total, other = np.ones_like(z), np.ones_like(z)
    k = 0
    while k < 10_000:
        k += 1
        term = term * (quarter / (k * (nu + k)))
        shifted = shifted * (quarter / (k * (nu + 1.0 + k)))
        total += term
        other += shifted
        if not np.any(term > 0.25 * EPS * total):
            break
    return total * np.exp(-z), other / total


def _by_bessel(nu: float, z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """As `_by_series`, by scaled Bessel functions, which do not underflow for z far above nu."""
    from scipy.special import gammaln, ive

    below, above = ive(nu, z), ive(nu + 1.0, z)
    scaled = np.exp(gammaln(nu + 1.0) + nu * np.log(2.0 / z)) * below
    return scaled, 2.0 * (nu + 1.0) / z * above / below


def velocity_by_quadrature(
    d: int,
    attention: Callable[[FloatArray], FloatArray],
    points: FloatArray,
    weights: FloatArray | None,
    normalized: bool,
    targets: FloatArray | None = None,
) -> FloatArray:
    """Velocity of rings for any smooth kernel, by Gauss-Jacobi nodes on each latitude."""
    at = points if targets is None else targets
    mass = np.full(len(points), 1.0 / len(points)) if weights is None else weights
    if d == 2:
        c, shares = np.array([1.0, -1.0]), np.array([0.5, 0.5])
    else:
        angles = nodes(d - 1, _LATITUDE)
        c = np.cos(angles)
        shares = 1.0 / (harmonics(d - 1, angles, _LATITUDE - 1) ** 2).sum(axis=1)
    total, below = np.zeros(len(at)), np.zeros(len(at))
    u, v = np.cos(at)[:, None], np.sin(at)[:, None]
    uy, vy = np.cos(points), np.sin(points)
    for share, cosine in zip(shares, c, strict=True):
        w = share * mass * attention(np.clip(u * uy + v * vy * cosine, -1.0, 1.0))
        total += (w * (u * vy * cosine - v * uy)).sum(axis=1)
        below += w.sum(axis=1)
    return total / below if normalized else total
