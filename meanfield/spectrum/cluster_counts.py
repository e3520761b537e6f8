"""Mean number of clusters of independent tokens in closed form, by Rice's formula.

The moments of N independent uniform tokens are Gaussian with E|m_l|^2 = 1/N, and in the linear
phase each grows like e^{lambda_l t}. Tokens then climb to the maxima of the attention potential
Phi = strength W * mu, an isotropic Gaussian field:

    v_l = E|Phi_l|^2 = (strength w_l)^2 e^{2 lambda_l t} / N

for each of the 2l + 1 coefficients of degree l (on the circle c_k and c_-k). With diffusion the
noise of the tokens adds a term, see `potential_variances`. The mean number of maxima is exact on
the circle (Rice) and on the sphere (Kac-Rice). The linear phase ends at the onset time
ln N / (2 lambda_max).
"""

from __future__ import annotations

import math

import numpy as np

from meanfield.arguments import at_least, checked
from meanfield.arrays import FloatArray
from meanfield.problem import Problem
from meanfield.spaces.manifold import laplacian_eigenvalues
from meanfield.spectrum.stability import growth_rate_max, growth_rates, onset_time

# Higher degrees are cut if they have less than this share of the variance of second derivatives:
# no maximum of a typical field moves by more than 1e-6 of its width.
_NEGLIGIBLE = 1e-12
# Squares of amplitudes stay in the range of doubles.
_LARGEST_EXPONENT = 300.0


def potential_variances(problem: Problem, tokens: int, time: float | None = None) -> FloatArray:
    """Variance of each coefficient of the attention potential of N independent uniform tokens.

        v_l = (strength w_l)^2 [e^{2 lambda_l t} + D l(l+d-2) (e^{2 lambda_l t} - 1) / lambda_l] / N

    and v_0 = 0. The second term is the noise of the tokens since time 0, with diffusivity D:
    dm_l = lambda_l m_l dt + sqrt(2 D l(l+d-2) / N) dB.

    - problem: its initial measure is not used.
    - tokens: their number N, at least 2.
    - time: scaled time, by default the onset time.

    Returns (max_degree + 1,), without degrees that are negligible; zeros of shape (2,) if nothing
    grows and no time is given. ValueError if tokens < 2, or the time is negative or far beyond the
    linear phase.

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA)
    >>> int(np.argmax(potential_variances(problem, 1000)))
    3
    """
    time = onset_time(problem, tokens) if time is None else time
    at_least(0, time=time)
    if not math.isfinite(time):
        return np.zeros(2)
    potential, growth = _linear_phase(problem, tokens, time)
    variances = (potential * growth) ** 2
    diffusivity = problem.zonal.diffusivity
    if diffusivity:
        dimension, degree = problem.zonal.dimension, len(potential) - 1
        decay = diffusivity * laplacian_eigenvalues(dimension, degree)
        exponents = 2.0 * time * growth_rates(problem, degree)
        still = exponents == 0.0
        # (e^x - 1) / x, 1 at x = 0.
        gathered = np.where(still, 1.0, np.expm1(exponents) / np.where(still, 1.0, exponents))
        variances += potential**2 * 2.0 * time * decay * gathered / tokens
    return variances[: _carried(problem, variances)]


def potential_growth(problem: Problem, tokens: int) -> FloatArray:
    """Factors strength w_l e^{lambda_l t} / sqrt(N) at the onset time t, without noise.

    Times sqrt(N) m_l, with the moments m_l of given tokens, they are the potential.
    """
    time = onset_time(problem, tokens)
    if not math.isfinite(time):
        return np.zeros(2)
    potential, growth = _linear_phase(problem, tokens, time)
    grown = potential * growth
    return grown[: _carried(problem, grown**2)]


def _linear_phase(problem: Problem, tokens: int, time: float) -> tuple[FloatArray, FloatArray]:
    """Strength w_l and e^{lambda_l t} / sqrt(N), up to the kernel's degree."""
    zonal, degree = problem.zonal, max(problem.zonal.degree, 1)
    potential = zonal.strength * zonal.kernel.potential_multipliers(zonal.dimension, degree)
    potential[0] = 0.0
    exponents = growth_rates(problem, degree) * time - 0.5 * math.log(tokens)
    if exponents.max() > _LARGEST_EXPONENT:
        raise ValueError(
            f"time = {time:g} is far beyond the linear phase, which ends at "
            f"{onset_time(problem, tokens):.4g}: linear theory says nothing there."
        )
    return potential, np.exp(exponents)


