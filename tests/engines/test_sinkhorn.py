"""Doubly stochastic attention: marginals, closed forms, what it conserves, what is refused."""

import numpy as np
import pytest
from parameters import refused
from scipy.special import ive

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.engines import sinkhorn


def tokens(seed: int, count: int, dimension: int) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, dimension))
    masses = rng.exponential(size=count)
    masses[::7] = 0.0
    return x / np.linalg.norm(x, axis=1)[:, None], masses / masses.sum()


def circle(angles: FloatArray) -> FloatArray:
    return np.column_stack([np.cos(angles), np.sin(angles)])


def plan(score: FloatArray, x: FloatArray, masses: FloatArray) -> FloatArray:
    """The doubly stochastic kernel u_i e^{x_i^T S x_j} w_j."""
    result = sinkhorn.pair_scaling(score, x, masses)
    return np.exp(result.log_u[:, None] + x @ score @ x.T + result.log_w)


def velocity(score: FloatArray, x: FloatArray, masses: FloatArray) -> FloatArray:
    """Velocity of V = 1: rows of the kernel are weights already."""
    mean = plan(score, x, masses) @ (masses[:, None] * x)
    return mean - (x * mean).sum(axis=1)[:, None] * x


def random_score(kind: str, seed: int, size: float) -> FloatArray:
    entries = np.random.default_rng(seed).normal(size=(3, 3))
    matrix = {
        "positive": entries @ entries.T, "indefinite": entries + entries.T, "any": entries,
        "negative": -np.eye(3),
    }[kind]  # fmt: skip
    return size * matrix / np.linalg.norm(matrix, 2)


def check_marginals(weights: FloatArray, masses: FloatArray, allowed: float) -> None:
    """Rows and columns of the kernel have mean 1."""
    np.testing.assert_allclose(weights @ masses, 1.0, rtol=0, atol=allowed)
    np.testing.assert_allclose((masses @ weights)[masses > 0], 1.0, rtol=0, atol=allowed)


@pytest.mark.parametrize(
    ("kind", "size", "most"),
    [
        ("positive", 1.0, 25), ("positive", 100.0, 25), ("positive", 1e4, 25),
        ("indefinite", 20.0, 150), ("any", 20.0, 150), ("negative", 20.0, 200),
    ],
)  # fmt: skip
def test_rows_and_columns_are_normalised(kind, size, most, monkeypatch):
    """Both marginals are mu; sweeps in range, of positive kernels independent of beta."""
    if kind != "positive":
        # Newton's matrix of other scores may be singular.
        monkeypatch.setattr(sinkhorn, "newton_scaling", None)
    x, masses = tokens(1, 120, 3)
    score = random_score(kind, 2, size)
    # The scores themselves are known to eps |S|.
    check_marginals(plan(score, x, masses), masses, 1.2e-13 + 8 * np.finfo(float).eps * size)
    assert sinkhorn.is_positive(score) == (kind == "positive")
    assert sinkhorn.pair_scaling(score, x, masses).sweeps <= most


def plain_log_weights(score: FloatArray, x: FloatArray, masses: FloatArray) -> FloatArray:
    """Logarithms of u = w by plain sweeps with pairs, each of which halves the error."""
    scores = x @ score @ x.T + np.log(masses, where=masses > 0, out=np.full(len(x), -np.inf))
    log_w = -0.5 * np.diagonal(x @ score @ x.T)
    for _ in range(70):
        exponents = scores + log_w
        top = exponents.max(axis=1)
        log_w = 0.5 * (log_w - top - np.log(np.exp(exponents - top[:, None]).sum(axis=1)))
    return log_w


