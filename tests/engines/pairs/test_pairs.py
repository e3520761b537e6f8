"""Pairwise velocities on circle and sphere, against 60-digit arithmetic and against each other."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

import mpmath
import numpy as np
import pytest
from any_threads import check_any_threads
from parameters import each, refused, together

from meanfield.engines.pairs import circle, circle_kernels, sphere, sphere_kernels

# A rotation to general position: its rounding leaves vectors that are 1 to a unit or two.
TURN = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
BETAS = [0.0, 1.0, -1.0, 9.0, -9.0, 81.0, -81.0]


@dataclass(frozen=True)
class Sums:
    """Pair sums of a manifold, and tokens there: `at` has angles on a great circle."""

    engine: ModuleType
    kernels: ModuleType
    velocity: Callable
    random: Callable
    at: Callable


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def on_meridian(angles: np.ndarray) -> np.ndarray:
    return np.column_stack([np.sin(angles), np.zeros(len(angles)), np.cos(angles)])


CIRCLE = Sums(
    circle, circle_kernels, circle.exponential_velocity_circle,
    lambda n, rng: rng.uniform(-9.0, 9.0, n), np.array,
)  # fmt: skip
SPHERE = Sums(
    sphere, sphere_kernels, sphere.exponential_velocity_sphere,
    lambda n, rng: unit(rng.normal(size=(n, 3))), on_meridian,
)  # fmt: skip
on_both = pytest.mark.parametrize("sums", [CIRCLE, SPHERE], ids=["circle", "sphere"])


def exact(points, weights, beta, normalized, targets):  # type: ignore[no-untyped-def]
    """Double sum in 60 digits over angles or the directions of vectors, to double at the end."""

    def direction(place):  # type: ignore[no-untyped-def]
        numbers = [mpmath.mpf(float(c)) for c in np.atleast_1d(place)]
        return numbers if len(numbers) == 1 else [c / mpmath.norm(numbers) for c in numbers]

    with mpmath.workdps(60):
        velocity = []
        sources, beta = [direction(y) for y in points], mpmath.mpf(beta)
        for x in map(direction, targets):
            drift, partition = [mpmath.mpf(0)] * len(x), mpmath.mpf(0)
            for y, w in zip(sources, weights, strict=True):
                if len(x) == 1:
                    s, pull = mpmath.cos(y[0] - x[0]), [mpmath.sin(y[0] - x[0])]
                else:
                    s = mpmath.fdot(x, y)
                    pull = [v - s * u for u, v in zip(x, y, strict=True)]
                a = float(w) * mpmath.exp(beta * s - abs(beta))
                drift = [d + a * p for d, p in zip(drift, pull, strict=True)]
                partition += a
            velocity.append([float(d / partition if normalized else d) for d in drift])
        return np.array(velocity).reshape(np.shape(targets))


def lengths(velocity: np.ndarray) -> np.ndarray:
    return np.linalg.norm(velocity.reshape(len(velocity), -1), axis=1)


def terms(points, weights, beta, normalized, targets):  # type: ignore[no-untyped-def]
    """Sum of the lengths of the terms: rounding is relative to it."""
    if points.ndim == 1:
        d = targets[:, None] - points
        s, sine = np.cos(d), abs(np.sin(d))
    else:
        s = np.clip(targets @ points.T, -1.0, 1.0)
        sine = np.sqrt(1 - s**2)
    a = np.exp(beta * s - abs(beta)) * weights
    return (a * sine).sum(axis=1) / (a.sum(axis=1) if normalized else 1.0)


@on_both
@pytest.mark.parametrize("elsewhere", [False, True])
@each("beta", BETAS, normalized=[False, True])
def test_velocity_is_the_exact_sum(sums, beta, normalized, elsewhere):
    """The oracle itself: a slip in reduction, projection, sign or polynomial shows at once."""
    rng = np.random.default_rng(1)
    points, weights = sums.random(13, rng), rng.dirichlet(np.ones(13))
    targets = sums.random(11, rng) if elsewhere else points
    result = sums.velocity(points, weights, beta, normalized, targets if elsewhere else None)
    error = lengths(result - exact(points, weights, beta, normalized, targets))
    # Differences of angles up to 18 carry half a unit of 16, 1.8e-15, and lengths of vectors are 1
    # within a unit; the exponent multiplies both by beta. Polynomials and sums add a few units.
    steep, rest = (2e-15, 5e-15) if sums is CIRCLE else (5e-16, 2e-15)
    share = error / terms(points, weights, beta, normalized, targets)
    assert share.max() < (1.0 + abs(beta)) * steep + rest


@on_both
def test_drift_far_below_rounding_keeps_its_digits(sums):
    """Deep metastability: moments have a floor of 1e-18, the drift here is 1.7e-23."""
    points, weights = sums.at([0.0, 1.2]), np.array([0.5, 0.5])
    expected = exact(points, weights, 81.0, False, points)
    size = lengths(expected)[0]
    assert 1.7e-23 < size < 1.8e-23
    # The exponent is 52: its rounding is 26 units in the last place, 6e-15, and as much again
    # from the lengths of vectors.
    error = lengths(sums.velocity(points, weights, 81.0, False) - expected)
    assert error.max() < (1e-14 if sums is CIRCLE else 2e-14) * size


@on_both
@each("beta", [1.0, 81.0, -81.0], gap=[1e-3, 1e-8, 1e-14])
def test_close_tokens_attract_with_relative_accuracy(sums, gap, beta):
    """Clusters collapse exponentially: an absolute error would stop them at 1e-16."""
    points, allowed = np.array([0.0, gap, 3.0 * gap]), 1e-14
    if sums is SPHERE:
        points, allowed = on_meridian(0.7 + points) @ TURN, 5e-14
    weights = np.array([0.2, 0.3, 0.5])
    expected = exact(points, weights, beta, False, points)
    error = lengths(sums.velocity(points, weights, beta, False) - expected)
    assert np.all(error < allowed * lengths(expected))


@pytest.mark.parametrize("gap", [1e-3, 1e-8, 1e-14])
@pytest.mark.parametrize("beta", [1.0, -81.0])
def test_tokens_near_antipodes_keep_relative_accuracy(gap, beta):
    """For beta < 0 antipodal tokens interact most; their drift comes from x + y, not x - y."""
    points, weights = [[1.0], [-1.0]] * on_meridian([0.7, 0.7 + gap]) @ TURN, np.full(2, 0.5)
    expected = exact(points, weights, beta, False, points)
    error = lengths(SPHERE.velocity(points, weights, beta, False) - expected)
    assert np.all(error < 5e-14 * lengths(expected))


def test_angles_near_antipodes_keep_relative_accuracy():
    """For beta < 0 antipodal tokens interact most; their sine comes from d - pi, not from d."""
    result = CIRCLE.velocity(np.array([0.0, np.pi]), np.array([0.5, 0.5]), -81.0, False)
    # d = -PI: sin(-PI) = -sin(PI), the part of pi that a double cannot hold.
    np.testing.assert_allclose(result, 0.5 * np.sin(np.pi) * np.array([1.0, -1.0]), rtol=1e-15)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("spread", [1.0, 1e-9])
def test_velocity_is_tangent_to_rounding_of_itself(normalized, spread):
    """A normal part would push tokens off the sphere, and be all that is left in the end."""
    rng = np.random.default_rng(2)
    points = unit(np.array([0.48, 0.6, 0.64]) + spread * rng.normal(size=(200, 3)))
    velocity = SPHERE.velocity(points, None, 9.0, normalized)
    normal = np.einsum("ik,ik->i", points, velocity)
    assert np.all(abs(normal) < 5e-16 * lengths(velocity))


def test_velocity_in_balance_is_rounding():
    """Where the tangential terms cancel, the normal ones do not: they must be taken out."""
    points = np.concatenate([np.eye(3), -np.eye(3)])
    points = np.concatenate([points, points[:, [1, 2, 0]], [[0.48, 0.6, 0.64]]])
    weights = np.append(np.full(12, 1.0 / 12.0), 0.0)
    assert lengths(SPHERE.velocity(points, weights, 0.0, False)).max() < 1e-16


@on_both
@pytest.mark.parametrize("beta", [1e6, -1e6, 1e300, -1e300])
def test_large_beta_neither_overflows_nor_gives_nan(sums, beta):
    """Every exponential but one underflows: the quotient must still be the exact one."""
    points, weights = sums.at([0.0, 1.2, 1.2003, 2.0]), np.array([0.4, 0.3, 0.2, 0.1])
    targets = np.concatenate([points, sums.at([0.5, -1.0])])
    # Differences and coordinates are rounded at 1e-16, which 1e6 multiplies.
    atol = 1e-300 if sums is CIRCLE else 1e-17
    for normalized in (False, True):
        result = sums.velocity(points, weights, beta, normalized, targets)
        expected = exact(points, weights, beta, normalized, targets)
        np.testing.assert_allclose(result, expected, rtol=3e-9, atol=atol)


@on_both
@pytest.mark.parametrize("beta", [5e3, -5e3])
def test_tokens_without_mass_may_lie_at_any_distance(sums, beta):
    """Weights of massless tokens overflow in the unit of the others: infinity times 0 is NaN."""
    points = sums.at(np.append(np.linspace(0.0, 3.0, 1000), 3.1))
    weights = np.append(np.zeros(1000), 1.0)
    result = sums.velocity(points, weights, beta, True)
    # All the mass is at the last: the quotient is P x_last whatever the exponentials.
    np.testing.assert_allclose(result, sums.velocity(points[-1:], None, 0.0, False, points))


@on_both
@each("angle", [1.0, np.pi], power=[1024.2, 1365.6, 1e300])
def test_lost_partition_function_does_not_use_tokens_without_mass(sums, power, angle):
    """The largest exponent is that of tokens with mass: a massless one in place is no help."""
    # Divided by theirs, its exponential is 2^power, that of padding at angle pi 2^(3/4 power). In
    # doubles 2^1024.2 is infinite or NaN, which no mass of zero makes 0.
    beta = power * np.log(2.0) / (1.0 - np.cos(angle))
    result = sums.velocity(sums.at([0.0, angle]), np.array([0.0, 1.0]), beta, True)
    # All the mass is at the second: the quotient is P x_2 whatever the exponentials.
    expected = np.array([np.sin(angle), 0.0])
    expected = expected if sums is CIRCLE else np.outer(expected, [1.0, 0.0, 0.0])
    np.testing.assert_allclose(result, expected, rtol=1e-15)


def test_zero_beta_is_kuramoto():
    """At beta = 0 the velocity is R sin(psi - theta), the mean-field form of Kuramoto."""
    rng = np.random.default_rng(2)
    points, weights = rng.uniform(0.0, 7.0, 300), rng.dirichlet(np.ones(300))
    expected = (weights @ np.exp(1j * points) * np.exp(-1j * points)).imag
    assert CIRCLE.velocity(points, weights, 0.0, False) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("beta", [0.0, 5.0, -5.0])
@pytest.mark.parametrize("normalized", [False, True])
def test_great_circle_is_the_circle(beta, normalized):
    """Tokens on a great circle stay on it and move as the circle's code says."""
    angles = np.random.default_rng(3).uniform(0.0, 7.0, 200)
    expected = CIRCLE.velocity(angles, None, beta, normalized)
    result = SPHERE.velocity(on_meridian(angles), None, beta, normalized)
    direction = np.column_stack([np.cos(angles), np.zeros(200), -np.sin(angles)])
    np.testing.assert_allclose(result, expected[:, None] * direction, rtol=0, atol=2e-15)


