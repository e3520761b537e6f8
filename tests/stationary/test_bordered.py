"""Points of curves by the bordered system."""

import numpy as np
import pytest

from meanfield.stationary.continuation import FARTHEST, ContinuationError, System, first_point

CIRCLE = System(
    lambda x, p: x**2 + p**2 - 1.0, lambda x, p: 2.0 * x[:, None], lambda x, p: np.array([2.0 * p])
)


def test_newton_reaches_rounding_from_afar():
    """On the line x - p = 0.4 the circle has the point x = 0.2 + sqrt(0.46)."""
    point = first_point(CIRCLE, np.array([0.9]), 0.5, np.array([1.0, -1.0]))
    assert point.state[0] == pytest.approx(0.2 + np.sqrt(0.46), abs=1e-15)
    assert point.parameter == pytest.approx(np.sqrt(0.46) - 0.2, abs=1e-15)


def test_row_says_which_way():
    """The tangent at (1, 0) is (0, 1) or (0, -1)."""
    for way in (1.0, -1.0):
        point = first_point(CIRCLE, np.array([1.0]), 0.0, np.array([0.0, way]))
        np.testing.assert_allclose(point.tangent, [0.0, way], atol=1e-15)


def test_several_unknowns_agree_with_the_logarithm_of_the_determinant():
    """The sign and size of a determinant of many factors follow the permutation of rows."""
    rng = np.random.default_rng(0)
    matrix, slope = rng.normal(size=(7, 7)), rng.normal(size=7)
    linear = System(lambda x, p: matrix @ x + p * slope, lambda x, p: matrix, lambda x, p: slope)
    point = first_point(linear, np.zeros(7), 0.0, rng.normal(size=8))
    bordered = np.vstack([np.column_stack([matrix, slope]), point.tangent])
    np.testing.assert_allclose(point.determinant, np.linalg.slogdet(bordered), atol=1e-13)


def test_newton_does_not_jump_to_other_parameters():
    """A step of Newton's method may go anywhere, and functions of exp(p) overflow there."""
    records: list[float] = []

    def residual(x: np.ndarray, p: float) -> np.ndarray:
        records.append(p)
        return x - np.exp(-p) * 1e-6

    growing = System(residual, lambda x, p: np.eye(1), lambda x, p: np.exp([-p]) * 1e-6)
    with pytest.raises(ContinuationError):
        first_point(growing, np.array([1.0]), 0.0, np.array([1.0, 0.0]))
    assert max(abs(p) for p in records) <= FARTHEST


def test_no_point_near_the_guess_is_an_error():
    """x^2 + p^2 = 1 has no point with p = 2."""
    with pytest.raises(ContinuationError, match="no point of the curve near the guess at p = 2"):
        first_point(CIRCLE, np.array([0.3]), 2.0, np.array([0.0, 1.0]))
