"""Interface of kernels, for every manifold.

A kernel is a zonal function a(s) of the similarity s = <x, y>, with its potential W,
W' = a. The dynamics depends on it through its multipliers alone (Funk-Hecke)

    int a(<x, y>) Y_l(y) dsigma(y) = a_l Y_l(x),      int W(<x, y>) Y_l(y) dsigma(y) = w_l Y_l(x)

on the sphere S^m of dimension m; sigma is the uniform probability measure.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property, lru_cache, wraps
from typing import Any, ClassVar, Literal

import numpy as np

from meanfield.arguments import at_least, at_most, checked
from meanfield.arrays import FloatArray

# Relative size of l w_l below which a degree is negligible.
_NEGLIGIBLE = 1e-16
LARGEST_DEGREE = 2**20
"""Largest degree: kernels that need more are not smooth, and memory would not suffice."""
# Gaps below this degree are found: users' own kernels have no higher degrees.
_GAP_DEGREE = 2**11
# Where multipliers are smaller, relevant degrees would underflow.
_UNDERFLOW = 1e-280
# Multipliers up to this degree are cached, for they are used at every saved time.
_KEPT_DEGREE = 2**12

# How far rounding takes the similarity of unit vectors beyond 1, with much to spare.
_ROUNDING = 1e-9


def _of_similarities(method: Callable[..., FloatArray]) -> Callable[..., FloatArray]:
    @wraps(method)
    def with_checks(self: Kernel, s: FloatArray | float) -> FloatArray:
        largest = np.abs(s).max(initial=0.0)
        if largest > 1.0 + _ROUNDING:
            raise ValueError(
                f"{method.__qualname__}: s must be similarities <x, y> in [-1, 1], cosines of "
                f"angles, got {largest:g} in modulus."
            )
        return method(self, s)

    with_checks.__annotations__ = {"s": "FloatArray | float"}
    return checked(with_checks)


def _of_degrees(method: Callable[..., FloatArray]) -> Callable[..., FloatArray]:
    kept = lru_cache(maxsize=16)(method)

    @checked
    @wraps(method)
    def with_checks(self: Kernel, dimension: int, max_degree: int) -> FloatArray:
        at_least(1, dimension=dimension)
        at_least(0, max_degree=max_degree)
        at_most(LARGEST_DEGREE, max_degree=max_degree)
        if max_degree > _KEPT_DEGREE:
            return method(self, dimension, max_degree)
        return np.array(kept(self, dimension, max_degree))

    return with_checks


_CHECKS = {
    "attention": _of_similarities,
    "potential": _of_similarities,
    "attention_multipliers": _of_degrees,
    "potential_multipliers": _of_degrees,
    "normalized_multipliers": _of_degrees,
}


class Kernel(ABC):
    """Zonal kernel a(s) with potential W, W' = a: plain data that compares, hashes and pickles.

    Multipliers have shape (max_degree + 1,), on the sphere of the given dimension (circle 1,
    sphere 2). `exponential`, `linear` and `zonal` make kernels.

    Attributes
    ----------
    name : str
        In run files and figures.
    beta : float
        Inverse temperature, dimensionless; 1/sqrt(|beta|) is the width of a cluster. 0 if linear.
    """

    name: str
    beta: float

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, signature in _CHECKS.items():
            if name in vars(cls):
                setattr(cls, name, signature(vars(cls)[name]))

    @property
    def log_slope(self) -> float | None:
        """The number a' / a: beta (exponential), 0 (linear); None if it depends on s.

        It makes a and W one series: a_l = log_slope w_l, l > 0.
        """
        return None

    @property
    def log_scale(self) -> float:
        """Logarithm of (papers' kernel) / a.

        Paper time = scaled time * exp(-log_scale) for unnormalised flows.
        """
        return 0.0

    # Members of an `Attention`, for callers that take either.
    mask: ClassVar[Literal["none"]] = "none"
    alibi_rate: ClassVar[None] = None

    @property
    def is_exponential(self) -> bool:
        """True if weights are e^{beta <x, y>} up to a factor, beta = 0 included."""
        return self.log_slope is not None

    def matrices(self, d: int) -> tuple[()]:
        return ()

    def sharpness(self, d: int) -> float:
        """Its beta, as the largest score of two unit vectors is for heads."""
        return self.beta

    @abstractmethod
    def attention(self, s: FloatArray) -> FloatArray:
        """Values a(s), s in [-1, 1]."""

    @abstractmethod
    def potential(self, s: FloatArray) -> FloatArray:
        """Values W(s), s in [-1, 1]."""

    @abstractmethod
    def attention_multipliers(self, dimension: int, max_degree: int) -> FloatArray:
        """Multipliers a_l of the attention."""

    @abstractmethod
    def potential_multipliers(self, dimension: int, max_degree: int) -> FloatArray:
        """Multipliers w_l of the potential."""

    @abstractmethod
    def normalized_multipliers(self, dimension: int, max_degree: int) -> FloatArray:
        """Multipliers w_l / a_0, without the quotient: its parts underflow in high dimension."""

    @checked
    def degree(
        self, dimension: int, tolerance: float = _NEGLIGIBLE, *, of_points: bool = False
    ) -> int:
        """Largest degree of the kernel with |l w_l| above `tolerance` of its largest.

        With `of_points` |l w_l N_l|, N_l the number of harmonics, which one point has as moments.
        Degrees below 2,048 may be missing in between; above, 64 or more in a row end the search.
        """
        at_least(1, dimension=dimension)
        return _degree(self, dimension, tolerance, of_points)

    @cached_property
    def largest_attention(self) -> float:
        """Largest |a(s)| at 1,001 angles with both ends: 1 for the built-in kernels.

        >>> import meanfield as mf
        >>> mf.exponential(beta=-9.0).largest_attention
        1.0
        """
        return float(np.abs(self.attention(np.cos(np.linspace(0.0, np.pi, 1001)))).max())


@lru_cache(maxsize=64)
def _degree(kernel: Kernel, dimension: int, tolerance: float, of_points: bool) -> int:
    count, wide = 64, 0
    while count <= LARGEST_DEGREE:
        carried = _carried(kernel, dimension, tolerance, count, of_points)
        if carried < count - 2:
            # Multipliers may have gaps: a kernel of degrees 1 and 70 is not over at 2.
            wide = wide or _carried(kernel, dimension, tolerance, _GAP_DEGREE, of_points)
            if wide < count - 2:
                return carried
        count *= 2
    raise ValueError(f"kernel {kernel.name!r} is not smooth enough: its multipliers do not decay.")


def _carried(kernel: Kernel, dimension: int, tolerance: float, count: int, of_points: bool) -> int:
    """Last of the first `count` degrees that is not negligible; the last of all if all are."""
    multipliers = np.abs(kernel.potential_multipliers(dimension, count - 1))
    if multipliers[1:].max() < _UNDERFLOW:
        # Only then, for a_0 vanishes for kernels of mean zero.
        multipliers = np.abs(kernel.normalized_multipliers(dimension, count - 1))
    size = np.arange(count) * multipliers
    if of_points:
        with np.errstate(divide="ignore"):
            growth = np.log(harmonic_growth(dimension + 1, count - 1))
            logs = np.log(size) + np.cumsum(np.concatenate([[0.0], growth]))
        size = np.exp(logs - logs.max())
    carried = np.flatnonzero(size > tolerance * size.max())
    return int(carried[-1]) if len(carried) else count - 1


def harmonic_growth(d: int, max_degree: int) -> FloatArray:
    """Ratios N_l / N_{l-1}, l = 1 ... max_degree, of numbers of harmonics on S^{d-1}."""
    l = np.arange(2, max_degree + 1)
    growth = (2 * l + d - 2) * (l + d - 3.0) / ((2 * l + d - 4) * l)
    return np.concatenate([[float(d)], growth])
