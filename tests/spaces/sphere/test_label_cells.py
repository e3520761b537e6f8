"""Rectangles of a cubed sphere: quadrature, what they resolve, halving and joining, folds."""

import numpy as np
import pytest
from numpy.polynomial.legendre import legval
from parameters import refused, together

from meanfield.bases.legendre import gauss_legendre
from meanfield.spaces.sphere.label_cells import ORDER, SphereCells, cells_of, tiling
from meanfield.spaces.sphere.sphere import Sphere

SPHERE = Sphere()


def flags(cells: SphereCells, share: float, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random((len(cells.bounds), 2)) < share


def irregular(seed: int = 1) -> SphereCells:
    cells = tiling(np.pi / 4)
    for generation in range(4):
        cells, _ = cells.split(flags(cells, 0.3, seed + generation))
    return cells


def coordinates(cells: SphereCells) -> np.ndarray:
    """Face, u and v of the nodes, shape (n, 3), sides as in the bounds."""
    nodes, _ = gauss_legendre(cells.order)
    face, u0, u1, v0, v1 = cells.bounds.T[:, :, None, None]
    u = 0.5 * (u0 + u1 + (u1 - u0) * nodes[:, None])
    v = 0.5 * (v0 + v1 + (v1 - v0) * nodes[None, :])
    return np.stack(np.broadcast_arrays(face, u, v), axis=-1).reshape(-1, 3)


def polynomials(cells: SphereCells) -> np.ndarray:
    """Two functions that are another polynomial of degree p - 1 on every face."""
    face, u, v = coordinates(cells).T
    top = (u + 0.1 * face) ** (cells.order - 1)
    return np.stack([top * (v - 0.3) ** (cells.order - 1), 1.0 + face - u * v**3], axis=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "cells, largest",
    [(tiling(np.pi / 4), 6), (irregular(), 6), (tiling(0.4), 20), (tiling(0.2), 24)],
)
def test_weights_integrate_polynomials(cells, largest):
    """A missing face, a wrong Jacobian or too wide cells would show in some harmonic."""
    axes = SPHERE.random_points(5, np.random.default_rng(3))
    assert abs(cells.weights.sum() - 1.0) < 1e-15
    for degree in range(1, largest + 1):
        values = legval(cells.points @ axes.T, np.eye(largest + 1)[degree])
        # Rounding of the nodes in 4e4 terms.
        assert np.abs(cells.weights @ values).max() < 1e-14


def test_weights_of_a_cell_are_its_area():
    """Weights that only sum up right over the sphere would misplace mass."""
    cells = irregular()
    t, s = np.tan(np.pi / 4 * cells.bounds[:, 1:].T.reshape(2, 2, -1))
    t, s = t[:, None], s[None, :]
    # Solid angle of a rectangle on the plane z = 1 with a corner at (0, 0, 1).
    corner = np.arctan2(t * s, np.sqrt(1.0 + t * t + s * s))
    area = (corner[1, 1] - corner[0, 1] - corner[1, 0] + corner[0, 0]) / (4.0 * np.pi)
    result = cells.weights.reshape(-1, cells.per_cell).sum(axis=1)
    np.testing.assert_allclose(result, area, rtol=1e-13)


def test_every_point_is_on_the_face_that_it_is_nearest_to():
    """Frames that do not fit their face would cover one face twice and another never."""
    cells = tiling(0.2)
    middles = np.concatenate([np.eye(3), -np.eye(3)])
    nearest = (cells.points @ middles.T).argmax(axis=1)
    np.testing.assert_array_equal(nearest, np.repeat(cells.bounds[:, 0], cells.per_cell))
    np.testing.assert_allclose(np.linalg.norm(cells.points, axis=1), 1.0, rtol=4e-16)


@pytest.mark.parametrize("length", [10.0, np.pi / 4, 0.5, 0.1])
def test_cells_are_no_longer_than_requested(length):
    """A start on cells that are too long would not be resolved."""
    cells = tiling(length)
    # Chords are shorter than arcs.
    assert cells.lengths(cells.points).max() <= min(length, np.pi / 4)
    longest = np.pi / 4 * np.ptp(cells.bounds[:, 1:3], axis=1).max() / min(length, np.pi / 4)
    assert 0.5 * (1 - 1e-9) < longest <= 1 + 1e-9


@pytest.mark.parametrize("direction", [0, 1])
@pytest.mark.parametrize("degree, tail", [(7, 0.0), (8, 3.0), (9, 3.0)])
def test_tails_are_the_last_coefficients(direction, degree, tail):
    """The direction that is badly resolved, and no other, must be known."""
    cells = tiling(0.5)
    nodes, _ = gauss_legendre(ORDER)
    one = 3.0 * legval(nodes, np.eye(10)[degree])
    grid = np.zeros((len(cells.bounds), ORDER, ORDER, 2))
    grid[5, ..., 1] = one[:, None] if direction == 0 else one[None, :]
    expected = np.zeros((len(cells.bounds), 2))
    expected[5, direction] = tail
    np.testing.assert_allclose(cells.tails(grid.reshape(-1, 2)), expected, rtol=0, atol=2e-14)


@pytest.mark.parametrize("direction", [0, 1])
def test_lengths_are_those_of_the_image(direction):
    """An image drawn out to half a circle is long along one direction and not the other."""
    cells = tiling(np.pi / 4)
    angle = np.pi * coordinates(cells)[:, 1 + direction]
    image = np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=1)
    lengths = cells.lengths(image)
    # The chords of a gap of 0.15 cells, 0.47 in the middle, are shorter by 0.47^2 / 24.
    np.testing.assert_allclose(lengths[:, direction], np.pi, rtol=0.01)
    assert lengths[:, 1 - direction].max() < 1e-13


