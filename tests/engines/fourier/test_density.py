"""The density's compiled right-hand side on the circle against its definition."""

import numpy as np
import pytest
from advection import advection, circle_advection
from parameters import together
from random_data import circle_field

import meanfield as mf
from meanfield.bases.fourier import CircleGrid
from meanfield.engines.fourier.transform import roots_of_unity
from meanfield.engines.partition import PARTITION_FLOOR
from meanfield.fields.mean_field import interaction

CIRCLE = mf.Circle()


def product(first: np.ndarray, second: np.ndarray, degree: int) -> np.ndarray:
    """Coefficients of the product of two real fields by the plain convolution of their series."""
    full = np.convolve(*(np.concatenate([np.conj(c[:0:-1]), c]) for c in (first, second)))
    result = full[len(full) // 2 :][: degree + 1]
    return np.pad(result, (0, degree + 1 - len(result)))


def slope(potential: np.ndarray) -> np.ndarray:
    return 1j * np.arange(len(potential)) * potential


@pytest.mark.parametrize("degree, reach", [(60, 71), (70, 51), (80, 31)])
def test_alias_criterion_is_sharp(degree, reach):
    """On 2K + H + 1 nodes products are exact, with one degree more the highest is wrong."""
    errors = []
    for velocity_degree in (reach, reach + 1):
        f, potential = circle_field(degree, 1), circle_field(velocity_degree, 2)
        expected = slope(product(f, slope(potential), degree))
        # 2K + H + 1 = 2N.
        result = circle_advection(f, potential, None, degree, roots_of_unity(96))
        errors.append(np.abs(result - expected).max() / np.abs(expected).max())
    assert errors[0] < 1e-13
    assert errors[1] > 1e-3


@together(
    "degree, reach",
    [(200, reach) for reach in (1, 2, 7, 8, 9, 39, 64, 65, 128, 129, 200)]
    + [(1024, 41), (1331, 73), (2100, 146)],
)
def test_advection_is_the_exact_product(degree, reach):
    """No aliasing at any velocity degree, nor where a density has fewer degrees."""
    f, potential = circle_field(degree, 3), circle_field(reach, 4)
    for count in (degree + 1, max(degree - 600, 50), 5):
        expected = slope(product(f[:count], slope(potential), degree))
        result = advection(CIRCLE, degree, f[:count], potential)
        np.testing.assert_allclose(result, expected, rtol=0, atol=1e-14 * np.abs(expected).max())
        assert result[0] == 0.0
    assert not np.any(advection(CIRCLE, degree, f, 0.0 * potential))


def normalized_advection(beta, concentrations, degree, fine_degree):
    """Div(f grad Phi / Z) of two bumps, and the same by parts on a much finer grid."""
    field = interaction(mf.Problem(CIRCLE, mf.exponential(beta), mf.SA)).field
    law = mf.mixture([(0.6, 0.3, concentrations[0]), (0.4, 2.0, concentrations[1])])
    f = CIRCLE.resize(law.build(CIRCLE).coefficients, degree)
    field, fine = field(f), CircleGrid(fine_degree)
    partition = np.maximum(fine.to_nodal(field.partition), PARTITION_FLOOR)
    flux = fine.to_nodal(f) * fine.gradient(field.potential) / partition
    expected = fine.divergence(flux)[: degree + 1]
    return advection(CIRCLE, degree, f, field.potential, field.partition), expected


@pytest.mark.parametrize("beta", [1.0, 9.0, 100.0])
def test_normalized_advection_equals_its_definition(beta):
    """Products and the quotient would be aliased."""
    result, expected = normalized_advection(beta, (9.0, 3.0), 100, 1000)
    np.testing.assert_allclose(result, expected, rtol=0, atol=2e-14 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("beta", "concentrations"), [(9.0, (2.0, 1.0)), (1.0, (300.0, 300.0)), (25.0, (300.0, 300.0))]
)
def test_normalized_flux_keeps_its_digits(beta, concentrations):
    """Also where Z is small, far from the mass."""
    result, expected = normalized_advection(beta, concentrations, 400, 3000)
    # The derivative multiplies the rounding of the flux by the degree.
    degrees = np.arange(1, 401)
    difference = np.abs(result - expected)[1:] / degrees
    assert difference.max() < 1e-14 * (np.abs(expected)[1:] / degrees).max()


@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
@pytest.mark.parametrize("beta", [100.0, 1e4])
def test_advection_keeps_its_digits_when_velocities_are_small(beta, flow):
    """Fields of different size that share one transform would share its rounding, too."""
    # At beta = 1e4 velocities are 1e-6 of the density: 7 of 16 digits were lost.
    problem = mf.Problem(CIRCLE, mf.exponential(beta), flow)
    law = mf.mixture([(0.5, 0.3, 20.0), (0.3, 2.0, 5.0), (0.2, 4.0, 1.0)]).build(CIRCLE)
    grid = CircleGrid(problem.kernel_degree)
    f = CIRCLE.resize(law.coefficients, grid.max_degree)
    field = interaction(problem).field(f)
    flux = grid.to_nodal(f) * grid.gradient(field.potential)
    if field.partition is not None:
        flux /= grid.to_nodal(field.partition)
    expected = grid.divergence(flux)
    result = advection(CIRCLE, grid.max_degree, f, field.potential, field.partition)
    # The transforms by parts err by 1e-14 themselves at 900 degrees.
    np.testing.assert_allclose(result, expected, rtol=0, atol=5e-14 * np.abs(expected).max())


@pytest.mark.parametrize("reach", [10, 60])
def test_normalized_advection_of_a_vanishing_field_is_zero(reach):
    """Uniform measures create no field: rounding would grow."""
    one = np.eye(1, reach + 1, dtype=complex)[0]
    assert not np.any(advection(CIRCLE, 100, circle_field(100), 0.0 * one, one))


@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
@pytest.mark.parametrize("beta", [5.0, 100.0])
def test_transport_is_the_advection_of_a_density_by_its_own_field(beta, flow):
    """One call instead of three: the same to the bit."""
    mean_field = interaction(mf.Problem(CIRCLE, mf.exponential(beta), flow))
    f = circle_field(200, 5)
    field = mean_field.field(f)
    expected = -advection(CIRCLE, 200, f, field.potential, field.partition)
    assert np.array_equal(mean_field.transport(200)(f, False), expected)


@pytest.mark.parametrize("beta", [5.0, 100.0])
def test_transport_of_a_perturbation_leaves_the_mean_where_it_is(beta):
    """1e-12 of a perturbation: a mean that moved with it would cost twelve digits."""
    mean_field = interaction(mf.Problem(CIRCLE, mf.exponential(beta), mf.USA))
    f = 1e-12 * circle_field(200, 6)
    f[0] = 1.0
    deviation = f - np.eye(1, 201)[0]
    expected = -advection(CIRCLE, 200, deviation, mean_field.field(f).potential)
    assert np.array_equal(mean_field.transport(200)(f, True), expected)
    assert np.abs(expected).max() < 1e-21


@pytest.mark.parametrize("flow", [mf.USA, mf.SA, mf.Flow("softmax", strength=-2.0)])
@together("degree, count", [(0, 1), (1, 2), (2, 3), (7, 2), (63, 64), (64, 70), (200, 201)])
def test_linear_kernel_moves_densities_without_transforms(flow, degree, count):
    """Its velocity has degree 1, and Z is the mass."""
    mean_field = interaction(mf.Problem(CIRCLE, mf.linear(), flow))
    f, uniform = circle_field(count - 1, 7), np.eye(1, count, dtype=complex)[0]
    f[0] = 0.7 if flow.normalized else 1.0
    velocity = slope(mean_field.field(f).potential[:2]) / f[0]
    transport = mean_field.transport(degree)
    cases = [(f, False), (f - uniform, True)] if flow == mf.USA else [(f, False)]
    for moved, perturbation in cases:
        expected = -slope(product(moved, velocity, degree))
        result = transport(f, perturbation)
        np.testing.assert_allclose(result, expected, rtol=0, atol=1e-15 * np.abs(expected).max())
    assert not np.any(transport(uniform, False))
