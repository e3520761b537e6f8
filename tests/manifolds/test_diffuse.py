"""Brownian motion of tokens on both manifolds: the convention sqrt(2 diffusivity) dB."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

from meanfield.manifolds import MANIFOLDS
from meanfield.manifolds.manifold import Manifold, laplacian_eigenvalues

SPACES = [make() for make in MANIFOLDS.values()]
TOKENS = 200_000


def start_and_normals(space: Manifold, seed: int) -> tuple[np.ndarray, np.random.Generator]:
    """Many tokens at one random place."""
    rng = np.random.default_rng(seed)
    place = space.random_points(1, rng)
    return np.repeat(place, TOKENS, axis=0), rng


def normals(space: Manifold, rng: np.random.Generator) -> np.ndarray:
    """What drives all tokens once."""
    return rng.standard_normal((TOKENS,) if space.dimension == 1 else (TOKENS, 2))


def zonal(space: Manifold, l: int, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Zonal harmonic of degree l, 1 where points coincide."""
    cosine = np.cos(space.distance(first, second))
    polynomial = scipy.special.eval_chebyt if space.dimension == 1 else scipy.special.eval_legendre
    return polynomial(l, cosine)


@pytest.mark.parametrize("diffusivity, time", [(0.3, 0.2), (0.01, 0.4)])
@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.name)
def test_moments_decay_with_the_eigenvalues(
    space: Manifold, diffusivity: float, time: float
) -> None:
    """Noise sqrt(2 D) dB must have the generator D Laplacian: e^{-l(l+d-2) D t}, l <= 6."""
    start, rng = start_and_normals(space, 0)
    moved = space.diffuse(start, diffusivity * time, normals(space, rng))
    rates = laplacian_eigenvalues(space.dimension, 6) * diffusivity * time
    for l in range(1, 7):
        values = zonal(space, l, moved, start)
        error = values.mean() - np.exp(-rates[l])
        assert abs(error) < 4.0 * values.std() / np.sqrt(TOKENS)


@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.name)
def test_two_halves_are_one(space: Manifold) -> None:
    """Noise with a memory, such as a frame that turns with the first half, would not compose."""
    start, rng = start_and_normals(space, 1)
    moved = start
    for _ in range(2):
        moved = space.diffuse(moved, 0.15, normals(space, rng))
    rates = laplacian_eigenvalues(space.dimension, 6) * 0.3
    for l in range(1, 7):
        values = zonal(space, l, moved, start)
        error = values.mean() - np.exp(-rates[l])
        assert abs(error) < 4.0 * values.std() / np.sqrt(TOKENS)


@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.name)
def test_noise_has_no_direction(space: Manifold) -> None:
    """All moments, of every order m, must be those of the start times e^{-l(l+d-2) time}."""
    start, rng = start_and_normals(space, 2)
    moved = space.diffuse(start, 0.2, normals(space, rng))
    decay = np.exp(-0.2 * laplacian_eigenvalues(space.dimension, 6))
    exact = space.convolve(decay, space.moments(start[:1], None, 6))
    error = space.sizes_by_degree(space.moments(moved, None, 6) - exact)
    # E error^2 <= harmonics / n on the sphere; on the circle its size is that of one of two.
    harmonics = 2 * np.arange(7) + 1 if space.dimension == 2 else np.ones(7)
    assert np.all(error[1:] < 4.0 * np.sqrt(harmonics / TOKENS)[1:])


@pytest.mark.parametrize("time", [-0.1, float("nan")])
@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.name)
def test_refuses_times_that_are_none(space: Manifold, time: float) -> None:
    """Noise cannot run backwards; the root of a negative time would be NaN in silence."""
    points = space.random_points(2, np.random.default_rng(0))
    shape = (2,) if space.dimension == 1 else (2, 2)
    with pytest.raises(ValueError, match="is not a time to diffuse for, expected at least 0"):
        space.diffuse(points, time, np.zeros(shape))


@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.name)
def test_refuses_normals_that_do_not_fit(space: Manifold) -> None:
    """Broadcasting would move all tokens alike."""
    points = space.random_points(2, np.random.default_rng(0))
    for wrong in (np.zeros(1), np.zeros((1, 2)), np.zeros((2, 3))):
        with pytest.raises(ValueError, match=r"points have shape .* and normals .*, expected"):
            space.diffuse(points, 0.1, wrong)
