"""Betas at which the dominant degree switches, against 40-digit tables."""

from collections.abc import Callable

import numpy as np
import pytest
from parameters import each

import meanfield as mf

THRESHOLDS = {  # by dimension d of the space R^d, degrees 1 -> 2, 2 -> 3, ...
    2: "1.0444568621078 3.1654344427006 6.2112983794320 10.228483162986 15.236276728521 "
    "21.240451963642 28.242957185718 36.244583046742 45.245700253437 55.246502042675 "
    "66.247097495422 78.247552118586 91.247907246350 105.24819003749 120.24841894952 "
    "136.24860689050",
    3: "1.8161545254359 4.4252930123956 7.9623798515463 12.477433109401 17.984893952723 "
    "24.489146808471 31.991810193342 40.493593017624 49.994847051253 60.495763646090 "
    "71.996454446195 84.496988285112 97.997409538014 112.49774788652 127.99802380903 "
    "144.49825181298",
    4: "2.52852031879 5.65582321706 9.6987862733 14.7176117492 20.7275555721",
    8: "5.25111070404 10.5003416829 16.5950434151 23.6427038967 31.6706318872",
    16: "10.6055648566 20.1214184176 30.3321235702 41.4448170916 53.5142161305",
    64: "42.618439455 77.7365985202 112.63663686 148.133743782 184.448634656",
}
FAR = {2: {20: "210.24910109999"}, 3: {20: "220.49885846545"}}


@pytest.mark.parametrize("d", THRESHOLDS)
def test_threshold_equals_the_table(d: int, verified: Callable) -> None:
    """To the last printed digit, 11 to 14 of them: the root of a ratio of Bessel functions."""
    for degree, text in (dict(enumerate(THRESHOLDS[d].split(), 1)) | FAR.get(d, {})).items():
        found = mf.switching_threshold(d - 1, degree)
        decimals = len(text.partition(".")[2])
        # Half a unit of the last digit, and the rounding of found itself.
        slack = 0.51 * 10.0**-decimals + 4e-16 * found
        what = "switching thresholds of the dominant degree, dimensions 2 to 64, as printed"
        verified("exact solutions", what, found - float(text), slack)


@each("d, degree", [(2, 1), (2, 4), (3, 3), (8, 2), (64, 1)], flow=[mf.USA, mf.SA])
def test_dominant_degree_switches_at_the_threshold(d: int, degree: int, flow: mf.Flow) -> None:
    """Rates and thresholds are computed apart; USA and SA must switch at the same beta."""
    manifold = mf.Hypersphere(d - 1)
    beta = mf.switching_threshold(d - 1, degree)
    for side, expected in ((1 - 1e-9, degree), (1 + 1e-9, degree + 1)):
        problem = mf.Problem(manifold, mf.exponential(side * beta), flow)
        assert mf.dominant_degree(problem) == expected
    rates = mf.growth_rates(mf.Problem(manifold, mf.exponential(beta), flow), degree + 1)
    assert rates[degree] == pytest.approx(rates[degree + 1], rel=2e-14)


@pytest.mark.parametrize(
    "dimension, approximation",
    [
        (1, lambda k: k * (k + 1) / 2 + 1 / 4 - 3 / (8 * (k + 1 / 2) ** 2)),
        (2, lambda l: (l + 1) ** 2 / 2 - 1 / (2 * (l + 1) ** 2)),
    ],
)
def test_thresholds_follow_their_asymptotics(dimension: int, approximation) -> None:
    """A bracket that found another root would show far out, up to degree 300."""
    for degree in (3, 10, 50, 300):
        found = mf.switching_threshold(dimension, degree)
        assert found == pytest.approx(approximation(degree), abs=0.01)


def test_thresholds_increase_and_stop_at_beta() -> None:
    """The list of a problem: all thresholds up to its beta, in order."""
    found = mf.switching_thresholds(mf.Problem(mf.Circle(), mf.exponential(28.3)))
    assert found == pytest.approx([mf.switching_threshold(1, k) for k in range(1, 8)], rel=1e-14)
    assert np.all(np.diff(found) > 0)
    assert mf.switching_thresholds(mf.Problem(mf.Circle(), mf.exponential(28.2))) == pytest.approx(
        found[:6], rel=1e-14
    )


@pytest.mark.parametrize("beta, count", [(0.1, 0), (1.044, 0), (1.045, 1), (250.0, 21)])
def test_thresholds_are_as_many_as_switches(beta: float, count: int) -> None:
    """None below the first, and more than any list that was made in advance."""
    problem = mf.Problem(mf.Circle(), mf.exponential(beta))
    assert len(mf.switching_thresholds(problem)) == count
    assert mf.dominant_degree(problem) == count + 1


def test_thresholds_are_the_same_for_both_flows() -> None:
    """The normalisation a_0 does not depend on the degree."""
    usa, sa = (mf.Problem(mf.Hypersphere(2), mf.exponential(50.0), f) for f in (mf.USA, mf.SA))
    assert mf.switching_thresholds(usa) == mf.switching_thresholds(sa)
    assert len(mf.switching_thresholds(usa)) == 9


@pytest.mark.parametrize(
    "kernel, flow",
    [
        (mf.linear(), mf.USA),
        (mf.exponential(-9.0), mf.USA),
        (mf.exponential(9.0), mf.Flow(strength=-1.0)),
        (mf.zonal(np.exp, beta=9.0), mf.USA),
    ],
)
def test_no_thresholds_where_the_formula_does_not_hold(kernel: mf.Kernel, flow: mf.Flow) -> None:
    """They belong to the attractive exponential kernel with beta > 0."""
    assert mf.switching_thresholds(mf.Problem(mf.Circle(), kernel, flow)) == []
