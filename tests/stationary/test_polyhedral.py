"""Invariant harmonics of the polyhedra, and stationary states made of them."""

from functools import lru_cache
from importlib import import_module

import numpy as np
import pytest
from noise import noisy
from parameters import refused

import meanfield as mf
from meanfield.bases.coordinates import coordinates
from meanfield.carriers.density import density as density_representation
from meanfield.spaces.configurations import GOLDEN, POLYHEDRA, rotation_group
from meanfield.stationary.self_consistency import polyhedral, polyhedral_basis, spiral
from meanfield.stationary.stability import leading_growth_rates, linearised
from meanfield.stationary.states import stationary_state

SPHERE = mf.Sphere()
EACH = pytest.mark.parametrize("name", POLYHEDRA)
# Molien series (1 + t^a) / ((1 - t^b) (1 - t^c)) of harmonics invariant under the rotations.
MOLIEN = {"tetrahedral": (6, 3, 4), "octahedral": (9, 4, 6), "icosahedral": (15, 6, 10)}
VERTEX = {
    "tetrahedral": (1.0, 1.0, 1.0),
    "octahedral": (0.0, 0.0, 1.0),
    "icosahedral": (0.0, 1.0, GOLDEN),
}


def vertices(name):
    """Vertices of the polyhedron, shape (n, 3): where the group takes the first."""
    first = np.array(VERTEX[name]) / np.linalg.norm(VERTEX[name])
    images = rotation_group(name) @ first
    return np.unique(images.round(9), axis=0)


def moments(basis, measure):
    """Moments int p_j dmu of a measure."""
    modal = measure.moments(SPHERE.degree_of(basis.coefficients[0]))
    return np.array([SPHERE.inner(row, modal) for row in basis.coefficients])


def molien(name, max_degree):
    a, *factors = MOLIEN[name]
    counts = np.zeros(max_degree + 1, dtype=int)
    counts[[0, a]] = 1
    for factor in factors:  # division by 1 - t^factor
        for degree in range(factor, max_degree + 1):
            counts[degree] += counts[degree - factor]
    return counts


@lru_cache
def state_of(name):
    """Stationary state of USA with clusters at the vertices, at half the critical diffusivity."""
    beta = {"tetrahedral": 8.0, "octahedral": 12.0}[name]
    return stationary_state(noisy(SPHERE, mf.exponential(beta), 0.5), name)


@EACH
def test_rotations_form_the_group(name):
    """A group with a rotation missing, or a reflection, would have other invariants."""
    group = rotation_group(name)
    with pytest.raises(ValueError, match="read-only"):
        group[0] = 0.0
    assert len(group) == {"tetrahedral": 12, "octahedral": 24, "icosahedral": 60}[name]
    assert np.abs(group @ group.transpose(0, 2, 1) - np.eye(3)).max() < 1e-15
    np.testing.assert_allclose(np.linalg.det(group), 1.0, rtol=0, atol=1e-14)


@EACH
def test_invariants_are_as_many_as_in_molien_series(name):
    """An invariant would be missing, or another function among them."""
    counts = np.bincount(polyhedral(name, 32).degrees, minlength=33)
    np.testing.assert_array_equal(counts[1:], molien(name, 32)[1:])


@EACH
def test_polyhedral_basis_is_orthonormal(name):
    """Moments would not be coefficients: self-consistency would be that of another problem."""
    symmetry = polyhedral(name, 20)
    values = np.column_stack([np.ones(len(symmetry.weights)), symmetry.values])
    gram = values.T @ (symmetry.weights[:, None] * values)
    assert np.abs(gram - np.eye(len(gram))).max() < 1e-13


@EACH
def test_polyhedral_basis_is_invariant(name):
    """A function that a rotation of the polyhedron changes has not its symmetry."""
    basis, points = polyhedral_basis(name, 20), spiral(9)
    for row in basis.coefficients:
        here = SPHERE.evaluate(row, points)
        turned = [SPHERE.evaluate(row, points @ rotation.T) for rotation in rotation_group(name)]
        # ducc0 at general points: 1e-14 of the largest value, about sqrt(2 l + 1).
        assert np.abs(np.array(turned) - here).max() < 1e-12


@EACH
def test_polyhedral_moments_are_means_over_clusters(name):
    """Guesses would be other measures than the clusters they were made of."""
    basis, corners = polyhedral_basis(name, 12), vertices(name)
    direct = [SPHERE.evaluate(row, corners).mean() for row in basis.coefficients]
    result = moments(basis, mf.Measure(SPHERE, corners))
    np.testing.assert_allclose(result, direct, rtol=0, atol=1e-12)
    assert len(corners) == {"tetrahedral": 4, "octahedral": 6, "icosahedral": 12}[name]
    # Platonic solids are spherical designs up to their first invariant, where they are not.
    assert np.abs(result[0]) > 0.1


