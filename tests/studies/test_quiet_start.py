"""Quiet starts have the moments asked for to first order, and no noise of their own."""

from __future__ import annotations

import numpy as np
import pytest

import meanfield as mf
from meanfield.manifolds.maxima import gaussian_fields
from meanfield.studies.corrected_law import quiet_start

SPACES = {"circle": mf.Circle(), "sphere": mf.Sphere()}


def perturbation(space: mf.Circle | mf.Sphere, degree: int) -> np.ndarray:
    """A field of all degrees up to one."""
    variances = np.full(degree + 1, 1.0)
    variances[0] = 0.0
    return gaussian_fields(space, variances, 1, np.random.default_rng(5))[0]


@pytest.mark.parametrize("name", SPACES)
def test_moments_are_right_to_first_order(name: str) -> None:
    """Halving the amplitude quarters the error: order 2, measured between 1e-3 and 5e-4."""
    space = SPACES[name]
    field = perturbation(space, 4)
    errors = []
    for amplitude in (1e-3, 5e-4):
        start = quiet_start(space, amplitude * field, 32)
        found = space.moments(start.points, start.weights, 4)
        found[0] = 0.0
        errors.append(np.abs(found - amplitude * field).max())
    assert 1.9 < np.log2(errors[0] / errors[1]) < 2.1


@pytest.mark.parametrize("name", SPACES)
def test_nothing_asked_nothing_moves(name: str) -> None:
    """Zero moments leave the grid, whose own moments vanish to rounding."""
    space = SPACES[name]
    start = quiet_start(space, np.zeros_like(perturbation(space, 4)), 16)
    moments = space.moments(start.points, start.weights, 8)
    assert np.abs(moments[1:]).max() < 1e-14


def test_weights_are_positive_whatever_is_asked() -> None:
    """A density of amplitude 3 would be negative; displaced nodes are not."""
    start = quiet_start(mf.Circle(), np.array([0.0, 0.0, 1.5]), 32)
    assert start.weights is not None
    assert start.weights.min() > 0
