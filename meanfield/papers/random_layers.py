"""Laws of random transformers: every layer draws a value matrix V, common to all tokens.

    x_i <- N(x_i + V m_i / sqrt(L)),    m_i = sum_j w_ij x_j,    w_ij ~ p_j e^{beta <x_i, x_j>}

with N(y) = y / |y|, softmax weights, and entries of V normal with variance 1 / d. L layers take
the time 1, or sigma^2 with a factor sigma before V. As L -> infinity tokens follow

    dx_i = P_i dW m_i - (d - 1) / (2 d) |m_i|^2 x_i dt    "ito": the limit of layers
    dx_i = P_i o dW m_i                                   "stratonovich"

with a d x d Brownian motion W, entries of variance dt / d. In Ito's form the second has the
additional drift c_i dt,

    2 d c_i = P_i sum_j w_ij {P_j [m_j + beta x_i <x_j - m_i, m_j>] + beta x_j <x_j - m_i, m_i>}.

For two clusters of masses P and 1 - P the overlap R = <x_1, x_2> = tanh y is a diffusion,
dy = u dt + sqrt(v) dw, with the scale density s = exp(-int 2 u / v dy). In y both ends are at
infinity, and u and v are smooth. Derivations: docs/random-layers.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from meanfield.arguments import at_least, checked
from meanfield.arrays import EPS, FloatArray, IntArray
from meanfield.papers.saved_states import saved_states
from meanfield.terms.random_values import Interpretation as Rule
from meanfield.terms.random_values import dots

Coefficients = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""Drift u and variance v at positions y."""

# Runs whose matrices are drawn together.
_BLOCK = 1024
# Distances below this multiple of eps have few correct digits.
_FEW_DIGITS = 1e3
# Beyond it 1 - R^2 = 4 e^{-2 |y|} is below rounding.
_FAR = 20.0
# Sinc functions in y err by e^{-pi^2 / (4 step)} if u and v are analytic for |Im y| < pi / 4.
_STEP = 0.1


@checked
def overlap_coefficients(
    d: int, beta: float, overlap: FloatArray, mass: float = 0.5, interpretation: Rule = "ito"
) -> tuple[FloatArray, FloatArray]:
    """Drift and variance, per unit of time, of the overlap R of clusters of masses P and 1 - P.

    With s_ij = <m_i, m_j>; "stratonovich" adds <c_1, x_2> + <x_1, c_2> to the drift:

        drift     [(d - 2 + R^2) s_12 - (d - 1) R (s_11 + s_22) / 2] / d
        variance  (1 - R^2) (s_11 + s_22 - 2 R s_12) / d

    >>> [each.round(6) for each in overlap_coefficients(3, 1.0, [-0.5, 0.0, 0.5])]
    [array([0.162287, 0.131075, 0.051253]), array([0.26314 , 0.404517, 0.198747])]
    """
    _check(d, mass)
    if not np.all(np.abs(overlap) <= 1.0):
        raise ValueError("overlap must lie between -1 and 1.")
    near, far = 1.0 - overlap, 1.0 + overlap
    drift, variance = _overlap(d, beta, mass, interpretation, near, far)
    return near * drift, near**2 * far * variance


@checked
def overlap_exponents(d: int, beta: float, interpretation: Rule = "ito") -> tuple[float, float]:
    """Lyapunov exponents of two equal tokens: of 1 - R at R = 1, and of 1 + R at R = -1.

        at 1   -(d - 1) / d
        at -1  [(d - 1) / cosh^2 beta - 2] / d, "stratonovich" (1 + T) [(d - 1) (1 - T) - 1] / d

    with T = tanh(beta). An end attracts if its exponent is negative; distances have half of it. The
    antipodal state attracts if cosh(2 beta) > d - 2, "stratonovich" if e^{2 beta} > 2 d - 3.

    >>> overlap_exponents(4, 0.0)
    (-0.75, 0.25)
    """
    _check(d)
    t = math.tanh(beta)
    inner = (d - 1) * (1.0 - t) * (1.0 + t) - 2.0
    if interpretation == "stratonovich":
        inner = (1.0 + t) * ((d - 1) * (1.0 - t) - 1.0)
    return -(d - 1) / d, inner / d


