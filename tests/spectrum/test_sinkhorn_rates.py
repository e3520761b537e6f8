"""Growth rates of doubly stochastic attention, against tables, and what theory says of heads."""

import numpy as np
import pytest
from parameters import refused
from scipy.special import lambertw

import meanfield as mf
from meanfield.spectrum.stability import critical_degree

RATES = {  # lambda_1 ... lambda_6 by (dimension, beta)
    (1, 1): "0.3086235223 0.3873487170 0.1548754166 0.0345159364 0.0053592188 0.0006394434",
    (1, 5): "0.0943689758 0.3129811067 0.4949577977 0.5053263689 0.3670293599 0.2034968881",
    (1, 10): "0.0486810998 0.1790397108 0.3459792229 0.4854735989 0.5407798876 0.4953993114",
    (2, 5): "0.1777889876 0.4104980171 0.5252127977 0.4530898148 0.2868540656 0.1426966780",
    (2, 10): "0.0947368423 0.2531791905 0.4182410448 0.5245296889 0.5309658218 0.4464642555",
}
THRESHOLDS = {
    1: "0.8025282516 2.4588793398 4.8468235730 7.9958961089 11.9171142559 16.6159775696 "
    "22.0947999301 28.3546033043 35.3958859183 43.2189130430",
    2: "1.3778646353 3.4389266284 6.2171427254 9.7555468766 14.0672432839 19.1570812664 "
    "25.0270413147 31.6780284657 39.1105010850 47.3247113439",
}
LARGEST = {  # By dimension, at beta = 1e2 and 1e4.
    1: (0.5553276370, 0.5569125824),
    2: (0.5540028125, 0.5569040210),
}


def doubly_stochastic(dimension: int, beta: float, *heads: mf.Head, **options: float) -> mf.Problem:
    """Problem of doubly stochastic heads, by default of B = V = 1."""
    of = mf.Attention(heads or [mf.Head()], "sinkhorn", beta=beta, **options)
    return mf.Problem(mf.Sphere(dimension + 1) if dimension > 1 else mf.Circle(), of)


@pytest.mark.parametrize(("dimension", "beta"), RATES)
def test_rates_equal_the_table(dimension, beta):
    """To the last printed digit: w_l / a_0 divided by 1 + alpha_l, not by 2."""
    result = mf.growth_rates(doubly_stochastic(dimension, beta), 6)[1:]
    values = np.array(RATES[dimension, beta].split(), dtype=float)
    np.testing.assert_allclose(result, values, rtol=0, atol=0.6e-10)


@pytest.mark.parametrize("dimension", [1, 2])
def test_thresholds_equal_the_table(dimension):
    """Betas at which degrees switch; the list of a problem ends at its own."""
    values = np.array(THRESHOLDS[dimension].split(), dtype=float)
    problem = doubly_stochastic(dimension, 47.4)
    np.testing.assert_allclose(mf.switching_thresholds(problem)[:10], values, rtol=0, atol=1e-9)
    beta = mf.switching_threshold(problem.manifold, 10, "sinkhorn")
    assert mf.dominant_degree(doubly_stochastic(dimension, beta * (1 - 1e-9))) == 10
    assert mf.dominant_degree(doubly_stochastic(dimension, beta * (1 + 1e-9))) == 11


def test_far_threshold_is_detected():
    """The bracket holds far out: L = 2 (1 + W(1/e)) beta as beta grows."""
    slope = 2.0 * (1.0 + float(lambertw(np.exp(-1.0)).real))
    beta = mf.switching_threshold(mf.Sphere(), 500, "sinkhorn")
    assert beta * slope == pytest.approx(501**2, rel=1e-5)
    with pytest.raises(ValueError, match="degree must be at most 10000, got 10001"):
        mf.switching_threshold(mf.Sphere(), 10_001, "sinkhorn")


@pytest.mark.parametrize("dimension", [1, 2])
def test_largest_rate_equals_its_limit(dimension):
    """It tends to 2 W(1/e), where softmax has 2 / e."""
    result = [mf.growth_rate_max(doubly_stochastic(dimension, beta)) for beta in (1e2, 1e4)]
    np.testing.assert_allclose(result, LARGEST[dimension], rtol=0, atol=0.6e-10)
    assert result[1] == pytest.approx(2.0 * float(lambertw(np.exp(-1.0)).real), rel=1e-4)


def test_heads_without_theory_are_refused():
    """No thresholds of several heads; one line for matrices and for what cannot grow."""
    assert mf.switching_thresholds(doubly_stochastic(1, 9.0, mf.Head(), mf.Head(2.0))) == []
    repelled = doubly_stochastic(1, 9.0, strength=-1.0)
    assert mf.switching_thresholds(repelled) == []
    assert mf.dominant_degree(repelled) is None
    refused("no transition: .* with these heads", critical_degree, repelled)
    turned = doubly_stochastic(1, 9.0, mf.Head(score=[1.0, -1.0]))
    refused("heads move uniform itself", mf.growth_rate_max, turned)
    for call in (mf.switching_thresholds, mf.dominant_degree):
        refused(r"the attention has heads: mf.linear_operator", call, turned)
