"""Angles of vectors and the tangent frame, at the poles as anywhere."""

import numpy as np
from random_data import special_and_random

from meanfield.engines.harmonics.angles import angles_of, tangent_vectors
from meanfield.spaces.sphere.sphere import Sphere

SPHERE = Sphere()


def test_angles_are_numpys():
    """The compiled arctangents, to a rounding of the angle."""
    points = special_and_random(5000) * np.geomspace(1e-3, 1e3, 5000)[:, None]
    x, y, z = points.T
    angles, valid = angles_of(points)
    assert valid
    theta = np.arctan2(np.hypot(x, y), z)
    np.testing.assert_allclose(angles[:, 0], theta, rtol=0, atol=5e-16)
    small = (theta < 1e-3) & (theta > 1e-150)
    assert small.any()
    np.testing.assert_allclose(angles[small, 0], theta[small], rtol=5e-16)
    turned = np.exp(1j * angles[:, 1]) - np.exp(1j * np.arctan2(y, x))
    assert np.abs(turned[np.hypot(x, y) > 1e-90]).max() < 1.5e-15
    assert angles.min() >= 0.0
    assert np.all(angles <= [np.pi, 2 * np.pi])


def test_angles_of_long_and_short_vectors():
    """Lengths of 1e-100 to 1e100 do not matter; beyond, a vector has no angles."""
    vectors = np.array([[1e99, 1e99, 0.0], [1e-99, 0.0, 1e-99], [0.0, -1e99, 1e99]])
    angles, valid = angles_of(vectors)
    assert valid
    expected = np.pi * np.array([[0.5, 0.25], [0.25, 0.0], [0.25, 1.5]])
    np.testing.assert_allclose(angles, expected, rtol=1e-15)
    for length in (1e101, 1e-101, 1e300, 1e-300):
        angles, valid = angles_of(np.array([[length, length, 0.0]]))
        assert not valid
        assert np.all(np.isnan(angles))


def test_frame_is_orthonormal_at_every_point():
    """Southward, eastward and outward: unit vectors at right angles, to the right."""
    points = special_and_random(2000)
    south, east = np.empty((2, 2000, 3))
    tangent_vectors(points, np.repeat([[1.0], [0.0]], 2000, axis=1), south)
    tangent_vectors(points, np.repeat([[0.0], [1.0]], 2000, axis=1), east)
    np.testing.assert_allclose(np.cross(points, south), east, rtol=0, atol=1e-15)
    np.testing.assert_allclose((south**2).sum(axis=1), 1.0, rtol=1e-15)
    assert np.abs((south * points).sum(axis=1)).max() < 5e-16