@checked
def antipodal_probability(
    d: int, beta: float, overlap: float = 0.0, interpretation: Rule = "ito", until: float = 1.0
) -> float:
    """Probability that two equal tokens end antipodal, R -> -1, and not together, R -> 1.

        P = int_{y_0}^Y s dy / int_{-Y}^Y s dy,    until = tanh Y,

    for layers with s = exp(-int H dy) / cosh y, H = (d - 2) / cosh(beta (1 - R)).

    - d: dimension of R^d around the sphere, at least 2.
    - overlap: R at the start, strictly between -until and until.
    - interpretation: "ito", the limit of layers, or "stratonovich".
    - until: if below 1, the probability that R reaches -until before until.

    The error is below 1e-10. For until = 1 it is 0 if the antipodal state does not attract.

    Fedorov, Sander, Elie, Marion, Lauriere, arXiv:2601.21942 (the model). docs/random-layers.md,
    eq. 66.

    >>> [round(antipodal_probability(d, 2.0), 9) for d in (2, 3, 4, 16)]
    [0.5, 0.336366305, 0.247443268, 0.015300819]
    """
    start, end = _ends(d, overlap, until)
    if until == 1.0 and overlap_exponents(d, beta, interpretation)[1] >= 0.0:
        return 0.0
    coefficients = _pair(d, beta, 0.5, interpretation)

    def speed(distance: float, state: FloatArray) -> FloatArray:  # of ln(1 / s) and int s dy
        u, v = coefficients(np.asarray(start + way * distance))
        return np.array([way * 2.0 * u / v, np.exp(-state[0])])

    parts = []
    for way in (-1.0, 1.0):
        length = np.array([end - way * start])
        log, part = saved_states(speed, np.zeros(2), length)[0]
        tail = math.exp(-log) / speed(length[0], np.zeros(2))[0] if until == 1.0 else 0.0
        parts.append(part + tail)
    return float(parts[1] / sum(parts))


@checked
def cluster_lifetime(
    d: int, beta: float, mass: float, overlap: float = 0.0, interpretation: Rule = "ito"
) -> float:
    """Mean time from R = -1 to an overlap R, for antipodal clusters of masses P and 1 - P.

    It is infinite for P = 1/2. Otherwise, with q = ln(P / (1 - P)) and Euler's beta function B,
    for large beta,

        T ~ e^{2 beta} d B((d - 1) / 2, 1 / 2) (pi / 2 + arcsin R) / (4 sqrt(2) |sinh q|).

    |beta| is at most 100. Relative error 1e-8 for |P - 1/2| >= 1e-7. docs/random-layers.md, eq. 67.

    >>> [round(cluster_lifetime(3, beta, mass=1 / 3), 4) for beta in (1.0, 2.0, 3.0)]
    [12.8656, 103.7731, 859.3319]
    """
    _check(d, mass)
    end, _ = _ends(d, overlap, 1.0)
    if abs(beta) > 100.0:
        raise ValueError(f"beta must be at most 100, got {beta:g}.")
    odds = math.log(mass / (1.0 - mass))
    if odds == 0.0:
        return math.inf
    coefficients = _pair(d, beta, mass, interpretation)
    # -T' = G with v G' / 2 + u G = 1. Where 1 + R is small beside (a_1 - a_2)^2, G is
    # 2 / ((d - 1) v) and grows like e^{2 y}.
    difference = abs(math.sinh(odds)) / (math.cosh(2.0 * beta) + math.cosh(odds))
    first = min(math.log(difference), end) - 10.0

    def speed(distance: float, state: FloatArray) -> FloatArray:  # of int G dy and G
        u, v = coefficients(np.asarray(first + distance))
        return np.array([state[1], 2.0 * (1.0 - u * state[1]) / v])

    slope = 2.0 / ((d - 1) * float(coefficients(np.asarray(first))[1]))
    return float(saved_states(speed, np.array([0.5, 1.0]) * slope, np.array([end - first]))[0, 0])


