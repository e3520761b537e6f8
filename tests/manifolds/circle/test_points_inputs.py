"""What moments and series on the circle do with unusual inputs: huge, not finite, wrong."""

import numpy as np
import pytest

from meanfield.fields.circle.tokens import own_velocity
from meanfield.manifolds.circle.points import evaluate, gradient, moments


def _angles(n: int) -> np.ndarray:
    return np.random.default_rng(n).uniform(-np.pi, np.pi, n)


def _coefficients(max_degree: int) -> np.ndarray:
    rng = np.random.default_rng(max_degree)
    c = rng.normal(size=max_degree + 1) + 1j * rng.normal(size=max_degree + 1)
    return np.asarray(c / abs(c).sum())


@pytest.mark.parametrize("n", [5, 30_000])
def test_huge_angles_are_reduced(n: int) -> None:
    """Angles beyond the reach of the kernels' reduction are the same angles modulo 2 pi."""
    angles = _angles(n)
    angles[:5] = [1e3, -1e9, 1e13, 1e18, -3e300]
    wrapped = np.arctan2(np.sin(angles), np.cos(angles))
    coefficients = _coefficients(10)
    np.testing.assert_allclose(moments(angles, None, 10), moments(wrapped, None, 10), atol=1e-14)
    np.testing.assert_allclose(
        evaluate(coefficients, angles), evaluate(coefficients, wrapped), atol=1e-14
    )
    np.testing.assert_allclose(
        gradient(coefficients, angles), gradient(coefficients, wrapped), atol=1e-13
    )


@pytest.mark.parametrize("n", [5, 30_000])
def test_angles_that_are_not_finite_give_nan(n: int) -> None:
    """A run that blew up must not look healthy, and must not read outside a table."""
    angles = _angles(n)
    angles[1], angles[2] = np.nan, np.inf
    assert np.isnan(moments(angles, None, 3)[1:]).all()
    values = evaluate(_coefficients(3), angles)
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(values)), [1, 2])


@pytest.mark.parametrize("n", [40, 30_000])
def test_inputs_of_other_layouts_give_the_same(n: int) -> None:
    """Every second element of an array, or float32, is as good as a plain array."""
    angles = _angles(2 * n)
    weights = np.random.default_rng(10).dirichlet(np.ones(2 * n))
    coefficients = _coefficients(20)
    np.testing.assert_array_equal(
        moments(angles[::2], weights[::2], 20), moments(angles[::2].copy(), weights[::2].copy(), 20)
    )
    single = angles.astype(np.float32)
    np.testing.assert_array_equal(
        evaluate(coefficients[::2], single),  # type: ignore[arg-type]
        evaluate(coefficients[::2].copy(), single.astype(float)),
    )


@pytest.mark.parametrize("n", [40, 8_000])
def test_read_only_inputs_are_accepted(n: int) -> None:
    """Measures freeze their arrays; compiled code sees another type of array."""
    angles, coefficients = _angles(n), _coefficients(5)
    expected = moments(angles, None, 5), evaluate(coefficients, angles)
    angles.setflags(write=False)
    coefficients.setflags(write=False)
    np.testing.assert_array_equal(moments(angles, None, 5), expected[0])
    np.testing.assert_array_equal(evaluate(coefficients, angles), expected[1])


@pytest.mark.parametrize("points", [np.empty(0), np.zeros((3, 2))])
def test_points_must_be_angles(points: np.ndarray) -> None:
    """No tokens, no moments."""
    with pytest.raises(ValueError, match="expected angles of shape"):
        moments(points, None, 3)
    with pytest.raises(ValueError, match="expected angles of shape"):
        evaluate(np.ones(2), points)
    with pytest.raises(ValueError, match="expected angles of shape"):
        gradient(np.ones(2), points)


def test_weights_must_fit() -> None:
    """Compiled code would read beyond the array."""
    with pytest.raises(ValueError, match="weights have shape"):
        moments(np.zeros(3), np.ones(2), 3)


def test_multipliers_must_fit() -> None:
    """The compiled loop would read beyond the end of the shorter."""
    with pytest.raises(ValueError, match=r"shape \(3,\), attention_multipliers \(2,\)"):
        own_velocity(np.zeros(4), None, np.ones(3), np.ones(2))


def test_max_degree_must_not_be_negative() -> None:
    """There is no moment below degree 0."""
    with pytest.raises(ValueError, match="max_degree must be at least 0, got -1"):
        moments(np.zeros(3), None, -1)


@pytest.mark.parametrize("wrong", [np.empty(0), np.ones((2, 2))])
def test_coefficients_must_be_one_series(wrong: np.ndarray) -> None:
    """Neither nothing nor several series at once."""
    with pytest.raises(ValueError, match="coefficients have shape"):
        evaluate(wrong, np.zeros(3))
    with pytest.raises(ValueError, match="divisor have shape"):
        gradient(np.ones(2), np.zeros(3), wrong)
