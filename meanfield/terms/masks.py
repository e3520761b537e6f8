"""Masks: weights with which a position s attends to a position s', for any tokens.

    w(s, s') >= 0,    C(s, s') = w(s, s') / int w(s, s'') ds'',    0 < s, s' < 1

Rows of C add up to 1 under every normalisation. Token i of n stands at s_i = (i - 1/2) / n, and its
own weight is in its row. Labels of densities are the nodes of a quadrature for the mask, see
`position_rules`.

Every mask has a method `of_tokens`, and a `rule` of labels. Weights that fall off exponentially
have running sums (`NamedMask`); others are summed over pairs.
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
from meanfield.arrays import FloatArray, read_only, same_value, value_of
from meanfield.terms.matrices import printed
from meanfield.terms.position_rules import PositionRule, causal_rule, panel_rule

MaskName = Literal["none", "causal", "alibi"]

MASKS: tuple[MaskName, ...] = ("none", "causal", "alibi")
"""Tokens attend to: all; themselves and earlier ones; these, with weights that fall off."""

# A bias is smooth on a piece if e^b has the same integral on the piece and on its halves, by 16
# nodes. Pieces shrink to `_SHORTEST` at jumps and corners; those within `_APART` are one.
_SMOOTH, _SMOOTH_NODES, _SHORTEST, _APART = 1e-13, 16, 1e-14, 1e-6
_FIRST = 0.5 * (math.sqrt(5.0) - 1.0)
_MOST_PIECES = 10_000
# Most rows of a given matrix: n^2 numbers are stored.
_MOST_ROWS = 4_096


@dataclass(frozen=True, eq=False)
class PairWeights:
    """Weights of pairs of tokens: w_kj = e^{b_kj - rate (k - j)}, 0 for j > k where causal.

    logs (n, n): b, minus infinity where k does not attend to j; None is 0. All attend to the first
    `globals` tokens. turn: (number of a head, tokens) -> queries and keys, turned with positions.
    """

    causal: bool = False
    rate: float = 0.0
    logs: FloatArray | None = None
    globals: int = 0
    turn: Callable[[int, FloatArray], tuple[FloatArray, FloatArray]] | None = None

    @property
    def has_running_sums(self) -> bool:
        """True if weights fall off exponentially with distance, or not at all."""
        return self.logs is None and self.turn is None

    @property
    def equal(self) -> bool:
        """True if all weights are 1."""
        return self.logs is None and not self.causal

    def logarithms(self, rows: slice, columns: int) -> FloatArray:
        """Logarithms of weights of some rows for the first columns; (1, 1) if all are 1."""
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

    causal: bool = False
    """True if no position attends to later ones."""
    globals: float = 0.0
    """Share of the list, from its beginning, that all attend to."""

    @abstractmethod
    def of_tokens(self, n: int) -> PairWeights:
        """Weights of pairs of n tokens."""

    def rule(self, count: int, refinement: int = 1) -> PositionRule:
        """Labels, `count` * `refinement`, with polynomial profiles between them."""
        rule = panel_rule(self, count, refinement)
        _check_rows(self, ~np.isnan(cast(FloatArray, rule.matrix)[:, 0]), "label")
        return rule

    def logarithms(self, s: float, others: FloatArray) -> FloatArray:
        """Logarithms of w(s, s') at positions s'; 0 if not overridden."""
        return np.zeros(len(others))

    def cuts(self, s: float) -> FloatArray:
        """Positions s' between which w(s, s') is smooth."""
        return np.zeros(0)

    @property
    def corners(self) -> FloatArray:
        """Differences s - s', other than 0, at which w is not smooth."""
        return np.zeros(0)


@dataclass(frozen=True)
class NamedMask(Mask):
    """Masks with names: all, or weights e^{-rate (s - s')} of positions s' <= s."""

    causal: bool
    rate: float = 0.0

    def of_tokens(self, n: int) -> PairWeights:
        return PairWeights(self.causal, self.rate / n)

    def rule(self, count: int, refinement: int = 1) -> PositionRule:
        if self.causal:
            return causal_rule(count * refinement, self.rate)
        return panel_rule(self, count, refinement, mean=True)


EVERYONE = NamedMask(False)
"""No mask: all attend to all."""


