"""Regular polygons of clusters: `cluster_rates` against sums over the growth rates of uniform."""

from collections.abc import Callable

import numpy as np
import pytest

import meanfield as mf
from meanfield.theory.cluster_rates import ClusterRates, cluster_rates
from meanfield.theory.stability import growth_rates


def problem(beta: float, flow: mf.Flow = mf.USA) -> mf.Problem:
    """Problem whose polygons are looked at."""
    return mf.Problem(mf.Circle(), mf.exponential(beta) if beta else mf.linear(), flow)


def polygon_rates(beta: float, k: int, flow: mf.Flow = mf.USA) -> ClusterRates:
    """Rates of k equal clusters at equal spacing."""
    return cluster_rates(problem(beta, flow), mf.Measure(mf.Circle(), 2 * np.pi * np.arange(k) / k))


def folded(values: np.ndarray, k: int) -> np.ndarray:
    """Sums over p in Z of values[|k p + q|], q = 0 ... k - 1."""
    reach = len(values) - 1
    degrees = np.arange(-reach, reach + 1)
    return np.bincount(degrees % k, values[np.abs(degrees)], minlength=k)


@pytest.mark.parametrize("flow", [mf.USA, mf.SA, mf.Flow(strength=-1.0)])
@pytest.mark.parametrize("k, beta", [(2, 5.0), (3, -2.0), (5, 9.0), (12, 0.0), (12, 30.0)])
def test_rates_are_folded_growth_rates(k: int, beta: float, flow: mf.Flow) -> None:
    """Equations (13) and (14), by Poisson summation: sums over clusters are sums over degrees."""
    kernel = problem(beta).kernel
    degree = kernel.degree(1) + k
    growth = folded(growth_rates(problem(beta, mf.Flow(strength=flow.strength)), degree), k)
    if flow.normalized:
        growth = growth / folded(kernel.attention_multipliers(1, degree), k)[0]
    found = polygon_rates(beta, k, flow)
    # The folded ones are differences of rates of the size of the contraction.
    slack = 2e-14 * max(1.0, np.abs(growth).max())
    expected = np.sort(growth - growth[0])[::-1]
    np.testing.assert_allclose(found.escape, expected, rtol=0, atol=slack)
    np.testing.assert_allclose(found.contraction, growth[0], rtol=0, atol=slack)


PRINTED = [  # k, beta, normalized, largest escape rate, contraction rate; paper time
    (3, 5.0, False, "0.3488612442", "49.2385"),
    (3, 5.0, True, "0.00704403", "0.994199"),
    (4, 7.0, False, "7.0000000000", "270.658"),
    (4, 7.0, True, "0.0254862", "0.985435"),
    (3, 7.0, False, "0.173635", None),
    (4, 10.0, False, "10.0000000000", "5501.62"),
    (4, 10.0, True, "0.00181583", None),
]


@pytest.mark.parametrize("k, beta, normalized, escape, contraction", PRINTED)
def test_rates_equal_printed_values(
    k: int, beta: float, normalized: bool, escape: str, contraction: str | None, verified: Callable
) -> None:
    """Theory 1.5: the triangle at beta = 5, the square at beta = 7 with exactly 7."""
    found = polygon_rates(beta, k, mf.Flow(normalized))
    unit = 1.0 if normalized else np.exp(beta)
    for value, text in ((found.escape.max(), escape), (found.contraction[0], contraction)):
        if text is not None:
            digits = len(text.partition(".")[2])
            # Half a unit of the last digit; e^beta multiplies the rounding of scaled rates.
            slack = 0.6 * 10.0**-digits + 1e-15 * unit
            what = "escape and contraction rates of polygons of clusters, circle, as printed"
            verified("exact solutions", what, value * unit - float(text), slack)


def test_triangle_is_marginal_at_minus_two_thirds(verified: Callable) -> None:
    """The sharp constant of the synchronisation theorem: Lambda_1 = 0 exactly there."""
    what = "escape rates of the triangle at beta = -2/3, circle"
    verified("exact solutions", what, polygon_rates(-2 / 3, 3).escape, 1e-12)
    # One rate is that of a rotation.
    assert polygon_rates(-2 / 3 - 1e-9, 3).escape[0] < 1e-15
    assert polygon_rates(-2 / 3 + 1e-9, 3).escape[1] > 1e-12


@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
def test_fine_polygon_has_the_rates_of_uniform(flow: mf.Flow) -> None:
    """Finite N theorem: 64 tokens at beta = 5 have the five largest lambda_l, twice each."""
    found = polygon_rates(5.0, 64, flow).escape
    rates = np.sort(np.repeat(growth_rates(problem(5.0, flow))[1:], 2))[::-1]
    np.testing.assert_allclose(found[:10], rates[:10], rtol=2e-14)
