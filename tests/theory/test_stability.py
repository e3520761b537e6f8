"""What follows from growth rates: the dominant degree, onset time, critical diffusivity."""

from collections.abc import Callable

import numpy as np
import pytest
from parameters import each

import meanfield as mf
from meanfield.theory.stability import growth_rate_max


def circle(kernel: mf.Kernel, flow: mf.Flow = mf.USA) -> mf.Problem:
    """Problem on the circle; stability needs no initial measure."""
    return mf.Problem(mf.Circle(), kernel, flow)


@each(
    "beta, degree",
    [
        (1, 1),
        (2, 2),
        (4, 3),
        (5, 3),
        (7, 4),
        (10, 4),
        (12, 5),
        (20, 6),
        (30, 8),
        (50, 10),
        (100, 14),
    ],
    flow=[mf.USA, mf.SA],
)
def test_dominant_degree_equals_the_table(beta: float, degree: int, flow: mf.Flow) -> None:
    """k_max of theory, table 1.7; both flows share it."""
    assert mf.dominant_degree(circle(mf.exponential(beta), flow)) == degree


@pytest.mark.parametrize(
    "kernel, flow",
    [
        (mf.linear(), mf.Flow(strength=-1.0)),
        (mf.linear(), mf.Flow(diffusivity=0.5)),
        (mf.exponential(9.0), mf.Flow(True, -1.0)),
        (mf.exponential(9.0), mf.Flow(diffusivity=1.0)),
    ],
)
def test_dominant_degree_is_none_where_nothing_grows(kernel: mf.Kernel, flow: mf.Flow) -> None:
    """Degree 0 has rate 0 and must not win, nor rounding of a marginal mode."""
    problem = circle(kernel, flow)
    assert mf.dominant_degree(problem) is None
    assert mf.onset_time(problem, 1000) == np.inf


@pytest.mark.parametrize(
    "kernel, flow",
    [
        (mf.exponential(9.0), mf.USA),
        (mf.exponential(9.0), mf.SA),
        (mf.exponential(-3.0), mf.USA),
        (mf.linear(), mf.SA),
        (mf.zonal(multipliers=[1.0, 0.2, 0.3]), mf.USA),
    ],
)
def test_critical_diffusivity_makes_the_first_degree_marginal(
    kernel: mf.Kernel, flow: mf.Flow
) -> None:
    """Just below it one degree grows, just above it none."""
    critical = mf.critical_diffusivity(circle(kernel, flow))
    below, above = (
        circle(kernel, mf.Flow(flow.normalized, flow.strength, factor * critical))
        for factor in (1 - 1e-9, 1 + 1e-9)
    )
    assert growth_rate_max(below) > 0 > growth_rate_max(above)


@pytest.mark.parametrize(
    "dimension, beta, kappa",
    [
        (1, 5.0, 0.2054599575),
        (1, 2.4, 1.044330156),
        (1, 10.0, 0.003743932531),
        (2, 5.0, 0.4210930111),
        (2, 1.7, 2.27190295),
        (2, 10.0, 0.01008887326),
    ],
)
def test_critical_diffusivity_equals_the_noisy_papers(
    dimension: int, beta: float, kappa: float, verified: Callable
) -> None:
    """The papers' threshold kappa_# = beta / a_1: noise 1/kappa is diffusivity e^beta (2.7)."""
    problem = mf.Problem(mf.Hypersphere(dimension), mf.exponential(beta))
    found = 1.0 / (mf.critical_diffusivity(problem) * np.exp(beta))
    what = "critical diffusivity as printed, circle and sphere, relative"
    verified("exact solutions", what, found / kappa - 1, 6e-10)


def test_critical_diffusivity_is_zero_under_repulsion() -> None:
    """A negative diffusivity means nothing."""
    assert mf.critical_diffusivity(circle(mf.exponential(4.0), mf.Flow(strength=-1.0))) == 0.0


@pytest.mark.parametrize("beta, tokens, printed", [(5.0, 20_000, 0.2663), (7.0, 20_000, 0.0425)])
def test_onset_time_equals_the_published_runs(beta: float, tokens: int, printed: float) -> None:
    """T = ln N / (2 lambda_max) in paper time: clusters of the published figures form there."""
    found = mf.onset_time(circle(mf.exponential(beta)), tokens) * np.exp(-beta)
    assert found == pytest.approx(printed, abs=0.6e-4)


def test_onset_time_is_when_the_noise_of_tokens_has_grown_to_one() -> None:
    """|c_k|^2 starts at 1/N: e^{2 lambda T} / N = 1."""
    problem = circle(mf.exponential(3.0), mf.SA)
    time = mf.onset_time(problem, 500)
    assert np.exp(2 * growth_rate_max(problem) * time) / 500 == pytest.approx(1.0, rel=1e-14)


def test_onset_time_refuses_one_token() -> None:
    """The logarithm of 1 would make the onset the start."""
    with pytest.raises(ValueError, match="tokens must be at least 2, got 1"):
        mf.onset_time(circle(mf.linear()), 1)
