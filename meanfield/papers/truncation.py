"""Attention as moments: error bounds if a measure is replaced by its moments up to a degree L.

Attention depends on a measure only through its moments against spherical harmonics,
sum_j Y_lm(x_j). A Sumformer is such a map with one sum over tokens. With N_l harmonics of degree l
and the scaled kernel a(s) = e^{beta s - |beta|}, degrees above L contribute at most

    R_L = sum_{l > L} N_l |a_l|                                            of the kernel,
    V_L = |strength / beta| sum_{l > L} N_l |a_l| sqrt(l (l + d - 2) / (d - 1))   of the velocity,

for every measure, at every x. With the reproducing kernel Z_l of degree l, |Z_l| <= N_l and, by
the Cauchy-Schwarz inequality, |t . grad Z_l| <= N_l sqrt(l (l + d - 2) / (d - 1)). The first bound
is attained at x = y (x = -y for beta < 0). On the circle the second sum telescopes to
V_L = e^{-beta} (I_L + I_{L+1}). With numerator N and denominator Z of softmax,

    v - v_L = (N - N_L - v_L (Z - Z_L)) / Z    =>    |v - v_L| <= (V_L + |v_L| R_L) / (Z_L - R_L).

A head with score S (beta included) and value V has, with z = S^T x, the kernel e^{<z, y>}. Its
R_L(|z|) is a power series in |z| with positive coefficients, so at most R_L(|S|_2). Moments up to
degree L give e^{<z, y>} y up to degree L - 1 of the first factor. So outputs err by at most
|V|_2 R_{L-1}, and Z by R_{L-1}.

Alberti, Dern, Thesing, Kutyniok, arXiv:2307.02301 (Sumformer).
Choromanski et al., arXiv:2009.14794 (positive random features).
Rahimi, Recht, NIPS 2007 (trigonometric ones).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from meanfield.arguments import at_least, at_most, checked
from meanfield.arrays import FloatArray
from meanfield.papers.contraction import slopes, softmax_source, softmax_stretch
from meanfield.problem import Problem
from meanfield.terms.attention import HeadMatrices
from meanfield.terms.kernels.exponential import SMALLEST_BETA, log_shares
from meanfield.terms.kernels.kernel import LARGEST_DEGREE

# A bound that underflows is replaced by this, as 0 would be wrong.
_TINY = float(np.finfo(np.float64).tiny)


class TruncatedHead(NamedTuple):
    """Truncation errors of one head.

    - kernel_error: bound of the error of its weights and its Z; its largest weight is 1.
    - output_error: bound of the error of the tangent part of sum a(s) V y, scaled as `size`.
    - size: |V|_2, for a kernel |strength|; without normalisation times e^{|S|_2 - s}, s the largest
      |S|_2 of all heads.
    - sharpness: |S|_2, for a kernel |beta|.
    """

    kernel_error: float
    output_error: float
    size: float
    sharpness: float


@dataclass(frozen=True)
class Truncation:
    """Certified errors of moments up to a degree, in the scaled time of this package.

    - degree: largest degree L of the moments.
    - features: number of moments, C(L + d - 1, d - 1) + C(L + d - 2, d - 1): 2 L + 1 on the circle,
      (L + 1)^2 on the sphere.
    - heads (tuple of TruncatedHead): a kernel counts as one head.
    - normalized: whether weights are divided by Z.
    - largest_speed: largest speed in any measure: max |strength| e^{beta (cos phi - 1)} sin phi
      without normalisation, |strength| with it; for heads a bound, the sum of their `size`.
    - rates (float, float) or None: rate at which tokens in one mean field separate, and Lipschitz
      constant of velocities in the measure (times Z), see `flow_error`; None without a bound.
    """

    degree: int
    features: int
    heads: tuple[TruncatedHead, ...]
    normalized: bool
    largest_speed: float
    rates: tuple[float, float] | None

    @property
    def kernel_error(self) -> float:
        """Bound R_L of the error of weights, with largest weight 1; the maximum over heads."""
        return max(head.kernel_error for head in self.heads)

    @property
    def velocity_error(self) -> float:
        """Bound V_L of the error of velocities; under softmax before the division by Z."""
        return sum(head.output_error for head in self.heads)

    def softmax_error(
        self, partition: FloatArray | float | None = None, output: FloatArray | float = 1.0
    ) -> FloatArray:
        """Bound (V_L + |v_L| R_L) / (Z_L - R_L) of softmax velocities; infinite where Z_L <= R_L.

        Bounds of several heads add up. v and Z of all degrees may replace v_L and Z_L.

        - partition (ndarray or float): Z_L or a lower bound, with largest weight 1. n equal tokens
          with beta > 0 have Z >= 1/n at tokens. Default e^{-2 |S|_2}, the smallest weight.
        - output (ndarray or float): |v_L| at strength 1, which is at most 1.
        """
        if not self.normalized:
            raise ValueError("weights are not normalised: the bound is velocity_error.")
        total: FloatArray | float = 0.0
        for head in self.heads:
            least = math.exp(-2.0 * head.sharpness) if partition is None else partition
            left = np.asarray(least, dtype=np.float64) - head.kernel_error
            lost = head.output_error + head.size * np.asarray(output) * head.kernel_error
            total = total + np.where(left > 0.0, lost / np.where(left > 0.0, left, 1.0), np.inf)
        return np.asarray(total)

    def flow_error(
        self, time: FloatArray | float, partition: FloatArray | float | None = None
    ) -> FloatArray:
        """Bound eps (e^{C t} - 1) / C of the error of tokens after a scaled time t.

        C = p + q / z with p, q = `rates`; z (`partition`) is a lower bound of Z at tokens up to the
        time, and eps is `softmax_error` with z. Without normalisation z = 1, eps = V_L, and
        C = |strength| (M + 1) with h = e^{beta cos phi - |beta|} sin phi, M = max -h' for positive
        and max h' for negative strength. ValueError for heads, diffusion and other terms.
        """
        if self.rates is None:
            raise ValueError(
                "how errors grow is known of one kernel without diffusion and other terms: use "
                "velocity_error, or softmax_error."
            )
        if not self.normalized and partition is not None:
            raise ValueError("weights are not normalised: there is no partition.")
        if not np.all(np.asarray(time) >= 0.0):
            raise ValueError(f"time must not be negative, got {np.min(time):g}.")
        (parting, source), z, error = self.rates, np.ones(()), np.asarray(self.velocity_error)
        if self.normalized:
            least = math.exp(-2.0 * self.heads[0].sharpness) if partition is None else partition
            z, error = np.asarray(least, dtype=np.float64), self.softmax_error(least)
        time = np.asarray(time, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            rate = parting + source / z
            grown = error * (np.expm1(rate * time) / rate)
            # At time 0 there is no error, even where the bound is infinite.
            return np.where(time == 0.0, 0.0, np.where(np.isnan(grown), np.inf, grown))


@checked
def truncation(
    problem: Problem, degree: int | None = None, *, error: float | None = None
) -> Truncation:
    """Certified error of attention from moments up to a degree, for any measure on S^{d-1}.

    Parameters
    ----------
    problem : Problem
        A built-in kernel, or heads with matrices, on the circle or a sphere of any dimension; its
        initial measure is not used.
    degree : int, optional
        Largest degree of the moments; by default the degree for `error`, or the largest degree of
        the kernel that the package uses.
    error : float, optional
        Chooses the least degree with at most this `kernel_error`, relative to the largest weight.

    Returns
    -------
    Truncation
        Bounds are sums of positive terms, accurate to a few eps.

    Raises
    ------
    ValueError
        If both are given, the error is not positive or the degree below 0. If tokens live in R^d,
        or weights are doubly stochastic. If the kernel is a user's own, whose tail has no bound.

    Examples
    --------
    >>> import meanfield as mf
    >>> kept = truncation(mf.Problem(mf.Sphere(), mf.exponential(5.0), mf.USA), error=1e-4)
    >>> kept.degree, kept.features, f"{kept.kernel_error:.3g} {kept.velocity_error:.3g}"
    (10, 121, '4.92e-05 8.18e-05')
    >>> rotated = mf.Head(score=[[0, 1], [-1, 0]], value=[[2, 0], [0, 1]], beta=5.0)
    >>> of_heads = mf.Problem(mf.Circle(), mf.Attention([rotated], normalization="none"))
    >>> f"{truncation(of_heads, 20).velocity_error:.3g}"
    '1.53e-12'
    """
    heads, alone = _heads(problem), problem.attention is None
    dimension, sharpest = problem.manifold.dimension, max(map(_sharpness, heads))
    if degree is not None and error is not None:
        raise ValueError("truncation: give the degree or the error, got both.")
    if error is not None:
        if not error > 0:
            raise ValueError(f"truncation: error must be above 0, got {error:g}.")
        degree = _least_degree(dimension, sharpest, error) + (0 if alone else 1)
    degree = problem.relevant_degree() if degree is None else degree
    at_least(0, degree=degree)
    at_most(LARGEST_DEGREE, degree=degree)
    normalized = problem.normalization == "softmax"
    lost: list[TruncatedHead] = []
    for head in heads:
        sharpness = _sharpness(head)
        size = abs(head.multiples[1]) if head.multiples else float(np.linalg.norm(head.value, 2))
        # Without Z one number divides the papers' e^{<z, y>} of all heads.
        size *= 1.0 if normalized else math.exp(sharpness - sharpest)
        kernel, velocity = _tails(dimension, sharpness, degree if alone else degree - 1)
        lost.append(TruncatedHead(kernel, size * (velocity if alone else kernel), size, sharpness))
    # Frequencies, fixed fields and noise would add to the rates.
    plain = alone and problem.is_isotropic and problem.layers is None
    rates = _rates(problem) if plain and problem.zonal.diffusivity == 0 else None
    speed = sum(head.size for head in lost)
    if alone and not normalized:
        speed *= _largest_speed(sharpest)
    features = sum(math.comb(degree + dimension - k, dimension) for k in (0, 1))
    return Truncation(degree, features, tuple(lost), normalized, speed, rates)


@checked
def trigonometric_variance(beta: float, s: FloatArray | float, frequencies: int) -> FloatArray:
    """Variance of a(s) from random frequencies, (1 - e^{-2 beta (1 - s)})^2 / (2 D), beta > 0.

    The estimate of e^{beta <x, y> - beta} is the mean of cos(sqrt(beta) <omega, x - y>) over D
    standard normal vectors omega, with 2 D features. It is unbiased. In every dimension its root
    mean square error is at most (2 D)^{-1/2}.
    """
    _check_random(beta, frequencies)
    return np.asarray(np.expm1(-2.0 * beta * (1.0 - np.asarray(s))) ** 2 / (2.0 * frequencies))


@checked
def positive_variance(beta: float, s: FloatArray | float, frequencies: int) -> FloatArray:
    """Variance of a(s) from positive features, a(s)^2 (e^{2 beta (1 + s)} - 1) / D, beta > 0.

    The estimate of e^{beta <x, y> - beta} is e^{-beta} times the mean of f(x) f(y) over D standard
    normal vectors omega, f(x) = e^{sqrt(beta) <omega, x> - beta / 2}, with D features. It is
    positive. It is accurate where the kernel is small; at s = 1 the variance grows like e^{4 beta}.
    Choromanski et al., arXiv:2009.14794, Lemma 2.
    """
    _check_random(beta, frequencies)
    s = np.asarray(s, dtype=np.float64)
    with np.errstate(over="ignore"):
        grown = np.exp(4.0 * beta * s) - np.exp(-2.0 * beta * (1.0 - s))
    return np.asarray(grown / frequencies)


def _check_random(beta: float, frequencies: int) -> None:
    if not beta > 0:
        raise ValueError(f"random features are of beta above 0, got {beta:g}.")
    at_least(1, frequencies=frequencies)


def _heads(problem: Problem) -> tuple[HeadMatrices, ...]:
    """Heads of a problem; ValueError if there is no bound."""
    problem.check_one_stage()
    if not problem.manifold.is_sphere:
        raise ValueError(
            f"moments are those of a circle or a sphere, and tokens of {problem.manifold.name} are "
            "summed over pairs: there is nothing to truncate."
        )
    if problem.normalization == "sinkhorn":
        raise ValueError(
            "truncation is bounded for normalization none and softmax: the scaling of sinkhorn "
            "depends on what is lost everywhere."
        )
    heads = problem.heads
    if heads is None:
        raise ValueError(
            f"truncation is bounded for the exponential and the linear kernel, got "
            f"{problem.own_kernel.name!r}: nothing bounds the degrees of an own kernel."
        )
    return heads


def _sharpness(head: HeadMatrices) -> float:
    # For multiples of the identity this is exact; a norm would round.
    return abs(head.multiples[0]) if head.multiples else head.sharpness


def _tails(dimension: int, beta: float, degree: int) -> tuple[float, float]:
    """R_L and V_L at |strength| = 1, for a degree L >= -1."""
    if beta < SMALLEST_BETA:
        # a = 1 and W = s.
        return float(degree < 0), float(degree < 1)
    logs = log_shares(dimension, beta, degree)
    l = np.arange(degree + 1, len(logs), dtype=np.float64)
    with np.errstate(under="ignore", divide="ignore"):
        kernel = np.exp(logs[degree + 1 :]).sum()
        steepness = 0.5 * np.log(l * (l + dimension - 1.0) / dimension)
        velocity = np.exp(logs[degree + 1 :] + steepness - math.log(beta)).sum()
    return max(float(kernel), _TINY), max(float(velocity), _TINY)


def _least_degree(dimension: int, beta: float, error: float) -> int:
    """Least L with R_L <= error."""
    if beta < SMALLEST_BETA:
        return 0
    if error < _TINY:
        raise ValueError(f"truncation: error must be at least {_TINY:g}, got {error:g}.")
    beyond = 30
    while True:
        logs = log_shares(dimension, beta, beyond)
        with np.errstate(under="ignore"):
            # Entry L is R_L: small terms first.
            tails = np.cumsum(np.exp(logs[:0:-1]))[::-1]
        if tails[beyond] <= error:
            return int(np.argmax(tails <= error))
        beyond *= 2


def _rates(problem: Problem) -> tuple[float, float] | None:
    """Largest rate at which test particles separate, and Lipschitz constant in the measure times Z.

    Without normalisation these are M- (M+ if tokens repel) and 1, times |strength|. Across the
    great circle of x and y the rate is at most -a(s) s, below M-. The derivative of a(s) P_x y by y
    is h' along the great circle and a(s) across it.
    """
    zonal = problem.zonal
    beta, strength = zonal.kernel.log_slope, abs(zonal.strength)
    if beta is None or strength == 0.0:
        return None
    turned = math.copysign(1.0, zonal.strength) * beta
    if zonal.normalized:
        source = softmax_source(beta, zonal.dimension)
        return strength * softmax_stretch(turned), strength * source
    falling, rising = slopes(beta)
    return strength * (falling if zonal.strength > 0 else rising), strength


def _largest_speed(beta: float) -> float:
    """Largest e^{beta (cos phi - 1)} sin phi; there beta sin^2 phi = cos phi."""
    root = math.hypot(1.0, 2.0 * beta)
    away = (1.0 + 1.0 / (root + 2.0 * beta)) / (1.0 + root)
    return math.exp(-beta * away) * math.sqrt(away * (2.0 - away))
