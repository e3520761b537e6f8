"""Scattered points on the sphere: moments, values and gradients against direct sums."""

import numpy as np
import pytest
from any_threads import check_any_threads
from parameters import refused, together
from random_data import special_and_random, sphere_field
from scipy.special import sph_harm_y

from meanfield.engines.harmonics import points as sphere_points
from meanfield.engines.harmonics import solid
from meanfield.engines.harmonics.coefficients import count_of, index
from meanfield.spaces.sphere.sphere import Sphere

SPHERE = Sphere()
DEGREE = 24


@pytest.fixture(autouse=True, params=[True, False], ids=["solid", "transforms"])
def method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each method for all points: their crossovers are a matter of time."""
    monkeypatch.setattr(solid, "is_faster", lambda *_: request.param)


def harmonics(points: np.ndarray, degree: int) -> np.ndarray:
    """Y_lm(x_j) by SciPy, shape (count of coefficients, n)."""
    x, y, z = points.T
    theta, phi = np.arctan2(np.hypot(x, y), z), np.arctan2(y, x)
    result = np.empty((count_of(degree), len(points)), dtype=np.complex128)
    for m in range(degree + 1):
        for l in range(m, degree + 1):
            result[index(l, m, degree)] = np.sqrt(4 * np.pi) * sph_harm_y(l, m, theta, phi)
    return result


def zonal_gradient(points: np.ndarray, centre: np.ndarray, legendre: np.ndarray) -> np.ndarray:
    """Gradient of h(<x, centre>): h'(s) (centre - s x), with h(s) = sum_l legendre_l P_l(s).

    No angles and no poles: it judges those who have them.
    """
    s = points @ centre
    derivatives = np.polynomial.legendre.Legendre(legendre).deriv()(s)
    return derivatives[:, None] * (centre - s[:, None] * points)


def test_moments_are_the_direct_sums():
    """Weighted tokens anywhere, poles included; no weights are equal ones, and order 0 is real."""
    rng = np.random.default_rng(1)
    points, weights = special_and_random(1000), rng.random(1000)
    weights /= weights.sum()
    expected = np.conj(harmonics(points, DEGREE)) @ weights
    result = sphere_points.moments(points, weights, DEGREE)
    # The sum is over 1,000 tokens of mass 1e-3.
    np.testing.assert_allclose(result, expected, rtol=0, atol=2e-14)
    result, equal = (sphere_points.moments(points, w, DEGREE) for w in (None, np.full(1000, 1e-3)))
    np.testing.assert_array_equal(result, equal)
    assert result[0] == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_array_equal(result[: DEGREE + 1].imag, 0.0)


def test_evaluate_is_the_direct_sum():
    """Values at scattered points, poles included."""
    points, field = special_and_random(500), sphere_field(DEGREE)
    multiplicity = np.full(len(field), 2.0)
    multiplicity[: DEGREE + 1] = 1.0
    expected = ((multiplicity * field) @ harmonics(points, DEGREE)).real
    result = sphere_points.evaluate(field, points)
    np.testing.assert_allclose(result, expected, rtol=0, atol=5e-14)


def test_gradient_is_that_of_a_sum_over_tokens():
    """Gradient of sum_j w_j h(<x, x_j>), which knows no angles, at the poles and elsewhere."""
    # The tokens stand on special directions too: moments and gradient together are the velocity.
    rng = np.random.default_rng(2)
    legendre = rng.normal(size=DEGREE + 1) / DEGREE**2
    tokens, weights = special_and_random(30, seed=3), rng.random(30)
    weights /= weights.sum()
    points = special_and_random(200)
    pairs = zip(tokens, weights, strict=True)
    expected = sum(w * zonal_gradient(points, token, legendre) for token, w in pairs)
    multipliers = legendre / (2 * np.arange(DEGREE + 1) + 1)
    moments = sphere_points.moments(tokens, weights, DEGREE)
    result = sphere_points.gradient(SPHERE.convolve(multipliers, moments), points)
    # |h'| is about 1: 24 degrees of l^2 / 24^2.
    np.testing.assert_allclose(result, expected, rtol=0, atol=5e-14)


def test_zonal_oracle_is_the_derivative_along_great_circles():
    """The oracle first: a central difference of the direct sum, along a tangent."""
    rng = np.random.default_rng(4)
    x, centre = SPHERE.random_points(2, rng)
    legendre = rng.normal(size=6)
    tangent = np.cross(x, rng.normal(size=3))
    step = 1e-6
    ends, _ = SPHERE.retract(x + np.array([[step], [-step]]) * tangent)
    ahead, behind = np.polynomial.legendre.legval(ends @ centre, legendre)
    slope = zonal_gradient(x[None], centre, legendre)[0] @ tangent
    assert (ahead - behind) / (2 * step) == pytest.approx(slope, rel=1e-8)


def test_gradient_is_tangent_and_divided_by_the_divisor():
    """Velocities must not leave the sphere; the divisor may have another degree."""
    points, field = special_and_random(300), sphere_field(DEGREE)
    divisor = 0.1 * sphere_field(7, seed=6)
    divisor[0] = 2.0
    plain = sphere_points.gradient(field, points)
    np.testing.assert_allclose((plain * points).sum(axis=1), 0.0, rtol=0, atol=1e-14)
    result = sphere_points.gradient(field, points, divisor)
    expected = plain / sphere_points.evaluate(divisor, points)[:, None]
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-14)


def test_lengths_of_vectors_do_not_matter():
    """Directions count: a step of an integrator leaves the sphere a little."""
    points, field = special_and_random(100), sphere_field(DEGREE)
    longer = points * np.geomspace(1e-5, 1e5, 100)[:, None]
    for compute in (
        lambda p: sphere_points.moments(p, None, DEGREE),
        lambda p: sphere_points.evaluate(field, p),
        lambda p: sphere_points.gradient(field, p),
    ):
        expected = compute(points)
        slack = 1e-14 * np.abs(expected).max()
        np.testing.assert_allclose(compute(longer), expected, rtol=0, atol=slack)


@pytest.mark.parametrize("count", [10, 40_000, 100_001])
def test_threads_do_not_change_a_bit(count):
    """The number of threads changes the time and nothing else, again and again."""
    points = SPHERE.random_points(count, np.random.default_rng(9))
    weights = np.full(count, 1 / count)
    field, divisor = sphere_field(12), np.array([1.0, 0.1, 0.1j])
    check_any_threads(
        lambda: [
            sphere_points.moments(points, weights, 12),
            sphere_points.moments(points, None, 12),
            sphere_points.evaluate(field, points),
            sphere_points.gradient(field, points, divisor),
        ]
    )


def test_chunks_add_up():
    """Chunks would drop or repeat a token."""
    count = 70_001
    points = SPHERE.random_points(count, np.random.default_rng(10))
    parts = np.array_split(points, 7)
    expected = sum(len(p) / count * sphere_points.moments(p, None, 9) for p in parts)
    result = sphere_points.moments(points, None, 9)
    # The mass is off by 2e-14 in both, the rounding of 70,001 sums of weights.
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-14)


def test_degree_zero_is_the_mass():
    """The smallest degree: a constant, without gradient."""
    points = special_and_random(20)
    assert sphere_points.moments(points, None, 0) == pytest.approx([1.0], abs=2e-15)
    assert sphere_points.evaluate(np.array([2.0]), points) == pytest.approx(2.0, abs=1e-14)
    assert not np.any(sphere_points.gradient(np.array([2.0]), points))


def test_slope_holds_for_fields_with_a_constant():
    """A field g with a mean of its own, and h = c g + constant."""
    points, field = SPHERE.random_points(50, np.random.default_rng(0)), sphere_field(6)
    divisor = 0.5 * field
    divisor[0] = 9.0
    result, expected = (sphere_points.gradient(field, points, divisor, *s) for s in ([0.5], []))
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_points_that_are_none_give_nan_there(value):
    """A state that broke down must be seen, without a warning or an error."""
    points, field = SPHERE.random_points(50, np.random.default_rng(0)), sphere_field(5)
    broken = points.copy()
    broken[20, 1] = value
    broken[30] = 0.0
    assert np.all(np.isnan(sphere_points.moments(broken, None, 5)))
    whole = np.isin(np.arange(50), [20, 30], invert=True)
    values = sphere_points.evaluate(field, broken)
    np.testing.assert_array_equal(np.isnan(values), ~whole)
    gradients = sphere_points.gradient(field, broken, field)
    np.testing.assert_array_equal(np.isnan(gradients).all(axis=1), ~whole)
    np.testing.assert_allclose(values[whole], sphere_points.evaluate(field, points)[whole])


def test_coefficients_that_are_nan_give_nan():
    """Nothing that is no number may become one."""
    points, field = SPHERE.random_points(20, np.random.default_rng(0)), sphere_field(5)
    field[7] = np.nan
    assert np.all(np.isnan(sphere_points.evaluate(field, points)))
    assert np.all(np.isnan(sphere_points.gradient(field, points)))
    weights = np.full(20, 1 / 20)
    weights[3] = np.nan
    assert np.all(np.isnan(sphere_points.moments(points, weights, 5)))


ONES = np.ones((4, 3))
VECTORS, SERIES = r"expected vectors of shape \(n, 3\)", "coefficients have shape .*, expected .*L"


@together(
    "call, arguments, message",
    [
        *((sphere_points.moments, (np.zeros(shape), None, 2), VECTORS)
          for shape in ((3,), (0, 3), (2, 2))),
        (sphere_points.moments, (ONES, np.ones(3), 2),
         r"weights have shape \(3,\), points \(4, 3\)"),
        (sphere_points.moments, (ONES, None, -1), "max_degree must be at least 0, got -1"),
        # A field is one row of 1, 3, 6, 10, ... coefficients.
        *((sphere_points.evaluate, (np.zeros(shape), ONES), SERIES)
          for shape in ((), (2, 6), (5,))),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(call, arguments, message):
    """One vector is an array of one row, with as many weights."""
    refused(message, call, *arguments)
