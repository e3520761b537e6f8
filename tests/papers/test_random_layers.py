"""Random layers: laws against fields of d x d matrices, other quadratures, and drawn layers."""

import math

import numpy as np
import pytest
from core import unit
from parameters import each, refused, together
from scipy.integrate import cumulative_simpson, dblquad, quad
from scipy.special import beta as euler_beta
from scipy.special import eval_gegenbauer, roots_jacobi

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.papers.random_layers import (
    antipodal_probability,
    cluster_lifetime,
    layered_mean,
    mean_overlap,
    mean_squared_order,
    overlap_coefficients,
    overlap_exponents,
    simplex_overlap,
    token_moments,
)
from meanfield.papers.saved_states import SolutionEnds, saved_states

RULES = ("ito", "stratonovich")
# Orthogonal start; rows d = 2, 3, 4, 5, 8, 16, columns beta = 0.5, 1, 2, 3. By Gauss-Jacobi
# quadrature in R and by composite Gauss quadrature in artanh R, which agree in all digits.
PRINTED = {
    "ito": """
        0.5 0.5 0.5 0.5
        0.1074639591 0.2224225631 0.3363663051 0.3833168816
        0 0.0844272473 0.2474432682 0.3227990097
        0 0.0212314632 0.1892789429 0.2824906455
        0 0 0.0928626954 0.2082869569
        0 0 0.0153008194 0.1154429072""",
    "stratonovich": """
        0.2935449107 0.4122775811 0.4933605110 0.5125848824
        0 0.1645545910 0.3375725344 0.3986459529
        0 0.0521654308 0.2505803248 0.3373975992
        0 0.0048497700 0.1925549961 0.2957824205
        0 0 0.0947635590 0.2180698842
        0 0 0.0153920080 0.1203600192""",
}


def means(x: FloatArray, beta: float, masses: FloatArray) -> FloatArray:
    if beta == 0.0:
        return np.broadcast_to(x.mean(axis=-2, keepdims=True), x.shape)
    weights = masses * np.exp(beta * (x @ x.swapaxes(-1, -2) - 1.0))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True) @ x)


def layers(x: FloatArray, beta: float, count: int, time: float, rng, masses=1.0):
    """States (runs, n, d) after each of so many layers with fresh matrices."""
    runs, _, d = x.shape
    for _ in range(count):
        values = rng.standard_normal((runs, d, d)) * math.sqrt(time / count / d)
        x = unit(x + means(x, beta, masses) @ values.swapaxes(1, 2))
        yield x


def pair(d: int, overlap: float) -> FloatArray:
    x = np.zeros((2, d))
    x[0, 0], x[1, :2] = 1.0, (overlap, math.sqrt(1.0 - overlap**2))
    return x


def generator(d: int, beta: float, overlap: float, mass: float, rule: str) -> tuple[float, float]:
    """Drift and variance of R by sums over the entries of the matrix, and differences.

    One entry alone moves tokens along a curve; R has the drift (1 / 2d) sum R'' and the variance
    (1 / d) sum R'^2. The curve is a layer's, or the flow of the field P_x E m for Stratonovich.
    """
    masses, x, e, drift, variance = np.array([mass, 1.0 - mass]), pair(d, overlap), 2e-3, 0.0, 0.0
    for entry in np.eye(d * d).reshape(-1, d, d):

        def field(y: FloatArray, entry: FloatArray = entry) -> FloatArray:
            u = means(y, beta, masses) @ entry.T
            return np.asarray(u - (u * y).sum(axis=1, keepdims=True) * y)

        def moved(step: float, entry: FloatArray = entry, field=field) -> float:
            if rule == "ito":
                y = unit(x + step * means(x, beta, masses) @ entry.T)
                return float(y[0] @ y[1])
            k1 = field(x)
            k2 = field(x + step / 2 * k1)
            k3 = field(x + step / 2 * k2)
            y = x + step / 6 * (k1 + 2 * k2 + 2 * k3 + field(x + step * k3))
            return float(y[0] @ y[1])

        # Differences of order four: errors of 1e-10, rounding of 1e-10.
        far, near, here = [moved(k * e) for k in (-2, 2)], [moved(k * e) for k in (-1, 1)], overlap
        drift += (16 * sum(near) - sum(far) - 30 * here) / (12 * e**2) / (2 * d)
        slope = (8 * (near[1] - near[0]) - (far[1] - far[0])) / (12 * e)
        variance += slope**2 / d
    return drift, variance


