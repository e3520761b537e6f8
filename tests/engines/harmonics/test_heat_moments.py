"""Brownian motion on spheres above S^2 for a given time: its moments, frames and limits."""

import numpy as np
import pytest
from parameters import refused
from scipy import special

import meanfield as mf
from meanfield.engines.harmonics import heat_moments


def mean_of_degree(degree: int, d: int, time: float) -> float:
    """E P_l(<x', x>) after a step, P_l(1) = 1, by Gauss quadrature over the squared normals."""
    q, weights = special.roots_genlaguerre(40, 0.5 * (d - 1) - 1.0)
    start = np.random.default_rng(d).normal(size=d)
    x = np.tile(start / np.linalg.norm(start), (len(q), 1))
    normals = np.sqrt(2.0 * q)[:, None] * np.eye(d - 1)[-1]
    cosines = np.einsum("ij,ij->i", mf.Sphere(d).diffuse(x, time, normals), x)
    values = special.eval_gegenbauer(degree, 0.5 * d - 1.0, cosines)
    top = special.eval_gegenbauer(degree, 0.5 * d - 1.0, 1.0)
    return float(weights @ values / weights.sum() / top)


@pytest.mark.parametrize("time", [1e-9, 1e-4, 1e-2, 0.3, 5.0])
@pytest.mark.parametrize("d", [4, 5, 16])
@pytest.mark.parametrize("degree", [1, 2])
def test_first_two_degrees_decay_as_under_the_heat_kernel(degree, d, time):
    """E P_l = e^{-l(l+d-2) t}: a projected step x + sqrt(2 t) n errs by t^2."""
    exact = np.exp(-degree * (degree + d - 2) * time)
    # The quadrature leaves 5e-6 of long steps in few dimensions: Y is no polynomial of n^2.
    assert mean_of_degree(degree, d, time) == pytest.approx(exact, abs=min(1e-5, 1e-4 * d * time))


@pytest.mark.parametrize("d", [4, 16])
def test_third_degree_has_order_four(d):
    """Half the time, a sixteenth of the error: steps of weak order two keep their order."""
    time, errors = 0.4 / d**2, []
    for step in (time, 0.5 * time):
        errors.append(abs(mean_of_degree(3, d, step) - np.exp(-3.0 * (d + 1) * step)))
    assert errors[0] < 2e-3 and 12.0 < errors[0] / errors[1] < 17.0


@pytest.mark.parametrize("last", [0.8, -0.8, 0.0, 1.0, -1.0])
def test_directions_are_tangent_and_isometric(last):
    """A wrong frame would prefer directions, at the poles of the last axis above all."""
    x = np.array([np.sqrt(1.0 - last**2), 0.0, 0.0, 0.0, last])
    frame = np.eye(4)
    moved = heat_moments.diffuse(np.tile(x, (4, 1)), 0.02, frame)
    tangents = moved - (moved @ x)[:, None] * x
    np.testing.assert_allclose(np.linalg.norm(moved, axis=1), 1.0, rtol=1e-15)
    gram = tangents @ tangents.T
    np.testing.assert_allclose(gram, gram[0, 0] * np.eye(4), rtol=0, atol=1e-15)


@pytest.mark.parametrize("time", [1e-101, 1e-155, 1e-172])
def test_tiny_times_move_by_their_root(time):
    """Squares of the time underflowed: NaN from 1e-155 on, a division by zero from 1e-170 on."""
    x = np.eye(5)[:1]
    moved = heat_moments.diffuse(x, time, np.full((1, 4), 0.3))
    # For short times Y / time is |n|^2 / 2.
    assert np.linalg.norm(moved - x) == pytest.approx(0.6 * np.sqrt(2.0 * time), rel=1e-12)


def test_nothing_moves_without_time_or_normals():
    """Division by the length of the normals would give NaN."""
    x = np.eye(4)[:2]
    normals = np.zeros((2, 3))
    np.testing.assert_array_equal(heat_moments.diffuse(x, 0.0, normals + 1.0), x)
    np.testing.assert_allclose(heat_moments.diffuse(x, 0.1, normals), x, rtol=0, atol=1e-7)


def test_normals_of_another_dimension_are_refused():
    """Broadcasting would fail far from the cause."""
    refused("expected .n, d. and", heat_moments.diffuse, np.eye(4)[:2], 0.1, np.zeros((2, 4)))
