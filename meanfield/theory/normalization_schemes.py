"""Where layers normalise: the same directions by other clocks.

A layer adds a step h of attention A to tokens x = r theta, of which it knows the directions theta,

    post           theta <- N(theta + h A)                     N(u) = u / |u|
    pre            x <- x + h A(N x)
    peri           x <- x + h N(A(N x))                        (also called sandwich)
    mix            post until a time, then pre
    ngpt           theta <- N(theta + h alpha (N(A) - theta))
    depth_scaled   post with h / sqrt(1 + t)

and as h -> 0, t = h times layers (Karagodin, Ge, Polyanskiy, Rigollet, arXiv:2510.22026)

    theta' = P_theta A / s,    s = 1 | r | r |A| | 1, then r | |A| / alpha | sqrt(1 + t)
    r'     =                       0 | <theta, A> | <theta, A> / |A| | 0, then <theta, A> | 0 | 0.

n tokens at equal angles with the cosine gamma have A_i = (w_1 - w) theta_i + w sum_j theta_j with
the weight w_1 of a token for itself and w for each other one, and with q = 1 + (n - 1) gamma

    gamma' = 2 w (1 - gamma) q / s,    <theta, A> = w_1 - w + w q,
    |A|^2 = <theta, A>^2 + w^2 q (n - q).

Let T(gamma) be the time that softmax attention with normalisation after each layer takes to reach
gamma (`equiangular_time`). Then pre and peri run along one curve,

    r = r_0 e^T sqrt(q_0 / q),

for d ln r / dT = <theta, A> = 1 - (d ln q / dT) / 2; and times are integrals of positive functions
over it, which panels of `AngularPath` keep to rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.checks import at_least, checked
from meanfield.manifolds.legendre import gauss_legendre
from meanfield.problem import Problem
from meanfield.theory.equiangular import AngularPath, angular_path, path_of

Placement = Literal["post", "pre", "peri", "sandwich", "mix", "ngpt", "depth_scaled"]

_ORDER = 16
# e^{2 |beta|} must be a number, with some room.
_LARGEST_BETA = 340.0
_LATEST = 1e300
# T is less than this then, for r is nearly r_0 e^T; and what is farther has no gap left.
_LONGEST = 720
_SMALL_STEP = 1e-9
_NEWTON_STEPS = 100


@dataclass(frozen=True)
class EquiangularLayers:
    """Tokens at equal angles, from layer to layer.

    Attributes
    ----------
    times : ndarray, shape (saves,)
        Scaled times: step times the number of the layer.
    cosine : ndarray, shape (saves,)
        Cosine gamma of every two tokens.
    gap : ndarray, shape (saves,)
        1 - gamma, which keeps its digits.
    radius : ndarray, shape (saves,)
        Length r of the tokens; constant where each layer normalises.
    """

    times: FloatArray
    cosine: FloatArray
    gap: FloatArray
    radius: FloatArray


@checked
def equiangular_layers(
    problem: Problem,
    tokens: int,
    times: FloatArray,
    placement: Placement = "post",
    *,
    start: float = 0.0,
    radius: float = 1.0,
    mix_time: float = 1.0,
    ngpt_rate: float = 1.0,
) -> EquiangularLayers:
    """Tokens at equal angles under layers of vanishing step, wherever these normalise.

    gamma' = 2 w (1 - gamma) (1 + (n - 1) gamma) / s, with the speed factor s of the placement.
    Late, softmax tokens are apart by

        1 - gamma ~ C e^{-2 t} | C_r r_0^2 / r^2, r = t + const | e^{-2 alpha t} | e^{-4 sqrt(1+t)}
                    post         pre, peri                        ngpt             depth_scaled

    with ln C of `log_late_gap` and C_r = C (1 + (n - 1) start) / n.

    Parameters
    ----------
    problem : Problem
        On a sphere of R^d with d >= n, with an exponential or the linear kernel, |beta| <= 340, a
        positive strength and without diffusion; its initial measure is not used.
    tokens : int
        Their number n, at least 2.
    times : ndarray, shape (saves,)
        Scaled times, from 0 to 1e300.
    placement : str
        "post", "pre", "peri" (the same as "sandwich"), "mix", "ngpt" or "depth_scaled".
    start : float
        Cosine at time 0, between -1 / (n - 1) and 1.
    radius : float
        Length r_0 at time 0, positive. It matters where layers do not normalise.
    mix_time : float
        Of "mix": when post ends and pre begins.
    ngpt_rate : float
        Of "ngpt": alpha, positive.

    Returns
    -------
    EquiangularLayers
        What was gained, gap and radius have relative errors of rounding, or of what an error of a
        few eps of the times and of beta causes.

    Raises
    ------
    ValueError
        If there are no such tokens, a number is out of range, or the problem has another kernel,
        repels or has diffusion.

    References
    ----------
    Karagodin, Ge, Polyanskiy, Rigollet, Normalization in attention dynamics, arXiv:2510.22026.
    Rigollet, The mean-field dynamics of transformers, arXiv:2512.01868.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Sphere(8), mf.exponential(beta=2.0), mf.SA)
    >>> for placement in ("post", "pre", "peri"):
    ...     run = mf.equiangular_layers(problem, 8, [1.0, 5.0], placement)
    ...     print(placement, run.cosine.round(6), run.radius.round(6))
    post [0.230696 0.998646] [1. 1.]
    pre [0.16881  0.803124] [1.516892 4.226794]
    peri [0.308872 0.878873] [1.88623  5.459056]
    """
    path, softmax = _paths(problem, tokens, start, radius, mix_time, ngpt_rate)
    if times.ndim != 1 or not np.all((times >= 0.0) & (times <= _LATEST)):
        raise ValueError(f"times must be a list of numbers from 0 to {_LATEST:g}.")
    strength = problem.zonal.strength
    lengths = np.full(len(times), radius)
    if placement in ("post", "mix", "depth_scaled"):
        # 2 sqrt(1 + t) - 2 is the integral of 1 / sqrt(1 + t).
        clock = 2.0 * times / (1.0 + np.sqrt(1.0 + times)) if placement == "depth_scaled" else times
        distance = path.distance_at(clock * strength)
    if placement == "mix":
        (origin,) = path.distance_at(np.array([mix_time * strength]))
        later = times > mix_time
        scheme = _scheme("pre", path, softmax, float(origin), radius, strength)
        distance[later] = scheme.distance_at(times[later] - mix_time)
        lengths[later] = scheme.radius_at(distance[later])
    elif placement in ("pre", "peri", "sandwich", "ngpt"):
        pace = ngpt_rate if placement == "ngpt" else strength
        scheme = _scheme(placement, path, softmax, 0.0, radius, pace)
        distance = scheme.distance_at(times)
        if placement != "ngpt":
            lengths = scheme.radius_at(distance)
    gap, rise = path.remains(distance), path.rise(distance)
    return EquiangularLayers(times, np.where(rise < gap, start + rise, 1.0 - gap), gap, lengths)


@checked
def equiangular_layer_steps(
    problem: Problem,
    tokens: int,
    layers: int,
    step: float,
    placement: Placement = "post",
    *,
    start: float = 0.0,
    radius: float = 1.0,
    mix_time: float = 1.0,
    ngpt_rate: float = 1.0,
) -> EquiangularLayers:
    """Tokens at equal angles under layers with a step, wherever these normalise.

    A layer makes tokens y_i = p theta_i + b sum_j theta_j. With q = 1 + (n - 1) gamma

        1 - gamma_next = p^2 (1 - gamma) / |y|^2,    |y|^2 = p^2 + 2 p b q + b^2 n q,

    and, with the weights w_1 of a token for itself and w for another one,

        post    p = 1 + h (w_1 - w),                    b = h w
        pre     p = r + h (w_1 - w),                    b = h w,             r_next = |y|
        peri    p = r + h (w_1 - w) / |A|,              b = h w / |A|,       r_next = |y|
        ngpt    p = 1 + h alpha ((w_1 - w) / |A| - 1),  b = h alpha w / |A|.

    A layer of "mix" is post if the middle of its step is before `mix_time`. As h -> 0 this is
    `equiangular_layers`, with an error of first order; late gaps shrink by `terminal_contraction`.

    Parameters
    ----------
    problem, tokens, placement, start, radius, mix_time, ngpt_rate
        As for `equiangular_layers`.
    layers : int
        Their number, at least 0.
    step : float
        h, positive.

    Returns
    -------
    EquiangularLayers
        Before the first layer and after each, shape (layers + 1,).

    Raises
    ------
    ValueError
        As `equiangular_layers`, and if layers < 0 or step <= 0.

    References
    ----------
    Karagodin, Ge, Polyanskiy, Rigollet, Normalization in attention dynamics, arXiv:2510.22026.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Sphere(8), mf.exponential(beta=2.0), mf.SA)
    >>> for step in (1.0, 0.5):
    ...     run = mf.equiangular_layer_steps(problem, 8, round(2 / step), step)
    ...     print(f"{run.cosine[-1]:.12f}")
    0.272631643220
    0.403301068225
    """
    path, _ = _paths(problem, tokens, start, radius, mix_time, ngpt_rate)
    at_least(0, layers=layers)
    if step <= 0.0:
        raise ValueError(f"step must be positive, got {step:g}.")
    strength, normalized = problem.zonal.strength, problem.zonal.normalized
    times = step * np.arange(layers + 1.0)
    gaps, lengths = np.full(layers + 1, path.gap), np.full(layers + 1, radius)
    # The cosine keeps its digits as start plus what was gained.
    rises = np.zeros(layers + 1)
    gap, rise, r = path.gap, 0.0, radius
    for layer in range(layers):
        excess, other = (strength * part for part in _weights(path.beta, tokens, normalized, gap))
        q = tokens - (tokens - 1) * gap
        h, own, kept = step, 1.0, placement
        if placement == "mix":
            kept = "post" if times[layer] + 0.5 * step < mix_time else "pre"
        if placement == "depth_scaled":
            h = step / math.sqrt(1.0 + times[layer])
        if kept in ("peri", "sandwich", "ngpt"):
            size = _size(tokens, excess, other, q)
            excess, other = excess / size, other / size
        if kept == "ngpt":
            h = step * ngpt_rate
            own = 1.0 - h
        elif kept in ("pre", "peri", "sandwich"):
            own = r
        p, b = own + h * excess, h * other
        square = p * p + 2.0 * p * b * q + b * b * tokens * q
        # gamma_next - gamma = (1 - gamma) (|y|^2 - p^2) / |y|^2.
        rise += gap * (2.0 * p + b * tokens) * b * q / square
        gap *= p * p / square
        if kept in ("pre", "peri", "sandwich"):
            r = math.sqrt(square)
        gaps[layer + 1], rises[layer + 1], lengths[layer + 1] = gap, rise, r
    cosine = np.where(rises < gaps, start + rises, 1.0 - gaps)
    return EquiangularLayers(times, cosine, gaps, lengths)


@checked
def terminal_contraction(
    problem: Problem,
    step: float,
    placement: Placement = "post",
    *,
    radius: float = 1.0,
    ngpt_rate: float = 1.0,
) -> float:
    """Factor by which one late layer shrinks the gap 1 - gamma of tokens that are nearly one.

    1 / (1 + h)^2 (post), (r / (r + h))^2 (pre, peri) and (1 - h alpha)^2 (ngpt), where h is the
    step times |A|: strength under SA, strength a(1) under USA. A flow has e^{-2h}.

    Parameters
    ----------
    problem, placement, ngpt_rate
        As for `equiangular_layers`; "mix" ends as pre does.
    step : float
        Of that layer, of "depth_scaled" step / sqrt(1 + t).
    radius : float
        Before that layer.

    Returns
    -------
    float
        For any tokens in a tight cluster, not only for those at equal angles.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Sphere(8), mf.exponential(beta=2.0), mf.SA)
    >>> round(terminal_contraction(problem, 0.5), 12)  # 4 / 9
    0.444444444444
    """
    zonal = problem.zonal
    size = zonal.strength
    if not zonal.normalized:
        size *= float(zonal.kernel.attention(np.ones(1))[0])
    if placement == "ngpt":
        return float((1.0 - step * ngpt_rate) ** 2)
    if placement in ("peri", "sandwich"):
        size = math.copysign(1.0, size)
    before = 1.0 if placement in ("post", "depth_scaled") else radius
    return float((before / (before + step * size)) ** 2)


@checked
def initial_cosine_speed(
    problem: Problem,
    tokens: int,
    placement: Placement = "post",
    *,
    start: float = 0.0,
    radius: float = 1.0,
    ngpt_rate: float = 1.0,
) -> float:
    """Speed gamma' at time 0 of tokens at equal angles, wherever layers normalise.

    From orthogonal tokens under SA, in the papers' notation, 2 / (e^beta + n - 1) for post and
    depth_scaled, that divided by r_0 for pre, and with N = sqrt(e^{2 beta} + n - 1) it is
    2 / (r_0 N) for peri and 2 alpha / N for ngpt.

    Parameters
    ----------
    problem, tokens, placement, start, radius, ngpt_rate
        As for `equiangular_layers`; "mix" begins as post does.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Sphere(8), mf.exponential(beta=2.0), mf.SA)
    >>> print(f"{initial_cosine_speed(problem, 8, 'peri'):.13f}")
    0.2548274222271
    """
    path, _ = _paths(problem, tokens, start, radius, 0.0, ngpt_rate)
    excess, other = _weights(path.beta, tokens, problem.zonal.normalized, path.gap)
    q = tokens * path.share
    speed = 2.0 * other * path.gap * q
    if placement in ("peri", "sandwich", "ngpt"):
        speed /= _size(tokens, excess, other, q)
    else:
        speed *= problem.zonal.strength
    if placement == "ngpt":
        return float(speed * ngpt_rate)
    return float(speed / radius) if placement in ("pre", "peri", "sandwich") else float(speed)


@checked
def late_gap_constant(problem: Problem, tokens: int, start: float = 0.0) -> float:
    """Ln of the limit of (1 - gamma) r^2 / r_0^2 of pre and peri.

    ln C - ln n + ln(1 + (n - 1) start) with ln C of softmax in `log_late_gap`.

    Parameters
    ----------
    problem, tokens, start
        As for `equiangular_layers`; SA and USA have one curve r(gamma).

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Sphere(8), mf.exponential(beta=2.0), mf.SA)
    >>> print(f"{math.exp(late_gap_constant(problem, 8)):.10f}")
    3.7349534264
    """
    path, softmax = _paths(problem, tokens, start, 1.0, 0.0, 1.0)
    # Behind the last panel, and where e^{-delta} is no number beside 1.
    end = softmax.edges[-1] + 45.0 - math.log(path.share)
    ahead = 2.0 * float(softmax.time_at(np.array(end))) - end
    # There gap = gap_0 e^{-delta} / share_0 and r^2 = r_0^2 e^{2T} share_0.
    return float(math.log(path.gap) + ahead)


@checked
def radius_at_cosine(
    problem: Problem, tokens: int, cosines: FloatArray, start: float = 0.0, radius: float = 1.0
) -> FloatArray:
    """Radius of tokens at equal angles when their cosine is gamma, for pre and for peri.

        r = r_0 e^T sqrt((1 + (n - 1) start) / (1 + (n - 1) gamma)),    T = T(gamma) under SA.

    From orthogonal tokens it is, with exponential integrals,

        ln(r / r_0) = (1 / 2n) { Ei(beta) - Ei(beta (1 - gamma))
                                 + e^{beta n / (n - 1)} [E1(beta / (n - 1))
                                                         - E1(beta gamma + beta / (n - 1))]
                                 - (n - 1) ln(1 - gamma) - ln(1 + (n - 1) gamma) }.

    Parameters
    ----------
    problem, tokens, start, radius
        As for `equiangular_layers`.
    cosines : ndarray
        From start to 1.

    Returns
    -------
    ndarray, shape of cosines
        Infinite for the cosine 1.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Sphere(8), mf.exponential(beta=2.0), mf.SA)
    >>> radius_at_cosine(problem, 8, [0.0, 0.5, 0.999]).round(6)
    array([ 1.      ,  2.445596, 61.106619])
    """
    path, softmax = _paths(problem, tokens, start, radius, 0.0, 1.0)
    if not np.all((cosines >= start) & (cosines <= 1.0)):
        raise ValueError(f"cosines must lie between start = {start:g} and 1.")
    distance = path.distance(1.0 - cosines, cosines - start)
    scheme = _Scheme("pre", path, softmax, 0.0, radius, 1.0, np.zeros(1), np.zeros(1))
    return scheme.radius_at(distance)


@checked
def linear_phase_clock(
    problem: Problem,
    times: FloatArray,
    placement: Placement = "post",
    *,
    radius: float = 1.0,
    mix_time: float = 1.0,
    ngpt_rate: float = 1.0,
) -> FloatArray:
    """Time tau(t) of post at which uniform has been perturbed as much as at time t of a placement.

    Moments of degree l near the uniform law are e^{lambda_l tau} times what they were,
    lambda_l of `growth_rates`: attention of uniform is A(x) = R x with R = strength a_1 / Z, so
    that every token has the same clock,

        tau = t (post), ln(1 + R t / r_0) / R (pre), ln(1 +- t / r_0) / R (peri, the sign of R),
              alpha t / |R| (ngpt), 2 sqrt(1 + t) - 2 (depth_scaled).

    For pre and peri perturbations grow like a power of time, t^{lambda_l / R}.

    Parameters
    ----------
    problem : Problem
        With a kernel, without diffusion; in any dimension.
    times : ndarray
        Scaled times, not negative.
    placement, radius, mix_time, ngpt_rate
        As for `equiangular_layers`.

    Returns
    -------
    ndarray, shape of times

    Raises
    ------
    ValueError
        If a number is out of range, the problem has diffusion, R < 0 and tokens have come to the
        centre by then, or R = 0 where layers divide by it.

    References
    ----------
    Karagodin, Ge, Polyanskiy, Rigollet, Normalization in attention dynamics, arXiv:2510.22026 (the
    speed factors).

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.SA)
    >>> rate = mf.growth_rates(problem, 3)[3]
    >>> for placement in ("post", "pre", "peri"):
    ...     tau = mf.linear_phase_clock(problem, [6.0], placement, radius=1.5)
    ...     print(placement, np.exp(rate * tau).round(4))
    post [60.1036]
    pre [3.1954]
    peri [3.4207]
    """
    _check_numbers(radius, mix_time, ngpt_rate)
    zonal = problem.zonal
    if zonal.diffusivity > 0.0:
        raise ValueError("clocks are for problems without diffusion: it has a clock of its own.")
    if not np.all(times >= 0.0):
        raise ValueError("times must not be negative.")
    if placement == "post":
        return times
    if placement == "depth_scaled":
        return np.asarray(2.0 * times / (1.0 + np.sqrt(1.0 + times)))
    means = zonal.kernel.attention_multipliers(zonal.dimension, 1)
    outward = zonal.strength * float(means[1] / (means[0] if zonal.normalized else 1.0))
    if placement != "pre" and placement != "mix" and outward == 0.0:
        raise ValueError(f'"{placement}" divides by the attention of uniform, which is 0 here.')
    if placement == "ngpt":
        return np.asarray(ngpt_rate * times / abs(outward))
    begun = np.maximum(times - mix_time, 0.0) if placement == "mix" else times
    speed = math.copysign(1.0, outward) if placement in ("peri", "sandwich") else outward
    gained = speed * begun / radius
    if not np.all(gained > -1.0):
        raise ValueError(
            f"tokens of a uniform law are at the centre at time {-radius / speed:g}: their "
            "attention points inwards."
        )
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = np.where(outward == 0.0, begun / radius, np.log1p(gained) / outward)
    return np.asarray(np.minimum(times, mix_time) + tau if placement == "mix" else tau)


def _check_numbers(radius: float, mix_time: float, ngpt_rate: float) -> None:
    at_least(0.0, mix_time=mix_time)
    for name, value in (("radius", radius), ("ngpt_rate", ngpt_rate)):
        if value <= 0.0:
            raise ValueError(f"{name} must be positive, got {value:g}.")


def _paths(
    problem: Problem, tokens: int, start: float, radius: float, mix_time: float, ngpt_rate: float
) -> tuple[AngularPath, AngularPath]:
    """Path of the tokens with the problem's own flow, and under softmax."""
    _check_numbers(radius, mix_time, ngpt_rate)
    path = path_of(problem, tokens, start)
    if abs(path.beta) > _LARGEST_BETA:
        raise ValueError(
            f"beta must be at most {_LARGEST_BETA:g} in modulus, got {path.beta:g}: no time that "
            "is a number moves such tokens."
        )
    return path, path if path.normalized else angular_path(tokens, path.beta, True, start)


