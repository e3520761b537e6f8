"""Closed forms of the onset of order."""

import math

import numpy as np
import pytest
from parameters import refused
from scipy.optimize import brentq
from scipy.special import ive

import meanfield as mf
from meanfield.spectrum.stability import critical_degree
from meanfield.stationary.branches import branch_direction, primary_branch, tricritical_beta

REPULSIVE = mf.Flow("none", strength=-1.0)


@pytest.mark.parametrize(("d", "beta"), [
    (2, 2.446918311289), (3, 1.8161545254359), (4, 1.5752571500921), (8, 1.2665530245209),
    (16, 1.1289715754832), (64, 1.0314944262472),
])  # fmt: skip
def test_tricritical_beta_is_that_of_forty_digits(d, beta):
    """The reference values were computed with 40 digits and printed with 13."""
    assert tricritical_beta(mf.Sphere(d)) == pytest.approx(beta, rel=1e-12)


@pytest.mark.parametrize("dimension", [1, 2, 5, 30])
def test_direction_changes_sign_at_the_tricritical_beta(dimension):
    """Two derivations of one number: the root of B and the ratio of Bessel functions."""

    def direction(beta: float) -> float:
        return branch_direction(mf.Problem(mf.Sphere(dimension + 1), mf.exponential(beta), mf.USA))

    beta = tricritical_beta(mf.Sphere(dimension + 1))
    assert direction(beta * (1 - 1e-9)) < 0 < direction(beta * (1 + 1e-9))


def test_tricritical_beta_tends_to_one_in_high_dimension():
    """For d -> inf the ratio of Bessel functions is beta / (d + 2), up to 1/d^2: beta = 1 + 2/d."""
    d = 10**6
    assert tricritical_beta(mf.Sphere(d)) == pytest.approx(1.0 + 2.0 / d, abs=10.0 / d**2)


def slope_of_branch(problem: mf.Problem) -> float:
    """B as the limit of (D / D_# - 1) / eps^2 on the continued branch, by a cubic in eps^2."""
    branch = primary_branch(problem, smallest=0.5)
    eps = branch.moments[:, np.flatnonzero(branch.moments[1] > 1e-4)[0]]
    chosen = (eps > 0.01) & (eps < 0.4)
    ratios = branch.values[chosen] / branch.values[0] - 1.0
    return float(np.polyfit(eps[chosen] ** 2, ratios / eps[chosen] ** 2, 4)[-1])


@pytest.mark.parametrize(("dimension", "beta", "flow"), [
    (1, 1.0, mf.USA), (1, 2.4, mf.USA), (1, -3.0, mf.USA), (2, 1.5, mf.USA), (7, 1.4, mf.USA),
    (1, 3.0, mf.USA), (1, 2.0, mf.SA), (1, -2.0, mf.SA), (2, 3.0, mf.SA), (4, 2.0, mf.SA),
    (1, -3.0, REPULSIVE), (1, -3.0, mf.Flow(normalized=True, strength=-2.0)),
])  # fmt: skip
def test_direction_is_that_of_the_branch(dimension, beta, flow):
    """An error in the expansion to third order would be seen: B is fitted to 1e-6."""
    problem = mf.Problem(mf.Sphere(dimension + 1), mf.exponential(beta), flow)
    assert branch_direction(problem) == pytest.approx(slope_of_branch(problem), rel=3e-6, abs=3e-6)


def test_linear_kernel_bends_like_kuramoto():
    """Expanding r = I_1(r/D) / I_0(r/D): D = 1/2 - r^2/4, and eps^2 = 2 r^2."""
    for flow in (mf.USA, mf.SA):
        assert branch_direction(mf.Problem(mf.Circle(), mf.linear(), flow)) == pytest.approx(-0.25)


def test_softmax_is_continuous_at_every_beta():
    """B of SA stays negative up to the largest betas: there is no tricritical point."""
    for dimension in (1, 2, 3, 15):
        for beta in np.geomspace(0.01, 1e6, 30):
            problem = mf.Problem(mf.Sphere(dimension + 1), mf.exponential(float(beta)), mf.SA)
            assert branch_direction(problem) < 0


def test_folded_circle_has_the_ratio_of_its_degrees():
    """For degree 2 the tricritical point is at I_4(beta) = I_2(beta) / 2."""
    beta = brentq(lambda b: ive(4, b) / ive(2, b) - 0.5, 1.0, 30.0, xtol=1e-14)
    for share, sign in ((1 - 1e-9, -1), (1 + 1e-9, 1)):
        problem = mf.Problem(mf.Circle(), mf.exponential(-beta * share), REPULSIVE)
        assert critical_degree(problem) == 2
        assert math.copysign(1, branch_direction(problem)) == sign


def test_some_degrees_leave_linearly():
    """P_2^3 has a mean on the sphere: no pitchfork; with degrees 1 and 2 critical B has a pole."""
    even = mf.Problem(mf.Sphere(), mf.exponential(-3.0), REPULSIVE)
    # On the circle w_1 = (a_0 - a_2) / 2 and w_2 = (a_1 - a_3) / 4.
    resonant = mf.Problem(mf.Circle(), mf.zonal(multipliers=[1.0, 1.0, 0.5, 0.0]), mf.USA)
    assert branch_direction(even) == branch_direction(resonant) == math.inf


def test_what_has_no_direction_is_refused():
    """Repulsion keeps uniform; the velocity of an own kernel under softmax is no gradient."""
    repelled = mf.Problem(mf.Circle(), mf.exponential(2.0), REPULSIVE)
    refused("no transition: .* no degree grows with strength = -1", branch_direction, repelled)
    own = mf.Problem(mf.Circle(), mf.zonal(lambda s: np.exp(s - 1.0)), mf.SA)
    refused("need a built-in kernel, got 'zonal'", branch_direction, own)
    # 2 was S^2 here, and the circle in R^2 everywhere else.
    message = r"manifold must be a manifold, such as mf.Circle\(\)"
    for number in ("circle", 2):
        refused(message, tricritical_beta, number, error=TypeError)


@pytest.mark.slow
def test_odd_degrees_on_the_sphere_are_refused():
    """The square of P_3 has several degrees, which B does not know."""
    # W = P_3(s): a = (15 s^2 - 3) / 2.
    odd = mf.Problem(mf.Sphere(), mf.zonal(lambda s: 7.5 * s**2 - 1.5), mf.USA)
    refused("here degree 3 grows first", branch_direction, odd)
