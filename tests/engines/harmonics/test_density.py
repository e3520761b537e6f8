"""The density's right-hand side on the sphere: exact products, quotients, threads."""

import numpy as np
import pytest
from advection import advection
from random_data import sphere_field

from meanfield.bases.harmonics import SphereGrid
from meanfield.engines.harmonics import coefficients as packing
from meanfield.engines.harmonics.rings import rings
from meanfield.engines.partition import PARTITION_FLOOR
from meanfield.engines.threads import set_threads
from meanfield.spaces.sphere.sphere import Sphere

SPHERE = Sphere()


def largest(array: np.ndarray) -> float:
    return float(np.abs(array).max())


@pytest.mark.parametrize(("degree", "felt"), [(8, 1), (8, 3), (8, 8), (8, 12), (31, 14), (1, 1)])
def test_polynomial_advection_is_exact(degree, felt):
    """Free of aliasing: the same on its small rings and on rings many times finer."""
    density = sphere_field(degree, mean=1.0)
    potential = sphere_field(felt, seed=2)
    fine = rings(8 * (degree + felt))
    flux = fine.gradients(potential) * fine.values(density)
    expected = packing.resize(fine.divergence(flux, degree + felt), degree)
    found = advection(SPHERE, degree, density, potential)
    np.testing.assert_allclose(found, expected, rtol=0, atol=3e-14 * largest(expected))


def test_polynomial_advection_needs_all_its_rings():
    """The sizes are no larger than they must be: a degree of exactness fewer, and it is wrong."""
    degree, felt = 9, 4
    density, potential = sphere_field(degree, mean=1.0), sphere_field(felt, seed=2)
    expected = advection(SPHERE, degree, density, potential)
    coarse = rings(2 * degree + felt - 2)
    found = coarse.divergence(coarse.gradients(potential) * coarse.values(density), degree)
    assert largest(found - expected) > 1e-6 * largest(expected)


@pytest.mark.parametrize("felt", [5, 12])
def test_quotient_advection_is_that_of_the_grid(felt):
    """With a partition function: div(f grad Phi / Z) on the grid that is exact to 3 L."""
    grid = SphereGrid(12)
    density, potential = sphere_field(12, mean=1.0), sphere_field(felt, seed=3)
    partition = sphere_field(felt, seed=4, mean=2.0)
    flux = grid.gradient(potential) * (grid.to_nodal(density) / grid.to_nodal(partition))
    found = advection(SPHERE, grid.max_degree, density, potential, partition)
    np.testing.assert_allclose(found, grid.divergence(flux), rtol=0, atol=1e-14)


def test_partition_of_rounding_is_floored():
    """Where Z is the rounding of its transform, or below zero, the quotient stays bounded."""
    grid = SphereGrid(6)
    density, potential = sphere_field(6, mean=1.0), sphere_field(6, seed=5)
    partition = np.zeros_like(density)
    partition[0] = -1.0
    found = advection(SPHERE, grid.max_degree, density, potential, partition)
    expected = advection(SPHERE, grid.max_degree, density, potential) / PARTITION_FLOOR
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * largest(expected))


@pytest.mark.parametrize("degree", [0, 5, 31, 100])
def test_uniform_stays_uniform_to_the_bit(degree):
    """Rounding would grow: no potential, no flux at all, normalised or not."""
    uniform = packing.resize(np.ones(1), degree)
    potential = np.zeros_like(uniform)
    for partition in (None, 0.7 * uniform):
        found = advection(SPHERE, degree, uniform, potential, partition)
        np.testing.assert_array_equal(found, 0.0)


def test_degree_zero_of_the_divergence_is_exactly_zero():
    """Mass never changes."""
    density, potential = sphere_field(20, mean=1.0), sphere_field(20, seed=6)
    assert advection(SPHERE, 20, density, potential)[0] == 0


@pytest.mark.parametrize("which", [0, 1, 2])
def test_nan_stays_nan(which):
    """A state that broke down must be seen by the stepper, without a warning or an error."""
    fields = [sphere_field(6, mean=1.0), sphere_field(6, seed=7), sphere_field(6, mean=2.0)]
    fields[which][5] = np.nan
    found = advection(SPHERE, 6, *fields)
    assert np.all(np.isnan(found[1:]))


def test_overflow_gives_no_warning():
    """Nor may a state on its way to infinity."""
    density, potential = sphere_field(6, mean=1.0), sphere_field(6, seed=7)
    found = advection(SPHERE, 6, 1e200 * density, 1e200 * potential)
    assert not np.all(np.isfinite(found))


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("degree", [12, 31, 70])
def test_batch_is_one_by_one_to_the_bit(normalized, degree):
    """Several densities of one degree, in one call of each transform."""
    batch = [np.stack([sphere_field(degree, seed=s, mean=1.0) for s in range(4)])]
    batch.append(np.stack([sphere_field(9, seed=s) for s in range(4)]))
    if normalized:
        batch.append(np.stack([sphere_field(9, seed=s, mean=2.0) for s in range(4)]))
    grid = SphereGrid(degree)
    together = advection(SPHERE, grid.max_degree, *batch)
    alone = [advection(SPHERE, grid.max_degree, *fields) for fields in zip(*batch, strict=True)]
    np.testing.assert_array_equal(together, alone)


@pytest.mark.usefixtures("same_threads")
@pytest.mark.parametrize("degree", [12, 63, 127])
def test_threads_do_not_change_a_bit_on_the_grid(degree):
    """Values, gradient, analysis and advection, for 1, 2 and 3 threads and again."""
    density, potential = sphere_field(degree, mean=1.0), sphere_field(degree, seed=8)
    grid, results = SphereGrid(degree), []
    for number in (1, 2, 3, 2):
        set_threads(number)
        values = grid.to_nodal(density)
        results.append(
            [
                values, grid.gradient(potential), grid.to_modal(values),
                advection(SPHERE, grid.max_degree, density, potential, density),
            ]
        )  # fmt: skip
    for other in results[1:]:
        for first, second in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(first, second)
