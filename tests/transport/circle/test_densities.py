"""Distances on the circle between densities, and from points to them, by independent oracles."""

from collections.abc import Callable

import numpy as np
import pytest
from parameters import each
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar
from scipy.special import ive, ndtri

import meanfield as mf
from meanfield.engines.fourier.cdf import local_polynomials
from meanfield.transport.circle.w2 import w2_densities, w2_points_density
from meanfield.transport.circle.wasserstein import wasserstein_circle

CIRCLE = mf.Circle()
TURN = 2.0 * np.pi


def distance(first: np.ndarray | mf.Measure, second: np.ndarray, p: int) -> float:
    """Distance of points or a density, to a density, given by coefficients."""
    if not isinstance(first, mf.Measure):
        first = mf.Density(CIRCLE, first)
    return wasserstein_circle(first, mf.Density(CIRCLE, second), p)


def von_mises(concentration: float, mean: float, max_degree: int | None = None) -> np.ndarray:
    """Coefficients I_k(kappa) / I_0(kappa) e^{-ik mean}, to rounding."""
    k = np.arange(1 + (max_degree or int(10 * np.sqrt(concentration) + 20)))
    return ive(k, concentration) / ive(0, concentration) * np.exp(-1j * k * mean)


def mixture(*components: tuple[float, float, float]) -> np.ndarray:
    degree = max(int(10 * np.sqrt(c) + 20) for _, c, _ in components)
    return sum(w * von_mises(c, mean, degree) for w, c, mean in components)


def distribution(coefficients: np.ndarray, theta: np.ndarray | float) -> np.ndarray:
    """F(theta), zero on average without its linear part."""
    k = np.arange(1, len(coefficients))
    theta = np.asarray(theta)
    terms = np.exp(1j * theta[..., None] * k) @ (coefficients[1:] / (1j * k))
    return theta / TURN + terms.real / np.pi


def value(coefficients: np.ndarray, theta: np.ndarray | float) -> np.ndarray:
    k = np.arange(1, len(coefficients))
    return 1.0 + 2.0 * (np.exp(1j * np.asarray(theta)[..., None] * k) @ coefficients[1:]).real


def least(cost: Callable[[float], float]) -> float:
    """Square root of the least cost; flat there: 1e-8 in the cut is 1e-14 in the cost."""
    minimum = minimize_scalar(cost, bounds=(-1.5, 1.5), method="bounded", options={"xatol": 1e-8})
    return float(np.sqrt(minimum.fun))


@pytest.mark.parametrize("concentration", [0.1, 3.0, 30.0, 3000.0])
def test_general_w2_of_densities_equals_the_closed_form_to_uniform(concentration):
    """W_2(mu, uniform)^2 = 2 sum |c_k|^2 / k^2, which the general path does not know."""
    coefficients = von_mises(concentration, 2.0)
    k = np.arange(1, len(coefficients))
    expected = np.sqrt(2.0 * np.sum(np.abs(coefficients[1:]) ** 2 / k**2))
    uniform = local_polynomials(np.array([1.0]))
    rows = local_polynomials(coefficients)
    assert w2_densities(rows, uniform) == pytest.approx(expected, abs=1e-13)
    assert w2_densities(uniform, rows) == pytest.approx(expected, abs=1e-13)


@pytest.mark.slow
def test_w2_of_densities_equals_quantile_quadrature():
    """The coordinate x + y must give what the map x -> y gives where that is smooth."""
    # J(alpha) = int (T - x)^2 f dx / 2 pi with G(T) = F(x) + alpha, periodic in x.
    first, second = von_mises(1.5, 0.4), mixture((0.5, 2.0, 3.0), (0.5, 1.0, 5.0))
    x = np.arange(300) * TURN / 300
    levels, density = distribution(first, x), value(first, x)

    def cost(alpha: float) -> float:
        low, high = x - 2 * TURN, x + 2 * TURN
        for _ in range(60):
            middle = 0.5 * (low + high)
            above = distribution(second, middle) > levels + alpha
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return float(np.mean((0.5 * (low + high) - x) ** 2 * density))

    assert distance(first, second, 2) == pytest.approx(least(cost), abs=1e-12)


