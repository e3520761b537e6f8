"""The minimiser of convex functions that finds the cut of the circle."""

import math

import pytest
from parameters import each

from meanfield.transport.circle.convex import minimise_convex


def piecewise_linear(kinks: list[float]):
    """Sum of |x - kink|, with its slope from the right; least at the median of the kinks."""

    def evaluate(x: float) -> tuple[float, float, float]:
        value = sum(abs(x - kink) for kink in kinks)
        return value, sum(1.0 if x >= kink else -1.0 for kink in kinks), 0.0

    return evaluate


@pytest.mark.parametrize("start", [-1.0, -0.3, 0.0, 0.61, 1.0])
def test_minimise_convex_lands_on_a_kink(start):
    """A kink between floats that tangents meet at would be missed by halving alone."""
    result = minimise_convex(piecewise_linear([-0.7, 0.1, 0.61]), -1.0, 1.0, start)
    assert result.position == pytest.approx(0.1, abs=1e-15)
    assert result.value == pytest.approx(0.8 + 0.51, abs=4e-16)


@each("start", [-(2**40), 0, 17, 2**40], minimum=[-(2**40), -5, 0, 3, 2**40])
def test_minimise_convex_is_exact_on_integers(minimum, start):
    """An end of the bracket, or the neighbour of one, would be skipped."""

    def evaluate(x: int) -> tuple[float, float, float]:
        return 1.0 + abs(x - minimum), 1.0 if x >= minimum else -1.0, 0.0

    result = minimise_convex(evaluate, -(2**40), 2**40, start)
    assert result == (1.0, minimum)
    assert isinstance(result.position, int)


@pytest.mark.parametrize("curved", [True, False])
def test_minimise_convex_finds_a_smooth_minimum(curved):
    """Newton steps, or secant steps where no curvature is given, would not converge."""
    count = 0

    def evaluate(x: float) -> tuple[float, float, float]:
        nonlocal count
        count += 1
        return math.cosh(x - 0.3), math.sinh(x - 0.3), math.cosh(x - 0.3) if curved else 0.0

    result = minimise_convex(evaluate, -2.0, 2.0, 1.5)
    # Flat as x^2: a relative excess of 1e-15 in the value is 5e-8 in the position.
    assert result.position == pytest.approx(0.3, abs=1e-7)
    assert result.value == pytest.approx(1.0, abs=2e-15)
    assert count <= (8 if curved else 25)


def test_minimise_convex_is_not_fooled_by_infinite_curvature():
    """A huge curvature at one position makes Newton's step vanish far from the minimum."""

    def evaluate(x: float) -> tuple[float, float, float]:
        return (x - 0.5) ** 2 + 1, 2 * (x - 0.5), 1e300 if x == 0.0 else 2.0

    assert minimise_convex(evaluate, -1.0, 1.0, 0.0).value == 1.0


def test_minimise_convex_stops_on_a_flat_bottom():
    """A slope of exactly 0 would be divided by."""
    result = minimise_convex(piecewise_linear([0.0, 1.0]), -3.0, 3.0, 2.0)
    assert result.value == 1.0