@each("overlap", [-0.9, -0.3, 0.0, 0.6], d=[2, 3, 5], beta=[2.0, 0.7, -1.0], mass=[0.5, 0.3, 0.8],
      rule=RULES)  # fmt: skip
def test_coefficients_are_those_of_matrix_noise(overlap, d, beta, mass, rule):
    """The overlap would follow another diffusion than layers, or than the Stratonovich equation."""
    drift, variance = overlap_coefficients(d, beta, np.array([overlap]), mass, rule)
    expected = generator(d, beta, overlap, mass, rule)
    assert (drift[0], variance[0]) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("d", "beta"), [(2, 0.4), (3, 1.0), (8, 2.0)])
def test_exponents_are_those_of_the_coefficients(d, beta, rule):
    """An end would attract where tokens leave it: d ln e = drift / e - variance / (2 e^2)."""
    e, expected = 1e-5, overlap_exponents(d, beta, rule)
    for sign, exponent in zip((1.0, -1.0), expected, strict=True):
        drift, variance = overlap_coefficients(d, beta, sign * np.array([1.0 - e]), 0.5, rule)
        rate = -sign * drift[0] / e - variance[0] / (2.0 * e**2)
        assert rate == pytest.approx(exponent, abs=10 * e)  # of order e


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_antipodal_probabilities_are_printed(rule):
    """All numbers of the table to 1e-8."""
    rows = [list(map(float, row.split())) for row in PRINTED[rule].split("\n")[1:]]
    for d, row in zip((2, 3, 4, 5, 8, 16), rows, strict=True):
        for beta, expected in zip((0.5, 1.0, 2.0, 3.0), row, strict=True):
            probability = antipodal_probability(d, beta, interpretation=rule)
            assert probability == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("d", "beta", "overlap"),
    [(3, 1.0, -0.5), (4, 0.66, 0.0), (4, 2.0, 0.9), (8, 3.0, 0.5), (64, 3.0, -0.8), (3, 8.0, 0.0)],
)
def test_antipodal_probability_agrees_with_a_quadrature_in_the_overlap(d, beta, overlap):
    """Near the critical beta (0.6585 for d = 4) most of the integral is in the tail."""
    # s dy = (1 + R)^p (1 - R)^q e^{-K(R)} dR with K smooth.
    p, q = -0.5 - (d - 2) / math.cosh(2.0 * beta) / 2.0, (d - 3) / 2.0

    def slope(x: float) -> float:  # of K
        attraction = (d - 2) / math.cosh(beta * (1.0 - x)) / (1.0 - x**2)
        return attraction + (p + 0.5) / (1.0 + x) - (q + 0.5) / (1.0 - x)

    def integral(low: float, high: float) -> float:  # Gauss-Jacobi; one end is -1 or 1
        left, right = (p if low == -1.0 else 0.0), (q if high == 1.0 else 0.0)
        nodes, weights = roots_jacobi(60, right, left)
        half, total = (high - low) / 2.0, 0.0
        for r, weight in zip(low + half * (1.0 + nodes), weights, strict=True):
            value = math.exp(-quad(slope, 0.0, r, epsabs=1e-13, epsrel=1e-13)[0])
            total += weight * value * (1.0 + r) ** (p - left) * (1.0 - r) ** (q - right)
        return total * half ** (1.0 + right + left)

    above, below = integral(overlap, 1.0), integral(-1.0, overlap)
    probability = antipodal_probability(d, beta, overlap)
    assert probability == pytest.approx(above / (above + below), abs=1e-9)


@pytest.mark.parametrize("overlap", [-0.8, 0.0, 0.3])
def test_circle_has_the_angle_over_pi(overlap):
    """In the plane layers choose the antipodal end with probability arccos(R) / pi, at any beta."""
    for beta in (0.0, 0.5, 20.0):
        probability = antipodal_probability(2, beta, overlap)
        assert probability == pytest.approx(math.acos(overlap) / math.pi, abs=1e-11)


def test_antipodal_end_appears_at_the_critical_beta():
    """The probability would be positive where the antipodal state repels, or else 0."""
    for d in (3, 4, 5, 16):
        critical = {"ito": math.acosh(d - 2) / 2, "stratonovich": math.log(2 * d - 3) / 2}
        for rule, beta in critical.items():
            assert antipodal_probability(d, max(beta - 1e-6, 0.0), interpretation=rule) == 0.0
            assert 0.0 < antipodal_probability(d, beta + 1e-3, interpretation=rule) < 0.01


