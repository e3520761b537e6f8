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


def assert_weights_of_pairs(found, score, x, masses, allowed: float) -> None:
    """The constant of w is free."""
    apart = found.log_w - pair_scaling(score, x, masses).log_w
    np.testing.assert_allclose(apart, apart[0], rtol=0, atol=allowed)


@pytest.mark.parametrize("name", SCORES)
def test_series_give_the_weights_of_pairs(name, monkeypatch):
    """Units of rows and columns would show, and a transposed score."""
    circle, score = mf.Circle(), SCORES[name]
    rng = np.random.default_rng(5)
    points, masses = rng.uniform(-np.pi, np.pi, 60), rng.dirichlet(np.ones(60))
    monkeypatch.setattr(balanced, "MOST_PAIRS", 0)
    rows, columns = side(circle, score), side(circle, score.T)
    found = point_scaling(circle, score, points, masses, rows, columns)
    assert_weights_of_pairs(found, score, circle.vectors(points), masses, 1e-12)


@pytest.mark.parametrize(
    ("space", "score", "concentration", "allowed"),
    [(mf.Circle(), score, 2.0, 1e-11) for score in SCORES.values()]
    + [pytest.param(mf.Sphere(), 2.0 * np.eye(3), 1.0, 1e-12, marks=pytest.mark.slow)],
    ids=[*SCORES, "sphere"],
)
def test_densities_have_the_weights_of_pairs(space, score, concentration, allowed):
    """Nodes of a quadrature are points."""
    density = mf.von_mises_fisher(concentration).build(space).coefficients
    rows, columns = side(space, score), side(space, score.T)
    grid, masses, found = density_scaling(space, score, density, rows, columns)
    assert_weights_of_pairs(found, score, space.vectors(grid.points), masses, allowed)


def balanced_series(space: mf.Circle | mf.Sphere, score: FloatArray, count: int, masses: str):
    """Weights of tokens by series, and residuals of rows summed over pairs."""
    rng = np.random.default_rng(count)
    points = space.random_points(count, rng)
    m = np.ones(count) if masses == "equal" else rng.exponential(size=count) ** 3
    m[::5] *= masses != "zeros"
    m /= m.sum()
    found = point_scaling(space, score, points, m, side(space, score), side(space, score))
    x = space.vectors(points)
    exponents = found.log_w[:, None] + x @ score @ x.T + found.log_w
    return found, np.abs(np.exp(exponents) @ m - 1.0)[m > 0].max()


@pytest.mark.parametrize("masses", ["equal", "unequal", "zeros"])
@pytest.mark.parametrize(
    ("space", "score", "count"),
    [(mf.Circle(), beta * np.eye(2), 1_000) for beta in (1e-8, 1.0, 9.0, 400.0)]
    + [(mf.Circle(), SCORES["positive"], 300), (mf.Circle(), 1.5 * SCORES["positive"], 900)]
    + [(mf.Sphere(), beta * np.eye(3), 600) for beta in (1e-8, 1.0, 9.0)]
    + [(mf.Sphere(), np.array([[6.0, 1.0, 0.0], [1.0, 1.5, 0.0], [0.0, 0.0, 0.0]]), 600)],
)
def test_newton_by_series_balances_tokens_to_1e_13(space, score, count, masses, monkeypatch):
    """Rows by pairs say so; no pairs are summed for the weights, and few sums are taken."""
    monkeypatch.setattr(balanced, "pair_scaling", None)
    found, residual = balanced_series(space, score, count, masses)
    assert found.residual <= 1e-13
    # Exponents have the rounding of beta.
    assert residual < 2e-13 + 8 * np.finfo(float).eps * np.abs(score).max()
    assert found.sweeps <= 20


@pytest.mark.parametrize("name", ["identity", "positive"])
def test_many_tokens_report_the_residual_that_is_there(name):
    """Above the limit of pairs, too, no share of it is put down to rounding."""
    found, residual = balanced_series(mf.Circle(), 1.5 * SCORES[name], 2_100, "unequal")
    assert found.residual < 2e-13
    assert abs(found.residual - residual) < 2e-13


@pytest.mark.parametrize("concentration", [0.0, 5.0, 60.0])
@pytest.mark.parametrize("name", ["identity", "positive"])
def test_newton_balances_densities_as_sweeps_do(concentration, name, monkeypatch):
    """Also narrow peaks, far from which sums are rounding."""
    circle, score = mf.Circle(), SCORES[name]
    law = mf.von_mises_fisher(concentration) if concentration else mf.uniform()
    rows = side(circle, score)
    density = law.build(circle).coefficients
    _, masses, found = density_scaling(circle, score, density, rows, rows)
    monkeypatch.setattr(balanced, "newton_scaling", lambda *_: None)
    _, _, swept = density_scaling(circle, score, density, rows, rows)
    # Far from a narrow peak what is left is rounding, of either.
    assert found.residual <= max(3.0 * swept.residual, 1e-13)
    heavy = masses > 1e-10
    np.testing.assert_allclose(found.log_w[heavy], swept.log_w[heavy], rtol=0, atol=1e-11)


def test_pairs_take_over_where_series_are_not_as_accurate():
    """A token of next to no mass far from all others: its sum is rounding of a series."""
    circle, score = mf.Circle(), 40.0 * np.eye(2)
    points = np.append(np.linspace(-0.1, 0.1, 400), np.pi)
    masses = np.append(np.full(400, 1.0), 1e-20)
    masses /= masses.sum()
    rows = side(circle, score)
    found = point_scaling(circle, score, points, masses, rows, rows)
    exact = pair_scaling(score, circle.vectors(points), masses)
    np.testing.assert_array_equal(found.log_w, exact.log_w)


def test_newton_leaves_large_matrices_to_sweeps(monkeypatch):
    """Sweeps of some 500 nodes take less time than a matrix of 120 rows."""
    monkeypatch.setattr(balanced, "newton_scaling", None)
    circle, score = mf.Circle(), 400.0 * np.eye(2)
    rows = side(circle, score)
    density = mf.von_mises_fisher(2.0).build(circle).coefficients
    assert density_scaling(circle, score, density, rows, rows)[2].residual < 1e-12
