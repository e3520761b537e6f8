"""Tokens under hardmax attention: smooth paths from event to event.

Between events every token attends to one token or slides along a ridge. A sliding token attends to
a mean of several tokens, with weights that keep their scores equal. Velocities are (1) of
`papers.hardmax`. At an event another token gets the largest score, or a weight of a sliding token
becomes zero. Steps are SciPy's DOP853, so accurate that its dense output is as good as the steps.
In each step scores are compared at Chebyshev points. At the first root of a difference that
changes sign, paths begin anew with velocities that solve the inclusion (`papers.hardmax`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from meanfield.arguments import checked
from meanfield.arrays import FloatArray, IntArray
from meanfield.errors import SimulationError
from meanfield.fields.blocks import unit_vectors
from meanfield.measures import Measure
from meanfield.papers.hardmax import (
    HardmaxHead,
    Ridge,
    Solution,
    Support,
    averages,
    chosen,
    in_order,
    score_and_value,
    solutions,
    solves,
)
from meanfield.spaces.manifold import Manifold

# Tolerance of DOP853, relative and in units of the largest token.
_TOLERANCE = 1e-13
# Scores tie if they differ by less than this times |B| times the largest token squared, the error
# of the steps.
_TIE = 1e-11
# Weights of a sliding token below minus this have changed sign.
_NO_WEIGHT = 1e-9
# Largest number of rounds in which tokens on coupled ridges choose one after another.
_TURNS = 10
# Points of a step at which scores are compared: scores are polynomials of degree 14 in time, as
# the dense output has degree 7.
_PLACES = 0.5 * (1.0 - np.cos(np.pi * np.arange(1, 15) / 14))


@dataclass(frozen=True)
class Switch:
    """Event at which a token begins to attend to other tokens.

    - before, after (tuple of int): tokens that it attends to before and after: one, or several
      while it slides along a ridge. `before` is empty for tokens that begin on a ridge.
    - tied (tuple of int): tokens that share the largest score at the time.
    - choices: number of velocities that solve the inclusion; 1 if there is no choice.
    """

    time: float
    token: int
    before: Support
    after: Support
    tied: Support
    choices: int


class _Piece(NamedTuple):
    """Paths between two events: supports, ends of steps, and their dense outputs."""

    supports: list[Support]
    ends: list[float]
    steps: list[Callable[[float], FloatArray]]


@dataclass(frozen=True, eq=False)
class HardmaxRun:
    """Tokens under hardmax attention.

    - time (n_times,): saved times, papers' time; points: tokens there, as the space stores points.
    - attended (n_times, n): token with the largest weight for each token; the first of equal ones.
    - events (tuple of Switch): in the order of time; at time 0 ridges on which tokens begin.
    """

    space: Manifold
    score: FloatArray
    value: FloatArray
    ridge: Ridge
    time: FloatArray
    points: FloatArray = field(init=False)
    attended: IntArray = field(init=False)
    events: tuple[Switch, ...]
    _pieces: tuple[_Piece, ...]
    _copies: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", np.array([self.at(float(t)) for t in self.time]))
        object.__setattr__(self, "attended", np.array([self._leaders(float(t)) for t in self.time]))

    @property
    def tokens(self) -> int:
        return len(self._copies)

    @property
    def ties(self) -> tuple[Switch, ...]:
        """Events at which several velocities solve the inclusion, so that `ridge` decides."""
        return tuple(each for each in self.events if each.choices > 1)

    @checked
    def at(self, time: float) -> FloatArray:
        """Tokens at any time of the run, as the space stores points."""
        return self.space.points_of(self._vectors(time)[1][self._copies])

    @checked
    def velocities(self, time: float) -> FloatArray:
        """Velocities at any time, vectors of shape (n, d); at events, velocities after it."""
        piece, x = self._vectors(time)
        head = HardmaxHead(self.space, self.score, self.value)
        return averages(head, x, piece.supports)[1][self._copies]

    @checked
    def measure(self, time: float) -> Measure:
        """Tokens at any time with equal masses."""
        return Measure(self.space, self.at(time))

    def _vectors(self, time: float) -> tuple[_Piece, FloatArray]:
        end = self._pieces[-1].ends[-1]
        if not 0.0 <= time <= end:
            raise ValueError(f"time must be between 0 and {end:g}, got {time:g}.")
        starts = [piece.ends[0] for piece in self._pieces]
        piece = self._pieces[bisect_right(starts, time) - 1]
        step = min(max(bisect_right(piece.ends, time) - 1, 0), len(piece.steps) - 1)
        x = piece.steps[step](time).reshape(-1, self.space.ambient)
        return piece, _on(self.space, x)

    def _leaders(self, time: float) -> IntArray:
        piece, x = self._vectors(time)
        _, _, weights = averages(HardmaxHead(self.space, self.score, self.value), x, piece.supports)
        most = [s[int(np.argmax(w))] for s, w in zip(piece.supports, weights, strict=True)]
        first = np.array([int(np.argmax(self._copies == k)) for k in range(len(x))])
        return np.asarray(first[most][self._copies])

    def __repr__(self) -> str:
        ridges = f", {len(self.ties)} by ridge = {self.ridge!r}" if self.ties else ""
        return (
            f"HardmaxRun({self.tokens} tokens on the {self.space.name}, t = 0 to "
            f"{self._pieces[-1].ends[-1]:g}, {len(self.events)} events{ridges})"
        )


@checked
def hardmax(
    space: Manifold,
    tokens: FloatArray,
    *,
    score: ArrayLike = 1.0,
    value: ArrayLike = 1.0,
    until: float,
    save: int | Sequence[float] = 61,
    ridge: Ridge = "corner",
    max_events: int = 10_000,
) -> HardmaxRun:
    """Move tokens by hardmax attention, the limit beta -> infinity of softmax.

        x_i' = P_x V y_i  (spheres),   x_i' = V (y_i - x_i)  (R^d),    y_i = argmax_y <B^T x_i, y>

    over all tokens y, token i included. Paths are smooth between events, and both have errors of
    about 1e-12. On a ridge several tokens share the largest score, and solutions are Filippov's.
    If both sides move towards the ridge, a token slides along it. If both move away, three or more
    solutions begin, and `ridge` chooses. At the origin of R^d all scores are 0: for V = -1 all
    tokens that move end there, and rest.

    Parameters
    ----------
    space : Manifold
        mf.Circle(), mf.Sphere(d) or mf.Euclidean(d).
    tokens : ndarray
        As the space stores points. Equal tokens stay equal.
    score, value : number or array, (d,) or (d, d)
        B = Q^T K and V, as `mf.Head` has them.
    until : float
        Positive; papers' time, which is the scaled time of softmax runs.
    save : int or sequence of float
        Number of equally spaced times, or the times.
    ridge : str
        Rule for a token on a ridge that it may leave. "corner": it attends to the token whose score
        rises fastest, the first of equal ones. This is the limit beta -> infinity for a single
        token that is not exactly on the ridge; if sliding tokens depend on each other, softmax may
        tend to another solution. "midpoint": it stays on the ridge as long as a solution does, as
        under exact symmetry.
    max_events : int
        Largest number of events.

    Raises
    ------
    ValueError
        If an argument is out of range.
    SimulationError
        After `max_events`, or if no velocities solve the inclusion to rounding. If ties have too
        many choices: more than 11 tokens tie (26 in R^2), or on coupled ridges no solution is
        found by choosing for one token after another.

    References
    ----------
    Geshkovski, Letrouit, Polyanskiy, Rigollet, A mathematical perspective on Transformers,
    arXiv:2312.10794, (9.5), (9.6) and Example 9.3.

    Examples
    --------
    Example 9.3: two tokens rest, and the third may move to either, or between them.

    >>> import meanfield as mf
    >>> three = [[1.0, 1.0], [-1.0, 1.0], [0.0, 0.0]]
    >>> run = mf.hardmax(mf.Euclidean(2), three, until=1.0, save=2)
    >>> run
    HardmaxRun(3 tokens on the space:2, t = 0 to 1, 1 events, 1 by ridge = 'corner')
    >>> run.ties[0].tied, run.ties[0].after, run.points[-1, 2].round(6)
    ((0, 1, 2), (0,), array([0.632121, 0.632121]))
    >>> between = mf.hardmax(mf.Euclidean(2), three, until=1.0, save=2, ridge="midpoint")
    >>> between.ties[0].after, between.points[-1, 2].round(6)
    ((0, 1), array([0.      , 0.632121]))
    """
    score, value = score_and_value(space, score, value)
    if not until > 0.0:
        raise ValueError(f"until must be positive, got {until:g}.")
    if not isinstance(save, int) and not len(save):
        raise ValueError("save holds no times: take some, or how many.")
    if isinstance(save, int) and save < 2:
        raise ValueError(f"save must be at least 2, or a list of times, got {save}.")
    time = np.linspace(0.0, until, save) if isinstance(save, int) else np.array(save, dtype=float)
    wrong = time[(time < 0.0) | (time > until)]
    if len(wrong):
        raise ValueError(f"save holds {wrong[0]:g}, expected times between 0 and {until:g}.")
    vectors = space.vectors(space.check_points(tokens))
    # Equal tokens have one mean field and stay equal, so they are one token here.
    _, first, copies = np.unique(vectors, axis=0, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    motion = _Motion(HardmaxHead(space, score, value), ridge)
    pieces, events = motion.run(vectors[np.sort(first)], until, max_events)
    distinct = np.sort(first)
    named_events = tuple(_named(each, distinct) for each in events)
    return HardmaxRun(
        space, score, value, ridge, time, named_events, tuple(pieces), rank[copies.ravel()]
    )


def _named(switch: Switch, tokens: IntArray) -> Switch:
    """The event with the user's numbers of tokens, from numbers of distinct tokens."""
    return replace(
        switch,
        token=int(tokens[switch.token]),
        before=tuple(tokens[list(switch.before)].tolist()),
        after=tuple(tokens[list(switch.after)].tolist()),
        tied=tuple(tokens[list(switch.tied)].tolist()),
    )


