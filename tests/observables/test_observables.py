"""The table of observables, energies and entropy."""

import numpy as np
import pytest
from parameters import together
from scipy.spatial.transform import Rotation
from scipy.special import ive

import meanfield as mf
from meanfield.fields.mean_field import interaction
from meanfield.observables import (
    OBSERVABLES,
    entropy,
    free_energy,
    interaction_energy,
    observe,
    resolution,
)
from meanfield.observables.energies import _density_entropy
from meanfield.observables.resolution import spectral_tail

PROBLEM = mf.Problem(mf.Circle(), mf.exponential(9.0), mf.USA)
POINTS = mf.Measure(mf.Circle(), np.random.default_rng(0).uniform(0, 7, 40))


@together("measure", [POINTS, mf.von_mises_fisher(2.0).build(mf.Circle())])
@together("name", OBSERVABLES)
def test_every_observable_can_be_evaluated(name, measure):
    """Named numbers or one-dimensional arrays, under its own name, with an axis label."""
    values = OBSERVABLES[name].evaluate(PROBLEM, measure, measure.moments(40))
    assert OBSERVABLES[name].name == name and OBSERVABLES[name].long_name
    for key, value in values.items():
        assert key.split("/")[0] == name
        assert np.asarray(value, dtype=float).ndim <= 1


def test_order_parameter_is_one_for_a_cluster_and_zero_for_uniform():
    """Kuramoto's R."""
    dirac = mf.Measure(mf.Circle(), np.full(5, 2.0))
    result = observe(PROBLEM, dirac, dirac.moments(40), ("order_parameter",))
    assert result["order_parameter"] == pytest.approx(1.0, abs=1e-15)
    flat = mf.Density(mf.Circle(), [1.0])
    assert observe(PROBLEM, flat, flat.moments(40), ("order_parameter",))["order_parameter"] == 0


@pytest.mark.parametrize("beta", [0.0, 1.0, 9.0, 200.0, 2000.0])
def test_energy_is_the_double_sum_over_pairs(beta):
    """sum_ij w_i w_j W(cos d_ij) / W(1), for weighted tokens."""
    rng = np.random.default_rng(1)
    x, w = rng.uniform(0, 7, 30), rng.dirichlet(np.ones(30))
    problem = mf.Problem(mf.Circle(), mf.exponential(beta) if beta else mf.linear(), mf.USA)
    s = np.cos(x[:, None] - x)
    expected = w @ (np.exp(beta * (s - 1)) if beta else s) @ w
    moments = mf.Measure(mf.Circle(), x, w).moments(problem.kernel_degree)
    assert interaction_energy(problem, moments) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("beta", [-0.5, -9.0])
def test_energy_of_negative_beta_is_in_units_of_uniform(beta):
    """E[Dirac] would be e^{-2|beta|} of the scale: the uniform measure is the unit."""
    x = np.random.default_rng(1).uniform(0, 7, 30)
    s = np.cos(x[:, None] - x)
    uniform = np.exp(beta * np.cos(2 * np.pi * np.arange(256) / 256)).mean()
    problem = mf.Problem(mf.Circle(), mf.exponential(beta), mf.USA)
    energy = interaction_energy(problem, mf.Measure(mf.Circle(), x).moments(60))
    assert energy == pytest.approx(np.exp(beta * s).mean() / uniform, rel=1e-13)
    flat = mf.Density(mf.Circle(), [1.0]).moments(60)
    assert interaction_energy(problem, flat) == pytest.approx(1.0, rel=1e-15)


def test_energy_in_any_dimension_is_the_double_sum_over_pairs():
    """The last block of rows, which is shorter, would be left out."""
    space = mf.Sphere(6)
    tokens = mf.Measure(space, space.random_points(300, np.random.default_rng(0)))
    problem = mf.Problem(space, mf.exponential(5.0), mf.SA)
    energy = interaction_energy(problem, tokens.moments(1), tokens)
    pairs = np.exp(5.0 * (tokens.points @ tokens.points.T - 1.0))
    assert energy == pytest.approx(pairs.mean(), rel=1e-13)


@pytest.mark.slow
def test_energy_of_an_own_kernel_equals_that_of_the_exponential():
    """Up to the constant of its potential, W(-1) = 0, known in closed form."""
    beta, moments = 6.0, POINTS.moments(60)
    own = mf.zonal(lambda s: np.exp(beta * (s - 1)), beta=beta)
    energy = interaction_energy(mf.Problem(mf.Circle(), own, mf.USA), moments)
    exponential = interaction_energy(mf.Problem(mf.Circle(), mf.exponential(beta), mf.USA), moments)
    lowest = np.exp(-2 * beta)
    assert energy == pytest.approx((exponential - lowest) / (1 - lowest), rel=1e-12)


