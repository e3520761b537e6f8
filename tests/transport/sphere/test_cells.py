"""Cells of the sphere: keys, partitions of densities, unions."""

import numpy as np
import pytest

import meanfield as mf
from meanfield.transport.sphere import partition
from meanfield.transport.sphere.partition import (
    DEPTH,
    TOTAL,
    density_cells,
    face_points,
    grouped,
    integer_masses,
    keys_of,
    level_starts,
    token_cells,
)

SPHERE = mf.Sphere()


def points(count: int) -> np.ndarray:
    return SPHERE.random_points(count, np.random.default_rng(count))


def peaked(x: np.ndarray) -> np.ndarray:
    """Density of a polynomial of degree 6, not symmetric."""
    z = x @ np.array([0.6, 0.0, 0.8])
    return 7.0 * ((1.0 + z) / 2.0) ** 6  # int (1 + z)^6 / 2^6 dsigma = 1 / 7


@pytest.mark.parametrize("level", [1, 5, 12])
def test_key_finds_the_cell_of_a_point(level):
    """Points would be sorted into cells they are not in."""
    rng = np.random.default_rng(level)
    face = rng.integers(0, 6, 300)
    squares = rng.integers(0, 2**level, (2, 300))
    a, b = (squares + 0.01 + 0.98 * rng.random((2, 300))) / 2 ** (level - 1) - 1.0
    keys = keys_of(face_points(face, a, b)) >> 2 * (DEPTH - level)
    for bit in range(level):
        assert np.array_equal(keys >> 2 * bit + 1 & 1, squares[0] >> bit & 1)
        assert np.array_equal(keys >> 2 * bit & 1, squares[1] >> bit & 1)
    assert np.array_equal(keys >> 2 * level, face)


def test_integer_masses_are_rounded_weights():
    """Masses would not add up, and no plan would exist."""
    weights = np.random.default_rng(0).dirichlet(np.ones(1000))
    masses = integer_masses(weights)
    assert masses.sum() == TOTAL
    # Cumulative sums round at 2^-53 of 1.
    assert np.abs(masses / TOTAL - weights).max() < 4e-16


def test_cells_of_a_density_have_its_moments():
    """Masses or barycentres of cells would be wrong: their sums are known."""
    cells = density_cells(peaked, 6, 3000, 1, "first")
    masses = cells.masses / TOTAL
    # The mean of z is int z 7 ((1 + z) / 2)^6 = 7 (2/8 - 1/7) = 3/4; rules integrate to 1e-13.
    np.testing.assert_allclose(masses @ cells.barycentres, [0.45, 0.0, 0.6], atol=1e-12)


def test_mass_of_a_cell_is_what_samples_say():
    """Mass would be given to the wrong cell."""
    cells = density_cells(peaked, 6, 400, 1, "first")
    x = points(200_000)
    weights = peaked(x) / len(x)
    owner = np.searchsorted(cells.keys, keys_of(x), side="right") - 1
    sampled = np.bincount(owner, weights, len(cells))
    masses = cells.masses / TOTAL
    # Each has a standard deviation of (mass x density / n)^(1/2); five of them.
    assert np.abs(sampled - masses).max() < 5.0 * np.sqrt(masses.max() * 7.0 / len(x))


def test_reach_covers_the_cell():
    """Bounds would leave out the corners of cells."""
    cells = density_cells(peaked, 6, 2000, 2, "first")
    x = points(100_000)
    owner = np.searchsorted(cells.keys, keys_of(x), side="right") - 1
    away = np.linalg.norm(x - cells.barycentres[owner], axis=1)
    assert np.all(away <= cells.reaches[owner] * (1 + 1e-12))
    assert np.mean(away > 0.9 * cells.reaches[owner]) > 0.001  # and not much more


def test_unions_keep_mass_and_mean():
    """Coarse plans would be plans of another measure."""
    cells = token_cells(points(500), integer_masses(np.full(500, 1 / 500)))
    union = grouped(cells, level_starts(cells, 2))
    assert len(union) == 96  # 500 points in 96 cells
    assert union.masses.sum() == TOTAL
    np.testing.assert_allclose(
        union.masses @ union.barycentres / TOTAL,
        cells.masses @ cells.barycentres / TOTAL,
        atol=1e-15,
    )


def test_negative_density_is_refused():
    """A function that is no density would have a distance."""
    with pytest.raises(ValueError, match=r"first density is negative: -0\.[45].*Raise max_degree"):
        density_cells(lambda x: 1.0 + 1.5 * x[:, 2], 1, 1000, 1, "first")


def test_density_negative_by_rounding_is_taken():
    """A density that touches 0 would be refused for the rounding of its transform."""
    cells = density_cells(lambda x: 1.0 + (1.0 + 1e-12) * x[:, 2], 1, 1000, 1, "first")
    assert cells.masses.sum() == TOTAL


def test_rounding_of_a_high_peak_is_taken_far_from_it(monkeypatch):
    """Where only points far from a peak are looked at, its rounding is not small beside them."""
    monkeypatch.setattr(partition, "_POINTS", 1000)
    cells = density_cells(lambda x: 1e3 * peaked(x) - 2e-10, 6, 1000, 1, "first")
    assert cells.masses.sum() == TOTAL
