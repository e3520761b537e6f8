"""Stationary states: which one is the default, its properties, and Newton's method."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from noise import noisy
from parameters import each, refused
from scipy.special import ive

import meanfield as mf
from meanfield.carriers.density import density as density_carrier
from meanfield.stationary.self_consistency import SelfConsistency, polyhedral
from meanfield.stationary.states import StationaryState, newton, stationary_state
from meanfield.stationary.symmetry import axisymmetric, stationary_symmetry
from meanfield.terms.kernels.exponential import Exponential, bessel_ratio

FLOWS = [mf.USA, mf.SA]


def test_folded_states_are_those_of_folded_multipliers():
    """A 3-fold state in the angle 3 theta is the state of a kernel with the multipliers w_3l."""
    problem = noisy(mf.Circle(), mf.exponential(20.0), 0.7)
    state = stationary_state(problem, "3-fold")
    kernel = problem.kernel

    class Folded(Exponential):
        def potential_multipliers(self, dimension: int, max_degree: int) -> np.ndarray:
            return kernel.potential_multipliers(dimension, 3 * max_degree)[::3]

    other = stationary_state(mf.Problem(mf.Circle(), Folded(kernel.beta), problem.flow))
    assert state.symmetry.degrees[0] == 3
    assert state.order_parameter == 0.0
    shared = min(len(state.moments), len(other.moments))
    assert abs(state.moments[0]) > 0.5
    np.testing.assert_allclose(state.moments[:shared], other.moments[:shared], rtol=0, atol=1e-13)


def test_fold_by_number_name_or_symmetry_is_the_same():
    """Three ways to say it would give three states."""
    problem = noisy(mf.Sphere(), mf.exponential(6.0), 0.5)
    options = stationary_symmetry(problem, problem.flow.diffusivity, fold=2)
    states = [stationary_state(problem, symmetry) for symmetry in (2, "2-fold", options)]
    assert states[0].order_parameter == 0.0
    assert states[0].moments[0] > 0.5
    for state in states[1:]:
        np.testing.assert_array_equal(state.moments, states[0].moments)


@pytest.mark.parametrize("manifold", [mf.Circle(), mf.Sphere()], ids=lambda m: m.name)
def test_density_has_all_digits(manifold):
    """Moments above the kernel's degree belong to the density, though they move nothing."""
    state = stationary_state(noisy(manifold, mf.exponential(2.0), 0.2))
    density = state.density()
    points = angles = state.symmetry.angles
    if manifold.dimension == 2:
        points = np.stack([np.sin(angles), 0 * angles, np.cos(angles)], axis=1)
    values = manifold.evaluate(density.coefficients, points)
    exact = state.nodal_density
    np.testing.assert_allclose(values, exact, rtol=0, atol=3e-13 * exact.max())
    assert density.max_degree < 200


def test_density_of_uniform_is_one():
    """There is no degree at which to stop otherwise."""
    problem = noisy(mf.Sphere(), mf.exponential(2.0), 2.0)
    state = stationary_state(problem, guess=[0.0])
    np.testing.assert_allclose(np.abs(state.density().coefficients[1:]), 0.0, rtol=0, atol=1e-14)
    assert state.free_energy == 0.0
    assert state.order_parameter == 0.0


@each("d", [2, 3, 8, 64], flow=FLOWS)
def test_residual_is_rounding(d, flow):
    """Newton's method would have stopped early."""
    for beta in (0.5, 3.0, 12.0):
        for share in (0.99, 0.5, 0.1):
            problem = noisy(mf.Sphere(d), mf.exponential(beta), share, flow)
            assert stationary_state(problem).residual < 2e-14


def test_most_ordered_state_decreases_with_the_diffusivity():
    """By default the most ordered state is wanted, never a branch below."""
    # Up to just below the saddle-node, at 1 / 0.897015093 of the critical one.
    orders = [
        stationary_state(noisy(mf.Circle(), mf.exponential(5.0), share)).order_parameter
        for share in (0.05, 0.2, 0.5, 0.8, 1.0, 1.05, 1.1, 1.114, 1.1148)
    ]
    assert np.all(np.diff(orders) < 0)
    # The fold lies at r = 0.61: a middle branch would be below it.
    assert orders[-1] > 0.61


def test_weakly_ordered_state_near_the_bifurcation():
    """The fixed-point iteration would need millions of steps: r^2 = O(1 - D / D_#)."""
    kuramoto = [
        stationary_state(noisy(mf.Circle(), mf.linear(), 1.0 - distance)).order_parameter
        for distance in (1e-4, 1e-6, 1e-8)
    ]
    # r^2 = 2 (1 - D / D_#) to first order, from I_1 / I_0 = x / 2 - x^3 / 16.
    np.testing.assert_allclose(np.array(kuramoto) ** 2, 2 * np.array([1e-4, 1e-6, 1e-8]), rtol=1e-3)


def test_anti_attention_orders_too():
    """Beta < 0 attracts in odd degrees and repels in even ones; the state is still stationary."""
    state = stationary_state(noisy(mf.Circle(), mf.exponential(-2.0), 0.5))
    assert state.order_parameter > 0.3
    assert state.residual < 1e-14


