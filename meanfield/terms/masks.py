"""Masks: how much a position s attends to a position s', whatever stands there.

    w(s, s') >= 0,    C(s, s') = w(s, s') / int w(s, s'') ds'',    0 < s, s' < 1

Rows of C add up to 1 under every normalisation. Token i of n stands at s_i = (i - 1/2) / n, and its
own weight is in its row. A label is the middle of one of M cells: C_ij is the share of cell j in
what s_i attends to, an integral over the cell. It is of second order in 1 / M.

Every mask has a method `of_tokens`. What falls off exponentially with time has running sums too
(`NamedMask`); of all others pairs are summed.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from meanfield.arguments import at_most, checked
from meanfield.arrays import FloatArray, same_value, value_of
from meanfield.terms.matrices import printed

MaskName = Literal["none", "causal", "alibi"]

MASKS: tuple[MaskName, ...] = ("none", "causal", "alibi")
"""Whom a token sees: all; those before it and itself; those, the farther the less."""

# Nodes of Gauss for a cell, or half of one's own: rounding for slopes of b up to 10 M.
_RULE = 16
# Rows of a matrix that is given: n^2 numbers are kept.
_MOST_ROWS = 4_096


@dataclass(frozen=True, eq=False)
class PairWeights:
    """Weights of pairs of tokens: w_kj = e^{b_kj - rate (k - j)}, 0 for j > k where causal.

    logs (n, n): b, minus infinity where k does not see j; None is 0. The first `globals` tokens
    are seen whatever b is. turn: function of the number of a head and of tokens, which gives their
    queries and keys, turned with their positions; None where none turn.
    """

    causal: bool = False
    rate: float = 0.0
    logs: FloatArray | None = None
    globals: int = 0
    turn: Callable[[int, FloatArray], tuple[FloatArray, FloatArray]] | None = None

    @property
    def has_running_sums(self) -> bool:
        """True if weights fall off exponentially, or not at all, with the distance alone."""
        return self.logs is None and self.turn is None

    @property
    def equal(self) -> bool:
        """True if all weights are 1."""
        return self.logs is None and not self.causal

    def logarithms(self, rows: slice, columns: int) -> FloatArray:
        """Logarithms of weights of some rows for the first columns; (1, 1) where all are 1."""
        if self.equal:
            return np.zeros((1, 1))
        back = np.arange(rows.start, rows.stop)[:, None] - np.arange(columns)
        if self.logs is None:
            return np.where(back >= 0, -self.rate * np.maximum(back, 0), -np.inf)
        logs = np.array(self.logs[rows, :columns])
        logs[:, : self.globals] = 0.0
        return np.where(back >= 0, logs, -np.inf) if self.causal else logs


class Mask(ABC):
    """Weights of positions; see the module."""

    @abstractmethod
    def of_tokens(self, n: int) -> PairWeights:
        """Weights of pairs of n tokens."""

    @abstractmethod
    def of_cells(self, count: int) -> FloatArray:
        """Weights (M, M) of cells for their middles, each row up to a factor."""


@dataclass(frozen=True)
class NamedMask(Mask):
    """Masks with names: all, or weights e^{-rate (s - s')} of what is not later."""

    causal: bool
    rate: float = 0.0

    def of_tokens(self, n: int) -> PairWeights:
        return PairWeights(self.causal, self.rate / n)

    def of_cells(self, count: int) -> FloatArray:
        return _cells(lambda u: -self.rate * u, self.causal, count)


EVERYONE = NamedMask(False)
"""No mask: all see all."""


@checked
@dataclass(frozen=True)
class Bias(Mask):
    """Mask by an additive bias: scores are <xi, y> + b(s - s').

        w(s, s') = e^{b(s - s')},    positions s_i = (i - 1/2) / n of n tokens

    Attributes
    ----------
    function : callable
        b: takes an array of differences u = s - s' in (-1, 1), returns as many numbers. Minus
        infinity hides what is as far. A constant added to b changes nothing.
    causal : bool
        Only s' <= s is seen, and b has u >= 0.

    Raises
    ------
    ValueError, TypeError
        If the function does not give as many numbers as it gets, or NaN or infinity.

    See Also
    --------
    Window : what is nearer than a width, alike.

    References
    ----------
    Press, Smith, Lewis, Train short, test long, arXiv:2108.12409 (b = -lambda u, causal: ALiBi).

    Examples
    --------
    >>> import meanfield as mf
    >>> near = mf.Bias(lambda u: -8.0 * u**2)
    >>> mf.Problem(mf.Sphere(), mf.Attention(beta=3.0, mask=near)).labels(4).matrix[0].round(4)
    array([0.554 , 0.3497, 0.0877, 0.0086])
    """

    function: Callable[[FloatArray], FloatArray]
    causal: bool = False

    def __post_init__(self) -> None:
        self._values(np.array([0.0, 0.25, 0.5]))

    def _values(self, u: FloatArray) -> FloatArray:
        """Values of b, checked; of differences that are not hidden."""
        given = self.function(u)
        try:
            values = np.array(np.broadcast_to(np.asarray(given, dtype=np.float64), np.shape(u)))
        except (TypeError, ValueError):
            raise ValueError(
                f"a bias takes an array of differences and returns as many numbers, "
                f"got {printed(given)} for {len(u)}."
            ) from None
        wrong = values[~(values < math.inf)]
        if wrong.size:
            raise ValueError(
                f"a bias must give numbers or -inf, got {wrong[0]:g} at s - s' = "
                f"{u[~(values < math.inf)][0]:g}."
            )
        return values

    def of_tokens(self, n: int) -> PairWeights:
        u = np.arange(1 - n, n) / n
        logs = np.full(len(u), -np.inf)
        seen = u >= 0.0 if self.causal else np.full(len(u), True)
        logs[seen] = self._values(u[seen])
        return PairWeights(self.causal, logs=_toeplitz(logs))

    def of_cells(self, count: int) -> FloatArray:
        return _cells(self._values, self.causal, count)

    def __repr__(self) -> str:
        return f"Bias({printed(self.function)}{', causal=True' if self.causal else ''})"


@checked
@dataclass(frozen=True)
class Window(Mask):
    """Mask of a sliding window: a position sees what is nearer than a width, and global tokens.

        w(s, s') = 1 where |s - s'| < width or s' < globals, else 0;    0 <= s - s' where causal

    Of n tokens |i - j| < width n, and the first globals n, rounded. There is no wrap-around: rows
    at the ends have fewer tokens. A window as wide as 1 is no mask, or "causal".

    Attributes
    ----------
    width : float
        In units of the whole list, positive.
    causal : bool
        Nothing later is seen.
    globals : float
        Share of the list, from its beginning, that all see beyond their window (if causal, all
        that come later).

    Raises
    ------
    ValueError
        If the width is not positive, or the share not between 0 and 1.

    See Also
    --------
    Bias : weights that fall off with the distance.

    Examples
    --------
    >>> import meanfield as mf
    >>> x = mf.from_points(np.eye(4))
    >>> seeing = mf.Problem(mf.Sphere(4), mf.Attention(beta=0.0, mask=mf.Window(0.5)), initial=x)
    >>> mf.attention_matrix(seeing, seeing.initial_measure())[0].round(3)
    array([[0.5  , 0.5  , 0.   , 0.   ],
           [0.333, 0.333, 0.333, 0.   ],
           [0.   , 0.333, 0.333, 0.333],
           [0.   , 0.   , 0.5  , 0.5  ]])
    """

    width: float
    causal: bool = False
    globals: float = 0.0

    def __post_init__(self) -> None:
        if not self.width > 0.0:
            raise ValueError(f"width of a window must be positive, got {self.width:g}.")
        if not 0.0 <= self.globals <= 1.0:
            raise ValueError(f"globals must lie between 0 and 1, got {self.globals:g}.")

    def of_tokens(self, n: int) -> PairWeights:
        # Integers are compared: of differences of positions rounding would let some pairs pass.
        most = math.ceil(self.width * n - 1e-9) - 1
        logs = np.where(np.abs(np.arange(1 - n, n)) <= most, 0.0, -np.inf)
        return PairWeights(
            self.causal, logs=_toeplitz(logs), globals=math.floor(self.globals * n + 0.5)
        )

    def of_cells(self, count: int) -> FloatArray:
        """Lengths of the parts of cells that are seen, in units of a cell."""
        left: FloatArray = np.arange(float(count))
        middles = left[:, None] + 0.5
        latest = middles if self.causal else np.full_like(middles, count)
        first, last = middles - self.width * count, np.minimum(middles + self.width * count, latest)
        shared = np.minimum(self.globals * count, latest)

        def length(start: FloatArray, end: FloatArray) -> FloatArray:
            return np.asarray(
                np.maximum(np.minimum(end, left + 1.0) - np.maximum(start, left), 0.0)
            )

        # A union: what both window and globals show counts once.
        both = length(first, np.minimum(last, shared))
        return length(first, last) + length(np.zeros(1), shared) - both

    def __repr__(self) -> str:
        causal = ", causal=True" if self.causal else ""
        shared = f", globals={self.globals:g}" if self.globals else ""
        return f"Window({self.width:g}{causal}{shared})"


@dataclass(frozen=True, eq=False, repr=False)
class WeightMatrix(Mask):
    """Mask by a matrix of weights w_ij >= 0, of as many tokens or labels."""

    weights: FloatArray

    __eq__ = same_value

    def __post_init__(self) -> None:
        w = self.weights
        if w.ndim != 2 or w.shape[0] != w.shape[1] or not len(w):
            raise ValueError(f"mask has shape {w.shape}, expected (n, n): weights of n tokens.")
        at_most(_MOST_ROWS, rows=len(w))
        if not (np.isfinite(w).all() and w.min() >= 0.0):
            raise ValueError("mask must hold finite weights that are not negative.")
        empty = np.flatnonzero(w.max(axis=1) == 0.0)
        if len(empty):
            raise ValueError(f"row {empty[0]} of the mask is 0: each token must see one.")

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return value_of(self)

    def of_tokens(self, n: int) -> PairWeights:
        with np.errstate(divide="ignore"):
            return PairWeights(logs=np.log(self._sized(n, "tokens")))

    def of_cells(self, count: int) -> FloatArray:
        return self._sized(count, "labels")

    def _sized(self, n: int, what: str) -> FloatArray:
        if n != len(self.weights):
            raise ValueError(f"mask has {len(self.weights)} rows, expected {n}, as many as {what}.")
        return self.weights

    def __repr__(self) -> str:
        return f"array{self.weights.shape}"


Masking: TypeAlias = MaskName | Mask | FloatArray
"""What stands for a mask in an `Attention`."""


def plain_mask(mask: Masking) -> MaskName | Mask:
    """A mask as it compares: a matrix as data, a window as wide as all by its name."""
    if isinstance(mask, Window) and mask.width >= 1.0:
        return "causal" if mask.causal else "none"
    if isinstance(mask, str | Mask):
        return mask
    weights = np.array(mask)
    weights.setflags(write=False)
    return WeightMatrix(weights)


def mask_of(mask: MaskName | Mask, rate: float | None) -> Mask:
    """The object that a mask is; `rate` is that of "alibi"."""
    return mask if isinstance(mask, Mask) else NamedMask(mask != "none", rate or 0.0)


@lru_cache(maxsize=8)
def pair_weights(mask: Mask, n: int) -> PairWeights:
    """Weights of pairs of n tokens, made once.

    ValueError if a token sees none.
    """
    pairs = mask.of_tokens(n)
    if isinstance(mask, Bias):
        _check_rows(mask, cast(FloatArray, pairs.logs).max(axis=1) > -np.inf, "token")
    return pairs


def row_averages(mask: Mask, count: int) -> FloatArray:
    """C of the middles of so many cells: rows add up to 1.

    ValueError if a label sees none.
    """
    weights = mask.of_cells(count)
    sums = weights.sum(axis=1)
    _check_rows(mask, sums > 0.0, "label")
    return np.asarray(weights / sums[:, None])


def _check_rows(mask: Mask, seeing: npt.NDArray[np.bool_], what: str) -> None:
    blind = np.flatnonzero(~seeing)
    if len(blind):
        raise ValueError(
            f"under {mask!r} {what} {blind[0]} of {len(seeing)} sees none: give a bias that is "
            "finite at 0."
        )


def _toeplitz(table: FloatArray) -> FloatArray:
    """Matrix (n, n) of numbers t_{i-j} from those of i - j = 1 - n, ..., n - 1: a view."""
    n = (len(table) + 1) // 2
    return np.lib.stride_tricks.sliding_window_view(table[::-1], n)[::-1]


def _cells(b: Callable[[FloatArray], FloatArray], causal: bool, count: int) -> FloatArray:
    """Integrals of e^{b(s_i - s')} over cells, each row up to a factor.

    The own cell is split at s' = s_i, where b may have a corner. Of a causal mask it ends there.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_RULE)
    back: FloatArray = np.arange(1.0 - count, count)

    def logarithms(low: FloatArray, high: FloatArray) -> FloatArray:
        """Logarithms of integrals over differences between low and high, in units of a cell."""
        half = 0.5 * (high - low)[:, None]
        u = (low[:, None] + half * (1.0 + nodes)) / count
        values = b(np.ravel(u)).reshape(u.shape)
        largest = values.max(axis=1)
        finite = np.where(largest > -np.inf, largest, 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(
                np.log((half * weights * np.exp(values - finite[:, None])).sum(axis=1)) + finite
            )

    logs = np.full(len(back), -np.inf)
    seen = back > 0 if causal else back != 0
    logs[seen] = logarithms(back[seen] - 0.5, back[seen] + 0.5)
    own = logarithms(np.array([0.0]), np.array([0.5]))
    if not causal:
        own = np.logaddexp(own, logarithms(np.array([-0.5]), np.array([0.0])))
    logs[count - 1] = own[0]
    matrix = _toeplitz(logs)
    largest = matrix.max(axis=1, keepdims=True)
    return np.asarray(np.exp(matrix - np.where(largest > -np.inf, largest, 0.0)))
