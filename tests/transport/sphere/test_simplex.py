"""The network simplex, against POT's."""

import numpy as np
import ot
import pytest
from parameters import together

from meanfield.transport.sphere.plans import hang, improve


def plan_of(cost: np.ndarray, supply: np.ndarray, demand: np.ndarray):
    """Optimal basis over all arcs, from a start that follows the north-west rule."""
    n, m = cost.shape
    source, sink, start = [], [], []
    left, right = supply.copy(), demand.copy()
    i = k = 0
    while i < n and k < m:
        amount = min(left[i], right[k])
        source.append(i)
        sink.append(k)
        start.append(amount)
        left[i] -= amount
        right[k] -= amount
        i, k = i + (left[i] == 0), k + (right[k] == 0)
    source = np.append(source, np.repeat(np.arange(n), m))
    sink = np.append(sink, np.tile(np.arange(m), n))
    costs = cost[source, sink]
    basis = hang(n, m, source, sink, costs, np.array(start), np.zeros(n + m))
    improve(basis, n, source, sink, costs, 1e-14)
    return basis, source, sink


@pytest.mark.slow
@together("seed", range(8))
def test_plan_is_optimal_and_keeps_the_masses(seed):
    """The tree would not be optimal, the simplex cycle on ties, or mass be lost in a pivot."""
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 30, 2)
    cost = rng.integers(0, 20, (n, m)) / 8.0 if seed % 2 else rng.random((n, m))
    supply, demand = np.full(n, m), np.full(m, n)
    basis, source, sink = plan_of(cost, supply, demand)
    value = basis.dual[:-1] @ np.append(supply, demand) / supply.sum()
    expected = ot.emd2(supply / supply.sum(), demand / demand.sum(), cost)
    assert value == pytest.approx(expected, abs=1e-13)
    used = np.flatnonzero(basis.flow[:-1])
    arcs, flow = basis.arc[used], basis.flow[used]
    assert flow.min() > 0
    np.testing.assert_array_equal(np.bincount(source[arcs], flow, len(supply)), supply)
    np.testing.assert_array_equal(np.bincount(sink[arcs], flow, len(demand)), demand)
