"""Placements of normalisation for equiangular tokens: one curve of directions, several clocks.

`schemes.layers` defines the layers, and their limit as the step h goes to 0:

    theta' = P_theta A / s,    r' = 0, <theta, A> or <theta, A> / |A|.

n tokens at equal angles with the cosine gamma have A_i = (w_1 - w) theta_i + w sum_j theta_j. A
token has the weight w_1 for itself and w for each other one. With q = 1 + (n - 1) gamma:

    gamma' = 2 w (1 - gamma) q / s,    <theta, A> = w_1 - w + w q,
    |A|^2 = <theta, A>^2 + w^2 q (n - q).

Let T(gamma) be the time that softmax attention with normalisation after each layer takes to reach
gamma (`equiangular_time`). Then pre and peri follow one curve,

    r = r_0 e^T sqrt(q_0 / q),

as d ln r / dT = <theta, A> = 1 - (d ln q / dT) / 2. Their times are integrals of positive functions
over this curve, accurate to rounding on the panels of `AngularPath`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from meanfield.arguments import checked
from meanfield.arrays import FloatArray
from meanfield.bases.legendre import gauss_legendre
from meanfield.papers.equiangular import AngularPath, angular_path, path_of
from meanfield.problem import Problem
from meanfield.schemes.layers import WITH_RADIUS, Layers

# Placements that normalise the output of attention.
_UNIT = ("peri", "sandwich", "ngpt")
_ORDER = 16
# e^{2 |beta|} must not overflow.
_LARGEST_BETA = 340.0
_LATEST = 1e300
# T stays below this up to _LATEST, as r is nearly r_0 e^T; beyond it gaps underflow.
_LONGEST = 720
_SMALL_STEP = 1e-9
_NEWTON_STEPS = 100


@dataclass(frozen=True)
class EquiangularLayers:
    """Tokens at equal angles, layer by layer; arrays (saves,).

    - times: scaled times; for layers the step times their number.
    - cosine, gap: cosine gamma of all pairs, and 1 - gamma with full relative accuracy.
    - radius: length r of the tokens; constant where each layer normalises.
    """

    times: FloatArray
    cosine: FloatArray
    gap: FloatArray
    radius: FloatArray


@checked
def equiangular_layers(
    problem: Problem, tokens: int, times: FloatArray | None = None, start: float = 0.0
) -> EquiangularLayers:
    """Tokens at equal angles under layers, or under the flow of h -> 0, for every placement.

    With `Layers(step=0.0, ...)`, or without layers, the flow of the placement is

        gamma' = 2 w (1 - gamma) (1 + (n - 1) gamma) / s.

    A layer with step h moves tokens to y_i = p theta_i + b sum_j theta_j, q = 1 + (n - 1) gamma:

        1 - gamma_next = p^2 (1 - gamma) / |y|^2,    |y|^2 = p^2 + 2 p b q + b^2 n q,

        post    p = 1 + h (w_1 - w),                    b = h w
        pre     p = r + h (w_1 - w),                    b = h w,             r_next = |y|
        peri    p = r + h (w_1 - w) / |A|,              b = h w / |A|,       r_next = |y|
        ngpt    p = 1 + h alpha ((w_1 - w) / |A| - 1),  b = h alpha w / |A|

    "sandwich" is peri, "depth_scaled" is post with h / sqrt(1 + t), and "projected" is post with
    w_1 - w = -w q in p. A layer of "mix" is post if the middle of its step is before tau. As h -> 0
    the error is of first order. Softmax tokens of the flow have the late gap

        1 - gamma ~ C e^{-2 t} | C_r r_0^2 / r^2, r = t + const | e^{-2 alpha t} | e^{-4 sqrt(1+t)}
                    post         pre, peri                        ngpt             depth_scaled

    with ln C from `log_late_gap` and C_r = C (1 + (n - 1) start) / n. Layers with a step shrink the
    late gap by `terminal_contraction`.

    Parameters
    ----------
    problem : Problem
        On a sphere of R^d with d >= n, with an exponential or the linear kernel, |beta| <= 340,
        positive strength, and no diffusion; its layers are used, its initial measure is not.
    tokens : int
        n, at least 2.
    times : ndarray, shape (saves,), or None
        Scaled times from 0 to 1e300 for a flow; None for layers with a step, which end after
        `layers.count`.
    start : float
        Cosine at time 0, between -1 / (n - 1) and 1.

    Returns
    -------
    EquiangularLayers
        At the times, or before the first layer and after each. gamma - start, gap and radius have
        relative errors of rounding, or the effect of a few eps in times and beta.

    Raises
    ------
    ValueError
        If there are no such tokens, or a number is out of range. If the problem has another kernel,
        repulsion or diffusion. If layers with a step have times, or a flow has none.

    References
    ----------
    Karagodin, Ge, Polyanskiy, Rigollet, Normalization in attention dynamics, arXiv:2510.22026.

    Examples
    --------
    >>> import meanfield as mf
    >>> sphere, kernel = mf.Sphere(8), mf.exponential(beta=2.0)
    >>> for placement in ("post", "pre", "peri"):
    ...     layers = mf.Layers(step=0.0, placement=placement)
    ...     problem = mf.Problem(sphere, kernel, mf.SA, layers=layers)
    ...     run = mf.equiangular_layers(problem, 8, [1.0, 5.0])
    ...     print(placement, run.cosine.round(6), run.radius.round(6))
    post [0.230696 0.998646] [1. 1.]
    pre [0.16881  0.803124] [1.516892 4.226794]
    peri [0.308872 0.878873] [1.88623  5.459056]
    >>> layers = mf.Layers(step=0.5, count=4)
    >>> problem = mf.Problem(sphere, kernel, mf.SA, layers=layers)
    >>> mf.equiangular_layers(problem, 8).cosine.round(6)
    array([0.      , 0.059567, 0.142988, 0.256812, 0.403301])
    """
    layers = _layers(problem)
    path, softmax = _paths(problem, tokens, start)
    if layers.step > 0.0:
        if times is not None:
            raise ValueError("layers with a step have times of their own: give count, no times.")
        if layers.count is None:
            raise ValueError("the number of layers is missing: give Layers(count=...).")
        return _steps(problem, path, layers, layers.count, start)
    if times is None or times.ndim != 1 or not np.all((times >= 0.0) & (times <= _LATEST)):
        raise ValueError(f"times must be a list of numbers from 0 to {_LATEST:g}.")
    placement, strength = layers.placement, problem.zonal.strength
    lengths = np.full(len(times), layers.radius)
    if placement in ("post", "projected", "mix", "depth_scaled"):
        # 2 sqrt(1 + t) - 2 is the integral of 1 / sqrt(1 + t).
        clock = 2.0 * times / (1.0 + np.sqrt(1.0 + times)) if placement == "depth_scaled" else times
        distance = path.distance_at(clock * strength)
    if placement == "mix":
        (origin,) = path.distance_at(np.array([layers.tau * strength]))
        later = times > layers.tau
        scheme = _scheme("pre", path, softmax, float(origin), layers.radius, strength)
        distance[later] = scheme.distance_at(times[later] - layers.tau)
        lengths[later] = scheme.radius_at(distance[later])
    elif placement in ("pre", "peri", "sandwich", "ngpt"):
        pace = layers.alpha if placement == "ngpt" else strength
        scheme = _scheme(placement, path, softmax, 0.0, layers.radius, pace)
        distance = scheme.distance_at(times)
        if layers.has_radius:
            lengths = scheme.radius_at(distance)
    gap, rise = path.remains(distance), path.rise(distance)
    return EquiangularLayers(times, np.where(rise < gap, start + rise, 1.0 - gap), gap, lengths)


def _steps(
    problem: Problem, path: AngularPath, layers: Layers, count: int, start: float
) -> EquiangularLayers:
    """Layers one after another."""
    n, strength = path.tokens, problem.zonal.strength
    times = layers.step * np.arange(count + 1.0)
    gaps, lengths = np.full(count + 1, path.gap), np.full(count + 1, layers.radius)
    # For small rises the cosine is accurate as start + rise.
    rises = np.zeros(count + 1)
    gap, rise, r = path.gap, 0.0, layers.radius
    for layer in range(count):
        excess, other = (strength * part for part in _weights(path.beta, n, path.normalized, gap))
        q = n - (n - 1) * gap
        h, own, placement = layers.step, 1.0, layers.placement
        if placement == "mix":
            placement = "post" if times[layer] + 0.5 * h < layers.tau else "pre"
        if placement == "depth_scaled":
            h /= math.sqrt(1.0 + times[layer])
        if placement in _UNIT:
            size = _size(n, excess, other, q)
            excess, other = excess / size, other / size
        if placement == "ngpt":
            h *= layers.alpha
            own = 1.0 - h
        elif placement in WITH_RADIUS:
            own = r
        if placement == "projected":
            # Without the component <theta, A> = excess + other q along the token.
            excess = -other * q
        p, b = own + h * excess, h * other
        square = p * p + 2.0 * p * b * q + b * b * n * q
        # gamma_next - gamma = (1 - gamma) (|y|^2 - p^2) / |y|^2.
        rise += gap * (2.0 * p + b * n) * b * q / square
        gap *= p * p / square
        if placement in WITH_RADIUS:
            r = math.sqrt(square)
        gaps[layer + 1], rises[layer + 1], lengths[layer + 1] = gap, rise, r
    cosine = np.where(rises < gaps, start + rises, 1.0 - gaps)
    return EquiangularLayers(times, cosine, gaps, lengths)


@checked
def terminal_contraction(problem: Problem, depth: float = 0.0, radius: float = 1.0) -> float:
    """Factor by which one late layer shrinks the gap 1 - gamma of tokens in a tight cluster.

        post              1 / (1 + h)^2          projected    (1 - h)^2
        pre, peri, mix    (r / (r + h))^2        ngpt         (1 - h alpha)^2

    Here h = step times the strength, for USA also times a(1). For "peri" and "sandwich" h = step,
    with the sign of the strength; for "ngpt" h = step. "depth_scaled" is post with h / sqrt(1 + t),
    t = depth. radius is r before the layer. ValueError if r + h = 0.

    >>> import meanfield as mf
    >>> layers = mf.Layers(step=0.5)
    >>> problem = mf.Problem(mf.Sphere(8), mf.exponential(beta=2.0), mf.SA, layers=layers)
    >>> round(terminal_contraction(problem), 12)  # 4 / 9
    0.444444444444
    """
    layers, zonal = _layers(problem), problem.zonal
    size, step = zonal.strength, layers.step
    if not zonal.normalized:
        size *= float(zonal.kernel.attention(np.ones(1))[0])
    if layers.placement == "ngpt":
        return float((1.0 - step * layers.alpha) ** 2)
    if layers.placement in _UNIT:
        size = math.copysign(1.0, size)
    if layers.placement == "depth_scaled":
        step /= math.sqrt(1.0 + depth)
    if layers.placement == "projected":
        return float((1.0 - step * size) ** 2)
    before = radius if layers.has_radius else 1.0
    if before + step * size == 0.0:
        raise ValueError(f"a layer moves tokens of length {before:g} to 0: they have no direction.")
    return float((before / (before + step * size)) ** 2)


@checked
def linear_phase_clock(problem: Problem, times: FloatArray) -> FloatArray:
    """Time tau(t) of post with the same growth near uniform as a placement has up to time t.

    Near the uniform law moments of degree l grow by e^{lambda_l tau}, with lambda_l of
    `growth_rates`. Attention to uniform is A(x) = R x with R = strength a_1 / Z, so every token has
    the same clock,

        tau = t (post), ln(1 + R t / r_0) / R (pre), ln(1 +- t / r_0) / R (peri, the sign of R),
              alpha t / |R| (ngpt), 2 sqrt(1 + t) - 2 (depth_scaled).

    "mix" is post up to its tau, then pre. For pre and peri perturbations grow like a power of time,
    t^{lambda_l / R}.

    Parameters
    ----------
    problem : Problem
        With a kernel, without diffusion, in any dimension; the step of its layers is taken as 0.
    times : ndarray
        Scaled times, not negative.

    Returns
    -------
    ndarray, shape of times

    Raises
    ------
    ValueError
        If times are negative, or the problem has diffusion. If R < 0 and tokens have reached the
        centre by then, or R = 0 where layers divide by it.

    References
    ----------
    Karagodin, Ge, Polyanskiy, Rigollet, Normalization in attention dynamics, arXiv:2510.22026 (the
    speed factors).

    Examples
    --------
    >>> import meanfield as mf
    >>> for placement in ("post", "pre", "peri"):
    ...     layers = mf.Layers(step=0.0, placement=placement, radius=1.5)
    ...     problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.SA, layers=layers)
    ...     tau = mf.linear_phase_clock(problem, [6.0])
    ...     print(placement, np.exp(mf.growth_rates(problem, 3)[3] * tau).round(4))
    post [60.1036]
    pre [3.1954]
    peri [3.4207]
    """
    layers, zonal = _layers(problem), problem.zonal
    if zonal.diffusivity > 0.0:
        raise ValueError("clocks are for problems without diffusion: it has a clock of its own.")
    if not np.all(times >= 0.0):
        raise ValueError("times must not be negative.")
    if layers.placement in ("post", "projected"):
        return times
    if layers.placement == "depth_scaled":
        return np.asarray(2.0 * times / (1.0 + np.sqrt(1.0 + times)))
    means = zonal.kernel.attention_multipliers(zonal.dimension, 1)
    outward = zonal.strength * float(means[1] / (means[0] if zonal.normalized else 1.0))
    if layers.placement in _UNIT and outward == 0.0:
        raise ValueError(
            f'"{layers.placement}" divides by the attention of uniform, which is 0 here.'
        )
    if layers.placement == "ngpt":
        return np.asarray(layers.alpha * times / abs(outward))
    before = np.minimum(times, layers.tau) if layers.placement == "mix" else np.zeros_like(times)
    lengths = (times - before) / layers.radius
    speed = math.copysign(1.0, outward) if layers.placement in _UNIT else outward
    if not np.all(speed * lengths > -1.0):
        raise ValueError(
            f"tokens of a uniform law are at the centre after a time {-layers.radius / speed:g}: "
            "their attention points inwards."
        )
    return np.asarray(before + (np.log1p(speed * lengths) / outward if outward else lengths))


def _layers(problem: Problem) -> Layers:
    """Layers of a problem; by default the flow of post."""
    return problem.layers or Layers(step=0.0)


def _paths(problem: Problem, tokens: int, start: float) -> tuple[AngularPath, AngularPath]:
    """Paths of the tokens, under the problem's normalisation and under softmax."""
    path = path_of(replace(problem, layers=None), tokens, start)
    if abs(path.beta) > _LARGEST_BETA:
        raise ValueError(
            f"beta must be at most {_LARGEST_BETA:g} in modulus, got {path.beta:g}: no time that "
            "is a number moves such tokens."
        )
    return path, path if path.normalized else angular_path(tokens, path.beta, True, start)


