"""Resolution of stationary states: degrees that act, and quadrature nodes."""

from __future__ import annotations

import math

import numpy as np

from meanfield.problem import Problem
from meanfield.spectrum.stability import couplings
from meanfield.stationary.symmetry import SPARE_NODES, Symmetry, axisymmetric, log_harmonic_counts

# Share of the largest value of the potential below which a degree is not carried.
_NEGLIGIBLE = 1e-17
# The spectrum exp(-s^2 l^2 / 2) of a density of width s is 3e-18 at l = 9 / s.
_DEGREES_PER_WIDTH = 9.0
# For broad densities, whose spectrum is not that of a Gaussian.
_SPARE_DEGREES = 24
LARGEST_NODES = 2**15
"""Most nodes of a quadrature: values of 1,000 basis functions there take 0.3 GB."""


def stationary_symmetry(
    problem: Problem, diffusivity: float, fold: int = 1, max_degree: int | None = None
) -> Symmetry:
    """Axisymmetric basis and quadrature that resolve every state of a problem.

    diffusivity: the smallest for which states are wanted, see `narrowest_width`; fold: as in
    `axisymmetric`; max_degree: of the basis, default `carrying_degree`.
    """
    if not diffusivity > 0:
        raise ValueError(f"stationary states need a diffusivity above 0, got {diffusivity}.")
    degree = max(carrying_degree(problem), fold) if max_degree is None else max_degree
    width, dimension = narrowest_width(problem, diffusivity), problem.zonal.dimension
    # n nodes integrate degree 2 n.
    nodes = 2 * degree + dimension // 2 + SPARE_NODES + math.ceil(degrees_of_width(width) / 2)
    if nodes > LARGEST_NODES:
        raise ValueError(
            f"diffusivity = {diffusivity:g} makes states of width {width:.1g}: "
            f"these need {nodes} nodes, at most {LARGEST_NODES}. Raise it."
        )
    return axisymmetric(dimension, degree, fold=fold, nodes=nodes)


def degrees_of_width(width: float) -> float:
    """Degree at which the spectrum of a density as wide as this, in radians, is rounding."""
    return _DEGREES_PER_WIDTH / width


def density_degree(degree: int, width: float) -> int:
    """Degree that holds a density exp(V), V of some degree, no narrower than a width."""
    return degree + _SPARE_DEGREES + math.ceil(degrees_of_width(width))


def narrowest_width(problem: Problem, diffusivity: float) -> float:
    """Width in the angle of the narrowest state, sqrt(D / `steepest`)."""
    return math.sqrt(diffusivity / steepest(problem))


def steepest(problem: Problem) -> float:
    """Bound of -D V'' along great circles, for every measure: peaks are no narrower.

    With s the similarity to a token,

        USA   -D V'' = strength <a(s) s - a'(s) s'^2>,                s'^2 <= 1 - s^2,
        SA    -D V'' = strength (<s> + beta <s'>^2 - beta <s'^2>),    <.> weighted by a(s).

    The first is at most |strength| max|a|, and so is the second if strength * beta > 0; else
    <s> + |beta| (1 - <s>^2) decides.
    """
    zonal, kernel = problem.zonal, problem.zonal.kernel
    bound = abs(zonal.strength) * kernel.largest_attention
    excess = abs(kernel.beta)
    if zonal.normalized and zonal.strength * kernel.beta < 0 and excess > 0.5:
        bound *= excess + 0.25 / excess
    return bound


def carrying_degree(problem: Problem) -> int:
    """Largest degree that matters to the field of any measure, also of a Dirac.

    There degree l adds N_l w_l to the potential. In high dimension N_l is huge, and this degree
    well above `Problem.kernel_degree`.
    """
    dimension = problem.zonal.dimension
    degree = max(problem.zonal.degree, 1)
    while True:
        count = 2 * degree
        with np.errstate(divide="ignore"):
            sizes = np.log(np.abs(couplings(problem, count)))
        sizes += log_harmonic_counts(dimension, count)
        carried = np.flatnonzero(sizes > math.log(_NEGLIGIBLE) + sizes.max())
        if len(carried) == 0 or carried[-1] < count:
            return max(degree, int(carried[-1]) if len(carried) else 1)
        degree = count
