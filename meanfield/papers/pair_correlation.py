r"""Pair correlations psi(t, angle) of N tokens, to first and next order in 1/N.

N tokens start independent and uniform. The law of a pair, relative to uniform, depends only on the
angle between its tokens,

    psi(t, phi) = sum_l N_l psi^_l(t) P_l(cos phi),    psi^_l = E P_l(<x_1, x_2>),    psi^_0 = 1,

with N_l harmonics of degree l, P_l(1) = 1: 1 + 2 sum_k psi^_k cos k phi on the circle. For every
exchangeable law of N tokens, the second moments of the empirical measure determine it exactly:

    E|c_l|^2 = 1/N + (1 - 1/N) psi^_l,    |c_l|^2 = int int P_l(<x, y>) dmu^N dmu^N.          (1)

The hierarchy of marginals of N tokens is not closed: the equation for pairs contains the law rho_3
of triples. Without normalisation on the circle, with h(x) = a(cos x) sin x,

    d_t psi = d_x { (2/N) h psi + (2 (N - 2)/N) int h(x - y) rho_3(0, x, y) dy/2pi } + 2D d_x^2 psi.

Three closures, each a function of the same form:

    linear_closure          rho_3 without third cumulants (SA and USA); correct to O(1/N)
    third_cumulant_closure  the next order in 1/N about uniform (USA, circle); correct to O(1/N^2)
    kirkwood_closure        rho_3 = psi(x) psi(y) psi(x - y) (USA, circle); no error bound

The first two are expansions about uniform. They hold in the linear phase, up to the onset time
ln N / (2 lambda_max). Times are scaled times.

Geshkovski, Letrouit, Polyanskiy, Rigollet, A mathematical perspective on Transformers,
arXiv:2312.10794, section 8. Kirkwood, Statistical mechanics of fluid mixtures, J. Chem. Phys. 3
(1935), 300-313.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from meanfield.arguments import at_least, checked
from meanfield.arrays import FloatArray
from meanfield.observables.energies import energy_multipliers
from meanfield.papers.saved_states import SolutionEnds, saved_states
from meanfield.problem import Problem
from meanfield.spaces.manifold import laplacian_eigenvalues
from meanfield.spectrum.isotropic import ZonalProblem
from meanfield.spectrum.stability import growth_rates

# Default largest degree, at least.
_LEAST_DEGREE = 12
# e^{this} is near the largest double, and far beyond any linear phase.
_LARGEST_EXPONENT = 690.0
# Terms of the series of divided differences: 1^n (n + 1) / (n + 2)! < 1e-17 from n = 17 on.
_TERMS = 18
# Kirkwood's series: least number of degrees; nodes per degree, enough for products of three factors
# and a kernel of lower degree; largest moment in the upper half of the degrees.
_LEAST_CARRIED, _NODES_A_DEGREE, _RESOLVED = 256, 4, 1e-8


@checked
def linear_closure(
    problem: Problem, tokens: int, times: Sequence[float], max_degree: int | None = None
) -> FloatArray:
    """Correlations psi^_l to O(1/N), (n_times, max_degree + 1): growth as in the linear flow.

        psi^_l = (C_l(t) - 1) / N,    C_l as `linear_growth`

    It is the leading order of the closure without third cumulants, rho_3 = 1 + g_12 + g_13 + g_23
    with g = psi - 1. It fails at the onset time, when psi - 1 is of order one; before,
    `next_order_share` estimates its error. Times are scaled and in order; max_degree is by default
    the kernel's, at least 12. ValueError far beyond the linear phase.

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=2.0), mf.USA)
    >>> linear_closure(problem, 100, [0.0, 2.0], 3).round(4)
    array([[1.    , 0.    , 0.    , 0.    ],
           [1.    , 0.0054, 0.0111, 0.0068]])
    """
    at_least(2, tokens=tokens)
    closure = (linear_growth(problem, times, max_degree) - 1.0) / tokens
    closure[:, 0] = 1.0
    return closure


@checked
def third_cumulant_closure(
    problem: Problem, tokens: int, times: Sequence[float], max_degree: int | None = None
) -> FloatArray:
    """Correlations psi^_l to O(1/N^2): the closure without fourth cumulants, by equation (1).

        E|c_l|^2 = C_l / N + S_l / N^2,    S as `next_order`

    Its error is O(1/N^3) at a fixed time, and of order one where S_l / (N C_l) is. Parameters and
    result as for `linear_closure`; on the circle, without normalisation and diffusion.
    """
    at_least(2, tokens=tokens)
    growth = linear_growth(problem, times, max_degree)
    moments = growth / tokens + next_order(problem, times, max_degree) / tokens**2
    moments[:, 0] = 1.0
    return correlations_of(moments, tokens)


@checked
def kirkwood_closure(
    problem: Problem, tokens: int, times: Sequence[float], max_degree: int | None = None
) -> FloatArray:
    """Correlations psi^_l under Kirkwood's superposition rho_3(0, x, y) = psi(x) psi(y) psi(x - y).

        d_t psi = d_x { (2/N) h psi + (2 (N - 2)/N) psi ((h psi) * psi) } + 2D d_x^2 psi

    with h(x) = a(cos x) sin x and * the convolution with dy/2pi. It is correct to O(1/N), and its
    slope at time 0 is exact. It remains nonlinear as psi grows, but has no error bound: its order
    1/N^2 differs from the hierarchy's, and the superposition is not a density in general.

    Parameters as for `linear_closure`; on the circle, without normalisation. The result is NaN once
    psi is too narrow for its series, of at least 256 degrees and twice max_degree.
    """
    at_least(2, tokens=tokens)
    zonal, max_degree_used = (
        _on_the_circle(problem, "Kirkwood's equation"),
        _degree(problem, max_degree),
    )
    degree = max(2 * max_degree_used, zonal.degree, _LEAST_CARRIED)
    nodes = _NODES_A_DEGREE * degree
    x = 2.0 * np.pi * np.arange(nodes) / nodes
    h = zonal.strength * zonal.kernel.attention(np.cos(x)) * np.sin(x)
    k = np.arange(degree + 1)
    own, others = 2.0 / tokens, 2.0 * (tokens - 2) / tokens

    def speed(_: float, correlations: FloatArray) -> FloatArray:
        psi = np.fft.irfft(correlations * nodes, nodes)
        pulled = h * psi
        pull_field = np.fft.irfft(np.fft.rfft(pulled)[: degree + 1] * correlations, nodes)
        flux = np.fft.rfft(own * pulled + others * psi * pull_field)[: degree + 1] / nodes
        return np.asarray(-k * flux.imag - 2.0 * zonal.diffusivity * k**2 * correlations)

    state, reached = np.zeros(degree + 1), 0.0
    state[0] = 1.0
    closure = np.full((len(times), max_degree_used + 1), np.nan)
    for row, time in enumerate(_checked_times(times)):
        try:
            with np.errstate(all="ignore"):
                state = saved_states(speed, state, np.array([time - reached]))[0]
        except SolutionEnds:
            break  # no step is short enough for the peak
        if not np.abs(state[degree // 2 :]).max() < _RESOLVED:
            break
        closure[row], reached = state[: max_degree_used + 1], time
    return closure


CLOSURES: dict[str, Callable[..., FloatArray]] = {
    "linear": linear_closure,
    "third cumulant": third_cumulant_closure,
    "Kirkwood": kirkwood_closure,
}
"""Closures by name."""


@checked
def linear_growth(
    problem: Problem, times: Sequence[float], max_degree: int | None = None
) -> FloatArray:
    """Growth C_l of the fluctuations about uniform: E|c_l|^2 = C_l / N + O(1/N^2).

        C_l = e^{2 lambda_l t} + D L_l (e^{2 lambda_l t} - 1) / lambda_l,    L_l = l (l + d - 2)

    where lambda_l includes -D L_l. For lambda_l -> 0 the second term is 2 D L_l t. Parameters,
    result and errors as for `linear_closure`; 1 for degree 0.
    """
    from scipy.special import exprel

    zonal, degree = _zonal(problem), _degree(problem, max_degree)
    time = _checked_times(times)[:, None]
    exponents = 2.0 * growth_rates(problem, degree) * time
    if exponents.max(initial=0.0) > _LARGEST_EXPONENT:
        raise ValueError(
            f"time = {float(time.max()):g} is far beyond the linear phase, in which a fluctuation "
            "grows by sqrt(N) at most: ask for times up to the onset time."
        )
    noise = 2.0 * zonal.diffusivity * laplacian_eigenvalues(zonal.dimension, degree) * time
    return np.asarray(np.exp(exponents) + noise * exprel(exponents))


@checked
def next_order(
    problem: Problem, times: Sequence[float], max_degree: int | None = None
) -> FloatArray:
    """Next order S_k of the second moments: E|c_k|^2 = e^{2 lambda_k t} / N + S_k / N^2 + ...

    Without normalisation on the circle c_k' = k sum_m G_m c_m c_{k-m}, G_m = m w_m. With
    kappa = N^2 E c_m c_n c_{-k}, k = m + n, and Gaussian moments of fourth order,

        kappa' = (l_m + l_n + l_k) kappa + m (G_k - G_n) e^{2 (l_n + l_k) t}
                 + n (G_k - G_m) e^{2 (l_m + l_k) t} + k (G_m + G_n) e^{2 (l_m + l_n) t},
        S_k' = 2 l_k S_k + 2k sum_{m != 0, k} G_m kappa(m, k - m),    kappa(0) = 1, S(0) = 0,

    with growth rates l_m. The solution is a sum of divided differences of e^{tz}, which are
    accurate also for equal exponents. Parameters as for `third_cumulant_closure`; 0 for degree 0.
    """
    zonal, degree = _on_the_circle(problem, "the next order in 1/N"), _degree(problem, max_degree)
    if zonal.diffusivity:
        raise ValueError(
            f"the next order in 1/N is known without noise, got diffusivity = "
            f"{zonal.diffusivity:g}: use linear_closure."
        )
    time = _checked_times(times)
    linear_growth(problem, times, degree)  # refuses times far beyond
    # G_m = 0 beyond the degree of the kernel.
    field_degree = zonal.degree
    rates = zonal.growth_rates(field_degree + degree)
    pull = np.arange(field_degree + degree + 1) * zonal.couplings(field_degree + degree)
    m = np.delete(np.arange(-field_degree, field_degree + 1), field_degree)
    order = np.zeros((len(time), degree + 1))
    for k in range(1, degree + 1):
        own = m[m != k]
        other = k - own
        g_m, g_n = np.sign(own) * pull[np.abs(own)], np.sign(other) * pull[np.abs(other)]
        l_m, l_n, l_k = rates[np.abs(own)], rates[np.abs(other)], rates[k]
        free = l_m + l_n + l_k
        forced = (
            (own * (pull[k] - g_n), 2.0 * (l_n + l_k)),
            (other * (pull[k] - g_m), 2.0 * (l_m + l_k)),
            (k * (g_m + g_n), 2.0 * (l_m + l_n)),
        )
        for row, t in enumerate(time):
            total = _exponential_difference(2.0 * l_k * t, free * t)
            for factor, rate in forced:
                total += t * factor * _second_difference(2.0 * l_k * t, free * t, rate * t)
            order[row, k] = 2.0 * k * t * float(g_m @ total)
    return order


def next_order_share(
    problem: Problem, tokens: int, times: Sequence[float], max_degree: int | None = None
) -> FloatArray:
    """Relative error |S_l| / (N C_l) of the linear closure, the next order over the leading order.

    A degree is in its linear phase while this is small. Parameters and errors as for
    `third_cumulant_closure`.
    """
    at_least(2, tokens=tokens)
    following = np.abs(next_order(problem, times, max_degree))
    return np.asarray(following / (tokens * linear_growth(problem, times, max_degree)))


@checked
def initial_slopes(problem: Problem, tokens: int, max_degree: int | None = None) -> FloatArray:
    """Slopes of E|c_l|^2 at time 0 for N independent uniform tokens, exact for every N (USA).

        d/dt E|c_l|^2 = (2 mu_l / N) (1 - 1/N),    mu_l = l (l + d - 2) w_l

    mu_l are the growth rates without diffusivity, as noise keeps independent tokens independent.
    ValueError if the flow is normalised, where 1/Z of few tokens differs from uniform's.
    """
    at_least(2, tokens=tokens)
    zonal, degree = _zonal(problem), _degree(problem, max_degree)
    if zonal.normalized:
        raise ValueError(
            "slopes at time 0 are exact without normalisation, and this flow is normalised: use "
            "flow = mf.USA, or linear_growth, which is right to O(1/N)."
        )
    rates = laplacian_eigenvalues(zonal.dimension, degree) * zonal.couplings(degree)
    return np.asarray(2.0 * rates / tokens * (1.0 - 1.0 / tokens))


def pair_energies(problem: Problem, max_degree: int) -> FloatArray:
    """Energy of |c_l|^2 = 1 by degree, N_l w_l in the unit of `interaction_energy`."""
    zonal = _zonal(problem)
    return np.asarray(
        energy_multipliers(zonal.kernel, zonal.dimension, max_degree)
        * pair_basis(zonal.dimension, max_degree, np.zeros(1))[:, 0]
    )


def pair_basis(dimension: int, max_degree: int, angles: FloatArray) -> FloatArray:
    """Values N_l P_l(cos phi), (max_degree + 1, n): psi = sum_l psi^_l times them."""
    l = np.arange(max_degree + 1)[:, None]
    if dimension == 1:
        return np.where(l > 0, 2.0, 1.0) * np.cos(l * angles)
    values = np.polynomial.legendre.legvander(np.cos(angles), max_degree)
    return np.asarray((2.0 * l + 1.0) * values.T)


def correlations_of(second_moments: FloatArray, tokens: int) -> FloatArray:
    """Correlations psi^_l of second moments E|c_l|^2 of N tokens, equation (1)."""
    return np.asarray((second_moments - 1.0 / tokens) / (1.0 - 1.0 / tokens))


def second_moments_of(correlations: FloatArray, tokens: int) -> FloatArray:
    """Second moments E|c_l|^2 of correlations psi^_l of N tokens, equation (1)."""
    return np.asarray(1.0 / tokens + (1.0 - 1.0 / tokens) * correlations)


def _zonal(problem: Problem) -> ZonalProblem:
    """Zonal problem on the circle or the sphere; ValueError otherwise."""
    zonal = problem.zonal
    if zonal.dimension > 2:
        raise ValueError(
            f"pair correlations are known on the circle and the sphere, got dimension "
            f"{zonal.dimension}: mf.merging_diagram has pairs of tokens in R^d."
        )
    return zonal


def _on_the_circle(problem: Problem, what: str) -> ZonalProblem:
    zonal = _zonal(problem)
    if zonal.dimension != 1 or zonal.normalized:
        raise ValueError(
            f"{what} is known on the circle without normalisation: use mf.Circle() and mf.USA, or "
            "linear_closure."
        )
    return zonal


def _degree(problem: Problem, max_degree: int | None) -> int:
    degree = max(_zonal(problem).degree, _LEAST_DEGREE) if max_degree is None else max_degree
    at_least(1, max_degree=degree)
    return degree


def _checked_times(times: npt.ArrayLike) -> FloatArray:
    time = np.asarray(times, dtype=np.float64)
    if time.ndim != 1 or not len(time) or time.min() < 0.0 or np.any(np.diff(time) < 0.0):
        raise ValueError(f"times must be in order and not negative, got {time.tolist()}.")
    return time


def _exponential_difference(a: npt.ArrayLike, b: npt.ArrayLike) -> FloatArray:
    """Divided difference of e^z at two points, (e^b - e^a) / (b - a)."""
    from scipy.special import exprel

    low, high = np.minimum(a, b), np.maximum(a, b)
    return np.asarray(np.exp(high) * exprel(low - high))


def _second_difference(a: npt.ArrayLike, b: npt.ArrayLike, c: npt.ArrayLike) -> FloatArray:
    """Divided difference of e^z at three points, in any order and however close.

    A quotient of differences if the outer points are more than 1 apart. Otherwise, with the lowest
    point a, e^a sum_n h_n(b - a, c - a) / (n + 2)!, h_n the sum of all monomials of degree n.
    """
    low, middle, high = np.sort(np.array(np.broadcast_arrays(a, b, c), dtype=np.float64), axis=0)
    width = high - low
    near = width <= 1.0
    u, w = np.where(near, middle - low, 0.0), np.where(near, width, 0.0)
    monomials, power, factorial = np.ones_like(u), np.ones_like(u), 2.0
    series = np.full_like(u, 0.5)
    for n in range(1, _TERMS):
        power = power * u
        monomials = w * monomials + power
        factorial *= n + 2
        series += monomials / factorial
    far = _exponential_difference(middle, high) - _exponential_difference(low, middle)
    return np.where(near, np.exp(low) * series, far / np.where(near, 1.0, width))
