"""Pairwise velocities on the circle, against 50-digit arithmetic and against each other."""

import mpmath
import numpy as np
import pytest
from parameters import each

from meanfield.engines import threads
from meanfield.engines.pairs import circle_kernels as pair_kernels
from meanfield.engines.pairs.circle import exponential_velocity_circle, pairwise_velocity

BETAS = [0.0, 1.0, -1.0, 9.0, -9.0, 81.0, -81.0]


def _exact(points, weights, beta, normalized, targets):  # type: ignore[no-untyped-def]
    """Double sum in 50 digits; a list of mpf, since values may lie below the range of doubles."""
    with mpmath.workdps(50):
        velocity = []
        for x in targets:
            drift, partition = mpmath.mpf(0), mpmath.mpf(0)
            for y, w in zip(points, weights, strict=True):
                d = mpmath.mpf(float(x)) - mpmath.mpf(float(y))
                a = mpmath.exp(mpmath.mpf(beta) * mpmath.cos(d) - abs(mpmath.mpf(beta)))
                drift -= float(w) * a * mpmath.sin(d)
                partition += float(w) * a
            velocity.append(drift / partition if normalized else drift)
        return velocity


def _terms(points, weights, beta, normalized, targets):  # type: ignore[no-untyped-def]
    """Sum of the moduli of the terms: rounding is relative to it."""
    d = targets[:, None] - points
    a = np.exp(beta * np.cos(d) - abs(beta)) * weights
    return (a * abs(np.sin(d))).sum(axis=1) / (a.sum(axis=1) if normalized else 1.0)


@pytest.mark.parametrize("elsewhere", [False, True])
@each("beta", BETAS, normalized=[False, True])
def test_velocity_is_the_exact_sum(beta, normalized, elsewhere):
    """The oracle itself: a slip in reduction, sign or polynomial shows at once."""
    rng = np.random.default_rng(1)
    points, weights = rng.uniform(-9.0, 9.0, 13), rng.dirichlet(np.ones(13))
    targets = rng.uniform(-9.0, 9.0, 11) if elsewhere else points
    found = exponential_velocity_circle(
        points, weights, beta, normalized, targets if elsewhere else None
    )
    exact = np.array(_exact(points, weights, beta, normalized, targets), dtype=float)
    # Differences of angles up to 18 carry half a unit of 16, 1.8e-15, which the exponent
    # multiplies by beta; polynomials and sums add a few units.
    tolerance = (1.0 + abs(beta)) * 2e-15 + 5e-15
    error = abs(found - exact) / _terms(points, weights, beta, normalized, targets)
    assert error.max() < tolerance


def test_drift_far_below_rounding_keeps_its_digits():
    """Deep metastability: moments have a floor of 1e-18, the drift here is 1.7e-23."""
    points, weights = np.array([0.0, 1.2]), np.array([0.5, 0.5])
    found = exponential_velocity_circle(points, weights, 81.0, False)
    exact = np.array(_exact(points, weights, 81.0, False, points), dtype=float)
    assert 1.7e-23 < exact[0] < 1.8e-23
    # The exponent is 52: its rounding is 26 units in the last place, 6e-15.
    np.testing.assert_allclose(found, exact, rtol=1e-14)


@pytest.mark.parametrize("gap", [1e-3, 1e-8, 1e-15])
@pytest.mark.parametrize("beta", [1.0, 81.0])
def test_close_tokens_attract_with_relative_accuracy(gap, beta):
    """Clusters collapse exponentially: an absolute error would stop them at 1e-16."""
    points = np.array([0.0, gap, 3.0 * gap])
    weights = np.array([0.2, 0.3, 0.5])
    found = exponential_velocity_circle(points, weights, beta, False)
    exact = np.array(_exact(points, weights, beta, False, points), dtype=float)
    np.testing.assert_allclose(found, exact, rtol=1e-14)


