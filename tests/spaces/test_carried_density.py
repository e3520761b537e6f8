"""Densities read off nodes that were carried along: against maps whose densities are known."""

import numpy as np
import pytest

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.spaces.carried_density import PanelImages, images_of_cells
from meanfield.spaces.label_cells import label_cells

CIRCLE, SPHERE = mf.Circle(), mf.Sphere()


def boosted(points: FloatArray, rho: float) -> FloatArray:
    """Conformal map of the sphere that draws points to the north pole, 0 <= rho < 1."""
    x, y, z = points.T
    # Stereographic from the south pole: |w| shrinks by (1 - rho) / (1 + rho).
    plane = np.stack([x, y], -1) / (1.0 + z)[:, None] * (1.0 - rho) / (1.0 + rho)
    square = np.sum(plane**2, axis=-1)
    return np.column_stack([2 * plane, 1.0 - square]) / (1.0 + square)[:, None]


def test_density_of_an_exact_map_of_the_circle():
    """Theta = l + 0.9 sin l has the density 1 / (1 + 0.9 cos l); turns do not matter."""
    cells = label_cells(CIRCLE, 0.2)
    moved = cells.points + 0.9 * np.sin(cells.points)
    images = images_of_cells(CIRCLE, moved, cells.weights, cells.order)
    labels = np.linspace(-9.0, 9.0, 500)
    density = images.density(labels + 0.9 * np.sin(labels))
    # Sixteen nodes a panel leave 1e-12 of the map, and differentiation 16^2 as much.
    assert density == pytest.approx(1.0 / (1.0 + 0.9 * np.cos(labels)), rel=1e-9)


@pytest.mark.slow
def test_density_of_an_exact_map_of_the_sphere():
    """A conformal map has the density ((1 - rho^2) / (1 - 2 rho z + rho^2))^2."""
    rho, cells = 0.5, label_cells(SPHERE, 0.3)
    images = images_of_cells(SPHERE, boosted(cells.points, rho), cells.weights, cells.order)
    at = SPHERE.random_points(2000, np.random.default_rng(0))
    exact = ((1.0 - rho**2) / (1.0 - 2.0 * rho * at[:, 2] + rho**2)) ** 2
    # Ten nodes a side leave 1e-9, and differentiation 10^2 as much.
    assert images.density(at) == pytest.approx(exact, rel=1e-7)


def test_places_that_no_cell_resolves_have_no_density():
    """Where nodes are gone nothing is known, and a number would be made up."""
    cells = label_cells(SPHERE, 1.0)
    half = cells.points[:, 0].reshape(-1, cells.per_cell).max(axis=1) < 0.0
    values = np.repeat(half, cells.per_cell)
    images = images_of_cells(SPHERE, cells.points[values], cells.weights[values], cells.order)
    assert np.isnan(images.density(np.array([[1.0, 0.0, 0.0]])))
    assert np.isfinite(images.density(np.array([[-1.0, 0.0, 0.0]])))


@pytest.mark.parametrize(("space", "tolerance"), [(CIRCLE, 1e-9), (SPHERE, 1e-6)])
def test_characteristics_have_the_density_of_the_density(space, tolerance):
    """The same run as nodes and as coefficients would show two densities."""
    # The tolerance of nodes, 1e-10 and about 1e-8, in mass times position; of a density as much
    # over the size of a cell.
    law = mf.von_mises_fisher(1.0, mean=0.3 if space.dimension == 1 else [0.0, 0.6, 0.8])
    problem = mf.Problem(space, mf.exponential(3.0), mf.USA, law)
    nodes, modes = (
        mf.simulate(problem, until=1.0, save=2, representation=name).measures[-1]
        for name in ("characteristics", "density")
    )
    at = space.random_points(300, np.random.default_rng(1))
    assert nodes(at) == pytest.approx(modes(at), abs=tolerance)


def test_light_panels_that_fold_leave_heavy_ones_where_they_are():
    """A cluster would stand where nodes of no mass have gone past it."""
    order = 8
    x, weights = np.polynomial.legendre.leggauss(order)
    middles, masses = np.array([0.0, 2.2, 1.6, 4.0]), np.array([0.5, 1e-14, 0.5, 1e-14])
    angles = (middles[:, None] + 0.1 * x).ravel()
    images = PanelImages(angles, (masses[:, None] * weights / 2).ravel() / masses.sum(), order)
    edges = np.array([-0.2, 0.2, 1.4, 1.8, 5.5])
    masses = np.diff(images.mass_below(edges))
    assert masses == pytest.approx([0.5, 0.0, 0.5, 0.0], abs=1e-12)
    assert images.density(np.array([0.0, 1.6])) == pytest.approx(0.5 * np.pi / 0.1, rel=1e-9)