def _on(space: Manifold, x: FloatArray) -> FloatArray:
    """Vectors on the space: normalised on spheres."""
    return unit_vectors(x) if space.is_sphere else x


@dataclass(frozen=True)
class _Motion:
    """Steps, events, and supports after them."""

    head: HardmaxHead
    ridge: Ridge

    def run(
        self, x: FloatArray, until: float, max_events: int
    ) -> tuple[list[_Piece], list[Switch]]:
        time, pieces = 0.0, []
        scores = (x @ self.head.score) @ x.T
        supports: list[Support] = [(int(k),) for k in scores.argmax(axis=1)]
        supports, events = self._decided(0.0, x, supports, None)
        for _ in range(max_events):
            piece, x, event = self._smooth(time, x, supports, until)
            pieces.append(piece)
            time = piece.ends[-1]
            if event is None:
                return pieces, events
            supports, new = self._decided(time, x, supports, event)
            events += new
        raise SimulationError(
            time, max_events, f"max_events = {max_events} changes of attention are not enough"
        )

    def _smooth(
        self, time: float, x: FloatArray, supports: list[Support], until: float
    ) -> tuple[_Piece, FloatArray, tuple[int, int] | None]:
        """Paths to the next event or the end, tokens there, and the event as `_event` has it."""
        from scipy.integrate import DOP853

        shape = x.shape

        def slope(_: float, state: FloatArray) -> FloatArray:
            return averages(self.head, state.reshape(shape), supports)[1].ravel()

        size = float(np.abs(x).max())
        options = {"rtol": _TOLERANCE, "atol": _TOLERANCE * max(size, np.finfo(float).tiny)}
        solver = DOP853(slope, time, x.ravel(), until, **options)
        piece = _Piece(list(supports), [time], [])
        # Excess of scores at the beginning, where ties are already decided.
        margin = np.maximum(self._excess(x, supports)[0], 0.0)
        while solver.status == "running":
            start, state = solver.t, solver.y.reshape(shape).copy()
            said = solver.step()
            if solver.status == "failed":
                raise SimulationError(solver.t, len(piece.steps), str(said))
            dense = solver.dense_output()
            piece.steps.append(dense)
            crossed = self._event(dense, start, state, solver.t, supports, margin)
            if crossed is not None:
                at, event = crossed
                piece.ends.append(at)
                return piece, self._state(dense, at, shape), event
            piece.ends.append(solver.t)
        return piece, _on(self.head.space, solver.y.reshape(shape)), None

    def _state(self, dense: Callable[[float], FloatArray], time: float, shape: Any) -> FloatArray:
        return _on(self.head.space, dense(time).reshape(shape))

    def _event(
        self,
        dense: Callable[[float], FloatArray],
        start: float,
        x: FloatArray,
        end: float,
        supports: list[Support],
        margin: FloatArray,
    ) -> tuple[float, tuple[int, int]] | None:
        """First event of a step: time, and (token, target); target -1 if a weight became zero."""
        from scipy.optimize import brentq

        shape = x.shape
        previous, below = start, self._excess(x, supports)[0]
        for share in _PLACES:
            time = start + share * (end - start)
            excess, allowed = self._excess(self._state(dense, time, shape), supports)
            allowed += margin
            over = np.flatnonzero(excess > allowed)
            if len(over):
                break
            previous, below = time, excess
        else:
            return None
        candidates = []
        for q in over.tolist():
            # After a tie at the start of a piece the excess may begin above 0.
            shift = 0.0 if below[q] < 0.0 else allowed[q]

            def beyond(t: float, q: int = q, shift: float = shift) -> float:
                excess = self._excess(self._state(dense, t, shape), supports)[0]
                return float(excess[q]) - shift

            if beyond(previous) >= 0.0:
                candidates.append((previous, q))
            else:
                candidates.append(
                    (float(brentq(beyond, previous, time, xtol=1e-300, rtol=1e-15)), q)
                )
        at, q = min(candidates)
        n = len(x)
        if q >= n:
            return at, (q - n, -1)
        x = self._state(dense, at, shape)
        scores = x @ (x[q] @ self.head.score)
        scores[list(supports[q])] = -np.inf
        return at, (q, int(scores.argmax()))

    def _excess(self, x: FloatArray, supports: list[Support]) -> tuple[FloatArray, FloatArray]:
        """Quantities that must not be positive, and their errors, (2 n,).

        First n: largest score of other tokens minus the own score. Last n: minus least weight.
        """
        n = len(x)
        queries = x @ self.head.score
        scores = queries @ x.T
        rows = np.arange(n)
        first = [support[0] for support in supports]
        own = scores[rows, first]
        sliding = [i for i, support in enumerate(supports) if len(support) > 1]
        scores[rows, first] = -np.inf
        for i in sliding:
            scores[i, list(supports[i])] = -np.inf
        weights = np.full(n, -np.inf)
        if sliding:
            shares = averages(self.head, x, supports)[2]
            for i in sliding:
                weights[i] = -float(shares[i].min())
        excess = np.concatenate([scores.max(axis=1) - own, weights])
        return excess, np.repeat([self._tie(x), _NO_WEIGHT], n)

    def _tie(self, x: FloatArray) -> float:
        """Largest difference of scores that counts as a tie."""
        return _TIE * float(np.linalg.norm(self.head.score)) * float(np.abs(x).max()) ** 2

    def _decided(
        self, time: float, x: FloatArray, supports: list[Support], event: tuple[int, int] | None
    ) -> tuple[list[Support], list[Switch]]:
        """Supports after an event, or at the start without one, and the changes."""
        scores = (x @ self.head.score) @ x.T
        least = scores.max(axis=1) - 2.0 * self._tie(x)
        ridges: dict[int, Support] = {}
        before = list(supports)
        for i, support in enumerate(supports):
            near = np.flatnonzero(scores[i] >= least[i]).tolist()
            initial = [] if event is None else list(support)
            if event is not None and event[0] == i and event[1] >= 0:
                initial.insert(0, event[1])
            places = _places(x, initial + near)
            before[i] = tuple(dict.fromkeys(places[j] for j in support))
            tied = tuple(dict.fromkeys(places.values()))
            if len(tied) > 1:
                ridges[i] = tied
        now = list(before)
        switches = []
        for group in in_order(ridges):
            new, choices = self._solved(time, x, now, group, None if event is None else event[0])
            for (i, tied), support in zip(group.items(), new.supports, strict=True):
                now[i] = support
                if event is None or set(support) != set(before[i]):
                    old = () if event is None else before[i]
                    switches.append(Switch(time, i, old, support, tuple(sorted(tied)), choices))
        return now, sorted(switches, key=lambda each: each.token)

    def _solved(
        self,
        time: float,
        x: FloatArray,
        supports: list[Support],
        group: dict[int, Support],
        token: int | None,
    ) -> tuple[Solution, int]:
        """Solution for a group of ridges that continues the motion, and the number of solutions."""
        candidates: list[Solution] = []
        old = None
        if token is not None:
            old = solves(self.head, x, supports, group)
            if token not in group and old is not None:
                return old, 1
        try:
            if token is not None and token in group:
                candidates = solutions(self.head, x, supports, group, {token: group[token]})
            if not candidates:
                candidates = solutions(self.head, x, supports, group, group)
        except ValueError as error:
            # Too many choices together: one token after another, until all solve.
            turns = self._in_turns(x, supports, group)
            if turns is None:
                raise SimulationError(time, 0, str(error)) from None
            return turns
        if not candidates:
            raise SimulationError(
                time, 0, f"tokens {sorted(group)} are on ridges, and no velocities solve the "
                "inclusion to rounding: move a token a little"
            )  # fmt: skip
        other = [each for each in candidates if old is None or each.supports != old.supports]
        return chosen(other or candidates, self.ridge), len(candidates)

    def _in_turns(
        self, x: FloatArray, supports: list[Support], group: dict[int, Support]
    ) -> tuple[Solution, int] | None:
        """Solution for a group by one token after another, and the largest number of choices."""
        if len(group) == 1:
            return None
        supports, most = list(supports), 1
        for _ in range(_TURNS):
            for i, tied in group.items():
                own = solutions(self.head, x, supports, {i: tied}, {i: tied})
                if not own:
                    return None
                supports[i] = chosen(own, self.ridge).supports[0]
                most = max(most, len(own))
            together = solves(self.head, x, supports, group)
            if together is not None:
                return together, most
        return None


def _places(x: FloatArray, tokens: list[int]) -> dict[int, int]:
    """For each token the first token of the list at the same position."""
    size = _TIE * float(np.abs(x).max())
    first: dict[int, int] = {}
    for j in tokens:
        same = (k for k in set(first.values()) if np.abs(x[j] - x[k]).max() <= size)
        first.setdefault(j, next(same, j))
    return first