def _carried(problem: Problem, variances: FloatArray) -> int:
    """Number of degrees that matter to the second derivatives of the potential, at least 2."""
    dimension, l = problem.zonal.dimension, np.arange(len(variances))
    curvature = variances * (l * (l + dimension - 1.0)) ** 2 * l ** (dimension - 1.0)
    above = np.cumsum(curvature[::-1])[::-1]
    return max(2, int(np.sum(above > _NEGLIGIBLE * above[0])))


def mean_maxima(dimension: int, variances: FloatArray) -> float:
    """Mean number of maxima of an isotropic Gaussian field on the circle or the sphere.

        circle    sqrt(sum_k k^4 v_k / sum_k k^2 v_k)
        sphere    1 + 2 eta^{3/2} / sqrt(1 + 3 eta),    eta = C'' / C',
                  C' = sum_l (2l+1) v_l l(l+1) / 2,
                  C'' = sum_l (2l+1) v_l (l-1)l(l+1)(l+2) / 8,

    C' and C'' are derivatives at 1 of the covariance as a function of the cosine.

    - dimension: 1 for the circle, 2 for the sphere.
    - variances (max_degree + 1,): E|g_l|^2 of each coefficient of degree l; degree 0 is ignored.

    Returns 0 for the zero field. ValueError in other dimensions, which have no formula here.

    Rice, Mathematical analysis of random noise, Bell Syst. Tech. J. 24 (1945), section 3.6.
    Cheng, Schwartzman, Expected number and height distribution of critical points of smooth
    isotropic Gaussian random fields, Bernoulli 24 (2018), 3422-3446, arXiv:1511.06835.

    Spherical harmonics of degree 3:

    >>> round(mean_maxima(2, np.array([0.0, 0.0, 0.0, 1.0])), 6)
    3.711631
    """
    if dimension not in (1, 2):
        raise ValueError(
            f"mean numbers of maxima are built in for dimensions 1 and 2, got {dimension}: use "
            "the circle or the sphere."
        )
    largest = float(np.max(variances[1:], initial=0.0))
    if largest == 0:
        return 0.0
    l = np.arange(len(variances), dtype=np.float64)
    v = np.asarray(variances) / largest
    v[0] = 0.0
    if dimension == 1:
        return math.sqrt(float(np.sum(l**4 * v) / np.sum(l**2 * v)))
    first = float(np.sum((2 * l + 1) * v * l * (l + 1))) / 2
    second = float(np.sum((2 * l + 1) * v * (l - 1) * l * (l + 1) * (l + 2))) / 8
    eta = second / first
    return float(1.0 + 2.0 * eta**1.5 / math.sqrt(1.0 + 3.0 * eta))


@checked
def mean_clusters(problem: Problem, tokens: int, time: float | None = None) -> float:
    """Mean number of clusters of N independent uniform tokens, from linear theory.

    It is the mean number of maxima of the attention potential at the end of the linear phase.

    Parameters
    ----------
    problem : Problem
        On the circle or the sphere; its initial measure is not used.
    tokens : int
        Their number N, at least 2.
    time : float, optional
        Scaled time, by default the onset time.

    Returns
    -------
    float
        0 if nothing grows: the uniform measure is stable and there are no clusters.

    Raises
    ------
    ValueError
        If tokens < 2, or on another manifold.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=7.0), mf.USA)
    >>> round(mf.mean_clusters(problem, tokens=1000), 3)
    3.585
    """
    return mean_maxima(problem.zonal.dimension, potential_variances(problem, tokens, time))


@checked
def tokens_for_dominance(problem: Problem, ratio: float = 10.0) -> float:
    """Number of tokens at which the fastest degree dominates when the linear phase ends.

    Amplitudes start equal. At the onset time the fastest exceeds the second by the factor
    N^{(1 - r) / 2}, with the ratio r of their rates, so

        N = ratio^{2 / (1 - r)}.

    Parameters
    ----------
    problem : Problem
        Its initial measure is not used.
    ratio : float
        Ratio of the two amplitudes, above 1.

    Returns
    -------
    float
        Infinite if nothing grows, or beyond the range of doubles.

    Raises
    ------
    ValueError
        If ratio <= 1.

    Examples
    --------
    >>> import meanfield as mf
    >>> f"{mf.tokens_for_dominance(mf.Problem(mf.Circle(), mf.exponential(beta=7.0), mf.USA)):.0e}"
    '1e+33'
    """
    if not ratio > 1:
        raise ValueError(f"ratio must be above 1, got {ratio}.")
    fastest = growth_rate_max(problem)
    if fastest <= 0:
        return math.inf
    second = float(np.sort(growth_rates(problem)[1:])[-2])
    # By the logarithm, because the power may exceed the range of doubles.
    exponent = 2.0 * math.log(ratio) * fastest / max(fastest - second, math.ulp(0.0))
    return math.exp(exponent) if exponent < 709.0 else math.inf
