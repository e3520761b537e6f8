"""What moments, values and gradients on the sphere refuse, and what they pass on."""

import numpy as np
import pytest

from meanfield.manifolds.sphere import points as sphere_points
from meanfield.manifolds.sphere.coefficients import count_of
from meanfield.manifolds.sphere.sphere import Sphere

SPHERE = Sphere()


def random_field(degree: int, seed: int = 0) -> np.ndarray:
    """Coefficients of a real field with |g| of about 1."""
    rng = np.random.default_rng(seed)
    count = count_of(degree)
    found = (rng.normal(size=count) + 1j * rng.normal(size=count)) / (2 * np.sqrt(count))
    found[: degree + 1] = found[: degree + 1].real
    return found


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_points_that_are_none_give_nan_there(value: float) -> None:
    """A state that broke down must be seen, without a warning or an error."""
    points, field = SPHERE.random_points(50, np.random.default_rng(0)), random_field(5)
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


def test_coefficients_that_are_nan_give_nan() -> None:
    """Nothing that is no number may become one."""
    points, field = SPHERE.random_points(20, np.random.default_rng(0)), random_field(5)
    field[7] = np.nan
    assert np.all(np.isnan(sphere_points.evaluate(field, points)))
    assert np.all(np.isnan(sphere_points.gradient(field, points)))
    weights = np.full(20, 1 / 20)
    weights[3] = np.nan
    assert np.all(np.isnan(sphere_points.moments(points, weights, 5)))


@pytest.mark.parametrize("points", [np.zeros(3), np.zeros((0, 3)), np.zeros((2, 2))])
def test_other_shapes_of_points_are_refused(points: np.ndarray) -> None:
    """One vector is an array of one row."""
    with pytest.raises(ValueError, match=r"expected vectors of shape \(n, 3\)"):
        sphere_points.moments(points, None, 2)


def test_weights_that_do_not_fit_are_refused() -> None:
    """As many as points."""
    with pytest.raises(ValueError, match=r"weights have shape \(3,\), points \(4, 3\)"):
        sphere_points.moments(np.ones((4, 3)), np.ones(3), 2)


def test_negative_degree_is_refused() -> None:
    """There is none below 0."""
    with pytest.raises(ValueError, match="max_degree must be at least 0, got -1"):
        sphere_points.moments(np.ones((4, 3)), None, -1)


@pytest.mark.parametrize("shape", [(), (2, 6), (5,)])
def test_coefficients_of_no_degree_are_refused(shape: tuple[int, ...]) -> None:
    """A field is one row of 1, 3, 6, 10, ... coefficients."""
    with pytest.raises(ValueError, match=r"coefficients have shape .*, expected .*L"):
        sphere_points.evaluate(np.zeros(shape), np.ones((1, 3)))
