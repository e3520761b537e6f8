"""Attention from moments: bounds of what is lost, against what is."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from parameters import refused
from scipy.integrate import solve_ivp

import meanfield as mf
from meanfield.fields.engines import pair_velocity
from meanfield.fields.mean_field import interaction
from meanfield.papers.truncation import Truncation, positive_variance, trigonometric_variance

USA5 = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA)
SA5 = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.SA)


def attention(d: int, beta: float) -> mf.Problem:
    """Attention on S^{d-1} without normalisation."""
    return mf.Problem(mf.Circle() if d == 2 else mf.Sphere(d), mf.exponential(beta), mf.USA)


def weights(d: int, beta: float, l: int) -> mpmath.mpf:
    """N_l a_l, l > 0, by Bessel functions, scaled as the package's kernel."""
    nu = mpmath.mpf(d) / 2 - 1
    count = mpmath.binomial(l + d - 1, d - 1) - mpmath.binomial(l + d - 3, d - 1)
    a = mpmath.gamma(nu + 1) * (2 / mpmath.mpf(beta)) ** nu * mpmath.besseli(l + nu, beta)
    return count * a * mpmath.exp(-mpmath.mpf(beta))


@pytest.mark.parametrize(("d", "beta", "degree"), [
    (2, 1e-5, 1), (8, 40.0, 30), (200, 3.0, 4), (3, 0.02, 0),
    # Published bounds.
    (2, 5.0, 10), (2, 5.0, 20), (3, 5.0, 10), (3, 5.0, 20),
])  # fmt: skip
def test_bounds_equal_sums_of_bessel_functions(d, beta, degree):
    """Cancellation, underflow, or a sum that ends early, where beta is small or d is large."""
    with mpmath.workdps(40):
        truncation = mf.truncation(attention(d, beta), degree)
        terms = [(l, weights(d, beta, l)) for l in range(degree + 1, degree + 80)]
        kernel = sum(w for _, w in terms)
        steep = sum(w * mpmath.sqrt(mpmath.mpf(l * (l + d - 2)) / (d - 1)) for l, w in terms)
        assert abs(mpmath.mpf(truncation.kernel_error) / kernel - 1) < 1e-12
        assert abs(mpmath.mpf(truncation.velocity_error) * beta / steep - 1) < 1e-12


@pytest.mark.parametrize("beta", [25.0, 1e8])
def test_the_circle_telescopes(beta):
    """V_L = e^{-beta} (I_L + I_{L+1}), where a tail has tens of thousands of terms."""
    result = mf.truncation(attention(2, beta), 20).velocity_error
    with mpmath.workdps(30):
        large = [mpmath.besseli(l, beta) * mpmath.exp(-beta) for l in (20, 21)]
    # Terms are sums of as many logarithms.
    assert result == pytest.approx(float(sum(large)), rel=1e-13 if beta < 100 else 1e-9)


@pytest.mark.parametrize("beta", [5.0, -5.0])
def test_the_bound_of_the_kernel_is_attained(beta):
    """It would be exceeded, or larger than the largest error, at x = y (x = -y for beta < 0)."""
    kernel, degree = mf.exponential(beta), 7
    s = np.append(np.random.default_rng(0).uniform(-1, 1, 10_000), np.sign(beta))
    a = kernel.attention_multipliers(2, degree)
    series = np.polynomial.legendre.legval(s, (2 * np.arange(degree + 1) + 1) * a)
    errors, bound = np.abs(kernel.attention(s) - series), mf.truncation(attention(3, beta), degree)
    assert errors.max() <= bound.kernel_error + 1e-15
    assert errors[-1] == pytest.approx(bound.kernel_error, abs=1e-12)


def length(vectors: np.ndarray) -> np.ndarray:
    return np.abs(vectors) if vectors.ndim == 1 else np.linalg.norm(vectors, axis=1)


