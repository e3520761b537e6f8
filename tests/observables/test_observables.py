"""The table of observables, and the normalised energy."""

import numpy as np
import pytest

import meanfield as mf
from meanfield.observables import (
    ALWAYS_STORED,
    DEFAULT_OBSERVABLES,
    OBSERVABLES,
    interaction_energy,
    observe,
)

PROBLEM = mf.Problem(mf.Circle(), mf.exponential(9.0))
POINTS = mf.Measure(mf.Circle(), np.random.default_rng(0).uniform(0, 7, 40))
DENSITY = mf.von_mises_fisher(2.0).build(mf.Circle())


@pytest.mark.parametrize("measure", [POINTS, DENSITY], ids=["points", "density"])
@pytest.mark.parametrize("name", OBSERVABLES)
def test_every_observable_can_be_evaluated(name: str, measure: mf.Measure) -> None:
    """Named numbers or one-dimensional arrays, under its own name, with an axis label."""
    found = OBSERVABLES[name].evaluate(PROBLEM, measure, measure.moments(40))
    assert OBSERVABLES[name].name == name
    assert OBSERVABLES[name].long_name
    for key, value in found.items():
        assert key.split("/")[0] == name
        assert np.asarray(value, dtype=float).ndim <= 1


def test_what_is_always_stored_is_always_there() -> None:
    """Energy and clusters, also when only another is asked for."""
    found = observe(PROBLEM, DENSITY, DENSITY.moments(40), ("order_parameter",))
    assert set(ALWAYS_STORED) == {"energy", "clusters"}
    assert {key.split("/")[0] for key in found} == {"order_parameter", "energy", "clusters"}
    assert set(DEFAULT_OBSERVABLES) <= set(OBSERVABLES)


def test_order_parameter_is_one_for_a_cluster_and_zero_for_uniform() -> None:
    """Kuramoto's R."""
    dirac = mf.Measure(mf.Circle(), np.full(5, 2.0))
    found = observe(PROBLEM, dirac, dirac.moments(40), ("order_parameter",))
    assert found["order_parameter"] == pytest.approx(1.0, abs=1e-15)
    flat = mf.Density(mf.Circle(), [1.0])
    assert observe(PROBLEM, flat, flat.moments(40), ("order_parameter",))["order_parameter"] == 0


@pytest.mark.parametrize("beta", [0.0, 1.0, 9.0, 200.0])
def test_energy_is_the_double_sum_over_pairs(beta: float) -> None:
    """sum_ij w_i w_j W(cos d_ij) / W(1), for weighted tokens."""
    rng = np.random.default_rng(1)
    x, w = rng.uniform(0, 7, 30), rng.dirichlet(np.ones(30))
    kernel = mf.exponential(beta) if beta else mf.linear()
    problem = mf.Problem(mf.Circle(), kernel)
    s = np.cos(x[:, None] - x)
    expected = w @ (np.exp(beta * (s - 1)) if beta else s) @ w
    found = interaction_energy(problem, mf.Measure(mf.Circle(), x, w).moments(200))
    assert found == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("beta", [-0.5, -9.0])
def test_energy_of_negative_beta_is_in_units_of_uniform(beta: float) -> None:
    """E[Dirac] would be e^{-2|beta|} of the scale: the uniform measure is the unit."""
    x = np.random.default_rng(1).uniform(0, 7, 30)
    s = np.cos(x[:, None] - x)
    uniform = np.exp(beta * np.cos(2 * np.pi * np.arange(256) / 256)).mean()
    problem = mf.Problem(mf.Circle(), mf.exponential(beta))
    found = interaction_energy(problem, mf.Measure(mf.Circle(), x).moments(60))
    assert found == pytest.approx(np.exp(beta * s).mean() / uniform, rel=1e-13)
    flat = mf.Density(mf.Circle(), [1.0]).moments(60)
    assert interaction_energy(problem, flat) == pytest.approx(1.0, rel=1e-15)


def test_energy_of_an_own_kernel_equals_that_of_the_exponential() -> None:
    """Up to the constant of its potential, W(-1) = 0, known in closed form."""
    beta, moments = 6.0, POINTS.moments(60)
    own = mf.zonal(lambda s: np.exp(beta * (s - 1)), beta=beta)
    found = interaction_energy(mf.Problem(mf.Circle(), own), moments)
    exponential = interaction_energy(mf.Problem(mf.Circle(), mf.exponential(beta)), moments)
    lowest = np.exp(-2 * beta)
    assert found == pytest.approx((exponential - lowest) / (1 - lowest), rel=1e-12)


def test_energy_of_distant_clusters_is_the_sum_of_squared_masses() -> None:
    """The plateaus of the staircase: 0.28, 0.44, 0.52 for five tokens merging."""
    problem = mf.Problem(mf.Circle(), mf.exponential(2000.0))
    for masses, level in (
        ([0.4, 0.2, 0.2, 0.2], 0.28), ([0.6, 0.2, 0.2], 0.44), ([0.6, 0.4], 0.52),
    ):  # fmt: skip
        measure = mf.Measure(mf.Circle(), 1.2 * np.arange(len(masses)), masses)
        found = interaction_energy(problem, measure.moments(problem.kernel_degree))
        assert found == pytest.approx(level, abs=1e-13)