@pytest.mark.slow
def test_w2_of_densities_is_right_where_quantiles_jump():
    """Clusters of unequal masses tear mass apart: both quantile functions jump in the bulk."""
    # The clusters are Gaussians of standard deviation 1e-3, up to 1e-6 of that, on an arc shorter
    # than pi: their quantile functions are known, and integrated between the jumps.
    width = 1e-3
    first = [(0.3, 1.0), (0.7, 3.0)]
    second = [(0.5, 1.2), (0.5, 3.5)]
    clusters = (mixture(*((w, width**-2, mean) for w, mean in law)) for law in (first, second))
    atoms = (mf.Measure(CIRCLE, *np.transpose(law)[::-1]) for law in (first, second))
    expected = gaussian_clusters_w2(first, second, width)
    assert abs(wasserstein_circle(*atoms, p=2) - expected) > 1e-5  # the width of clusters matters
    assert distance(*clusters, 2) == pytest.approx(expected, abs=1e-9)


def gaussian_clusters_w2(first: list, second: list, width: float) -> float:
    """W_2 on the line between mixtures of far-apart Gaussians, (mass, mean) in increasing order.

    The integral over levels s by the double-exponential rule on every interval without a jump:
    s = a + (b - a) / (1 + e^{-2u}), u = pi/2 sinh t, whose ends may be logarithmic.
    """
    t = np.linspace(-4.0, 4.0, 801)
    u = 0.5 * np.pi * np.sinh(t)
    from_start, to_end = 1.0 / (1.0 + np.exp(-2.0 * u)), 1.0 / (1.0 + np.exp(2.0 * u))
    jacobian = np.pi * np.cosh(t) * from_start * to_end * (t[1] - t[0])
    levels = sorted({0.0, 1.0, first[0][0], second[0][0]})
    total = 0.0
    for a, b in zip(levels[:-1], levels[1:], strict=True):
        positions = []
        for (mass, mean), (_, other_mean) in (first, second):
            start, end, centre = (0.0, mass, mean) if b <= mass else (mass, 1.0, other_mean)
            # Both tails without cancellation.
            below = (a - start + (b - a) * from_start) / (end - start)
            above = (end - b + (b - a) * to_end) / (end - start)
            positions.append(centre + width * np.where(below < 0.5, ndtri(below), -ndtri(above)))
        total += (b - a) * ((positions[0] - positions[1]) ** 2 @ jacobian)
    return float(np.sqrt(total))


def test_w1_of_densities_equals_the_integral_between_zeros():
    """Median and zeros of a smooth F - G, found by scanning a fine grid."""
    first, second = mixture((0.5, 30.0, 1.0), (0.5, 3.0, 3.0)), von_mises(12.0, 4.0, 90)
    degree = min(len(first), len(second))
    first, second = first[:degree], second[:degree]
    k = np.arange(1, degree)
    jumps = (first - second)[1:] / (1j * k) / np.pi

    def gap(theta: float) -> float:
        return float(np.sum(jumps * np.exp(1j * k * theta)).real)

    def primitive(theta: float) -> float:
        return float(np.sum(jumps * np.exp(1j * k * theta) / (1j * k)).real)

    grid = np.linspace(0.0, TURN, 2001)
    on_grid = np.array([gap(t) for t in grid])

    def zeros(alpha: float) -> list[float]:
        changes = np.flatnonzero((on_grid[:-1] > alpha) != (on_grid[1:] > alpha))
        return [brentq(lambda t: gap(t) - alpha, grid[i], grid[i + 1], xtol=1e-15) for i in changes]

    def integrals(alpha: float) -> tuple[float, float]:
        ends = zeros(alpha)
        ends.append(ends[0] + TURN)
        area = balance = 0.0
        for a, b in zip(ends[:-1], ends[1:], strict=True):
            area += abs(primitive(b) - primitive(a) - alpha * (b - a))
            balance += np.copysign(b - a, gap(0.5 * (a + b)) - alpha)
        return area, balance

    lowest, highest = on_grid.min() + 1e-3, on_grid.max() - 1e-3
    alpha = brentq(lambda a: integrals(a)[1], lowest, highest, xtol=1e-15)
    assert distance(first, second, 1) == pytest.approx(integrals(alpha)[0], abs=1e-13)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("concentration", [400.0, 2e4])
def test_rotating_a_concentrated_density_costs_the_angle(p, concentration):
    """On an arc shorter than pi the circle is a line, and a translation is optimal."""
    first, second = von_mises(concentration, 6.2), von_mises(concentration, 6.5)
    assert distance(first, second, p) == pytest.approx(0.3, abs=1e-12)


