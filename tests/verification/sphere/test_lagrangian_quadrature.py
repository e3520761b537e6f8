"""The density on the sphere against an independent method: quadrature nodes carried by the flow.

Gauss-Legendre nodes in label space carry the fixed weights f_0 w and move with the flow; their
moments converge spectrally in the number of nodes while the flow map is smooth (theory 1.10).
About an axis one coordinate is enough: there the nodes move by Legendre series and SciPy's
Bessel functions, with no line of the package. Without symmetry the package's own particles carry
them, whose transforms at scattered points share nothing with the density's.
"""

import ducc0
import numpy as np
import pytest
from oracles import gauss_nodes, harmonics
from scipy.integrate import solve_ivp
from scipy.special import ive
from snapshots import snapshots

import meanfield as mf
from meanfield.carriers import DensityRepresentation, particles
from meanfield.schemes import runge_kutta

SPHERE = mf.Sphere()
AXIS = np.array([0.48, -0.6, -0.64])
# f = 1 + sum_l PROFILE[l] P_l(<x, axis>).
PROFILE = np.array([0.0, 0.1, 0.15, -0.1, 0.0, 0.05])
# (normalized, beta, end in units of growth): the density then needs 128 degrees.
CASES = [
    (False, 1.0, 1.6), (False, 5.0, 1.2), (False, 25.0, 2.4), (False, 100.0, 3.0), (True, 1.0, 1.6),
    (True, 5.0, 1.2), (True, 25.0, 2.4), (True, 100.0, 3.0),
]  # fmt: skip
EVERYDAY = [CASES[2], CASES[5], CASES[7]]


def legendre(u: np.ndarray, degree: int) -> np.ndarray:
    """P_l(u), l = 0 ... degree, shape (degree + 1, n)."""
    p = np.ones((degree + 1, len(u)))
    p[1] = u
    for l in range(1, degree):
        p[l + 1] = ((2 * l + 1) * u * p[l] - l * p[l - 1]) / (l + 1)
    return p


def carried_moments(beta: float, normalized: bool, times: np.ndarray, nodes: int) -> np.ndarray:
    """Moments m_l = int P_l(<x, axis>) dmu, l = 0 ... 8, at the times."""
    labels = np.cos(np.asarray(ducc0.misc.GL_thetas(nodes)))
    weights = np.asarray(ducc0.misc.GL_weights(nodes, 1)) / (4 * np.pi)
    weights = weights * (1 + PROFILE @ legendre(labels, 5))
    degree = int(np.sqrt(70 * beta)) + 13
    l = np.arange(degree + 1)
    # (2 l + 1) a_l, with the scaled spherical Bessel functions e^{-beta} i_l.
    attention = (2 * l + 1) * np.sqrt(np.pi / (2 * beta)) * ive(l + 0.5, beta)

    def speed(_: float, theta: np.ndarray) -> np.ndarray:
        u = np.cos(theta)
        p = legendre(u, degree)
        moments = p @ weights
        # theta' = -sin(theta) Phi'(u) = -sum_l c_l l (P_{l-1} - u P_l) / sin(theta)
        slopes = l[1:, None] * (p[:-1] - u * p[1:])
        drift = -(attention[1:] / beta * moments[1:]) @ slopes / np.sin(theta)
        return drift / ((attention * moments) @ p) if normalized else drift

    theta, time, result = np.arccos(labels), 0.0, []
    for end in times:
        # From save to save, so that no interpolation enters.
        solution = solve_ivp(speed, (time, end), theta, method="DOP853", rtol=1e-13, atol=1e-14)
        theta, time = solution.y[:, -1], end
        result.append(legendre(np.cos(theta), 8) @ weights)
    return np.array(result)


