"""External fields: feed-forward layers and linear drifts.

Both are fixed fields u on R^d, and add P_x u(x) to the velocity of a token at x (arXiv:2312.10794,
section 2.4):

    FeedForward     u(x) = W sigma(A x + b)
    LinearDrift     u(x) = M x

On spheres div P_x u = tr J - <x, J x> - (d - 1) <x, u> with the Jacobian J of u, on R^d it is tr J.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from meanfield.arguments import checked
from meanfield.arrays import EPS, FloatArray
from meanfield.terms.matrices import matrix, plain, repr_of_fields

# Relative asymmetry that is rounding.
_ROUNDING = 64 * EPS

Activation = Literal["relu", "gelu", "silu", "tanh", "identity"]


class Term(Protocol):
    """A fixed field u on R^d that moves tokens beside attention."""

    def check_fits(self, d: int) -> None:
        """ValueError if it is no field on R^d."""
        ...

    def vectors(self, x: FloatArray) -> FloatArray:
        """Values u(x) at vectors (n, d), shape (n, d)."""
        ...

    def slopes(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Trace of the Jacobian J of u, and <x, J x>, at vectors (n, d); shape (n,) each."""
        ...

    def steepness(self, d: int) -> float:
        """Bound of |J|_2: the rate at which neighbours contract or separate."""
        ...

    def no_potential(self, d: int) -> str | None:
        """Reason why u is no gradient, a clause; None if u = grad `potential`."""
        ...

    def potential(self, x: FloatArray) -> FloatArray:
        """U with u = grad U at vectors (n, d), shape (n,), where there is one."""
        ...


class _Function(NamedTuple):
    """An activation, its derivative, the largest modulus of that, and its integral."""

    value: Callable[[FloatArray], FloatArray]
    slope: Callable[[FloatArray], FloatArray]
    steepest: float
    integral: Callable[[FloatArray], FloatArray]


def _ndtr(y: FloatArray) -> FloatArray:
    """Distribution function of a normal variable."""
    from scipy.special import ndtr

    return np.asarray(ndtr(y))


def _gelu_slope(y: FloatArray) -> FloatArray:
    return np.asarray(_ndtr(y) + y * np.exp(-0.5 * y * y) / math.sqrt(2.0 * math.pi))


def _gelu_integral(y: FloatArray) -> FloatArray:
    density = np.exp(-0.5 * y * y) / math.sqrt(2.0 * math.pi)
    return np.asarray(0.5 * ((y * y - 1.0) * _ndtr(y) + y * density))


def _silu_integral(y: FloatArray) -> FloatArray:
    from scipy.special import spence

    # y ln(1 + e^y) + Li_2(-e^y); for y > 0 by the value at -y, so that nothing overflows.
    below = -np.abs(y)
    small = below * np.log1p(np.exp(below)) + spence(1.0 + np.exp(below))
    return np.asarray(np.where(y > 0.0, 0.5 * y * y - math.pi**2 / 6.0 - small, small))


def _logistic(y: FloatArray) -> FloatArray:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * y)))


def _silu_slope(y: FloatArray) -> FloatArray:
    share = _logistic(y)
    return np.asarray(share * (1.0 + y * (1.0 - share)))


ACTIVATIONS: dict[str, _Function] = {
    "relu": _Function(
        lambda y: np.maximum(y, 0.0),
        lambda y: np.heaviside(y, 0.5),
        1.0,
        lambda y: np.asarray(0.5 * np.maximum(y, 0.0) ** 2),
    ),
    "gelu": _Function(lambda y: np.asarray(y * _ndtr(y)), _gelu_slope, 1.13, _gelu_integral),
    "silu": _Function(lambda y: np.asarray(y * _logistic(y)), _silu_slope, 1.1, _silu_integral),
    "tanh": _Function(
        np.tanh,
        lambda y: np.asarray(1.0 - np.tanh(y) ** 2),
        1.0,
        lambda y: np.asarray(np.logaddexp(y, -y) - math.log(2.0)),
    ),
    "identity": _Function(lambda y: y, np.ones_like, 1.0, lambda y: 0.5 * y * y),
}
"""Functions sigma of a feed-forward layer, by name."""


