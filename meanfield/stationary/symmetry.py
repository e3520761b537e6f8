"""Fields with a symmetry: an orthonormal basis of harmonics at the nodes of a quadrature.

Axisymmetric fields on S^{d-1} depend only on t = cos(theta). Their basis are the orthonormal
Gegenbauer polynomials of index lambda = d/2 - 1,

    t p_k = b_{k+1} p_{k+1} + b_k p_{k-1},      b_k^2 = k (k + 2 lambda - 1)
                                                        / (4 (k + lambda) (k + lambda - 1)),

and sigma has the density (1 - t^2)^{lambda - 1/2} dt, normalised. No gamma function occurs, so any
d works. The quadrature is that of Chebyshev (d even) or Legendre (d odd), with the rest of the
density, a polynomial, in the weights. It needs d/2 nodes more than Gauss-Gegenbauer, but also the
smallest weight is accurate to rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from meanfield.arrays import FloatArray, IntArray
from meanfield.problem import Problem
from meanfield.spectrum.stability import couplings

# Nodes in addition to those for the basis: up to rounding, broad fields exp(V) are polynomials of
# low degree. Sharp ones need more, see `stationary_symmetry`.
SPARE_NODES = 32


@dataclass(frozen=True, eq=False)
class Symmetry:
    """Fields with a symmetry as sums of n basis functions, without the constant 1."""

    name: str  # "axisymmetric", "3-fold", "tetrahedral", ...
    dimension: int  # of the sphere S^dimension
    degrees: IntArray  # (n,): degree of each basis function, not decreasing
    # (q, n): basis functions at the nodes, orthonormal: weights @ (p_j p_k) = delta_jk.
    values: FloatArray
    # (q,): of the quadrature for sigma; the weights underflow for d in the hundreds.
    log_weights: FloatArray
    angles: FloatArray | None = None  # (q,): polar angles, radians; None if not axisymmetric

    def __repr__(self) -> str:
        return f"Symmetry({self.name} on S^{self.dimension}, {len(self.degrees)} functions)"

    def __post_init__(self) -> None:
        if len(self.degrees) == 0:
            raise ValueError(
                f"symmetry {self.name!r} has no harmonic of degree >= 1 up to its max_degree: "
                "raise max_degree."
            )

    @property
    def weights(self) -> FloatArray:
        """Quadrature weights for sigma, with sum 1, shape (q,)."""
        with np.errstate(under="ignore"):
            return np.exp(self.log_weights)

    @property
    def is_axisymmetric(self) -> bool:
        """True if fields depend only on the polar angle, as k-fold ones on the circle do, too."""
        return self.angles is not None

    @cached_property
    def dirac(self) -> FloatArray:
        """Moments p_j(1) = sqrt(N_l) of a Dirac at the pole, or of its k copies, shape (n,)."""
        if not self.is_axisymmetric:
            raise ValueError(f"symmetry {self.name!r} has no pole: take an axisymmetric one.")
        # Roots of ratios, because the counts overflow in high dimension.
        ratios = np.sqrt(_count_ratios(self.dimension, int(self.degrees[-1])))
        return np.asarray(np.cumprod(ratios)[self.degrees])


def axisymmetric(
    dimension: int, max_degree: int, *, fold: int = 1, nodes: int | None = None
) -> Symmetry:
    """Axisymmetric fields on the sphere S^dimension, and k-fold ones on the circle.

    The basis is p_l(cos theta), orthonormal, p_l(1) > 0; on the circle sqrt(2) cos(l theta).

    - fold: keeps the degrees fold, 2 fold, ...: any on the circle; on spheres 1, or 2 for even
      fields.
    - nodes: number of nodes, by default 2 max_degree + dimension / 2 + 33. Sharp densities need
      more, see `stationary_symmetry`.

    NIST DLMF 18.9.1 (recurrence), 18.3 (density).

    >>> sphere = axisymmetric(2, 3)
    >>> sphere.degrees, bool(np.allclose(sphere.values[:, 0], np.sqrt(3) * np.cos(sphere.angles)))
    (array([1, 2, 3]), True)
    """
    if dimension < 1:
        raise ValueError(f"dimension must be at least 1, got {dimension}.")
    if fold < 1 or (dimension > 1 and fold > 2):
        raise ValueError(
            f"fold = {fold} is not a symmetry of axisymmetric fields on S^{dimension}: "
            + ("it must be at least 1." if dimension == 1 else "take 1, or 2 for even fields.")
        )
    least = max_degree + dimension // 2 + 1
    if nodes is None:
        nodes = least + max_degree + SPARE_NODES
    if nodes < least:
        raise ValueError(
            f"nodes = {nodes} cannot resolve degree {max_degree} on S^{dimension}: "
            f"take at least {least}."
        )
    angles, log_weights = polar_rule(dimension, nodes)
    degrees = np.arange(fold, max_degree + 1, fold)
    if dimension == 1:
        values = np.sqrt(2.0) * np.cos(np.outer(angles, degrees))
    else:
        values = gegenbauer(dimension / 2 - 0.5, np.cos(angles), max_degree)[degrees].T
    name = "axisymmetric" if fold == 1 else f"{fold}-fold"
    return Symmetry(name, dimension, degrees, np.ascontiguousarray(values), log_weights, angles)


def polar_rule(dimension: int, nodes: int) -> tuple[FloatArray, FloatArray]:
    """Increasing polar angles and log weights of a rule exact to degree 2 nodes - dimension."""
    if dimension % 2:
        # Chebyshev nodes carry dt / sqrt(1 - t^2) = d theta.
        angles = (np.arange(nodes) + 0.5) * np.pi / nodes
        log_weights, power = np.zeros(nodes), dimension - 1
    else:
        import ducc0

        angles = np.sort(ducc0.misc.GL_thetas(nodes))
        log_weights, power = np.log(ducc0.misc.GL_weights(nodes, 1)), dimension - 2
    # The sine of the smaller of theta and pi - theta is accurate.
    log_weights += power * np.log(np.sin(np.minimum(angles, np.pi - angles)))
    return angles, log_weights - log_mean(np.zeros(nodes), log_weights)


def log_mean(exponents: FloatArray, log_weights: FloatArray) -> float:
    """Logarithm of the mean sum_q w_q exp(x_q), for terms of any size."""
    terms = exponents + log_weights
    largest = terms.max()
    with np.errstate(under="ignore"):
        return float(largest + np.log(np.exp(terms - largest).sum()))


def gegenbauer(
    index: float, t: FloatArray, max_degree: int, first: FloatArray | float = 1.0
) -> FloatArray:
    """Orthonormal Gegenbauer polynomials p_0 ... p_max_degree at t, times `first`.

    For the density (1 - t^2)^{index - 1/2}, normalised, index = d/2 - 1.
    """
    k = np.arange(2, max_degree + 1)
    squares = k * (k + 2 * index - 1) / (4 * (k + index) * (k + index - 1))
    # The formula is 0/0 at k = 1 on the circle.
    b = np.sqrt(np.concatenate([[0.0, 1 / (2 * (1 + index))], squares]))
    values = np.empty((max_degree + 1, len(t)))
    values[0] = first
    if max_degree > 0:
        values[1] = t * values[0] / b[1]
    for l in range(1, max_degree):
        values[l + 1] = (t * values[l] - b[l] * values[l - 1]) / b[l + 1]
    return values


def log_harmonic_counts(dimension: int, max_degree: int) -> FloatArray:
    """Logarithms of the numbers N_l of harmonics, which overflow in high dimension."""
    logs = np.log(_count_ratios(dimension, max_degree))
    return np.asarray(np.cumsum(logs), dtype=np.float64)


def _count_ratios(dimension: int, max_degree: int) -> FloatArray:
    """N_0 and the ratios N_l / N_{l-1}, l = 1 ... max_degree."""
    d = dimension + 1
    l = np.arange(2, max_degree + 1)
    growth = (2 * l + d - 2) * (l + d - 3) / ((2 * l + d - 4) * l)
    return np.concatenate([[1.0, float(d)], growth])[: max_degree + 1]


# A degree below this share of the largest term of the potential is dropped.
_NEGLIGIBLE = 1e-17
# The spectrum exp(-s^2 l^2 / 2) of a density of width s is 3e-18 at l = 9 / s.
_DEGREES_PER_WIDTH = 9.0
# For broad densities, whose spectrum is not that of a Gaussian.
_SPARE_DEGREES = 24
LARGEST_NODES = 2**15
"""Largest number of nodes: values of 1,000 basis functions then take 0.3 GB."""


def stationary_symmetry(
    problem: Problem, diffusivity: float, fold: int = 1, max_degree: int | None = None
) -> Symmetry:
    """Axisymmetric basis and quadrature that resolve every state of a problem.

    diffusivity: the smallest one of the states, see `narrowest_width`; fold: as in `axisymmetric`;
    max_degree: of the basis, by default `carrying_degree`.
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
    """Degree at which the spectrum of a density of a width, in radians, is rounding."""
    return _DEGREES_PER_WIDTH / width