@pytest.mark.parametrize("rule", RULES)
def test_stopped_probability_is_harmonic(rule):
    """Runs that stop at |R| = 0.9 would have another law: drift P' + variance P'' / 2 = 0."""
    h, r = 0.02, 0.2
    values = [antipodal_probability(4, 1.3, r + k * h, rule, until=0.9) for k in (-2, -1, 0, 1, 2)]
    first = np.dot(values, [1, -8, 0, 8, -1]) / (12 * h)
    second = np.dot(values, [-1, 16, -30, 16, -1]) / (12 * h**2)
    drift, variance = overlap_coefficients(4, 1.3, np.array([r]), interpretation=rule)
    assert abs(drift[0] * first + variance[0] * second / 2) < 1e-5 * abs(drift[0] * first)  # h^4
    ends = [antipodal_probability(4, 1.3, x, rule, until=0.9) for x in (-0.9 + 1e-12, 0.9 - 1e-12)]
    assert ends == pytest.approx([1.0, 0.0], abs=1e-10)
    # Printed: d = 3, beta = 1 stopped at 1 - 1e-5.
    if rule == "stratonovich":
        probability = antipodal_probability(3, 1.0, interpretation=rule, until=1.0 - 1e-5)
        assert probability == pytest.approx(0.16945739, abs=5e-9)


@pytest.mark.slow
def test_layers_end_antipodal_as_often():
    """3,000 pairs in R^3 at beta = 2 under drawn matrices, to four standard errors."""
    until, alive, antipodal = 0.999, np.broadcast_to(pair(3, 0.0), (3000, 2, 3)), 0
    rng = np.random.default_rng(1)
    for _ in range(20):
        *_, alive = layers(alive, 2.0, 100, 2.0, rng)  # steps of 0.02, looked at after 2.0
        overlap = (alive[:, 0] * alive[:, 1]).sum(axis=1)
        antipodal += int((overlap < -until).sum())
        alive = alive[np.abs(overlap) < until]
    assert len(alive) < 15
    expected = antipodal_probability(3, 2.0, until=until)
    error = math.sqrt(expected * (1.0 - expected) / 3000)
    assert antipodal / 3000 == pytest.approx(expected, abs=4 * error + len(alive) / 3000)


def lifetime_by_simpson(d: int, beta: float, mass: float) -> float:
    """Mean time from R = -1 to 0, T = int s int m, on a grid in x = ln(1 + R)."""
    x = np.linspace(-30.0 - 2.0 * beta, 0.0, 40_001)
    e = np.exp(x)
    drift, variance = overlap_coefficients(d, beta, np.maximum(e - 1.0, -1.0), mass)
    # 1 + R has lost its digits near R = -1, where these are the coefficients to first order.
    odds, low = math.log(mass / (1.0 - mass)), e < 1e-9
    c = math.tanh(beta + odds / 2.0) - math.tanh(beta - odds / 2.0)
    drift[low] = (d - 1) / (2 * d) * c**2
    variance[low] = e[low] * (2.0 / d) * c**2
    spread = variance / e**2
    f = cumulative_simpson(2.0 * drift * e / variance - 1.0, x=x, initial=0.0)
    speed = 2.0 / spread * np.exp(f)
    # At the left end they grow like e^{(d - 1) x / 2}, and -dT / dx like e^x.
    slope = np.exp(-f) * (speed[0] * 2.0 / (d - 1) + cumulative_simpson(speed, x=x, initial=0.0))
    return float(slope[0] + cumulative_simpson(slope, x=x)[-1])


@pytest.mark.parametrize(("d", "beta", "mass"), [(3, 1.0, 1 / 3), (2, 2.0, 1 / 3), (4, 2.0, 0.8)])
def test_lifetime_agrees_with_a_double_integral(d, beta, mass):
    """Clusters of unequal masses would separate earlier or later than the diffusion says."""
    expected = lifetime_by_simpson(d, beta, mass)
    assert cluster_lifetime(d, beta, mass) == pytest.approx(expected, rel=1e-8)


