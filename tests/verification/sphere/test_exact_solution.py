"""The one nonlinear solution in closed form: hyperbolic Poisson densities at beta = 0."""

import numpy as np
import pytest
from exact_solutions import hyperbolic_poisson_moments, hyperbolic_poisson_radius
from oracles import harmonics

import meanfield as mf
from meanfield.carriers import Options, density, represent
from meanfield.trajectory import trajectory

SPHERE = mf.Sphere()
FLOWS = {"USA": mf.USA, "SA": mf.SA}
AXES = {"pole": np.array([0.0, 0.0, 1.0]), "generic": np.array([0.48, -0.6, -0.64])}


def poisson(radius: float, axis: np.ndarray, degree: int) -> np.ndarray:
    """Coefficients m_l conj(Y_lm(axis)) of the density with its mass towards an axis."""
    return SPHERE.convolve(
        hyperbolic_poisson_moments(radius, degree), harmonics(axis[None], degree)[0].conj()
    )


def problem_from(start: float, axis: np.ndarray, flow: mf.Flow) -> mf.Problem:
    """Linear kernel, degrees cut where they are below rounding."""
    law = mf.from_density(poisson(start, axis, int(-40 / np.log(start))))
    return mf.Problem(SPHERE, mf.linear(), flow, law)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("flow", FLOWS)
def test_moments_follow_the_radius(flow, axis, verified):
    """Every moment to degree 8 on the way from r = 0.1 to 0.58, along any axis, USA and SA."""
    problem = problem_from(0.1, AXES[axis], FLOWS[flow])
    times = [0.5, 1.0, 2.0, 3.0]
    carrier = represent(problem, Options(name="density", tolerance=1e-13))
    for snapshot in trajectory(problem, carrier, times, tolerance=1e-13):
        radius = float(hyperbolic_poisson_radius(snapshot.time, 0.1))
        expected = poisson(radius, AXES[axis], 8)
        # The requirement is 1e-8; ten times the tolerance of the run.
        what = "hyperbolic Poisson density, sphere, moments until r = 0.58"
        verified("exact solutions", what, snapshot.moments - expected, 2e-12)


@pytest.mark.slow
@pytest.mark.parametrize("flow", FLOWS)
def test_moments_follow_the_radius_to_its_concentration(flow, verified):
    """Until t = 4, r = 0.79, where more than 128 degrees are felt."""
    problem = problem_from(0.1, AXES["generic"], FLOWS[flow])
    carrier = represent(problem, Options(name="density", tolerance=1e-11))
    for snapshot in trajectory(problem, carrier, [3.5, 4.0], tolerance=1e-11):
        radius = float(hyperbolic_poisson_radius(snapshot.time, 0.1))
        expected = poisson(radius, AXES["generic"], 8)
        what = "hyperbolic Poisson density, sphere, moments until r = 0.79"
        verified("exact solutions", what, snapshot.moments - expected, 5e-11)


def test_default_run_equals_the_printed_numbers(verified):
    """m_1(3) and m_2(3) from r_0 = 0.1 (theory 1.4), and the order parameter a user sees."""
    run = mf.simulate(problem_from(0.1, AXES["generic"], mf.USA), 3.0, save=[3.0])
    sizes = run.sizes_by_degree()[0] / np.sqrt(2 * np.arange(9) + 1)
    what = "hyperbolic Poisson density, sphere, printed moments at the default tolerance"
    verified("exact solutions", what, sizes[1:3] - [0.7182170929, 0.4828247832], 2e-10)
    assert run.observables["order_parameter"][0] == pytest.approx(0.7182170929, abs=2e-10)


def test_repulsion_spreads_the_density(verified):
    """Strength -1 runs the same family backwards in time."""
    problem = problem_from(0.55, AXES["generic"], mf.Flow("none", strength=-1.0))
    carrier = density(problem, problem.initial_measure(), tolerance=1e-13)
    for snapshot in trajectory(problem, carrier, [1.0, 4.0], tolerance=1e-13):
        radius = float(hyperbolic_poisson_radius(snapshot.time, 0.55, -1.0))
        expected = poisson(radius, AXES["generic"], 8)
        what = "hyperbolic Poisson density, sphere, repulsion"
        verified("exact solutions", what, snapshot.moments - expected, 5e-13)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("flow", FLOWS)
def test_every_coefficient_of_the_right_hand_side_is_exact(flow, axis, verified):
    """dc_lm/dt = dm_l/dr r' conj(Y_lm): no time step, every degree that is kept."""
    radius, degree, h = 0.4, 40, 1e-3
    state = poisson(radius, AXES[axis], degree)
    problem = mf.Problem(SPHERE, mf.linear(), FLOWS[flow], mf.from_density(state))
    carrier = density(problem, problem.initial_measure(), tolerance=1e-10)
    found = SPHERE.resize(carrier.rhs(0.0, carrier.state), degree)
    near = [hyperbolic_poisson_moments(radius + j * h, degree) for j in (-3, -2, -1, 1, 2, 3)]
    slope = (near[5] - near[0] - 9 * (near[4] - near[1]) + 45 * (near[3] - near[2])) / (60 * h)
    drift = 0.5 * (1 - radius**2) * hyperbolic_poisson_moments(radius, 1)[1]
    expected = SPHERE.convolve(drift * slope, harmonics(AXES[axis][None], degree)[0].conj())
    # Sixth differences: h^6 m^(7) / 140 and rounding eps / h, times |Y| up to 9; cutting at
    # degree 40 leaves 0.4^40 = 1e-16.
    what = "right-hand side of a hyperbolic Poisson density, sphere"
    verified("exact solutions", what, found - expected, 5e-12)