@checked
@dataclass(frozen=True)
class Bias(Mask):
    """Mask by an additive bias: scores are <xi, y> + b(s - s').

        w(s, s') = e^{b(s - s')},    positions s_i = (i - 1/2) / n of n tokens

    Attributes
    ----------
    function : callable
        b: takes an array of differences u = s - s' in (-1, 1), returns as many numbers. Minus
        infinity excludes pairs of that difference. A constant added to b changes nothing.
    causal : bool
        Only s' <= s have weights, and b gets u >= 0.

    Raises
    ------
    ValueError, TypeError
        If the function does not return as many numbers as it gets, or returns NaN or infinity.

    See Also
    --------
    Window : equal weights within a distance.

    References
    ----------
    Press, Smith, Lewis, Train short, test long, arXiv:2108.12409 (b = -lambda u, causal: ALiBi).

    Examples
    --------
    >>> import meanfield as mf
    >>> near = mf.Bias(lambda u: -8.0 * u**2)
    >>> mf.Problem(mf.Sphere(), mf.Attention(beta=3.0, mask=near)).labels(4).matrix[0].round(4)
    array([0.3856, 0.597 , 0.0067, 0.0107])
    """

    function: Callable[[FloatArray], FloatArray]
    causal: bool = False

    def __post_init__(self) -> None:
        self._values(np.array([0.0, 0.25, 0.5]))

    def _values(self, u: FloatArray) -> FloatArray:
        """Checked values of b."""
        answer = self.function(u)
        try:
            if np.iscomplexobj(answer):
                raise TypeError
            values = np.array(np.broadcast_to(np.asarray(answer, dtype=np.float64), np.shape(u)))
        except (TypeError, ValueError):
            raise ValueError(
                f"a bias takes an array of differences and returns as many numbers, "
                f"got {printed(answer)} for {len(u)}."
            ) from None
        wrong = values[~(values < math.inf)]
        if wrong.size:
            raise ValueError(
                f"a bias must give numbers or -inf, got {wrong[0]:g} at s - s' = "
                f"{u[~(values < math.inf)][0]:g}."
            )
        return values

    def of_tokens(self, n: int) -> PairWeights:
        logs = self.logarithms(0.0, -(np.arange(1 - n, n) / n))
        return PairWeights(self.causal, logs=_toeplitz(logs))

    def logarithms(self, s: float, others: FloatArray) -> FloatArray:
        u = s - others
        visible = u >= 0.0 if self.causal else np.full(len(u), True)
        logs = np.full(len(u), -np.inf)
        logs[visible] = self._values(u[visible])
        return logs

    def cuts(self, s: float) -> FloatArray:
        return s - self._pieces

    @cached_property
    def corners(self) -> FloatArray:
        # Shortest pieces. First ends are no halves: a jump at an end would make no piece short.
        ends = self._smooth_pieces(np.array([-1.0, -_FIRST, 0.0, _FIRST, 1.0]))
        u, lengths = ends[:-1], np.diff(ends)
        short = (lengths < 0.1 * _APART) & (np.abs(u) > _APART) & (np.abs(u) < 1.0 - _APART)
        u, lengths = u[short], lengths[short]
        place = np.cumsum(np.diff(u, prepend=-2.0) > _APART)
        order = np.lexsort((lengths, place))
        return np.asarray(u[order][np.unique(place[order], return_index=True)[1]])

    @cached_property
    def _pieces(self) -> FloatArray:
        return self._smooth_pieces(np.unique(np.concatenate([[-1.0, 0.0, 1.0], self.corners])))

    def _smooth_pieces(self, first: FloatArray) -> FloatArray:
        """Ends of intervals of u on which e^b is smooth, by halving the given ones."""
        at, weights = np.polynomial.legendre.leggauss(_SMOOTH_NODES)
        # Integrals over a whole, and over its halves, of e^b and of u e^b.
        nodes = np.concatenate([at, 0.5 * (at - 1.0), 0.5 * (at + 1.0)])
        rule = np.concatenate([weights, -0.5 * weights, -0.5 * weights])
        first = first[first >= 0.0] if self.causal else first
        low, length, ends = first[:-1], np.diff(first), [first]
        while len(low) and length.max() > _SHORTEST:
            if sum(map(len, ends)) > _MOST_PIECES:
                raise ValueError(
                    f"{self!r} jumps or bends more than {_MOST_PIECES} times: labels need a "
                    'smoother bias. Use representation "particles".'
                )
            u = low[:, None] + 0.5 * length[:, None] * (nodes + 1.0)
            values = self._values(u.ravel()).reshape(u.shape)
            largest = values.max(axis=1, keepdims=True)
            finite = np.where(largest > -np.inf, largest, 0.0)
            sizes = np.exp(values - finite)
            errors = np.abs(sizes @ np.stack([rule, rule * nodes]).T).max(axis=1)
            rounding = _SMOOTH + 4.0 * np.finfo(float).eps * np.abs(finite[:, 0])
            rough = errors > rounding * (sizes @ np.abs(rule))
            length = np.tile(0.5 * length[rough], 2)
            low = np.tile(low[rough], 2) + np.repeat([0.0, 1.0], rough.sum()) * length
            ends.append(low)
        return np.unique(np.concatenate(ends))

    def __repr__(self) -> str:
        return f"Bias({printed(self.function)}{', causal=True' if self.causal else ''})"


