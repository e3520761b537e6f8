"""Scaled, paper and growth time."""

import numpy as np
import pytest

import meanfield as mf
from meanfield.theory.stability import growth_rate_max
from meanfield.theory.time_units import TIME_UNITS, paper_time_factor, papers_kappa, time_unit


def circle(kernel: mf.Kernel, flow: mf.Flow = mf.USA) -> mf.Problem:
    """Problem on the circle."""
    return mf.Problem(mf.Circle(), kernel, flow)


@pytest.mark.parametrize("beta", [-4.0, 0.5, 9.0])
def test_paper_time_undoes_the_scaling_of_the_kernel(beta: float) -> None:
    """The papers' velocity is e^{|beta|} times ours, for either sign of beta, USA only."""
    kernel = mf.exponential(beta)
    assert paper_time_factor(circle(kernel)) == np.exp(-abs(beta))
    assert time_unit(circle(kernel), "paper") == pytest.approx(np.exp(abs(beta)), rel=1e-15)
    s = np.linspace(-1, 1, 5)
    np.testing.assert_allclose(
        kernel.attention(s) / paper_time_factor(circle(kernel)), np.exp(beta * s), rtol=1e-14
    )


@pytest.mark.parametrize(
    "problem",
    [
        circle(mf.exponential(9.0), mf.SA),
        circle(mf.linear()),
        circle(mf.linear(), mf.SA),
        circle(mf.zonal(multipliers=[1.0, 0.25])),
    ],
)
def test_paper_time_is_scaled_time_where_nothing_was_scaled(problem: mf.Problem) -> None:
    """A quotient forgets the scale; the linear kernel has none."""
    assert paper_time_factor(problem) == 1.0
    assert time_unit(problem, "paper") == 1.0


@pytest.mark.parametrize("flow", [mf.USA, mf.SA, mf.Flow(diffusivity=0.01)])
def test_growth_time_is_an_e_fold_of_the_fastest_mode(flow: mf.Flow) -> None:
    """In growth time the largest rate is 1."""
    problem = circle(mf.exponential(5.0), flow)
    assert time_unit(problem, "growth") * growth_rate_max(problem) == pytest.approx(1, rel=1e-15)


def test_scaled_time_is_the_unit_itself() -> None:
    """Inside the package nothing is converted."""
    assert time_unit(circle(mf.exponential(5.0)), "scaled") == 1.0


def test_flows_agree_in_time_units_of_the_linear_phase() -> None:
    """t_SA = a_0 t_USA in the linear phase: the same growth, whatever the flow."""
    usa, sa = (time_unit(circle(mf.exponential(6.0), f), "growth") for f in (mf.USA, mf.SA))
    mean = mf.exponential(6.0).attention_multipliers(1, 0)[0]
    assert sa == pytest.approx(mean * usa, rel=1e-14)


def test_paper_time_refuses_to_overflow() -> None:
    """At beta = 800 a unit of paper time is 1e347 units of scaled time."""
    with pytest.raises(ValueError, match="paper time overflows at beta = 800: use 'scaled'"):
        time_unit(circle(mf.exponential(800.0)), "paper")
    assert time_unit(circle(mf.exponential(800.0), mf.SA), "paper") == 1.0


def test_growth_time_refuses_where_nothing_grows() -> None:
    """Infinite units would make every save time infinite."""
    with pytest.raises(ValueError, match="growth time needs a growing degree and none grows"):
        time_unit(circle(mf.exponential(5.0), mf.Flow(strength=-1.0)), "growth")


def test_time_unit_refuses_unknown_names() -> None:
    """The message lists what is known."""
    with pytest.raises(ValueError, match="unit 'seconds' is not known. Known: growth, paper, sc"):
        time_unit(circle(mf.linear()), "seconds")
    assert TIME_UNITS == ("scaled", "paper", "growth")


def test_kappa_is_that_of_the_papers() -> None:
    """The column would be off by e^beta."""
    # Mun and Rosenzweig's threshold: kappa = beta / I_1(beta) in d = 2.
    problem = mf.Problem(mf.Circle(), mf.exponential(3.0))
    kappa = papers_kappa(problem, mf.critical_diffusivity(problem))
    assert kappa == pytest.approx(0.7588462084, rel=1e-9)
    assert papers_kappa(mf.Problem(mf.Circle(), mf.exponential(3.0), mf.SA), 0.25) == 4.0
    # e^{-800} is 0 in floating point, which is not what the papers' noise is.
    assert papers_kappa(mf.Problem(mf.Circle(), mf.exponential(800.0)), 1e-4) is None
