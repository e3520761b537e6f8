"""Weights of the exponential method: its order conditions, and two ways to store them."""

import numpy as np
import pytest

from meanfield.engines.steps import exponential_weights as table
from meanfield.engines.steps.phi import phi

RATES = np.concatenate([-np.logspace(-3, 6, 91), [0.0, 0.1, 1.0, 6.0]])
STEP = 0.5
NODES = np.array([0.0, 0.5, 0.5, 1.0, 0.5])


def tableau() -> tuple[np.ndarray, np.ndarray]:
    """Weights a_ij (5, 5, n) and b_i (5, n), from the table of the method in differences."""
    w = table.weights(RATES, STEP) / STEP
    a, b = np.zeros((5, 5, len(RATES))), np.zeros((5, len(RATES)))
    a[2, 1] = w[table.TWO_HALF]
    a[3, 1] = a[3, 2] = w[table.TWO]
    a[4, 1] = a[4, 2] = w[table.EARLY]
    a[4, 3] = w[table.LATE]
    b[3], b[4] = w[table.FOURTH], w[table.FIFTH]
    linear = [0, table.ONE_HALF, table.ONE_HALF, table.ONE, table.ONE_HALF]
    for i in range(1, 5):
        a[i, 0] = w[linear[i]] - a[i].sum(axis=0)
    b[0] = w[table.ONE] - b.sum(axis=0)
    return a, b


def defect(stage: int) -> np.ndarray:
    """psi_2 of a stage: sum_j a_ij c_j - c_i^2 phi_2(c_i z)."""
    a, _ = tableau()
    c = NODES[stage]
    return np.einsum("jn,j->n", a[stage], NODES) - c**2 * phi(c * STEP * RATES)[1]


@pytest.mark.parametrize("power", [0, 1, 2])
def test_weights_integrate_powers_of_time(power):
    """Stiff order three, conditions psi_1, psi_2, psi_3: sum b_i c_i^k / k! = phi_{k+1}."""
    _, b = tableau()
    moment = np.einsum("in,i->n", b, NODES**power) / (2.0 if power == 2 else 1.0)
    exact = phi(STEP * RATES)[power]
    # Weights are of size phi_1, below which they cancel.
    assert np.abs((moment - exact) / phi(STEP * RATES)[0]).max() < 3e-15


@pytest.mark.parametrize("stage", [3, 4])
def test_last_stages_have_order_two(stage):
    """Stiff order four wants psi_2 = 0 of the stages that the result uses."""
    assert np.abs(defect(stage) / phi(NODES[stage] * STEP * RATES)[0]).max() < 1e-15


def test_errors_of_the_early_stages_are_opposite():
    """They enter by their sum only (a_i2 = a_i3), and so does the estimate by (N_2 + N_3) / 2."""
    a, b = tableau()
    assert np.abs(defect(1) + defect(2)).max() < 1e-16
    assert np.abs(defect(1)).max() > 0.1
    assert np.array_equal(a[3:, 1], a[3:, 2])
    assert not b[1:3].any()


def test_without_linear_part_the_method_is_classical():
    """At z = 0: weights 1/6, 0, 0, 1/6, 2/3, of Simpson's rule."""
    _, b = tableau()
    np.testing.assert_allclose(
        b[:, RATES == 0.0][:, 0], [1 / 6, 0, 0, 1 / 6, 2 / 3], rtol=0, atol=1e-15
    )


def test_repeated_rates_are_stored_once(monkeypatch):
    """On the sphere 2 l + 1 coefficients share a rate: a table of each would fill the memory."""
    linear = np.tile(-np.arange(7.0), 5)
    spread, none = table.tables(linear)(0.25)
    monkeypatch.setattr(table, "_SPREAD_SIZE", 0)
    compact, index = table.tables(linear)(0.25)
    assert none is None and index is not None
    assert compact.shape == (11, 7)
    assert np.array_equal(spread, compact[:, index])
    # Many different rates gain nothing from it.
    assert table.tables(-np.arange(35.0))(0.25)[1] is None