@checked
def mean_overlap(
    d: int, beta: float, time: float, overlap: float = 0.0, interpretation: Rule = "ito"
) -> float:
    """Mean overlap of two equal tokens at a time, from an overlap at time 0; error 1e-9.

    >>> round(mean_overlap(3, 1.0, time=1.0), 8)
    0.10890759
    """
    _check(d, time=time)
    return _mean(_pair(d, beta, 0.5, interpretation), _ends(d, overlap, 1.0)[0], time)


@checked
def mean_squared_order(order: float, time: float, interpretation: Rule = "ito") -> float:
    """Mean of s = |m|^2 on the circle for beta = 0, from a Poisson law with |m| = order.

    Poisson laws stay Poisson, and q = ln(s / (1 - s)) is a diffusion; error 1e-9:

        dq = s / 4 dt + dw / sqrt(2),  "stratonovich" (s + 1) / 8 dt + dw / sqrt(2)

    >>> round(mean_squared_order(0.3, time=4.0), 8)
    0.16865279
    """
    _check(2, time=time)
    if not 0.0 < order < 1.0:
        raise ValueError(f"order must lie strictly between 0 and 1, got {order:g}.")

    def coefficients(y: FloatArray) -> tuple[FloatArray, FloatArray]:  # y = q / 2
        s = 0.5 * (1.0 + np.tanh(y))
        return (s if interpretation == "ito" else 0.5 * (s + 1.0)) / 8.0, np.full_like(s, 1 / 8)

    return 0.5 * (1.0 + _mean(coefficients, math.atanh(2.0 * order**2 - 1.0), time))


@checked
def token_moments(d: int, time: float, count: int) -> FloatArray:
    """Moments M_k = E <x_t, x_0>^k, k = 0 ... count, of one token, or of a tight cluster.

    Such a token is a spherical Brownian motion with generator Laplacian / (2 d), at every beta:

        2 d M_k' = k (k - 1) M_{k-2} - k (k + d - 2) M_k,    M_1 = e^{-(d - 1) t / (2 d)}

    >>> token_moments(3, time=1.0, count=2).round(8)
    array([1.        , 0.71653131, 0.57858629])
    """
    from scipy.linalg import expm

    _check(d, time=time)
    at_least(0, count=count)
    k = np.arange(count + 1.0)
    generator = np.diag(-k * (k + d - 2.0))
    generator[2:, :-2] += np.diag((k * (k - 1.0))[2:])
    return np.asarray(expm(time / (2.0 * d) * generator).sum(axis=1))


@checked
def layered_mean(d: int, layers: int, time: float = 1.0) -> float:
    """Mean E <x_L, x_0> of one token after L layers, kappa^L, with r = sqrt(d L / t).

        kappa = Gamma((d + 1) / 2) / (sqrt(2) Gamma(d / 2 + 1)) r 1F1(1 / 2; d / 2 + 1; -r^2 / 2),
        kappa^L = e^{-(d - 1) t / (2 d)} [1 + (d - 1) (d - 4) t^2 / (4 d^2 L) + O(1 / L^2)].

    >>> round(layered_mean(3, layers=100), 12)
    0.716132461848
    """
    from scipy.special import beta, hyp1f1

    _check(d, time=time)
    at_least(1, layers=layers)
    r = math.sqrt(d * layers / time)
    kummer = hyp1f1(0.5, 0.5 * d + 1.0, -0.5 * r * r)
    return float(beta(0.5 * (d + 1), 0.5) / math.sqrt(2.0 * math.pi) * r * kummer) ** layers


