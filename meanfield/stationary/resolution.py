"""What resolves the stationary states of a problem: degrees that act, and quadrature nodes."""

from __future__ import annotations

import math

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.problem import Problem
from meanfield.stationary.symmetry import Symmetry, axisymmetric, log_harmonic_counts

# Share of the largest value of the potential below which a degree is not carried.
_NEGLIGIBLE = 1e-17
# The rule with step h for a density of width s in the angle errs by exp(-2 pi^2 s^2 / h^2).
NODES_PER_WIDTH = 4.5
_SPARE_NODES = 32
_LARGEST_NODES = 2**15


def stationary_symmetry(problem: Problem, diffusivity: float, fold: int = 1) -> Symmetry:
    """Axisymmetric basis and quadrature that resolve every state of a problem.

    No density is narrower than `narrowest_width`, which a number of nodes resolves.

    Parameters
    ----------
    problem : Problem
        Manifold, kernel and strength are used.
    diffusivity : float
        The smallest for which states are wanted; positive.
    fold : int
        As in `axisymmetric`.

    Raises
    ------
    ValueError
        If the diffusivity is not positive, or so small that states are Diracs for every purpose.

    Examples
    --------
    >>> import meanfield as mf
    >>> stationary_symmetry(mf.Problem(mf.Sphere(), mf.exponential(beta=2.0)), 0.1).name
    'axisymmetric'
    """
    if not diffusivity > 0:
        raise ValueError(f"stationary states need a diffusivity above 0, got {diffusivity}.")
    degree = max(carrying_degree(problem), fold)
    widths = NODES_PER_WIDTH / narrowest_width(problem, diffusivity)
    dimension = problem.manifold.dimension
    nodes = 2 * degree + dimension // 2 + _SPARE_NODES + math.ceil(widths)
    if nodes > _LARGEST_NODES:
        raise ValueError(
            f"diffusivity = {diffusivity:g} makes states of width {NODES_PER_WIDTH / widths:.1g}: "
            f"these need {nodes} nodes, at most {_LARGEST_NODES}. Raise it."
        )
    return axisymmetric(dimension, degree, fold=fold, nodes=nodes)


def narrowest_width(problem: Problem, diffusivity: float) -> float:
    """Width in the angle of the narrowest state: V'' is at most |strength| max|a| / D."""
    s = np.cos(np.linspace(0.0, np.pi, 257))
    steepest = abs(problem.flow.strength) * float(np.abs(problem.kernel.attention(s)).max())
    return math.sqrt(diffusivity / steepest)


def carrying_degree(problem: Problem) -> int:
    """Largest degree that matters to the field of any measure, also of a Dirac.

    At a Dirac degree l adds N_l w_l to the potential, N_l the number of its harmonics. In high
    dimension N_l is huge, and this degree well above `Problem.kernel_degree`.
    """
    dimension = problem.manifold.dimension
    degree = max(problem.kernel_degree, 1)
    while True:
        count = 2 * degree
        with np.errstate(divide="ignore"):
            sizes = np.log(np.abs(couplings(problem, count)))
        sizes += log_harmonic_counts(dimension, count)
        carried = np.flatnonzero(sizes > math.log(_NEGLIGIBLE) + sizes.max())
        if len(carried) == 0 or carried[-1] < count:
            return max(degree, int(carried[-1]) if len(carried) else 1)
        degree = count


def couplings(problem: Problem, max_degree: int) -> FloatArray:
    """Couplings A_l = strength * w_l / z, z = 1 or a_0; degree 0 moves nothing."""
    kernel, flow = problem.kernel, problem.flow
    multipliers = kernel.normalized_multipliers if flow.normalized else kernel.potential_multipliers
    couplings = flow.strength * multipliers(problem.manifold.dimension, max_degree)
    couplings[0] = 0.0
    return np.asarray(couplings)