@pytest.mark.parametrize("beta", [1e-8, 0.3, 9.0, 1e3])
@pytest.mark.parametrize(
    ("count", "dimension"), [(1, 2), (2, 2), (2, 3), (60, 2), (150, 3), (40, 16)]
)
def test_newton_gives_the_weights_of_plain_sweeps(count, dimension, beta):
    """Weights would differ for some size or dimension, zero masses, or general scores."""
    x, masses = tokens(count, count + 1, dimension)
    x, masses, heavy = x[1:], masses[1:] / masses.sum(), masses[1:] > 0
    entries = np.random.default_rng(5).normal(size=(dimension, dimension))
    product = entries @ entries.T
    for score in (beta * np.eye(dimension), beta * product / np.linalg.norm(product, 2)):
        result = sinkhorn.pair_scaling(score, x, masses)
        apart = (result.log_w - plain_log_weights(score, x, masses))[heavy]
        # Scores are known to eps beta.
        assert np.abs(apart).max() <= 1e-12 + 8 * np.finfo(float).eps * beta
        assert result.residual <= sinkhorn.RESIDUAL
        assert result.sweeps <= 12


def test_sweeps_take_over_where_newton_fails(monkeypatch):
    """They give the same weights, and refuse what has none."""
    x, masses = tokens(1, 50, 3)
    score = random_score("positive", 2, 5.0)
    result = sinkhorn.pair_scaling(score, x, masses)
    monkeypatch.setattr(sinkhorn, "newton_scaling", lambda *_: None)
    swept = sinkhorn.pair_scaling(score, x, masses)
    assert swept.sweeps > result.sweeps
    np.testing.assert_allclose(swept.log_w, result.log_w, rtol=0, atol=1e-12)
    nowhere = np.full((2, 3), np.nan)
    refused(
        "not found",
        sinkhorn.pair_scaling,
        score,
        nowhere,
        np.full(2, 0.5),
        error=sinkhorn.NotBalanced,
    )


@pytest.mark.parametrize("sign", [-1.0, 0.0, np.nan])
def test_newton_that_fails_gives_nothing(sign):
    """Sums that are not positive have no weights."""
    kernel = sinkhorn.PositiveKernel(lambda m: m, lambda c: sign * c, lambda q: lambda r: r)
    assert sinkhorn.newton_scaling(kernel, np.full(3, 1 / 3)) is None


def test_clusters_that_hardly_interact_are_balanced():
    """Sweeps alone change what three distant clusters weigh by 1e-9 each: mixing must notice."""
    rng = np.random.default_rng(0)
    x = circle(2 * np.pi / 3 * rng.integers(0, 3, 100) + 0.05 * rng.normal(size=100))
    turned = 20.0 * np.array([[np.cos(0.4), -np.sin(0.4)], [np.sin(0.4), np.cos(0.4)]])
    masses = np.full(100, 0.01)
    check_marginals(plan(turned, x, masses), masses, 1.2e-13)
    assert sinkhorn.pair_scaling(turned, x, masses).sweeps <= 150


@pytest.mark.parametrize(
    ("beta", "phi", "p", "printed"),
    [(5.0, 2.0, 0.3, -0.0016675317), (3.0, 1.0, 0.1, -0.4789942774), (80.0, 1.2, 0.01, None)],
)
def test_two_clusters_approach_at_their_rate(beta, phi, p, printed):
    """The rate is -2 sin phi / (1 + sqrt(1 + 4 p (1-p) (b^-2 - 1))), b = e^{beta (cos phi - 1)}."""
    x, masses = circle(np.array([0.0, phi])), np.array([p, 1.0 - p])
    # Each moves by the other's mass times the same weight.
    rate = -plan(beta * np.eye(2), x, masses)[0, 1] * np.sin(phi)
    v = velocity(beta * np.eye(2), x, masses)
    result = v[1] @ [-np.sin(phi), np.cos(phi)] - v[0] @ [0.0, 1.0]
    np.testing.assert_allclose(result, rate, rtol=0, atol=1e-15)
    # b^-2 - 1 without cancellation.
    far = np.expm1(2.0 * beta * (1.0 - np.cos(phi)))
    expected = -2.0 * np.sin(phi) / (1.0 + np.sqrt(1.0 + 4.0 * p * (1.0 - p) * far))
    np.testing.assert_allclose(rate, expected, rtol=1e-11)
    if printed is not None:
        assert round(rate, 10) == printed


