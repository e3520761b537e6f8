"""The cluster rule: one piece of code for tokens, weighted nodes and densities.

The radius is r = 0.25 / sqrt(beta). Discard every point with less mass within r than a tenth of the
uniform measure has (stragglers on separatrices). Link the others by gaps below r. Count the groups
of mass at least max(1 %, min(3, 1 + floor(N / 50)) tokens): one token is enough for N < 50, three
are needed from N = 100 on. For axial measures the rule uses polar angles, which are uniform if they
are evenly spread: a ring is one cluster.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.measures import Density, Measure
from meanfield.spaces import Geometry, neighbourhoods

_RADIUS = 0.25
_SPARSE = 0.1
_LEAST_MASS = 0.01
# Order parameter above which a single group is a cluster: most of the mass is on one side.
_GATHERED = 0.5
_LEAST_TOKENS, _TOKENS_PER_LEAST = 3, 50
# Degree times radius of the grid on which a density becomes points. A grid has three nodes per
# degree on a great circle, so ends of groups are accurate to r / 24 (circle), r / 8 (sphere).
_DEGREES_PER_RADIUS = {1: 16.0 * math.pi, 2: 16.0 * math.pi / 3.0}
# Cells of polar angles: ends of groups are accurate to r / 24.
_CELLS_PER_RADIUS = 24
# A density above this share of uniform at all nodes is one group. The share is three times the
# rule's tenth, because sums over nodes near r differ, and half of [0, r] is missing at the ends of
# polar angles.
_FILLED = 3.0 * _SPARSE
# Largest degree of such a grid on the sphere: some 2 million nodes, a fraction of a second.
_GRID_DEGREE = 666


_Groups = tuple[FloatArray, FloatArray]
"""Masses and mean points of groups."""


@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters of a measure, largest mass first.

    - mass (count,): mass of each; together at most 1.
    - centre (count,) on the circle and with an axis, (count, d) elsewhere: mean angle in (-pi, pi],
      unit vector, or in R^d mean point; NaN on spheres where the mean vector is rounding.
    """

    mass: FloatArray
    centre: FloatArray

    @property
    def count(self) -> int:
        return len(self.mass)