@on_both
@each("normalized", [False, True], n=[1, 2, 7, 8, 9, 31, 32, 33, 255, 256, 257, 320, 1200])
def test_pairs_once_and_pairs_twice_agree(sums, n, normalized):
    """Using i < j for both tokens, in blocks and strips, must miss no pair and double none."""
    rng = np.random.default_rng(n)
    points, weights = sums.random(n, rng), rng.dirichlet(np.ones(n))
    among = sums.velocity(points, weights, 9.0, normalized)
    at = sums.velocity(points, weights, 9.0, normalized, points)
    np.testing.assert_allclose(among, at, rtol=0, atol=1e-14)


@on_both
def test_generic_kernel_in_blocks_is_the_dense_sum(sums, monkeypatch):
    """Rows at the seams of blocks must not be lost."""
    monkeypatch.setattr(sums.engine, "PAIRS_AT_ONCE", 70)
    rng = np.random.default_rng(5)
    points, targets = sums.random(23, rng), sums.random(17, rng)
    if sums is CIRCLE:
        d = targets[:, None] - points
        dense = -(np.cos(d) ** 2 * np.sin(d)).sum(axis=1) / (np.cos(d) ** 2).sum(axis=1)
    else:
        s = targets @ points.T
        dense = s**2 @ points - (s**3).sum(axis=1)[:, None] * targets
        dense /= (s**2).sum(axis=1)[:, None]
    result = sums.engine.pairwise_velocity(np.square, points, None, True, targets)
    np.testing.assert_allclose(result, dense, rtol=1e-13, atol=0 if sums is CIRCLE else 1e-15)


