"""Distances on the circle from points to densities.

The oracles share nothing with the package: cumulative distributions summed term by term, every
gap integrated in closed form or by adaptive quadrature, the cut found by scanning and bracketing.
"""

from collections.abc import Callable

import numpy as np
import pytest
from parameters import each
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar
from scipy.special import ive

import meanfield as mf
from meanfield.transport.circle.cdf import local_polynomials
from meanfield.transport.circle.w2 import w2_points_density
from meanfield.transport.circle.wasserstein import wasserstein_circle

CIRCLE = mf.Circle()
TURN = 2.0 * np.pi


def von_mises(concentration: float, mean: float, max_degree: int | None = None) -> np.ndarray:
    """Coefficients I_k(kappa) / I_0(kappa) e^{-ik mean}, to rounding."""
    k = np.arange(1 + (max_degree or int(10 * np.sqrt(concentration) + 20)))
    return ive(k, concentration) / ive(0, concentration) * np.exp(-1j * k * mean)


def mixture(*components: tuple[float, float, float]) -> np.ndarray:
    """Coefficients of a mixture of (weight, concentration, mean)."""
    degree = max(int(10 * np.sqrt(c) + 20) for _, c, _ in components)
    return sum(w * von_mises(c, mean, degree) for w, c, mean in components)


def distribution(coefficients: np.ndarray, theta: np.ndarray | float) -> np.ndarray:
    """F(theta), zero on average without its linear part."""
    k = np.arange(1, len(coefficients))
    theta = np.asarray(theta)
    terms = np.exp(1j * theta[..., None] * k) @ (coefficients[1:] / (1j * k))
    return theta / TURN + terms.real / np.pi


def value(coefficients: np.ndarray, theta: np.ndarray | float) -> np.ndarray:
    """Density at theta."""
    k = np.arange(1, len(coefficients))
    return 1.0 + 2.0 * (np.exp(1j * np.asarray(theta)[..., None] * k) @ coefficients[1:]).real


def least(cost: Callable[[float], float]) -> float:
    """Square root of the least cost; flat there: 1e-8 in the cut is 1e-14 in the cost."""
    found = minimize_scalar(cost, bounds=(-1.5, 1.5), method="bounded", options={"xatol": 1e-8})
    return float(np.sqrt(found.fun))


def second_moment(coefficients: np.ndarray, start: float, end: float, centre: float) -> float:
    """Integral of (theta - centre)^2 dF over an interval, by adaptive quadrature."""
    return quad(
        lambda t: (t - centre) ** 2 * value(coefficients, t) / TURN,
        start,
        end,
        epsabs=1e-15,
        epsrel=1e-13,
        limit=200,
    )[0]


def w1_oracle(angles: np.ndarray, weights: np.ndarray, coefficients: np.ndarray) -> float:
    """Integrate |S - F - alpha| between the zeros, alpha the root of the lengths' balance."""
    order = np.argsort(angles)
    points, levels = angles[order], np.cumsum(weights[order])
    k = np.arange(1, len(coefficients))

    def primitive(theta: float) -> float:
        series = np.sum(coefficients[1:] * np.exp(1j * k * theta) / (1j * k) ** 2).real / np.pi
        return theta**2 / (2.0 * TURN) + series

    def pieces(alpha: float) -> tuple[float, float]:
        area = balance = 0.0
        for i, level in enumerate(levels):
            a = points[i]
            b = points[i + 1] if i + 1 < len(points) else points[0] + TURN

            def gap(theta: float, level: float = level) -> float:
                return float(level - distribution(coefficients, theta) - alpha)

            zeros = [a, b]  # the density is positive: one zero at most
            if gap(a) * gap(b) < 0:
                zeros.insert(1, brentq(gap, a, b, xtol=1e-15, rtol=1e-15))
            for left, right in zip(zeros[:-1], zeros[1:], strict=True):
                integral = (level - alpha) * (right - left) - primitive(right) + primitive(left)
                area += abs(integral)
                balance += np.copysign(right - left, integral)
        return area, balance

    best = brentq(lambda alpha: pieces(alpha)[1], -2.0, 2.0, xtol=1e-15)
    return pieces(best)[0]


def w2_oracle(angles: np.ndarray, weights: np.ndarray, coefficients: np.ndarray) -> float:
    """Minimise sum_i int (theta - x_i)^2 dF over the cut, quantiles by bracketing."""
    order = np.argsort(angles)
    points, levels = angles[order], np.append(0.0, np.cumsum(weights[order]))

    def cost(alpha: float) -> float:
        bounds = [
            brentq(
                lambda t, s=level: float(distribution(coefficients, t)) - s - alpha,
                -3 * TURN,
                3 * TURN,
                xtol=1e-15,
                rtol=1e-15,
            )
            for level in levels
        ]
        return sum(
            second_moment(coefficients, a, b, x)
            for a, b, x in zip(bounds[:-1], bounds[1:], points, strict=True)
        )

    return least(cost)