def density_degree(degree: int, width: float) -> int:
    """Degree that resolves exp(V), for V of some degree, if it is at least as wide as `width`."""
    return degree + _SPARE_DEGREES + math.ceil(degrees_of_width(width))


def narrowest_width(problem: Problem, diffusivity: float) -> float:
    """Width in the angle of the narrowest state, sqrt(D / `steepest`)."""
    return math.sqrt(diffusivity / steepest(problem))


def steepest(problem: Problem) -> float:
    """Bound of -D V'' along great circles for every measure, which bounds the width of peaks.

    With s the similarity to a token,

        USA   -D V'' = strength <a(s) s - a'(s) s'^2>,                s'^2 <= 1 - s^2,
        SA    -D V'' = strength (<s> + beta <s'>^2 - beta <s'^2>),    <.> weighted by a(s).

    The first is at most |strength| max|a|, and so is the second if strength * beta > 0; otherwise
    the bound is |strength| max(<s> + |beta| (1 - <s>^2)).
    """
    zonal, kernel = problem.zonal, problem.zonal.kernel
    bound = abs(zonal.strength) * kernel.largest_attention
    excess = abs(kernel.beta)
    if zonal.normalized and zonal.strength * kernel.beta < 0 and excess > 0.5:
        bound *= excess + 0.25 / excess
    return bound


def carrying_degree(problem: Problem) -> int:
    """Largest degree that matters to the field of any measure, including a Dirac.

    For a Dirac, degree l adds N_l w_l to the potential. In high dimension N_l is huge, and this
    degree is far above `Problem.kernel_degree`.
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