def test_tokens_near_antipodes_keep_relative_accuracy_for_negative_beta():
    """For beta < 0 antipodal tokens interact most; their sine comes from d - pi, not from d."""
    points, weights = np.array([0.0, np.pi]), np.array([0.5, 0.5])
    found = exponential_velocity_circle(points, weights, -81.0, False)
    # d = -PI: sin(-PI) = -sin(PI), the part of pi that a double cannot hold.
    np.testing.assert_allclose(found, 0.5 * np.sin(np.pi) * np.array([1.0, -1.0]), rtol=1e-15)


@pytest.mark.parametrize("beta", [1e6, -1e6])
def test_large_beta_neither_overflows_nor_gives_nan(beta):
    """Every exponential but one underflows: the quotient must still be the exact one."""
    points = np.array([0.0, 1.2, 1.2003, 2.0])
    weights = np.array([0.4, 0.3, 0.2, 0.1])
    targets = np.append(points, [0.5, -1.0])
    for normalized in (False, True):
        found = exponential_velocity_circle(points, weights, beta, normalized, targets)
        exact = np.array(_exact(points, weights, beta, normalized, targets), dtype=float)
        # Differences are rounded at 1e-16, which 1e6 sin(d) multiplies.
        np.testing.assert_allclose(found, exact, rtol=3e-9, atol=1e-300)


def test_lost_partition_function_does_not_use_tokens_without_mass():
    """The largest exponent is that of tokens with mass: a massless one in place is no help."""
    points, weights = np.array([0.0, 1.0]), np.array([0.0, 1.0])
    found = exponential_velocity_circle(points, weights, 5000.0, True)
    # All the mass is at 1: the quotient is -sin(d) whatever the exponentials.
    np.testing.assert_allclose(found, [np.sin(1.0), 0.0], rtol=1e-15)


def test_zero_beta_is_kuramoto():
    """At beta = 0 the velocity is R sin(psi - theta), the mean-field form of Kuramoto."""
    rng = np.random.default_rng(2)
    points, weights = rng.uniform(0.0, 7.0, 300), rng.dirichlet(np.ones(300))
    order = weights @ np.exp(1j * points)
    expected = (order * np.exp(-1j * points)).imag
    found = exponential_velocity_circle(points, weights, 0.0, False)
    np.testing.assert_allclose(found, expected, atol=1e-15)


@each("normalized", [False, True], n=[1, 2, 7, 8, 9, 255, 256, 257, 1200])
def test_pairs_once_and_pairs_twice_agree(n, normalized):
    """Using i < j for both tokens, in blocks and strips, must miss no pair and double none."""
    rng = np.random.default_rng(n)
    points, weights = rng.uniform(-4.0, 4.0, n), rng.dirichlet(np.ones(n))
    among = exponential_velocity_circle(points, weights, 9.0, normalized)
    at = exponential_velocity_circle(points, weights, 9.0, normalized, points)
    np.testing.assert_allclose(among, at, atol=1e-14)


@each("normalized", [False, True], beta=BETAS)
def test_generic_kernel_gives_the_exponential_one(beta, normalized):
    """Two programs for one formula: NumPy's any-kernel sum and the compiled one."""
    rng = np.random.default_rng(3)
    points, weights = rng.uniform(-3.0, 3.0, 700), rng.dirichlet(np.ones(700))
    generic = pairwise_velocity(lambda s: np.exp(beta * s - abs(beta)), points, weights, normalized)
    found = exponential_velocity_circle(points, weights, beta, normalized)
    # The cosine of NumPy's route is rounded at 1e-16, which beta multiplies.
    np.testing.assert_allclose(generic, found, atol=(1.0 + abs(beta)) * 2e-15)


def test_generic_kernel_in_blocks_is_the_dense_sum(monkeypatch):
    """Rows at the seams of blocks must not be lost."""
    from meanfield.engines.pairs import circle as pairwise

    monkeypatch.setattr(pairwise, "PAIRS_AT_ONCE", 70)
    rng = np.random.default_rng(4)
    points, targets = rng.uniform(0.0, 6.0, 23), rng.uniform(0.0, 6.0, 17)
    d = targets[:, None] - points
    dense = -(np.cos(d) ** 2 * np.sin(d)).sum(axis=1) / (np.cos(d) ** 2).sum(axis=1)
    found = pairwise_velocity(np.square, points, None, True, targets)
    np.testing.assert_allclose(found, dense, rtol=1e-13)


