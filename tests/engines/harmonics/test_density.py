"""The density's right-hand side on the sphere: exact products, quotients, threads."""

import numpy as np
import pytest
from advection import advection
from any_threads import check_any_threads
from random_data import sphere_field

from meanfield.bases.harmonics import SphereGrid
from meanfield.engines.harmonics import coefficients as packing
from meanfield.engines.harmonics.rings import rings
from meanfield.engines.partition import PARTITION_FLOOR
from meanfield.spaces.sphere.sphere import Sphere

SPHERE = Sphere()


def largest(array: np.ndarray) -> float:
    return float(np.abs(array).max())


@pytest.mark.parametrize(("degree", "reach"), [(8, 1), (8, 3), (8, 8), (8, 12), (31, 14), (1, 1)])
def test_polynomial_advection_is_exact(degree, reach):
    """Free of aliasing: as on rings many times finer; mass never changes."""
    density, potential = sphere_field(degree, mean=1.0), sphere_field(reach, seed=2)
    fine = rings(8 * (degree + reach))
    flux = fine.gradients(potential) * fine.values(density)
    expected = packing.resize(fine.divergence(flux, degree + reach), degree)
    result = advection(SPHERE, degree, density, potential)
    np.testing.assert_allclose(result, expected, rtol=0, atol=3e-14 * largest(expected))
    assert result[0] == 0


def test_polynomial_advection_needs_all_its_rings():
    """The sizes are no larger than they must be: a degree of exactness fewer, and it is wrong."""
    degree, reach = 9, 4
    density, potential = sphere_field(degree, mean=1.0), sphere_field(reach, seed=2)
    expected = advection(SPHERE, degree, density, potential)
    coarse = rings(2 * degree + reach - 2)
    result = coarse.divergence(coarse.gradients(potential) * coarse.values(density), degree)
    assert largest(result - expected) > 1e-6 * largest(expected)


@pytest.mark.parametrize("reach", [5, 12])
def test_quotient_advection_is_that_of_the_grid(reach):
    """With a partition function: div(f grad Phi / Z) on the grid that is exact to 3 L."""
    grid = SphereGrid(12)
    density, potential = sphere_field(12, mean=1.0), sphere_field(reach, seed=3)
    partition = sphere_field(reach, seed=4, mean=2.0)
    flux = grid.gradient(potential) * (grid.to_nodal(density) / grid.to_nodal(partition))
    result = advection(SPHERE, 12, density, potential, partition)
    np.testing.assert_allclose(result, grid.divergence(flux), rtol=0, atol=1e-14)


def test_partition_of_rounding_is_floored():
    """Where Z is the rounding of its transform, or below zero, the quotient stays bounded."""
    density, potential = sphere_field(6, mean=1.0), sphere_field(6, seed=5)
    result = advection(SPHERE, 6, density, potential, packing.resize(-np.ones(1), 6))
    expected = advection(SPHERE, 6, density, potential) / PARTITION_FLOOR
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-13 * largest(expected))


@pytest.mark.parametrize("degree", [0, 5, 31, 100])
def test_uniform_stays_uniform_to_the_bit(degree):
    """Rounding would grow: no potential, no flux at all, normalised or not."""
    uniform = packing.resize(np.ones(1), degree)
    potential = np.zeros_like(uniform)
    for partition in (None, 0.7 * uniform):
        assert not np.any(advection(SPHERE, degree, uniform, potential, partition))


@pytest.mark.parametrize("which", [0, 1, 2])
def test_nan_stays_nan(which):
    """A state that broke down must be seen by the stepper, without a warning or an error."""
    fields = [sphere_field(6, mean=1.0), sphere_field(6, seed=7), sphere_field(6, mean=2.0)]
    fields[which][5] = np.nan
    assert np.all(np.isnan(advection(SPHERE, 6, *fields)[1:]))


def test_overflow_gives_no_warning():
    """Nor may a state on its way to infinity."""
    density, potential = sphere_field(6, mean=1.0), sphere_field(6, seed=7)
    result = advection(SPHERE, 6, 1e200 * density, 1e200 * potential)
    assert not np.all(np.isfinite(result))


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("degree", [12, 31, 70])
def test_batch_is_one_by_one_to_the_bit(normalized, degree):
    """Several densities of one degree, in one call of each transform."""
    batch = [np.stack([sphere_field(degree, seed=s, mean=1.0) for s in range(4)])]
    batch.append(np.stack([sphere_field(9, seed=s) for s in range(4)]))
    if normalized:
        batch.append(np.stack([sphere_field(9, seed=s, mean=2.0) for s in range(4)]))
    alone = [advection(SPHERE, degree, *fields) for fields in zip(*batch, strict=True)]
    np.testing.assert_array_equal(advection(SPHERE, degree, *batch), alone)


@pytest.mark.parametrize("degree", [12, 63, 127])
def test_threads_do_not_change_a_bit_on_the_grid(degree):
    """Values, gradient, analysis and advection."""
    density, potential = sphere_field(degree, mean=1.0), sphere_field(degree, seed=8)
    grid = SphereGrid(degree)

    def compute() -> list:
        values = grid.to_nodal(density)
        moved = advection(SPHERE, degree, density, potential, density)
        return [values, grid.gradient(potential), grid.to_modal(values), moved]

    check_any_threads(compute)
