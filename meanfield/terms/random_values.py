"""Random values: matrices V_h that are drawn anew in each layer, the same for all tokens.

    dx = P_x [sum_h dW_h m_h(x) + u(x) dt] - (d - 1) / (2 d) sum_h s_h^2 |m_h|^2 x dt    "ito"
    dx = P_x [sum_h o dW_h m_h(x) + u(x) dt]                                   "stratonovich"

with m_h the mean that head h attends to, W_h = s_h B_h, and B_h a Brownian motion of d x d
matrices, entries of variance dt / d. "ito" is the limit of layers x <- N(x + V m sqrt(h)). On an
interval of length h a path is a straight line, V_h = dW_h / h (Wong and Zakai): a stage like
others, which moves tokens and densities alike. That tends to "stratonovich"; "ito" has the further
drift -c(x),

    2 d c = sum_h s_h^2 { sum_j w_j [n_j + P_j z <e_j, m_j>] + S C^T m },    z = S^T x,

over tokens y_j to which x attends with weights w_j, P_j = 1 - y_j y_j^T, n_j = P_j m(y_j),
e_j = y_j - m (y_j where weights are not normalised), C = sum_j w_j e_j y_j^T, S the score matrix.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from meanfield.arguments import checked
from meanfield.arrays import FloatArray
from meanfield.engines.limits import check_memory
from meanfield.schemes.brownian import BrownianPath
from meanfield.schemes.layers import Layers
from meanfield.terms.attention import Attention, Head, HeadMatrices
from meanfield.terms.kernels import Kernel
from meanfield.terms.own import OwnTerm, Seen, SteadyTerm, VectorField

if TYPE_CHECKING:
    from meanfield.stages import Stage

Interpretation = Literal["ito", "stratonovich"]
"""Noise as the limit of layers, or of smooth paths."""

USUAL_STEP = 1.0 / 64.0
_NO_DEPTH = "depth of random values is missing: the time until which to draw."
_MOST_INTERVALS = 100_000
# Bytes of an entry of a value in a stage.
_BYTES = 64.0
# Most points: an evaluation over their pairs takes some seconds.
_MOST_POINTS = 5000
# Pairs that are summed at once.
_PAIRS = 2**21
# Stream of random numbers that no path uses.
_SCORES = 2**63
# Halvings of a unit of time: between times that differ by less a path is a straight line.
_HALVINGS = 40


@checked
@dataclass(frozen=True)
class RandomValues:
    """Values that are drawn anew in each layer, in place of the value of a head: common noise.

    A term of `Problem`, alone or beside an `Attention` of the same kind, whose values stay.

    Attributes
    ----------
    heads : Attention, or sequence of Head
        Heads with random values. The given value of a head is a number that multiplies its noise.
    scale : float
        Multiplies all noise; s_h is scale times strength times value.
    interpretation : str
        "ito", the limit of layers, or "stratonovich", that of smooth paths.
    depth : float, optional
        Scaled time at which the last layer ends; by default that of layers with a count.
    step : float, optional
        Interval h between draws, in scaled time; by default the step of layers, or 1/64. Laws of
        tokens differ from the limit by O(h), single paths by O(sqrt(h)).
    seed : int
        Of the path W(t), which does not depend on the step, nor on the other heads.
    score_scale : float, optional
        Scores B are drawn anew too, with normal entries of this deviation; only with layers. A
        single path then has no limit for small steps, but its law has one.

    Raises
    ------
    ValueError
        If a number is out of range, or a head has a matrix as value. By `Problem`: if "ito" meets a
        mask or Sinkhorn's weights without layers, layers normalise what they add, or tokens live
        in R^1.

    References
    ----------
    Fedorov, Sander, Elie, Marion, Lauriere, arXiv:2601.21942 (random layers and their limit).
    docs/random-layers.md, Paths.

    Examples
    --------
    >>> import meanfield as mf
    >>> values = mf.RandomValues([mf.Head(beta=2.0)], depth=1.0, step=0.25)
    >>> problem = mf.Problem(mf.Sphere(), values, initial=mf.von_mises_fisher(2.0))
    >>> len(problem.stages), values.paths(3).shape
    (4, (5, 1, 3, 3))
    """

    heads: Attention | Sequence[Head]
    scale: float = 1.0
    interpretation: Interpretation = "ito"
    depth: float | None = None
    step: float | None = None
    seed: int = 0
    score_scale: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.heads, Attention):
            object.__setattr__(self, "heads", Attention(self.heads))
        for name in ("depth", "step"):
            value = getattr(self, name)
            if value is not None and not 0.0 < value <= 1e6:
                raise ValueError(f"{name} must be positive, at most 1e6, got {value:g}.")
        if not abs(self.scale) <= 1e6:
            raise ValueError(f"scale must be at most 1e6 in modulus, got {self.scale:g}.")
        BrownianPath(self.seed, ())
        if self.score_scale is not None:
            self._check_scores(self.score_scale)
        for number, head in enumerate(self.attention.heads, 1):
            if head.weight is not None or not isinstance(head.value, int | float):
                what = "weight" if head.weight else "value that is no number"
                raise ValueError(
                    f"random head {number} has a {what}: its value is drawn, give the number that "
                    "multiplies it."
                )

    def _check_scores(self, scale: float) -> None:
        if not 0.0 < scale <= 1e6:
            raise ValueError(f"score_scale must be positive, at most 1e6, got {scale:g}.")
        if self.attention.normalization != "softmax":
            raise ValueError(
                f'score_scale beside normalization = "{self.attention.normalization}": weights of '
                'random scores need "softmax".'
            )
        if any(
            (head.query, head.key, head.score) != (1.0, 1.0, None) for head in self.attention.heads
        ):
            raise ValueError(
                "score_scale draws the scores of heads: give them no query, key, score."
            )

    @property
    def attention(self) -> Attention:
        assert isinstance(self.heads, Attention)
        return self.heads

    def fitted(self, layers: Layers | None) -> RandomValues:
        """Copy with step and depth as numbers, by default from the layers."""
        step, depth = self.step, self.depth
        if self.score_scale is not None and not _are_discrete(layers):
            raise ValueError("random scores have layers alone: give mf.Layers(step=...).")
        if layers is not None and layers.norm.of_output:
            raise ValueError(
                f'placement = "{layers.placement}" normalises what random values add, so that '
                'their size is lost: take placement "post" or "pre".'
            )
        if layers is not None and not layers.is_flow:
            if self.interpretation != "ito":
                raise ValueError('layers are the "ito" model of random values: leave one out.')
            if step not in (None, layers.step):
                raise ValueError(
                    f"step = {step:g} beside layers of step {layers.step:g}: give one."
                )
            step = layers.step
            if layers.count is not None:
                whole = layers.count * step
                if depth is not None and not math.isclose(depth, whole, rel_tol=1e-9):
                    raise ValueError(
                        f"depth = {depth:g} beside {layers.count} layers of step {step:g}: give "
                        "one."
                    )
                depth = whole
        step = USUAL_STEP if step is None else step
        if depth is None:
            raise ValueError(_NO_DEPTH)
        count = depth / step
        if not 1.0 - 1e-9 <= count <= _MOST_INTERVALS or abs(count - round(count)) > 1e-9 * count:
            raise ValueError(
                f"depth = {depth:g} holds {count:.6g} steps of {step:g}, expected a whole number "
                f"from 1 to {_MOST_INTERVALS}."
            )
        return replace(self, step=step, depth=depth)

    def check_stages(
        self, stages: Sequence[Stage], first: Attention | Kernel | None = None
    ) -> None:
        """Refuse stages that do not follow from the values; `first` is the kernel of the first."""
        if not self._has_drawn(stages, first):
            raise ValueError(
                "stages beside random values, which make stages of their own: give one of them, or "
                "make the problem anew, mf.Problem(manifold, mf.RandomValues(...))."
            )

    def _has_drawn(self, stages: Sequence[Stage], first: Attention | Kernel | None) -> bool:
        ends, unit = [stage.end for stage in stages], stages[0].end or 1.0
        # With layers, ends are numbers of layers.
        if unit not in (1.0, self.interval) or len(stages) != self.count:
            return False
        if ends != [*(k * unit for k in range(1, len(stages))), None]:
            return False
        if any((e.flow, e.feed_forward, e.drift) != (None, None, None) for e in stages):
            return False
        given = next((stage.kernel for stage in stages if stage.kernel is not None), first)
        shape = np.shape(given.heads[-1].value) if isinstance(given, Attention) else ()
        drawn = [each for _, each in self.attentions(shape[0] if shape else 2, None, None)]
        kernels = [stage.kernel or first or drawn[0] for stage in stages]
        return all(
            isinstance(kernel, Attention) and kernel.heads[-len(of.heads) :] == of.heads
            for kernel, of in zip(kernels, drawn, strict=True)
        )

    def check_drawn(
        self, of: Attention | Kernel, layers: Layers | None, own_terms: Sequence[OwnTerm]
    ) -> None:
        """Refuse other heads and layers than those that the values were drawn for."""
        self.fitted(layers)
        heads = of.heads[-len(self.own_heads) :] if isinstance(of, Attention) else ()
        drawn: dict[str, Any] = {"value": 1.0}
        drawn |= {} if self.score_scale is None else {"score": None}
        same = [replace(head, **drawn) for head in heads] == [
            replace(head, **drawn) for head in self.own_heads
        ]
        has_drift = any(isinstance(each.term, ItoDrift) for each in own_terms)
        if not same or has_drift != (self.drift(layers, 0.0) is not None):
            raise ValueError(
                "random values were drawn for another attention or other layers: make the problem "
                "anew, mf.Problem(manifold, mf.RandomValues(...))."
            )

    @property
    def interval(self) -> float:
        """Length h of an interval."""
        return self.step or USUAL_STEP

    @property
    def count(self) -> int:
        """Number of intervals."""
        if self.depth is None:
            raise ValueError(_NO_DEPTH)
        return round(self.depth / self.interval)

    def paths(self, d: int) -> FloatArray:
        """Paths B_h at the ends of all intervals, shape (intervals + 1, heads, d, d).

        Rows are output components: the noise moves tokens by dB m.

        >>> values = RandomValues([Head(beta=1.0)], depth=1.0, step=0.5, seed=3)
        >>> finer = replace(values, step=0.25)
        >>> bool(np.array_equal(values.paths(2), finer.paths(2)[::2]))
        True
        """
        shape = (len(self.attention.heads), d, d)
        need = _BYTES * self.count * math.prod(shape)
        check_memory(need, f"values of {self.count} layers", "Lower depth, or raise step")
        return _paths(self.seed, shape, self.interval, self.count) / math.sqrt(d)

    def scores(self, layer: int, d: int) -> FloatArray:
        """Normal numbers of the scores of a layer, shape (heads, d, d)."""
        path = BrownianPath(self.seed, (len(self.attention.heads), d, d))
        return path.normals(layer, _SCORES)

    @property
    def own_heads(self) -> tuple[Head, ...]:
        """Heads with the beta and the strength of their attention."""
        return tuple(_of_its_own(head, self.attention) for head in self.attention.heads)

    def attentions(
        self, d: int, beside: Attention | None, layers: Layers | None
    ) -> list[tuple[float, Attention]]:
        """End of each interval in the unit of the run, and attention with its values."""
        of, steady = self.attention, list[Head]()
        if beside is not None:
            _check_beside(of, beside)
            steady = [_of_its_own(head, beside) for head in beside.heads]
        unit = 1.0 if _are_discrete(layers) else self.interval
        ends, own = list[tuple[float, Attention]](), self.own_heads
        for k, speeds in enumerate(self.scale * np.diff(self.paths(d), axis=0) / self.interval, 1):
            drawn = [
                replace(head, value=np.asarray(head.value) * speed)
                for head, speed in zip(own, speeds, strict=True)
            ]
            if self.score_scale is not None:
                scores = self.score_scale * self.scores(k - 1, d)
                drawn = [replace(h, score=each) for h, each in zip(drawn, scores, strict=True)]
            ends.append((k * unit, replace(of, heads=(*steady, *drawn), strength=1.0)))
        return ends

    def drift(self, layers: Layers | None, largest: float) -> ItoDrift | None:
        """Drift by which the limit of layers differs from that of smooth paths, or None.

        `largest` is the score of the largest weight, also among heads beside these.
        """
        of = self.attention
        if _are_discrete(layers) or self.interpretation == "stratonovich" or not self.scale:
            return None
        if of.mask != "none" or of.rotary is not None or of.normalization == "sinkhorn":
            sinkhorn = of.normalization == "sinkhorn"
            what = 'normalization = "sinkhorn"' if sinkhorn else "positions (mask, rotary)"
            raise ValueError(
                f'{what} and random values of the "ito" model have layers alone: give mf.Layers, '
                'or take interpretation = "stratonovich".'
            )
        if layers is not None:
            raise ValueError(
                'random values of the "ito" model and the flow of layers exclude each other: give '
                "the layers a step > 0, or leave them out."
            )
        return ItoDrift(replace(of, heads=self.own_heads, strength=self.scale), largest)

    @property
    def summary(self) -> str:
        """Description in words.

        >>> RandomValues([Head(beta=2.0)], depth=2.0, seed=3).summary
        'random values: ito, drawn anew every 0.015625 until 2, seed 3'
        """
        scale = "" if self.scale == 1.0 else f", scale {self.scale:g}"
        until = "" if self.depth is None else f" until {self.depth:g}"
        return (
            f"random values: {self.interpretation}, drawn anew every {self.interval:g}{until}, "
            f"seed {self.seed}{scale}"
        )


# Every change of a problem makes it again from the same paths.
@lru_cache(maxsize=2)
def _paths(seed: int, shape: tuple[int, ...], interval: float, count: int) -> FloatArray:
    brownian = BrownianPath(seed, shape, _HALVINGS)
    before, paths, unit = np.zeros(shape), [], 0
    for number in range(count + 1):
        time = number * interval
        while time >= unit + 1:
            before, unit = before + brownian.inside(unit, 1.0), unit + 1
        paths.append(before + brownian.inside(unit, time - unit))
    return np.array(paths)


def _are_discrete(layers: Layers | None) -> bool:
    return layers is not None and not layers.is_flow


def _of_its_own(head: Head, of: Attention) -> Head:
    """Head with a beta of its own, and the strength of its attention in its value."""
    beta = of.beta if head.beta is None else head.beta
    if callable(beta) or callable(of.strength):
        raise ValueError("functions of time beside random values are not supported: give numbers.")
    value = of.strength * np.asarray(head.value, dtype=np.float64)
    return replace(head, beta=beta, value=value if value.ndim else float(value))


def _check_beside(random: Attention, steady: Attention) -> None:
    """Refuse an attention with other options than that of the random heads."""
    for name in ("normalization", "diffusivity", "mask", "alibi_rate", "sink", "rotary"):
        one, other = getattr(random, name), getattr(steady, name)
        if one != other:
            raise ValueError(
                f"{name} of random values is {one!r}, and {other!r} that of the attention beside "
                "them: give both the same."
            )


@dataclass(frozen=True)
class ItoDrift(SteadyTerm):
    """The drift -c(x) by which the limit of layers differs from that of smooth paths."""

    attention: Attention
    largest: float  # largest score, the unit of weights
    name = 'the drift of random values of the "ito" model'

    def field(self, seen: Seen, x: FloatArray, time: float) -> VectorField:
        blocks = []
        for heads in self._attended(seen, x):
            parts = [(each.vectors(), *each.slopes()) for each in heads]
            blocks.append([-np.sum(part, axis=0) for part in zip(*parts, strict=True)])
        return VectorField(*map(np.concatenate, zip(*blocks, strict=True)))

    def vectors(self, seen: Seen, x: FloatArray) -> FloatArray:
        attended = self._attended(seen, x)
        return -np.concatenate([np.sum([h.vectors() for h in heads], axis=0) for heads in attended])

    def _attended(self, seen: Seen, x: FloatArray) -> Iterator[list[_Attended]]:
        """Heads at blocks of vectors, so that tables of pairs stay small."""
        of, d = self.attention, x.shape[1]
        if len(seen.points) > _MOST_POINTS:
            raise ValueError(
                f'random values of the "ito" model sum over all pairs of points, and there are '
                f"{len(seen.points)}, expected at most {_MOST_POINTS}: give layers, "
                'mf.Layers(step=...), or take interpretation = "stratonovich".'
            )
        sink = of.sink if of.normalization == "softmax" else None
        heads = [_Attended(head, seen, sink, self.largest, x) for head in of.matrices(d)]
        y, rows = seen.points, max(_PAIRS // max(len(seen.points), 1), 1)
        if max(len(x), len(y)) <= rows:
            yield heads
            return
        starts = range(0, len(y), rows)
        means = [np.concatenate([h.weights(y[i : i + rows]) @ y for i in starts]) for h in heads]
        for i in range(0, len(x), rows):
            part = x[i : i + rows]
            yield [replace(h, x=part, means=m) for h, m in zip(heads, means, strict=True)]


@dataclass(frozen=True)
class _Attended:
    """Mean that a head attends to in weighted points, from vectors x (n, d)."""

    head: HeadMatrices
    seen: Seen
    sink: float | None  # None: weights are not normalised
    largest: float
    x: FloatArray
    means: FloatArray | None = None  # at the points, if known

    def weights(self, x: FloatArray) -> FloatArray:
        """Weights of the points, in the means of vectors x."""
        scores = x @ self.head.score @ self.seen.points.T - self.largest
        if self.sink is None:
            return np.asarray(self.seen.masses * np.exp(scores))
        top = scores.max(axis=1, keepdims=True)
        weights = self.seen.masses * np.exp(scores - top)
        total = weights.sum(axis=1, keepdims=True) + self.sink * np.exp(-top)
        return np.asarray(weights / total)

    @property
    def factor(self) -> float:
        """s^2 / (2 d)."""
        return float(np.square(self.head.value[0, 0])) / (2.0 * len(self.head.value))

    @cached_property
    def tables(self) -> tuple[FloatArray, ...]:
        """w_j, m, m(y_j), n_j, z, centre y_j - e_j, and q_j = <e_j, m_j>, <z, y_j>, <e_j, m>."""
        s, y, w = self.head.score, self.seen.points, self.weights(self.x)
        same = self.x is y or np.array_equal(self.x, y)
        m, z = w @ y, self.x @ s
        m_y = self.means
        if m_y is None:
            m_y = m if same else self.weights(y) @ y
        radial = dots(m_y, y)
        centre = np.zeros_like(m) if self.sink is None else m
        q, em = radial - centre @ m_y.T, m @ y.T - _column(centre, m)
        return w, m, m_y, m_y - radial[:, None] * y, z, centre, q, z @ y.T, em

    def vectors(self) -> FloatArray:
        """Drift c at x, before it is projected."""
        w, _, _, n_y, z, _, q, zy, em = self.tables
        y, wq = self.seen.points, w * q
        u = w @ n_y + z * wq.sum(axis=1, keepdims=True) - (wq * zy) @ y
        return np.asarray(self.factor * (u + ((w * em) @ y) @ self.head.score.T))

    def slopes(self) -> tuple[FloatArray, FloatArray]:
        """Trace of the Jacobian J of c before it is projected, and <x, J x>.

        J = D S^T, and D dz is its change with z. For dz = z it gives <x, J x>. With M = dm / dz,
        and the centre of e_j, N = M, or 0 where weights are not normalised,

            D = sum_j w_j [n_j e_j^T + q_j (P_j z e_j^T + P_j) - P_j z m_j^T N]
                + S [sum_j w_j <e_j, m> y_j e_j^T - m m^T N + M^2],    q_j = <e_j, m_j>
        """
        w, m, m_y, n_y, z, centre, q, zy, em = self.tables
        x, s, y, fixed = self.x, self.head.score, self.seen.points, self.sink is None
        ez = zy - _column(centre, z)
        turned = (w * ez) @ y  # M z
        xpz = _column(x, z) - (x @ y.T) * zy
        moved = 0.0 if fixed else turned @ m_y.T
        em_moved = turned @ y.T - _column(turned, centre)
        along = (w * (ez * (x @ n_y.T) + (ez * q + q - moved) * xpz)).sum(axis=1)
        along += (w * zy * (ez * em + em_moved)).sum(axis=1)
        along -= 0.0 if fixed else dots(z, m) * dots(turned, m)

        g, sy, sc = s.T @ s, y @ s.T, centre @ s.T
        gy = y @ g
        slope = np.tensordot(w, y[:, :, None] * y[:, None, :], 1)
        slope -= m[:, :, None] * centre[:, None, :]  # M
        pz_se = z @ sy.T - _column(z, sc) - zy * (dots(y, sy) - sc @ y.T)
        trace = (w * (dots(n_y, sy) - centre @ (n_y @ s).T)).sum(axis=1)
        trace += (w * q * (pz_se + np.trace(s) - dots(y, sy))).sum(axis=1)
        trace += (w * em * (dots(y, gy) - centre @ gy.T)).sum(axis=1)
        trace += np.einsum("ab,nbc,nca->n", g, slope, slope)
        if not fixed:
            turns = s @ slope.transpose(0, 2, 1)  # S M^T
            weighted = np.einsum("na,nb->nab", z, w @ m_y)
            weighted -= np.tensordot(w * zy, y[:, :, None] * m_y[:, None, :], 1)
            trace -= (turns * weighted).sum(axis=(1, 2))
            trace -= np.einsum("na,nab,nb->n", m, slope, m @ g)
        return self.factor * trace, self.factor * along


def dots(a: FloatArray, b: FloatArray) -> FloatArray:
    """Products of rows."""
    return np.asarray((a * b).sum(axis=-1))


def _column(a: FloatArray, b: FloatArray) -> FloatArray:
    return dots(a, b)[:, None]
