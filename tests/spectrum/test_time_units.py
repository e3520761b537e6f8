"""Scaled, paper and growth time."""

import numpy as np
import pytest
from head_oracle import B1, B2, MASSES, TOKENS, V1, V2, components, vectors, velocity
from parameters import refused

import meanfield as mf
from meanfield.fields.interactions import interaction_of
from meanfield.spectrum.stability import growth_rate_max
from meanfield.spectrum.time_units import paper_time_factor, papers_kappa, time_unit


def circle(kernel: mf.Kernel, flow: mf.Flow = mf.USA) -> mf.Problem:
    return mf.Problem(mf.Circle(), kernel, flow)


@pytest.mark.parametrize("beta", [-4.0, 0.5, 9.0])
def test_paper_time_undoes_the_scaling_of_the_kernel(beta):
    """The papers' velocity is e^{|beta|} times ours, for either sign of beta, USA only."""
    kernel = mf.exponential(beta)
    assert paper_time_factor(circle(kernel)) == np.exp(-abs(beta))
    assert time_unit(circle(kernel), "paper") == pytest.approx(np.exp(abs(beta)), rel=1e-15)
    s = np.linspace(-1, 1, 5)
    attention = kernel.attention(s) / paper_time_factor(circle(kernel))
    np.testing.assert_allclose(attention, np.exp(beta * s), rtol=1e-14)


@pytest.mark.parametrize("problem", [
    circle(mf.exponential(9.0), mf.SA), circle(mf.linear()), circle(mf.linear(), mf.SA),
    circle(mf.zonal(multipliers=[1.0, 0.25])),
])  # fmt: skip
def test_paper_time_is_scaled_time_where_nothing_was_scaled(problem):
    """A quotient forgets the scale; the linear kernel has none."""
    assert paper_time_factor(problem) == 1.0
    assert time_unit(problem, "paper") == 1.0


@pytest.mark.parametrize("flow", [mf.USA, mf.SA, mf.Flow("none", diffusivity=0.01)])
def test_growth_time_is_an_e_fold_of_the_fastest_mode(flow):
    """In growth time the largest rate is 1."""
    problem = circle(mf.exponential(5.0), flow)
    assert time_unit(problem, "growth") * growth_rate_max(problem) == pytest.approx(1, rel=1e-15)


def test_paper_time_of_heads_undoes_their_common_scale():
    """Heads of several sharpnesses would each have a time of its own."""
    first, second = mf.Head(score=B1, value=V1), mf.Head(score=B2, value=V2, beta=5.0)
    problem = mf.Problem(mf.Circle(), mf.Attention([first, second], "none", beta=2.0))
    x = vectors(TOKENS)
    exact = components(TOKENS, velocity(x, x, MASSES, [(2.0 * B1, V1), (5.0 * B2, V2)], "none"))
    scaled = interaction_of(problem).of_points(TOKENS, MASSES).velocity(TOKENS)
    # Moments, to rounding of the largest velocity.
    result = scaled * time_unit(problem, "scaled") / paper_time_factor(problem)
    assert result == pytest.approx(exact, rel=1e-13, abs=1e-13 * np.abs(exact).max())
    softmax = mf.Problem(mf.Circle(), mf.Attention([first, second], beta=2.0))
    assert time_unit(softmax, "paper") == 1.0
    refused("heads move uniform itself", time_unit, softmax, "growth")
    numbers = mf.Problem(mf.Circle(), mf.Attention([mf.Head(), mf.Head(query=2.0)], beta=2.0))
    assert time_unit(numbers, "growth") * growth_rate_max(numbers) == pytest.approx(1, rel=1e-15)


def test_flows_agree_in_time_units_of_the_linear_phase():
    """t_SA = a_0 t_USA in the linear phase: the same growth, whatever the flow."""
    usa, sa = (time_unit(circle(mf.exponential(6.0), f), "growth") for f in (mf.USA, mf.SA))
    mean = mf.exponential(6.0).attention_multipliers(1, 0)[0]
    assert sa == pytest.approx(mean * usa, rel=1e-14)


def test_impossible_units_are_refused():
    """At beta = 800 paper time overflows; where nothing grows save times would be infinite."""
    sharp, repulsion = mf.exponential(800.0), mf.Flow("none", strength=-1.0)
    refused("overflows at beta = 800: use 'scaled'", time_unit, circle(sharp), "paper")
    assert time_unit(circle(sharp, mf.SA), "paper") == 1.0
    repelled = circle(mf.exponential(5.0), repulsion)
    message = "growth time needs a growing degree and none grows"
    refused(message, time_unit, repelled, "growth")
    message = "unit 'seconds' is not known. Known: growth, paper, scaled"
    refused(message, time_unit, circle(mf.linear()), "seconds")


def test_kappa_is_that_of_the_papers():
    """The column would be off by e^beta."""
    # Mun and Rosenzweig's threshold: kappa = beta / I_1(beta) in d = 2.
    problem = circle(mf.exponential(3.0))
    kappa = papers_kappa(problem, mf.critical_diffusivity(problem))
    assert kappa == pytest.approx(0.7588462084, rel=1e-9)
    assert papers_kappa(circle(mf.exponential(3.0), mf.SA), 0.25) == 4.0
    # e^{-800} is 0 in floating point, which is not what the papers' noise is.
    assert papers_kappa(circle(mf.exponential(800.0)), 1e-4) is None
