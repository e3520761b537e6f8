"""The density against an independent method: quadrature nodes carried by the flow.

Trapezoidal nodes in label space carry the fixed weights rho_0 w. Here they are moved by plain
trigonometric sums with SciPy's Bessel functions and no line of the package; their moments
converge spectrally in the number of nodes for as long as the flow map is smooth (theory 1.10).
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ive

import meanfield as mf

# No symmetry, several modes of different phase.
MODES = [[1, 0.1, 0.05], [2, 0.0, 0.15], [3, -0.12, 0.05], [5, 0.0, 0.1]]
# (normalized, beta, end in units of growth): the density then needs 200 to 2,000 degrees.
CASES = [
    (False, 1.0, 2.5), (False, 5.0, 2.4), (False, 25.0, 2.8), (False, 100.0, 4.0), (True, 1.0, 2.5),
    (True, 5.0, 2.0), (True, 25.0, 2.6), (True, 100.0, 4.0),
]  # fmt: skip
EVERYDAY = CASES[5:6]


def carried_moments(beta: float, normalized: bool, times: np.ndarray, nodes: int) -> np.ndarray:
    """Moments of degree 0 ... 12 at the times."""
    labels = 2 * np.pi * np.arange(nodes) / nodes
    density = 1 + sum(a * np.cos(k * labels) + b * np.sin(k * labels) for k, a, b in MODES)
    weights = density / nodes
    m = np.arange(int(np.sqrt(70 * beta)) + 13)
    attention = ive(m, beta)

    def velocity(_: float, angles: np.ndarray) -> np.ndarray:
        waves = np.empty((len(m), nodes), dtype=complex)
        waves[0], step = 1.0, np.exp(1j * angles)
        for k in m[1:]:
            waves[k] = waves[k - 1] * step
        moments = np.conj(waves) @ weights
        drift = -2 * ((m * attention / beta * moments) @ waves).imag
        if not normalized:
            return drift
        return drift / (2 * ((attention * moments) @ waves).real - attention[0])

    angles, time, result = labels, 0.0, []
    for end in times:
        # From save to save, so that no interpolation enters.
        solution = solve_ivp(velocity, (time, end), angles, method="DOP853", rtol=1e-13, atol=1e-14)
        angles, time = solution.y[:, -1], end
        result.append(np.exp(-1j * np.outer(np.arange(13), angles)) @ weights)
    return np.array(result)


def problem_of(beta: float, normalized: bool) -> mf.Problem:
    law = mf.perturbed_uniform(MODES)
    return mf.Problem(mf.Circle(), mf.exponential(beta), mf.Flow(normalized), law)


@pytest.mark.slow
@pytest.mark.parametrize(
    "normalized, beta, end",
    [c if c in EVERYDAY else pytest.param(*c, marks=pytest.mark.slow) for c in CASES],
)
def test_density_equals_carried_quadrature(normalized, beta, end, verified):
    """All moments up to degree 12, from the start to where clusters have formed."""
    problem = problem_of(beta, normalized)
    times = end * np.array([0.25, 0.5, 0.75, 1.0])
    run = mf.simulate(
        problem, until=end, save=list(times), unit="growth", tolerance=1e-13,
        representation="density",
    )  # fmt: skip
    expected = carried_moments(beta, normalized, run.scaled_time, 1024)
    what = "density against nodes carried by plain sums, circle"
    verified("independent methods", what, run.moments[:, :13] - expected, 1e-11)
    assert run.diagnostics["tail"].max() < 1e-10
    # Something has happened: a mode has grown to a visible part of the mass.
    assert np.abs(expected[-1] - expected[0])[1:].max() > 0.05


@pytest.mark.slow
@pytest.mark.parametrize("normalized, beta, end", CASES[1::4])
def test_carried_quadrature_has_converged(normalized, beta, end):
    """The oracle first: twice the nodes give the same moments."""
    times = end * np.array([0.5, 1.0]) / mf.growth_rates(problem_of(beta, normalized)).max()
    coarse, fine = (carried_moments(beta, normalized, times, n) for n in (1024, 2048))
    np.testing.assert_allclose(coarse, fine, rtol=0, atol=1e-11)


@pytest.mark.slow
def test_density_outlives_the_nodes():
    """SA, beta = 5, t = 3: 1,024 nodes fail where the flow tears them apart, 16,384 agree."""
    # The density, at 512 degrees, is what both converge to.
    problem = problem_of(5.0, True)
    run = mf.simulate(
        problem, until=3.0, save=[3.0], unit="growth", tolerance=1e-13, representation="density"
    )
    errors = [
        np.abs(run.moments[:, :13] - carried_moments(5.0, True, run.scaled_time, n)).max()
        for n in (1024, 4096, 16384)
    ]
    assert errors[0] > errors[1] > 1e-5
    assert errors[2] < 1e-6
