"""Free energy: closed forms, flows without one, and the flow that it drives."""

import numpy as np
import pytest
from scipy.special import ive

import meanfield as mf
from meanfield.observables import free_energy
from meanfield.problem import Problem

NOISY = mf.Flow("none", diffusivity=0.2)


def of(problem: Problem, measure: mf.Density | mf.Measure) -> float:
    return free_energy(problem, measure, measure.moments(problem.moment_degree))


@pytest.mark.parametrize("kappa", [0.3, 2.0, 30.0])
def test_free_energy_of_von_mises_is_closed(kappa):
    """D (kappa r - log I_0) - (1/2) sum_l w_l m_l^2 with Bessel functions."""
    problem = mf.Problem(mf.Circle(), mf.exponential(3.0), NOISY)
    r = ive(1, kappa) / ive(0, kappa)
    k = np.arange(60)
    twice = 2.0 - (k == 0)
    energy = 0.5 * np.sum(twice * ive(k, 3.0) / 3.0 * (ive(k, kappa) / ive(0, kappa)) ** 2)
    expected = 0.2 * (kappa * r - np.log(ive(0, kappa)) - kappa) - energy
    result = of(problem, mf.von_mises_fisher(kappa, mean=1.0).build(mf.Circle()))
    assert result == pytest.approx(expected, abs=1e-13)


def test_a_normalised_flow_has_none():
    """A number would be a claim without a proof."""
    problem = mf.Problem(mf.Circle(), mf.exponential(3.0), mf.Flow(True, 1.0, 0.2))
    assert np.isnan(of(problem, mf.Density(mf.Circle(), [1.0])))


def test_the_linear_kernel_has_one_either_way():
    """Z = 1: normalised and not are the same flow."""
    density = mf.von_mises_fisher(2.0).build(mf.Sphere())
    values = [
        of(mf.Problem(mf.Sphere(), mf.linear(), mf.Flow(normalized, 1.0, 0.2)), density)
        for normalized in (False, True)
    ]
    assert values[0] == values[1] < 0


def test_points_have_one_without_diffusion_only():
    """They have no entropy; without diffusion it is minus strength times the energy."""
    points = mf.Measure(mf.Circle(), np.zeros(3))
    kernel = mf.exponential(4.0)
    assert np.isnan(of(mf.Problem(mf.Circle(), kernel, NOISY), points))
    # W(1) / 2 = 1 / (2 beta) for a Dirac mass.
    result = of(mf.Problem(mf.Circle(), kernel, mf.Flow("none", strength=-2.0)), points)
    assert result == pytest.approx(2.0 / 8.0, rel=1e-14)
