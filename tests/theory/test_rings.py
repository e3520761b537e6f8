"""A ring of mass in any dimension, and its limit as that grows."""

import math

import numpy as np
import pytest

import meanfield as mf
from meanfield.theory.rings import ring_height


@pytest.mark.parametrize(
    ("d", "beta", "flow", "times", "known"),
    [
        (3, 1.0, mf.SA, [1, 2, 5], [0.5019973258751, 0.7650250801666, 0.9988176777285]),
        (3, 5.0, mf.SA, [1, 2, 5], [0.3341167250766, 0.3722311931709, 0.5164308623546]),
        (3, 20.0, mf.SA, [1, 2, 5], [0.3077068602677, 0.3156123581416, 0.3405731823399]),
        (8, 5.0, mf.SA, [1, 2, 5], [0.4643239237928, 0.6870686278231, 0.9973623786988]),
        (3, 5.0, mf.USA, np.array([0.05, 0.1, 0.2]), [0.35059063, 0.41161411, 0.58370313]),
    ],
)
def test_rings_have_their_printed_heights(
    d: int, beta: float, flow: mf.Flow, times: list[float], known: list[float]
) -> None:
    """Heights from 0.3; USA in the papers' time, to the eight digits known."""
    problem = mf.Problem(mf.Sphere(d), mf.exponential(beta), flow)
    scaled = np.array(times) * (1.0 if flow.normalized else math.exp(beta))
    found = ring_height(problem, scaled, 0.3)
    np.testing.assert_allclose(found, known, rtol=0, atol=3e-13 if flow.normalized else 6e-9)


def test_high_dimension_is_a_free_rise() -> None:
    """The limit has odds u^2 / (1 - u^2) that grow like e^{2t}; the error times d is -0.29."""
    odds = math.exp(2.0) * 0.09 / 0.91
    limit = math.sqrt(odds / (1 + odds))
    assert limit == pytest.approx(0.6497905376004, abs=1e-13)
    problem = mf.Problem(mf.Sphere(1024), mf.exponential(1.0), mf.SA)
    (found,) = ring_height(problem, np.array([1.0]), 0.3)
    assert 1024 * (found - limit) == pytest.approx(-0.2905, rel=1e-2)


def test_what_is_no_ring_is_refused() -> None:
    """The circle has no latitudes; heights lie between 0 and 1, times in order."""
    problem = mf.Problem(mf.Sphere(4), mf.exponential(1.0), mf.SA)
    for call, message in [
        (lambda: ring_height(mf.Problem(mf.Circle(), mf.exponential(1.0)), [1.0], 0.3), "d >= 3"),
        (lambda: ring_height(problem, [1.0], 0.0), "start must lie between 0 and 1, got 0"),
        (lambda: ring_height(problem, [1.0, 0.5], 0.3), "not negative and in order"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