@together(("rule", "d", "mass", "beta", "expected", "digits"), [
    ("ito", 3, 1 / 3, 1.0, 12.865564, 1e-7), ("ito", 3, 1 / 3, 2.0, 103.773076, 1e-8),
    ("ito", 3, 1 / 3, 3.0, 859.33193, 1e-8), ("ito", 3, 1 / 3, 4.0, 6562.009, 1e-7),
    ("ito", 3, 1 / 3, 5.0, 4.884e4, 1e-4), ("ito", 3, 0.45, 2.0, 398.32313, 2e-8),
    ("ito", 2, 1 / 3, 2.0, 126.853676, 1e-8), ("ito", 4, 1 / 3, 2.0, 95.461334, 1e-8),
    # Composite Gauss quadrature, coefficients from vectors of 250 digits.
    ("ito", 3, 1 / 3, -20.0, 5.228945929577e17, 1e-11),
    ("ito", 4, 0.8, -40.0, 5.155633493622e34, 1e-11),
    ("ito", 3, 1 / 3, 90.0, 3.308579827008e78, 1e-11),
    ("ito", 3, 1 / 3, 100.0, 1.605207778299e87, 1e-11),
    ("stratonovich", 3, 1 / 3, -20.0, 2394.1719207402, 1e-12),
    ("stratonovich", 5, 0.9, -30.0, 8314.88090837665, 1e-12),
])  # fmt: skip
def test_lifetimes_are_printed(rule, d, mass, beta, expected, digits):
    """By composite Gauss quadrature and by Radau."""
    time = cluster_lifetime(d, beta, mass, interpretation=rule)
    assert time == pytest.approx(expected, rel=digits)