@pytest.mark.slow
@pytest.mark.parametrize(
    "manifold, beta, share, name",
    [(mf.Circle(), 3.0, 0.02, None), (mf.Sphere(), 8.0, 0.1, "octahedral")],
    ids=["axisymmetric", "octahedral"],
)
def test_symmetry_with_too_few_nodes_is_refined(manifold, beta, share, name):
    """A coarse quadrature would give another state, silently."""
    problem = noisy(manifold, mf.exponential(beta), share)
    degree = problem.kernel_degree
    coarse = polyhedral(name, degree) if name else axisymmetric(1, 22, nodes=24)
    state = stationary_state(problem, coarse)
    assert len(state.symmetry.weights) > len(coarse.weights)
    exact = stationary_state(problem, name) if name else stationary_state(problem)
    assert state.order_parameter == pytest.approx(exact.order_parameter, rel=1e-13)
    if name:
        np.testing.assert_array_equal(state.moments, exact.moments)


@pytest.mark.parametrize("manifold", [mf.Circle(), mf.Sphere()], ids=lambda m: m.name)
@pytest.mark.parametrize("share", [0.9, 0.3, 0.05])
def test_softmax_of_anti_attention_orders(manifold, share):
    """At beta = -7 the state exists, but ten digits of it at most: no reason to refuse it."""
    state = stationary_state(noisy(manifold, mf.exponential(-7.0), share, mf.SA))
    assert state.order_parameter > 0.9
    assert state.residual < 1e-9


@pytest.mark.parametrize(
    ("beta", "share", "strength", "error"),
    [
        (4.0, 0.3, 1.5, 1e-13),
        (-7.0, 0.9, 1.0, 1e-7),
        (-7.0, 0.3, 1.0, 1e-7),
        (-7.0, 0.05, 1.0, 1e-7),
    ],
)
def test_normalised_density_is_a_power_of_the_partition_function(beta, share, strength, error):
    """For SA f = (a*f)^{1/(c D)}: here a*f by direct summation, where no digits are lost."""
    problem = noisy(mf.Circle(), mf.exponential(beta), share, mf.Flow(True, strength))
    state = stationary_state(problem)
    angles, weights, f = state.symmetry.angles, state.symmetry.weights, state.nodal_density
    partition = sum(
        problem.kernel.attention(np.cos(angles[:, None] - sign * angles)) @ (0.5 * weights * f)
        for sign in (1, -1)
    )
    log_power = strength * np.log(partition) / (beta * state.diffusivity)
    power = np.exp(log_power - log_power.max())
    np.testing.assert_allclose(f, power / (weights @ power), rtol=0, atol=error * f.max())


@pytest.mark.parametrize("share", [0.9, 0.3, 0.05])
def test_lost_digits_are_said(share):
    """At beta = -20 attention falls to e^-40 of its largest where the tokens are."""
    # The diffusivity is below the critical one already: lowering it was the wrong advice.
    problem = noisy(mf.Circle(), mf.exponential(-20.0), share, mf.SA)
    refused("at beta = -20 attention is so weak .* nearer to 0", stationary_state, problem)


def test_search_that_fails_below_the_critical_diffusivity(monkeypatch):
    """There an ordered state exists: `lower it` would be the wrong advice."""
    monkeypatch.setattr("meanfield.stationary.states._ATTEMPTS", 0)
    message = "though uniform is unstable below .*: pass a guess"
    refused(message, stationary_state, noisy(mf.Circle(), mf.exponential(3.0), 0.9))


def test_state_is_written_in_one_line():
    """Thousands of numbers would scroll by."""
    state = stationary_state(mf.Problem(mf.Circle(), mf.linear(), mf.Flow("none", diffusivity=0.4)))
    start = "StationaryState(Problem(Circle(), linear(), "
    assert repr(state).startswith(start)
    assert repr(state).endswith(f"axisymmetric, order_parameter={state.order_parameter:.6g})")


@pytest.mark.slow
def test_no_ordered_state_is_said():
    """Uniform would be taken for the ordered state."""
    problem = noisy(mf.Circle(), mf.exponential(3.0), 1.02)
    message = "no ordered axisymmetric state found at diffusivity = .* guess = \\[0.0\\]"
    refused(message, stationary_state, problem)
    refused(message, stationary_state, noisy(mf.Circle(), mf.linear(), 1.001))
    attractive = noisy(mf.Circle(), mf.exponential(3.0), 0.9)
    refused("no ordered 3-fold state", stationary_state, attractive, 3)
    repulsion = mf.Flow("none", strength=-1.0, diffusivity=0.01)
    refused(message, stationary_state, replace(attractive, flow=repulsion))
    message = "fell to uniform at diffusivity = 0.75 from this guess"
    refused(message, stationary_state, noisy(mf.Circle(), mf.linear(), 1.5), guess=[0.3])


