"""A user's own zonal kernel, from a function or from its multipliers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from meanfield.arguments import checked
from meanfield.arrays import EPS, FloatArray
from meanfield.terms.kernels.kernel import Kernel
from meanfield.terms.kernels.quadrature import SMOOTHER, WIDER, zonal_multipliers

# Multipliers below this share of the largest are rounding of the quadrature.
_NOISE = 64 * EPS
# Largest degree of own kernels. Smooth ones have decayed long before, so multipliers of the top
# eighth of the degrees are noise too.
_QUADRATURE_DEGREE = 2047
_TOP = _QUADRATURE_DEGREE // 8
_LARGEST_NOISE = 1e-10

# Number of angles at which a function is tried, equispaced from pole to pole.
_TRIED = 2 * (_QUADRATURE_DEGREE + 1)
# Range of beta with widths 1/sqrt(beta) of a cluster that fit a grid.
WIDTH_BETAS = (1e-8, 1e8)

# Names of the built-in kernels in run files and figures.
_RESERVED = ("exponential", "linear")


@checked
def zonal(
    attention: Callable[[FloatArray], FloatArray] | None = None,
    *,
    multipliers: Sequence[float] | FloatArray | None = None,
    potential: Callable[[FloatArray], FloatArray] | None = None,
    beta: float = 1.0,
    name: str = "zonal",
) -> Kernel:
    """Kernel from its attention a(s), its potential W(s), or its multipliers a_l on the circle.

    The potential is W(s) = int_{-1}^s a. The multipliers of a give its multipliers,

        w_l = (a_{l-1} - a_{l+1}) / (2l + d - 2),   l >= 1,   on S^{d-1}.

    Paper time is scaled time, without a factor e^{|beta|}.

    Parameters
    ----------
    attention : callable
        a(s), smooth: takes an array of s in [-1, 1], returns real numbers.
    multipliers : sequence of float, (K + 1,)
        a_0 ... a_K on the circle: a(cos t) = a_0 + 2 sum_k a_k cos(k t).
    potential : callable
        W(s), as smooth; its Chebyshev series gives a = W'. The constant of W does not matter.
    beta : float
        From 1e-8 to 1e8. Sets only the width 1/sqrt(beta) of a cluster: how near tokens count as
        one cluster, and when atoms meet. For a narrow kernel give the beta of the exponential
        kernel that is as narrow, a''(1) / a'(1): with 1, clusters nearer than 0.25 count as one.
    name : str
        In figures and files.

    Raises
    ------
    ValueError
        If not exactly one of the first three is given, beta is out of range or the name is taken.
        If values are not real and finite, one for each s, or the function is not smooth or too
        narrow. When multipliers are computed, if they have degrees above 2,047.
    TypeError
        If the function takes single numbers only.

    Examples
    --------
    >>> kernel = zonal(lambda s: np.exp(s - 1))
    >>> bool(abs(kernel.potential_multipliers(1, 1)[1] - 0.207910415) < 1e-9)
    True
    """
    count = sum(each is not None for each in (attention, multipliers, potential))
    if count != 1:
        which = "both" if count == 2 else f"all {count}" if count else "neither"
        raise ValueError(
            f"zonal: give the attention function, its multipliers or its potential, got {which}."
        )
    if potential is not None:
        attention = Slope(potential)
    low, high = WIDTH_BETAS
    if not low <= beta <= high:
        raise ValueError(
            f"zonal: beta must lie between {low:g} and {high:g}, for it only sets the width of a "
            f"cluster, got {beta:g}."
        )
    if multipliers is None:
        return Zonal(attention, None, float(beta), name)
    values = np.atleast_1d(np.asarray(multipliers, dtype=np.float64))
    if values.ndim != 1 or not np.all(np.isfinite(values)):
        raise ValueError("multipliers must be a list of finite numbers.")
    if not 1 <= len(values) <= _QUADRATURE_DEGREE + 1:
        raise ValueError(
            f"multipliers holds {len(values)} numbers, expected 1 to {_QUADRATURE_DEGREE + 1}."
        )
    return Zonal(None, tuple(values.tolist()), float(beta), name)


@dataclass(frozen=True)
class Slope:
    """Attention a = W' of a potential, by the Chebyshev series of W.

    W = sum_k c_k T_k,    W' = sum_k c_k k U_{k-1}
    """

    potential: Callable[[FloatArray], FloatArray]  # W(s)

    def __call__(self, s: FloatArray) -> FloatArray:
        return np.asarray(chebyshev.chebval(s, _slope_series(self.potential)))

    @property
    def __name__(self) -> str:
        return f"potential={getattr(self.potential, '__name__', repr(self.potential))}"


@lru_cache(maxsize=64)
def _slope_series(potential: Callable[[FloatArray], FloatArray]) -> FloatArray:
    series = _try(potential) / _TRIED
    _significant(np.arange(len(series)) * series)  # of W', which is less smooth
    sizes = np.abs(series)
    # Rounding in high degrees would grow by their squares.
    rounding = max(EPS * sizes.max(), 2.0 * sizes[-_TOP:].max())
    significant = np.where(sizes > rounding, series, 0.0)
    significant[0] = 1.0  # its slope is always 0
    return np.asarray(chebyshev.chebder(np.trim_zeros(significant, "b")))


@dataclass(frozen=True)
class Zonal(Kernel):
    """The kernel that `zonal` makes: equal if function or multipliers, beta and name are."""

    function: Callable[[FloatArray], FloatArray] | None  # a(s)
    # a_0, a_1, ... on the circle, if there is no function.
    circle_multipliers: tuple[float, ...] | None
    beta: float
    name: str

    def __post_init__(self) -> None:
        if self.name in _RESERVED:
            raise ValueError(f"name {self.name!r} is that of a built-in kernel: choose another.")
        if self.function is not None:
            _try(self.function)

    def attention(self, s: FloatArray) -> FloatArray:
        if self.function is not None:
            return np.asarray(self.function(s), dtype=np.float64)
        multipliers = np.asarray(self.circle_multipliers)
        series = np.concatenate([multipliers[:1], 2.0 * multipliers[1:]])
        return np.asarray(chebyshev.chebval(s, series))

    def potential(self, s: FloatArray) -> FloatArray:
        # a(s) = a_0 + 2 sum_k a_k T_k(s), integrated term by term.
        a = np.trim_zeros(self.attention_multipliers(1, _QUADRATURE_DEGREE), "b")
        series = chebyshev.chebint(np.concatenate([a[:1], 2.0 * a[1:]]), lbnd=-1)
        return np.asarray(chebyshev.chebval(np.asarray(s, dtype=np.float64), series))

    def attention_multipliers(self, dimension: int, max_degree: int) -> FloatArray:
        return _resized(_computed(self, dimension), max_degree)

    def potential_multipliers(self, dimension: int, max_degree: int) -> FloatArray:
        a = _resized(_computed(self, dimension), max_degree + 1)
        l = np.arange(1, max_degree + 1)
        w = np.zeros(max_degree + 1)
        w[1:] = (a[:-2] - a[2:]) / (2 * l + dimension - 1)
        w[0] = _mean_potential(self, dimension)
        return w

    def normalized_multipliers(self, dimension: int, max_degree: int) -> FloatArray:
        mean_value = self.attention_multipliers(dimension, 0)[0]
        return np.asarray(self.potential_multipliers(dimension, max_degree) / mean_value)

    def __repr__(self) -> str:
        if self.circle_multipliers is not None:
            argument = f"multipliers={list(self.circle_multipliers)}"
        else:
            argument = getattr(self.function, "__name__", repr(self.function))
        return f"zonal({argument}, beta={self.beta!r}, name={self.name!r})"


def _try(function: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Cosine transform of an own function; refuse it unless real, finite and smooth."""
    s = np.cos(np.linspace(0.0, np.pi, _TRIED + 1))
    with np.errstate(all="ignore"):
        try:
            values = np.asarray(function(s))
        except (TypeError, ValueError):
            _refuse_scalar_functions(function)
            raise
    if values.dtype.kind not in "fiu":
        remedy = ": give np.real(...) of them" if values.dtype.kind == "c" else ""
        raise ValueError(f"the kernel must give real numbers, got {values.dtype}{remedy}.")
    if values.shape != s.shape:
        remedy = ": write a constant as 0 * s + 1.0" if values.ndim == 0 else ""
        raise ValueError(
            f"the kernel gave shape {values.shape} for {s.shape} similarities, expected one number "
            f"for each s{remedy}."
        )
    if not np.all(np.isfinite(values)):
        first = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(
            f"the kernel gave values that are not finite on [-1, 1]: {values[first]} at "
            f"s = {s[first]:.6g}."
        )
    # The type-I cosine transform: multipliers on the circle, if degrees above have none.
    transform = np.fft.rfft(np.r_[values, values[-2:0:-1]]).real[: _QUADRATURE_DEGREE + 1]
    _significant(transform)
    return np.asarray(transform)


