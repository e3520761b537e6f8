"""Wasserstein distances between axial measures, by quantiles of the polar angle."""

from __future__ import annotations

import warnings

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.bases.legendre import gauss_legendre
from meanfield.measures import Density, Measure
from meanfield.spaces.axial.measure import check_distribution, cumulative, height, polar_angles
from meanfield.transport.bracket import check_power

_ORDER = 16
# The number of panels doubles until the distance changes by less than this share.
_SETTLED = 1e-13
_MOST_PANELS = 2**15
# A last change above this share is no rounding, and gives a warning.
_UNSETTLED = 1e-10
# Mass of all nodes that are left out: rounding of the cumulative distribution.
_NO_MASS = 1e-15
_BISECTIONS = 60


def wasserstein_axial(
    first: Measure | Density,
    second: Measure | Density,
    p: int = 1,
    *,
    cost: str = "geodesic",
    tolerance: float = 0.0,
) -> float:
    """Wasserstein distance W_p of two axial measures on S^{d-1}, p = 1 or 2, in radians.

        W_1 = int_0^pi |F - G| dtheta,      W_2^2 = int_0^1 (Q_F - Q_G)^2 ds

    where F, G are the cumulative distributions of the polar angle, and Q_F, Q_G their quantile
    functions. This distance of the angles on [0, pi] equals the distance on the sphere. Every
    coupling has |theta_x - theta_y| <= d(x, y), since the polar angle is the distance to the pole.
    The monotone coupling of the angles, with both points on one uniformly random meridian, has
    equality.

    Between rings it is exact to rounding, with densities to about 1e-12 of the distance. W_2 to a
    density with zeros may stay at 1e-7, with a warning. A density may have a negative part of mass
    1e-3; the error of W_p^p is then some pi^p times that mass. `cost` must be "geodesic";
    `tolerance` is not used.

    Villani, Topics in Optimal Transportation (2003), theorem 2.18 (the line).

    On S^2 the uniform mean of |theta - pi/2| is pi/2 - 1:

    >>> import meanfield as mf
    >>> ring, uniform = mf.Measure(mf.Axial(3), [np.pi / 2]), mf.uniform().build(mf.Axial(3))
    >>> round(wasserstein_axial(ring, uniform) - (np.pi / 2 - 1), 12) + 0.0
    0.0
    """
    check_power(p)
    if cost != "geodesic":
        raise ValueError(f'cost = {cost!r} is not known on the axial spheres. Known: "geodesic".')
    if isinstance(first, Measure) and isinstance(second, Measure):
        return _between_rings(first, second, p)
    one, other = (second, first) if isinstance(first, Measure) else (first, second)
    assert isinstance(one, Density)
    for name, each in (("first", first), ("second", second)):
        if isinstance(each, Density):
            _check_density(each, name)
    cut, count = _cuts(one, other), max(16, one.max_degree)
    if isinstance(other, Density):
        count = max(count, other.max_degree)
    previous, value = np.inf, np.inf
    while True:
        edges = np.unique(np.concatenate([np.linspace(0.0, np.pi, count + 1), cut]))
        value = _w1(one, other, edges) if p == 1 else _w2(one, other, edges)
        change = abs(value - previous)
        if change <= _SETTLED + _SETTLED * value:
            break
        if count >= _MOST_PANELS:
            if change > _UNSETTLED * value:
                warnings.warn(
                    f"W_{p}^{p} = {value:.6g} of these measures is known to {change:.1g} only: a "
                    "density has zeros, or a negative part.",
                    stacklevel=4,
                )
            break
        previous, count = value, 2 * count
    return value if p == 1 else float(np.sqrt(max(value, 0.0)))


def _check_density(density: Density, name: str) -> None:
    from meanfield.engines.fourier.cdf import check_negative_part

    d = density.manifold.ambient
    check_distribution(d, density.coefficients)
    theta, weights = _nodes(np.linspace(0.0, np.pi, max(16, density.max_degree) + 1))
    negative = -np.minimum(density.at(theta), 0.0)
    check_negative_part(float(weights @ (height(d, theta) * negative)), name)


