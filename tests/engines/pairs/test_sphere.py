"""Pairwise velocities on the sphere, against 50-digit arithmetic and against each other."""

import mpmath
import numpy as np
import pytest
from parameters import each

from meanfield.engines import threads
from meanfield.engines.pairs import sphere as pairwise
from meanfield.engines.pairs import sphere_kernels as pair_kernels
from meanfield.engines.pairs.circle import exponential_velocity_circle
from meanfield.engines.pairs.sphere import exponential_velocity_sphere, pairwise_velocity

# A rotation to general position: its rounding leaves vectors that are 1 to a unit or two.
_TURN = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
BETAS = [0.0, 1.0, -1.0, 9.0, -9.0, 81.0, -81.0]


def _uniform(n: int, rng: np.random.Generator) -> np.ndarray:
    vectors = rng.normal(size=(n, 3))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _on_meridian(angles: list[float]) -> np.ndarray:
    return np.column_stack([np.sin(angles), np.zeros(len(angles)), np.cos(angles)])


def _exact(points, weights, beta, normalized, targets):  # type: ignore[no-untyped-def]
    """Double sum over the directions of the vectors in 60 digits, to double at the end."""

    def direction(vector):  # type: ignore[no-untyped-def]
        numbers = [mpmath.mpf(float(c)) for c in vector]
        length = mpmath.sqrt(mpmath.fdot(numbers, numbers))
        return [c / length for c in numbers]

    with mpmath.workdps(60):
        velocity = []
        sources = [direction(y) for y in points]
        for x in [direction(x) for x in targets]:
            drift, partition = [mpmath.mpf(0)] * 3, mpmath.mpf(0)
            for y, w in zip(sources, weights, strict=True):
                s = mpmath.fdot(x, y)
                a = float(w) * mpmath.exp(mpmath.mpf(beta) * s - abs(mpmath.mpf(beta)))
                drift = [d + a * (v - s * u) for d, u, v in zip(drift, x, y, strict=True)]
                partition += a
            velocity.append([d / partition if normalized else d for d in drift])
        return np.array([[float(c) for c in v] for v in velocity])


def _terms(points, weights, beta, normalized, targets):  # type: ignore[no-untyped-def]
    """Sum of the lengths of the terms: rounding is relative to it."""
    s = np.clip(targets @ points.T, -1.0, 1.0)
    a = np.exp(beta * s - abs(beta)) * weights
    return (a * np.sqrt(1 - s**2)).sum(axis=1) / (a.sum(axis=1) if normalized else 1.0)


@pytest.mark.parametrize("elsewhere", [False, True])
@each("beta", BETAS, normalized=[False, True])
def test_velocity_is_the_exact_sum(beta, normalized, elsewhere):
    """The oracle itself: a slip in projection, sign or exponent shows at once."""
    rng = np.random.default_rng(1)
    points, weights = _uniform(13, rng), rng.dirichlet(np.ones(13))
    targets = _uniform(11, rng) if elsewhere else points
    found = exponential_velocity_sphere(
        points, weights, beta, normalized, targets if elsewhere else None
    )
    error = np.linalg.norm(found - _exact(points, weights, beta, normalized, targets), axis=1)
    # Lengths of the vectors are 1 within a unit of 1, which the exponent multiplies by beta;
    # polynomials and sums add a few units.
    tolerance = (1.0 + abs(beta)) * 5e-16 + 2e-15
    assert (error / _terms(points, weights, beta, normalized, targets)).max() < tolerance


def test_drift_far_below_rounding_keeps_its_digits():
    """Deep metastability: moments have a floor of 1e-18, the drift here is 1.7e-23."""
    points, weights = _on_meridian([0.0, 1.2]), np.array([0.5, 0.5])
    found = exponential_velocity_sphere(points, weights, 81.0, False)
    exact = _exact(points, weights, 81.0, False, points)
    assert 1.7e-23 < np.linalg.norm(exact[0]) < 1.8e-23
    # The exponent is 52: its rounding is 26 units in the last place, 6e-15, and as much again
    # from the lengths of the vectors.
    error = np.linalg.norm(found - exact, axis=1)
    assert error.max() < 2e-14 * np.linalg.norm(exact[0])


@each("beta", [1.0, 81.0, -81.0], gap=[1e-3, 1e-8, 1e-14])
def test_close_tokens_attract_with_relative_accuracy(gap, beta):
    """Clusters collapse exponentially: an absolute error would stop them at 1e-16."""
    points = _on_meridian([0.7, 0.7 + gap, 0.7 + 3.0 * gap]) @ _TURN
    weights = np.array([0.2, 0.3, 0.5])
    found = exponential_velocity_sphere(points, weights, beta, False)
    exact = _exact(points, weights, beta, False, points)
    error = np.linalg.norm(found - exact, axis=1)
    assert np.all(error < 5e-14 * np.linalg.norm(exact, axis=1))


