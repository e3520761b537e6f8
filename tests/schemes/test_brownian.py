"""Brownian paths: numbers that repeat, and the law of what lies inside a step."""

import numpy as np
import pytest
from any_threads import check_any_threads
from parameters import refused

from meanfield.schemes.brownian import BrownianPath


def test_seed_and_step_choose_the_numbers() -> None:
    """Runs of different seeds, and steps of one run, must differ; those alike must not."""
    path = BrownianPath(5, (7,))
    assert np.array_equal(path.halves(4), BrownianPath(5, (7,)).halves(4))
    drawn = [*path.halves(4), *path.halves(5), *BrownianPath(6, (7,)).halves(4)]
    assert len(np.unique(drawn)) == 6 * 7


def test_neighbouring_seeds_differ_however_large() -> None:
    """Seeds from 2^63 that pass through floats would serve 1024 runs each."""
    seeds = [2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1]
    drawn = [BrownianPath(seed, (3,)).normals(0, 0) for seed in seeds]
    assert len(np.unique(drawn)) == 15


def test_path_keeps_to_the_halves() -> None:
    """Inside a step the path must pass through what the step itself used."""
    path = BrownianPath(3, (20,))
    first, second = np.sqrt(0.5) * np.array(path.halves(6))
    for fraction, exact in ((0.0, 0.0 * first), (0.5, first), (1.0, first + second)):
        assert np.array_equal(path.inside(6, fraction), exact)
        # Moves by about 1e-4 in 1e-8, whatever intervals are crossed.
        nearby = path.inside(6, min(fraction + 1e-8, 1.0))
        assert np.abs(nearby - exact).max() < 1e-3


def test_threads_change_no_number() -> None:
    """Numbers that depend on the number of threads could not be repeated elsewhere."""
    (drawn,) = check_any_threads(lambda: [BrownianPath(1, (70_000, 2)).normals(2, 0)])
    assert len(np.unique(drawn)) == 140_000


@pytest.mark.parametrize("fraction", [1e-6, 0.02, 0.25, 0.4, 0.5, 0.7, 0.9375, 0.99])
def test_shorter_step_has_independent_normals(fraction: float) -> None:
    """Its two halves would not be standard normal and independent."""
    first, second = BrownianPath(2, (100_000,)).shorter_halves(0, fraction)
    for values, exact in ((first * first, 1), (second * second, 1), (first * second, 0)):
        assert abs(values.mean() - exact) < 4.0 * values.std() / np.sqrt(values.size)


def test_refuses_seeds_that_64_bits_cannot_hold() -> None:
    """Philox takes 64 bits; a seed cut to them would be that of another run."""
    for seed in (-1, 2**64):
        refused(r"seed is .*, expected 0 to 2\^64 - 1", BrownianPath, seed, (2,))
    refused("seed must be an integer, got 1.5", BrownianPath, 1.5, (2,), error=TypeError)
