"""Rates far below rounding, against closed forms and more digits."""

import mpmath
import numpy as np
import pytest
from parameters import each

import meanfield as mf
from meanfield.theory.cluster_rates import cluster_rates

CIRCLE, SPHERE = mf.Circle(), mf.Sphere()


def problem(manifold: str, beta: float, flow: mf.Flow) -> mf.Problem:
    """Problem whose clusters are looked at."""
    return mf.Problem(CIRCLE if manifold == "circle" else SPHERE, mf.exponential(beta), flow)


@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
@pytest.mark.parametrize("gap", [1.2, 2.0])
def test_tiny_rates_keep_their_digits(gap: float, flow: mf.Flow) -> None:
    """Beta = 81: rates of 1e-21 and 1e-48, which moments could not even see."""
    first, second, beta = 0.3, 0.7, 81.0
    rates = cluster_rates(
        problem("circle", beta, flow), mf.Measure(CIRCLE, [0.5, 0.5 + gap], [first, second])
    )
    with mpmath.workdps(50):
        phi = mpmath.mpf(0.5 + gap) - mpmath.mpf(0.5)

        def approach(angle: mpmath.mpf) -> mpmath.mpf:
            a = mpmath.exp(beta * (mpmath.cos(angle) - 1))
            masses = first + second * a, second + first * a
            z = masses if flow.normalized else (1, 1)
            return -a * mpmath.sin(angle) * (second / z[0] + first / z[1])

        slope = float(mpmath.diff(approach, phi))
    assert rates.escape[0] == pytest.approx(slope, rel=1e-13)
    assert rates.lifetime == pytest.approx(1.0 / slope, rel=1e-13)
    assert abs(rates.escape[1]) <= 1e-15 * slope


def test_several_tiny_rates_equal_those_with_more_digits() -> None:
    """Three unequal clusters at beta = 81, eigenvalues in 60 digits."""
    angles, masses, beta = [0.0, 1.4, 3.1], [0.2, 0.5, 0.3], 81.0
    with mpmath.workdps(60):
        matrix = mpmath.zeros(3)
        for i in range(3):
            for j in range(3):
                d = mpmath.mpf(angles[i]) - mpmath.mpf(angles[j])
                f = mpmath.exp(beta * (mpmath.cos(d) - 1))
                f *= beta * mpmath.sin(d) ** 2 - mpmath.cos(d)
                if i != j:
                    matrix[i, j] = -mpmath.sqrt(mpmath.mpf(masses[i]) * masses[j]) * f
                    matrix[i, i] += masses[j] * f
        exact = sorted((float(rate) for rate in mpmath.eigsy(matrix)[0]), reverse=True)
    measure = mf.Measure(CIRCLE, angles, masses)
    found = cluster_rates(problem("circle", beta, mf.USA), measure).escape
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-13 * exact[0])


@each("beta", [-2.0, 5.0, 81.0], first=[0.5, 0.9])
def test_opposite_clusters_of_any_masses_have_the_closed_form(beta: float, first: float) -> None:
    """A pair at pi: a (USA), a [m_2 / Z_1 + m_1 / Z_2] (SA), with a = e^{-2 beta}."""
    own = np.exp(min(0.0, 2 * beta))  # a(1)
    a, second = own * np.exp(-2 * beta), 1 - first
    softened = a * (second / (first * own + second * a) + first / (second * own + first * a))
    for points, manifold in (([0.0, np.pi], CIRCLE), ([[0, 0, 1], [0, 0, -1]], SPHERE)):
        measure = mf.Measure(manifold, points, [first, second])
        for flow, rate in ((mf.USA, a), (mf.SA, softened)):
            found = cluster_rates(problem(manifold.name, beta, flow), measure)
            count = manifold.dimension
            np.testing.assert_allclose(found.escape[:count], rate, rtol=1e-14)
            np.testing.assert_allclose(found.escape[count:], 0.0, rtol=0, atol=1e-15 * rate)
