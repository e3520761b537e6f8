"""Scaled, paper and growth time."""

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.fields.interactions import interaction_of
from meanfield.spectrum.stability import growth_rate_max
from meanfield.spectrum.time_units import TIME_UNITS, paper_time_factor, papers_kappa, time_unit


def circle(kernel: mf.Kernel, flow: mf.Flow = mf.USA) -> mf.Problem:
    return mf.Problem(mf.Circle(), kernel, flow)


@pytest.mark.parametrize("beta", [-4.0, 0.5, 9.0])
def test_paper_time_undoes_the_scaling_of_the_kernel(beta):
    """The papers' velocity is e^{|beta|} times ours, for either sign of beta, USA only."""
    kernel = mf.exponential(beta)
    assert paper_time_factor(circle(kernel)) == np.exp(-abs(beta))
    assert time_unit(circle(kernel), "paper") == pytest.approx(np.exp(abs(beta)), rel=1e-15)
    s = np.linspace(-1, 1, 5)
    np.testing.assert_allclose(
        kernel.attention(s) / paper_time_factor(circle(kernel)), np.exp(beta * s), rtol=1e-14
    )


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
    # Velocities of five tokens without normalisation: the sum over pairs, in the papers' time.
    angles, mass = np.array([0.3, 1.1, 2.0, 2.7, 4.4]), np.array([0.1, 0.3, 0.2, 0.15, 0.25])
    first = mf.Head(score=[[0.9, -0.4], [0.7, 0.5]], value=[[0.8, 0.3], [-0.6, 1.1]])
    second = mf.Head(score=[[-0.3, 0.2], [0.1, 0.6]], value=[[0.5, -0.2], [0.4, -0.7]], beta=5.0)
    problem = mf.Problem(mf.Circle(), mf.Attention([first, second], "none", beta=2.0))
    x = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    force = np.zeros_like(x)
    for head, beta in ((first, 2.0), (second, 5.0)):
        weights = np.exp(beta * x @ np.array(head.score) @ x.T) * mass
        force += weights @ x @ np.array(head.value).T
    exact = np.sum(force * np.stack([-x[:, 1], x[:, 0]], axis=1), axis=1)
    scaled = interaction_of(problem).of_points(angles, mass).velocity(angles)
    # Moments, to rounding of the largest velocity.
    assert scaled * time_unit(problem, "scaled") / paper_time_factor(problem) == pytest.approx(
        exact, rel=1e-13, abs=1e-13 * np.abs(exact).max()
    )
    softmax = mf.Problem(mf.Circle(), mf.Attention([first, second], beta=2.0))
    assert time_unit(softmax, "paper") == 1.0
    refused("heads move uniform itself", time_unit, softmax, "growth")
    numbers = mf.Problem(mf.Circle(), mf.Attention([mf.Head(), mf.Head(query=2.0)], beta=2.0))
    assert time_unit(numbers, "growth") * growth_rate_max(numbers) == pytest.approx(1, rel=1e-15)


def test_scaled_time_is_the_unit_itself():
    """Inside the package nothing is converted."""
    assert time_unit(circle(mf.exponential(5.0)), "scaled") == 1.0


def test_flows_agree_in_time_units_of_the_linear_phase():
    """t_SA = a_0 t_USA in the linear phase: the same growth, whatever the flow."""
    usa, sa = (time_unit(circle(mf.exponential(6.0), f), "growth") for f in (mf.USA, mf.SA))
    mean = mf.exponential(6.0).attention_multipliers(1, 0)[0]
    assert sa == pytest.approx(mean * usa, rel=1e-14)


def test_paper_time_refuses_to_overflow():
    """At beta = 800 a unit of paper time is 1e347 units of scaled time."""
    with pytest.raises(ValueError, match="paper time overflows at beta = 800: use 'scaled'"):
        time_unit(circle(mf.exponential(800.0)), "paper")
    assert time_unit(circle(mf.exponential(800.0), mf.SA), "paper") == 1.0


def test_growth_time_refuses_where_nothing_grows():
    """Infinite units would make every save time infinite."""
    with pytest.raises(ValueError, match="growth time needs a growing degree and none grows"):
        time_unit(circle(mf.exponential(5.0), mf.Flow("none", strength=-1.0)), "growth")


def test_time_unit_refuses_unknown_names():
    """The message lists what is known."""
    with pytest.raises(ValueError, match="unit 'seconds' is not known. Known: growth, paper, sc"):
        time_unit(circle(mf.linear()), "seconds")
    assert TIME_UNITS == ("scaled", "paper", "growth")


def test_kappa_is_that_of_the_papers():
    """The column would be off by e^beta."""
    # Mun and Rosenzweig's threshold: kappa = beta / I_1(beta) in d = 2.
    problem = mf.Problem(mf.Circle(), mf.exponential(3.0), mf.USA)
    kappa = papers_kappa(problem, mf.critical_diffusivity(problem))
    assert kappa == pytest.approx(0.7588462084, rel=1e-9)
    assert papers_kappa(mf.Problem(mf.Circle(), mf.exponential(3.0), mf.SA), 0.25) == 4.0
    # e^{-800} is 0 in floating point, which is not what the papers' noise is.
    assert papers_kappa(mf.Problem(mf.Circle(), mf.exponential(800.0), mf.USA), 1e-4) is None
