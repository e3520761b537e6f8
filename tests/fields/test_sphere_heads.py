"""Heads on the sphere against sums over pairs, without a harmonic."""

import numpy as np
import pytest
from any_threads import check_any_threads
from head_oracle import B3, V3
from head_oracle import velocity as by_pairs
from parameters import refused

import meanfield as mf
from meanfield.arrays import EPS
from meanfield.engines.harmonics import coefficients as packing
from meanfield.engines.row_scale import row_scale
from meanfield.fields.sphere.heads import head_table, transport, velocity
from meanfield.terms.attention import HeadMatrices

SPHERE = mf.Sphere()


def direct(heads, normalized, targets, points, weights, log_scale=0.0) -> np.ndarray:
    """P_x sum_h V_h sum_j w_j e^{x S_h y_j} y_j / G_h by sums over pairs."""
    how, size = ("softmax", 1.0) if normalized else ("none", np.exp(-log_scale))
    return by_pairs(targets, points, weights, heads, how) * size


def by_series(heads, normalized, targets, points, weights, log_scale=0.0) -> np.ndarray:
    tables = [head_table(head, normalized, log_scale) for head in heads]
    moments = SPHERE.moments(points, weights, max(table.degree for table in tables))
    return velocity([table.fields(moments) for table in tables], targets)


def of_rank(*values: float, seed: int = 0) -> np.ndarray:
    left, _, right = np.linalg.svd(np.random.default_rng(seed).normal(size=(3, 3)))
    return left @ np.diag(values) @ right


@pytest.mark.slow
@pytest.mark.parametrize(
    ("score", "normalized", "tolerance"),
    [
        (of_rank(1.0, 0.5, 0.1), True, 1e-14),
        (of_rank(10.0, 4.0, 0.3), True, 1e-12),
        (of_rank(10.0, 4.0, 0.3), False, 1e-13),
        # Z loses a factor e^6 of its digits where |S^T x| lies between the singular values.
        (of_rank(30.0, 18.0, 1.0), True, 2e-11),
        (np.outer([1.0, 2.0, 2.0], [2.0, -1.0, 2.0]), True, 1e-13),
        (np.diag([10.0, 0.0, 0.0]), False, 1e-13),
        (-4.0 * np.eye(3), True, 1e-13),
        (np.zeros((3, 3)), True, 1e-14),
    ],
)
def test_velocity_is_the_sum_over_tokens(score, normalized, tolerance):
    """A parity, a singular value's sign, or degrees cut too early would show in some score."""
    points = SPHERE.random_points(200, np.random.default_rng(1))
    weights = np.full(200, 1.0 / 200)
    heads = [HeadMatrices(score, V3), HeadMatrices(0.5 * score.T, B3)]
    scale = heads[0].sharpness
    result = by_series(heads, normalized, points[:50], points, None, scale)
    expected = direct(heads, normalized, points[:50], points, weights, scale)
    assert np.abs(result - expected).max() < tolerance * np.abs(expected).max()


@pytest.mark.slow
def test_quotient_is_taken_at_the_token():
    """Between two clusters v has many more degrees than its numerator: 1e-9 would be 1e-1."""
    clusters = np.array([[0.0, 0.6, 0.8], [0.0, -0.6, -0.8]])
    targets = SPHERE.random_points(40, np.random.default_rng(2))
    head = HeadMatrices(20.0 * np.eye(3), V3)
    weights = np.array([0.5, 0.5])
    near = np.abs(targets @ clusters[0]) > 0.3
    result = by_series([head], True, targets[near], clusters, weights)
    expected = direct([head], True, targets[near], clusters, weights)
    # Rounding 1e-14 over the least Z, e^{20 (0.3 - 1)}.
    assert np.abs(result - expected).max() < 1e-7
    assert np.median(np.abs(result - expected)) < 1e-9


def test_right_hand_side_of_polynomials_is_free_of_aliasing():
    """Degrees of products above the cut would alias into it, on too few rings."""
    table = head_table(HeadMatrices(3.0 * B3, V3), False, 3.0)
    density = packing.from_modes([[1, 0, 0.3], [2, 1, 0.2], [4, -3, 0.1]])
    coarse, fine = transport([table], 4)(density), transport([table], 30)(density)
    assert coarse[0] == 0.0
    assert np.abs(coarse - packing.resize(fine, 4)).max() < 1e-14


@pytest.mark.slow
def test_row_scale_keeps_digits_where_the_score_is_small():
    """Scaled by e^{-r_1}, all digits of a direction with |S^T x| = 0 would be rounding."""
    points = SPHERE.random_points(100, np.random.default_rng(5))
    head = HeadMatrices(np.diag([25.0, 1.0, 1.0]), V3)
    targets = np.array([[0.0, 0.6, 0.8], [1.0, 0.0, 0.0], [0.5, 0.0, np.sqrt(0.75)]])
    result = by_series([head], True, targets, points, None)
    expected = direct([head], True, targets, points, np.full(100, 0.01))
    assert np.abs(result - expected).max() < 1e-10
    table, values = head_table(head, True, 0.0), np.array([1.0, 25.0])
    assert table.scale == row_scale(values)
    moments = SPHERE.moments(points, None, table.degree)
    partition = SPHERE.evaluate(table.partition(moments), targets)
    z = targets @ head.score
    sums = np.exp(z @ points.T - table.scale.at(z)[:, None]).mean(axis=1)
    assert np.abs(partition - sums).max() < 16 * EPS * np.exp(table.scale.log_peak(*values))


@pytest.mark.slow
def test_threads_do_not_change_a_bit():
    """Runs would not repeat on another machine."""
    points = SPHERE.random_points(40_000, np.random.default_rng(6))
    heads = [HeadMatrices(30.0 * B3, V3)]
    check_any_threads(lambda: [by_series(heads, True, points, points, None)])


def test_tables_beyond_memory_are_refused():
    """A run would end without a word when memory does."""
    head = HeadMatrices(np.diag([1000.0, 900.0, 500.0]), V3)
    refused(r"beta \|B\| = 1000 needs a table of .* GiB", head_table, head, True, 0.0)