@pytest.mark.parametrize(
    ("k", "q", "printed"),
    [(2, 1, 9.0795737e-5), (3, 1, 0.0070423155), (4, 2, 0.1329611334), (4, 1, 0.0661252107)],
)
def test_polygon_of_clusters_grows_at_its_rate(k, q, printed):
    """Lambda_q = Lambda_q of softmax - beta s_q^2 / (1 + P_q): derivative of the velocity."""
    beta, angles, masses = 5.0, 2 * np.pi * np.arange(k) / k, np.full(k, 1.0 / k)
    weights = np.exp(beta * np.cos(angles))
    weights /= weights.sum()
    harmonic = weights @ np.cos(q * angles)
    sine = weights @ (np.sin(angles) * np.sin(q * angles))
    # d/d theta of (sum_j a_ij sin(theta_j - theta_i)) / (sum_j a_ij), weights frozen and not.
    pull = weights * (beta * np.sin(angles) ** 2 - np.cos(angles))
    softmax = pull @ (1.0 - np.cos(q * angles))
    exact = softmax - beta * sine**2 / (1.0 + harmonic)
    assert abs(exact - printed) < 1e-9

    def moved(step: float) -> FloatArray:
        shifted = angles + step * np.cos(q * angles)
        v = velocity(beta * np.eye(2), circle(shifted), masses)
        return -v[:, 0] * np.sin(shifted) + v[:, 1] * np.cos(shifted)

    h = 2e-3
    # Fourth order: h^4 beta^4 = 1e-8 of a fifth derivative, extrapolated once more.
    coarse, fine = (
        (8 * (moved(s) - moved(-s)) - (moved(2 * s) - moved(-2 * s))) / (12 * s) for s in (2 * h, h)
    )
    slope = (16 * fine - coarse) / 15
    np.testing.assert_allclose(slope, exact * np.cos(q * angles), rtol=0, atol=1e-10)


@pytest.mark.parametrize("dimension", [2, 3])
def test_angular_momentum_is_conserved(dimension):
    """That is int x wedge v dmu = 0: the kernel is symmetric; with softmax it is not."""
    x, masses = tokens(3, 30, dimension)
    weighted = masses[:, None] * velocity(6.0 * np.eye(dimension), x, masses)
    np.testing.assert_allclose(x.T @ weighted - weighted.T @ x, 0.0, rtol=0, atol=1e-14)
    weights = masses * np.exp(6.0 * x @ x.T)
    softmax = masses[:, None] * (weights @ x) / weights.sum(axis=1)[:, None]
    assert np.abs(x.T @ softmax - softmax.T @ x).max() > 1e-3


def test_weights_that_do_not_exist_are_refused():
    """A kernel with a zero block has none: one line with what to do, no numbers."""
    kernel, masses = (
        np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]]),
        np.full(3, 1 / 3),
    )
    for sums, message in (
        (lambda w: kernel @ (w * masses), r"not found: after \d+ sums.*smaller beta"),
        (lambda w: -w, "not found"),
    ):
        refused(message, sinkhorn.scaling, sums, masses, error=sinkhorn.NotBalanced)


