"""Attention: heads with query, key and value matrices, normalisation of weights, masks.

A token at x scores one at y by beta <Q x, K y> = beta x^T B y, B = Q^T K, and is drawn to V y:

    v(x) = P_x sum_h V_h int e^{beta x^T B_h y} y mu_h(dy) / z_h(x)

    "none"      (USA)   mu_h = mu, z = e^{s}, s the largest beta |B_h|_2
    "softmax"   (SA)    mu_h = mu, z_h(x) = int e^{beta x^T B_h y} dmu(y) + c e^{s}, c the sink
    "sinkhorn"          the same with mu_h = w_h mu, w_h such that columns of weights sum to 1 too

P_x projects to the tangent space. A single head with scalar matrices is a `Kernel` with a `Flow`,
and so are heads with weights a(<x, y>) of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from meanfield.arguments import checked
from meanfield.arrays import FloatArray, read_only
from meanfield.terms.flows import Flow, Normalization
from meanfield.terms.kernels import Kernel, exponential, kernel_of, zonal
from meanfield.terms.masks import Mask, Masking, MaskName, mask_of, plain_mask
from meanfield.terms.matrices import matrix, plain, printed
from meanfield.terms.rotary import Rotary, Turning

MOST_HEADS = 10_000
"""Most heads of an attention: a velocity of a density sums all of them."""


@checked
@dataclass(frozen=True)
class Head:
    """Query, key and value matrices of one head.

    A token at x scores one at y by beta x^T B y, B = Q^T K, and V acts on the weighted mean of y.
    A number c stands for c times the identity, d numbers for a diagonal, rows for a matrix.

    Attributes
    ----------
    query, key : number or array, (d,) or (k, d)
        Q and K; only B = Q^T K enters.
    value : number or array, (d,) or (d, d)
        V.
    score : number or array, (d,) or (d, d); optional
        B itself, instead of query and key.
    beta : float or callable, optional
        Inverse temperature of this head; None is that of the attention. Each of these arguments
        may be a function of scaled time.
    weight : Kernel, optional
        Weights a(<x, y>) in the place of e^{beta x^T B y}, see `mf.zonal`; V must be a number.

    Raises
    ------
    TypeError, ValueError
        If a matrix is malformed or not finite, score is combined with query or key, or a weight
        with any of them.

    Examples
    --------
    >>> Head(score=[1.0, -1.0], value=[[0, -1], [1, 0]])
    Head(score=(1.0, -1.0), value=((0.0, -1.0), (1.0, 0.0)))
    """

    query: ArrayLike = 1.0
    key: ArrayLike = 1.0
    value: ArrayLike = 1.0
    score: ArrayLike | None = None
    beta: float | Callable[[float], float] | None = None
    weight: Kernel | None = None

    def __post_init__(self) -> None:
        for name in ("query", "key", "value", "score"):
            value = getattr(self, name)
            if value is not None or name != "score":
                object.__setattr__(self, name, plain(name, value))
        value = [name for name in ("query", "key") if getattr(self, name) != 1.0]
        if self.score is not None and value:
            raise ValueError(
                f"a head has both score and {value[0]}: score is Q^T K itself, give one of them."
            )
        if self.weight is not None:
            self._check_weight()

    def _check_weight(self) -> None:
        others = [name for name in ("query", "key") if getattr(self, name) != 1.0]
        others += [name for name in ("score", "beta") if getattr(self, name) is not None]
        if others:
            raise ValueError(
                f"a head has both weight and {others[0]}: weight is a(<x, y>) itself, give one of "
                "them."
            )
        if np.ndim(self.value):
            raise ValueError(
                f"value of shape {np.shape(self.value)} beside weight: weights of <x, y> alone "
                "have a number, one for a kernel."
            )

    def __repr__(self) -> str:
        return self.as_text(printed)

    def as_text(self, show: Callable[[Any], str] = repr) -> str:
        """Constructor call as text; `show` formats numbers and matrices."""
        usual = dict.fromkeys(("query", "key", "value"), 1.0)
        names = ("query", "key", "score", "weight", "value", "beta")
        arguments = {n: getattr(self, n) for n in names if getattr(self, n) != usual.get(n)}
        return f"Head({', '.join(f'{name}={show(value)}' for name, value in arguments.items())})"


class HeadMatrices(NamedTuple):
    """Matrices of a head on R^d: score, beta included, and value, strength included."""

    score: FloatArray
    value: FloatArray

    @property
    def sharpness(self) -> float:
        """Largest score |B|_2 of two unit vectors: beta for Q = K = 1."""
        return float(np.linalg.norm(self.score, 2))

    @property
    def degree(self) -> int:
        """Degree of the relevant moments: of e^{<z, y>}, and one more for the factor y."""
        sharpness = self.sharpness
        return 1 + (exponential(sharpness).degree(len(self.score) - 1) if sharpness else 0)

    @property
    def multiples(self) -> tuple[float, float] | None:
        """Numbers (b, c) with B = b 1 and V = c 1; None for other matrices."""
        score, value = (multiple_of_identity(each) for each in self)
        return None if score is None or value is None else (score, value)


def multiple_of_identity(matrix: FloatArray) -> float | None:
    """Number c of a matrix c 1; None for other matrices.

    >>> multiple_of_identity(np.diag([2.0, 2.0])), multiple_of_identity(np.diag([2.0, 1.0]))
    (2.0, None)
    """
    number = float(matrix[0, 0])
    return number if np.array_equal(matrix, number * np.eye(len(matrix))) else None


@checked
@dataclass(frozen=True, init=False)
class Attention:
    """Attention of one or several heads; a `Problem` takes it in the place of a kernel.

        v(x) = P_x sum_h V_h int e^{beta x^T B_h y} y mu_h(dy) / z_h(x),    B_h = Q_h^T K_h

    P_x projects to the tangent space, mu_h = mu and z_h = e^s without normalisation, s the largest
    beta |B_h|_2. Under softmax z_h(x) = int e^{beta x^T B_h y} dmu(y); Sinkhorn's mu_h = w_h mu
    makes columns of weights add up to 1 too. See docs/attention.md.

    Attributes
    ----------
    heads : sequence of Head
        Each has its own weights, normalised separately.
    normalization : str
        "none" (USA), "softmax" (SA) or "sinkhorn" (doubly stochastic, in rows and columns).
    beta : float or callable, optional
        Inverse temperature of the heads without their own; or a function of the scaled time of a
        run, as strength and diffusivity may be.
    strength : float or callable
        Multiplies all values.
    diffusivity : float or callable
        In scaled time, not negative. Multiplies the Laplacian.
    mask : str, Bias, Window or array (n, n)
        Tokens that token k of an ordered list attends to: "none" all, "causal" j <= k, "alibi"
        j <= k with weights that fall with distance. A `Bias` adds b(s - s') to scores, a `Window`
        excludes distant tokens, an array has the weights of n tokens or labels.
    alibi_rate : float, optional
        Only for "alibi", positive: lambda in weights e^{-lambda (s_k - s_j)}, positions
        s_k = k / n in (0, 1].
    sink : float
        Only for softmax, not negative: c in z_h + c, in units of the largest weight of two
        points. A token spends the share c / (z_h + c) of its attention on nothing.
    rotary : Rotary, optional
        Turns queries and keys with their positions; heads then have no score.

    Raises
    ------
    ValueError
        If there is no head, or one has no beta; for doubly stochastic weights with a mask, rotary
        or weights of heads; for a sink without softmax, or with weights of heads; for weights of
        some heads only, with a mask, or of several heads with softmax.

    Examples
    --------
    >>> import meanfield as mf
    >>> turning = mf.Attention([mf.Head(value=[[0, -1], [1, 0]])], beta=4.0)
    >>> mf.Problem(mf.Circle(), turning)
    Problem(Circle(), Attention([Head(value=((0.0, -1.0), (1.0, 0.0)))], beta=4.0), uniform())

    One head with scalar matrices is a kernel with a flow:

    >>> mf.Problem(mf.Circle(), mf.Attention([mf.Head(query=2.0)], beta=3.0))
    Problem(Circle(), exponential(beta=6.0), SA, uniform())
    """

    heads: tuple[Head, ...]
    normalization: Normalization
    beta: float | None
    strength: float
    diffusivity: float
    mask: MaskName | Mask
    alibi_rate: float | None
    sink: float
    rotary: Rotary | None

    def __init__(
        self,
        heads: Sequence[Head] = (Head(),),
        normalization: Normalization = "softmax",
        *,
        beta: float | Callable[[float], float] | None = None,
        strength: float | Callable[[float], float] = 1.0,
        diffusivity: float | Callable[[float], float] = 0.0,
        mask: Masking = "none",
        alibi_rate: float | None = None,
        sink: float = 0.0,
        rotary: Rotary | None = None,
    ) -> None:
        if len(heads) == 0:
            raise ValueError("an attention needs a head: mf.Head() is Q = K = V = 1.")
        if len(heads) > MOST_HEADS:
            raise ValueError(
                f"an attention has {len(heads)} heads, expected at most {MOST_HEADS}: take fewer."
            )
        Flow(normalization, strength, diffusivity)
        mask = plain_mask(mask)
        for number, head in enumerate(heads, 1):
            if head.beta is None and beta is None and head.weight is None:
                raise ValueError(f"head {number} has no beta: give it, or that of the attention.")
        if any(head.weight is not None for head in heads):
            _check_weights(heads, normalization, mask)
        if mask != "none" and normalization == "sinkhorn":
            raise ValueError(
                f'mask = "{mask}" and normalization = "sinkhorn" exclude each other: weights of a '
                "masked attention are normalised by rows alone."
            )
        if (mask == "alibi") != (alibi_rate is not None):
            raise ValueError('alibi_rate belongs to mask = "alibi": give both or neither.')
        if alibi_rate is not None and not 0.0 < alibi_rate <= 1e6:
            raise ValueError(f"alibi_rate must be positive, at most 1e6, got {alibi_rate:g}.")
        _check_sink(sink, heads, normalization)
        rotary = rotary if rotary is not None and rotary.length else None
        if rotary is not None:
            _check_rotary(heads, normalization)
        flow = (strength, diffusivity)
        values = (tuple(heads), normalization, beta, *flow, mask, alibi_rate, sink, rotary)
        for name, value in zip(self.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, name, value)

    @property
    def flow(self) -> Flow:
        """Flow with the attention's normalization, strength and diffusivity."""
        return Flow(self.normalization, self.strength, self.diffusivity)

    # Members of a `Kernel`, for callers that take either.
    @property
    def log_slope(self) -> None:
        return None

    @property
    def is_exponential(self) -> bool:
        return True

    @property
    def masking(self) -> Mask:
        """Mask as an object, rotary embedding included."""
        mask = mask_of(self.mask, self.alibi_rate)
        if self.rotary is None:
            return mask
        projections = tuple(
            (head.query, head.key, self.beta if head.beta is None else head.beta)
            for head in self.heads
        )
        return Turning(mask, str(self.mask), self.rotary, projections)

    @property
    def unmasked(self) -> Attention:
        """Same attention without mask and rotary embedding."""
        return replace(self, mask="none", alibi_rate=None, rotary=None)

    def matrices(self, d: int) -> tuple[HeadMatrices, ...]:
        """Scores and values of the heads for tokens in R^d, which they must fit."""
        return _matrices(self, d)

    def sharpness(self, d: int) -> float:
        """Largest score of two unit vectors, over the heads."""
        return max(score for score, _ in self.norms(d))

    def norms(self, d: int) -> tuple[tuple[float, float], ...]:
        """Norms (|B|_2, |V|_2) of the matrices of the heads."""
        return _norms(self, d)

    def zonal(self, d: int) -> tuple[Kernel, Flow] | None:
        """Equivalent kernel and flow of one scalar head, or of heads with weights; else None."""
        if self.heads[0].weight is not None:
            return self._of_weights()
        heads = self.matrices(d)
        others = self.normalization == "sinkhorn" or self.sink or self.rotary
        if len(heads) > 1 or self.mask != "none" or others:
            return None
        multiples = heads[0].multiples
        if multiples is None or multiples[1] == 0.0:
            return None
        beta, strength = multiples
        flow = Flow(self.normalization, strength, self.diffusivity)
        return kernel_of(beta), flow

    def _of_weights(self) -> tuple[Kernel, Flow]:
        # `_check_weight` and `now` ensure numbers.
        values = tuple(cast(float, head.value) for head in self.heads)
        weights = tuple(cast(Kernel, head.weight) for head in self.heads)
        if len(weights) == 1:
            flow = Flow(self.normalization, self.strength * values[0], self.diffusivity)
            return weights[0], flow
        beta = max(abs(each.beta) for each in weights) or 1.0
        return zonal(SumOfWeights(values, weights), beta=beta), self.flow

    def __repr__(self) -> str:
        text = f"Attention({list(self.heads)!r}"
        if self.normalization != "softmax":
            text += f", {self.normalization!r}"
        for name, usual in (
            ("beta", None),
            ("strength", 1.0),
            ("diffusivity", 0.0),
            ("mask", "none"),
            ("alibi_rate", None),
            ("sink", 0.0),
            ("rotary", None),
        ):
            if getattr(self, name) != usual:
                text += f", {name}={printed(getattr(self, name))}"
        return f"{text})"


@dataclass(frozen=True)
class SumOfWeights:
    """Weights sum_h V_h a_h(s) of scalar heads without normalisation."""

    values: tuple[float, ...]
    weights: tuple[Kernel, ...]

    def __call__(self, s: FloatArray) -> FloatArray:
        parts = zip(self.values, self.weights, strict=True)
        return np.asarray(sum(value * weight.attention(s) for value, weight in parts))


def _check_sink(sink: float, heads: Sequence[Head], normalization: Normalization) -> None:
    """Refuse a sink without softmax of exponential weights."""
    if not 0.0 <= sink <= 1e6:
        raise ValueError(f"sink must be from 0 to 1e6, got {sink:g}.")
    if sink and normalization != "softmax":
        raise ValueError(
            f'a sink adds to Z under normalization = "softmax", got "{normalization}": leave the '
            "sink out, or take softmax."
        )
    if sink and any(head.weight is not None for head in heads):
        raise ValueError("a head with a weight of its own has no sink: take exponential ones.")


def _check_rotary(heads: Sequence[Head], normalization: Normalization) -> None:
    """Refuse a rotary embedding with Sinkhorn's weights, or of heads without query and key."""
    if normalization == "sinkhorn":
        raise ValueError(
            'rotary and normalization = "sinkhorn" exclude each other: leave rotary out.'
        )
    if any(head.score is not None or head.weight is not None for head in heads):
        raise ValueError(
            "a rotary embedding turns queries and keys: give a head query and key, and no score or "
            "weight."
        )


def _check_weights(
    heads: Sequence[Head], normalization: Normalization, mask: MaskName | Mask
) -> None:
    """Refuse combinations that weights a(<x, y>) of heads do not support."""
    if any(head.weight is None for head in heads):
        raise ValueError(
            "some heads have a weight of their own and others none: give each a weight, as "
            "mf.Head(weight=mf.exponential(beta))."
        )
    if len(heads) > 1 and normalization == "softmax":
        raise ValueError(
            f"{len(heads)} heads with weights of their own have several Z: take one head, or "
            'normalization = "none".'
        )
    if len(heads) > 1 and any(callable(getattr(head.weight, "beta", None)) for head in heads):
        raise ValueError(
            "several heads have weights of their own, and a beta is a function of time: take one "
            "head, or mf.Head(beta=...) without a weight."
        )
    if mask != "none" or normalization == "sinkhorn":
        name = f'mask = "{mask}"' if mask != "none" else 'normalization = "sinkhorn"'
        raise ValueError(f"a head with a weight of its own has no {name}: take exponential ones.")


@lru_cache(maxsize=64)
def _norms(attention: Attention, d: int) -> tuple[tuple[float, float], ...]:
    # All heads at once: a call for each takes seconds for thousands of heads.
    stacks = map(np.array, zip(*attention.matrices(d), strict=True))
    norms = [np.linalg.norm(stack, 2, axis=(1, 2)).tolist() for stack in stacks]
    return tuple(zip(*norms, strict=True))


@lru_cache(maxsize=64)
def _matrices(attention: Attention, d: int) -> tuple[HeadMatrices, ...]:
    built = []
    for number, head in enumerate(attention.heads, 1):
        label = f"head {number}: "
        if head.weight is not None:
            raise ValueError(f"{label}a weight of its own has no matrices: see Attention.zonal.")
        if head.score is None:
            query = matrix(f"{label}query", head.query, d, square=False)
            key = matrix(f"{label}key", head.key, d, square=False)
            if len(query) != len(key):
                raise ValueError(
                    f"{label}query has {len(query)} rows and key {len(key)}, expected as many: "
                    "the score is <Q x, K y>."
                )
            if attention.rotary is not None and len(query) % 2:
                raise ValueError(
                    f"{label}a rotary embedding turns planes, and queries have {len(query)} "
                    "components: take an even number."
                )
            score = query.T @ key
        else:
            score = matrix(f"{label}score", head.score, d, square=True)
        value = attention.strength * matrix(f"{label}value", head.value, d, square=True)
        # `Problem` has replaced functions of time by numbers.
        beta = cast(float | None, attention.beta if head.beta is None else head.beta)
        score = (beta or 0.0) * score
        built.append(HeadMatrices(read_only(score), read_only(value)))
    return tuple(built)