def test_bad_input_is_refused():
    """Each would end in numbers without meaning, or in an error of NumPy."""
    problem = noisy(mf.Circle(), mf.exponential(3.0), 0.9)
    refused("need a diffusivity above 0, got 0", stationary_state, replace(problem, flow=mf.USA))
    message = r"symmetry is of S\^2, the problem lives on S\^1"
    refused(message, stationary_state, problem, axisymmetric(2, 30))
    for name in ("cubic", "0-fold", 0, "axial"):
        refused(f"symmetry '?{name}'? is not known: take", stationary_state, problem, name)
    for guess in ([np.nan], [[0.1]], np.ones(500)):
        message = "guess (has shape|must hold finite moments, got)"
        refused(message, stationary_state, problem, guess=guess)
    message = "found no stationary state at diffusivity = .* closer"
    other, guess = noisy(mf.Circle(), mf.exponential(3.0), 1.012), [0.55, 0.2]
    refused(message, stationary_state, other, guess=guess, error=RuntimeError)
    bare = StationaryState(problem, replace(axisymmetric(1, 30), angles=None), np.zeros(30))
    refused("symmetry 'axisymmetric' is not known. Known: tetra", bare.density)
    hidden = stationary_state(noisy(mf.Sphere(5), mf.exponential(3.0), 0.9))
    refused("sphere:5 has no harmonics", hidden.density)


def test_symmetry_without_angles_is_solved_too():
    """Symmetries that are not axisymmetric have no polar angles; their states are states."""
    problem = noisy(mf.Circle(), mf.exponential(3.0), 0.9)
    bare = replace(stationary_symmetry(problem, problem.flow.diffusivity), angles=None)
    state = stationary_state(problem, bare)
    assert state.order_parameter == stationary_state(problem).order_parameter
    assert isinstance(state.equation, SelfConsistency)
    normalised = stationary_state(noisy(mf.Circle(), mf.exponential(3.0), 0.9, mf.SA))
    assert normalised.free_energy is None


@each("kappa", [2.05, 3.0, 10.0, 200.0], flow=FLOWS)
def test_kuramoto_with_noise(kappa, flow):
    """R = I_1(kappa r) / I_0(kappa r), the pitchfork at kappa = 2; kappa = 1 / D."""
    r = stationary_state(noisy(mf.Circle(), mf.linear(), 2.0 / kappa, flow)).order_parameter
    assert r > 0.1
    # At the bifurcation the root is as sensitive as 1 / r^2.
    assert r == pytest.approx(ive(1, kappa * r) / ive(0, kappa * r), rel=2e-14 / r**2)


@each("share", [0.9, 0.5, 0.1], d=[2, 3, 4, 5, 8, 33, 64, 1000])
def test_linear_kernel_in_any_dimension(d, share):
    """R = I_{d/2}(r / D) / I_{d/2-1}(r / D), Langevin's function on the sphere; D = share / d."""
    r = stationary_state(noisy(mf.Sphere(d), mf.linear(), share)).order_parameter
    x = r * d / share
    assert r == pytest.approx(float(bessel_ratio(d / 2, x)), rel=2e-13)
    if d == 3:
        assert r == pytest.approx(1 / np.tanh(x) - 1 / x, rel=1e-12)


@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("manifold", [mf.Circle(), mf.Sphere()], ids=lambda m: m.name)
def test_state_is_stationary_for_the_equation(manifold, flow):
    """The right-hand side of the density's equation, on its own grid, must vanish."""
    problem = noisy(manifold, mf.exponential(4.0), 0.8, flow)
    f = stationary_state(problem).density()
    carrier = density_carrier(problem, f, tolerance=1.0, max_degree=3 * f.max_degree // 2)
    assert manifold.order_parameter(f.coefficients) > 0.3
    # The rounding of f, on the sphere 1e-14 near the pole, and what is cut off as rounding are
    # multiplied by D l (l + d - 2) = 200; where it is cut is chance: 1e-12 to 4e-12 were measured.
    assert np.abs(carrier.rhs(0.0, carrier.state)).max() < 8e-12


@each("d", [2, 3, 5, 20], flow=FLOWS)
def test_flux_vanishes_at_every_node(d, flow):
    """V f = D grad f in every dimension: the field by the multipliers of the kernel."""
    problem = noisy(mf.Sphere(d), mf.exponential(3.0), 0.9, flow)
    state = stationary_state(problem)
    l = state.symmetry.degrees
    a = problem.kernel.attention_multipliers(d - 1, int(l[-1]))
    potential = state.symmetry.values @ (a[l] * state.moments) / 3.0
    if flow.normalized:
        potential = np.log(a[0] + 3.0 * potential) / 3.0
    # D log f - Phi is a constant.
    balance = state.diffusivity * np.log(state.nodal_density) - potential
    assert np.ptp(balance) < 1e-13 * np.ptp(potential) + 1e-14
    assert np.ptp(potential) > 0.01


@pytest.mark.parametrize("jacobian", [np.zeros((2, 2)), np.ones((2, 2))])
def test_newton_gives_up_where_the_jacobian_is_singular(jacobian):
    """At a bifurcation a traceback of linear algebra would end the continuation."""
    equation = SimpleNamespace(residual=lambda *_: np.ones(2), jacobian=lambda *_: jacobian)
    assert newton(equation, np.zeros(2), 0.1) is None