@checked
def simplex_overlap(
    tokens: int, beta: float, times: FloatArray, overlap: float = 0.0
) -> FloatArray:
    """Overlap gamma(t) of n tokens with equal overlaps as d -> infinity, without noise.

        gamma' = (1 - gamma) [g + gamma (1 - f)],    f = a^2 + (n - 1) b^2,
        g = 2 a b + (n - 2) b^2,    a = e^{beta (1 - gamma)} b,    a + (n - 1) b = 1

    At finite d overlaps fluctuate by O(d^{-1/2}), and their mean differs by O(1 / d). ValueError if
    the overlap at time 0 is not between -1 / (n - 1) and 1.

    >>> simplex_overlap(8, 1.0, [0.5, 1.0, 4.0]).round(8)
    array([0.07249827, 0.17095388, 0.86500708])
    """
    at_least(2, tokens=tokens)
    n = tokens
    if not -1.0 / (n - 1) <= overlap <= 1.0:
        raise ValueError(f"overlap must lie between {-1 / (n - 1):.3g} and 1, got {overlap:g}.")

    def speed(_: float, gamma: FloatArray) -> FloatArray:
        b = 1.0 / (np.exp(beta * (1.0 - gamma)) + n - 1.0)
        a = 1.0 - (n - 1.0) * b
        g, f = 2.0 * a * b + (n - 2.0) * b**2, a**2 + (n - 1.0) * b**2
        return np.asarray((1.0 - gamma) * (g + gamma * (1.0 - f)))

    return saved_states(speed, np.array([overlap]), times)[:, 0]


@checked
def sample_layers(
    tokens: FloatArray,
    beta: float,
    layers: int,
    runs: int,
    *,
    time: float = 1.0,
    weights: FloatArray | None = None,
    seed: int = 0,
    score_scale: float | None = None,
) -> FloatArray:
    """Tokens after L random layers, in many runs with independent values, (runs, n, d).

    - tokens (n, d): unit vectors at the start, the same in all runs.
    - layers, runs: L, and the number of runs. A run does not depend on how many there are.
    - time: total time of all layers; each has the step time / L.
    - weights (n,): masses of the tokens; equal by default.
    - seed: seed of the values.
    - score_scale: if given, scores are beta <x, A y> with a matrix A drawn in each layer, whose
      entries are normal with this standard deviation.

    Laws differ from the "ito" limit by O(time / L). ValueError if tokens are not unit vectors,
    weights are not positive, or a number is out of range.

    >>> ends = sample_layers(np.eye(3)[:2], 2.0, layers=500, runs=1000, time=20.0)
    >>> phase_shares(ends)["antipodal"], round(antipodal_probability(3, 2.0), 3)
    (0.331, 0.336)
    """
    n, d = np.shape(tokens)
    _check(d, time=time)
    at_least(1, layers=layers, runs=runs)
    if not np.allclose(dots(tokens, tokens), 1.0, rtol=0.0, atol=1e-9):
        raise ValueError("tokens must be unit vectors, one a row.")
    masses = np.full(n, 1.0 / n) if weights is None else np.asarray(weights)
    if masses.shape != (n,) or not np.all(masses > 0.0):
        raise ValueError(f"weights must be {n} positive numbers, one a token.")
    ends = []
    for block in range(-(-runs // _BLOCK)):
        size = min(runs - block * _BLOCK, _BLOCK)
        generator = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, block])))
        x = np.tile(np.asarray(tokens, dtype=np.float64), (size, 1, 1))
        for _ in range(layers):
            values = generator.standard_normal((_BLOCK, d, d))[:size]
            asked = x
            if score_scale is not None:
                asked = score_scale * x @ generator.standard_normal((_BLOCK, d, d))[:size]
            scores = beta * (asked @ x.swapaxes(1, 2))
            kernels = masses * np.exp(scores - scores.max(axis=2, keepdims=True))
            means = kernels @ x / kernels.sum(axis=2, keepdims=True)
            x = x + math.sqrt(time / (layers * d)) * (means @ values)
            x /= np.sqrt(dots(x, x))[..., None]
        ends.append(x)
    return np.concatenate(ends)


