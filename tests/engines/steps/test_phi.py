"""The phi functions against exact arithmetic."""

import mpmath
import numpy as np
import pytest

from meanfield.engines.steps.phi import doubled, phi

ARGUMENTS = np.concatenate(
    [
        -np.logspace(-12, 8, 161),
        np.logspace(-12, np.log10(5.0), 81),
        np.linspace(-6.0, 5.0, 111),
        # Where the series meets the recurrence.
        [0.0, -2.0, 2.0, np.nextafter(2.0, 3.0), np.nextafter(-2.0, -3.0)],
    ]
)


def exact(order: int, z: float) -> mpmath.mpf:
    """phi_order(z) by the recurrence, with digits to lose."""
    with mpmath.workdps(80):
        if z == 0.0:
            return 1 / mpmath.factorial(order)
        value = mpmath.exp(mpmath.mpf(z))
        for k in range(order):
            value = (value - 1 / mpmath.factorial(k)) / mpmath.mpf(z)
        return value


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("halved", [False, True])
def test_phi_is_accurate(order, halved):
    """Cancellation for small arguments, or phi(z) from phi(z / 2), would cost all digits."""
    halves = 0.5 * ARGUMENTS
    values = doubled(np.exp(halves), *phi(halves)) if halved else phi(ARGUMENTS)
    exacts = [exact(order, float(z)) for z in ARGUMENTS]
    pairs = zip(map(mpmath.mpf, values[order - 1]), exacts, strict=True)
    errors = [abs((value - e) / e) for value, e in pairs]
    # Measured: 4e-16, and 5e-16 of the doubled ones.
    assert max(errors) < 1e-15


def test_phi_of_the_smallest_numbers_is_one_over_factorials():
    """Subnormal arguments must not divide zero by zero."""
    tiny = np.array([0.0, 5e-324, -5e-324, 1e-308, -1e-308])
    for value, limit in zip(phi(tiny), (1.0, 0.5, 1.0 / 6.0), strict=True):
        assert np.array_equal(value, np.full(5, limit))
