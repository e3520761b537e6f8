"""Bounds of explicit steps."""

import re

import pytest
from parameters import refused

import meanfield as mf
from meanfield.carriers.step_limits import (
    FEATURES,
    check_carries,
    contraction_rate,
    under_resolved,
)


@pytest.mark.parametrize("flow, beta, rate", [(mf.USA, -3.0, 1.0), (mf.Flow(True, -2.0), 5.0, 2.0)])
def test_contraction_is_the_largest_attention(flow, beta, rate):
    """The scaled kernel is at most 1, softmax weights sum to 1; times the strength."""
    assert contraction_rate(mf.Problem(mf.Circle(), mf.exponential(beta), flow)) == rate


@pytest.mark.parametrize(
    ("feature", "problem", "message"),
    [
        ("diffusion",
         mf.Problem(mf.Circle(), mf.exponential(5.0), mf.Flow("none", diffusivity=0.05)),
         'diffusion: got diffusivity = 0.05. Use representation "density" or "particles".'),
        ("labels", mf.Problem(mf.Circle(), mf.linear(), mf.USA, frequencies=mf.Gaussian(0.1)),
         "frequencies: use representation 'labelled' or 'particles'."),
        ("labels", mf.Problem(mf.Circle(), mf.Attention([mf.Head()], beta=3.0, mask="causal")),
         "positions, which the mask asks for: use representation 'labelled' or 'particles'."),
        ("layers", mf.Problem(mf.Circle(), mf.linear(), layers=mf.Layers(0.1)),
         "layers: take the representation 'particles' or 'characteristics'."),
        ("time", mf.Problem(mf.Circle(), mf.exponential(lambda t: 2.0 + t)),
         "terms of your own or functions of time, which may part what has met: use "
         'representation "particles".'),
    ],
)  # fmt: skip
def test_what_a_carrier_lacks_is_refused_with_the_alternative(feature, problem, message):
    """A carrier would leave out part of the problem without a word."""
    check_carries(problem, "atoms", {feature})
    message = f"^{re.escape(f'atoms cannot carry {message}')}$"
    refused(message, check_carries, problem, "atoms", FEATURES - {feature})


@pytest.mark.parametrize(
    ("beta", "remedy"), [(2.0, ', or "auto" with enough max_nodes'), (lambda t: 2.0 + t, "")]
)
def test_functions_of_time_are_not_sent_to_auto(beta, remedy):
    """A run with "auto" ended with the advice to take "auto"."""
    problem = mf.Problem(mf.Circle(), mf.exponential(beta))
    reason = under_resolved("spectral tail", 64, problem)
    assert reason.endswith(f'raise max_degree, or take "characteristics"{remedy}')