def test_sum_of_momenta_is_zero():
    """Forces are opposite to the bit, so the mean angle of USA cannot drift by their rounding."""
    rng = np.random.default_rng(5)
    points, weights = rng.uniform(0.0, 6.0, 3000), rng.dirichlet(np.ones(3000))
    velocity = exponential_velocity_circle(points, weights, 9.0, False)
    assert abs(weights @ velocity) < 1e-17


def test_results_do_not_depend_on_threads(monkeypatch):
    """The number of threads must not change one bit."""
    rng = np.random.default_rng(6)
    points, targets = rng.uniform(0.0, 6.0, 2100), rng.uniform(0.0, 6.0, 900)
    runs = []
    for number in (1, 2, 5):
        monkeypatch.setattr(threads, "_chosen", number)
        runs.append(
            (
                exponential_velocity_circle(points, None, 9.0, True),
                exponential_velocity_circle(points, None, 9.0, True, targets),
            )
        )
    for run in runs[1:]:
        np.testing.assert_array_equal(run[0], runs[0][0])
        np.testing.assert_array_equal(run[1], runs[0][1])


def test_huge_angles_are_angles():
    """Unwrapped angles may grow without bound: theta + 2 pi q is theta."""
    points = np.array([0.3, 1e15, -4e12, 2e300])
    found = exponential_velocity_circle(points, None, 1.0, False)
    wrapped = np.arctan2(np.sin(points), np.cos(points))
    np.testing.assert_allclose(
        found, exponential_velocity_circle(wrapped, None, 1.0, False), atol=1e-15
    )


def test_inputs_of_other_layouts_give_the_same():
    """Every second element of an array, or float32, is as good as a plain array."""
    points = np.linspace(0.0, 5.0, 20)
    expected = exponential_velocity_circle(points[::2].copy(), None, 9.0, True)
    found = exponential_velocity_circle(points[::2], np.full(20, 0.1)[::2], 9.0, True)
    np.testing.assert_array_equal(found, expected)
    single = points.astype(np.float32)
    np.testing.assert_array_equal(
        exponential_velocity_circle(single, None, 9.0, True),  # type: ignore[arg-type]
        exponential_velocity_circle(single.astype(float), None, 9.0, True),
    )


def test_strips_of_the_triangle_cover_all_rows(monkeypatch):
    """A strip boundary rounded away from the end would drop the last pairs."""
    rng = np.random.default_rng(7)
    points = rng.uniform(0.0, 6.0, 97)
    expected = exponential_velocity_circle(points, None, 4.0, True)
    for rows in (1, 5, 30, 96):
        monkeypatch.setattr(pair_kernels, "ROWS_PER_CHUNK", rows)
        found = exponential_velocity_circle(points, None, 4.0, True)
        np.testing.assert_allclose(found, expected, atol=1e-15)


@pytest.mark.parametrize("beta", [np.inf, np.nan])
def test_beta_must_be_finite(beta):
    """NaN velocities would surface far from their cause."""
    with pytest.raises(ValueError, match="beta = .* is not finite"):
        exponential_velocity_circle(np.zeros(2), None, beta, False)


@pytest.mark.parametrize("points", [np.empty(0), np.zeros((2, 2))])
def test_points_must_be_angles(points):
    """No tokens, no field."""
    with pytest.raises(ValueError, match="expected angles of shape"):
        exponential_velocity_circle(points, None, 1.0, False)
    with pytest.raises(ValueError, match="expected angles of shape"):
        pairwise_velocity(np.exp, points, None, False)


def test_weights_must_fit():
    """Compiled code would read beyond the array."""
    with pytest.raises(ValueError, match="weights have shape"):
        exponential_velocity_circle(np.zeros(3), np.ones(2), 1.0, False)