@pytest.mark.parametrize("p", [1, 2])
def test_distance_of_equal_densities_is_zero(p):
    """Also when one is stored to a higher degree."""
    coefficients = von_mises(5.0, 1.0)
    assert distance(coefficients, np.pad(coefficients, (0, 10)), p) == 0.0


@each("seed", range(8), p=[1, 2])
def test_distance_is_invariant_under_rotation(p, seed):
    """Cells, cut and starting points of every search lie elsewhere after a rotation."""
    # Densities |q|^2 of random polynomials q, which nearly vanish in places, clusters, and points.
    rng = np.random.default_rng(seed)
    q = rng.normal(size=9) + 1j * rng.normal(size=9)
    squared = np.correlate(q, q, "full")[8:]
    clusters = mixture((0.2, 300.0, 1.0), (0.8, 40.0, 4.0))
    points = rng.uniform(0.0, TURN, 20)
    angle = rng.uniform(-5.0, 5.0)

    def placed(turned: float) -> list:
        densities = (
            mf.Density(CIRCLE, c / c[0].real * np.exp(-1j * turned * np.arange(len(c))))
            for c in (squared, clusters)
        )
        return [*densities, mf.Measure(CIRCLE, points + turned)]

    for i, j in ((0, 1), (0, 2), (1, 2)):
        here, there = placed(0.0), placed(angle)
        expected = wasserstein_circle(here[i], here[j], p)
        # Phases up to degree 190 times 5 are rounded by 1e-13.
        assert wasserstein_circle(there[i], there[j], p) == pytest.approx(expected, abs=3e-13)