@pytest.mark.parametrize("space", [mf.Circle(), mf.Sphere()])
@pytest.mark.parametrize("degree", [6, 10, 20])
def test_velocities_of_tokens_keep_the_bounds(space, degree):
    """100 tokens against sums over pairs: neither broken, nor a hundred times too large."""
    rng = np.random.default_rng(degree)
    points = space.random_points(100, rng)
    for flow in (mf.USA, mf.SA):
        problem = mf.Problem(space, mf.exponential(5.0), flow)
        exact = pair_velocity(space, problem.kernel, points, None, flow.normalized)
        mean_field = interaction(problem, degree)
        field = mean_field.of_points(points, None)
        velocity = field.velocity(points)
        speed, errors = (length(v) for v in (velocity, velocity - exact))
        truncation = mf.truncation(problem, degree)
        bounds = np.full(100, truncation.velocity_error)
        if flow.normalized:
            assert field.partition is not None
            z = space.evaluate(field.partition, points) / mean_field.scale
            bounds = truncation.softmax_error(z, speed)
            assert np.all(bounds <= truncation.softmax_error(z) * (1 + 1e-12))
            # What tokens attend to: 1/n at least, to themselves.
            assert np.all(bounds <= truncation.softmax_error(1 / 100 - truncation.kernel_error))
        assert np.all(errors <= bounds + 1e-15)
        assert errors.max() > (0.003 if degree < 20 else 0.0) * bounds.min()


def test_opposite_of_all_mass_nothing_is_certified():
    """A quotient of what is lost would be certified where Z is smaller than that."""
    truncation = mf.truncation(SA5, 10)
    lost = truncation.kernel_error
    expected = (truncation.velocity_error + lost) / (math.exp(-10.0) - lost)
    assert truncation.softmax_error() == pytest.approx(expected)
    result = truncation.softmax_error([0.5, lost])
    assert result[0] < 2e-4 and result[1] == np.inf
    assert truncation.flow_error([0.0, 1.0], lost).tolist() == [0.0, np.inf]
    message = "weights are not normalised: the bound is velocity"
    refused(message, mf.truncation(USA5, 10).softmax_error)


@pytest.mark.parametrize("degree", [5, 12])
@pytest.mark.parametrize("problem", [USA5, SA5])
def test_tokens_stay_within_the_certified_distance(problem, degree):
    """Twelve tokens, and what missing degrees do to them; under softmax Z >= 1/n at each."""
    start = np.random.default_rng(1).uniform(0, 2 * np.pi, 12)
    softmax = problem is SA5
    end = 0.5 if softmax else 0.02 * math.exp(5.0)

    def moved(economical_degree: int) -> np.ndarray:
        field = interaction(problem, economical_degree)
        run = solve_ivp(lambda t, x: field.of_points(x, None).velocity(x), (0, end), start,
                        rtol=1e-11, atol=1e-13)  # fmt: skip
        return np.asarray(run.y[:, -1])

    truncation = mf.truncation(problem, degree)
    apart = np.abs(moved(degree) - moved(4 * degree)).max()
    z = 1 / 12 if softmax else 1.0
    bound = truncation.flow_error(end, z) if softmax else truncation.flow_error(end)
    assert 1e-9 < apart <= bound
    # Parting of tokens opposite to a cluster, by its attention.
    rate = 5.05 + 12 * 1.626804 if softmax else 1 + 61.7986177956 * math.exp(-5.0)
    error = truncation.softmax_error(z) if softmax else truncation.velocity_error
    assert bound == pytest.approx(error * math.expm1(rate * end) / rate, rel=1e-5)


def test_parting_is_the_largest_slope():
    """M of test particles against a grid, for both signs of both numbers, and next to beta = 0."""
    phi = np.linspace(0.0, np.pi, 20_001)
    for beta, strength in [(0.2, 1.0), (9.0, 2.0), (-2.0, -1.0), (-2.0, 1.0), (5.0, -1.0)]:
        problem = mf.Problem(mf.Circle(), mf.exponential(beta), mf.Flow("none", strength=strength))
        attention = np.exp(beta * np.cos(phi) - abs(beta))
        slope = attention * (beta * np.sin(phi) ** 2 - np.cos(phi))  # -h'
        parting = abs(strength) * np.max(np.sign(strength) * slope)
        truncation = mf.truncation(problem, 3)
        assert truncation.rates == pytest.approx((parting, abs(strength)), rel=1e-7)
        speed = (attention * np.sin(phi)).max() * abs(strength)
        assert truncation.largest_speed == pytest.approx(speed, rel=1e-7)


