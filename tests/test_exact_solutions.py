"""The Poisson solutions of the linear kernel, which judge solvers, checked without any."""

import ducc0
import numpy as np
import pytest
from exact_solutions import hyperbolic_poisson_moments, hyperbolic_poisson_radius, poisson_radius
from scipy.special import eval_legendre

RADII = {"circle": poisson_radius, "sphere": hyperbolic_poisson_radius}


def mean_of(manifold: str, r: np.ndarray) -> np.ndarray:
    """m_1(r) as printed (theory 1.4)."""
    if manifold == "circle":
        return r
    return (1 + r**2) / (2 * r) - (1 - r**2) ** 2 / (4 * r**2) * np.log((1 + r) / (1 - r))


def test_solutions_equal_the_printed_values():
    """Theory 1.4, r_0 = 0.1: radii, m_1 and m_2 to all ten printed digits."""
    slack = 0.51e-10
    assert poisson_radius(4.0, 0.1) == pytest.approx(0.5962054907, abs=slack)
    result = hyperbolic_poisson_radius(np.array([1.0, 5.0]), 0.1)
    np.testing.assert_allclose(result, [0.1915989329, 0.9136279996], rtol=0, atol=slack)
    moments = [hyperbolic_poisson_moments(float(r), 2)[1:] for r in result]
    printed = [[0.2535796515, 0.0581163594], [0.9787339386, 0.9481894219]]
    np.testing.assert_allclose(moments, printed, rtol=0, atol=slack)


@pytest.mark.parametrize("manifold", RADII)
@pytest.mark.parametrize("strength", [1.0, -1.0])
def test_radius_satisfies_its_equation(manifold, strength):
    """It is r' = strength (1 - r^2) m_1 / 2; a wrong sign of strength would go backwards."""
    t, h = np.linspace(0.5, 6.0, 12), 1e-3
    values = [RADII[manifold](t + j * h, 0.3, strength) for j in (-2, -1, 1, 2)]
    slope = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)
    r = RADII[manifold](t, 0.3, strength)
    # Fourth differences: h^4 r^(5) / 30 = 1e-13, rounding eps / h = 2e-13.
    expected = strength * (1 - r**2) * mean_of(manifold, r) / 2
    np.testing.assert_allclose(slope, expected, rtol=0, atol=2e-12)
    assert RADII[manifold](0.0, 0.3) == pytest.approx(0.3, rel=4e-15)


@pytest.mark.parametrize("radius", [0.01, 0.5, 0.97])
def test_sphere_moments_equal_a_quadrature(radius):
    """Gauss-Legendre by ducc0, whose weights are good to 1e-16 (NumPy's and SciPy's to 1e-13)."""
    u, w = np.cos(ducc0.misc.GL_thetas(1500)), ducc0.misc.GL_weights(1500, 1) / (4 * np.pi)
    density = ((1 - radius**2) / (1 - 2 * radius * u + radius**2)) ** 2
    expected = eval_legendre(np.arange(41)[:, None], u) @ (w * density)
    result = hyperbolic_poisson_moments(radius, 40)
    # The nodes near the axis are known to 1e-16, over 1 - r.
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-15 / (1 - radius))