@pytest.mark.slow
def test_lifetime_has_the_limit_of_large_beta():
    """The factor of e^{2 beta} would be another; both rules have the same."""
    for d, mass, overlap in ((2, 0.3, 0.0), (3, 0.1, 0.3), (6, 0.6, -0.5)):
        factor = d * euler_beta((d - 1) / 2, 0.5) * (math.pi / 2 + math.asin(overlap))
        factor /= 4 * math.sqrt(2) * abs(math.sinh(math.log(mass / (1 - mass))))
        for rule in RULES:
            time = cluster_lifetime(d, 20.0, mass, overlap, rule)
            assert time * math.exp(-40.0) == pytest.approx(factor, rel=1e-5)
    assert math.isinf(cluster_lifetime(3, 1.0, 0.5))


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_mean_overlap_agrees_with_differences(rule):
    """Layers would be compared with another limit: backward equation in R, implicit midpoints."""
    values = []
    for cells in (200, 400):
        r = np.linspace(-1.0, 1.0, cells + 1)
        h, steps = r[1] - r[0], cells // 4
        drift, variance = overlap_coefficients(3, 1.0, r, interpretation=rule)
        matrix = np.diag(-variance / h**2)
        matrix[1:, :-1] += np.diag((variance / (2 * h**2) - drift / (2 * h))[1:])
        matrix[:-1, 1:] += np.diag((variance / (2 * h**2) + drift / (2 * h))[:-1])
        eye, half = np.eye(cells + 1), 0.5 / steps * matrix
        step = np.linalg.solve(eye - half, eye + half)
        values.append((np.linalg.matrix_power(step, steps) @ r)[[cells // 4, cells // 2]])
    expected = values[1] + (values[1] - values[0]) / 3.0
    result = [mean_overlap(3, 1.0, 1.0, start, rule) for start in (-0.5, 0.0)]
    assert result == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
def test_mean_overlaps_are_printed():
    """By Chebyshev polynomials in R and by differences of order six in artanh R."""
    assert mean_overlap(2, 1.0, 1.0) == pytest.approx(0.0061436, abs=1e-7)
    assert mean_overlap(3, 2.0, 1.0, -0.5, "stratonovich") == pytest.approx(-0.40524254, abs=1e-8)


@pytest.mark.slow
def test_layers_have_the_mean_overlap():
    """10,000 pairs of 16 layers in R^3: the mean, with an error of some 0.051 / L, and moments."""
    x = np.broadcast_to(pair(3, 0.0), (10_000, 2, 3))
    *_, moved = layers(x, 1.0, 16, 1.0, np.random.default_rng(2))
    overlap = (moved[:, 0] * moved[:, 1]).sum(axis=1)
    expected = mean_overlap(3, 1.0, 1.0) + 0.0509 / 16
    assert overlap.mean() == pytest.approx(expected, abs=4 * overlap.std() / 100)


@pytest.mark.slow
@together(("square", "time", "rule", "expected"), [
    (0.09, 4.0, "ito", 0.16865279), (0.25, 2.0, "ito", 0.313175754),
    (0.25, 2.0, "stratonovich", 0.345767108),
])  # fmt: skip
def test_orders_without_scores_are_printed(square, time, rule, expected):
    """By Chebyshev polynomials in |m|^2 and by differences of order four in its logit."""
    result = mean_squared_order(math.sqrt(square), time, rule)
    assert result == pytest.approx(expected, abs=1e-8)


@pytest.mark.slow
def test_layers_without_scores_have_the_mean_order():
    """48 tokens at quantiles of a Poisson law, 4,000 runs of 40 layers to t = 4."""
    quantiles = (np.arange(48) + 0.5) / 48 - 0.5
    angles = 2.0 * np.arctan((1.0 - 0.3) / (1.0 + 0.3) * np.tan(np.pi * quantiles))
    x = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    *_, x = layers(np.broadcast_to(x, (4000, 48, 2)), 0.0, 40, 4.0, np.random.default_rng(3))
    squares = (x.mean(axis=1) ** 2).sum(axis=1)
    # The quantiles have 0.0901 at the start, layers an error of order 1 / L.
    error = 4 * squares.std() / math.sqrt(4000) + 0.003
    assert squares.mean() == pytest.approx(mean_squared_order(0.3, 4.0), abs=error)


@pytest.mark.parametrize("d", [2, 3, 7])
def test_moments_of_a_token_are_those_of_spherical_brownian_motion(d):
    """E C_l(<x_t, x_0>) = C_l(1) e^{-l (l + d - 2) t / 2d}, C_l of Gegenbauer."""
    powers = token_moments(d, 0.7, 6)
    nodes = np.cos(np.pi * (np.arange(7) + 0.5) / 7)
    for degree in range(7):
        if d == 2:
            values, end = np.cos(degree * np.arccos(nodes)), 1.0
        else:
            values = eval_gegenbauer(degree, d / 2 - 1, nodes)
            end = eval_gegenbauer(degree, d / 2 - 1, 1.0)
        coefficients = np.polynomial.polynomial.polyfit(nodes, values, 6)
        decay = math.exp(-degree * (degree + d - 2) * 0.7 / (2 * d))
        assert coefficients @ powers == pytest.approx(end * decay, abs=1e-10 * end)


@pytest.mark.parametrize("d", [2, 3, 8])
def test_mean_of_one_token_agrees_with_a_quadrature(d):
    """Layers would shrink the mean by another factor: V x has normal components."""
    size = math.sqrt(0.25 / d)

    def part(q: float, z: float) -> float:  # component along x, and length across
        along = 1.0 + size * z
        density = math.exp(-(z * z + q * q) / 2) / math.sqrt(2 * math.pi)
        density *= 2.0 * q ** (d - 2) / (2 ** ((d - 1) / 2) * math.gamma((d - 1) / 2))
        return along / math.hypot(along, size * q) * density

    factor = dblquad(part, -9.0, 9.0, 0.0, 9.0, epsabs=1e-10)[0]
    assert layered_mean(d, 4) == pytest.approx(factor**4, abs=1e-9)
    step, limit = 1e-4, math.exp(-(d - 1) / (2 * d))
    expected = 1.0 + step * (d - 1) * (d - 4) / (4 * d**2)
    assert layered_mean(d, 10_000) / limit == pytest.approx(expected, abs=1e-7)


@pytest.mark.slow
def test_layers_move_a_token_and_a_tight_cluster_by_their_laws():
    """6,000 runs of 50 layers in R^3: moments of the token; ln of distances is normal."""
    rng, time = np.random.default_rng(4), 1.0
    start = unit(np.eye(3)[0] + 1e-5 * rng.standard_normal((3, 3)))
    *_, x = layers(np.broadcast_to(start, (6000, 3, 3)), 2.0, 50, time, rng)
    cosine = x[:, 0] @ start[0]
    moments = token_moments(3, time, 2)
    assert cosine.mean() == pytest.approx(layered_mean(3, 50), abs=4 * cosine.std() / 77)
    # Layers shift this moment by less than 0.002.
    assert (cosine**2).mean() == pytest.approx(moments[2], abs=4 * (cosine**2).std() / 77 + 0.002)
    ratios = np.log(np.linalg.norm(x[:, 1] - x[:, 2], axis=1) / np.linalg.norm(start[1] - start[2]))
    rate = overlap_exponents(3, 2.0)[0] / 2.0
    assert ratios.mean() == pytest.approx(rate * time, abs=4 * ratios.std() / 77 + 0.01)
    assert ratios.var() == pytest.approx(time / 3, rel=4 * math.sqrt(2 / 6000) + 0.02)


def test_simplex_follows_its_equation():
    """Vectors with these overlaps have gamma' = s_12 - gamma s_11; two are a pair for large d."""
    times, h = np.array([0.999, 1.0, 1.001]), 1e-3
    for n, beta in ((8, 2.0), (2, 1.0)):
        before, gamma, after = simplex_overlap(n, beta, times, overlap=0.1)
        x = np.linalg.cholesky(gamma + (1.0 - gamma) * np.eye(n))
        s = means(x, beta, np.ones(n)) @ means(x, beta, np.ones(n)).T
        assert (after - before) / (2 * h) == pytest.approx(s[0, 1] - gamma * s[0, 0], abs=1e-6)
    drift, _ = overlap_coefficients(10**7, 1.0, np.array([gamma]))
    assert s[0, 1] - gamma * s[0, 0] == pytest.approx(drift[0], abs=1e-6)
    result = simplex_overlap(32, 2.0, np.array([0.5, 1.0, 2.0, 4.0]))
    printed = [0.0192112643, 0.0490249678, 0.1593917533, 0.6123909023]
    np.testing.assert_allclose(result, printed, rtol=0, atol=1e-10)


@pytest.mark.slow
def test_layers_in_many_dimensions_approach_the_simplex():
    """Eight orthogonal tokens at beta = 1: the mean overlap differs by some 0.55 / d at t = 1."""
    (limit,), error = simplex_overlap(8, 1.0, np.array([1.0])), {}
    pairs = np.triu_indices(8, 1)
    for d, runs in ((16, 2000), (64, 200)):
        x = np.broadcast_to(np.eye(8, d), (runs, 8, d))
        *_, x = layers(x, 1.0, 50, 1.0, np.random.default_rng(d))
        overlaps = (x @ x.swapaxes(1, 2))[:, pairs[0], pairs[1]].mean(axis=1)
        error[d] = 4 * overlaps.std() / math.sqrt(runs)
        assert d * (limit - overlaps.mean()) == pytest.approx(0.55, abs=d * error[d] + 0.2)


def test_values_out_of_range_are_refused():
    """A probability or a time would be NaN, or belong to other arguments."""
    probability, one = antipodal_probability, np.ones(1)
    refused("d must be at least 2", probability, 1, 1.0)
    refused(r"overlap must lie strictly within \+-1", probability, 3, 1.0, 1.0)
    refused(r"within \+-0.8, got 0.9", probability, 3, 1.0, 0.9, until=0.8)
    refused(r"until must lie in \(0, 1\]", probability, 3, 1.0, until=1.5)
    refused("'ito'", probability, 3, 1.0, interpretation="itoh")
    refused("overlap must lie between", overlap_coefficients, 3, 1.0, 1.1 * one)
    refused("mass must lie strictly", overlap_coefficients, 3, 1.0, 0.0 * one, 1.0)
    refused("beta must be at most 100", cluster_lifetime, 3, 101.0, 0.3)
    refused("time must", mean_overlap, 3, 1.0, -1.0)
    refused("order must lie strictly", mean_squared_order, 0.0, 1.0)
    refused("count must be at least 0", token_moments, 3, 1.0, -1)
    refused("layers must be at least 1", layered_mean, 3, 0)
    refused("time must be positive", layered_mean, 3, 1, 0.0)
    refused("tokens must be at least 2", simplex_overlap, 1, 1.0, one)
    for overlap in (-0.5, 2.0):
        message = "overlap must lie between -0.143 and 1"
        refused(message, simplex_overlap, 8, 1.0, one, overlap)
    message = "no states after the time 1: Required step size"
    times = np.array([0.5, 2.0])
    refused(message, saved_states, lambda t, y: y**2, one, times, error=SolutionEnds)


def test_stages_of_drawn_values_are_random_layers():
    """The page on random layers would show other layers than the laws are about."""
    rng, x = np.random.default_rng(5), np.eye(3)[:2]
    expected = [*layers(x[None], 2.0, 4, 1.0, np.random.default_rng(5))][-1][0]
    values = [rng.standard_normal((3, 3)) / math.sqrt(4 * 3) for _ in range(4)]
    heads = [mf.Attention([mf.Head(value=each)], beta=2.0) for each in values]
    stages = [mf.Stage(end=k, kernel=each) for k, each in enumerate(heads[:-1], 1)]
    stages.append(mf.Stage(kernel=heads[-1]))
    law, depth = mf.from_points(x), mf.Layers(count=4)
    problem = mf.Problem(mf.Sphere(), heads[0], initial=law, layers=depth, stages=stages)
    run = mf.simulate(problem, until=4, save=2)
    np.testing.assert_allclose(run.measures[-1].points, expected, rtol=0, atol=1e-13)
