"""Weighted means by sums of positive terms, where the series of Z has lost its digits.

A normalised velocity is a mean of P_x y with the weights a(<x, y>) mu(dy) / Z(x). As a series of
moments Z has an absolute error of rounding times the sum S of the moduli of its terms. Most
kernels are largest at s = 1: then Z is as large as the mass nearby, and the error small wherever
there is any. With a = e^{beta s - |beta|}, beta < 0, a token attends to what is opposite,
and Z may be e^{-2 |beta|} where all the mass is. Here

    v = <P_x y>,    div v = beta (<1 - s^2> - |v|^2) - m <s>,    <g> = int g a dmu / int a dmu

on the sphere of dimension m, each mean a quotient of sums without cancellation.
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.compute.threads import map_chunks
from meanfield.interaction import MeanField
from meanfield.manifolds.grid import Grid
from meanfield.manifolds.label_cells import LabelCells
from meanfield.measures import Density
from meanfield.problem import Problem

MOST_NODES = 5_000
"""Nodes up to which their n^2 pairs are summed: 0.2 s a velocity."""

# Share of S that is noise in Z, with the moments' own: five times what densities were measured to
# lose at |beta| = 4 to 10 and concentrations 2 to 20.
_ROUNDING = 1e-15
# Kernels whose value at s = 1 is a larger share of their largest lose three digits at most.
_NEAR = 1e-3
_PAIRS_AT_ONCE = 1 << 18  # 2 MiB


def sees_far(problem: Problem) -> bool:
    """Whether Z may be lost where there is mass: normalised, and a(1) < max |a| / 1000.

    Examples
    --------
    >>> import meanfield as mf
    >>> [sees_far(mf.Problem(mf.Circle(), mf.exponential(b), mf.SA)) for b in (9.0, -3.0, -9.0)]
    [False, False, True]
    """
    kernel = problem.kernel
    here = float(np.abs(kernel.attention(np.ones(1))[0]))
    return problem.flow.normalized and here < _NEAR * kernel.largest_attention


def felt_degree(problem: Problem, tolerance: float) -> int:
    """Degree of the kernel that many nodes on the sphere feel, where velocities are the cost.

    Multipliers below tolerance^2 of the largest are left out: velocities change by tolerance^2 / Z,
    and Z is below the tolerance for next to no mass: int dmu / Z is at most what one cluster has,
    1, times how many fit on the sphere, about |beta|.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Sphere(), mf.exponential(6.0), mf.SA)
    >>> [felt_degree(problem, tolerance) for tolerance in (1e-3, 1e-4, 1e-6, 1e-10)]
    [15, 17, 22, 27]
    """
    if problem.space.dimension == 1 or not tolerance or sees_far(problem):
        return problem.kernel_degree
    return min(problem.kernel_degree, problem.kernel.degree(2, tolerance**2))


def sums_pairs(problem: Problem, count: int) -> bool:
    """Whether the velocity of this many nodes is summed over pairs: Z may be lost, they are few."""
    return sees_far(problem) and problem.kernel.log_slope is not None and count <= MOST_NODES


def lost_share(field: MeanField, partition: FloatArray, masses: FloatArray) -> float:
    """Mean relative error of Z as a series, int (rounding S / Z) dmu: 1 if all is lost; 0 if Z = 1.

    `partition` has its values at the nodes, `masses` the masses there. Velocities are wrong by
    as much.
    """
    if field.partition is None:
        return 0.0
    space = field.manifold
    sizes = space.sizes_by_degree(field.partition)
    degrees = np.arange(len(sizes))
    # |sum_m g_lm Y_lm| <= sqrt(2 l + 1) |g_l| on the sphere.
    largest = float(sizes @ (2.0 * degrees + 1.0) ** (0.5 * (space.dimension - 1)))
    noise = _ROUNDING * largest
    return float(np.maximum(masses, 0.0) @ (noise / np.maximum(partition, noise)))


def share_lost(field: MeanField, points: FloatArray, masses: FloatArray) -> float:
    """As `lost_share`, at scattered points; 0 if the flow is not normalised."""
    if field.partition is None:
        return 0.0
    return lost_share(field, field.manifold.evaluate(field.partition, points), masses)


def density_share(problem: Problem, field: MeanField, grid: Grid, density: ModalArray) -> float:
    """As `lost_share`, of a density on its grid; 0 if Z is nowhere small where there is mass."""
    if field.partition is None or not sees_far(problem):
        return 0.0
    return lost_share(field, grid.to_nodal(field.partition), grid.to_nodal(density) * grid.weights)


def noise_share(
    problem: Problem,
    points: FloatArray,
    masses: FloatArray,
    initial: Density,
    error: float,
    cells: LabelCells,
) -> float:
    """Mean relative error of sums over pairs by that of the density that gave nodes their mass.

    0 if that is a known mixture; its series has an absolute one, rounding and what else it leaves.
    """
    if initial.components:
        return 0.0
    sizes = problem.space.sizes_by_degree(initial.coefficients)
    noise = (_ROUNDING * sizes.sum() + error) * cells.weights
    sums = _sums(problem, _vectors(points), np.column_stack([masses, noise]))
    return float(masses @ np.minimum(sums[:, 1] / sums[:, 0], 1.0))


def velocity(
    problem: Problem, field: MeanField, points: FloatArray, masses: FloatArray
) -> FloatArray:
    """Velocity of weighted nodes in their own field, summed over pairs where that is needed."""
    if sums_pairs(problem, len(points)):
        return mean_velocity(problem, points, masses)[0]
    return field.velocity(points)


def mean_velocity(
    problem: Problem, points: FloatArray, masses: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Velocity of a normalised flow at weighted nodes, and its divergence there, shape (n,).

    Relative accuracy of the weights whatever Z is: n^2 exponentials.

    Examples
    --------
    Two tokens, of which the lighter attends to the heavier one and is drawn to it:

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(-40.0), mf.SA)
    >>> mean_velocity(problem, np.array([0.0, 1.0]), np.array([1e-9, 1.0]))[0].round(6)
    array([ 0.841471, -0.074249])
    """
    x = _vectors(points)
    count, dimension = x.shape
    squares = (x[:, :, None] * x[:, None, :]).reshape(count, -1)
    terms = masses[:, None] * np.column_stack([np.ones(count), x, squares])
    sums = _sums(problem, x, terms)
    means = sums[:, 1:] / sums[:, :1]
    mean, square = means[:, :dimension], means[:, dimension:].reshape(-1, dimension, dimension)
    along = (x * mean).sum(axis=1)
    along_squared = np.einsum("ni,nij,nj->n", x, square, x)
    velocity = mean - along[:, None] * x
    if points.ndim == 1:
        velocity = x[:, 0] * mean[:, 1] - x[:, 1] * mean[:, 0]
    squared = problem.space.squared_norm(velocity)
    spread = problem.kernel.beta * (1.0 - along_squared - squared)
    strength = problem.flow.strength
    return strength * velocity, strength * (spread - (dimension - 1) * along)


def _vectors(points: FloatArray) -> FloatArray:
    return points if points.ndim == 2 else np.column_stack([np.cos(points), np.sin(points)])


def _sums(problem: Problem, x: FloatArray, terms: FloatArray) -> FloatArray:
    """Sums over y of e^{beta <x, y>} times each column of terms, each row in its own units."""
    beta, count = problem.kernel.beta, len(x)
    heavy = terms[:, 0] > 0.0
    sources, terms = beta * x[heavy].T, terms[heavy]
    rows = max(1, _PAIRS_AT_ONCE // count)

    def chunk(i: int) -> FloatArray:
        weights = x[i * rows : (i + 1) * rows] @ sources
        weights -= weights.max(axis=1, keepdims=True)
        return np.asarray(np.exp(weights, out=weights) @ terms)

    return np.concatenate(map_chunks(chunk, -(-count // rows)))