def _weights(beta: float, tokens: int, normalized: bool, gap: float) -> tuple[float, float]:
    """Weights w_1 - w and w, divided by the strength."""
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
    """Time of a placement against the distance of `AngularPath`.

    Attributes
    ----------
    placement : str
        Given, one with a clock of its own.
    path, softmax : AngularPath
        Given. Under the flow, and under softmax, whose time is T.
    origin : float
        Given. Distance where the clock starts.
    radius : float
        Given. There.
    pace : float
        Given. alpha of ngpt, strength of pre.
    edges, times : ndarray, shape (panels + 1,)
        Distances, and times there.
    """

    placement: str
    path: AngularPath
    softmax: AngularPath
    origin: float
    radius: float
    pace: float
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
    # Where T has grown by 1, for r is nearly e^T.
    longest = _LONGEST + math.ceil(max(-math.log(radius), 0.0))
    (begun,) = softmax.time_at(np.array([origin]))
    levels = softmax.distance_at(begun + np.arange(1.0, longest))
    # Behind the last panel of softmax nothing but e^{-delta} changes.
    tail = softmax.edges[-1] + np.arange(0.0, 2.0 * longest, 2.0)
    edges = np.concatenate([softmax.edges, levels, tail])
    edges = np.unique(np.concatenate([[origin], edges[edges > origin]]))
    scheme = _Scheme(placement, path, softmax, origin, radius, pace, edges, np.zeros(1))
    with np.errstate(over="ignore"):
        times = np.cumsum(scheme.within(edges[:-1], np.diff(edges)))
    times = np.concatenate([[0.0], times])
    known = np.isfinite(times)
    return _Scheme(placement, path, softmax, origin, radius, pace, edges[known], times[known])
