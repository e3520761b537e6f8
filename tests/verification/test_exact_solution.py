"""The one nonlinear solution in closed form: Poisson densities under the linear kernel."""

import numpy as np
import pytest
from exact_solutions import poisson_radius

import meanfield as mf

FLOWS = {"USA": mf.USA, "SA": mf.SA}


def poisson(start: float, angle: float, flow: mf.Flow) -> mf.Problem:
    """Kuramoto from c_k = start^k e^{-ik angle}, cut where it is below rounding."""
    k = np.arange(int(-40 / np.log(start)))
    law = mf.from_density(start**k * np.exp(-1j * k * angle))
    return mf.Problem(mf.Circle(), mf.linear(), flow, law)


@pytest.mark.slow
@pytest.mark.parametrize("angle", [0.0, 2.0])
@pytest.mark.parametrize("flow", FLOWS)
def test_moments_are_powers_of_the_radius(flow, angle, verified):
    """c_k = r(t)^k e^{-ik angle}, up to the end at r = 0.984 where 1,400 degrees are felt."""
    problem = poisson(0.1, angle, FLOWS[flow])
    times = [0.5, 1.0, 2.0, 4.0, 6.0, 8.0]
    run = mf.simulate(problem, until=8.0, save=times, tolerance=1e-12)
    k = np.arange(13)
    expected = poisson_radius(np.array(times), 0.1)[:, None] ** k * np.exp(-1j * k * angle)
    # The requirement is 1e-9 while resolved.
    what = "Poisson density, circle, moments until r = 0.984"
    verified("exact solutions", what, run.moments - expected, 5e-12)


@pytest.mark.parametrize("time, printed", [(4.0, 0.5962054907), (8.0, 0.9837970850)])
def test_radius_equals_the_printed_numbers(time, printed, verified):
    """r(4) and r(8) from r_0 = 0.1, at the default tolerance."""
    run = mf.simulate(poisson(0.1, 0.0, mf.USA), until=time, save=[time])
    what = "Poisson density, circle, printed radius at the default tolerance"
    verified("exact solutions", what, run.moments[0, 1].real - printed, 1e-9)
    assert abs(run.moments[0, 1].imag) < 1e-14


@pytest.mark.slow
def test_repulsion_spreads_the_density(verified):
    """Strength -1 runs the same family backwards in time."""
    problem = poisson(0.9, 1.0, mf.Flow("none", strength=-1.0))
    run = mf.simulate(problem, until=5.0, save=[1.0, 5.0], tolerance=1e-12)
    expected = poisson_radius(run.time, 0.9, -1.0)
    what = "Poisson density, circle, repulsion"
    verified("exact solutions", what, np.abs(run.moments[:, 1]) - expected, 5e-12)


@pytest.mark.parametrize("flow", FLOWS)
def test_particles_follow_the_density(flow, verified):
    """Quantiles of the Poisson density, moved as 1,000 tokens, keep its radius."""
    # Their empirical moments are the trapezoidal rule in label space. Its aliasing of c_12 is
    # n^11 r^n: 1e-8 for 400 tokens at the end, nothing for 1,000.
    r = 0.4
    label = np.pi * (2 * np.arange(1000) + 1) / 1000 - np.pi
    # Moebius map of the circle: pushes uniform to Poisson.
    angles = 2 * np.arctan((1 - r) / (1 + r) * np.tan(label / 2))
    problem = mf.Problem(mf.Circle(), mf.linear(), FLOWS[flow], mf.from_points(angles))
    run = mf.simulate(problem, until=3.0, save=[1.0, 3.0], tolerance=1e-12)
    k = np.arange(13)
    expected = poisson_radius(run.time, r)[:, None] ** k
    what = "Poisson density, circle, carried by 1,000 tokens"
    verified("exact solutions", what, run.moments - expected, 5e-12)