def test_halves_carry_polynomials_exactly():
    """Interpolation, or a half at the place of another, would change what was resolved."""
    cells = irregular()
    finer, carry = cells.split(flags(cells, 0.4, 7))
    np.testing.assert_allclose(carry(polynomials(cells)), polynomials(finer), rtol=0, atol=2e-12)


def test_splitting_along_both_directions_makes_four():
    """Each direction counts for itself, and cells that stay are not touched."""
    cells = tiling(np.pi / 4)
    which = np.zeros((24, 2), dtype=bool)
    which[3], which[4], which[6, 1] = True, (True, False), True
    finer, carry = cells.split(which)
    assert len(finer.bounds) == 24 + 3 + 1 + 1
    values = np.concatenate([np.arange(3), [9], np.arange(12, 29)])
    alone = np.concatenate([np.arange(3), [5], np.arange(7, 24)])
    np.testing.assert_array_equal(finer.bounds[values], cells.bounds[alone])
    carried = carry(cells.points).reshape(29, -1, 3)
    np.testing.assert_array_equal(carried[values], cells.points.reshape(24, -1, 3)[alone])


def test_joining_undoes_splitting():
    """Halves that do not find each other again would stay for ever."""
    cells = tiling(0.4)
    assert len(cells.bounds) == 96
    values = polynomials(cells)
    for generation in range(3):
        cells, carry = cells.split(flags(cells, 0.3, generation))
        values = carry(values)
    while (result := cells.join(np.ones(len(cells.bounds), dtype=bool))) is not None:
        cells, carry = result
        values = carry(values)
    # Down to half faces, where the Jacobian is just resolved; not to whole ones.
    np.testing.assert_array_equal(cells.bounds, tiling(np.pi / 4).bounds)
    np.testing.assert_allclose(values, polynomials(cells), rtol=0, atol=1e-11)


