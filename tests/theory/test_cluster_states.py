"""Rates of regular polygons of clusters against Jacobians of the particle velocity."""

from collections.abc import Callable

import numpy as np
import pytest

import meanfield as mf
from meanfield.fields.circle.pairs import exponential_velocity_circle
from meanfield.theory.cluster_states import polygon_rates
from meanfield.theory.stability import growth_rates


def polygon(beta: float, flow: mf.Flow = mf.USA) -> mf.Problem:
    """Problem whose polygons are looked at."""
    return mf.Problem(mf.Circle(), mf.exponential(beta) if beta else mf.linear(), flow)


def velocity(points: np.ndarray, others: np.ndarray, beta: float, flow: mf.Flow) -> np.ndarray:
    """Plain pair sum, analytic in its arguments, so that complex steps differentiate it."""
    d = points[:, None] - others
    a = np.exp(beta * np.cos(d) - abs(beta))
    drift = -(a * np.sin(d)).mean(axis=1)
    return flow.strength * (drift / a.mean(axis=1) if flow.normalized else drift)


def jacobian(k: int, beta: float, flow: mf.Flow) -> np.ndarray:
    """Derivative of every token's velocity by every angle, exact to rounding."""
    angles = 2 * np.pi * np.arange(k) / k
    columns = []
    for j in range(k):
        moved = angles.astype(complex)
        moved[j] += 1e-200j
        columns.append(velocity(moved, moved, beta, flow).imag / 1e-200)
    return np.array(columns).T


@pytest.mark.parametrize("flow", [mf.USA, mf.SA, mf.Flow(strength=-1.0)])
@pytest.mark.parametrize("beta", [-2.0, -0.1, 0.0, 1.0, 5.0, 10.0])
@pytest.mark.parametrize("k", [2, 3, 4, 5, 8])
def test_escape_rates_are_eigenvalues_of_the_jacobian(k: int, beta: float, flow: mf.Flow) -> None:
    """Mode q of the polygon, e^{2 pi i q j / k}, is an eigenvector with Lambda_q."""
    found = polygon_rates(polygon(beta, flow), k)
    matrix = jacobian(k, beta, flow)
    # Both are differences of numbers of the size of the contraction rate.
    scale = np.abs(matrix).max() + abs(found.contraction)
    for q in range(1, k):
        mode = np.exp(2j * np.pi * q * np.arange(k) / k)
        np.testing.assert_allclose(
            matrix @ mode, found.escape[q - 1] * mode, rtol=0, atol=4e-15 * k * scale
        )


def folded(values: np.ndarray, k: int) -> np.ndarray:
    """Sums over p in Z of values[|k p + q|], q = 0 ... k - 1."""
    reach = len(values) - 1
    degrees = np.arange(-reach, reach + 1)
    return np.bincount(degrees % k, values[np.abs(degrees)], minlength=k)


@pytest.mark.parametrize("flow", [mf.USA, mf.SA, mf.Flow(strength=-1.0)])
@pytest.mark.parametrize("beta", [-2.0, 0.0, 1.0, 5.0, 30.0])
@pytest.mark.parametrize("k", [2, 3, 4, 7, 12])
def test_rates_are_folded_growth_rates(k: int, beta: float, flow: mf.Flow) -> None:
    """Equations (13) and (14), by Poisson summation: sums over clusters are sums over degrees."""
    problem = polygon(beta, flow)
    degree = problem.kernel_degree + k
    growth = folded(growth_rates(polygon(beta, mf.Flow(strength=flow.strength)), degree), k)
    if flow.normalized:
        growth = growth / folded(problem.kernel.attention_multipliers(1, degree), k)[0]
    found = polygon_rates(problem, k)
    # The folded ones are differences of rates of the size of the contraction.
    slack = 1e-14 * max(1.0, np.abs(growth).max())
    np.testing.assert_allclose(found.escape, growth[1:] - growth[0], rtol=0, atol=slack)
    assert found.contraction == pytest.approx(growth[0], rel=0, abs=slack)


@pytest.mark.parametrize("beta", [25.0, 81.0, 300.0])
def test_tiny_escape_rates_keep_their_digits(beta: float) -> None:
    """Of e^-2beta and e^-3beta/2, folded growth rates would leave rounding."""
    pair = polygon_rates(polygon(beta), 2).escape[0]
    triangle = polygon_rates(polygon(beta), 3).escape
    assert pair == pytest.approx(np.exp(-2 * beta), rel=1e-13)
    np.testing.assert_allclose(triangle, np.exp(-1.5 * beta) * (0.5 + 0.75 * beta), rtol=3e-13)


@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
@pytest.mark.parametrize("k, beta", [(2, 3.0), (3, 5.0), (4, 7.0), (6, -1.0)])
def test_contraction_is_the_slope_of_a_test_particle(k: int, beta: float, flow: mf.Flow) -> None:
    """Near a cluster a test particle falls in at r_in = -dv/dtheta."""
    angles = 2 * np.pi * np.arange(k) / k
    slope = velocity(angles[:1] + 1e-200j, angles, beta, flow).imag[0] / 1e-200
    found = polygon_rates(polygon(beta, flow), k).contraction
    assert found == pytest.approx(-slope, rel=1e-14, abs=1e-15)


