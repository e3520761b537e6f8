"""Doubly stochastic weights by series, against those summed over pairs."""

from collections.abc import Callable

import numpy as np
import pytest

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.engines.sinkhorn import pair_scaling
from meanfield.fields import balanced
from meanfield.fields.balanced import Side, density_scaling, point_scaling
from meanfield.fields.heads import head_table
from meanfield.terms.attention import HeadMatrices


def side(space: mf.Circle | mf.Sphere, score: FloatArray) -> Callable[[], Side]:
    head = HeadMatrices(np.ascontiguousarray(score), np.eye(len(score)))

    def made() -> Side:
        table = head_table(space, head, True, 0.0)
        return Side(table.degree, table.partition, table.scale.at)

    return made


SCORES = {
    "identity": 6.0 * np.eye(2),
    "positive": np.array([[6.0, 1.0], [1.0, 1.5]]),
    "any": np.array([[3.0, -2.0], [1.0, 4.0]]),
}


@pytest.mark.parametrize("name", SCORES)
def test_series_give_the_weights_of_pairs(name, monkeypatch):
    """Tokens and a density: units of rows and columns would show, and a transposed score."""
    circle, score = mf.Circle(), SCORES[name]
    rows, columns = side(circle, score), side(circle, score.T)
    rng = np.random.default_rng(5)
    points, masses = rng.uniform(-np.pi, np.pi, 60), rng.dirichlet(np.ones(60))
    exact = pair_scaling(score, circle.vectors(points), masses)
    monkeypatch.setattr(balanced, "MOST_PAIRS", 0)
    found = point_scaling(circle, score, points, masses, rows, columns)
    # The constant of w is free.
    apart = found.log_w - exact.log_w
    np.testing.assert_allclose(apart, apart[0], rtol=0, atol=1e-12)
    density = mf.von_mises_fisher(2.0).build(circle)
    grid, nodal, of_density = density_scaling(circle, score, density.coefficients, rows, columns)
    exact = pair_scaling(score, circle.vectors(grid.points), nodal)
    apart = of_density.log_w - exact.log_w
    np.testing.assert_allclose(apart, apart[0], rtol=0, atol=1e-11)


@pytest.mark.slow
def test_sphere_density_has_the_weights_of_pairs():
    """Nodes of a quadrature are points."""
    sphere, score = mf.Sphere(), 2.0 * np.eye(3)
    density = mf.von_mises_fisher(1.0).build(sphere)
    rows = side(sphere, score)
    grid, masses, found = density_scaling(sphere, score, density.coefficients, rows, rows)
    exact = pair_scaling(score, sphere.vectors(grid.points), masses)
    np.testing.assert_allclose(found.log_w, exact.log_w, rtol=0, atol=1e-12)