@pytest.mark.parametrize("kappa", [0.01, 0.5, 3.0, 40.0, 1000.0])
def test_entropy_of_von_mises_is_closed(kappa):
    """-int f log f = -kappa I_1/I_0 + log I_0, written with scaled Bessel functions."""
    density = mf.von_mises_fisher(kappa, mean=1.0).build(mf.Circle())
    expected = kappa * (1 - ive(1, kappa) / ive(0, kappa)) + np.log(ive(0, kappa))
    assert entropy(density) == pytest.approx(expected, rel=1e-12, abs=2e-16)
    assert entropy(density) < 0


def test_entropy_of_a_density_that_touches_zero_is_finite():
    """0 log 0 = 0; for 1 + cos it is log 2 - 1, to the accuracy of a kink in f log f."""
    result = entropy(mf.perturbed_uniform([[1, 1.0, 0.0]]).build(mf.Circle()))
    assert result == pytest.approx(np.log(2) - 1, abs=1e-5)


@pytest.mark.parametrize("waves", [3, 16, 32, 48])
@pytest.mark.parametrize("space", [mf.Circle(), mf.Sphere()], ids=str)
def test_entropy_of_waves_is_closed(space, waves):
    """1 + h cos(k phi), h = 0.9 sin^k theta: 100, 200 and 400 nodes meet 25 phases of 16 waves."""
    z, weights = np.polynomial.legendre.leggauss(300)
    h = 0.9 * (1.0 - z**2) ** (waves / 2) if space.dimension == 2 else np.full(300, 0.9)
    b = np.sqrt(1.0 - h**2)
    expected = -0.5 * weights @ (np.log(0.5 * (1.0 + b)) + 1.0 - b)
    coefficients = np.zeros_like(space.moments(np.array([space.origin]), None, waves))
    coefficients[[0, -1]] = 1.0, 0.45
    x = 0.0 if space.is_circle else [1.0, 0.0, 0.0]
    coefficients[-1] *= 0.9 / (mf.Density(space, coefficients).at([x])[0] - 1.0)
    assert entropy(mf.Density(space, coefficients)) == pytest.approx(expected, abs=1e-13)


def test_entropy_is_computed_once_for_the_free_energy_too():
    """A save of both would cost twice the transforms, or give one density that of another."""
    problem = mf.Problem(mf.Circle(), mf.linear(), mf.Flow("none", diffusivity=0.3))
    for kappa in (1.0, 2.0):
        density = mf.von_mises_fisher(kappa).build(mf.Circle())
        moments, before = density.moments(12), _density_entropy.cache_info().misses
        values = observe(problem, density, moments, ("entropy", "free_energy"))
        expected = -0.3 * values["entropy"] - 0.5 * abs(moments[1]) ** 2
        assert values["free_energy"] == pytest.approx(expected, rel=1e-14)
        assert _density_entropy.cache_info().misses == before + 1


def test_entropy_decreases_under_attraction_and_increases_under_repulsion():
    """Clusters are ordered; uniform is the largest entropy there is."""
    law = mf.perturbed_uniform([[2, 0.3, 0.1]])
    for strength in (1.0, -1.0):
        flow = mf.Flow("none", strength=strength)
        problem = mf.Problem(mf.Circle(), mf.exponential(5.0), flow, law)
        run = mf.simulate(problem, until=5.0, save=6)
        assert np.all(np.diff(run.observables["entropy"]) * strength < 0)


def test_points_have_neither_entropy_nor_tail():
    """NaN is stored for them, not 0, which would be the entropy of uniform."""
    assert np.isnan(entropy(POINTS)) and np.isnan(resolution(PROBLEM, POINTS))


@pytest.mark.parametrize("degree, top", [(0, 1), (5, 1), (19, 2), (99, 10), (640, 64)])
def test_tail_is_the_largest_of_the_top_tenth(degree, top):
    """One degree below the top tenth is not looked at; all in it are."""
    sizes = np.zeros(degree + 1)
    sizes[-top] = 3.0
    assert spectral_tail(sizes) == 3.0
    if degree:
        sizes[-top] = 0.0
        sizes[-top - 1] = 5.0
        assert spectral_tail(sizes) == 0.0