class CircleDensity:
    """Sinkhorn attention of a density on the circle by FFT, of B = V = 1: a judge of rates."""

    def __init__(self, beta: float, density: FloatArray) -> None:
        self.beta, self.f, self.n = beta, density, len(density)
        self.degrees = np.arange(self.n // 2 + 1)
        self.multipliers = ive(self.degrees, beta)

    def sums(self, values: FloatArray) -> FloatArray:
        """Values of int e^{beta (cos(x - y) - 1)} w f dy / 2 pi."""
        return np.fft.irfft(self.multipliers * np.fft.rfft(values * self.f), self.n)

    def velocity(self, w: FloatArray) -> FloatArray:
        """(1 / beta) d/dx log of those sums."""
        sums = self.multipliers * np.fft.rfft(w * self.f)
        slope = np.fft.irfft(1j * self.degrees * sums, self.n)
        return slope / np.fft.irfft(sums, self.n) / self.beta

    def rates(self, w: FloatArray) -> FloatArray:
        """Cosine coefficients of d_t f."""
        flux = np.fft.rfft(self.f * self.velocity(w)) * 2.0 / self.n
        return (-1j * self.degrees * flux).real


@pytest.mark.parametrize("degree", [1, 3, 4])
def test_density_near_uniform_grows_at_its_rate(degree):
    """Balanced weights: L / beta alpha / (1 + alpha); m row sweeps: another model, another rate."""
    beta, eps = 5.0, 1e-6
    angles = 2 * np.pi * np.arange(96) / 96
    of = CircleDensity(beta, 1.0 + eps * np.cos(degree * angles))
    w = np.exp(sinkhorn.scaling(of.sums, of.f / 96).log_w)
    problem = mf.Problem(mf.Circle(), mf.Attention([mf.Head()], "sinkhorn", beta=beta))
    rate = mf.growth_rates(problem, 8)[degree]
    np.testing.assert_allclose(of.rates(w)[degree] / eps, rate, rtol=1e-8)
    alpha = ive(degree, beta) / ive(0, beta)
    truncated = np.ones(96)
    for m in (1, 2, 3):
        result = of.rates(truncated)[degree] / eps
        expected = degree**2 / beta * alpha * (1 + alpha ** (2 * m - 1)) / (1 + alpha)
        np.testing.assert_allclose(result, expected, rtol=1e-8)
        truncated = 1.0 / of.sums(1.0 / of.sums(truncated))


def test_density_far_from_mass_is_balanced_to_rounding():
    """A narrow peak leaves nodes with masses of e^{-120}, where sums are rounding: no failure."""
    beta, kappa = 20.0, 60.0
    angles = 2 * np.pi * np.arange(256) / 256
    density = np.exp(kappa * (np.cos(angles) - 1.0))
    of = CircleDensity(beta, density / density.mean())
    masses = of.f / 256
    result = sinkhorn.scaling(of.sums, masses, rounding=16 * np.finfo(float).eps)
    assert result.sweeps <= 40
    # By pairs every sum keeps its digits: where the mass is, the weights are the same.
    exact = sinkhorn.pair_scaling(beta * np.eye(2), circle(angles), masses)
    heavy = masses > 1e-12
    np.testing.assert_allclose(
        result.log_w[heavy] - beta / 2, exact.log_w[heavy], rtol=0, atol=1e-9
    )


def test_sphere_density_near_uniform_grows_at_its_rate():
    """Axial densities by Gauss-Legendre nodes, the kernel averaged over the azimuth exactly."""
    beta, eps, degree = 5.0, 1e-6, 3
    s, weights = np.polynomial.legendre.leggauss(60)
    r = np.sqrt(1.0 - s**2)
    around = beta * np.outer(r, r)
    kernel = np.exp(beta * np.outer(s, s) + around - beta) * ive(0, around)
    slope = np.exp(beta * np.outer(s, s) + around - beta) * (
        beta * s * ive(0, around) - beta * np.outer(s / r, r) * ive(1, around)
    )
    harmonic = np.polynomial.legendre.Legendre.basis(degree)
    masses = 0.5 * weights * (1.0 + eps * harmonic(s))
    w = np.exp(sinkhorn.scaling(lambda w: np.asarray(kernel @ (w * masses)), masses).log_w)
    velocity = (slope @ (w * masses)) / (kernel @ (w * masses)) / beta
    rate = (2 * degree + 1) * masses @ ((1 - s**2) * velocity * harmonic.deriv()(s)) / eps
    problem = mf.Problem(mf.Sphere(), mf.Attention([mf.Head()], "sinkhorn", beta=beta))
    np.testing.assert_allclose(rate, mf.growth_rates(problem, 8)[degree], rtol=1e-7)