def test_only_chosen_halves_of_one_rectangle_join():
    """Others would misplace values, or leave cells that fit to no neighbour any more."""
    cells = tiling(0.4)  # 4 x 4 on each face, v runs fastest
    which = np.zeros(len(cells.bounds), dtype=bool)
    which[[1, 2, 7, 11]] = True  # neighbours, but halves of different rectangles; two alone
    assert cells.join(which) is None
    which[0] = True
    joined, carry = cells.join(which)
    assert len(joined.bounds) == 95
    np.testing.assert_array_equal(joined.bounds[0], [0.0, -1.0, -0.5, -1.0, 0.0])
    np.testing.assert_array_equal(joined.bounds[1:], cells.bounds[2:])
    # The polynomials of the old cells, each on its half.
    numbers = np.repeat(np.arange(96.0), cells.per_cell)[:, None]
    result = carry(numbers).reshape(95, ORDER, ORDER)
    steps = np.repeat([0.0, 1.0], ORDER // 2)
    np.testing.assert_allclose(result[0], np.tile(steps, (ORDER, 1)), rtol=0, atol=1e-13)
    np.testing.assert_array_equal(result[1:, 0, 0], np.arange(2.0, 96.0))


def test_cells_of_unequal_width_do_not_join():
    """A whole side is shared, but there is no rectangle of which both are halves."""
    cells = tiling(0.4)
    which = np.zeros((96, 2), dtype=bool)
    which[1, 1] = True
    finer, _ = cells.split(which)
    assert finer.join(np.arange(97) < 2) is None


def test_rotations_do_not_fold():
    """The labels themselves, and where a rotation takes them, keep their orientation."""
    cells = irregular()
    rotation = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
    rotation *= np.sign(np.linalg.det(rotation))
    assert cells.fold(cells.points) is None
    assert cells.fold(cells.points @ rotation) is None


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-6, 1e-9])
def test_one_cell_turned_over_is_detected(size):
    """A fold must be detected in large images and in small ones, and only where it is."""
    cells = tiling(0.4)
    # The conformal map that draws all but the south pole together at the north pole.
    w = size * cells.points[:, :2] / (1.0 + cells.points[:, 2:])
    square = (w * w).sum(axis=1, keepdims=True)
    image = np.concatenate([2.0 * w, 1.0 - square], axis=1) / (1.0 + square)
    assert cells.fold(image) is None
    grid = image.reshape(96, ORDER, ORDER, 3)
    one = int(np.flatnonzero(cells.bounds[:, 0] == 2)[5])
    grid[one] = grid[one, ::-1].copy()
    assert cells.fold(grid.reshape(-1, 3)) == one


def test_rounding_of_a_collapsed_image_is_no_fold():
    """An image of size 1e-13 with noise of 1e-15 has no orientation that could be known."""
    cells = tiling(0.4)
    rng = np.random.default_rng(8)
    image = np.array([0.0, 0.6, 0.8]) + 1e-13 * cells.points
    image += 1e-15 * rng.normal(size=image.shape)
    assert cells.fold(image / np.linalg.norm(image, axis=1, keepdims=True)) is None


def test_a_fold_within_the_tail_is_no_fold():
    """Derivatives of an image that is not resolved have no sign."""
    cells = tiling(0.4)
    nodes, _ = gauss_legendre(ORDER)
    grid = cells.points.reshape(96, ORDER, ORDER, 3).copy()
    grid[7] += 0.1 * legval(nodes, np.eye(10)[9])[:, None, None]
    assert cells.fold(grid.reshape(-1, 3)) is None


@pytest.mark.parametrize("length", [0.0, -1.0, np.nan])
def test_lengths_that_are_none_are_refused(length):
    """A cell of no length would split for ever."""
    refused("length of label cells must be positive, got", tiling, length)


@together(
    "change, message",
    [
        (lambda b: b[:, :4], r"shape \(24, 4\), expected \(cells, 5\)"),
        (lambda b: b[:0], r"shape \(0, 5\), expected \(cells, 5\)"),
        (lambda b: b + [6, 0, 0, 0, 0], r"cell 0 is \[6.0, .* expected a face 0 to 5"),
        (lambda b: b * [1, 2, 1, 1, 1], r"cell 0 is .* sides -1 <= u0"),
        (lambda b: b * [1, 1, np.nan, 1, 1], r"cell 0 is .* sides -1 <= u0"),
        (lambda b: b[:, [0, 2, 1, 3, 4]], r"cell 0 is .* sides -1 <= u0"),
        (lambda b: b[1:], r"cells cover \[0.75 .* expected each once"),
    ],
)
def test_bounds_that_are_no_cells_are_refused(change, message):
    """A damaged file must not become a measure."""
    refused(message, cells_of, change(tiling(np.pi / 4).bounds))


def test_cells_come_back_from_their_bounds():
    """A run that goes on must go on with the same nodes to the bit."""
    cells = irregular()
    again = cells_of(cells.bounds.copy())
    np.testing.assert_array_equal(again.points, cells.points)
    np.testing.assert_array_equal(again.weights, cells.weights)
