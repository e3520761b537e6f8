"""Labels on quadratures of closed-form densities, as fine as their peaks need.

Equispaced on the circle, Gauss-Legendre panels graded to sharp peaks, product rules on the sphere,
rings where a density is axisymmetric, one sector where it repeats itself.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ive, sph_harm_y

Array = np.ndarray
# Labels lighter than this share of the heaviest matter to no moment.
_WEIGHTLESS = 1e-19
_GAUSS = 16


@dataclass(frozen=True)
class Labels:
    """Points (n, 3) and masses of one sector; `fold` rotations about the z axis make the rest.

    Rings instead of points for axisymmetric problems: colatitudes (n,) with their masses.
    """

    points: Array
    mass: Array
    fold: int = 1

    @property
    def pairs(self) -> int:
        """Pairs that a sum runs over; Bessel functions of two rings cost like fifteen."""
        return (15 if self.points.ndim == 1 else self.fold) * len(self.points) ** 2


def circle_points(angles: Array) -> Array:
    """Unit vectors in the plane z = 0."""
    return np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=-1)


def sphere_points(theta: Array, phi: Array) -> Array:
    s = np.sin(theta)
    return np.stack([s * np.cos(phi), s * np.sin(phi), np.cos(theta) + 0.0 * phi], axis=-1)


def panels(edges: Sequence[float] | Array) -> tuple[Array, Array]:
    node, weight = np.polynomial.legendre.leggauss(_GAUSS)
    left, right = np.asarray(edges[:-1])[:, None], np.asarray(edges[1:])[:, None]
    half = 0.5 * (right - left)
    return (left + half * (1.0 + node)).ravel(), (half * weight).ravel()


def graded(peaks: Sequence[float], widths: Sequence[float], low: float, high: float) -> Array:
    """Edges that shrink by halves towards the peaks, down to their widths."""
    span = high - low
    edges = [low, high, *np.linspace(low, high, 5)]
    for peak, width in zip(peaks, widths, strict=True):
        distance = np.concatenate([[0.0], span / 2.0 ** np.arange(1, 2 + np.log2(span / width))])
        edges += [*(peak - distance), *(peak + distance)]
    inside = np.unique(np.clip(edges, low, high))
    return inside[np.concatenate([[True], np.diff(inside) > 1e-12])]


def halved(edges: Array, times: int) -> Array:
    for _ in range(times):
        edges = np.sort(np.concatenate([edges, 0.5 * (edges[1:] + edges[:-1])]))
    return edges


def light_dropped(labels: Labels) -> Labels:
    heavy = labels.mass > _WEIGHTLESS * labels.mass.max()
    return Labels(labels.points[heavy], labels.mass[heavy], labels.fold)


def at_modes(modes: list[Any], points: Array, manifold: str) -> Array:
    """Closed form 1 + sum of modes at points (n, 3)."""
    x, y, z = points.T
    phi, values = np.arctan2(y, x), np.ones(len(points))
    if manifold == "circle":
        return 1 + sum(a * np.cos(k * phi) + b * np.sin(k * phi) for k, a, b in modes)
    theta = np.arctan2(np.hypot(x, y), z)
    for l, m, amplitude in modes:
        scale = np.sqrt(4 * np.pi) * (-1.0) ** m * (np.sqrt(2.0) if m else 1.0)
        value = scale * sph_harm_y(l, abs(m), theta, phi)
        values = values + amplitude * (value.imag if m < 0 else value.real)
    return values


def _von_mises_fisher(cosines: Array, kappa: float, manifold: str) -> Array:
    """Density of mean 1 at these cosines to its centre."""
    peak = np.exp(kappa * (cosines - 1.0))
    if manifold == "circle":
        return peak / ive(0, kappa)
    return peak * 2 * kappa / -np.expm1(-2 * kappa)


def circle_labels(law: tuple[Any, ...], level: int) -> Labels:
    """Angles: equispaced in one sector for modes, graded panels for a mixture."""
    if law[0] == "modes":
        fold = math.gcd(*(mode[0] for mode in law[1]))
        count = max(32, 128 // fold) * 2**level
        angles = 2 * np.pi / fold * np.arange(count) / count
        mass = at_modes(law[1], circle_points(angles), "circle") / (count * fold)
        return Labels(circle_points(angles), np.maximum(mass, 0.0), fold)
    means = [mean % (2 * np.pi) for _, mean, _ in law[1]]
    widths = [min(1.0, 0.7 / math.sqrt(kappa)) for _, _, kappa in law[1]]
    # Cut opposite to the first peak; others near the cut are graded on both its sides.
    low = means[0] - np.pi
    peaks = [low + (mean - low) % (2 * np.pi) for mean in means]
    both = [peak + turn for peak in peaks for turn in (-2 * np.pi, 0.0, 2 * np.pi)]
    edges = graded(both, np.repeat(widths, 3), low, low + 2 * np.pi)
    angles, weights = panels(halved(edges, level))
    density = sum(
        w * _von_mises_fisher(np.cos(angles - mean), kappa, "circle")
        for (w, _, kappa), mean in zip(law[1], means, strict=True)
    )
    return Labels(circle_points(angles), density * weights / (2 * np.pi))


def ring_labels(law: tuple[Any, ...], level: int) -> Labels:
    if law[0] == "modes":
        theta, weights = panels(np.linspace(0, np.pi, 4 * 2**level + 1))
        density = at_modes(law[1], sphere_points(theta, 0 * theta), "sphere")
    else:
        signs = [1.0, -1.0][: len(law[1])]
        widths = [min(1.0, 0.7 / math.sqrt(kappa)) for _, _, kappa in law[1]]
        poles = [0.0 if sign > 0 else np.pi for sign in signs]
        theta, weights = panels(halved(graded(poles, widths, 0.0, np.pi), level))
        density = sum(
            w * _von_mises_fisher(sign * np.cos(theta), kappa, "sphere")
            for sign, (w, _, kappa) in zip(signs, law[1], strict=True)
        )
    return Labels(theta, np.maximum(density, 0.0) * weights * np.sin(theta) / 2)


def sphere_labels(law: tuple[Any, ...], level: int) -> Labels:
    fold = math.gcd(*(mode[1] for mode in law[1])) if law[0] == "modes" else 1
    rings = round(18 * 2 ** (0.5 * level))
    count = math.ceil(2 * rings / fold)
    u, weight = np.polynomial.legendre.leggauss(rings)
    phi = 2 * np.pi / fold * (np.arange(count) + 0.5) / count
    points = sphere_points(np.arccos(u)[:, None], phi).reshape(-1, 3)
    weights = np.repeat(weight / 2, count) / (count * fold)
    if law[0] == "modes":
        density = at_modes(law[1], points, "sphere")
    else:
        density = sum(
            w * _von_mises_fisher(points @ np.array(mean), kappa, "sphere")
            for w, mean, kappa in law[1]
        )
    return Labels(points, np.maximum(density, 0.0) * weights, fold)