def _between_rings(first: Measure, second: Measure, p: int) -> float:
    """W_p of rings: both quantile functions are constant between neighbouring levels."""
    (x, f), (y, g) = _sorted(first), _sorted(second)
    for mass in (f, g):
        mass[:] = np.minimum(mass, 1.0)
        mass[-1] = 1.0
    levels = np.concatenate([[0.0], np.sort(np.concatenate([f, g]))])
    middle = 0.5 * (levels[1:] + levels[:-1])
    moved = np.abs(x[np.searchsorted(f, middle)] - y[np.searchsorted(g, middle)])
    return float((np.diff(levels) @ moved**p) ** (1.0 / p))


def _sorted(rings: Measure) -> tuple[FloatArray, FloatArray]:
    """Sorted polar angles of rings, and the mass up to and including each."""
    order = np.argsort(rings.points, kind="stable")
    return rings.points[order], np.cumsum(rings.mass[order])


def _cuts(one: Density, other: Measure | Density) -> FloatArray:
    """Angles at which an integrand is not smooth: rings, and where F reaches their levels."""
    if isinstance(other, Density):
        return np.zeros(0)
    d = one.manifold.ambient
    levels = np.clip(_sorted(other)[1][:-1], 0.0, 1.0)
    crossings = polar_angles(d, one.coefficients, levels)
    return np.concatenate([other.points, crossings])


def _nodes(edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Gauss-Legendre nodes on all panels, and weights that integrate over theta."""
    s, weights = gauss_legendre(_ORDER)
    lengths = np.diff(edges)[:, None]
    return np.ravel(edges[:-1, None] + lengths * (1 + s) / 2), np.ravel(lengths * weights)


def _w1(one: Density, other: Measure | Density, edges: FloatArray) -> float:
    d = one.manifold.ambient
    if isinstance(other, Density):
        edges = np.unique(np.concatenate([edges, _zeros(one, other, edges)]))
    theta, weights = _nodes(edges)
    return float(weights @ np.abs(cumulative(d, one.coefficients, theta) - _below(other, theta)))


def _zeros(one: Density, other: Density, edges: FloatArray) -> FloatArray:
    """Angles at which the difference of two distributions changes sign within a panel."""
    d = one.manifold.ambient

    def difference(theta: FloatArray) -> FloatArray:
        return cumulative(d, one.coefficients, theta) - cumulative(d, other.coefficients, theta)

    signs = np.sign(difference(edges))
    cells = np.flatnonzero(signs[1:] * signs[:-1] < 0.0)
    low, high, sign = edges[cells], edges[cells + 1], signs[cells]
    for _ in range(_BISECTIONS if len(cells) else 0):
        middle = 0.5 * (low + high)
        same = np.sign(difference(middle)) == sign
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return low


def _below(measure: Measure | Density, theta: FloatArray) -> FloatArray:
    """Cumulative distribution at polar angles."""
    if isinstance(measure, Density):
        return cumulative(measure.manifold.ambient, measure.coefficients, theta)
    points, below = _sorted(measure)
    index = np.searchsorted(points, theta, side="right")
    return np.asarray(np.concatenate([[0.0], below])[index])


def _w2(one: Density, other: Measure | Density, edges: FloatArray) -> float:
    """W_2^2 = int (theta - T(theta))^2 dF with the monotone map T."""
    d = one.manifold.ambient
    theta, weights = _nodes(edges)
    mass = weights * height(d, theta) * np.maximum(one.at(theta), 0.0)
    massive = mass > _NO_MASS / len(mass)
    theta, mass = theta[massive], mass[massive]
    levels = np.clip(cumulative(d, one.coefficients, theta), 0.0, 1.0)
    if isinstance(other, Density):
        to = polar_angles(d, other.coefficients, levels)
    else:
        points, below = _sorted(other)
        to = points[np.minimum(np.searchsorted(below, levels), len(points) - 1)]
    return float(mass @ (theta - to) ** 2)