def problem_of(beta: float, normalized: bool) -> mf.Problem:
    turned = harmonics(AXIS[None], 5)[0].conj()
    coefficients = SPHERE.convolve(PROFILE / (2 * np.arange(6) + 1), turned)
    coefficients[0] = 1.0
    return mf.Problem(
        SPHERE, mf.exponential(beta), mf.Flow(normalized), mf.from_density(coefficients)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "normalized, beta, end",
    [c if c in EVERYDAY else pytest.param(*c, marks=pytest.mark.slow) for c in CASES],
)
def test_density_equals_carried_quadrature(normalized, beta, end, verified):
    """All m_lm up to degree 8 about a generic axis, from the start to where clusters form."""
    problem = problem_of(beta, normalized)
    times = end * np.array([0.5, 1.0]) / mf.growth_rates(problem).max()
    run = snapshots(problem, times, 1e-13, "auto")
    profile = carried_moments(beta, normalized, times, 256)
    turned = harmonics(AXIS[None], 8)[0].conj()
    expected = np.array([SPHERE.convolve(row, turned) for row in profile])
    coefficients = [SPHERE.resize(snapshot.moments, 8) for snapshot in run]
    what = "density against nodes carried by Legendre series, sphere"
    verified("independent methods", what, coefficients - expected, 5e-12)
    assert run[-1].diagnostics["tail"] < 1e-11
    # Something has happened: a degree has grown, at beta = 100 those above 8 more than these.
    start = SPHERE.resize(problem.initial_measure().coefficients, 8)
    assert np.abs(expected[-1] - start).max() > (0.04 if beta < 100 else 0.01)


@pytest.mark.parametrize("normalized, beta, end", CASES[1::4])
def test_carried_quadrature_has_converged(normalized, beta, end):
    """The oracle first: twice the nodes give the same moments."""
    rate = mf.growth_rates(problem_of(beta, normalized)).max()
    times = end * np.array([0.5, 1.0]) / rate
    coarse, fine = (carried_moments(beta, normalized, times, n) for n in (256, 512))
    np.testing.assert_allclose(coarse, fine, rtol=0, atol=1e-12)


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


@pytest.mark.parametrize("flow, beta, end, steps, rings, degree", [
    (mf.USA, 5.0, 15.0, 16, 32, 63), (mf.SA, 5.0, 1.0, 16, 32, 63),
    slow(mf.USA, 10.0, 60.0, 24, 90, 127), slow(mf.SA, 10.0, 3.0, 24, 90, 127),
])  # fmt: skip
def test_density_without_symmetry_equals_carried_nodes(
    flow, beta, end, steps, rings, degree, verified
):
    """All moments up to degree 8 of a held density and of 2,048 or 16,200 nodes, on equal steps."""
    rng = np.random.default_rng(11)
    modes = [[l, m, 0.1 / l**2 * rng.normal()] for l in range(1, 6) for m in range(-l, l + 1)]
    problem = mf.Problem(SPHERE, mf.exponential(beta), flow, mf.perturbed_uniform(modes))
    start = problem.initial_measure().coefficients
    x, weights = gauss_nodes(rings)
    twice = np.where(np.arange(len(start)) <= 5, 1.0, 2.0)
    measure = mf.Measure(SPHERE, x, weights * (harmonics(x, 5) @ (twice * start)).real)
    contents = DensityRepresentation(problem, SPHERE.resize(start, degree), 1e-9, degree)
    result = []
    for carrier in (contents, particles(problem, measure)):
        # The error control of a run allows more: its norm is a mean over all coefficients.
        state, step = carrier.state, end / steps
        stepper = runge_kutta(carrier.rhs, 0.0, state, tolerance=1e-9, step=step)
        for _ in range(steps):
            assert stepper.step(largest=step)
        assert stepper.time == pytest.approx(end, rel=1e-12)
        result.append(carrier.moments(stepper.state, 8))
        assert np.abs(result[-1] - SPHERE.resize(start, 8)).max() > 0.02
        assert carrier.failure(0.0, stepper.state) is None
    what = f"density of degree {degree} against carried nodes, sphere, no symmetry"
    verified("independent methods", what, result[0] - result[1], 1e-12)
