"""Linear stability of the uniform measure.

A perturbation Y_l of uniform grows like e^{lambda_l t} with

    lambda_l = l (l + d - 2) (strength * w_l / z - diffusivity),    z = 1 or a_0,

t in scaled time, z = a_0 for a normalised flow (`docs/linear-theory.md`, eq. 4), a_0 + a_l for a
doubly stochastic one; summed over heads that are numbers. Valid for every d.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from meanfield.arguments import at_least, at_most, checked
from meanfield.arrays import EPS, FloatArray
from meanfield.laws.initial import uniform
from meanfield.problem import Problem
from meanfield.spaces.manifold import Geometry
from meanfield.spectrum.isotropic import IsotropicHeads, ZonalProblem
from meanfield.terms.flows import Normalization
from meanfield.terms.kernels.exponential import bessel_ratio_argument, inverse_bessel_ratio
from meanfield.terms.kernels.kernel import LARGEST_DEGREE

# Relative rounding of multipliers from a quadrature: such differences are ties.
TIE = 1e-12
# Growth times from the end of the linear phase until clusters have formed, measured on runs:
# tests/verification/test_cluster_law.py.
_FORMATION = 4.0
# Largest degree of a doubly stochastic threshold, which needs all multipliers; its beta is 4e7.
_MOST_BALANCED_DEGREE = 10_000


def couplings(problem: Problem, max_degree: int) -> FloatArray:
    """Couplings A_l = strength w_l / z, z = 1 or a_0: diffusivities at which degrees become stable.

    Returns (max_degree + 1,), with A_0 = 0. The diffusivity of the problem is not used.

    >>> import meanfield as mf
    >>> couplings(mf.Problem(mf.Circle(), mf.linear(), mf.USA), 2)
    array([0. , 0.5, 0. ])
    """
    return problem.isotropic.couplings(max_degree)


@checked
def growth_rates(problem: Problem, max_degree: int | None = None) -> FloatArray:
    """Growth rates lambda_l of the uniform state, in scaled time.

    Parameters
    ----------
    problem : Problem
        Its initial measure is not used.
    max_degree : int, optional
        Default: max(12, 2 x dominant + 4).

    Returns
    -------
    ndarray, shape (max_degree + 1,)
        lambda_0 = 0. Relative error below 1e-14 without diffusion; with diffusion the two terms may
        cancel.

    Raises
    ------
    ValueError
        If max_degree is negative or above 1,048,576.

    References
    ----------
    Bruno, Pasqualotto, Agazzi, arXiv:2410.23228, for d = 2 up to a factor pi of their plot.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA)
    >>> mf.growth_rates(problem, 3) * np.exp(5.0)  # in the papers' time
    array([ 0.        ,  4.86712843, 14.00449197, 18.5960703 ])
    """
    if max_degree is None:
        max_degree = max(12, 2 * (dominant_degree(problem) or 0) + 4)
    at_least(0, max_degree=max_degree)
    at_most(LARGEST_DEGREE, max_degree=max_degree)
    return problem.isotropic.growth_rates(max_degree)


@checked
def dominant_degree(problem: Problem) -> int | None:
    """Degree that grows fastest; None if uniform is stable.

    Examples
    --------
    >>> import meanfield as mf
    >>> mf.dominant_degree(mf.Problem(mf.Circle(), mf.exponential(beta=7.0), mf.USA))
    4
    """
    return problem.isotropic.dominant_degree


@checked
def growth_rate_max(problem: Problem) -> float:
    """Largest growth rate about uniform, in scaled time; may be negative.

    The maximum is over all degrees l >= 1; for heads with matrices and fixed fields over modes
    (`linear_operator`). With natural frequencies it is that about incoherence
    (`incoherence_growth_rates`), NaN without a formula. Under a mask it is the rate without mask,
    at which equal densities at all positions grow.

    Raises
    ------
    ValueError
        If heads or fixed fields move uniform itself, or parameters change with time.

    Examples
    --------
    >>> import numpy as np
    >>> import meanfield as mf
    >>> B = np.diag([1.5, 0.75])
    >>> heads = mf.Attention([mf.Head(score=B, value=np.linalg.inv(B))], beta=4.0)
    >>> round(mf.growth_rate_max(mf.Problem(mf.Circle(), heads)), 9)
    0.373904362
    """
    problem.check_rates()
    if problem.frequencies is not None:
        from meanfield.spectrum.incoherence import incoherence_growth_rates

        rates = incoherence_growth_rates(problem)[1:].real
        rates = rates[np.isfinite(rates)]
        return float(rates.max()) if len(rates) else math.nan
    if problem.own_terms or (problem.attention is not None and not problem.is_isotropic):
        return _rate_of_heads(replace(problem, initial=uniform(), layers=None))
    return float(growth_rates(problem, max(problem.isotropic.degree, 1))[1:].max())


@lru_cache(maxsize=16)
def _rate_of_heads(problem: Problem) -> float:
    from meanfield.spectrum.linear_operator import linear_operator

    operator = linear_operator(problem)
    if operator.growth_rate_max is None:
        what = "heads and fixed fields" if problem.terms else "heads"
        raise ValueError(
            f"{what} move uniform itself, |v| up to {operator.drift:.3g}: there is no growth rate, "
            "and no growth or onset time. Times of runs may be scaled or paper."
        )
    return operator.growth_rate_max


@checked
def critical_diffusivity(problem: Problem) -> float:
    """Diffusivity above which every degree decays: max_l strength w_l / z, 0 if none grows.

    Examples
    --------
    >>> import meanfield as mf
    >>> mf.critical_diffusivity(mf.Problem(mf.Circle(), mf.linear(), mf.USA))
    0.5
    """
    return max(0.0, float(couplings(problem, max(problem.isotropic.degree, 1))[1:].max()))


def critical_degree(problem: Problem) -> int:
    """Degree that loses stability at the critical diffusivity; the first of degrees that tie.

    ValueError if no degree grows at any diffusivity.

    >>> import meanfield as mf
    >>> critical_degree(mf.Problem(mf.Circle(), mf.exponential(-7.0), mf.Flow("none", -1.0)))
    2
    """
    critical = critical_diffusivity(problem)
    if critical == 0:
        isotropic = problem.isotropic
        sign = (
            f"strength = {isotropic.strength:g}"
            if isinstance(isotropic, ZonalProblem)
            else "these heads"
        )
        raise ValueError(
            "no transition: uniform is stable at every diffusivity, as no degree grows with "
            f"{sign}. Change the sign of the strength or of beta."
        )
    coupling = couplings(problem, max(problem.isotropic.degree, 1))
    return int(np.argmax(coupling >= (1.0 - TIE) * critical))


@checked
def onset_time(problem: Problem, tokens: int) -> float:
    """Time ln N / (2 lambda_max) at which N iid uniform tokens leave the linear phase.

    In scaled time; infinite if no degree grows. Under a mask it is the time without mask, which is
    a unit of time and no prediction: tokens that attend to few others are faster.

    Raises
    ------
    ValueError
        If tokens < 2, or the problem has layers with another clock.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA)
    >>> round(mf.onset_time(problem, 20_000) * math.exp(-5.0), 4)  # in the papers' time
    0.2663
    """
    at_least(2, tokens=tokens)
    problem.check_own_clock("onset times")
    rate = growth_rate_max(problem)
    return math.log(tokens) / (2.0 * rate) if rate > 0 else math.inf


def formation_time(problem: Problem, tokens: int) -> float:
    """Time (ln N / 2 + 4) / lambda_max by which N iid uniform tokens have formed their clusters.

    It is four growth times after the onset time, in scaled time; infinite if no degree grows. With
    1,000 tokens, in about nine runs of ten the number of clusters is then the same as half a growth
    time later (docs/linear-theory.md, Beyond linear theory). Later clusters merge: at twice this
    time two runs in three still have this number.
    """
    onset = onset_time(problem, tokens)
    return onset + _FORMATION / growth_rate_max(problem) if math.isfinite(onset) else onset


@checked
def switching_threshold(
    manifold: Geometry, degree: int, normalization: Normalization = "softmax"
) -> float:
    """The beta at which degree + 1 overtakes degree on `Sphere(d)`, for the exponential kernel.

    Solves I_{l+d/2}(beta) / I_{l+d/2-1}(beta) = l(l+d-2) / ((l+1)(l+d-1)); the left side
    increases from 0 to 1, so the root is unique. The beta is the same for "softmax" (SA) and "none"
    (USA), and smaller for "sinkhorn".

    Raises
    ------
    ValueError
        If degree is below 1 or above 1,048,576, for "sinkhorn" 10,000.

    Examples
    --------
    >>> import meanfield as mf
    >>> round(switching_threshold(mf.Circle(), 1), 12)
    1.044456862108
    >>> round(switching_threshold(mf.Circle(), 1, "sinkhorn"), 10)
    0.8025282516
    """
    at_least(1, degree=degree)
    doubly = normalization == "sinkhorn"
    at_most(_MOST_BALANCED_DEGREE if doubly else LARGEST_DEGREE, degree=degree)
    dimension = manifold.dimension
    threshold = float(inverse_bessel_ratio(*_switch(dimension, np.array([degree])))[0])
    return _balanced_switch(dimension, degree, threshold) if doubly else threshold


@checked
def switching_thresholds(problem: Problem) -> list[float]:
    """Betas up to the problem's own at which the dominant degree changes, diffusion ignored.

    Empty unless the problem has the attractive exponential kernel with beta > 0, or one doubly
    stochastic head of positive numbers.

    Raises
    ------
    ValueError
        If the matrices of a head prefer a direction.
    """
    isotropic = problem.isotropic
    if isinstance(isotropic, IsotropicHeads):
        (b, c), beta = isotropic.heads[0], problem.beta
        if isotropic.normalization != "sinkhorn" or len(isotropic.heads) > 1 or min(b, c) <= 0.0:
            return []
        betas: list[float] = []
        while (next_one := switching_threshold(problem.manifold, len(betas) + 1, "sinkhorn")) <= (
            beta
        ):
            betas.append(next_one)
        return betas
    zonal, beta = problem.zonal, problem.zonal.kernel.beta
    if zonal.kernel.name != "exponential" or beta <= 0 or zonal.strength < 0:
        return []
    dimension, count = zonal.dimension, 16
    while bessel_ratio_argument(*_switch(dimension, np.array([count])))[0] <= beta:
        count *= 2
    degrees = np.arange(1, count + 1)
    degrees = degrees[bessel_ratio_argument(*_switch(dimension, degrees)) <= beta]
    if len(degrees) == 0:
        return []
    thresholds = inverse_bessel_ratio(*_switch(dimension, degrees))
    return [float(threshold) for threshold in thresholds[thresholds <= beta]]


def _balanced_switch(dimension: int, degree: int, above: float) -> float:
    """Threshold of doubly stochastic attention, below that of softmax, `above`.

    There l(l+d-2) a_l / (a_0 + a_l) are equal for l = degree and degree + 1. At `above`
    l(l+d-2) a_l are equal, so the next degree is faster; at half of it it is slower.
    """
    from scipy.optimize import brentq

    def ahead(beta: float) -> float:
        of = IsotropicHeads(dimension, ((beta, 1.0),), "sinkhorn", 0.0)
        rates = of.growth_rates(degree + 1)
        return float(1.0 - rates[degree] / rates[degree + 1])

    return float(brentq(ahead, 0.5 * above, above, xtol=1e-300, rtol=4 * EPS))


def _switch(dimension: int, degrees: npt.NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
    """Order nu and the ratio I_nu / I_{nu-1} at which the next degree overtakes a degree."""
    l, d = degrees, dimension + 1
    target = l * (l + d - 2) / ((l + 1) * (l + d - 1))
    return np.asarray(l + d / 2, dtype=np.float64), target