def phase_shares(tokens: FloatArray, gap: float = 0.01) -> dict[str, float]:
    """Shares of runs (runs, n, d) that are one cluster, two antipodal ones, or mixed.

    Two tokens are together or opposite if their overlap is within the gap of 1 or -1.

    >>> phase_shares(np.array([[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]]))
    {'one cluster': 0.5, 'antipodal': 0.0, 'mixed': 0.5}
    """
    overlaps = tokens @ tokens.swapaxes(1, 2)
    one = (overlaps > 1.0 - gap).all(axis=(1, 2))
    on_axis = (abs(overlaps) > 1.0 - gap).all(axis=(1, 2))
    ends = {"one cluster": one, "antipodal": on_axis & ~one, "mixed": ~on_axis}
    return {name: float(runs.mean()) for name, runs in ends.items()}


def overlap_statistics(tokens: FloatArray) -> tuple[float, float]:
    """Mean overlap <x_i, x_j>, i < j, of runs (runs, n, d), and its standard error over runs.

    ValueError for fewer than two runs or two tokens.

    >>> ends = sample_layers(np.eye(3)[:2], 1.0, layers=100, runs=2000)
    >>> [round(each, 3) for each in overlap_statistics(ends)], round(mean_overlap(3, 1.0, 1.0), 3)
    ([0.112, 0.012], 0.109)
    """
    first, second = _pairs(tokens)
    return _mean_and_error(dots(tokens[:, first], tokens[:, second]).mean(axis=1))


def lyapunov_exponent(start: FloatArray, tokens: FloatArray, time: float) -> tuple[float, float]:
    """Lyapunov exponent of a state of clusters, and its standard error, from runs near it.

        lambda = E ln(D(t) / D(0)) / t,    D^2 = sum_{i < j} |x_i - s_ij x_j|^2

    where s_ij is the sign of <x_i, x_j> at the start. The state is one cluster, or two antipodal
    ones. Exponents are half of those in `overlap_exponents`, which are of squared distances.

    - start (n, d): unit vectors near the state. D must stay small beside 1 / (1 + |beta|).
    - tokens (runs, n, d): the same tokens after the time, in two runs or more (`sample_layers`).

    ValueError if a distance is lost in rounding, or a number is out of range.

    >>> start = np.array([[1.0, 0.0, 0.0], [np.cos(1e-6), np.sin(1e-6), 0.0]])
    >>> ends = sample_layers(start, 2.0, layers=100, runs=2000, time=2.0)
    >>> [round(each, 3) for each in lyapunov_exponent(start, ends, 2.0)]
    [-0.333, 0.009]
    >>> round(overlap_exponents(3, 2.0)[0] / 2, 3)
    -0.333
    """
    first, second = _pairs(tokens)
    _check(tokens.shape[2], time=time)
    if np.shape(start) != tokens.shape[1:]:
        raise ValueError(
            f"start has shape {np.shape(start)}, expected that of a run, {tokens.shape[1:]}."
        )
    signs = np.where(dots(start[first], start[second]) < 0.0, -1.0, 1.0)[:, None]
    squares = [
        dots(apart, apart).sum(axis=-1)
        for x in (start[None], tokens)
        for apart in [x[:, first] - signs * x[:, second]]
    ]
    if min(each.min() for each in squares) < (_FEW_DIGITS * EPS) ** 2:
        raise ValueError("distances are lost in rounding: start further apart, or end earlier.")
    return _mean_and_error(0.5 * np.log(squares[1] / squares[0]) / time)


def _pairs(tokens: FloatArray) -> tuple[IntArray, IntArray]:
    if np.ndim(tokens) != 3 or min(tokens.shape[:2]) < 2:
        raise ValueError(
            f"tokens have shape {np.shape(tokens)}, expected (runs, n, d), two runs and tokens "
            "or more."
        )
    return np.triu_indices(tokens.shape[1], 1)


def _mean_and_error(values: FloatArray) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))


