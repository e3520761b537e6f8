"""When the digits of the partition function Z = a * mu are lost.

As a series of moments Z has an absolute error of rounding times the sum S of the moduli of its
terms. Most kernels are largest at s = 1: then Z is as large as the mass nearby, and the error small
wherever there is any. With a = e^{beta s - |beta|}, beta < 0, a token attends to what is opposite,
and Z may be e^{-2 |beta|} where all the mass is: `positive_sums` then takes over.
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.fields.mean_field import MeanField
from meanfield.manifolds.grid import Grid
from meanfield.problem import Problem

# Share of S that is noise in Z, with the moments' own: five times what densities were measured to
# lose at |beta| = 4 to 10 and concentrations 2 to 20.
ROUNDING_SHARE = 1e-15
# Kernels whose value at s = 1 is a larger share of their largest lose three digits at most.
_NEAR = 1e-3


def sees_far(problem: Problem) -> bool:
    """Whether Z may be lost where there is mass: normalised, and a(1) < max |a| / 1000.

    Examples
    --------
    >>> import meanfield as mf
    >>> [sees_far(mf.Problem(mf.Circle(), mf.exponential(b), mf.SA)) for b in (9.0, -3.0, -9.0)]
    [False, False, True]
    """
    kernel = problem.zonal.kernel
    here = float(np.abs(kernel.attention(np.ones(1))[0]))
    return problem.flow.normalized and here < _NEAR * kernel.largest_attention


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
    noise = ROUNDING_SHARE * largest
    return float(np.maximum(masses, 0.0) @ (noise / np.maximum(partition, noise)))


def lost_share_at(field: MeanField, points: FloatArray, weights: FloatArray | None) -> float:
    """As `lost_share`, at scattered points; weights None means equal."""
    if field.partition is None:
        return 0.0
    masses = np.broadcast_to(1.0 / len(points), len(points)) if weights is None else weights
    return lost_share(field, field.manifold.evaluate(field.partition, points), masses)


def lost_share_of_density(
    problem: Problem, field: MeanField, grid: Grid, density: ModalArray
) -> float:
    """As `lost_share`, of a density on its grid; 0 if Z is nowhere small where there is mass."""
    if field.partition is None or not sees_far(problem):
        return 0.0
    return lost_share(field, grid.to_nodal(field.partition), grid.to_nodal(density) * grid.weights)
