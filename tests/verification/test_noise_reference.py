"""Noisy densities on the circle against a Fourier code of its own, and against stationary states.

The code is written down here from the equation, with sums over nodes and SciPy's steps: no
transform, no stepper and no multiplier of the package.
"""

from functools import lru_cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ive
from snapshots import snapshots

import meanfield as mf
from meanfield.carriers import Options, represent
from meanfield.observables import free_energy
from meanfield.stationary.states import stationary_state
from meanfield.terms.kernels import KERNELS

CIRCLE = mf.Circle()
# Matrices this small are multiplied on one thread.
MODES, NODES = 32, 120
FLOWS = {"USA": (False, 1.0), "SA": (True, 1.0), "repulsive": (True, -2.0)}
# No symmetry, no reflection of its own: see test_equivariance.
ASYMMETRIC = np.array([1.0, 0.2 + 0.1j, -0.1j, 0.08, 0.03 - 0.02j])
CASES = [
    (5.0, "USA", 0.02, 20.0), (5.0, "SA", 0.05, 3.0), (5.0, "repulsive", 0.04, 2.0),
    (-3.0, "USA", 0.005, 6.0), (0.0, "SA", 0.2, 4.0),
]  # fmt: skip


def scaled_bessel(beta: float) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of W and a for k = 0 ... MODES; beta = 0 is the linear kernel."""
    k = np.arange(MODES + 1)
    if beta == 0:
        return np.where(k == 1, 0.5, 0.0), np.where(k == 0, 1.0, 0.0)
    a = np.sign(beta) ** k * ive(k, abs(beta))
    return a / beta, a


@lru_cache
def plane_waves() -> tuple[np.ndarray, np.ndarray]:
    """Degrees k and e^{ik theta} at equispaced nodes, the product k theta reduced exactly."""
    k = np.arange(MODES + 1)
    return k, np.exp(2j * np.pi * (np.outer(k, np.arange(NODES)) % NODES) / NODES)


def fields(c: np.ndarray, w: np.ndarray, a: np.ndarray) -> list[np.ndarray]:
    """Nodal f, f', Phi' and Z: every real field is Re sum_k (2 - [k = 0]) g_k e^{ik theta}."""
    k, waves = plane_waves()
    twice = np.where(k > 0, 2.0, 1.0) * c
    return [(g @ waves).real for g in (twice, 1j * k * twice, 1j * k * w * twice, a * twice)]


def fourier_code(beta, normalized, strength, diffusivity):
    """Right-hand side d c_k / dt = -ik int e^{-ik theta} (f Phi' / Z - D f') dtheta / 2 pi."""
    k, waves = plane_waves()
    w, a = scaled_bessel(beta)

    def rhs(time: float, c: np.ndarray) -> np.ndarray:
        f, slope, velocity, below = fields(c, w, a)
        flux = strength * f * velocity / (below if normalized else 1.0) - diffusivity * slope
        return -1j * k * (waves.conj() @ flux) / NODES

    return rhs


def posed(beta: float, flow: str, diffusivity: float) -> mf.Problem:
    normalized, strength = FLOWS[flow]
    noisy = mf.Flow(normalized, strength, diffusivity)
    return mf.Problem(CIRCLE, KERNELS["exponential"](beta), noisy, mf.from_density(ASYMMETRIC))


@pytest.mark.slow
@pytest.mark.parametrize("beta, flow, diffusivity, until", CASES)
def test_density_follows_an_independent_code(beta, flow, diffusivity, until, verified):
    """Complex moments to 1e-9 from an asymmetric law: a conjugated product would show."""
    start = np.zeros(MODES + 1, dtype=complex)
    start[: len(ASYMMETRIC)] = ASYMMETRIC
    code = fourier_code(beta, *FLOWS[flow], diffusivity)
    times = [0.3 * until, until]
    # Steps on the limit of stability, 6 / (D k^2), would leave noise in the highest modes.
    steps = {"rtol": 1e-12, "atol": 1e-13, "max_step": 3.0 / (diffusivity * MODES**2)}
    own = solve_ivp(code, (0.0, until), start, "DOP853", times, **steps)
    # The oracle is resolved, and the solution has moved.
    assert np.abs(own.y[-3:, -1]).max() < 1e-12
    assert np.abs(own.y[:, -1] - start).max() > 0.05
    result = snapshots(posed(beta, flow, diffusivity), times, 1e-12)
    for snapshot, expected in zip(result, own.y.T, strict=True):
        moments = CIRCLE.resize(snapshot.measure.coefficients, MODES)
        what = "density with diffusion against a Fourier code of its own, circle"
        verified("independent methods", what, moments - expected, 2e-11)
    crude = snapshots(posed(beta, flow, diffusivity), times, 1e-8)[-1].measure.coefficients
    np.testing.assert_allclose(CIRCLE.resize(crude, MODES), own.y[:, -1], rtol=0, atol=1e-7)


@pytest.mark.parametrize("beta, flow, diffusivity, until", CASES)
def test_right_hand_side_is_that_of_the_independent_code(beta, flow, diffusivity, until, verified):
    """Without time steps, to rounding."""
    problem = posed(beta, flow, diffusivity)
    carrier = represent(problem, Options("density"))
    start = CIRCLE.resize(ASYMMETRIC, MODES)
    expected = fourier_code(beta, *FLOWS[flow], diffusivity)(0.0, start)
    coefficients = CIRCLE.resize(carrier.rhs(0.0, carrier.state), MODES)
    # The sums of the code round by 1e-16, times k.
    what = "right-hand side with diffusion by a Fourier code of its own, circle"
    verified("independent methods", what, coefficients - expected, MODES * 1e-16)


@pytest.mark.parametrize(
    "beta, flow, diffusivity", [(5.0, "USA", 0.01), (-3.0, "USA", 0.003), (0.0, "SA", 0.2)]
)
def test_free_energy_falls_by_its_dissipation(beta, flow, diffusivity, verified):
    """dF/dt = -int |D grad log f - v|^2 dmu, differences in time against sums over nodes."""
    problem, middle, h = posed(beta, flow, diffusivity), 3.0, 0.2
    passed = snapshots(problem, list(middle + h * np.arange(-4, 5)), 1e-12)
    values = [free_energy(problem, s.measure, s.moments) for s in passed]
    slope = np.array([3, -32, 168, -672, 0, 672, -168, 32, -3]) @ values / (840 * h)
    c = CIRCLE.resize(passed[4].measure.coefficients, MODES)
    f, f_slope, velocity, _ = fields(c, *scaled_bessel(beta))
    dissipation = np.mean((diffusivity * f_slope / f - velocity) ** 2 * f)
    what = "free energy falls by its dissipation, circle, relative"
    verified("invariants", what, slope / -dissipation - 1, 1e-8)
    assert dissipation > 1e-6


def ordered(beta: float, normalized: bool, share: float, law: mf.Law | None = None) -> mf.Problem:
    bare = mf.Problem(CIRCLE, KERNELS["exponential"](beta), mf.Flow(normalized))
    flow = mf.Flow(normalized, 1.0, share * mf.critical_diffusivity(bare))
    return mf.Problem(CIRCLE, bare.kernel, flow, law or mf.uniform())


@pytest.mark.slow
@pytest.mark.parametrize("beta, normalized, share", [
    (3.0, False, 0.85), (5.0, False, 0.95), (3.0, True, 0.85), (5.0, True, 0.7),
    (0.0, False, 0.6),
])  # fmt: skip
def test_runs_end_in_the_stationary_states_of_newtons_method(beta, normalized, share, verified):
    """Moments to 1e-11 at a tolerance of 1e-8: fixed points of a step are stationary exactly."""
    problem = ordered(beta, normalized, share, mf.von_mises_fisher(3.0))
    state = stationary_state(problem)
    rotation, leading = (result.rate for result in state.growth_rates(2))
    assert abs(rotation) < 1e-11 and leading < -1e-3
    end = snapshots(problem, [26.0 / -leading], 1e-8)[0].measure.moments(MODES)
    what = "runs end in the stationary states of Newton's method, circle"
    verified("independent methods", what, end - state.density().moments(MODES), 1e-11)
    assert 0.4 < abs(end[1]) < 0.97


@pytest.mark.slow
@pytest.mark.parametrize("beta, normalized, share", [(3.0, True, 0.85), (0.0, False, 0.6)])
def test_stationary_states_are_approached_at_the_leading_rate(beta, normalized, share, verified):
    """1 % of another density would not decay like e^{lambda t}, lambda from an eigenvalue."""
    state = stationary_state(ordered(beta, normalized, share))
    settled, other = state.density(), mf.von_mises_fisher(1.0).build(CIRCLE)
    mixed = 0.99 * settled.moments(MODES) + 0.01 * other.moments(MODES)
    leading = state.growth_rates(2)[1].rate
    problem = ordered(beta, normalized, share, mf.from_density(mixed))
    first, last = snapshots(problem, [-8.0 / leading, -10.0 / leading], 1e-12)
    left = [np.abs(s.measure.moments(MODES) - settled.moments(MODES)).max() for s in (first, last)]
    fitted = np.log(left[1] / left[0]) / (last.time - first.time)
    # The next eigenvalue is more than twice this one: e^{-9}, over two e-folds.
    what = "rate of approach to a stationary state, circle, relative"
    verified("independent methods", what, fitted / leading - 1, 1e-4)


@pytest.mark.slow
def test_noisy_kuramoto_settles_at_its_order_parameter(verified):
    """Kuramoto with noise: r = I_1(r / D) / I_0(r / D), and f is von Mises' density."""
    diffusivity = 0.3
    law = mf.from_density([1.0, 0.2j, 0.1])
    problem = mf.Problem(CIRCLE, mf.linear(), mf.Flow("none", diffusivity=diffusivity), law)
    end = snapshots(problem, [80.0], 1e-9)[0].measure.coefficients
    r = abs(end[1])
    assert r == pytest.approx(ive(1, r / diffusivity) / ive(0, r / diffusivity), rel=1e-11)
    k = np.arange(8)
    expected = ive(k, r / diffusivity) / ive(0, r / diffusivity) * (end[1] / r) ** k
    what = "noisy Kuramoto settles at von Mises' density, circle"
    verified("exact solutions", what, end[:8] - expected, 1e-11)
    assert 0.5 < r < 0.9


@pytest.mark.slow
def test_weak_attraction_settles_at_uniform():
    """Above every transition nothing is left of any law."""
    law = mf.von_mises_fisher(20.0, mean=1.0)
    problem = mf.Problem(CIRCLE, mf.exponential(5.0), mf.Flow(True, 1.0, 0.3), law)
    end = snapshots(problem, [400.0], 1e-10)[0].measure.coefficients
    assert np.abs(end[1:]).max() < 1e-15
