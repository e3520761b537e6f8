"""The kernel of self-attention, a(s) = exp(beta s - |beta|), on the sphere of any dimension.

Its multipliers on S^{d-1} are a_l = e^{-|beta|} Gamma(d/2) (2/beta)^{d/2-1} I_{l+d/2-1}(beta).
That product overflows for large d or small beta, so it is never formed. Let nu_l = l + d/2 - 1.
The ratios r_l = a_l / a_{l-1} = I_{nu_l}(beta) / I_{nu_l - 1}(beta) obey:

    1 / r_l = r_{l+1} + 2 nu_l / beta                     (DLMF 10.29.1)

and the value of the kernel at s = 1 fixes the scale,

    sum_l N_l a_l = a(1) = 1,       N_l = dimension of the harmonics of degree l.

Run downwards, both have positive terms only: no cancellation, no overflow, every d and beta.
The limit beta -> 0 is the linear kernel, Kuramoto's on every sphere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from meanfield.arguments import checked
from meanfield.arrays import FloatArray, read_only
from meanfield.terms.kernels.kernel import Kernel, harmonic_growth

# exp(-_FORGOTTEN) is the share of a wrong starting ratio that survives: below rounding.
_FORGOTTEN = 42.0
# Recurrences start at about sqrt(42 beta) degrees: beyond this they take seconds.
LARGEST_BETA = 1e8
# The potential is 1 / beta, which overflows next to 0.
SMALLEST_BETA = 1e-300
# exp(-_BEYOND) is the share of a sum of positive terms that may be left out.
_BEYOND = 45.0
_NEWTON_STEPS = 40
# Quadratic convergence: after a step of this share the next is rounding.
_NEWTON_TOLERANCE = 1e-8


@checked
def exponential(beta: float | Callable[[float], float]) -> Kernel:
    """Exponential kernel a(s) = exp(beta s - |beta|) of self-attention.

    Its potential is W(s) = a(s) / beta. Convolution with a over the uniform probability
    measure multiplies the coefficient of degree l by

        e^{-|beta|} I_l(beta)      on the circle,
        e^{-|beta|} i_l(beta)      on the sphere,

    where I_l and i_l are the modified (spherical) Bessel functions of the first kind.

    Parameters
    ----------
    beta : float or callable
        Inverse temperature, dimensionless, 1e-300 to 1e8 in modulus; or a function of scaled time.

    Raises
    ------
    ValueError
        If beta is out of range; the limit beta -> 0 is `linear` (Kuramoto).

    References
    ----------
    Geshkovski, Letrouit, Polyanskiy, Rigollet, A mathematical perspective on Transformers,
    arXiv:2312.10794 (the SA and USA dynamics).
    NIST DLMF 10.35.2 (circle) and 10.60.8 (sphere).

    Examples
    --------
    >>> exponential(beta=1.0).attention_multipliers(1, 2).round(4)
    array([0.4658, 0.2079, 0.0499])
    """
    # `Problem` replaces a function of time by numbers.
    return Exponential(beta if callable(beta) else float(beta))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Exponential(Kernel):
    """The kernel that `exponential` makes."""

    beta: float
    name: str = field(default="exponential", init=False)

    def __post_init__(self) -> None:
        if not callable(self.beta) and not SMALLEST_BETA <= abs(self.beta) <= LARGEST_BETA:
            raise ValueError(
                f"beta must be {SMALLEST_BETA:g} to {LARGEST_BETA:g} in modulus, got "
                f"{self.beta:g}; the limit beta -> 0 is the linear kernel."
            )

    @property
    def log_slope(self) -> float:
        return self.beta

    @property
    def log_scale(self) -> float:
        return abs(self.beta)

    def attention(self, s: FloatArray) -> FloatArray:
        return np.asarray(np.exp(self.beta * s - abs(self.beta)))

    def potential(self, s: FloatArray) -> FloatArray:
        return self.attention(s) / self.beta

    def attention_multipliers(self, dimension: int, max_degree: int) -> FloatArray:
        return self._signed(scaled_bessel(dimension, abs(self.beta), max_degree))

    def potential_multipliers(self, dimension: int, max_degree: int) -> FloatArray:
        return self.attention_multipliers(dimension, max_degree) / self.beta

    def normalized_multipliers(self, dimension: int, max_degree: int) -> FloatArray:
        relative, _ = _relative_bessel(dimension, abs(self.beta), max_degree)
        return self._signed(relative) / self.beta

    def __repr__(self) -> str:
        return f"exponential(beta={getattr(self.beta, '__name__', self.beta)})"

    def _signed(self, multipliers: FloatArray) -> FloatArray:
        # a(-beta; s) = a(beta; -s), and Y_l(-x) = (-1)^l Y_l(x).
        if self.beta > 0:
            return multipliers
        return multipliers * (-1.0) ** np.arange(len(multipliers))


@checked
def linear() -> Kernel:
    """Linear kernel: attention a(s) = 1, potential W(s) = s.

    Its multipliers are a_0 = 1, w_1 = 1/d on S^{d-1}, and zero elsewhere. On the circle it is
    the Kuramoto model of identical oscillators with coupling 1. It is the limit beta -> 0 of
    `exponential`.

    Examples
    --------
    >>> linear().potential_multipliers(1, 3)
    array([0. , 0.5, 0. , 0. ])
    """
    return Linear()


@dataclass(frozen=True)
class Linear(Kernel):
    """The kernel that `linear` makes."""

    name: str = field(default="linear", init=False)
    beta: float = field(default=0.0, init=False)

    @property
    def log_slope(self) -> float:
        return 0.0

    def attention(self, s: FloatArray) -> FloatArray:
        return np.ones_like(np.asarray(s, dtype=np.float64))

    def potential(self, s: FloatArray) -> FloatArray:
        return np.asarray(s, dtype=np.float64)

    def attention_multipliers(self, dimension: int, max_degree: int) -> FloatArray:
        return _single(0, 1.0, max_degree)

    def potential_multipliers(self, dimension: int, max_degree: int) -> FloatArray:
        return _single(1, 1.0 / (dimension + 1), max_degree)

    def normalized_multipliers(self, dimension: int, max_degree: int) -> FloatArray:
        return self.potential_multipliers(dimension, max_degree)

    def __repr__(self) -> str:
        return "linear()"


def _single(degree: int, value: float, max_degree: int) -> FloatArray:
    multipliers = np.zeros(max_degree + 1)
    multipliers[degree : degree + 1] = value
    return multipliers


def scaled_bessel(dimension: int, beta: float, max_degree: int) -> FloatArray:
    """Multipliers e^{-beta} Gamma(d/2) (2/beta)^{d/2-1} I_{l+d/2-1}(beta), d = dimension + 1.

    Relative error of a few times 1e-15 at every degree that does not underflow.

    >>> from scipy.special import ive
    >>> float(scaled_bessel(1, 9.0, 4)[4] / ive(4, 9.0)).__round__(13)
    1.0
    """
    relative, mean_value = _relative_bessel(dimension, beta, max_degree)
    with np.errstate(under="ignore"):
        return mean_value * relative


@lru_cache(maxsize=64)
def log_shares(dimension: int, beta: float, max_degree: int) -> FloatArray:
    """Logarithms of N_l a_l, the share of degree l of a(1) = 1, until the rest is rounding.

    Where a_l underflows, as in many dimensions, these do not. Past the peak N_l a_l falls ever
    faster: r_l decreases in l, and so does N_l / N_{l-1} from l = 2 on. So the rest is less than a
    geometric series, and here below e^{-45} of that beyond max_degree, each degree counted l times.

    >>> bool(abs(np.exp(log_shares(6, 3.0, 4)).sum() - 1.0) < 1e-14)
    True
    """
    d, last = dimension + 1, max(2 * max_degree, 62) + 2
    while True:
        ratios = np.array(_ratios(d / 2, beta, _starting_degree(beta, last)))[:last]
        growth = harmonic_growth(d, last)
        logs = np.cumsum(np.log(np.concatenate([[1.0], growth * ratios])))
        fall = growth[-1] * ratios[-1] * last / (last - 1)
        rest = logs[-1] + math.log(last * fall / (1.0 - fall)) if fall < 1.0 else math.inf
        if rest < logs[max_degree + 1 :].max() - _BEYOND:
            logs -= logs.max() + math.log(np.exp(logs - logs.max()).sum())
            return read_only(logs)
        last *= 2


def _relative_bessel(dimension: int, beta: float, max_degree: int) -> tuple[FloatArray, float]:
    """Ratios a_l / a_0, l = 0 ... max_degree, and the mean value a_0, 0 if it underflows."""
    # A power of two: most calls for one kernel then share one recurrence.
    count = 1 << (int(_starting_degree(beta, max_degree)) - 1).bit_length()
    ratios, mean_value = _ratios_and_mean(dimension, beta, count)
    with np.errstate(under="ignore"):
        return np.concatenate([[1.0], np.cumprod(ratios[:max_degree])]), mean_value


def bessel_ratio(order: FloatArray | float, beta: FloatArray | float) -> FloatArray:
    """Ratio I_order(beta) / I_{order-1}(beta) by its continued fraction (DLMF 10.33.1).

    >>> bool(abs(bessel_ratio(2.0, 1.0444568621078) - 0.25) < 1e-13)
    True
    """
    order, beta = np.asarray(order, dtype=np.float64), np.asarray(beta, dtype=np.float64)
    count = _starting_degree(float(beta.max()), 0, offset=float(order.min()))
    ratio = beta / (order + count + np.hypot(order + count, beta))
    for step in range(count - 1, -1, -1):
        ratio = 1.0 / (ratio + 2.0 * (order + step) / beta)
    return np.asarray(ratio)


def inverse_bessel_ratio(order: FloatArray | float, ratio: FloatArray | float) -> FloatArray:
    """The beta at which I_order(beta) / I_{order-1}(beta) is a given ratio in (0, 1).

    Newton's method for all entries at once. The ratio r obeys r' = 1 - (2 nu - 1) r / beta - r^2
    (DLMF 10.29.2) and is concave. So the iteration rises from `bessel_ratio_argument` to the root
    and never passes it.

    >>> bool(abs(inverse_bessel_ratio(2.0, 0.25) - 1.0444568621078) < 1e-13)
    True
    """
    beta = bessel_ratio_argument(order, ratio)
    for _ in range(_NEWTON_STEPS):
        value = bessel_ratio(order, beta)
        slope = 1.0 - (2.0 * np.asarray(order) - 1.0) * value / beta - value**2
        step = (ratio - value) / slope
        beta = beta + step
        if np.all(np.abs(step) <= _NEWTON_TOLERANCE * beta):
            break
    return np.asarray(beta)


def bessel_ratio_argument(order: FloatArray | float, ratio: FloatArray | float) -> FloatArray:
    """Lower bound of `inverse_bessel_ratio`, tight for small ratios.

    I_nu / I_{nu-1} <= beta / (a + sqrt(a^2 + beta^2)), a = nu - 1, solved for beta (Amos, Math.
    Comp. 28, 1974, eq. 11).
    """
    order, ratio = np.asarray(order), np.asarray(ratio)
    return np.asarray(2.0 * (order - 1.0) * ratio / (1.0 - ratio**2))


def _starting_degree(beta: float, max_degree: int, offset: float = 0.0) -> int:
    """Degree from which the downward recurrence has forgotten its start at `max_degree`.

    A step down multiplies a relative error by r^2 or less, r = exp(-asinh(nu / beta)) up to
    terms that are smaller (Amos, Math. Comp. 28, 1974, eq. 9).
    """
    degrees = 64
    while True:
        forgotten = 2.0 * np.cumsum(np.arcsinh((max_degree + offset + np.arange(degrees)) / beta))
        if forgotten[-1] > _FORGOTTEN:
            return max_degree + int(np.searchsorted(forgotten, _FORGOTTEN)) + 2
        degrees *= 2


def _ratios(first_order: float, beta: float, count: int) -> list[float]:
    """I_nu / I_{nu-1} for nu = first_order, first_order + 1, ..., `count` of them."""
    order = first_order + count
    ratio = beta / (order + math.hypot(order, beta))
    ratios = []
    for step in range(count - 1, -1, -1):
        ratio = 1.0 / (ratio + 2.0 * (first_order + step) / beta)
        ratios.append(ratio)
    return ratios[::-1]


@lru_cache(maxsize=64)
def _ratios_and_mean(dimension: int, beta: float, count: int) -> tuple[FloatArray, float]:
    """Ratios r_1, r_2, ... (at least `count`) and the mean value a_0."""
    d = dimension + 1
    while True:
        ratios = np.array(_ratios(d / 2, beta, count))
        growth = harmonic_growth(d, count)
        with np.errstate(under="ignore", over="ignore"):
            terms = np.cumprod(growth * ratios)
            total = 1.0 + terms.sum()
        if not np.isfinite(total):
            # The kernel is so narrow that every multiplier is below the smallest number.
            return ratios, 0.0
        # Past the peak the terms fall faster than a geometric series of the last ratio.
        last = growth[-1] * ratios[-1]
        if last < 1.0 and terms[-1] < 1e-18 * total * (1.0 - last):
            return ratios, 1.0 / total
        count *= 2