def _refuse_scalar_functions(function: Callable[..., Any]) -> None:
    try:
        function(0.5)
    except Exception:
        return  # then it is wrong in a way of its own
    raise TypeError(
        "the kernel takes single numbers only, and must take an array of s: write it with NumPy, "
        "np.exp(s) for math.exp(s), np.where(s > 0, s, 0) for s if s > 0 else 0."
    ) from None


@lru_cache(maxsize=64)
def _computed(kernel: Zonal, dimension: int) -> FloatArray:
    if dimension != 1:
        _computed(kernel, 1)  # refuses missed degrees
    multipliers = _significant(zonal_multipliers(kernel.attention, dimension, _QUADRATURE_DEGREE))
    if dimension == 1:
        _check_complete(kernel.attention, multipliers)
    return multipliers


@lru_cache(maxsize=64)
def _mean_potential(kernel: Zonal, dimension: int) -> float:
    return float(zonal_multipliers(kernel.potential, dimension, 0)[0])


def _significant(multipliers: FloatArray) -> FloatArray:
    """Multipliers without the noise of the quadrature."""
    sizes = np.abs(multipliers)
    noise = max(_NOISE * sizes.max(), 2.0 * sizes[-_TOP:].max())
    if noise > _LARGEST_NOISE * sizes.max():
        eighth, quarter, half = (
            np.log(max(sizes[_QUADRATURE_DEGREE // n :].max(), np.finfo(float).tiny))
            for n in (8, 4, 2)
        )
        # Powers of the degree lose as much in every octave, multipliers of smooth kernels more.
        smooth = quarter - half > 1.5 * (eighth - quarter)
        raise ValueError(
            f"the kernel is {'too narrow' if smooth else 'not smooth enough'}: its multipliers of "
            f"degree {_QUADRATURE_DEGREE} are still {noise / sizes.max():.1g} of the largest. "
            f"{WIDER if smooth else SMOOTHER}"
        )
    return np.where(sizes > noise, multipliers, 0.0)


def _check_complete(function: Callable[[FloatArray], FloatArray], multipliers: FloatArray) -> None:
    """Compare a function with its series at angles that no degree vanishes on."""
    s = np.cos(np.pi * np.modf(np.arange(1, 65) * (0.5 * np.sqrt(5.0) - 0.5))[0])
    values = np.asarray(function(s), dtype=np.float64)
    series = np.concatenate([multipliers[:1], 2.0 * multipliers[1:]])
    missed = np.abs(values - chebyshev.chebval(s, series)).max()
    largest = max(np.abs(values).max(), np.abs(multipliers).max())
    if missed > _LARGEST_NOISE * largest:
        raise ValueError(
            f"the kernel has degrees above {_QUADRATURE_DEGREE}, which nothing here carries: "
            f"without them it changes by {missed / largest:.1g} of its largest value."
        )


def _resized(multipliers: FloatArray, max_degree: int) -> FloatArray:
    if max_degree < len(multipliers):
        return multipliers[: max_degree + 1].copy()
    return np.concatenate([multipliers, np.zeros(max_degree + 1 - len(multipliers))])
