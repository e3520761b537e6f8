"""The density's compiled right-hand side on the circle against its definition."""

import numpy as np
import pytest
from advection import advection, circle_advection
from parameters import together
from random_data import circle_field

import meanfield as mf
from meanfield.bases.fourier import CircleGrid
from meanfield.engines.fourier import density as circle_density
from meanfield.engines.fourier.blocks import block_size
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


@pytest.mark.parametrize("degree, reach", [(50, 41), (64, 50), (40, 64)])
def test_alias_criterion_is_sharp(degree, reach):
    """On 2K + H + 1 nodes products are exact, on one node fewer the highest degree is wrong."""
    f, potential = circle_field(degree, 1), circle_field(reach, 2)
    expected = slope(product(f, slope(potential), degree))
    errors = [
        np.abs(circle_advection(f, potential, None, degree, np.array([size])) - expected).max()
        for size in (2 * degree + reach + 1, 2 * degree + reach)
    ]
    assert errors[0] < 1e-13 * np.abs(expected).max()
    assert errors[1] > 1e-3 * np.abs(expected).max()


@together(
    "degree, reach",
    [(200, reach) for reach in (1, 2, 7, 8, 9, 39, 40, 41, 63, 64, 65, 128, 129, 200)]
    # By two blocks or more.
    + [(1024, 41), (1331, 73), (2100, 146)],
)
def test_advection_is_the_exact_product(degree, reach):
    """Convolution, transforms and blocks of every size: no aliasing at any velocity degree."""
    f, potential = circle_field(degree, 3), circle_field(reach, 4)
    assert degree == 200 or 0 < 2 * block_size(reach, degree) <= degree
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
    ("beta", "concentrations", "narrow"),
    [(9.0, (2.0, 1.0), True), (1.0, (300.0, 300.0), True), (25.0, (300.0, 300.0), False)],
)
def test_quotient_of_few_degrees_equals_its_definition(beta, concentrations, narrow):
    """A quotient from the small grid, or refused there because Z is small far from the mass."""
    f, field = two_bumps(beta, concentrations, 400)
    quotient = circle_density._quotient(slope(field.potential), 0.0, field.partition)
    assert (quotient.size > 0) == narrow
    fine = CircleGrid(3000)
    partition = np.maximum(fine.to_nodal(field.partition), PARTITION_FLOOR)
    flux = fine.to_nodal(f) * fine.gradient(field.potential) / partition
    expected = fine.divergence(flux)[:401]
    found = advection(CIRCLE, 400, f, field.potential, field.partition)
    # The derivative multiplies the rounding of the flux by the degree.
    degrees = np.arange(1, 401)
    difference = np.abs(found - expected)[1:] / degrees
    assert difference.max() < 1e-14 * (np.abs(expected)[1:] / degrees).max()


@pytest.mark.parametrize(("fold", "amplitude"), [(64, 0.1), (128, 0.01), (176, 0.002)])
def test_quotient_that_repeats_itself_equals_its_definition(fold, amplitude):
    """Multiples above the small grid's degrees must not hide below, nor where nothing is looked at.

    Right-hand sides were wrong by 3e-3, 2e-2 and 4e-3 of their largest value.
    """
    f, multipliers = np.zeros(513, dtype=complex), np.zeros(fold + 1)
    f[[0, fold]] = 1.0, amplitude
    multipliers[[0, fold]] = 1.0, 0.9
    potential, partition = f[: fold + 1] * multipliers / 20.0, f[: fold + 1] * multipliers
    potential[0] = 0.0
    fine = CircleGrid(3000)
    flux = fine.to_nodal(f) * fine.gradient(potential) / fine.to_nodal(partition)
    expected = fine.divergence(flux)[:513]
    found = advection(CIRCLE, 512, f, potential, partition)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
@pytest.mark.parametrize("beta", [100.0, 1e4])
def test_advection_keeps_its_digits_when_velocities_are_small(beta, flow):
    """Fields of different size that share one transform would share its rounding, too."""
    # At beta = 1e4 velocities are 1e-6 of the density: unbalanced, 7 of 16 digits were lost.
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
    """Uniform measures create no field; balancing must not divide by its size."""
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
    """One call instead of three, by convolution, transforms and quotient: the same to the bit."""
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