def _check(d: int, mass: float = 0.5, time: float = 1.0) -> None:
    at_least(2, d=d)
    if time <= 0.0:
        raise ValueError(f"time must be positive, got {time:g}.")
    if not 0.0 < mass < 1.0:
        raise ValueError(f"mass must lie strictly between 0 and 1, got {mass:g}.")


def _ends(d: int, overlap: float, until: float) -> tuple[float, float]:
    """Positions y of the start and of the upper end."""
    _check(d)
    if not 0.0 < until <= 1.0:
        raise ValueError(f"until must lie in (0, 1], got {until:g}.")
    if not abs(overlap) < until:
        raise ValueError(f"overlap must lie strictly within +-{until:g}, got {overlap:g}.")
    return math.atanh(overlap), _FAR if until == 1.0 else math.atanh(until)


def _overlap(
    d: int, beta: float, mass: float, interpretation: str, near: FloatArray, far: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Drift of R over near = 1 - R, and variance over near^2 far; far = 1 + R.

    With weights a_i of clusters on themselves, b_i = 1 - a_i, A = a_1 a_2 + b_1 b_2, and
    q = |ln(P / (1 - P))|,

        s_12 = 1 - A (1 - R),  s_11 + s_22 - 2 R s_12 = 2 (1 - R) [A (1 + R) + (a_1 - a_2)^2],
        a_1 - a_2 = a_1 b_2 - a_2 b_1 = (1 - e^{-2 q}) a_1 b_2.
    """
    from scipy.special import expit

    r, odds = 1.0 - near, abs(math.log(mass / (1.0 - mass)))
    a_1, b_1 = expit(beta * near + odds), expit(-beta * near - odds)
    a_2, b_2 = expit(beta * near - odds), expit(odds - beta * near)
    both = a_1 * a_2 + b_1 * b_2
    spread = both * far + (np.expm1(-2.0 * odds) * a_1 * b_2) ** 2
    drift = (d - 2) * far * (1.0 - both * near) - (d - 1) * r * spread
    if interpretation == "stratonovich":
        for a, b, other in ((a_1, b_1, a_2 - b_2), (a_2, b_2, a_1 - b_1)):
            moved = a * b - r * b_1 * b_2 - beta * a * b * near * (a - b + r * other)
            drift += 0.5 * far * moved
    return drift / d, 2.0 / d * spread


def _pair(d: int, beta: float, mass: float, interpretation: str) -> Coefficients:
    """Coefficients of y: u = drift / (1 - R^2) + R v and v = variance / (1 - R^2)^2."""

    def coefficients(y: FloatArray) -> tuple[FloatArray, FloatArray]:
        near, far = 2.0 / (1.0 + np.exp(2.0 * y)), 2.0 / (1.0 + np.exp(-2.0 * y))
        drift, variance = _overlap(d, beta, mass, interpretation, near, far)
        v = variance / far
        return drift / far + np.tanh(y) * v, v

    return coefficients


def _mean(coefficients: Coefficients, start: float, time: float) -> float:
    """E tanh y_t by sinc functions: h = E tanh y_t - tanh y_0 vanishes at both ends."""
    from scipy.linalg import expm

    half = round(_FAR / _STEP)
    y = np.asarray(start + _STEP * np.arange(-half, half + 1), dtype=np.float64)
    u, v = coefficients(y)
    k = np.subtract.outer(np.arange(y.size), np.arange(y.size))
    sign, x = (-1.0) ** k, _STEP * (k + np.eye(y.size))  # the diagonal is replaced
    first = np.where(k == 0, 0.0, sign / x)
    second = np.where(k == 0, -((np.pi / _STEP) ** 2) / 3.0, -2.0 * sign / x**2)
    generator = np.zeros((y.size + 1, y.size + 1))
    generator[:-1, :-1] = u[:, None] * first + 0.5 * v[:, None] * second
    generator[:-1, -1] = (u - v * np.tanh(y)) / np.cosh(y) ** 2
    return float(np.tanh(start) + expm(time * generator)[half, -1])
