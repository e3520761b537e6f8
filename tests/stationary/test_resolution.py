"""Degrees and nodes that resolve stationary states."""

import numpy as np
import pytest
from noise import noisy
from parameters import each, refused

import meanfield as mf
from meanfield.stationary.self_consistency import SelfConsistency
from meanfield.stationary.states import stationary_state
from meanfield.stationary.symmetry import (
    axisymmetric,
    carrying_degree,
    gegenbauer,
    log_harmonic_counts,
    narrowest_width,
    stationary_symmetry,
    steepest,
)


def test_stationary_symmetry_resolves_sharp_states():
    """Twice the nodes would move the moments: the rule of nodes per width would be too small."""
    for manifold in (mf.Circle(), mf.Sphere(), mf.Sphere(4), mf.Sphere(21)):
        for beta, share in ((1.0, 0.02), (4.0, 0.1), (20.0, 0.5)):
            problem = noisy(manifold, mf.exponential(beta), share)
            diffusivity = problem.flow.diffusivity
            symmetry = stationary_symmetry(problem, diffusivity)
            degree, nodes = int(symmetry.degrees[-1]), 2 * len(symmetry.weights)
            finer = axisymmetric(manifold.dimension, degree, nodes=nodes)
            # Almost a Dirac, so that the density is as sharp as it can be.
            moments = symmetry.values[0]
            coarse = SelfConsistency(problem, symmetry).image(moments, diffusivity)
            fine = SelfConsistency(problem, finer).image(moments, diffusivity)
            np.testing.assert_allclose(coarse, fine, rtol=1e-12, atol=1e-12)


def test_carrying_degree_covers_a_dirac():
    """In high dimension the kernel's own degree is too low for the field of a Dirac."""
    problem = mf.Problem(mf.Sphere(100), mf.exponential(5.0), mf.USA)
    degree = carrying_degree(problem)
    assert degree > problem.kernel_degree
    symmetry = axisymmetric(99, degree)
    equation = SelfConsistency(problem, symmetry)
    # W(t) - w_0 = sum_l w_l p_l(1) p_l(t): moments of a Dirac are p_l(1).
    w = problem.kernel.potential_multipliers(99, degree)
    t = np.array([1.0, 0.9, 0.3])
    series = gegenbauer(49.0, t, degree)
    field = (w * np.exp(0.5 * log_harmonic_counts(99, degree))) @ series
    np.testing.assert_allclose(field, problem.kernel.potential(t), rtol=1e-12)
    assert equation.coupling[0] == w[1]


def test_carrying_degree_of_a_narrow_kernel_in_high_dimension():
    """There a_l underflows and N_l overflows: their product must not become NaN."""
    degrees = [
        carrying_degree(mf.Problem(mf.Sphere(1000), mf.exponential(beta), mf.SA))
        for beta in (1.0, 100.0, 1000.0)
    ]
    assert degrees == sorted(degrees)
    # The kernel has the width 1/sqrt(beta): its degrees go like exp(-l^2 / (2 beta)) or faster.
    assert degrees[-1] < 9 * np.sqrt(1000.0) + 1000.0


@pytest.mark.parametrize("normalized", [False, True], ids=["USA", "SA"])
@each("beta", [-30.0, -5.0, -1.0, -0.2, 0.2, 1.0, 5.0, 30.0], strength=[1.0, -0.5])
def test_no_measure_bends_its_potential_more(normalized, beta, strength):
    """A state could be narrower than the quadrature that is to resolve it."""
    # D V = strength W * f or strength log(a * f) / beta of one, two, three tokens, by differences.
    problem = mf.Problem(mf.Circle(), mf.exponential(beta), mf.Flow(normalized, strength))
    rng, angles, h = np.random.default_rng(0), np.linspace(0.0, 2 * np.pi, 4001), 1e-3
    largest = 0.0
    for trial in range(60):
        tokens = rng.uniform(0.0, 2 * np.pi, trial % 3 + 1)
        bend = 0.0
        for shift, factor in ((-h, 1.0), (0.0, -2.0), (h, 1.0)):
            s = np.cos(angles[:, None] + shift - tokens)
            kernel = problem.kernel.attention if normalized else problem.kernel.potential
            field = kernel(s).mean(axis=1)
            bend = bend + factor * (np.log(field) / beta if normalized else field) / h**2
        largest = max(largest, float((-strength * bend).max()))
    # Differences of logarithms of 1e-26 and of exponents of 60, divided by h^2.
    bound = steepest(problem)
    assert largest < bound * (1 + 1e-5)
    assert largest > 0.3 * bound


def test_narrowest_width_bounds_a_state_of_anti_attention():
    """SA with beta < 0 bends more than one token does: 1 / sqrt(-V'') is 0.3 here, not 0.4."""
    state = stationary_state(noisy(mf.Circle(), mf.exponential(-5.0), 0.9, mf.SA))
    angles, log_f = state.symmetry.angles, np.log(state.nodal_density)
    bend = np.gradient(np.gradient(log_f, angles), angles)[2:-2]
    width = 1.0 / np.sqrt(-bend.min())
    # One token gives sqrt(D): the example tells the two bounds apart.
    assert width < 0.8 * np.sqrt(state.diffusivity)
    assert narrowest_width(state.problem, state.diffusivity) < width


def test_unsuitable_diffusivities_are_refused():
    """Without noise, or next to none, states are Diracs."""
    circle = mf.Problem(mf.Circle(), mf.exponential(3.0), mf.USA)
    refused("need a diffusivity above 0, got 0", stationary_symmetry, circle, 0.0)
    message = "diffusivity = 1e-12 makes states of width 1e-06: these"
    refused(message, stationary_symmetry, circle, 1e-12)
