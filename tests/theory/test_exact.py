"""The Poisson solutions of the linear kernel, checked without any solver."""

import ducc0
import numpy as np
import pytest
from scipy.special import eval_legendre

from meanfield.theory.exact import (
    hyperbolic_poisson_moments,
    hyperbolic_poisson_radius,
    poisson_radius,
)

RADII = {"circle": poisson_radius, "sphere": hyperbolic_poisson_radius}


def mean_of(manifold: str, r: np.ndarray) -> np.ndarray:
    """m_1(r) as printed (theory 1.4)."""
    if manifold == "circle":
        return r
    return (1 + r**2) / (2 * r) - (1 - r**2) ** 2 / (4 * r**2) * np.log((1 + r) / (1 - r))


@pytest.mark.parametrize(
    "time, radius",
    [(1, "0.1634736400"), (2, "0.2635396738"), (4, "0.5962054907"), (8, "0.9837970850")],
)
def test_radius_equals_the_printed_values(time: float, radius: str) -> None:
    """Theory 1.4, r_0 = 0.1."""
    assert poisson_radius(time, 0.1) == pytest.approx(float(radius), abs=0.51e-10)


@pytest.mark.parametrize(
    "time, radius, moments",
    [
        (1, "0.1915989329", ("0.2535796515", "0.0581163594")),
        (2, "0.3523724991", ("0.4579465396", "0.1914654410")),
        (3, "0.5797564518", ("0.7182170929", "0.4828247832")),
        (5, "0.9136279996", ("0.9787339386", "0.9481894219")),
    ],
)
def test_sphere_solution_equals_the_printed_values(
    time: float, radius: str, moments: tuple[str, str]
) -> None:
    """Theory 1.4, r_0 = 0.1: radius, m_1 and m_2 to all ten printed digits."""
    found = hyperbolic_poisson_radius(time, 0.1)
    assert found == pytest.approx(float(radius), abs=0.51e-10)
    expected = [1.0, *map(float, moments)]
    np.testing.assert_allclose(
        hyperbolic_poisson_moments(float(found), 2), expected, rtol=0, atol=0.51e-10
    )


@pytest.mark.parametrize("manifold", RADII)
@pytest.mark.parametrize("strength", [1.0, -1.0, 0.3])
def test_radius_satisfies_its_equation(manifold: str, strength: float) -> None:
    """It is r' = strength (1 - r^2) m_1 / 2; a wrong sign of strength would go backwards."""
    t, h = np.linspace(0.5, 6.0, 12), 1e-3
    values = [RADII[manifold](t + j * h, 0.3, strength) for j in (-2, -1, 1, 2)]
    slope = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)
    r = RADII[manifold](t, 0.3, strength)
    # Fourth differences: h^4 r^(5) / 30 = 1e-13, rounding eps / h = 2e-13.
    expected = strength * (1 - r**2) * mean_of(manifold, r) / 2
    np.testing.assert_allclose(slope, expected, rtol=0, atol=2e-12)


@pytest.mark.parametrize("manifold", RADII)
@pytest.mark.parametrize("start", [1e-9, 0.1, 0.25, 0.9, 1 - 1e-9])
def test_radius_starts_where_it_is_told(manifold: str, start: float) -> None:
    """Time 0 is the start, for scalars and arrays."""
    assert RADII[manifold](0.0, start) == pytest.approx(start, rel=4e-15)
    assert RADII[manifold](np.zeros(3), start).shape == (3,)


@pytest.mark.parametrize("strength", [1.0, -1.0])
@pytest.mark.parametrize("start", [1e-6, 0.1, 0.9])
def test_sphere_radius_composes(start: float, strength: float) -> None:
    """Going on from where one has come is going further: a flow, on both sides of its series."""
    there = float(hyperbolic_poisson_radius(1.25, start, strength))
    further = hyperbolic_poisson_radius(np.array([0.5, 2.0]), there, strength)
    expected = hyperbolic_poisson_radius(np.array([1.75, 3.25]), start, strength)
    np.testing.assert_allclose(further, expected, rtol=1e-14)


@pytest.mark.parametrize("strength, rate", [(1.0, 2 / 3), (-1.0, -2 / 3)])
def test_small_sphere_radius_grows_at_the_linear_rate(strength: float, rate: float) -> None:
    """Near uniform r is a perturbation of degree 1, lambda_1 = (d - 1) / d = 2/3 at beta = 0."""
    found = hyperbolic_poisson_radius(1.5, 1e-9, strength)
    assert found == pytest.approx(1e-9 * np.exp(rate * 1.5), rel=1e-14)


@pytest.mark.parametrize("strength, end", [(1.0, 1.0), (-1.0, 0.0)])
def test_sphere_radius_stays_between_its_ends(strength: float, end: float) -> None:
    """A Dirac or uniform after any time: no overflow, no NaN, no warning."""
    found = hyperbolic_poisson_radius(np.array([100.0, 1e4, np.inf]), 0.3, strength)
    np.testing.assert_allclose(found, end, rtol=0, atol=1e-28 if end == 0 else 0)


@pytest.mark.parametrize("manifold", RADII)
@pytest.mark.parametrize("start", [0.0, 1.0, -0.1, 1.5, np.nan])
def test_radius_refuses_impossible_starts(manifold: str, start: float) -> None:
    """Outside (0, 1) there is no Poisson density."""
    with pytest.raises(ValueError, match="start must lie between 0 and 1"):
        RADII[manifold](1.0, start)


@pytest.mark.parametrize("radius", [0.01, 0.1, 0.5, 0.9, 0.97])
def test_sphere_moments_equal_a_quadrature(radius: float) -> None:
    """Gauss-Legendre by ducc0, whose weights are good to 1e-16 (NumPy's and SciPy's to 1e-13)."""
    u, w = np.cos(ducc0.misc.GL_thetas(1500)), ducc0.misc.GL_weights(1500, 1) / (4 * np.pi)
    density = ((1 - radius**2) / (1 - 2 * radius * u + radius**2)) ** 2
    expected = eval_legendre(np.arange(41)[:, None], u) @ (w * density)
    found = hyperbolic_poisson_moments(radius, 40)
    # The nodes near the axis are known to 1e-16, over 1 - r.
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15 / (1 - radius))


def test_small_sphere_moments_are_relatively_exact() -> None:
    """A recurrence run in the wrong direction loses all digits; m_l / m_{l-1} has a limit."""
    found = hyperbolic_poisson_moments(1e-7, 40)
    l = np.arange(1, 41)
    np.testing.assert_allclose(found[1:] / found[:-1], 1e-7 * (2 * l + 2) / (2 * l + 1), rtol=5e-14)


@pytest.mark.parametrize("radius", [0.5, 0.99, 0.9999])
def test_sphere_moments_do_not_depend_on_how_many_are_asked(radius: float) -> None:
    """The recurrence starts elsewhere, and must not show it."""
    few, many = hyperbolic_poisson_moments(radius, 3), hyperbolic_poisson_moments(radius, 2000)
    np.testing.assert_allclose(few, many[:4], rtol=1e-13)
    assert few[1] == pytest.approx(mean_of("sphere", radius), rel=1e-13)
    assert np.all(np.diff(many) <= 0)


@pytest.mark.parametrize("radius", [0.0, 1.0, -0.1, np.nan])
def test_sphere_moments_refuse_impossible_radii(radius: float) -> None:
    """Outside (0, 1) there is no Poisson density."""
    with pytest.raises(ValueError, match="radius must lie between 0 and 1"):
        hyperbolic_poisson_moments(radius, 3)
