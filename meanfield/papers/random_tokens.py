"""Tokens drawn at random from the uniform law, how they lie to each other, and causal attention.

The cosine of two of them has the density (1 - s^2)^{(d-3)/2} / B(1/2, (d-1)/2) on [-1, 1]:

    P(|<x, y>| > c) = I_{1 - c^2}((d - 1) / 2, 1 / 2),

the regularised incomplete beta function. n of them lie in one half of the sphere with the
probability of Wendel:

    P = 2^{1-n} sum_{k < d} binom(n - 1, k) = I_{1/2}(n - d, d),    n > d.

As d grows at fixed n every two become orthogonal, all lie in one half, and their cosines follow
`equiangular_cosine` (Theorem 6.9 of arXiv:2312.10794).

With causal attention tokens attend to themselves and to those before them:

    x_k' = P_{x_k} V sum_{j <= k} e^{beta x_k^T B x_j} x_j / Z_k

With many tokens the position s = k / n in (0, 1] is a label and mu(t; s, .) the law there. It
attends to the mean of all laws up to s (Karagodin, Polyanskiy, Rigollet, arXiv:2411.04990).

- Near uniform c_l' (s) = lambda_l (1/s) int_0^s c_l ds', so that s^p grows like
  e^{lambda_l t / (p + 1)}.
- Without scores (beta = 0), on the circle, Poisson laws stay Poisson at every position:
  zeta' = (H - conj(H) zeta^2) / 2, H = (1/s) int_0^s (a zeta + b conj(zeta)) ds'.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from meanfield.arguments import at_least, checked
from meanfield.arrays import ComplexArray, FloatArray
from meanfield.bases.legendre import gauss_legendre, interpolation, to_coefficients
from meanfield.papers.saved_states import saved_states
from meanfield.problem import Problem
from meanfield.spaces import Geometry
from meanfield.spectrum.cluster_rates import check_no_diffusion

# Where 1 - x e^{-w/a} is far enough from its zero for 48 nodes of Gauss and Laguerre.
_FAR = 60.0
_NODES = 48
# Behind it the series of ln Gamma(a + 1/2) - ln Gamma(a) is exact to rounding.
_LARGE = 30.0


@checked
def hemisphere_probability(manifold: Geometry, tokens: int) -> float:
    """Probability that n independent uniform tokens lie in one half of the sphere.

    Such tokens form one cluster, whatever queries and keys are, if the value is the identity
    (Lemma 6.4 of the source). It is 2^{1-n} sum_{k < d} binom(n - 1, k), and 1 for n <= d.

    Parameters
    ----------
    manifold : Circle or Sphere
        The unit sphere of R^d, any d.
    tokens : int
        Their number n, at least 1.

    Returns
    -------
    float
        0 where it underflows.

    Raises
    ------
    ValueError
        If tokens < 1.

    References
    ----------
    Wendel, A problem in geometric probability, Math. Scand. 11 (1962), 109-111.
    Geshkovski, Letrouit, Polyanskiy, Rigollet, arXiv:2312.10794, Section 6.

    Examples
    --------
    >>> import meanfield as mf
    >>> [mf.hemisphere_probability(mf.Sphere(d), 10) for d in (2, 3, 10)]
    [0.01953125, 0.08984375, 1.0]
    """
    from scipy.special import betainc

    at_least(1, tokens=tokens)
    d = _ambient(manifold)
    return float(betainc(tokens - d, d, 0.5)) if tokens > d else 1.0


@checked
def cap_mass(manifold: Geometry, angle: float) -> float:
    """Probability q that a uniform token is nearer than an angle to a given point.

    I_{sin^2 angle}((d - 1) / 2, 1 / 2) / 2 up to pi / 2: angle / pi on the circle, sin^2(angle / 2)
    on S^2.
    """
    from scipy.special import betainc

    if not 0.0 <= angle <= math.pi:
        raise ValueError(f"angle must lie between 0 and pi, got {angle:g}.")
    if angle > 0.5 * math.pi:
        return 1.0 - cap_mass(manifold, math.pi - angle)
    return 0.5 * float(betainc(0.5 * (_ambient(manifold) - 1), 0.5, math.sin(angle) ** 2))


@checked
def expected_centres(manifold: Geometry, tokens: int, separation: float) -> float:
    """Expected number of strong centres among n independent uniform tokens, (1 - (1 - q)^n) / q.

    A token is one if all before it are farther away than the separation; q is the mass of a cap of
    that angle. Causal attention of scale beta leaves such tokens with a separation of some
    beta^{-1/2} where they are, and others go to them. `observables.cosines.strong_centres` has the
    centres of one sequence of tokens.

    Karagodin, Polyanskiy, Rigollet, Clustering in causal attention masking, arXiv:2411.04990.

    >>> import meanfield as mf
    >>> round(expected_centres(mf.Circle(), 200, 0.5), 6)
    6.283185
    """
    at_least(0, tokens=tokens)
    q = cap_mass(manifold, separation)
    if q in (0.0, 1.0):
        return float(tokens) if q == 0.0 else float(min(tokens, 1))
    return -math.expm1(tokens * math.log1p(-q)) / q


@checked
def log_pair_tail(manifold: Geometry, cosine: float) -> float:
    """Ln of the probability that two independent uniform tokens have |<x, y>| > c.

    ln I_{1 - c^2}((d - 1) / 2, 1 / 2), about -d c^2 / 2, in any dimension; -inf for c = 1. Relative
    error some 1e-14.
    """
    from scipy.special import betainc, roots_laguerre

    if not 0.0 <= cosine <= 1.0:
        raise ValueError(f"cosine must lie between 0 and 1, got {cosine:g}.")
    if cosine == 1.0:
        return -math.inf
    a, inside = 0.5 * (_ambient(manifold) - 1), (1.0 - cosine) * (1.0 + cosine)
    if a * cosine**2 < _FAR:
        # 1 - c^2 does not know a small c: then by what is missing to 1.
        missing = float(betainc(0.5, a, cosine**2))
        return math.log1p(-missing) if missing < 0.5 else math.log(float(betainc(a, 0.5, inside)))
    # s^2 = 1 - x e^{-w/a}: int_c^1 (1 - s^2)^{a-1} ds = x^a / 2a int_0^inf e^{-w} / s dw.
    nodes, weights = roots_laguerre(_NODES)
    heights = np.sqrt(cosine**2 - inside * np.expm1(-nodes / a))
    mean = float(weights @ (1.0 / heights))
    log_inside = math.log1p(-(cosine**2)) if cosine < 0.5 else math.log(inside)
    # 1 / B(1/2, a) = Gamma(a + 1/2) / (Gamma(a) sqrt(pi)).
    return a * log_inside + _log_half_step(a) + math.log(mean / (a * math.sqrt(math.pi)))


@checked
def almost_orthogonal_bounds(manifold: Geometry, tokens: int, cosine: float) -> tuple[float, float]:
    """Bounds of the probability that all pairs of n uniform tokens have |<x_i, x_j>| <= c.

    With p = P(|<x, y>| > c) and N = n (n - 1) / 2 pairs,

        1 - N p <= P <= (1 - p) / (1 + (N - 1) p).

    Below is the union bound; above that of Chung and Erdos, Trans. AMS 72 (1952), 179-186, for
    events of which every two are independent, as cosines are, even where pairs share a token. What
    they miss of 1 is N p for small N p: `log_pair_tail` has its logarithm.

    >>> import meanfield as mf
    >>> bounds = almost_orthogonal_bounds(mf.Sphere(1024), 32, 0.15)
    >>> [round(each, 6) for each in bounds]
    [0.999301, 0.999302]
    """
    at_least(2, tokens=tokens)
    p = math.exp(log_pair_tail(manifold, cosine))
    pairs = 0.5 * tokens * (tokens - 1.0)
    return max(0.0, 1.0 - pairs * p), (1.0 - p) / (1.0 + (pairs - 1.0) * p)


def _ambient(manifold: Geometry) -> int:
    """Dimension d of the space around a sphere."""
    if not manifold.is_sphere:
        raise ValueError(f"no law is uniform on {manifold}: give mf.Sphere(d) or mf.Circle().")
    return manifold.dimension + 1


def _log_half_step(a: float) -> float:
    """Ln Gamma(a + 1/2) - ln Gamma(a)."""
    if a < _LARGE:
        return math.log(math.gamma(a + 0.5) / math.gamma(a))
    # DLMF 5.11.8 at h = 1/2 and h = 0.
    b = 1.0 / (a * a)
    series = -1 / 8 + b * (1 / 192 + b * (-1 / 640 + b * (17 / 14336 - b * 31 / 18432)))
    return 0.5 * math.log(a) + series / a


# Degrees of polynomials in s, and what their last eighth may be beside 1.
_ORDERS = (16, 32, 64, 128)
_TAIL = 1e-12


@checked
def causal_response(exponent: float, source: float, positions: FloatArray) -> FloatArray:
    """Moments near uniform at positions s that come from a unit moment at one position s_0.

        g(s) = (1 / s) sqrt(lambda t / Y) I_1(2 sqrt(lambda t Y)),  Y = ln(s / s_0),  s > s_0,

    and 0 before; exponent: lambda t. So c(t, s) = c(0, s) + int_0^s g(s; s_0) c(0, s_0) ds_0 solves
    d_t c = lambda (1 / s) int_0^s c ds'. For lambda < 0 it is -sqrt(|lambda| t / Y) J_1 / s.
    """
    from scipy.special import ive, jv

    if source <= 0.0 or not np.all(positions > 0.0):
        raise ValueError("source and positions must be positive.")
    x = exponent * np.log(np.maximum(positions / source, 1.0))
    root = 2.0 * np.sqrt(np.abs(x))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        # I_1(2 sqrt x) / sqrt x, which is 1 at x = 0.
        wave = np.exp(root) * ive(1, root) if exponent > 0.0 else jv(1, root)
        shape = np.where(root > 0.0, 2.0 * wave / root, 1.0)
    return np.asarray(np.where(positions < source, 0.0, exponent * shape / positions))


@checked
def causal_poisson(
    problem: Problem,
    profile: Callable[[FloatArray], ComplexArray],
    times: FloatArray,
    positions: FloatArray,
) -> ComplexArray:
    """First moments zeta(t, s), (saves, m), of Poisson laws along positions, for beta = 0.

        zeta' = (H - conj(H) zeta^2) / 2,    H(s) = (1 / s) int_0^s (a zeta + b conj(zeta)) ds'

    with V u = a u + b conj(u) the sum of the values; int e^{ik theta} dmu = zeta(s)^k. Polynomials
    in s at Gauss-Legendre nodes, of which the mean up to s is exact, and DOP853 in time; the degree
    is doubled until it is enough: error some 1e-11.

    - problem: circle, the linear kernel or heads whose scores are 0, without diffusion.
    - profile: zeta(0, s) for an array of positions, |zeta| <= 1; smooth on [0, 1].
    - times (saves,): scaled times, in order; positions (m,): from 0, the first tokens, to 1.

    Ott, Antonsen, Chaos 18 (2008), 037113.
    """
    direct, mirrored = _linear_values(problem)
    if positions.ndim != 1 or not np.all((positions >= 0.0) & (positions <= 1.0)):
        raise ValueError("positions must be a list of numbers from 0 to 1.")
    for order in _ORDERS:
        nodes, _ = gauss_legendre(order)
        initial = np.asarray(profile(0.5 * (1.0 + nodes)), dtype=np.complex128)
        if initial.shape != nodes.shape or not np.all(np.abs(initial) <= 1.0):
            raise ValueError(
                "profile(s) must give one complex number for each position, none larger than 1."
            )
        tail = _tail(initial[None])
        if tail <= _TAIL:
            layers = _poisson_layers(initial, direct, mirrored, times)  # (saves, order)
            tail = _tail(layers)
        if tail <= _TAIL:
            return np.asarray(layers @ interpolation(order, 2.0 * positions - 1.0).T)
    raise ValueError(
        f"polynomials of degree {_ORDERS[-1] - 1} in s do not resolve the moments: their last "
        f"coefficients are {tail:.1g}. Give a smoother profile, or earlier times."
    )


@checked
def _linear_values(problem: Problem) -> tuple[complex, complex]:
    """Numbers a, b of the sum of values V u = a u + b conj(u), if all scores are 0."""
    if problem.manifold.dimension != 1:
        raise ValueError(f"this is known on mf.Circle(), not on {problem.manifold}.")
    heads = problem.heads
    if heads is None or any(np.any(head.score) for head in heads):
        raise ValueError("this is known for mf.linear(), and for heads whose scores are 0.")
    if problem.terms or problem.layers is not None:
        raise ValueError(
            "this is the flow of attention alone: give no feed_forward, drift or layers."
        )
    if problem.attention is None:
        check_no_diffusion(problem)
    elif problem.attention.diffusivity:
        raise ValueError("Poisson laws do not stay what they are with diffusivity > 0.")
    (p, q), (r, s) = np.sum([head.value for head in heads], axis=0)
    return complex(p + s, r - q) / 2, complex(p - s, r + q) / 2


def _tail(values: ComplexArray) -> float:
    """Largest of the last eighth of the coefficients of polynomials, values (saves, order)."""
    order = values.shape[1]
    coefficients = values @ to_coefficients(order).T
    return float(np.max(np.abs(coefficients[:, -order // 8 :]), initial=0.0))


def _poisson_layers(
    initial: ComplexArray, direct: complex, mirrored: complex, times: FloatArray
) -> ComplexArray:
    """Moments at the nodes, shape (saves, order)."""
    order = len(initial)
    s = 0.5 * (1.0 + gauss_legendre(order)[0])
    # (1 / s) int_0^s f ds' = int_0^1 f(s u) du, exact with half as many nodes.
    nodes, weights = gauss_legendre(order // 2)
    inner = s[:, None] * (1.0 + nodes) - 1.0  # (order, order / 2), on [-1, 1]
    table = interpolation(order, inner.ravel()).reshape(order, order // 2, order)
    mean = np.einsum("q,iqj->ij", weights, table)

    def speed(t: float, zeta: ComplexArray) -> ComplexArray:
        mean_field = mean @ (direct * zeta + mirrored * zeta.conj())
        return np.asarray(0.5 * (mean_field - mean_field.conj() * zeta**2))

    return saved_states(speed, initial, times)