@pytest.mark.parametrize(
    ("d", "beta", "features"),
    [
        (2, 25.0, (27, 41, 61, 77)),
        (3, 5.0, (64, 121, 256, 441)),
        (8, 5.0, (9867, 82212, 591261, 2744820)),
        (16, 1.0, (4692, 69768, 4576264, 54826020)),
    ],
)
def test_least_degrees(d, beta, features):
    """A degree too few breaks the promise, one too many costs features."""
    problem, errors = attention(d, beta), (1e-2, 1e-4, 1e-8, 1e-12, 1e-100)
    truncations = [mf.truncation(problem, error=error) for error in errors]
    for each, error in zip(truncations, errors, strict=True):
        assert each.kernel_error <= error < mf.truncation(problem, each.degree - 1).kernel_error
    assert tuple(each.features for each in truncations[:4]) == features


@pytest.mark.slow
def test_random_features_vary_as_predicted():
    """A factor in the variance would declare the wrong winner; 4 standard errors."""
    rng, beta, draws = np.random.default_rng(2), 0.5, 400_000
    for d, s in ((2, 0.6), (3, -0.4), (8, 1.0)):
        x, y = np.eye(d)[0], s * np.eye(d)[0] + math.sqrt(1 - s * s) * np.eye(d)[1]
        omega = rng.standard_normal((draws, d))
        waves = np.cos(math.sqrt(beta) * omega @ (x - y))
        raised = np.exp(math.sqrt(beta) * omega @ (x + y) - 2 * beta)
        for drawn, variance in ((waves, trigonometric_variance), (raised, positive_variance)):
            expected = variance(beta, s, 1)
            assert abs(drawn.mean() - math.exp(beta * (s - 1))) <= 4 * math.sqrt(expected / draws)
            squares = (drawn - math.exp(beta * (s - 1))) ** 2
            assert abs(squares.mean() - expected) <= 4 * squares.std() / math.sqrt(draws)
    assert positive_variance(5.0, 1.0, 1) == pytest.approx(math.expm1(20.0), rel=1e-13)
    for bad in (0.0, -1.0):
        refused("random features are of beta above 0", trigonometric_variance, bad, 0.0, 1)


def test_constant_scores_are_the_mean():
    """A head with Q = K = 0 is known by degree 1 alone, and moves tokens by their mean."""
    zero = mf.Head(query=np.zeros((3, 3)), key=np.zeros((3, 3)))
    points = mf.Sphere().random_points(9, np.random.default_rng(4))
    heads, mean = mf.Attention([zero], beta=2.0), points.mean(axis=0)
    problem = mf.Problem(mf.Sphere(), heads, initial=mf.from_points(points))
    truncation = mf.truncation(problem, 1)
    assert (truncation.kernel_error, truncation.velocity_error) == (0.0, 0.0)
    assert truncation.features == 4
    assert truncation.softmax_error() == 0.0
    rows = mf.attention_matrix(problem, problem.initial_measure())[0]
    np.testing.assert_allclose(rows @ points, np.tile(mean, (9, 1)), rtol=0, atol=1e-16)


@pytest.mark.parametrize("degree", [4, 9])
@pytest.mark.parametrize("d", [2, 3])
def test_heads_keep_their_bound(d, degree):
    """Weights and outputs of a head cut off at its degree, in every direction, for both factors."""
    rng = np.random.default_rng(10 * d + degree)
    score, value = rng.normal(size=(2, d, d))
    head = mf.Head(query=score, value=value)
    space = mf.Circle() if d == 2 else mf.Sphere()
    problem = mf.Problem(space, mf.Attention([head], beta=1.5, normalization="none"))
    (matrices,) = problem.heads or ()
    x, y = (space.vectors(space.random_points(400, rng)) for _ in range(2))
    z = x @ matrices.score
    r, u = np.linalg.norm(z, axis=1), (z / np.linalg.norm(z, axis=1, keepdims=True) * y).sum(axis=1)
    kernel = np.zeros(400)
    for i in range(400):
        # Moments up to a degree leave one degree less beside the factor y.
        a = mf.exponential(r[i]).attention_multipliers(d - 1, degree - 1)
        counts = (2 * np.arange(degree) + 1) if d == 3 else 2 - (np.arange(degree) == 0)
        basis = np.polynomial.legendre.legval if d == 3 else np.polynomial.chebyshev.chebval
        kernel[i] = math.exp(r[i]) * basis(u[i], counts * a)
    lost = np.abs(np.exp(r * u) - kernel) * math.exp(-matrices.sharpness)
    out = np.linalg.norm(y @ matrices.value.T, axis=1) * lost
    truncation = mf.truncation(problem, degree)
    assert lost.max() <= truncation.kernel_error and out.max() <= truncation.velocity_error
    # At u = 1 and the direction of largest |S^T x| it is attained.
    a = mf.exponential(matrices.sharpness).attention_multipliers(d - 1, degree - 1)
    assert 1.0 - (counts * a).sum() == pytest.approx(truncation.kernel_error, abs=1e-14)
    largest = truncation.kernel_error * np.linalg.norm(matrices.value, 2)
    assert truncation.velocity_error == pytest.approx(largest, rel=1e-13)