@pytest.mark.parametrize("p", [1, 2])
def test_points_and_densities_obey_the_triangle_inequality(p):
    """The three algorithms, for points, for densities and for both, must measure one thing."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        some = [
            mf.Measure(CIRCLE, rng.uniform(0.0, TURN, 5)),
            mf.Density(CIRCLE, von_mises(rng.uniform(0.1, 50.0), rng.uniform(0.0, TURN))),
            mf.Density(CIRCLE, von_mises(rng.uniform(0.1, 50.0), rng.uniform(0.0, TURN))),
            mf.Measure(CIRCLE, rng.uniform(0.0, TURN, 3), rng.dirichlet(np.ones(3))),
        ]
        for i, j, k in ((0, 1, 2), (1, 0, 2), (0, 1, 3), (1, 0, 3), (1, 3, 2)):
            pairs = (i, j), (j, k), (i, k)
            first, then, direct = (wasserstein_circle(some[a], some[b], p) for a, b in pairs)
            assert direct <= first + then + 1e-13


def test_finely_quantised_density_is_as_far_as_itself():
    """W_2 from n atoms in the middle of quantile cells is that from the density, nearly."""
    # Moving mass inside its cell changes W_2 at first order by its mean only, which is almost 0;
    # the rest is of second order, d^2 / W_2 with d the distance from density to atoms.
    density, other = von_mises(3.0, 1.0), von_mises(1.0, 4.0)
    grid = np.linspace(0.0, TURN, 20_001)
    levels = distribution(density, grid)
    atoms = np.interp(levels[0] + (np.arange(2000) + 0.5) / 2000, levels, grid)
    measure = mf.Measure(CIRCLE, atoms)
    near, exact = distance(measure, density, 2), distance(density, other, 2)
    assert near < 5e-3
    assert distance(measure, other, 2) == pytest.approx(exact, abs=near**2 / exact)


def second_moment(coefficients: np.ndarray, start: float, end: float, centre: float) -> float:
    """Integral of (theta - centre)^2 dF over an interval, by adaptive quadrature."""

    def moment(t: float) -> float:
        return (t - centre) ** 2 * value(coefficients, t) / TURN

    return quad(moment, start, end, epsabs=1e-15, epsrel=1e-13, limit=200)[0]


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

    def quantile(level: float) -> float:
        def gap(theta: float) -> float:
            return float(distribution(coefficients, theta)) - level

        return brentq(gap, -3 * TURN, 3 * TURN, xtol=1e-15, rtol=1e-15)

    def cost(alpha: float) -> float:
        bounds = [quantile(level + alpha) for level in levels]
        cells = zip(bounds[:-1], bounds[1:], points, strict=True)
        return sum(second_moment(coefficients, *cell) for cell in cells)

    return least(cost)


CASES = {
    "one atom": ([0.7], [1.0], von_mises(2.0, 2.5)),
    "two atoms": ([6.1, 2.0], [0.3, 0.7], von_mises(4.0, 0.2)),
    "duplicates and both ends": ([0.0, 2.0, TURN, 2.0], [0.2, 0.3, 0.4, 0.1], von_mises(1.0, 3.0)),
    "five in an arc": ([1.0, 1.1, 1.25, 1.3, 1.05], [0.2] * 5, von_mises(9.0, 4.0)),
    "two peaks": ([0.3, 3.0, 4.0], [0.5, 0.1, 0.4], mixture((0.4, 20.0, 1.0), (0.6, 5.0, 4.5))),
}


@pytest.mark.parametrize("p, oracle", [(1, w1_oracle), (2, w2_oracle)])
@pytest.mark.parametrize("case", CASES)
def test_distance_of_points_and_density_equals_the_oracle(case, p, oracle):
    """A gap, the wrapping one, a zero of F - G - alpha, a quantile or the cut would be wrong."""
    angles, weights, coefficients = CASES[case]
    result = distance(mf.Measure(CIRCLE, angles, weights), coefficients, p)
    expected = oracle(np.mod(angles, TURN), np.array(weights), coefficients)
    assert result == pytest.approx(expected, abs=1e-12)


@each("concentration", [0.5, 10.0, 1000.0], p=[1, 2])
def test_distance_of_a_dirac_to_a_density_is_its_mean_cost(p, concentration):
    """All mass goes to one point: the Fourier series of d(0, theta)^p gives W_p^p."""
    # |theta| = pi/2 + sum_k 2 ((-1)^k - 1) / (pi k^2) cos k theta,
    # theta^2 = pi^2/3 + sum_k 4 (-1)^k / k^2 cos k theta.
    coefficients, angle = von_mises(concentration, 1.0), 2.6
    k = np.arange(1, len(coefficients))
    cosines = (coefficients[1:] * np.exp(1j * k * angle)).real
    signs = (-1.0) ** k
    expected = {
        1: np.pi / 2 + np.sum(cosines * 2 * (signs - 1) / (np.pi * k**2)),
        2: np.pi**2 / 3 + np.sum(cosines * 4 * signs / k**2),
    }[p]
    result = distance(mf.Measure(CIRCLE, [angle]), coefficients, p)
    assert result**p == pytest.approx(expected, abs=2e-14)


def test_general_w2_of_points_and_density_equals_the_closed_form_for_uniform():
    """The arcs of `w2_points_uniform` and the quantiles of the general path must agree."""
    rng = np.random.default_rng(3)
    points, weights = np.sort(rng.uniform(0.0, TURN, 50)), rng.dirichlet(np.ones(50))
    closed = distance(mf.Measure(CIRCLE, points, weights), np.array([1.0, 0.0]), 2)
    rows = local_polynomials(np.array([1.0]))
    assert w2_points_density(points, np.cumsum(weights), rows) == pytest.approx(closed, abs=1e-14)


@pytest.mark.parametrize("p", [1, 2])
def test_slightly_negative_density_is_right_to_its_precision(p):
    """Rounding or truncation makes densities negative; nothing may break or drift."""
    exact = 0.5 * np.array([2.0, 1.0])  # 1 + cos, zero at pi
    for negative in (1e-12, 1e-6):
        perturbed = mf.Density(CIRCLE, exact + np.array([0.0, 0.5 * negative]))
        for other in (
            mf.Measure(CIRCLE, [0.1, 3.1, 3.2]),
            mf.Density(CIRCLE, von_mises(50.0, 3.1)),
            mf.Density(CIRCLE, [1.0]),
        ):
            result = wasserstein_circle(perturbed, other, p)
            expected = wasserstein_circle(mf.Density(CIRCLE, exact), other, p)
            assert result == pytest.approx(expected, abs=2.0 * negative)


@pytest.mark.parametrize("p", [1, 2])
def test_many_points_equal_few_copies(p):
    """Above some thousand points the median is guessed from samples; copies must not matter."""
    rng = np.random.default_rng(5)
    few = rng.uniform(0.0, TURN, 100)
    many, density = mf.Measure(CIRCLE, np.repeat(few, 100)), von_mises(2.0, 1.0)
    expected = distance(mf.Measure(CIRCLE, few), density, p)
    assert distance(many, density, p) == pytest.approx(expected, abs=1e-13)
