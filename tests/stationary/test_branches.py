"""Branches of stationary states and the onset of order, against exact states and closed forms."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from parameters import refused
from scipy.optimize import brentq
from scipy.special import ive

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.spectrum.stability import critical_degree
from meanfield.stationary.branches import (
    Branch,
    SpecialPoint,
    branch_direction,
    primary_branch,
    tricritical_beta,
)
from meanfield.stationary.continuation import ContinuationError, Pace
from meanfield.stationary.self_consistency import SelfConsistency
from meanfield.stationary.stability import stationary_growth_rates
from meanfield.stationary.states import stationary_state
from meanfield.stationary.symmetry import axisymmetric

REPULSIVE = mf.Flow("none", strength=-1.0)
JUMP = mf.Problem(mf.Circle(), mf.exponential(beta=3.0), mf.USA)


@pytest.fixture(scope="module")
def branch() -> Branch:
    return primary_branch(JUMP)


def special(branch: Branch, kind: str) -> list[SpecialPoint]:
    return [point for point in branch.special if point.kind == kind]


def residuals(branch: Branch) -> FloatArray:
    """Largest residual of every state, as a share of the moments of a Dirac."""
    equation, dirac = SelfConsistency(branch.problem, branch.symmetry), branch.symmetry.dirac
    states = zip(branch.moments, branch.values, strict=True)
    return np.array([np.abs(equation.residual(m, D) / dirac).max() for m, D in states])


@pytest.mark.parametrize("dimension", [1, 2, 4])
def test_kuramoto_is_followed_exactly(dimension):
    """The linear kernel has r = I_{d/2}(r/D) / I_{d/2-1}(r/D), and a pitchfork at D = 1/d."""
    branch = primary_branch(mf.Problem(mf.Sphere(dimension + 1), mf.linear(), mf.USA))
    d = dimension + 1
    (pitchfork,) = special(branch, "bifurcation")
    assert pitchfork.value == pytest.approx(1.0 / d, rel=1e-15)
    r, x = branch.order_parameter[1:], branch.order_parameter[1:] / branch.values[1:]
    np.testing.assert_allclose(ive(d / 2, x) / ive(d / 2 - 1, x), r, rtol=0, atol=1e-13)
    assert branch.stable_within_symmetry.all()
    assert r.max() > 0.85


@pytest.mark.parametrize(
    "problem",
    [
        JUMP,
        mf.Problem(mf.Sphere(), mf.exponential(beta=5.0), mf.USA),
        mf.Problem(mf.Sphere(8), mf.exponential(beta=20.0), mf.USA),
        mf.Problem(mf.Circle(), mf.exponential(beta=4.0), mf.SA),
        mf.Problem(mf.Sphere(), mf.exponential(-6.0), REPULSIVE),
    ],
    ids=str,
)
def test_every_point_is_a_state_of_a_finer_quadrature(problem):
    """A branch that outruns its quadrature would be one of another equation."""
    branch = primary_branch(problem)
    coarse, degrees = branch.symmetry, branch.symmetry.degrees
    nodes, fold = 2 * len(coarse.weights), int(degrees[0])
    fine = axisymmetric(coarse.dimension, int(degrees[-1]), fold=fold, nodes=nodes)
    assert residuals(replace(branch, symmetry=fine)).max() < 1e-12


def test_saddle_node_is_where_the_leading_rate_vanishes(branch):
    """Two routes to the fold: the tangent of the branch, the linearised evolution."""
    (fold,) = special(branch, "saddle_node")
    equation = SelfConsistency(JUMP, branch.symmetry)
    rates = stationary_growth_rates(equation, fold.moments, fold.value, 4)
    assert min(abs(rate.rate) for rate in rates if rate.order == 0) < 1e-9


@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
@pytest.mark.parametrize("manifold", [mf.Circle(), mf.Sphere()])
def test_stability_agrees_with_the_linearised_evolution(manifold, flow):
    """The sign of the Jacobian must be that of the rates of axisymmetric perturbations."""
    branch = primary_branch(mf.Problem(manifold, mf.exponential(beta=3.5), flow))
    equation = SelfConsistency(branch.problem, branch.symmetry)
    for i in range(8, len(branch.values), 9):
        rates = stationary_growth_rates(equation, branch.moments[i], branch.values[i], 6)
        leading = max(rate.rate for rate in rates if rate.order == 0)
        assert (leading < 0) == branch.stable_within_symmetry[i]


def test_stable_part_is_detected_by_iteration_too(branch):
    """States found from the most ordered one, without any branch."""
    for i in np.flatnonzero(branch.stable_within_symmetry)[::3]:
        flow = mf.Flow("none", diffusivity=float(branch.values[i]))
        state = stationary_state(replace(JUMP, flow=flow))
        assert state.order_parameter == pytest.approx(branch.order_parameter[i], abs=1e-12)


def test_double_symmetry_is_the_folded_problem():
    """States in cos(2 l theta) would not be the kernel's with the multipliers w_{2l}."""
    # On the circle a kernel that is even in cos(theta) grows in degree 2 first.
    beta = 12.0
    doubled = primary_branch(mf.Problem(mf.Circle(), mf.exponential(-beta), REPULSIVE))
    assert doubled.symmetry.name == "2-fold"
    equation = SelfConsistency(doubled.problem, doubled.symmetry)
    theta = np.linspace(0.0, 2.0 * np.pi, 512, endpoint=False)
    point = doubled.special[-1]
    l = np.arange(1, len(point.moments) + 1)
    # W*f / D = sum_l A_l m_l sqrt(2) cos(l theta) / D, theta the doubled angle.
    field = np.sqrt(2.0) * np.cos(np.outer(theta, l)) @ (equation.coupling * point.moments)
    f = np.exp(field / point.value)
    folded = np.sqrt(2.0) * (np.cos(np.outer(l, theta)) @ f) / f.sum()
    np.testing.assert_allclose(folded, point.moments, rtol=0, atol=1e-13)
    np.testing.assert_allclose(equation.coupling[0], ive(2, beta) / beta, rtol=1e-14)