def test_resolution_of_a_full_spectrum_is_its_tail():
    """Modulus, not real part; what a slow field of degree 1 moves out is half as large."""
    c = np.zeros(11, dtype=complex)
    c[0], c[1], c[10] = 1.0, 0.3, 3e-9 - 4e-9j
    problem = mf.Problem(mf.Circle(), mf.linear(), mf.USA)
    assert resolution(problem, mf.Density(mf.Circle(), c)) == pytest.approx(5e-9, rel=1e-14)


@pytest.mark.parametrize("flow", [mf.USA, mf.SA], ids=["USA", "SA"])
@pytest.mark.parametrize("manifold", [mf.Circle(), mf.Sphere()], ids=["circle", "sphere"])
def test_truncation_error_is_measured(manifold, flow):
    """Elevenfold on 25 degrees: the flux that is lost, as a grid of four times the degree has it.

    Nothing but degrees 11 and 22 is there on the circle, none of which the top tenth holds.
    """
    modes = [[11, 0.3, 0.1], [22, 0.01, 0.02]]
    if manifold.dimension == 2:
        modes = [[11, 11, 0.1], [22, -22, 0.01]]
    problem = mf.Problem(manifold, mf.exponential(20.0), flow, mf.perturbed_uniform(modes))
    state = manifold.resize(problem.initial_measure().coefficients, 25)
    field, fine = interaction(problem, 60).field(state), manifold.grid(100)
    velocity = fine.gradient(field.potential)
    if field.partition is not None:
        velocity = velocity / fine.to_nodal(field.partition)
    lost = manifold.sizes_by_degree(fine.divergence(velocity * fine.to_nodal(state)))[26:38]
    fastest = np.sqrt(fine.squared_norm(velocity).max())
    expected = (lost / np.arange(26, 38)).max() / fastest
    result = resolution(problem, mf.Density(manifold, state))
    assert expected > 1e-4
    # The fastest node of a grid of 75 degrees is a little slower than that of one of 300.
    assert result == pytest.approx(expected, rel=2e-2)


def test_truncation_error_is_measured_in_every_frame():
    """Orders that are multiples of 11 become all orders when the axis tilts."""
    sphere, tilt = mf.Sphere(), Rotation.from_euler("x", 1.0).as_matrix()
    problem = mf.Problem(sphere, mf.exponential(20.0), mf.SA)
    law = mf.perturbed_uniform([[11, 11, 0.1], [22, -22, 0.01]]).build(sphere)
    nodes = sphere.grid(25)
    turned = nodes.to_modal(sphere.evaluate(law.coefficients, nodes.points @ tilt))
    states = sphere.resize(law.coefficients, 25), turned
    tails = [resolution(problem, mf.Density(sphere, state)) for state in states]
    assert tails[0] > 1e-4
    assert tails[1] == pytest.approx(tails[0], rel=2e-2)


NOISY = mf.Flow("none", diffusivity=0.2)


def free_energy_of(problem: mf.Problem, measure: mf.Density | mf.Measure) -> float:
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
    result = free_energy_of(problem, mf.von_mises_fisher(kappa, mean=1.0).build(mf.Circle()))
    assert result == pytest.approx(expected, abs=1e-13)


def test_a_normalised_flow_has_no_free_energy():
    """A number would be a claim without a proof."""
    problem = mf.Problem(mf.Circle(), mf.exponential(3.0), mf.Flow(True, 1.0, 0.2))
    assert np.isnan(free_energy_of(problem, mf.Density(mf.Circle(), [1.0])))


def test_the_linear_kernel_has_a_free_energy_either_way():
    """Z = 1: normalised and not are the same flow."""
    density = mf.von_mises_fisher(2.0).build(mf.Sphere())
    values = [
        free_energy_of(mf.Problem(mf.Sphere(), mf.linear(), mf.Flow(normalized, 1.0, 0.2)), density)
        for normalized in (False, True)
    ]
    assert values[0] == values[1] < 0


def test_points_have_a_free_energy_without_diffusion_only():
    """They have no entropy; without diffusion it is minus strength times the energy."""
    points = mf.Measure(mf.Circle(), np.zeros(3))
    kernel = mf.exponential(4.0)
    assert np.isnan(free_energy_of(mf.Problem(mf.Circle(), kernel, NOISY), points))
    # W(1) / 2 = 1 / (2 beta) for a Dirac mass.
    result = free_energy_of(mf.Problem(mf.Circle(), kernel, mf.Flow("none", strength=-2.0)), points)
    assert result == pytest.approx(2.0 / 8.0, rel=1e-14)