def test_polyhedral_density_has_its_moments():
    """Nodal values and coefficients would be of two densities."""
    basis = polyhedral_basis("tetrahedral", 8)
    values = 0.05 * np.arange(1.0, len(basis.coefficients) + 1)
    f = basis.density(1.0 + basis.symmetry.values @ values)
    np.testing.assert_allclose(moments(basis, f), values, rtol=0, atol=1e-14)
    assert SPHERE.order_parameter(f.coefficients) < 1e-15


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tetrahedral", "octahedral"])
def test_polyhedral_state_is_fixed_point_of_the_equation(name):
    """Newton's state would move under the density's right-hand side: it solves something else."""
    state = state_of(name)
    assert state.residual < 1e-14
    assert np.abs(state.moments).max() > 0.1
    f = state.density()
    degree = max(f.max_degree, state.problem.kernel_degree)
    representation = density_representation(state.problem, f, tolerance=1.0, max_degree=degree)
    assert np.abs(representation.rhs(0.0, representation.state)).max() < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tetrahedral", "octahedral"])
def test_polyhedral_state_is_stable_within_its_symmetry_only(name):
    """Time stepping would leave the state in spite of the symmetry, or never at all."""
    state = state_of(name)
    f, degree = state.density(), 20
    of = coordinates(2, degree)
    rates = leading_growth_rates(state.problem, f, max_degree=degree)
    basis = polyhedral_basis(name, degree).coefficients
    vectors = of.to_vector(basis)
    images = vectors @ linearised(state.problem, f, degree).matrix(degree).T
    # The operator keeps the symmetry: images of invariants are invariants.
    inside = images @ vectors.T
    assert np.abs(images - inside @ vectors).max() < 1e-11
    assert np.linalg.eigvals(inside).real.max() < -1e-3
    assert rates[0] > 1e-4


@pytest.mark.slow
def test_polyhedral_state_has_three_rotations():
    """A rotation of the state would grow, decay, or be counted as another mode."""
    state = state_of("tetrahedral")
    rates = leading_growth_rates(state.problem, state.density(), 12, max_degree=31)
    # At degree 31 of 77 that the density has; the rates next to 0 are 1e-3.
    assert np.sum(np.abs(rates) < 1e-6 * np.abs(rates).max()) == 3


@pytest.mark.slow
def test_turning_a_polyhedral_state_changes_nothing():
    """The derivative of a state by its rotation about the third axis is no zero of L."""
    state = state_of("tetrahedral")
    f = state.density()
    turned = 1j * coordinates(2, f.max_degree).orders * f.coefficients
    assert np.abs(turned).max() > 0.1
    assert np.abs(linearised(state.problem, f, f.max_degree).derivative(turned)).max() < 1e-10


@pytest.mark.slow
def test_polyhedral_state_has_its_clusters_at_the_vertices():
    """Found from a Dirac and its copies, without a guess: the moments of the vertices, blurred."""
    state = state_of("octahedral")
    f = state.density()
    heights = SPHERE.evaluate(f.coefficients, np.vstack([vertices("octahedral"), spiral(500)]))
    assert np.ptp(heights[:6]) < 1e-9 * heights[0] and heights[0] > heights[6:].max()
    assert state.order_parameter == 0.0
    assert state.free_energy < 0


def weak(manifold, beta, diffusivity):
    return mf.Problem(manifold, mf.exponential(beta), mf.Flow("none", diffusivity=diffusivity))


def test_polyhedral_refuses_what_has_no_basis():
    """A misspelt group, a basis without functions, or aliased ones would have no states."""
    # Beyond S^2 there are no such groups; too sharp, memory would be filled before the start.
    message, circle = "tetrahedral states live on the sphere, not on circle", mf.Circle()
    refused(message, stationary_state, weak(circle, 5.0, 0.01), "tetrahedral")
    message = "makes icosahedral states too sharp for a grid"
    refused(message, stationary_state, weak(SPHERE, 8.0, 1e-8), "icosahedral")
    refused("'cubic' is not known. Known: tetrahedral, octahedral", polyhedral, "cubic", 8)
    refused("no icosahedral harmonic has a degree from 1 to", polyhedral, "icosahedral", 5)
    refused("grid_degree = 6 is below max_degree = 8", polyhedral_basis, "octahedral", 8, 6)


def test_rates_of_states_without_an_axis_have_no_order():
    """Azimuthal numbers of a state without an axis would be made up."""
    problem = weak(SPHERE, 4.0, 0.02)
    rates = stationary_state(problem, "tetrahedral", [0.0]).growth_rates(4)
    assert [result.order for result in rates] == [None] * 4
    # Degree 1 grows fastest, three times; degree 2 follows.
    expected = mf.growth_rates(problem)[[1, 1, 1, 2]]
    np.testing.assert_allclose([result.rate for result in rates], expected, rtol=1e-9)


@pytest.mark.slow
def test_polyhedral_density_refuses_what_does_not_fit(monkeypatch):
    """A density cut off at its highest degrees would be no fixed point."""
    # The package has a function of the module's name.
    module, state = import_module("meanfield.stationary.self_consistency"), state_of("octahedral")
    monkeypatch.setattr(module, "_LARGEST", 1.0)
    refused("needs a grid finer than degree", state.density)