@pytest.mark.parametrize("normalized", [False, True])
def test_escape_rate_is_that_of_the_compiled_pairwise_velocity(normalized: bool) -> None:
    """The particles that runs move leave the triangle as fast as theory says."""
    found = polygon_rates(polygon(5.0, mf.Flow(normalized)), 3)
    angles = 2 * np.pi * np.arange(3) / 3
    mode, h = np.array([1.0, -1.0, 0.0]), 1e-3  # q = 1 and 2 have the same rate
    v = [
        exponential_velocity_circle(angles + j * h * mode, None, 5.0, normalized)
        for j in (-2, -1, 1, 2)
    ]
    slope = (v[0] - 8 * v[1] + 8 * v[2] - v[3]) / (12 * h)
    # h^4 f^(5) / 30 with f^(5) up to (5 beta)^2 of the contraction, about 1.
    np.testing.assert_allclose(slope, found.escape[0] * mode, rtol=0, atol=2e-10)


PRINTED = [  # k, beta, normalized, largest escape rate, contraction rate; paper time
    (3, 5.0, False, "0.3488612442", "49.2385"),
    (3, 5.0, True, "0.00704403", "0.994199"),
    (4, 7.0, False, "7.0000000000", "270.658"),
    (4, 7.0, True, "0.0254862", "0.985435"),
    (3, 7.0, False, "0.173635", None),
    (4, 10.0, False, "10.0000000000", "5501.62"),
    (4, 10.0, True, "0.00181583", None),
]


@pytest.mark.parametrize("k, beta, normalized, escape, contraction", PRINTED)
def test_rates_equal_printed_values(
    k: int, beta: float, normalized: bool, escape: str, contraction: str | None, verified: Callable
) -> None:
    """Theory 1.5: the triangle at beta = 5, the square at beta = 7 with exactly 7."""
    found = polygon_rates(polygon(beta, mf.Flow(normalized)), k)
    unit = 1.0 if normalized else np.exp(beta)
    for value, text in ((found.escape.max(), escape), (found.contraction, contraction)):
        if text is not None:
            digits = len(text.partition(".")[2])
            # Half a unit of the last digit; e^beta multiplies the rounding of scaled rates.
            slack = 0.6 * 10.0**-digits + 1e-15 * unit
            what = "escape and contraction rates of polygons of clusters, circle, as printed"
            verified("exact solutions", what, value * unit - float(text), slack)


@pytest.mark.parametrize("beta", [-5.0, -0.5, 1.0, 5.0, 9.0])
def test_rates_equal_closed_forms(beta: float) -> None:
    """Pair: e^-beta; k = 3: e^{-beta/2}(1/2 + 3 beta/4); k = 4, q = 2: beta; SA: / Z."""
    unit = np.exp(abs(beta))
    pair = polygon_rates(polygon(beta), 2).escape[0] * unit
    triangle = polygon_rates(polygon(beta), 3).escape * unit
    square = polygon_rates(polygon(beta), 4).escape[1] * unit
    normalized = polygon_rates(polygon(beta, mf.SA), 4).escape[1]
    slack = 1e-14 * unit
    assert pair == pytest.approx(np.exp(-beta), abs=slack)
    assert triangle == pytest.approx(np.exp(-beta / 2) * (0.5 + 0.75 * beta), abs=slack)
    assert square == pytest.approx(beta, abs=slack)
    assert normalized == pytest.approx(beta / np.cosh(beta / 2) ** 2, abs=1e-14)


def test_triangle_is_marginal_at_minus_two_thirds(verified: Callable) -> None:
    """The sharp constant of the synchronisation theorem: Lambda_1 = 0 exactly there."""
    what = "escape rates of the triangle at beta = -2/3, circle"
    verified("exact solutions", what, polygon_rates(polygon(-2 / 3), 3).escape, 1e-12)
    assert polygon_rates(polygon(-2 / 3 - 1e-9), 3).escape.max() < 0
    assert polygon_rates(polygon(-2 / 3 + 1e-9), 3).escape.min() > 0


@pytest.mark.parametrize("beta", [-0.16, -0.1, 0.0, 0.5, 3.0])
def test_no_polygon_is_stable_where_tokens_synchronise(beta: float) -> None:
    """For beta >= -0.16 every tuple leads to one cluster: each polygon must be unstable."""
    for k in range(2, 25):
        assert polygon_rates(polygon(beta), k).escape.max() > 0.2 * np.exp(-abs(beta) * 3)


@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
def test_fine_polygon_has_the_rates_of_uniform(flow: mf.Flow) -> None:
    """Finite N theorem: 64 tokens at beta = 5 match lambda_q to 14 digits, q = 1 ... 5."""
    found = polygon_rates(polygon(5.0, flow), 64).escape
    rates = growth_rates(polygon(5.0, flow), 5)
    np.testing.assert_allclose(found[:5], rates[1:], rtol=2e-14)


@pytest.mark.parametrize("k", [-1, 0, 1])
def test_polygons_have_at_least_two_clusters(k: int) -> None:
    """One cluster has nowhere to escape to."""
    with pytest.raises(ValueError, match=f"clusters must be at least 2, got {k}"):
        polygon_rates(polygon(1.0), k)


def test_polygons_live_on_the_circle() -> None:
    """On spheres other polytopes would be needed."""
    with pytest.raises(ValueError, match="polygons live on the circle, not on sphere:4"):
        polygon_rates(mf.Problem(mf.Sphere(3), mf.linear()), 3)


def test_polygons_do_not_diffuse() -> None:
    """Under diffusion atoms are no stationary states."""
    with pytest.raises(ValueError, match="no stationary states with diffusivity > 0"):
        polygon_rates(polygon(1.0, mf.Flow(diffusivity=0.1)), 3)
