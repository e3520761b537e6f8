"""A space of the user's own is one class: tokens on a torus of two angles."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import meanfield as mf
from meanfield.spaces.euclidean import Euclidean


@dataclass(frozen=True, repr=False)
class Torus(Euclidean):
    """S^1 x S^1 in R^4: points are two angles (n, 2), vectors (cos a, sin a, cos b, sin b)."""

    dimension: int = 2
    ambient: ClassVar[int] = 4
    name: ClassVar[str] = "torus"

    def vectors(self, points: np.ndarray) -> np.ndarray:
        return np.stack([np.cos(points), np.sin(points)], axis=-1).reshape(*points.shape[:-1], 4)

    def project(self, points: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        u = vectors.reshape(*points.shape, 2)
        return np.cos(points) * u[..., 1] - np.sin(points) * u[..., 0]


@pytest.mark.slow
def test_tokens_move_on_a_torus():
    """A space would need changes of the package."""
    start = np.random.default_rng(0).uniform(0.0, 2.0 * np.pi, (12, 2))
    torus = Torus()

    def rate(_: float, state: np.ndarray) -> np.ndarray:
        points = state.reshape(-1, 2)
        x = torus.vectors(points)
        weights = np.exp(2.0 * x @ x.T)
        means = weights @ x / weights.sum(axis=1, keepdims=True)
        return torus.project(points, means).ravel()

    exact = solve_ivp(rate, (0.0, 2.0), start.ravel(), "DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    problem = mf.Problem(torus, mf.exponential(2.0), mf.SA, mf.from_points(start))
    run = mf.simulate(problem, until=2.0, save=2, representation="particles")
    # Ten times the tolerance 1e-10 of the run.
    assert np.abs(run.measures[-1].points - exact.reshape(-1, 2)).max() < 1e-9
