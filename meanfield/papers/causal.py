"""Causal attention: tokens attend to themselves and to earlier tokens.

    x_k' = P_{x_k} V sum_{j <= k} e^{beta x_k^T B x_j} x_j / Z_k

For many tokens, tokens at the position s = k / n in (0, 1] have a law mu(t; s, .). It attends to
the mean of all laws up to s (Karagodin, Polyanskiy, Rigollet, arXiv:2411.04990).

- Near uniform c_l' (s) = lambda_l (1/s) int_0^s c_l ds', so the moment s^p grows like
  e^{lambda_l t / (p + 1)}.
- Without scores (beta = 0), on the circle, Poisson laws stay Poisson at every position:
  zeta' = (H - conj(H) zeta^2) / 2, H = (1/s) int_0^s (a zeta + b conj(zeta)) ds'.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from meanfield.arguments import checked
from meanfield.arrays import ComplexArray, FloatArray
from meanfield.bases.legendre import gauss_legendre, interpolation, to_coefficients
from meanfield.papers.saved_states import saved_states
from meanfield.problem import Problem
from meanfield.spectrum.cluster_rates import check_no_diffusion

# Numbers of polynomial coefficients in s, and the largest size of their last eighth.
_ORDERS = (16, 32, 64, 128)
_TAIL = 1e-12


@checked
def causal_response(exponent: float, source: float, positions: FloatArray) -> FloatArray:
    """Moments near uniform at positions s, caused by a unit moment at one position s_0.

        g(s) = (1 / s) sqrt(lambda t / Y) I_1(2 sqrt(lambda t Y)),  Y = ln(s / s_0),  s > s_0,

    and 0 before s_0, with exponent = lambda t and source = s_0. For lambda < 0 it is
    -sqrt(|lambda| t / Y) J_1 / s. Then c(t, s) = c(0, s) + int_0^s g(s; s_0) c(0, s_0) ds_0 solves
    d_t c = lambda (1 / s) int_0^s c ds'.
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

    where V u = a u + b conj(u) is the sum of the values, and int e^{ik theta} dmu = zeta(s)^k.
    zeta is a polynomial in s at Gauss-Legendre nodes, so the mean up to s is exact. DOP853 steps
    in time. The degree is doubled until the last coefficients are small; the error is about 1e-11.

    - problem: on the circle, with the linear kernel or heads with scores 0, without diffusion.
    - profile: zeta(0, s) for an array of positions, |zeta| <= 1; smooth on [0, 1].
    - times (saves,): scaled times, in order; positions (m,): from 0 (first token) to 1.

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


def _linear_values(problem: Problem) -> tuple[complex, complex]:
    """Numbers a, b with V u = a u + b conj(u) for the sum V of values; scores must be 0."""
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
    """Moments zeta at the nodes, shape (saves, order)."""
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
