"""Turned and multiplied fields against moments of the tokens that are turned and weighted."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import meanfield as mf
from meanfield.engines.harmonics.rotations import rotate, times_coordinates

SPHERE = mf.Sphere()
POINTS = SPHERE.random_points(30, np.random.default_rng(0))
WEIGHTS = np.random.default_rng(1).random(30)


@pytest.mark.parametrize(
    "matrix",
    [
        Rotation.from_rotvec([0.3, -2.0, 1.0]).as_matrix(),
        # About the z axis, and nearly: of two of the angles only the sum is known.
        Rotation.from_rotvec([0.0, 0.0, 0.7]).as_matrix(),
        Rotation.from_rotvec([1e-9, 2e-9, 0.7]).as_matrix(),
        np.diag([1.0, -1.0, -1.0]),
        np.eye(3),
    ],
)
def test_rotation_is_that_of_the_tokens(matrix):
    """Fields would be turned backwards, or by another angle near the pole."""
    moments = SPHERE.moments(POINTS, WEIGHTS, 12)
    expected = SPHERE.moments(POINTS @ matrix.T, WEIGHTS, 12)
    assert np.abs(rotate(moments, matrix) - expected).max() < 1e-13


def test_products_with_coordinates_are_moments_of_weighted_tokens():
    """A factor of the recurrence, or what it does at order 0, would be wrong."""
    result = times_coordinates(SPHERE.moments(POINTS, WEIGHTS, 12))
    for axis in range(3):
        expected = SPHERE.moments(POINTS, WEIGHTS * POINTS[:, axis], 11)
        assert np.abs(result[axis] - expected).max() < 1e-13