@checked
@dataclass(frozen=True)
class Window(Mask):
    """Mask of a sliding window: a position attends to near positions, and to global tokens.

        w(s, s') = 1 where |s - s'| < width or s' < globals, else 0;    0 <= s - s' where causal

    Of n tokens |i - j| < width n, and the first globals n, rounded. There is no wrap-around: rows
    at the ends have fewer tokens. A window as wide as 1 is no mask, or "causal".

    Attributes
    ----------
    width : float
        In units of the whole list, positive.
    causal : bool
        No position attends to later ones.
    globals : float
        Share of the list, from its beginning, that all (if causal, all later ones) attend to.

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
        # Compare integers: differences of positions would admit some pairs by rounding.
        most = math.ceil(self.width * n - 1e-9) - 1
        logs = np.where(np.abs(np.arange(1 - n, n)) <= most, 0.0, -np.inf)
        return PairWeights(
            self.causal, logs=_toeplitz(logs), globals=math.floor(self.globals * n + 0.5)
        )

    def logarithms(self, s: float, others: FloatArray) -> FloatArray:
        visible = (np.abs(s - others) < self.width) | (others < self.globals)
        return np.where(visible & ((others <= s) | (not self.causal)), 0.0, -np.inf)

    def cuts(self, s: float) -> FloatArray:
        return np.array([s - self.width, s, s + self.width, self.globals])

    @property
    def corners(self) -> FloatArray:
        return np.array([self.width] if self.causal else [self.width, -self.width])

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

    def rule(self, count: int, refinement: int = 1) -> PositionRule:
        """Labels are the middles of equal cells."""
        n = count * refinement
        rows = self._sized(n, "labels")
        return PositionRule(
            (np.arange(n) + 0.5) / n, np.full(n, 1.0 / n), rows / rows.sum(axis=1, keepdims=True),
            np.zeros((0, 0)),
        )  # fmt: skip

    def _sized(self, n: int, what: str) -> FloatArray:
        if n != len(self.weights):
            raise ValueError(f"mask has {len(self.weights)} rows, expected {n}, as many as {what}.")
        return self.weights

    def __repr__(self) -> str:
        return f"array{self.weights.shape}"


Masking: TypeAlias = MaskName | Mask | FloatArray
"""Mask argument of an `Attention`."""


def plain_mask(mask: Masking) -> MaskName | Mask:
    """Mask in comparable form: a matrix as data, a window of width 1 or more by its name."""
    if isinstance(mask, Window) and mask.width >= 1.0:
        return "causal" if mask.causal else "none"
    if isinstance(mask, str | Mask):
        return mask
    return WeightMatrix(read_only(np.array(mask)))


def mask_of(mask: MaskName | Mask, rate: float | None) -> Mask:
    """Mask as an object; `rate` is that of "alibi"."""
    return mask if isinstance(mask, Mask) else NamedMask(mask != "none", rate or 0.0)


@lru_cache(maxsize=8)
def pair_weights(mask: Mask, n: int) -> PairWeights:
    """Weights of pairs of n tokens; each token must attend to at least one."""
    pairs = mask.of_tokens(n)
    if isinstance(mask, Bias):
        _check_rows(mask, cast(FloatArray, pairs.logs).max(axis=1) > -np.inf, "token")
    return pairs


def _check_rows(mask: Mask, seeing: npt.NDArray[np.bool_], what: str) -> None:
    blind = np.flatnonzero(~seeing)
    if len(blind):
        raise ValueError(
            f"under {mask!r} {what} {blind[0]} of {len(seeing)} sees none: give a bias that is "
            "finite at 0."
        )


def _toeplitz(table: FloatArray) -> FloatArray:
    """Matrix (n, n) of numbers t_{i-j}, given for i - j = 1 - n, ..., n - 1: a view."""
    n = (len(table) + 1) // 2
    return np.lib.stride_tricks.sliding_window_view(table[::-1], n)[::-1]
