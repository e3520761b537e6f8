"""Loss of digits of the partition function Z = a * mu.

As a series of moments Z has an absolute error of rounding times the sum S of the moduli of its
terms. Most kernels are largest at s = 1: then Z is as large as the mass nearby, and the error small
where there is mass. With a = e^{beta s - |beta|}, beta < 0, tokens attend to the opposite point:
Z may be e^{-2 |beta|} where all the mass is, and `positive_sums` takes over.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from meanfield.arrays import EPS, FloatArray, ModalArray
from meanfield.bases.grid import Grid
from meanfield.fields.interactions import AnyInteraction, Field
from meanfield.problem import Problem
from meanfield.spaces import Manifold
from meanfield.terms.attention import Attention

# Noise of Z as a share of S, that of moments included: five times the loss measured for densities
# at |beta| = 4 to 10 and concentrations 2 to 20.
ROUNDING_SHARE = 1e-15
# Kernels whose value at s = 1 is a larger share of their largest lose three digits at most.
_NEAR = 1e-3
# Under the uniform law Z = a_0, which is small beside a cluster's Z in many dimensions.
_THIN = 1e-5
# Degree of the grid of tokens whose own scores are computed.
_LEAST_GRID_DEGREE = 12


def partition_cancels(problem: Problem) -> bool:
    """True if rounding may cancel Z where there is mass: SA with a(1) < max |a| / 1000.

    For heads: some token scores itself by ln 1000 less than its highest score. For axial
    measures also where the uniform law's Z is below 1e-5 of a cluster's.

    >>> import meanfield as mf
    >>> problems = [mf.Problem(mf.Circle(), mf.exponential(b), mf.SA) for b in (9.0, -3.0, -9.0)]
    >>> [partition_cancels(problem) for problem in problems]
    [False, False, True]
    """
    if not problem.manifold.has_series:
        # Sums over pairs lose no digits.
        return False
    if not problem.flow.normalized:
        return False
    if problem.attention is not None:
        return _own_score(problem.attention, problem.manifold) < float(np.log(_NEAR))
    kernel = problem.own_kernel
    if problem.manifold.has_rings:
        uniform = float(kernel.attention_multipliers(problem.manifold.dimension, 0)[0])
        if uniform < _THIN * kernel.largest_attention:
            return True
    here = float(np.abs(kernel.attention(np.ones(1))[0]))
    return here < _NEAR * kernel.largest_attention


@lru_cache(maxsize=16)
def _own_score(attention: Attention, space: Manifold) -> float:
    """Least x^T S x - |S^T x| over tokens x and heads: own score minus largest score."""
    x = space.vectors(space.grid(_LEAST_GRID_DEGREE).points)
    scores = [x @ head.score for head in attention.matrices(x.shape[1])]
    return float(min(((z * x).sum(axis=1) - np.sqrt((z * z).sum(axis=1))).min() for z in scores))


def relative_errors(field: Field, values: Callable[[ModalArray], FloatArray]) -> FloatArray | float:
    """Relative error of Z as a series, rounding S / Z, at most 1, at the points of `values`.

    Velocities have the same error. It is the largest of all heads; 0 where Z = 1.
    """
    worst: FloatArray | float = 0.0
    space = field.manifold
    for partition in field.partitions:
        sizes = space.sizes_by_degree(partition)
        # |sum_m g_lm Y_lm| <= sqrt(2 l + 1) |g_l| on the sphere.
        largest = float(sizes @ space.largest_sizes(len(sizes) - 1))
        noise = ROUNDING_SHARE * largest
        worst = np.maximum(worst, noise / np.maximum(values(partition), noise))
    return worst


def partition_error_at(field: Field, points: FloatArray, weights: FloatArray | None) -> float:
    """Mean relative error of Z as a series, int (rounding S / Z) dmu: 1 if all is lost."""
    if not field.partitions:
        return 0.0
    errors = relative_errors(field, lambda partition: field.manifold.evaluate(partition, points))
    masses = np.broadcast_to(1.0 / len(points), len(points)) if weights is None else weights
    return float(masses @ errors)


def series_noise(space: Manifold, density: ModalArray) -> float:
    """Rounding eps |f| of coefficients of an axial density, which transforms mix; else 0.

    In many dimensions |f|^2 = int f^2 dsigma is large, and so are the highest coefficients, long
    before the spectrum is full.

    >>> import meanfield as mf
    >>> law = mf.von_mises_fisher(100.0)
    >>> for d in (3, 64):
    ...     print(f"{series_noise(mf.Axial(d), law.build(mf.Axial(d)).coefficients):.0e}")
    2e-15
    2e-09
    """
    return EPS * float(np.linalg.norm(density)) if space.has_rings else 0.0


def partition_error_of_density(
    problem: Problem, interaction: AnyInteraction, grid: Grid, density: ModalArray
) -> float:
    """As `partition_error_at`, of a density on its grid; 0 if Z cannot cancel."""
    if not partition_cancels(problem):
        return 0.0
    field = interaction.of_density(density)
    masses = np.maximum(grid.to_nodal(density) * grid.weights, 0.0)
    return float(masses @ relative_errors(field, grid.to_nodal))