def test_heads_add_up_by_their_largest_weights():
    """A blunt head counts as its e^{beta s} beside that of the sharpest, or by its own Z."""
    heads = [mf.Head(beta=5.0), mf.Head(beta=2.0, value=[3.0, -1.0])]

    def truncation_of(normalization: str, *of: mf.Head) -> Truncation:
        attention = mf.Attention(list(of), normalization=normalization)
        return mf.truncation(mf.Problem(mf.Circle(), attention), 7)

    scores = [mf.truncation(attention(2, beta), 6).kernel_error for beta in (5.0, 2.0)]
    result = truncation_of("none", *heads)
    expected = scores[0] + 3.0 * math.exp(-3.0) * scores[1]
    assert result.velocity_error == pytest.approx(expected, rel=1e-12)
    assert result.kernel_error == pytest.approx(scores[0], rel=1e-13)
    softmax = truncation_of("softmax", *heads)
    first, second = (2.0 * lost / (0.1 - lost) for lost in scores)
    assert softmax.softmax_error(0.1) == pytest.approx(first + 3.0 * second, rel=1e-12)
    assert softmax.rates is None and softmax.largest_speed == 4.0


def test_the_degree_in_use_is_rounding():
    """The degree that the package takes would lose more than the last digits."""
    for problem in (USA5, SA5, attention(3, 81.0), attention(3, -3.0), attention(64, 2.0)):
        truncation = mf.truncation(problem)
        assert truncation.degree == problem.kernel_degree
        if problem.manifold.dimension < 5:
            assert truncation.velocity_error < 1e-15 * truncation.largest_speed
    linear = mf.truncation(mf.Problem(mf.Sphere(), mf.linear(), mf.USA))
    assert (linear.degree, linear.kernel_error, linear.velocity_error) == (1, 0.0, 0.0)
    assert linear.rates == (1.0, 1.0)


def test_what_has_no_bound_is_refused():
    """A number would be reported that nothing certifies."""
    refused("give the degree or the error, got both", lambda: mf.truncation(USA5, 3, error=0.1))
    refused("error must be above 0, got 0", lambda: mf.truncation(USA5, error=0.0))
    refused("error must be at least 2.2", lambda: mf.truncation(USA5, error=1e-310))
    refused("degree must be at least 0, got -1", mf.truncation, USA5, -1)
    own = mf.Problem(mf.Circle(), mf.zonal(lambda s: s), mf.USA)
    refused("nothing bounds the degrees of an own kernel", mf.truncation, own)
    tokens, head = mf.from_points(np.eye(3)), mf.Attention([mf.Head()], beta=1.0)
    flat = mf.Problem(mf.Euclidean(3), head, initial=tokens)
    refused("there is nothing to truncate", mf.truncation, flat)
    sinkhorn = mf.Problem(mf.Circle(), replace(head, normalization="sinkhorn"))
    refused("bounded for normalization none and softmax", mf.truncation, sinkhorn)
    error = mf.truncation(USA5).flow_error
    refused("there is no partition", error, 1.0, 0.5)
    refused("time must not be negative, got -1", error, [0.5, -1.0])
    noisy = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.Flow("none", diffusivity=0.1))
    message = "how errors grow is known of one kernel"
    refused(message, mf.truncation(noisy).flow_error, 1.0)


def test_flow_error_of_sharp_softmax_is_infinite_and_no_nan():
    """e^{-2 beta} underflows: 1/0 would be no number, with a warning."""
    truncation = mf.truncation(mf.Problem(mf.Circle(), mf.exponential(1e4), mf.SA))
    assert truncation.flow_error([0.0, 1e-9, 1.0]).tolist() == [0.0, np.inf, np.inf]