def _weights(beta: float, tokens: int, normalized: bool, gap: float) -> tuple[float, float]:
    """w_1 - w and w at strength 1."""
    fallen = math.exp(-abs(beta) * gap)
    own, other = (1.0, fallen) if beta >= 0.0 else (fallen, 1.0)
    total = own + (tokens - 1) * other
    if not normalized:
        # a(gamma) = e^{-|beta| (1 + gamma)} for beta < 0.
        total = tokens * math.exp(0.0 if beta >= 0.0 else abs(beta) * (2.0 - gap))
    return math.copysign(-math.expm1(-abs(beta) * gap) / total, beta), other / total


def _size(tokens: int, excess: float, other: float, q: float) -> float:
    """Length |A| of attention."""
    return math.hypot(excess + other * q, other * math.sqrt(q * (tokens - q)))


@dataclass(frozen=True)
class _Scheme:
    """Time of a placement as a function of the distance of `AngularPath`; values at edges."""

    placement: str  # "pre", "peri", "sandwich" or "ngpt"
    path: AngularPath
    softmax: AngularPath
    origin: float  # distance at time 0
    radius: float  # radius at time 0
    pace: float  # alpha of ngpt, strength of pre
    edges: FloatArray
    times: FloatArray

    def radius_at(self, distance: FloatArray) -> FloatArray:
        """Radius of pre and peri, r = r_0 e^{T - T_0} sqrt(q_0 / q)."""
        origin = np.array([self.origin])
        gone = self.softmax.time_at(distance) - self.softmax.time_at(origin)
        shares = self._share(origin) / self._share(distance)
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(math.log(self.radius) + gone) * np.sqrt(shares))

    def _share(self, distance: FloatArray) -> FloatArray:
        """Share q / n."""
        with np.errstate(under="ignore"):
            left = np.exp(-distance)
        return self.path.share / (left - self.path.share * np.expm1(-distance))

    def slowness(self, distance: FloatArray) -> FloatArray:
        """Time per distance."""
        n, beta = self.path.tokens, self.path.beta
        with np.errstate(under="ignore"):
            odds = np.exp(beta * self.path.remains(distance))  # w_1 / w
            if self.placement == "pre":
                if self.path.normalized:
                    slow = (odds + (n - 1)) / (2.0 * n)
                else:
                    slow = 0.5 * math.exp(abs(beta) - beta) * odds
                return np.asarray(self.radius_at(distance) * slow / self.pace)
            q, excess = n * self._share(distance), odds - 1.0
            size = np.sqrt((excess + q) ** 2 + q * (n - q)) / (2.0 * n)
        if self.placement == "ngpt":
            return np.asarray(size / self.pace)
        return np.asarray(self.radius_at(distance) * size)

    def within(self, start: FloatArray, length: FloatArray) -> FloatArray:
        """Time from distance `start` to `start + length`, no longer than a panel."""
        nodes, weights = gauss_legendre(_ORDER)
        at = start[:, None] + 0.5 * length[:, None] * (1.0 + nodes)
        slow = self.slowness(at.ravel()).reshape(at.shape)
        with np.errstate(over="ignore"):
            return np.asarray(length * (slow @ weights))

    def distance_at(self, times: FloatArray) -> FloatArray:
        """Distance at times, by Newton's method between bounds."""
        panel = np.searchsorted(self.times, times, side="right") - 1
        panel = np.minimum(panel, len(self.times) - 2)
        start, width = self.edges[panel], np.diff(self.edges)[panel]
        left, whole = times - self.times[panel], np.diff(self.times)[panel]
        low, high = np.zeros_like(width), width
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            length = np.where(left < whole, width * (left / whole), width)
        for _ in range(_NEWTON_STEPS):
            excess = self.within(start, length) - left
            low, high = np.where(excess < 0.0, length, low), np.where(excess > 0.0, length, high)
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                after = length - excess / self.slowness(start + length)
            after = np.where((after >= low) & (after <= high), after, 0.5 * (low + high))
            change, length = np.abs(after - length), after
            if np.all(change <= _SMALL_STEP * length):
                break
        return np.asarray(start + length)


def _scheme(
    placement: str,
    path: AngularPath,
    softmax: AngularPath,
    origin: float,
    radius: float,
    pace: float,
) -> _Scheme:
    # Edges where T has grown by 1, 2, ..., as r is nearly e^T.
    longest = _LONGEST + math.ceil(max(-math.log(radius), 0.0))
    (start,) = softmax.time_at(np.array([origin]))
    levels = softmax.distance_at(start + np.arange(1.0, longest))
    # After the last panel of softmax only e^{-delta} changes.
    tail = softmax.edges[-1] + np.arange(0.0, 2.0 * longest, 2.0)
    edges = np.concatenate([softmax.edges, levels, tail])
    edges = np.unique(np.concatenate([[origin], edges[edges > origin]]))
    scheme = _Scheme(placement, path, softmax, origin, radius, pace, edges, np.zeros(1))
    with np.errstate(over="ignore"):
        times = np.cumsum(scheme.within(edges[:-1], np.diff(edges)))
    times = np.concatenate([[0.0], times])
    finite = np.isfinite(times)
    return _Scheme(placement, path, softmax, origin, radius, pace, edges[finite], times[finite])