@on_both
def test_sum_of_momenta_is_zero(sums):
    """Forces are opposite to the bit: USA can neither drift nor turn by their rounding."""
    rng = np.random.default_rng(6)
    points, weights = sums.random(3000, rng), rng.dirichlet(np.ones(3000))
    velocity = sums.velocity(points, weights, 9.0, False)
    momenta = velocity if sums is CIRCLE else np.cross(points, velocity)
    # 3000 terms of 1e-5, each with a rounding of 1e-16.
    assert np.abs(weights @ momenta).max() < 1e-17


@on_both
def test_results_do_not_depend_on_threads(sums):
    """The number of threads must not change one bit."""
    rng = np.random.default_rng(7)
    points, targets = sums.random(2100, rng), sums.random(900, rng)
    check_any_threads(lambda: [sums.velocity(points, None, 9.0, True, x) for x in (None, targets)])


def test_huge_angles_are_angles():
    """Unwrapped angles may grow without bound: theta + 2 pi q is theta."""
    points = np.array([0.3, 1e15, -4e12, 2e300])
    wrapped = np.arctan2(np.sin(points), np.cos(points))
    result, expected = (CIRCLE.velocity(x, None, 1.0, False) for x in (points, wrapped))
    assert result == pytest.approx(expected, abs=1e-15)