@pytest.mark.parametrize("gap", [1e-3, 1e-8, 1e-14])
@pytest.mark.parametrize("beta", [1.0, -81.0])
def test_tokens_near_antipodes_keep_relative_accuracy(gap, beta):
    """For beta < 0 antipodal tokens interact most; their drift comes from x + y, not x - y."""
    points = _on_meridian([0.7, 0.7 + gap]) @ _TURN
    points[1] *= -1.0
    weights = np.array([0.5, 0.5])
    found = exponential_velocity_sphere(points, weights, beta, False)
    exact = _exact(points, weights, beta, False, points)
    error = np.linalg.norm(found - exact, axis=1)
    assert np.all(error < 5e-14 * np.linalg.norm(exact, axis=1))


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("spread", [1.0, 1e-9])
def test_velocity_is_tangent_to_rounding_of_itself(normalized, spread):
    """A normal part would push tokens off the sphere, and be all that is left in the end."""
    rng = np.random.default_rng(2)
    points = np.array([0.48, 0.6, 0.64]) + spread * rng.normal(size=(200, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    velocity = exponential_velocity_sphere(points, None, 9.0, normalized)
    normal = np.einsum("ik,ik->i", points, velocity)
    assert np.all(abs(normal) < 5e-16 * np.linalg.norm(velocity, axis=1))


def test_velocity_in_balance_is_rounding():
    """Where the tangential terms cancel, the normal ones do not: they must be taken out."""
    points = np.concatenate([np.eye(3), -np.eye(3)])
    points = np.concatenate([points, points[:, [1, 2, 0]], [[0.48, 0.6, 0.64]]])
    weights = np.append(np.full(12, 1.0 / 12.0), 0.0)
    velocity = exponential_velocity_sphere(points, weights, 0.0, False)
    assert np.linalg.norm(velocity, axis=1).max() < 1e-16


@pytest.mark.parametrize("beta", [1e6, -1e6])
def test_large_beta_neither_overflows_nor_gives_nan(beta):
    """Every exponential but one underflows: the quotient must still be the exact one."""
    points = _on_meridian([0.0, 1.2, 1.2003, 2.0])
    weights = np.array([0.4, 0.3, 0.2, 0.1])
    targets = np.concatenate([points, _on_meridian([0.5, -1.0])])
    for normalized in (False, True):
        found = exponential_velocity_sphere(points, weights, beta, normalized, targets)
        exact = _exact(points, weights, beta, normalized, targets)
        # Coordinates are rounded at 1e-16, which the exponent multiplies by 1e6.
        np.testing.assert_allclose(found, exact, rtol=3e-9, atol=1e-17)


def test_lost_partition_function_does_not_use_tokens_without_mass():
    """The largest exponent is that of tokens with mass: a massless one in place is no help."""
    points, weights = _on_meridian([0.0, 1.0]), np.array([0.0, 1.0])
    found = exponential_velocity_sphere(points, weights, 5000.0, True)
    # All the mass is at the second: the quotient is P x_2 whatever the exponentials.
    np.testing.assert_allclose(found, [[np.sin(1.0), 0.0, 0.0], [0.0, 0.0, 0.0]], rtol=1e-15)


@pytest.mark.parametrize("beta", [0.0, 5.0, -5.0])
@pytest.mark.parametrize("normalized", [False, True])
def test_great_circle_is_the_circle(beta, normalized):
    """Tokens on a great circle stay on it and move as the circle's code says."""
    angles = np.random.default_rng(3).uniform(0.0, 7.0, 200)
    expected = exponential_velocity_circle(angles, None, beta, normalized)
    found = exponential_velocity_sphere(_on_meridian(list(angles)), None, beta, normalized)
    direction = np.column_stack([np.cos(angles), np.zeros(200), -np.sin(angles)])
    np.testing.assert_allclose(found, expected[:, None] * direction, atol=2e-15)


@each("normalized", [False, True], n=[1, 2, 31, 32, 33, 255, 256, 257, 320, 1200])
def test_pairs_once_and_pairs_twice_agree(n, normalized):
    """Using i < j for both tokens, in blocks and strips, must miss no pair and double none."""
    rng = np.random.default_rng(n)
    points, weights = _uniform(n, rng), rng.dirichlet(np.ones(n))
    among = exponential_velocity_sphere(points, weights, 9.0, normalized)
    at = exponential_velocity_sphere(points, weights, 9.0, normalized, points)
    np.testing.assert_allclose(among, at, atol=1e-14)


@each("normalized", [False, True], beta=BETAS)
def test_generic_kernel_gives_the_exponential_one(beta, normalized):
    """Two programs for one formula: NumPy's any-kernel sum and the compiled one."""
    rng = np.random.default_rng(4)
    points, weights = _uniform(700, rng), rng.dirichlet(np.ones(700))
    generic = pairwise_velocity(lambda s: np.exp(beta * s - abs(beta)), points, weights, normalized)
    found = exponential_velocity_sphere(points, weights, beta, normalized)
    # The product of NumPy's route is rounded at 1e-16, which beta multiplies.
    np.testing.assert_allclose(generic, found, atol=(1.0 + abs(beta)) * 2e-15)


def test_generic_kernel_in_blocks_is_the_dense_sum(monkeypatch):
    """Rows at the seams of blocks must not be lost."""
    monkeypatch.setattr(pairwise, "PAIRS_AT_ONCE", 70)
    rng = np.random.default_rng(5)
    points, targets = _uniform(23, rng), _uniform(17, rng)
    s = targets @ points.T
    dense = (s**2 @ points - (s**3).sum(axis=1)[:, None] * targets) / (s**2).sum(axis=1)[:, None]
    found = pairwise_velocity(np.square, points, None, True, targets)
    np.testing.assert_allclose(found, dense, atol=1e-15)


def test_sum_of_angular_momenta_is_zero():
    """Forces are opposite: sum w x cross v vanishes, so USA cannot turn as a whole."""
    rng = np.random.default_rng(6)
    points, weights = _uniform(3000, rng), rng.dirichlet(np.ones(3000))
    velocity = exponential_velocity_sphere(points, weights, 9.0, False)
    # 3000 terms of 1e-5, each with a rounding of 1e-16.
    assert np.abs(weights @ np.cross(points, velocity)).max() < 1e-17


def test_results_do_not_depend_on_threads(monkeypatch):
    """The number of threads must not change one bit."""
    rng = np.random.default_rng(7)
    points, targets = _uniform(2100, rng), _uniform(900, rng)
    runs = []
    for number in (1, 2, 5):
        monkeypatch.setattr(threads, "_chosen", number)
        runs.append(
            (
                exponential_velocity_sphere(points, None, 9.0, True),
                exponential_velocity_sphere(points, None, 9.0, True, targets),
            )
        )
    for run in runs[1:]:
        np.testing.assert_array_equal(run[0], runs[0][0])
        np.testing.assert_array_equal(run[1], runs[0][1])


def test_inputs_of_other_layouts_give_the_same():
    """Every second row, columns first, or float32: as good as a plain array."""
    points = _uniform(20, np.random.default_rng(8))
    expected = exponential_velocity_sphere(points[::2].copy(), None, 9.0, True)
    found = exponential_velocity_sphere(points[::2], np.full(20, 0.1)[::2], 9.0, True)
    np.testing.assert_array_equal(found, expected)
    columns = np.asfortranarray(points[::2])
    np.testing.assert_array_equal(
        exponential_velocity_sphere(columns, None, 9.0, True, columns),
        exponential_velocity_sphere(points[::2], None, 9.0, True, points[::2]),
    )
    single = points.astype(np.float32)
    np.testing.assert_array_equal(
        exponential_velocity_sphere(single, None, 9.0, True),  # type: ignore[arg-type]
        exponential_velocity_sphere(single.astype(float), None, 9.0, True),
    )


def test_strips_of_the_triangle_cover_all_rows(monkeypatch):
    """A strip boundary rounded away from the end would drop the last pairs."""
    points = _uniform(97, np.random.default_rng(9))
    expected = exponential_velocity_sphere(points, None, 4.0, True)
    for rows in (1, 5, 30, 96):
        monkeypatch.setattr(pair_kernels, "ROWS_PER_CHUNK", rows)
        found = exponential_velocity_sphere(points, None, 4.0, True)
        np.testing.assert_allclose(found, expected, atol=1e-15)


@pytest.mark.parametrize("beta", [np.inf, np.nan])
def test_beta_must_be_finite(beta):
    """NaN velocities would surface far from their cause."""
    with pytest.raises(ValueError, match="beta = .* is not finite"):
        exponential_velocity_sphere(np.eye(3), None, beta, False)


@pytest.mark.parametrize("points", [np.zeros(3), np.zeros((2, 2))])
def test_points_must_be_vectors(points):
    """Angles, or vectors of another space, are a mistake of the caller."""
    with pytest.raises(ValueError, match="points have shape .* expected unit vectors"):
        exponential_velocity_sphere(points, None, 1.0, False)
    with pytest.raises(ValueError, match="targets have shape .* expected unit vectors"):
        exponential_velocity_sphere(np.eye(3), None, 1.0, False, points)
    with pytest.raises(ValueError, match="targets have shape .* expected unit vectors"):
        pairwise_velocity(np.exp, np.eye(3), None, False, points)


def test_some_points_are_needed():
    """No tokens, no field."""
    with pytest.raises(ValueError, match="expected at least one"):
        exponential_velocity_sphere(np.zeros((0, 3)), None, 1.0, False)


def test_weights_must_fit():
    """Compiled code would read beyond the array."""
    with pytest.raises(ValueError, match="weights have shape"):
        exponential_velocity_sphere(np.eye(3), np.ones(2), 1.0, False)
