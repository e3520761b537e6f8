"""Panels of the circle: quadrature, carrying, joining, folds."""

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.spaces.circle.panels import ORDER, Panels, panels
from meanfield.spaces.label_cells import cells_of, label_cells

TURN = 2 * np.pi


def between(*edges: float) -> Panels:
    return Panels(np.stack([edges[:-1], edges[1:]], axis=1))


def uneven() -> Panels:
    """Panels of lengths 1 : 2 : 1 : 5 : the rest."""
    return between(0.0, 0.4, 1.2, 1.6, 3.6, TURN)


def smooth(theta: np.ndarray) -> np.ndarray:
    return np.stack([theta + 0.3 * np.sin(theta), np.cos(theta)], axis=1)


@pytest.mark.parametrize("length, count", [(10.0, 1), (np.pi, 2), (3.14, 3), (0.1, 63)])
def test_equal_panels_have_the_requested_length_at_most(length, count):
    """As few as that takes; the manifold makes them, and makes them again from their bounds."""
    cells = label_cells(mf.Circle(), length)
    assert len(cells.bounds) == count
    assert np.diff(cells.bounds).max() <= length * (1 + 1e-15) or count == 1
    again = cells_of(mf.Circle(), cells.bounds)
    assert np.array_equal(again.points, cells.points)
    assert np.array_equal(again.weights, cells.weights)


@pytest.mark.parametrize("k", [0, 1, 7])
def test_weights_integrate_over_the_circle(k):
    """Means of cos k theta to rounding, on uneven panels too."""
    for cells in (panels(1.0), uneven()):
        # On 2.7 radians 16 nodes integrate cos 7 theta to 4e-15.
        assert cells.weights @ np.cos(k * cells.points) == pytest.approx(float(k == 0), abs=1e-14)
    assert np.all(np.diff(cells.points) > 0)


def test_split_panels_hold_the_same_functions():
    """Values are carried to the nodes of the halves; other panels keep theirs to the bit."""
    cells = uneven()
    which = np.array([True, False, False, True, True])[:, None]
    halves, carry = cells.split(which)
    assert len(halves.bounds) == 8
    assert halves.bounds[1, 0] == 0.2
    assert halves.weights.sum() == pytest.approx(1.0, abs=1e-15)
    carried = carry(smooth(cells.points))
    np.testing.assert_allclose(carried, smooth(halves.points), rtol=0, atol=1e-12)
    rows = slice(2 * ORDER, 4 * ORDER)
    assert np.array_equal(carried[rows], smooth(cells.points)[ORDER : 3 * ORDER])


def test_panels_too_narrow_for_their_halves_stay_whole():
    """Else edges would coincide; the run then says that it is under-resolved."""
    cells = between(0.0, 3.0, 3.0 + 4e-15, TURN)
    result, _ = cells.split(np.array([False, True, False])[:, None])
    assert np.array_equal(result.bounds, cells.bounds)


def test_joined_panels_hold_the_same_functions():
    """Pairs from the left, unequal ones too; what is left over keeps its values."""
    cells = uneven()
    joined, carry = cells.join(np.array([True, True, True, False, True]))
    assert np.array_equal(joined.bounds[:, 0], [0.0, 1.2, 1.6, 3.6])
    carried = carry(smooth(cells.points))
    np.testing.assert_allclose(carried, smooth(joined.points), rtol=0, atol=1e-12)
    assert np.array_equal(carried[ORDER:], smooth(cells.points)[2 * ORDER :])


def test_joining_carries_the_values_of_the_old_polynomials():
    """A step between two panels is a step at the new nodes: nothing is smoothed."""
    joined, carry = uneven().join(np.array([True, True, False, False, False]))
    steps = np.repeat(np.arange(5.0), ORDER)[:, None]
    expected = (joined.points[:ORDER] > 0.4).astype(float)
    np.testing.assert_allclose(carry(steps)[:ORDER, 0], expected, rtol=0, atol=1e-13)
    assert 0 < expected.sum() < ORDER


def test_neighbours_that_differ_too_much_do_not_join():
    """A shorter one that holds no node of the pair would vanish."""
    cells = uneven()
    assert cells.join(np.array([False, False, True, True, False])) is None
    assert cells.join(np.array([True, False, True, False, True])) is None
    assert between(0.0, 1.0, 1.0 + 1e-9, TURN).join(np.ones(3, dtype=bool)) is None


def test_tails_are_the_last_two_legendre_coefficients():
    """P_15 - 3 P_14 on the first panel and P_13 on all others would have another tail."""
    cells = panels(2.0)
    x = np.tile(np.polynomial.legendre.leggauss(ORDER)[0], 4)
    values = np.polynomial.legendre.legval(x, np.eye(16)[13])
    values[:ORDER] += np.polynomial.legendre.legval(x[:ORDER], np.eye(16)[15] - 3 * np.eye(16)[14])
    result = cells.tails(np.stack([0 * values, values], axis=1))
    np.testing.assert_allclose(result, [[3.0], [0.0], [0.0], [0.0]], rtol=0, atol=1e-13)


def test_lengths_are_those_of_the_images():
    """From edge to edge, not from node to node; over the turn as well."""
    cells = uneven()
    image = cells.points + 0.3 * np.sin(cells.points) + 5.0
    ends = cells.bounds + 0.3 * np.sin(cells.bounds)
    np.testing.assert_allclose(cells.lengths(image), np.diff(ends), rtol=0, atol=1e-12)


def test_fold_finds_where_angles_go_back():
    """Inside a panel, and between two; not where the image increases or has been turned."""
    cells = panels(1.0)
    assert cells.fold(cells.points) is None
    assert cells.fold(cells.points - 40.0) is None
    inside = cells.points + 1.5 * np.exp(-50 * (cells.points - 3.0) ** 2)
    assert cells.fold(inside) == 3
    beyond = cells.points.copy()
    beyond[-1] += 0.5
    assert cells.fold(beyond) == 6


def test_fold_within_the_error_is_none():
    """Labels that have met are no fold, nor is an overlap within the error."""
    cells = panels(1.0)
    points = cells.points.copy()
    points[5] = points[4] - 1e-3
    assert cells.fold(points) == 0
    slack = 2e-3 * np.eye(7)[0]
    assert cells.fold(points, slack) is None
    assert cells.fold(points, slack[::-1]) == 0
    assert cells.fold(np.full(len(points), 2.0)) is None
    # Between two panels the error of either may be to blame.
    overlap = cells.points.copy()
    overlap[: 2 * ORDER] += 0.1
    assert cells.fold(overlap) == 1
    for error in ([0, 0.1, 0, 0, 0, 0, 0], [0, 0, 0.1, 0, 0, 0, 0]):
        assert cells.fold(overlap, np.array(error)) is None


@pytest.mark.parametrize(
    "bounds, match",
    [
        (np.zeros((0, 2)), r"bounds have shape \(0, 2\), expected \(panels, 2\)"),
        (np.array([0.0, TURN]), r"bounds have shape \(2,\), expected \(panels, 2\)"),
        (np.array([[0.0, 3.0], [3.1, TURN]]), "bounds must increase from 0 to 2 pi"),
        (np.array([[0.0, 3.0], [3.0, 6.0]]), "bounds must increase from 0 to 2 pi"),
        (np.array([[0.0, 3.0], [3.0, 3.0], [3.0, TURN]]), "bounds must increase from 0 to 2 pi"),
    ],
)
def test_bounds_must_cut_the_circle(bounds, match):
    """Gaps, overlaps and missing pieces would lose mass."""
    refused(match, Panels, bounds)