@on_both
def test_inputs_of_other_layouts_give_the_same(sums):
    """Every second row, columns first, or float32: as good as a plain array."""
    points = sums.random(20, np.random.default_rng(8))
    plain, single = points[::2].copy(), points.astype(np.float32)
    for one, other in (
        ((points[::2], np.full(20, 0.1)[::2], 9.0, True), (plain, None, 9.0, True)),
        ((np.asfortranarray(plain), None, 9.0, True, plain), (plain, None, 9.0, True, plain)),
        ((single, None, 9.0, True), (single.astype(float), None, 9.0, True)),
    ):
        np.testing.assert_array_equal(sums.velocity(*one), sums.velocity(*other))


@on_both
def test_strips_of_the_triangle_cover_all_rows(sums, monkeypatch):
    """A strip boundary rounded away from the end would drop the last pairs."""
    points = sums.random(97, np.random.default_rng(9))
    expected = sums.velocity(points, None, 4.0, True)
    for rows in (1, 5, 30, 96):
        monkeypatch.setattr(sums.kernels, "ROWS_PER_CHUNK", rows)
        result = sums.velocity(points, None, 4.0, True)
        np.testing.assert_allclose(result, expected, rtol=0, atol=1e-15)


ANGLES, VECTORS = "expected angles of shape", "have shape .* expected unit vectors"


@together(
    "call, arguments, message",
    [
        (CIRCLE.velocity, (np.zeros(2), None, np.inf, False), "beta = .* is not finite"),
        (SPHERE.velocity, (np.eye(3), None, np.nan, False), "beta = .* is not finite"),
        (CIRCLE.velocity, (np.empty(0), None, 1.0, False), ANGLES),
        (CIRCLE.velocity, (np.zeros((2, 2)), None, 1.0, False), ANGLES),
        (circle.pairwise_velocity, (np.exp, np.empty(0), None, False), ANGLES),
        (circle.pairwise_velocity, (np.exp, np.zeros((2, 2)), None, False), ANGLES),
        (SPHERE.velocity, (np.zeros(3), None, 1.0, False), f"points {VECTORS}"),
        (SPHERE.velocity, (np.zeros((2, 2)), None, 1.0, False), f"points {VECTORS}"),
        (SPHERE.velocity, (np.eye(3), None, 1.0, False, np.zeros(3)), f"targets {VECTORS}"),
        (SPHERE.velocity, (np.eye(3), None, 1.0, False, np.eye(2)), f"targets {VECTORS}"),
        (sphere.pairwise_velocity, (np.exp, np.eye(3), None, False, np.zeros(3)),
         f"targets {VECTORS}"),
        (SPHERE.velocity, (np.zeros((0, 3)), None, 1.0, False), "expected at least one"),
        (CIRCLE.velocity, (np.zeros(3), np.ones(2), 1.0, False), "weights have shape"),
        (SPHERE.velocity, (np.eye(3), np.ones(2), 1.0, False), "weights have shape"),
    ],
)  # fmt: skip
def test_mistakes_are_refused(call, arguments, message):
    """Compiled code would read beyond arrays, or give NaN far from its cause."""
    refused(message, call, *arguments)
