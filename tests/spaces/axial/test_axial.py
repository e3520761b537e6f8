"""Axial manifolds: transforms, rings, labels, neighbourhoods, maxima, distances, tokens."""

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.fields import engines
from meanfield.fields.axial import pairs
from meanfield.fields.interactions import interaction_of
from meanfield.laws.sampling import tokens_of
from meanfield.spaces.axial.measure import cumulative, height
from meanfield.spaces.label_cells import label_cells
from meanfield.spaces.maxima import basins, count_maxima, maxima


@pytest.mark.parametrize("d, degree", [(2, 40), (3, 40), (8, 200), (1000, 300)])
def test_transforms_are_orthonormal(d, degree):
    """A lost weight or an overflow would show in what goes to the nodes and back."""
    grid = mf.Axial(d).grid(degree)
    values = np.random.default_rng(0).standard_normal(degree + 1) + 0j
    # Rounding of sums of as many terms, some 1e-13 at 300 degrees.
    assert grid.to_modal(grid.to_nodal(values)) == pytest.approx(values, abs=2e-12)
    l = np.arange(degree + 1)
    laplacian = grid.divergence(grid.gradient(values))
    assert laplacian == pytest.approx(-l * (l + d - 2.0) * values, rel=1e-10, abs=1e-8)


@pytest.mark.parametrize("d", [2, 3, 8, 1000])
@pytest.mark.parametrize("beta", [5.0, -2.0, 30.0])
def test_rings_in_closed_form_are_those_of_moments(d, beta):
    """Two ways to a velocity and its divergence; their agreement rules out a wrong nu."""
    rng = np.random.default_rng(1)
    problem = mf.Problem(mf.Axial(d), mf.exponential(beta), mf.SA)
    rings, weights = mf.Axial(d).random_points(6, rng), rng.dirichlet(np.ones(6))
    field = interaction_of(problem).of_points(rings, weights)
    by_moments = field.velocity_and_divergence(rings)
    v, divergence = pairs.velocity_and_divergence(d, rings, weights, beta)
    assert by_moments[0] == pytest.approx(v, abs=1e-13)
    assert by_moments[1] == pytest.approx(divergence, abs=2e-12)
    kernel = problem.own_kernel
    by_nodes = engines.pair_velocity(problem.manifold, kernel, rings, weights, True)
    by_quadrature = pairs.velocity_by_quadrature(d, kernel.attention, rings, weights, True)
    assert by_quadrature == pytest.approx(by_nodes, abs=1e-13)


def test_bessel_functions_meet_where_their_method_changes():
    """At z = 300 the power series ends: both sides are one function, also of large order."""
    for d in (2, 3, 8, 64, 1000):
        below, above = np.transpose(pairs.bessel(d, np.array([300.0, 300.0 + 1e-10])))
        assert below == pytest.approx(above, rel=1e-10)


def test_moments_of_a_density_are_coefficients():
    """Int P_l dmu of a von Mises-Fisher density, by quadrature over its labels."""
    space, cells = mf.Axial(8), label_cells(mf.Axial(8), 0.5)
    law = mf.von_mises_fisher(6.0).build(space)
    nodes = space.moments(cells.points, cells.weights * law.at(cells.points), 12)
    assert nodes == pytest.approx(law.moments(12), abs=1e-13)
    density = mf.Density(space, [1.0, 0.1, 0.05])
    assert space.unpacked(density.coefficients) == pytest.approx([1.0, 0.1, 0.05], abs=1e-15)


def test_nodes_stand_for_their_density_up_to_the_poles():
    """Mass and share of sigma both vanish at a pole, not their quotient."""
    law = mf.perturbed_uniform([[1, 0.3], [2, 0.2]])
    problem = mf.Problem(mf.Axial(8), mf.exponential(5.0), mf.SA, law)
    run = mf.simulate(problem, 0.1, save=[0.0], representation="characteristics")
    angles = np.array([0.0, 1e-3, 0.4, 1.5, 3.0, np.pi])
    assert run.measures[0](angles) == pytest.approx(law.build(mf.Axial(8))(angles), rel=1e-8)


def test_maxima_count_latitudes_once_and_poles():
    """P_4 of d = 8 is highest at both poles and has one maximum between."""
    field = np.array([0.0, 0.0, 0.0, 0.0, 1.0])
    assert count_maxima(mf.Axial(8), field[None])[0] == 3
    assert maxima(mf.Axial(8), field) == pytest.approx([0.0, np.pi, np.pi / 2], abs=1e-9)
    assert list(basins(mf.Axial(8), field, np.array([0.1, 1.5, 3.0]))) == [0, 2, 1]


