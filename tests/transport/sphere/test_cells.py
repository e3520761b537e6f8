"""Cells of the sphere: keys, partitions of densities, unions."""

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.transport.sphere import partition

SPHERE = mf.Sphere()


def points(count: int) -> np.ndarray:
    return SPHERE.random_points(count, np.random.default_rng(count))


def owner(cells, x: np.ndarray) -> np.ndarray:
    """Index of the cell of each point."""
    return np.searchsorted(cells.keys, partition.keys_of(x), side="right") - 1


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
    keys = partition.keys_of(partition.face_points(face, a, b)) >> 2 * (partition.DEPTH - level)
    for bit in range(level):
        assert np.array_equal(keys >> 2 * bit + 1 & 1, squares[0] >> bit & 1)
        assert np.array_equal(keys >> 2 * bit & 1, squares[1] >> bit & 1)
    assert np.array_equal(keys >> 2 * level, face)


def test_integer_masses_are_rounded_weights():
    """Masses would not add up, and no plan would exist."""
    weights = np.random.default_rng(0).dirichlet(np.ones(1000))
    masses = partition.integer_masses(weights)
    assert masses.sum() == partition.TOTAL
    # Cumulative sums round at 2^-53 of 1.
    assert np.abs(masses / partition.TOTAL - weights).max() < 4e-16


def test_cells_of_a_density_have_its_moments():
    """Masses or barycentres of cells would be wrong: their sums are known."""
    cells = partition.density_cells(peaked, 6, 3000, 1, "first")
    masses = cells.masses / partition.TOTAL
    # The mean of z is int z 7 ((1 + z) / 2)^6 = 7 (2/8 - 1/7) = 3/4; rules integrate to 1e-13.
    assert masses @ cells.barycentres == pytest.approx(np.array([0.45, 0.0, 0.6]), abs=1e-12)


def test_mass_of_a_cell_is_what_samples_say():
    """Mass would be given to the wrong cell."""
    cells = partition.density_cells(peaked, 6, 400, 1, "first")
    x = points(200_000)
    sampled = np.bincount(owner(cells, x), peaked(x) / len(x), len(cells))
    masses = cells.masses / partition.TOTAL
    # Each has a standard deviation of (mass x density / n)^(1/2); five of them.
    assert np.abs(sampled - masses).max() < 5.0 * np.sqrt(masses.max() * 7.0 / len(x))


def test_reach_covers_the_cell():
    """Bounds would leave out the corners of cells."""
    cells = partition.density_cells(peaked, 6, 2000, 2, "first")
    x = points(100_000)
    cell = owner(cells, x)
    share = np.linalg.norm(x - cells.barycentres[cell], axis=1) / cells.reaches[cell]
    assert share.max() <= 1 + 1e-12
    assert np.mean(share > 0.9) > 0.001  # and not much more


def test_unions_keep_mass_and_mean():
    """Coarse plans would be plans of another measure."""
    cells = partition.token_cells(points(500), partition.integer_masses(np.full(500, 1 / 500)))
    union = partition.grouped(cells, partition.level_starts(cells, 2))
    assert len(union) == 96  # 500 points in 96 cells
    assert union.masses.sum() == partition.TOTAL
    first, second = (each.masses @ each.barycentres / partition.TOTAL for each in (union, cells))
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-15)


def test_negative_density_is_refused():
    """A function that is no density would have a distance."""
    message = r"first density is negative: -0\.[45].*Raise max_degree"
    refused(message, partition.density_cells, lambda x: 1.0 + 1.5 * x[:, 2], 1, 1000, 1, "first")


def test_density_negative_by_rounding_is_taken():
    """A density that touches 0 would be refused for the rounding of its transform."""
    cells = partition.density_cells(lambda x: 1.0 + (1.0 + 1e-12) * x[:, 2], 1, 1000, 1, "first")
    assert cells.masses.sum() == partition.TOTAL


def test_rounding_of_a_high_peak_is_taken_far_from_it(monkeypatch):
    """Where only points far from a peak are looked at, its rounding is not small beside them."""
    monkeypatch.setattr(partition, "_POINTS", 1000)
    cells = partition.density_cells(lambda x: 1e3 * peaked(x) - 2e-10, 6, 1000, 1, "first")
    assert cells.masses.sum() == partition.TOTAL