def test_even_states_leave_the_sphere_transcritically():
    """D - D_# is linear in the moment: with A = <P^3>/2 for USA, P = p_2 normalised."""
    branch = primary_branch(mf.Problem(mf.Sphere(), mf.exponential(-6.0), REPULSIVE))
    t, w = np.polynomial.legendre.leggauss(8)
    p = np.sqrt(5.0) * (3.0 * t**2 - 1.0) / 2.0
    slope = 0.25 * w @ p**3
    eps = branch.moments[1, 0]
    assert (branch.values[1] / branch.values[0] - 1.0) / eps == pytest.approx(slope, rel=5e-3)


def test_branch_ends_at_its_share():
    """The last point lies on the bound."""
    branch = primary_branch(mf.Problem(mf.Circle(), mf.linear(), mf.USA), smallest=0.6)
    assert branch.values[-1] == pytest.approx(0.3, rel=1e-14)


def test_branch_goes_beyond_its_transition():
    """At large beta states are almost Diracs long before they win over uniform."""
    branch = primary_branch(mf.Problem(mf.Sphere(), mf.exponential(beta=60.0), mf.USA))
    (transition,) = special(branch, "transition")
    assert transition.order_parameter > 0.98
    assert branch.order_parameter[-1] > transition.order_parameter
    assert branch.free_energy[-1] < -branch.values[-1]


@pytest.mark.parametrize("beta", [-7.0, -20.0, -50.0])
@pytest.mark.parametrize("manifold", [mf.Circle(), mf.Sphere(), mf.Sphere(6)])
def test_softmax_is_followed_as_far_as_moments_hold_it(manifold, beta):
    """Newton's method went to absurd diffusivities, or stalled where a*f is rounding."""
    branch = primary_branch(mf.Problem(manifold, mf.exponential(beta), mf.SA))
    assert branch.order_parameter[-1] > 0.6
    assert residuals(branch).max() < 1e-8


def test_states_of_a_branch_are_stationary_states(branch):
    """A point of a branch would have to be put together by hand."""
    state = branch.state(-1)
    assert state.residual < 1e-13
    assert state.diffusivity == branch.values[-1]
    assert state.order_parameter == pytest.approx(branch.order_parameter[-1], rel=1e-14)
    assert state.is_stable and not branch.state(5).is_stable


def test_points_have_their_free_energy(branch):
    """That of the transition is uniform's, and only one point past uniform has it."""
    equation = SelfConsistency(JUMP, branch.symmetry)
    expected = map(equation.free_energy, branch.moments, branch.values)
    assert branch.free_energy.tolist() == list(expected)
    energies = {point.kind: point.free_energy for point in branch.special}
    assert len(energies) == len(branch.special)
    for point in branch.special:
        assert point.free_energy == equation.free_energy(point.moments, point.value)
    assert abs(energies["transition"]) < 1e-16 < 1e-5 < energies["saddle_node"]


def test_branch_is_written_in_a_line(branch):
    """Thousands of numbers would be printed at a prompt."""
    text = repr(branch)
    assert len(text) < 600 and "\n" not in text and "saddle_node" in text


def test_lost_branches_are_reported_in_diffusivities(monkeypatch):
    """A message would speak of p, which no user knows."""
    monkeypatch.setattr("meanfield.stationary.branches.Pace", partial(Pace, points=5))
    message = "after 5 points, at diffusivity = 0.0656"
    refused(message, primary_branch, JUMP, error=ContinuationError)


def test_normalised_branch_has_no_free_energy():
    """It would be a number of another flow, not NaN."""
    branch = primary_branch(mf.Problem(mf.Circle(), mf.exponential(2.0), mf.SA))
    assert np.isnan(branch.free_energy).all()
    assert not special(branch, "transition")


def test_what_has_no_branch_is_refused():
    """Hours would pass without a word; at a share of 1 there is no branch, at 0 no end."""
    narrow = mf.Problem(mf.Circle(), mf.exponential(1e6), mf.USA)
    refused(r"beta=1000000.0\) is too narrow: .* Take a smaller", primary_branch, narrow)
    for share in (0.0, 1.0):
        message = r"smallest must be a share of D_# in \(0, 1\)"
        refused(message, primary_branch, JUMP, smallest=share)


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
    """An error in the expansion to third order would show: B is fitted to 1e-6."""
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