def test_distances_are_those_of_polar_angles():
    """Rings exactly; densities beside many rings at their quantiles, and by duality of order."""
    space = mf.Axial(8)
    pair = mf.Measure(space, [0.2, 1.0], [0.5, 0.5]), mf.Measure(space, [0.5, 0.7], [0.25, 0.75])
    for p in (1, 2):
        power = 0.25 * 0.3**p + 0.25 * 0.5**p + 0.5 * 0.3**p
        assert mf.wasserstein(*pair, p=p) == pytest.approx(power ** (1 / p), rel=1e-14)
    first, second = (mf.von_mises_fisher(kappa).build(space) for kappa in (6.0, 2.0))
    # F - G has one sign: W_1 is the difference of the mean angles.
    edges, weights = np.polynomial.legendre.leggauss(60)
    theta = 0.5 * np.pi * (1 + edges)
    below = [cumulative(8, each.coefficients, theta) for each in (first, second)]
    exact = 0.5 * np.pi * weights @ (below[0] - below[1])
    assert mf.wasserstein(first, second) == pytest.approx(exact, rel=1e-12)
    squares = [mf.wasserstein(*pair, p=2) for pair in ((first, second), (second, first))]
    assert squares[0] == pytest.approx(squares[1], rel=1e-10)
    for p in (1, 2):
        ring = mf.Measure(space, [1.3])
        mass = 0.5 * np.pi * weights * first(theta) * height(8, theta)
        mean = mass @ np.abs(theta - 1.3) ** p
        # The absolute value has a kink that 60 nodes do not resolve.
        assert mf.wasserstein(first, ring, p=p) == pytest.approx(mean ** (1 / p), rel=1e-3 / p**9)


@pytest.mark.parametrize("p", [1, 2])
def test_negative_densities_have_no_distance(p):
    """As on the circle: 1 + 2.7 u is -1.7 at a pole, 1 + 1.01 u may be a truncation."""
    space = mf.Axial(3)
    negative, ring = mf.Density(space, [1.0, 0.9]), mf.Measure(space, [1.0])
    uniform = mf.uniform().build(space)
    refused("first density is negative: .* 0.27, allowed", mf.wasserstein, negative, uniform, p)
    refused("second density is negative: .* 0.27, allowed", mf.wasserstein, ring, negative, p)
    touching, truncated = (mf.Density(space, [1.0, c / 3.0]) for c in (1.0, 1.01))
    moved = mf.wasserstein(truncated, uniform, p) - 1.01 * mf.wasserstein(touching, uniform, p)
    # pi^p times the negative mass, 2.5e-5.
    assert abs(moved) < 2.5e-5 * np.pi**p


def test_a_distance_that_does_not_settle_says_so():
    """5 u^4 on S^2 vanishes at the equator, where the monotone map to it jumps."""
    space = mf.Axial(3)
    zero = mf.Density(space, [1.0, 0.0, 4 / 7, 0.0, 8 / 63])
    uniform = mf.uniform().build(space)
    with pytest.warns(UserWarning, match=r"W_2\^2 = .* is known to .* only: a density has zeros"):
        from_uniform = mf.wasserstein(uniform, zero, 2)
    assert from_uniform == pytest.approx(mf.wasserstein(zero, uniform, 2), rel=1e-6)


@pytest.mark.slow
def test_tokens_have_the_law_of_their_density():
    """Means of P_1 and P_2 over 200,000 tokens of S^7 within four errors; no other direction."""
    law = mf.perturbed_uniform([[1, 0.9]]).build(mf.Axial(8))
    tokens = tokens_of(mf.Sphere(8), law, 200_000, np.random.default_rng(3))
    mean = tokens.mean(axis=0)
    error = 4.0 / np.sqrt(8 * 200_000)
    assert mean == pytest.approx([0.0] * 7 + [0.9 / 8], abs=error)
    assert (tokens[:, -1] ** 2).mean() == pytest.approx(1 / 8, abs=error)


def test_what_has_no_axis_is_refused():
    """A mean beside the axis, heads, wrong angles or grids of values would pass."""
    sphere, kernel = mf.Sphere(8), mf.exponential(5.0)
    tilted = mf.Problem(sphere, kernel, mf.SA, mf.von_mises_fisher(2.0, mean=np.ones(8)))
    refused("is not on the axis", mf.simulate, tilted, 1.0)
    heads = mf.Attention([mf.Head(), mf.Head(value=-1.0)], beta=2.0)
    refused("keep their axis under a kernel", mf.simulate, mf.Problem(sphere, heads), 1.0)
    law = mf.von_mises_fisher(2.0)
    layered = mf.Problem(mf.Axial(8), kernel, mf.SA, law, layers=mf.Layers(0.1, 3))
    for carrier in ("density", "characteristics", "auto"):
        refused("layer", mf.simulate, layered, representation=carrier)
    refused("expected a polar angle", mf.Measure, mf.Axial(8), [4.0])
    refused("must be \\[l, amplitude\\]", mf.perturbed_uniform([[1, 0, 0.1]]).build, mf.Axial(8))
    refused("from_function of the polar angle", mf.from_values(np.ones(8)).build, mf.Axial(8))
    refused("d = 2 to 1000", mf.Axial, 1001)


def test_axial_densities_have_no_heads():
    """A head with matrices would turn an axial density into another kind."""
    table = engines.row(mf.Axial(4)).head_table
    refused("heads with matrices prefer directions", table, None, True, 0.0)
