"""Branches of stationary states against exact states, other routes and each other."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from parameters import refused
from scipy.special import ive

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.stationary.branches import Branch, SpecialPoint, primary_branch
from meanfield.stationary.continuation import ContinuationError, Pace
from meanfield.stationary.self_consistency import SelfConsistency
from meanfield.stationary.stability import stationary_growth_rates
from meanfield.stationary.states import stationary_state
from meanfield.stationary.symmetry import axisymmetric

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
        mf.Problem(mf.Sphere(), mf.exponential(-6.0), mf.Flow("none", strength=-1.0)),
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
    beta, repulsion = 12.0, mf.Flow("none", strength=-1.0)
    doubled = primary_branch(mf.Problem(mf.Circle(), mf.exponential(-beta), repulsion))
    assert doubled.symmetry.name == "2-fold"
    equation = SelfConsistency(doubled.problem, doubled.symmetry)
    theta = np.linspace(0.0, 2.0 * np.pi, 512, endpoint=False)
    point = doubled.special[-1]
    l = np.arange(1, len(point.moments) + 1)
    # W*f / D = sum_l A_l m_l sqrt(2) cos(l theta) / D, theta the doubled angle.
    field = np.sqrt(2.0) * np.cos(np.outer(theta, l)) @ (equation.coupling * point.moments)
    f = np.exp(field / point.value)
    folded = np.sqrt(2.0) * (np.cos(np.outer(l, theta)) @ f) / f.sum()
    np.testing.assert_allclose(folded, point.moments, atol=1e-13)
    np.testing.assert_allclose(equation.coupling[0], ive(2, beta) / beta, rtol=1e-14)


def test_even_states_leave_the_sphere_transcritically():
    """D - D_# is linear in the moment: with A = <P^3>/2 for USA, P = p_2 normalised."""
    repulsion = mf.Flow("none", strength=-1.0)
    branch = primary_branch(mf.Problem(mf.Sphere(), mf.exponential(-6.0), repulsion))
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