def least_tokens(tokens: int) -> int:
    """Smallest number of tokens in a cluster of N tokens: min(3, 1 + floor(N / 50)).

    >>> [least_tokens(n) for n in (2, 49, 50, 99, 100, 5000)]
    [1, 1, 2, 2, 3, 3]
    """
    return min(_LEAST_TOKENS, 1 + tokens // _TOKENS_PER_LEAST)


def cluster_radius(beta: float) -> float:
    """Radius 0.25 / sqrt(|beta|) of the rule; beta = 1 for the linear kernel, at most pi / 2."""
    return min(_RADIUS / math.sqrt(abs(beta) if beta != 0 else 1.0), math.pi / 2)


def visible_counts(counts: FloatArray, order_parameters: FloatArray) -> FloatArray:
    """Cluster counts; NaN before any cluster has separated.

    For the rule the uniform law is one group, and so are several peaks with a tenth of the uniform
    mass between them. A single group counts as a cluster if its order parameter is above one half.
    It is 0 for uniform, and small for balanced peaks. So a point of less than half of the mass on a
    uniform background does not count, and an evenly filled half circle (0.64) does.

    counts, order_parameters (n,): counts of the rule and |int x dmu| at the same times.

    Returns (n,). Uniform, three clusters, one:

    >>> visible_counts(np.array([1.0, 3.0, 1.0]), np.array([0.0, 0.1, 1.0]))
    array([nan,  3.,  1.])
    """
    none = (counts == 1) & (order_parameters <= _GATHERED)
    return np.where(none, np.nan, counts)


def grid_degree(dimension: int, max_degree: int, radius: float) -> int:
    """Degree of a grid that resolves a density, and the radius unless it needs too many nodes."""
    degree = max(max_degree, math.ceil(_DEGREES_PER_RADIUS[dimension] / radius))
    if dimension > 1 and degree > _GRID_DEGREE:
        degree = max(max_degree, _GRID_DEGREE)
    return degree


def grid_size(dimension: int, degree: int) -> int:
    """Number of nodes of this grid, up to a few per cent: three per degree on a great circle."""
    return 3 * degree if dimension == 1 else 9 * degree**2 // 2


def clusters(measure: Density | Measure, beta: float, *, tokens: int | None = None) -> Clusters:
    """Clusters of a measure.

    beta: inverse temperature, which sets the radius.
    tokens: number of tokens that weighted points represent; a cluster has `least_tokens` of them.

    >>> import meanfield as mf
    >>> points = np.concatenate([np.full(60, 0.0), np.full(40, 2.0)])
    >>> clusters(mf.Measure(mf.Circle(), points), beta=9.0).mass
    array([0.6, 0.4])
    """
    radius = cluster_radius(beta)
    space = measure.manifold
    least = _LEAST_MASS
    if isinstance(measure, Density):
        total, centres = _of_density(measure, radius)
    else:
        total, centres = _of_points(space, measure.points, measure.weights, radius)
        tokens = len(measure.points) if measure.weights is None else tokens
    if tokens is not None:
        least = max(_LEAST_MASS, least_tokens(tokens) / tokens)
    # 1e-12 allows for the rounding of a sum of equal weights.
    heavy = np.flatnonzero(total >= least * (1.0 - 1e-12))
    heavy = heavy[np.argsort(-total[heavy], kind="stable")]
    return Clusters(total[heavy], centres[heavy])


def _of_points(
    space: Geometry, points: FloatArray, mass: FloatArray | None, radius: float
) -> _Groups:
    each, threshold = 1.0 / len(points), _SPARSE * _uniform_mass(space, radius)
    points, mass, group = neighbourhoods.dense_groups(space, points, mass, radius, threshold)
    if len(points) == 0:
        return np.zeros(0), np.zeros((0, *points.shape[1:]))
    mass = np.full(len(points), each) if mass is None else mass
    total = np.asarray(np.bincount(group, mass), dtype=np.float64)
    return total, neighbourhoods.mean_points(space, points, mass, group, len(total))


def _uniform_mass(space: Geometry, radius: float) -> float:
    """Mass of the uniform measure within a radius of a point; 0 in R^d."""
    if not space.is_sphere:
        return 0.0
    if space.has_rings:
        # Evenly spread polar angles; the uniform law of the sphere has little mass near the poles.
        return 2.0 * radius / math.pi
    if space.dimension <= 2:
        return radius / math.pi if space.dimension == 1 else math.sin(0.5 * radius) ** 2
    from scipy.special import betainc

    # Half of the share of a sphere in two opposite caps; the radius is at most pi / 2.
    return 0.5 * float(betainc(0.5 * space.dimension, 0.5, math.sin(radius) ** 2))


def _of_density(density: Density, radius: float) -> _Groups:
    """Groups of the nodes of a grid that resolves density and radius.

    If that needs too many nodes, the radius grows to a few nodes. A density that is nowhere far
    below uniform is one group, in the direction of its mean vector.
    """
    space = density.manifold
    if space.has_rings:
        points, mass = _polar_cells(density, radius)
        if mass.min() >= _FILLED / len(mass):
            return _whole(space, points, mass)
        return _of_points(space, points, mass, radius)
    sizes = space.sizes_by_degree(density.coefficients)
    # The part of degree l is at most twice its size times that of a single point.
    if 1.0 - 2.0 * sizes[1:] @ space.largest_sizes(len(sizes) - 1)[1:] >= _FILLED:
        return _as_one(density)
    degree = grid_degree(space.dimension, density.max_degree, radius)
    if space.dimension > 1:
        radius = max(radius, _DEGREES_PER_RADIUS[space.dimension] / degree)
    grid = space.grid(degree)
    values = grid.to_nodal(density.coefficients)
    mass = np.maximum(values, 0.0) * grid.weights
    total = mass.sum()
    if values.min() >= _FILLED * total:
        return _as_one(density)
    mass /= total
    if space.dimension == 1:
        return _of_points(space, grid.points, mass, radius)
    from meanfield.spaces.sphere.neighbourhoods import node_groups

    sums, mean = node_groups(grid, mass, radius, _SPARSE * _uniform_mass(space, radius))
    return sums, neighbourhoods.directions(space, mean, sums)


def _as_one(density: Density) -> _Groups:
    """A density as one group; the grid of degree 1 gives the same mean vector."""
    space = density.manifold
    grid = space.grid(1)
    values = grid.to_nodal(space.resize(density.coefficients, 1))
    return _whole(space, grid.points, values * grid.weights)


def _whole(space: Geometry, points: FloatArray, mass: FloatArray) -> _Groups:
    one = np.zeros(len(mass), np.int64)
    return np.array([mass.sum()]), neighbourhoods.mean_points(space, points, mass, one, 1)


def _polar_cells(density: Density, radius: float) -> tuple[FloatArray, FloatArray]:
    """Middles of equal cells of [0, pi], 24 per radius, and the masses of an axial density."""
    from meanfield.spaces.axial.measure import cumulative

    count = math.ceil(_CELLS_PER_RADIUS * math.pi / radius)
    edges = np.linspace(0.0, math.pi, count + 1)
    below = cumulative(density.manifold.ambient, density.coefficients, edges)
    mass = np.maximum(np.diff(below), 0.0)
    return 0.5 * (edges[1:] + edges[:-1]), mass / mass.sum()
