"""The one nonlinear solution in closed form: hyperbolic Poisson densities at beta = 0."""

import numpy as np
import pytest
from exact_solutions import hyperbolic_poisson_moments, hyperbolic_poisson_radius
from oracles import harmonics
from snapshots import snapshots

import meanfield as mf
from meanfield.carriers import density

SPHERE = mf.Sphere()
FLOWS = {"USA": mf.USA, "SA": mf.SA}
AXES = {"pole": np.array([0.0, 0.0, 1.0]), "generic": np.array([0.48, -0.6, -0.64])}


def poisson(radius: float, axis: np.ndarray, degree: int) -> np.ndarray:
    """Coefficients m_l conj(Y_lm(axis)) of the density with its mass towards an axis."""
    return SPHERE.convolve(
        hyperbolic_poisson_moments(radius, degree), harmonics(axis[None], degree)[0].conj()
    )


def problem_from(start: float, axis: np.ndarray, flow: mf.Flow) -> mf.Problem:
    law = mf.from_density(poisson(start, axis, int(-40 / np.log(start))))
    return mf.Problem(SPHERE, mf.linear(), flow, law)


# Strength -1 runs the same family backwards; at r = 0.79 more than 128 degrees are felt.
BACKWARDS = mf.Flow("none", strength=-1.0)
RUNS = [("moments until r = 0.58", f, axis, 0.1, [0.5, 1.0, 2.0, 3.0], 1e-13, 2e-12)
        for f in FLOWS for axis in AXES]  # fmt: skip
RUNS += [("repulsion", "USA", "generic", 0.55, [1.0, 4.0], 1e-13, 5e-13)]
LATE = [("moments until r = 0.79", f, "generic", 0.1, [3.5, 4.0], 1e-11, 5e-11) for f in FLOWS]


@pytest.mark.slow
@pytest.mark.parametrize(
    "what, flow, axis, start, times, tolerance, allowed",
    RUNS + [pytest.param(*case, marks=pytest.mark.slow) for case in LATE],
)
def test_moments_follow_the_radius(what, flow, axis, start, times, tolerance, allowed, verified):
    """Every moment to degree 8, along any axis, USA and SA; the requirement is 1e-8."""
    flow = BACKWARDS if what == "repulsion" else FLOWS[flow]
    problem = problem_from(start, AXES[axis], flow)
    for snapshot in snapshots(problem, times, tolerance):
        radius = float(hyperbolic_poisson_radius(snapshot.time, start, flow.strength))
        error = snapshot.moments - poisson(radius, AXES[axis], 8)
        verified("exact solutions", f"hyperbolic Poisson density, sphere, {what}", error, allowed)


@pytest.mark.slow
def test_default_run_equals_the_printed_numbers(verified):
    """m_1(3) and m_2(3) from r_0 = 0.1 (theory 1.4), and the order parameter a user sees."""
    run = mf.simulate(problem_from(0.1, AXES["generic"], mf.USA), 3.0, save=[3.0])
    sizes = run.sizes_by_degree()[0] / np.sqrt(2 * np.arange(9) + 1)
    what = "hyperbolic Poisson density, sphere, printed moments at the default tolerance"
    verified("exact solutions", what, sizes[1:3] - [0.7182170929, 0.4828247832], 2e-10)
    assert run.observables["order_parameter"][0] == pytest.approx(0.7182170929, abs=2e-10)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("flow", FLOWS)
def test_every_coefficient_of_the_right_hand_side_is_exact(flow, axis, verified):
    """dc_lm/dt = dm_l/dr r' conj(Y_lm): no time step, every degree that is kept."""
    radius, degree, h = 0.4, 40, 1e-3
    state = poisson(radius, AXES[axis], degree)
    problem = mf.Problem(SPHERE, mf.linear(), FLOWS[flow], mf.from_density(state))
    carrier = density(problem, problem.initial_measure(), tolerance=1e-10)
    coefficients = SPHERE.resize(carrier.rhs(0.0, carrier.state), degree)
    near = [hyperbolic_poisson_moments(radius + j * h, degree) for j in (-3, -2, -1, 1, 2, 3)]
    slope = (near[5] - near[0] - 9 * (near[4] - near[1]) + 45 * (near[3] - near[2])) / (60 * h)
    drift = 0.5 * (1 - radius**2) * hyperbolic_poisson_moments(radius, 1)[1]
    expected = SPHERE.convolve(drift * slope, harmonics(AXES[axis][None], degree)[0].conj())
    # Sixth differences: h^6 m^(7) / 140 and rounding eps / h, times |Y| up to 9; cutting at
    # degree 40 leaves 0.4^40 = 1e-16.
    what = "right-hand side of a hyperbolic Poisson density, sphere"
    verified("exact solutions", what, coefficients - expected, 5e-12)
