"""Antipodal tokens of R^d without normalisation."""

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

from meanfield.arrays import FloatArray
from meanfield.theory.antipodal import antipodal_square


@pytest.mark.parametrize(
    ("value", "times", "known"),
    [
        (-1.0, [1, 2, 5, 10], [0.358076411297, 0.210798105133, 0.093415937796, 0.048333020689]),
        (1.0, [1, 2, 5], [6.644806850713, 49.09883890841, 19807.88534271]),
    ],
)
def test_pair_has_its_printed_radii(value: float, times: list[float], known: list[float]) -> None:
    """Algebraic decay or exponential growth, and the integral of dw / (2 w tanh w) is the time."""
    found = antipodal_square(np.array(times, dtype=float), 1.0, value=value)
    np.testing.assert_allclose(found, known, rtol=6e-13, atol=6e-13)
    passed = quad(lambda q: 1 / (2 * np.tanh(np.exp(q))), 0, np.log(found[-1]), epsabs=1e-13)[0]
    assert value * passed == pytest.approx(times[-1], rel=1e-12)


def test_pair_meets_like_an_inverse_time() -> None:
    """Exponential decay would be wrong: w t -> (2 + m) / 4."""
    for between in (0, 1, 5):
        (late,) = antipodal_square(np.array([1e6]), 1.0, value=-1.0, between=between)
        assert 1e6 * late == pytest.approx((2 + between) / 4, rel=1e-4)


def test_tokens_between_are_felt() -> None:
    """Vectors of R^3: a pair, with two tokens at 0, beta = 0.7 and V = -1.3."""
    x = np.array([0.9, -0.3, 0.5])
    tokens = np.stack([x, np.zeros(3), -x, np.zeros(3)])

    def speed(t: float, flat: FloatArray) -> FloatArray:
        y = flat.reshape(4, 3)
        weights = np.exp(0.7 * y @ y.T)
        weights /= weights.sum(axis=1, keepdims=True)
        return np.asarray(-1.3 * weights @ y).ravel()

    run = solve_ivp(speed, (0, 2), tokens.ravel(), method="DOP853", rtol=1e-12, atol=1e-14)
    (found,) = antipodal_square(np.array([2.0]), 0.7 * x @ x, value=-1.3, between=2)
    assert found == pytest.approx(0.7 * np.sum(run.y[:3, -1] ** 2), rel=1e-11)
    # The triple on a line, u' = u (e^{u^2} - e^{-u^2}) / (e^{u^2} + 1 + e^{-u^2}).
    line = solve_ivp(
        lambda t, u: u * 2 * np.sinh(u * u) / (1 + 2 * np.cosh(u * u)), (0, 1.5), [0.6], rtol=1e-11
    )
    (found,) = antipodal_square(np.array([1.5]), 0.36, between=1)
    assert found == pytest.approx(line.y[0, -1] ** 2, rel=1e-5)
    assert antipodal_square(np.array([400.0]), 1.0)[0] == np.inf


def test_what_is_no_pair_is_refused() -> None:
    """Numbers out of range."""
    for call, message in [
        (lambda: antipodal_square(np.ones(1), 0.0), "start must be positive, got 0"),
        (lambda: antipodal_square(-np.ones(1), 1.0), "not negative and in order"),
        (lambda: antipodal_square(np.ones(1), 1.0, between=-1), "between must be at least 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
