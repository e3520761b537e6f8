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
    both = [np.concatenate([np.conj(c[:0:-1]), c]) for c in (first, second)]
    full = np.convolve(*both)
    centre = len(full) // 2
    found = full[centre : centre + degree + 1]
    return np.concatenate([found, np.zeros(degree + 1 - len(found))])


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
        found = circle_advection(f, potential, None, degree, roots_of_unity(96))
        errors.append(np.abs(found - expected).max() / np.abs(expected).max())
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
    for known in (degree + 1, max(degree - 600, 50), 5):
        expected = slope(product(f[:known], slope(potential), degree))
        found = advection(CIRCLE, degree, f[:known], potential)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14 * np.abs(expected).max())
        assert found[0] == 0.0
    assert not np.any(advection(CIRCLE, degree, f, 0.0 * potential))


def two_bumps(beta, concentrations, degree):
    problem = mf.Problem(mf.Circle(), mf.exponential(beta), mf.SA)
    first, second = concentrations
    law = mf.mixture([(0.6, 0.3, first), (0.4, 2.0, second)]).build(mf.Circle())
    f = mf.Circle().resize(law.coefficients, degree)
    return f, interaction(problem).field(f)


@pytest.mark.parametrize("beta", [1.0, 9.0, 100.0])
def test_normalized_advection_equals_its_definition(beta):
    """div(f grad Phi / Z) by parts on a much finer grid."""
    f, field = two_bumps(beta, (9.0, 3.0), 100)
    fine = CircleGrid(1000)
    flux = fine.to_nodal(f) * fine.gradient(field.potential) / fine.to_nodal(field.partition)
    expected = fine.divergence(flux)[:101]
    found = advection(CIRCLE, 100, f, field.potential, field.partition)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-14 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("beta", "concentrations"), [(9.0, (2.0, 1.0)), (1.0, (300.0, 300.0)), (25.0, (300.0, 300.0))]
)
def test_normalized_flux_keeps_its_digits(beta, concentrations):
    """Also where Z is small, far from the mass."""
    f, field = two_bumps(beta, concentrations, 400)
    fine = CircleGrid(3000)
    partition = np.maximum(fine.to_nodal(field.partition), PARTITION_FLOOR)
    flux = fine.to_nodal(f) * fine.gradient(field.potential) / partition
    expected = fine.divergence(flux)[:401]
    found = advection(CIRCLE, 400, f, field.potential, field.partition)
    # The derivative multiplies the rounding of the flux by the degree.
    degrees = np.arange(1, 401)
    difference = np.abs(found - expected)[1:] / degrees
    assert difference.max() < 1e-14 * (np.abs(expected)[1:] / degrees).max()


@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
@pytest.mark.parametrize("beta", [100.0, 1e4])
def test_advection_keeps_its_digits_when_velocities_are_small(beta, flow):
    """Fields of different size that share one transform would share its rounding, too."""
    # At beta = 1e4 velocities are 1e-6 of the density: 7 of 16 digits were lost.
    problem = mf.Problem(mf.Circle(), mf.exponential(beta), flow)
    law = mf.mixture([(0.5, 0.3, 20.0), (0.3, 2.0, 5.0), (0.2, 4.0, 1.0)]).build(mf.Circle())
    grid = CircleGrid(problem.kernel_degree)
    f = mf.Circle().resize(law.coefficients, grid.max_degree)
    field = interaction(problem).field(f)
    flux = grid.to_nodal(f) * grid.gradient(field.potential)
    if field.partition is not None:
        flux /= grid.to_nodal(field.partition)
    expected = grid.divergence(flux)
    found = advection(CIRCLE, grid.max_degree, f, field.potential, field.partition)
    # The transforms by parts err by 1e-14 themselves at 900 degrees.
    np.testing.assert_allclose(found, expected, rtol=0, atol=5e-14 * np.abs(expected).max())


def test_advection_of_a_vanishing_field_is_zero():
    """Uniform measures create no field: rounding would grow."""
    f = circle_field(100)
    for reach in (10, 60):
        nothing = np.zeros(reach + 1, dtype=complex)
        one = np.zeros(reach + 1, dtype=complex)
        one[0] = 1.0
        assert np.array_equal(advection(CIRCLE, 100, f, nothing), np.zeros(101))
        assert np.array_equal(advection(CIRCLE, 100, f, nothing, one), np.zeros(101))


@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
@pytest.mark.parametrize("beta", [5.0, 100.0])
def test_transport_is_the_advection_of_a_density_by_its_own_field(beta, flow):
    """One call instead of three: the same to the bit."""
    felt = interaction(mf.Problem(mf.Circle(), mf.exponential(beta), flow))
    f = circle_field(200, 5)
    field = felt.field(f)
    expected = -advection(CIRCLE, 200, f, field.potential, field.partition)
    assert np.array_equal(felt.transport(200)(f, False), expected)


@pytest.mark.parametrize("beta", [5.0, 100.0])
def test_transport_of_a_perturbation_leaves_the_mean_where_it_is(beta):
    """1e-12 of a perturbation: a mean that moved with it would cost twelve digits."""
    felt = interaction(mf.Problem(mf.Circle(), mf.exponential(beta), mf.USA))
    f = 1e-12 * circle_field(200, 6)
    f[0] = 1.0
    deviation = f.copy()
    deviation[0] = 0.0
    expected = -advection(CIRCLE, 200, deviation, felt.field(f).potential)
    found = felt.transport(200)(f, True)
    assert np.array_equal(found, expected)
    assert np.abs(expected).max() < 1e-21


@pytest.mark.parametrize("flow", [mf.USA, mf.SA, mf.Flow("softmax", strength=-2.0)])
@together("degree, known", [(0, 1), (1, 2), (2, 3), (7, 2), (63, 64), (64, 70), (200, 201)])
def test_linear_kernel_moves_densities_without_transforms(flow, degree, known):
    """Its velocity has degree 1, and Z is the mass."""
    felt = interaction(mf.Problem(mf.Circle(), mf.linear(), flow))
    f = circle_field(known - 1, 7)
    f[0] = 0.7 if flow.normalization == "softmax" else 1.0
    velocity = slope(felt.field(f).potential[:2]) / (f[0] if flow.normalization == "softmax" else 1)
    expected = -slope(product(f, velocity, degree))
    found = felt.transport(degree)(f, False)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15 * np.abs(expected).max())
    if flow == mf.USA:
        expected = -slope(product(f - np.eye(1, known)[0], velocity, degree))
        found = felt.transport(degree)(f, True)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15 * np.abs(expected).max())
    uniform = np.eye(1, known)[0].astype(complex)
    assert np.array_equal(felt.transport(degree)(uniform, False), np.zeros(degree + 1))
