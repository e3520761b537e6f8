"""The Poisson solution of the linear kernel, checked without any solver."""

import numpy as np
import pytest

from meanfield.theory.exact import poisson_radius


@pytest.mark.parametrize(
    "time, radius",
    [(1, "0.1634736400"), (2, "0.2635396738"), (4, "0.5962054907"), (8, "0.9837970850")],
)
def test_radius_equals_the_printed_values(time: float, radius: str) -> None:
    """Theory 1.4, r_0 = 0.1."""
    assert poisson_radius(time, 0.1) == pytest.approx(float(radius), abs=0.51e-10)


@pytest.mark.parametrize("strength", [1.0, -1.0, 0.3])
def test_radius_satisfies_its_equation(strength: float) -> None:
    """It is r' = strength (1 - r^2) r / 2; a wrong sign of strength would go backwards."""
    t, h = np.linspace(0.5, 6.0, 12), 1e-3
    values = [poisson_radius(t + j * h, 0.3, strength) for j in (-2, -1, 1, 2)]
    slope = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)
    r = poisson_radius(t, 0.3, strength)
    # Fourth differences: h^4 r^(5) / 30 = 1e-13, rounding eps / h = 2e-13.
    np.testing.assert_allclose(slope, strength * (1 - r**2) * r / 2, rtol=0, atol=2e-12)


def test_radius_starts_where_it_is_told() -> None:
    """Time 0 is the start, for scalars and arrays."""
    assert poisson_radius(0.0, 0.25) == pytest.approx(0.25, abs=1e-16)
    assert poisson_radius(np.zeros(3), 0.25).shape == (3,)


@pytest.mark.parametrize("start", [0.0, 1.0, -0.1, 1.5, np.nan])
def test_radius_refuses_impossible_starts(start: float) -> None:
    """Outside (0, 1) there is no Poisson density."""
    with pytest.raises(ValueError, match="start must lie between 0 and 1"):
        poisson_radius(1.0, start)