@checked
@dataclass(frozen=True)
class FeedForward:
    """A feed-forward layer: u(x) = W sigma(A x + b), of m neurons.

    Attributes
    ----------
    input : number or array, (d,) or (m, d)
        A; a number stands for c times the identity, d numbers for a diagonal.
    output : number or array, (d,) or (d, m)
        W.
    bias : number or array, (m,)
        b; a number applies to every neuron.
    activation : str
        sigma: "relu", "gelu" (the exact one, by erf), "silu", "tanh" or "identity".

    Raises
    ------
    TypeError, ValueError
        If a matrix is malformed or not finite.

    Examples
    --------
    >>> one = FeedForward(input=[[1.0, -1.0]], output=[[0.5], [0.0]], activation="tanh")
    >>> one.vectors(np.array([[1.0, 0.0]])).round(6)
    array([[0.380797, 0.      ]])
    """

    input: ArrayLike = 1.0
    output: ArrayLike = 1.0
    bias: ArrayLike = 0.0
    activation: Activation = "relu"

    __repr__ = repr_of_fields

    def __post_init__(self) -> None:
        for name in ("input", "output", "bias"):
            object.__setattr__(self, name, plain(name, getattr(self, name)))

    def check_fits(self, d: int) -> None:
        self._matrices(d)

    @cached_property
    def _arrays(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        a, w, b = (np.asarray(e, dtype=np.float64) for e in (self.input, self.output, self.bias))
        return a, w, b

    def _matrices(self, d: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        a, w, b = self._arrays
        a = matrix("feed_forward input", a, d, square=False)
        m = len(a)
        if w.ndim < 2:
            w = matrix("feed_forward output", w, d, square=True)
        if w.shape != (d, m):
            raise ValueError(
                f"feed_forward output has shape {w.shape}, expected ({d}, {m}): a row for each "
                "coordinate, a column for each neuron."
            )
        if b.ndim > 1 or b.size not in (1, m):
            raise ValueError(f"feed_forward bias has shape {b.shape}, expected ({m},).")
        return a, w, np.broadcast_to(b, (m,))

    def vectors(self, x: FloatArray) -> FloatArray:
        a, w, b = self._matrices(x.shape[-1])
        return np.asarray(ACTIVATIONS[self.activation].value(x @ a.T + b) @ w.T)

    def slopes(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Trace of the Jacobian J = W diag(sigma') A, and <x, J x>."""
        a, w, b = self._matrices(x.shape[-1])
        inner = x @ a.T
        slope = ACTIVATIONS[self.activation].slope(inner + b)
        return slope @ (a * w.T).sum(axis=1), np.asarray((slope * inner * (x @ w)).sum(axis=-1))

    def steepness(self, d: int) -> float:
        """At most |W|_2 max |sigma'| |A|_2."""
        a, w, _ = self._matrices(d)
        both = float(np.linalg.norm(a, 2) * np.linalg.norm(w, 2))
        return both * ACTIVATIONS[self.activation].steepest

    def no_potential(self, d: int) -> str | None:
        """Reason unless W = A^T D with a diagonal D: each neuron writes along its own input."""
        a, w, _ = self._matrices(d)
        along = self._strengths(a, w)
        if np.abs(w - a.T * along).max() <= _ROUNDING * np.abs(w).max():
            return None
        return "a neuron of feed_forward writes in another direction than it reads"

    def potential(self, x: FloatArray) -> FloatArray:
        """U = sum_j D_j S(<a_j, x> + b_j), S' = sigma."""
        a, w, b = self._matrices(x.shape[-1])
        return ACTIVATIONS[self.activation].integral(x @ a.T + b) @ self._strengths(a, w)

    @staticmethod
    def _strengths(a: FloatArray, w: FloatArray) -> FloatArray:
        squares = (a * a).sum(axis=1)
        return np.asarray((a * w.T).sum(axis=1) / np.where(squares > 0.0, squares, 1.0))


@checked
@dataclass(frozen=True)
class LinearDrift:
    """A linear field u(x) = M x: a rigid rotation where M is skew.

    Alone it moves tokens along x(t) = e^{tM} x_0, divided by its length on spheres.

    Attributes
    ----------
    matrix : number or array, (d,) or (d, d); or callable
        M, or a function of scaled time that returns it.

    Raises
    ------
    TypeError, ValueError
        If it is no matrix, or not finite.

    Examples
    --------
    >>> LinearDrift([[0, -1], [1, 0]]).vectors(np.array([[1.0, 0.0]]))
    array([[0., 1.]])
    """

    matrix: ArrayLike

    __repr__ = repr_of_fields

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", plain("matrix", self.matrix))

    def check_fits(self, d: int) -> None:
        self._matrix(d)

    @cached_property
    def _array(self) -> FloatArray:
        return np.asarray(self.matrix, dtype=np.float64)

    def _matrix(self, d: int) -> FloatArray:
        return matrix("drift matrix", self._array, d, square=True)

    def vectors(self, x: FloatArray) -> FloatArray:
        return np.asarray(x @ self._matrix(x.shape[-1]).T)

    def slopes(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Trace of M, and <x, M x>."""
        trace = np.full(x.shape[:-1], np.trace(self._matrix(x.shape[-1])))
        return trace, np.asarray((x * self.vectors(x)).sum(axis=-1))

    def steepness(self, d: int) -> float:
        """|M|_2."""
        return float(np.linalg.norm(self._matrix(d), 2))

    def no_potential(self, d: int) -> str | None:
        """Reason unless M is symmetric."""
        m = self._matrix(d)
        if np.abs(m - m.T).max() <= _ROUNDING * np.abs(m).max():
            return None
        return "the drift matrix is not symmetric"

    def potential(self, x: FloatArray) -> FloatArray:
        """U = <x, M x> / 2."""
        return np.asarray(0.5 * (x * self.vectors(x)).sum(axis=-1))


def total_field(terms: tuple[Term, ...], x: FloatArray) -> FloatArray:
    """Sum of the fields at vectors (n, d), not yet projected."""
    return np.asarray(sum((term.vectors(x) for term in terms), np.zeros(x.shape)))


def total_divergence(terms: tuple[Term, ...], x: FloatArray, dimension: int | None) -> FloatArray:
    """Divergence of the sum of the fields on S^dimension, or on R^d if that is None; (n,)."""
    total = np.zeros(len(x))
    for term in terms:
        trace, along = term.slopes(x)
        total += trace
        if dimension is not None:
            total -= along + dimension * (x * term.vectors(x)).sum(axis=-1)
    return total