CASES = {
    "one atom": ([0.7], [1.0], von_mises(2.0, 2.5)),
    "two atoms": ([6.1, 2.0], [0.3, 0.7], von_mises(4.0, 0.2)),
    "duplicates and both ends": ([0.0, 2.0, TURN, 2.0], [0.2, 0.3, 0.4, 0.1], von_mises(1.0, 3.0)),
    "five in an arc": ([1.0, 1.1, 1.25, 1.3, 1.05], [0.2] * 5, von_mises(9.0, 4.0)),
    "two peaks": ([0.3, 3.0, 4.0], [0.5, 0.1, 0.4], mixture((0.4, 20.0, 1.0), (0.6, 5.0, 4.5))),
}


@pytest.mark.parametrize("case", CASES)
def test_w1_of_points_and_density_equals_the_oracle(case: str) -> None:
    """A gap, the wrapping one, or a zero of F - G - alpha would be integrated wrongly."""
    angles, weights, coefficients = CASES[case]
    found = wasserstein_circle(
        mf.Measure(CIRCLE, angles, weights), mf.Density(CIRCLE, coefficients), p=1
    )
    expected = w1_oracle(np.mod(angles, TURN), np.array(weights), coefficients)
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_w2_of_points_and_density_equals_the_oracle(case: str) -> None:
    """A quantile, a cell or the cut would be wrong."""
    angles, weights, coefficients = CASES[case]
    found = wasserstein_circle(
        mf.Measure(CIRCLE, angles, weights), mf.Density(CIRCLE, coefficients), p=2
    )
    expected = w2_oracle(np.mod(angles, TURN), np.array(weights), coefficients)
    assert found == pytest.approx(expected, abs=1e-12)


@each("concentration", [0.5, 10.0, 1000.0], p=[1, 2])
def test_distance_of_a_dirac_to_a_density_is_its_mean_cost(p: int, concentration: float) -> None:
    """All mass goes to one point: the Fourier series of d(0, theta)^p gives W_p^p.

    |theta| = pi/2 + sum_k 2 ((-1)^k - 1) / (pi k^2) cos k theta,
    theta^2 = pi^2/3 + sum_k 4 (-1)^k / k^2 cos k theta.
    """
    coefficients, angle = von_mises(concentration, 1.0), 2.6
    k = np.arange(1, len(coefficients))
    cosines = (coefficients[1:] * np.exp(1j * k * angle)).real
    signs = (-1.0) ** k
    expected = {
        1: np.pi / 2 + np.sum(cosines * 2 * (signs - 1) / (np.pi * k**2)),
        2: np.pi**2 / 3 + np.sum(cosines * 4 * signs / k**2),
    }[p]
    dirac = mf.Measure(CIRCLE, [angle])
    found = wasserstein_circle(dirac, mf.Density(CIRCLE, coefficients), p) ** p
    assert found == pytest.approx(expected, abs=2e-14)


def test_general_w2_of_points_and_density_equals_the_closed_form_for_uniform() -> None:
    """The arcs of `w2_points_uniform` and the quantiles of the general path must agree."""
    rng = np.random.default_rng(3)
    points, weights = np.sort(rng.uniform(0.0, TURN, 50)), rng.dirichlet(np.ones(50))
    closed = wasserstein_circle(
        mf.Measure(CIRCLE, points, weights), mf.Density(CIRCLE, [1.0, 0.0]), p=2
    )
    rows = local_polynomials(np.array([1.0]))
    assert w2_points_density(points, np.cumsum(weights), rows) == pytest.approx(closed, abs=1e-14)


@pytest.mark.parametrize("p", [1, 2])
def test_slightly_negative_density_is_right_to_its_precision(p: int) -> None:
    """Rounding or truncation makes densities negative; nothing may break or drift."""
    exact = 0.5 * np.array([2.0, 1.0])  # 1 + cos, zero at pi
    for negative in (1e-12, 1e-6):
        perturbed = mf.Density(CIRCLE, exact + np.array([0.0, 0.5 * negative]))
        for other in (
            mf.Measure(CIRCLE, [0.1, 3.1, 3.2]),
            mf.Density(CIRCLE, von_mises(50.0, 3.1)),
            mf.Density(CIRCLE, [1.0]),
        ):
            found = wasserstein_circle(perturbed, other, p)
            expected = wasserstein_circle(mf.Density(CIRCLE, exact), other, p)
            assert found == pytest.approx(expected, abs=2.0 * negative)


@pytest.mark.parametrize("p", [1, 2])
def test_many_points_equal_few_copies(p: int) -> None:
    """Above some thousand points the median is guessed from samples; copies must not matter."""
    rng = np.random.default_rng(5)
    few = rng.uniform(0.0, TURN, 100)
    density = mf.Density(CIRCLE, von_mises(2.0, 1.0))
    many = mf.Measure(CIRCLE, np.repeat(few, 100))
    expected = wasserstein_circle(mf.Measure(CIRCLE, few), density, p)
    assert wasserstein_circle(many, density, p) == pytest.approx(expected, abs=1e-13)
