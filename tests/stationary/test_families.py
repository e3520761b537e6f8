"""Systems of stationary states: their derivatives, and how narrow a state may be."""

import numpy as np
import pytest

import meanfield as mf
from meanfield.stationary.continuation import CurvePoint, Family
from meanfield.stationary.symmetry import stationary_symmetry

FLOWS = [mf.Flow("none", diffusivity=0.08), mf.Flow(normalized=True, strength=2.0, diffusivity=0.3)]


def family_of(flow: mf.Flow) -> Family:
    problem = mf.Problem(mf.Sphere(), mf.exponential(beta=3.0), flow)
    symmetry = stationary_symmetry(problem, flow.diffusivity / 2.0)
    return Family(problem, symmetry, flow.diffusivity)


@pytest.mark.parametrize("flow", FLOWS, ids=["USA", "SA"])
def test_derivatives_are_those_of_the_residual(flow):
    """Against central differences: a wrong scale would spoil Newton's order without an error."""
    family = family_of(flow)
    system, n = family.system, len(family.symmetry.degrees)
    x, p, h = 0.5 ** np.arange(1.0, n + 1.0), -0.01, 1e-6
    step = np.eye(n) * h
    columns = [system.residual(x + e, p) - system.residual(x - e, p) for e in step]
    expected = np.array(columns).T / (2.0 * h)
    np.testing.assert_allclose(system.jacobian(x, p), expected, atol=1e-8)
    slope = (system.residual(x, p + h) - system.residual(x, p - h)) / (2.0 * h)
    np.testing.assert_allclose(system.slope(x, p), slope, atol=1e-8)


def test_parameters_are_logarithms():
    """The continuation's p = log 2 would not be twice the parameter."""
    value = family_of(FLOWS[0]).diffusivity
    assert value(np.log(2.0)) == pytest.approx(2.0 * value(0.0), rel=1e-15)


def test_a_dirac_is_as_sharp_as_the_kernel_allows():
    """There sum_l A_l l (l + 1) p_l(1)^2 / 2 is -W'' at 0, a(1) = 1; uniform has no width."""
    family = family_of(FLOWS[0])
    uniform, dirac = (
        CurvePoint(np.full(len(family.symmetry.degrees), m), 0.0, np.zeros(1), (1.0, 0.0))
        for m in (0.0, 1.0)
    )
    assert family.sharpness(dirac) == pytest.approx(FLOWS[0].diffusivity, rel=1e-12)
    assert family.sharpness(uniform) > 1e200


def test_moments_hold_states_of_attractive_softmax():
    """There a*f vanishes where the state does, and no digits of it are asked for."""
    for beta, lost in ((60.0, False), (-60.0, True)):
        problem = mf.Problem(mf.Circle(), mf.exponential(beta), mf.SA)
        family = Family(problem, stationary_symmetry(problem, 0.01), 0.01)
        dirac = CurvePoint(np.ones(len(family.symmetry.degrees)), 0.0, np.zeros(1), (1.0, 0.0))
        assert family.is_lost(dirac) == lost
