"""Brownian motion on the sphere against the heat kernel's series, without sampling."""

import mpmath
import numpy as np
import pytest
import scipy.special
from any_threads import check_any_threads
from parameters import together

from meanfield.engines.harmonics import heat
from meanfield.spaces.sphere.sphere import Sphere

TIMES = [1e-12, 1e-7, 1e-4, 1e-2, 0.05, 0.2, 0.2499, 0.25, 0.6, 2.0, 30.0]
NORTH = np.array([0.0, 0.0, 1.0])


def turned(lengths: np.ndarray, time: float, start: np.ndarray = NORTH) -> np.ndarray:
    """Where normals (r, 0) take a point."""
    normals = np.stack([lengths, np.zeros_like(lengths)], axis=1)
    return heat.diffuse(np.tile(start, (len(lengths), 1)), time, normals)


def radial_rule() -> tuple[np.ndarray, np.ndarray]:
    """Nodes r in (0, 12) and weights for the law e^{-r^2/2} r dr: 72 panels of 16 in q = r^2."""
    x, w = np.polynomial.legendre.leggauss(16)
    q = (2.0 * np.arange(72)[:, None] + 1.0 + x).ravel()
    return np.sqrt(q), np.tile(w, 72) * 0.5 * np.exp(-0.5 * q)


@together("time", TIMES)
def test_harmonics_decay_as_the_heat_equation_says(time):
    """A wrong law of the angle, or a wrong sqrt(2), would change E P_l = e^{-l(l+1) time}."""
    r, weights = radial_rule()
    cosine = turned(r, time)[:, 2]
    for l in range(1, 13):
        mean = weights @ scipy.special.eval_legendre(l, cosine)
        # Errors of the table, 1e-12, times the slope of P_l.
        assert abs(mean - np.exp(-l * (l + 1) * time)) < 1e-12 * l * l


@together("time", TIMES)
def test_mean_square_displacement_keeps_its_digits(time):
    """E sin^2 = 2 (1 - e^{-6 time}) / 3: a law right to 1e-12 of 1 says nothing of time 1e-12."""
    r, weights = radial_rule()
    x, y, _ = turned(r, time).T
    exact = -2.0 / 3.0 * np.expm1(-6.0 * time)
    assert weights @ (x * x + y * y) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("time", [0.03, 0.1, 0.2499, 0.25, 0.7, 3.0])
def test_angle_has_the_law_of_the_series(time):
    """The angle must be exceeded with probability e^{-r^2/2}, in the tail as well."""
    lengths = np.array([0.01, 0.5, 1.0, 2.0, 4.0, 6.0, 9.0, 11.9])
    _, rest = heat.angles(lengths**2, time)
    with mpmath.workdps(60):
        for r, angle in zip(lengths, rest, strict=True):
            x = -mpmath.cos(mpmath.mpf(float(angle)))
            series, l = (x + 1) / 2, 1
            while l * (l + 1) * time < 140:
                term = mpmath.legendre(l + 1, x) - mpmath.legendre(l - 1, x)
                series += mpmath.exp(-l * (l + 1) * mpmath.mpf(time)) * term / 2
                l += 1
            result = float(mpmath.sqrt(-2 * mpmath.log(series)))
            # At r = 0.01 a rounding of pi - Theta is 1e-13 of Theta, and table and law 1e-15 / r^2.
            assert result == pytest.approx(r, rel=1e-11 if r > 0.1 else 1e-9)


@together("time", TIMES)
def test_table_interpolates_the_law(time):
    """Between its nodes the table must hold the angle that the law has there."""
    lengths = np.random.default_rng(0).uniform(0.01, 12.0, 400)
    theta, rest = heat.angles(lengths**2, time)
    x, y, z = turned(lengths, time).T
    sine = np.sin(np.minimum(theta, rest))
    error = np.abs(np.hypot(x, y) * np.cos(theta) - z * sine)  # sine of the difference
    assert error.max() < 5e-12 * min(1.0, np.sqrt(time))


@pytest.mark.parametrize("time", TIMES)
def test_longer_normals_turn_further(time):
    """The map from r to the angle is monotone, so two Brownian paths never cross."""
    theta, rest = heat.angles(np.linspace(0.01, 144.0, 2000), time)
    assert np.all(np.diff(theta - rest) >= 0.0)
    assert np.all((theta > 0.0) & (rest > 0.0))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_frame_is_orthonormal_everywhere(sign):
    """A frame that is skew or not tangent would make the noise anisotropic."""
    rng = np.random.default_rng(1)
    points = rng.standard_normal((2000, 3))
    points[:4] = [[0, 0, sign], [1e-9, 0, sign], [1, 0, sign * 0.0], [0, sign, 1e-300]]
    points /= np.sqrt((points**2).sum(axis=1))[:, None]
    units = np.array([[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]])
    angle = heat.angles(np.ones(1), 0.3)[0][0]
    moves = [heat.diffuse(points, 0.3, np.tile(unit, (2000, 1))) for unit in units]
    tangents = np.stack([(m - np.cos(angle) * points) / np.sin(angle) for m in moves])
    gram = np.einsum("aic,bic->iab", tangents, tangents)
    assert np.abs(gram - units @ units.T).max() < 1e-11  # the table's
    assert np.abs(np.einsum("aic,ic->ai", tangents, points)).max() < 1e-11


def test_only_directions_count():
    """Tokens carry the lengths that explicit steps left; the noise must not feel them."""
    rng = np.random.default_rng(2)
    points, normals = Sphere().random_points(500, rng), rng.standard_normal((500, 2))
    longer = points * rng.uniform(0.5, 2.0, 500)[:, None]
    moved = heat.diffuse(longer, 0.1, normals)
    # 10 roundings of numbers up to 1.
    assert np.abs(moved - heat.diffuse(points, 0.1, normals)).max() < 2e-15
    assert np.abs((moved**2).sum(axis=1) - 1.0).max() < 2e-15


def test_no_time_moves_nothing():
    """A table divided by a time of zero would give NaN."""
    rng = np.random.default_rng(3)
    points = Sphere().random_points(50, rng)
    moved = heat.diffuse(points, 0.0, rng.standard_normal((50, 2)))
    assert np.abs(moved - points).max() < 1e-15


def test_longest_normals_stay_on_the_sphere():
    """Beyond the table polynomials would explode."""
    moved = turned(np.array([12.0, 12.5, 1e3, 1e150]), 0.02)
    assert np.abs(moved - moved[0]).max() < 1e-14


def test_what_is_not_finite_stays_so():
    """A NaN used as an index would read anywhere; one swallowed would hide a failed run."""
    points, normals = np.tile(NORTH, (4, 1)), np.ones((4, 2))
    points[1], points[2], normals[0, 1] = np.nan, 0.0, np.nan
    finite = np.isfinite(heat.diffuse(points, 0.1, normals)).all(axis=1)
    assert finite.tolist() == [False, False, False, True]


def test_threads_change_no_bit():
    """Results that depend on the number of threads could not be repeated elsewhere."""
    rng = np.random.default_rng(4)
    points, normals = Sphere().random_points(40_000, rng), rng.standard_normal((40_000, 2))
    check_any_threads(lambda: [heat.diffuse(points, 0.1, normals)])
