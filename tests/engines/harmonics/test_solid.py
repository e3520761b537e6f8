"""Solid harmonics where recurrences and angles lose digits: at poles, in clusters."""

import mpmath
import numpy as np
import pytest
from any_threads import check_any_threads
from parameters import each

import meanfield as mf
from meanfield.engines.harmonics import points as sphere_points
from meanfield.engines.harmonics import solid
from meanfield.engines.harmonics.coefficients import count_of, index
from meanfield.engines.harmonics.tokens import own_velocity
from meanfield.fields import engines
from meanfield.fields.mean_field import interaction
from meanfield.spaces.sphere.sphere import Sphere

COUNT = 6


def near(centre: list[float], distance: float) -> np.ndarray:
    normals = np.random.default_rng(0).normal(size=(COUNT, 3))
    return Sphere().retract(np.array(centre) + distance * normals)[0]


PLACES = {
    "north": near([0.0, 0.0, 1.0], 1e-2),
    "south": near([0.0, 0.0, -1.0], 1e-4),
    "poles": np.repeat([[0.0, 0.0, 1.0], [-0.0, 0.0, -1.0]], 3, axis=0),
    "equator": near([1.0, 0.0, 0.0], 1e-3),
    "equal": np.repeat(near([-1.0, 2.0, 0.5], 0.1)[:1], COUNT, axis=0),
    "scattered": near([0.0, 0.0, 0.0], 1.0) * np.geomspace(1e-90, 1e90, COUNT)[:, None],
}


def exact(points: np.ndarray, order: int, degree: int) -> np.ndarray:
    """Y_lm, and its derivatives along the axes, l = order ... degree, at points, by mpmath.

    d/dx (x + iy)^m = m (x + iy)^{m-1}, and P_l of z is not extended off the sphere.
    """
    with mpmath.workdps(40):
        result = []
        for point in points:
            x, y, z = axes = [mpmath.mpf(float(c)) / mpmath.norm(point) for c in point]
            power, lower = mpmath.mpc(x, y) ** order, mpmath.mpc(0)
            if order > 0:
                lower = order * mpmath.mpc(x, y) ** (order - 1)
            # Gegenbauer polynomials of p = order + 1/2, and their derivatives.
            p, values, slopes = mpmath.mpf(order) + 0.5, [mpmath.mpf(1)], [mpmath.mpf(0)]
            before = slope_before = mpmath.mpf(0)
            for n in range(degree - order):
                new = (2 * (n + p) * z * values[n] - (n + 2 * p - 1) * before) / (n + 1)
                steeper = 2 * (n + p) * (values[n] + z * slopes[n])
                steeper = (steeper - (n + 2 * p - 1) * slope_before) / (n + 1)
                before, slope_before = values[n], slopes[n]
                values.append(new)
                slopes.append(steeper)
            rows = []
            for n, (value, slope) in enumerate(zip(values, slopes, strict=True)):
                l = order + n
                norm = mpmath.sqrt((2 * l + 1) * mpmath.factorial(n) / mpmath.factorial(l + order))
                norm *= (-1) ** order * mpmath.fac2(2 * order - 1)
                along = [norm * value * lower, norm * value * lower * 1j, norm * slope * power]
                normal = mpmath.fdot(along, axes)
                tangent = [a - normal * c for a, c in zip(along, axes, strict=True)]
                rows.append([complex(t) for t in (norm * value * power, *tangent)])
            result.append(rows)
    return np.moveaxis(np.array(result), 0, -1)


@each("degree, order", [(25, 0), (25, 7), (64, 3), (64, 19)], place=PLACES)
def test_moments_and_fields_are_exact_anywhere(place, degree, order):
    """A recurrence in z alone is off by 5e-13 near a pole at degree 32 already."""
    # Order 3 and 19 are the last that share the polynomials of orders 0 and 16.
    points = PLACES[place]
    harmonics = exact(points, order, degree)
    rows = slice(index(order, order, degree), index(degree, order, degree) + 1)
    result = solid.moments(points, None, degree)[rows]
    np.testing.assert_allclose(result, harmonics[:, 0].conj().mean(axis=-1), rtol=0, atol=1e-13)
    field = np.zeros(count_of(degree), dtype=np.complex128)
    field[rows] = 1.0 / np.arange(1.0, degree - order + 2) + (0.5j if order else 0.0)
    multiplicity = 2.0 if order else 1.0
    value, *tangent = multiplicity * np.einsum("n,nci->ci", field[rows], harmonics).real
    bound = multiplicity * np.abs(field[rows] * np.sqrt(2 * np.arange(order, degree + 1) + 1)).sum()
    np.testing.assert_allclose(solid.evaluate(field, points), value, rtol=0, atol=1e-14 * bound)
    gradient = solid.gradient(field, points, None)
    np.testing.assert_allclose(gradient.T, tangent, rtol=0, atol=1e-14 * degree * bound)


def test_crossovers_by_degree():
    """Few tokens or few degrees; what the table does not have was not measured."""
    assert solid.is_faster(10**7, 20, gradient=True)
    assert solid.is_faster(1000, 48, gradient=True)
    assert not solid.is_faster(100_000, 40, gradient=False)
    assert not solid.is_faster(10, 65, gradient=False)


@pytest.mark.parametrize("count", [1_000, 40_000])
@pytest.mark.parametrize("flow", [mf.USA, mf.SA], ids=["USA", "SA"])
def test_own_velocity_is_moments_and_gradient_in_one(count, flow):
    """To the bit, with weights and several chunks, whatever the threads; Z from Phi by rounding."""
    rng = np.random.default_rng(2)
    points, weights = Sphere().random_points(count, rng), rng.dirichlet(np.ones(count))
    mean_field = interaction(mf.Problem(Sphere(), mf.exponential(3.0), flow))
    field = mean_field.field(Sphere().moments(points, weights, mean_field.degree))
    expected = sphere_points.gradient(field.potential, points, field.partition)
    multipliers = mean_field.potential_multipliers, mean_field.attention_multipliers
    both = check_any_threads(
        lambda: [
            own_velocity(points, weights, *multipliers),
            engines.velocity(mean_field, points, weights),
        ]
    )
    np.testing.assert_array_equal(both, [expected, field.velocity(points)])
    # Sums of 100 terms of size 1.
    np.testing.assert_allclose(field.velocity(points), expected, rtol=0, atol=1e-14)


def test_own_velocity_is_left_to_transforms_where_they_are_faster():
    """Degree 32 would be slower from 2,000 tokens on."""
    points = Sphere().random_points(4_000, np.random.default_rng(0))
    assert own_velocity(points, None, np.ones(33)) is None
