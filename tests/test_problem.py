"""Problems and flows: what may be combined."""

import numpy as np
import pytest
from parameters import refused, together

import meanfield as mf


@together("name, value, message", [
    ("strength", 0.0, "finite and not 0"),
    ("diffusivity", -0.1, "finite and >= 0"),
    *[(name, value, "a finite number") for name in ("strength", "diffusivity")
      for value in (np.nan, np.inf)],
])  # fmt: skip
def test_impossible_flow_is_refused(name, value, message):
    """Strength 0 would be a problem in which nothing happens; backward heat is not well posed."""
    refused(f"{name} must be {message}", mf.Flow, "none", **{name: value})


def test_normalized_flow_refuses_kernels_that_change_sign():
    """Division by Z = 0 on the way; the message says how low the kernel falls."""
    kernel, message = mf.zonal(lambda s: s, name="mine"), "a positive kernel; 'mine' falls to -1"
    refused(f"needs {message}", mf.Problem, mf.Circle(), kernel, mf.SA)
    mf.Problem(mf.Circle(), kernel, mf.USA)


@pytest.mark.parametrize("beta", [-1e6, -3.0, 3.0, 1e6])
def test_normalized_flow_accepts_kernels_that_underflow(beta):
    """Zero far from a narrow peak is no change of sign."""
    assert mf.Problem(mf.Circle(), mf.exponential(beta), mf.SA).flow is mf.SA


@pytest.mark.parametrize("kernel", [mf.linear(), mf.Attention([mf.Head()] * 2, beta=1.0)])
def test_r_d_has_no_uniform_state(kernel):
    """Rates about a law that does not exist would be numbers all the same."""
    problem = mf.Problem(mf.Euclidean(4), kernel)
    refused("the uniform measure, and space:4 has none", mf.growth_rates, problem, 3)


@pytest.mark.parametrize("beta, least", [(0.1, 12), (5.0, 12), (100.0, 60)])
def test_moment_degree_is_the_kernel_s_and_at_least_twelve(beta, least):
    """A run would store too few moments for its energy."""
    problem = mf.Problem(mf.Circle(), mf.exponential(beta), mf.USA)
    assert problem.moment_degree == max(problem.kernel_degree, 12) >= least


def test_problem_is_uniform_by_default():
    """Stability needs no initial measure."""
    problem = mf.Problem(mf.Circle(), mf.linear(), mf.USA)
    assert problem.initial_measure().max_degree == 0 and "uniform" in repr(problem)


def test_free_energy_exists_where_the_flow_is_a_gradient():
    """Studies would look for a transition that nothing defines."""
    circle, softmax = mf.Circle(), mf.exponential(3.0)
    assert mf.Problem(circle, softmax, mf.USA).has_free_energy
    assert mf.Problem(circle, mf.linear(), mf.SA).has_free_energy
    assert not mf.Problem(circle, softmax, mf.SA).has_free_energy


@pytest.mark.slow
def test_large_matrices_print_their_shapes():
    """Two heads in R^64 printed 219,990 characters; a matrix of R^3 prints its numbers."""
    rng = np.random.default_rng(0)
    large, small = rng.normal(size=(64, 64)), np.diag([1.0, 2.0, 3.0])
    heads = [mf.Head(query=large, key=large), mf.Head(score=large, value=large)]
    net = mf.FeedForward(input=large, output=large, bias=large[0])
    problem = mf.Problem(
        mf.Sphere(64), mf.Attention(heads, beta=1.0), feed_forward=net, drift=mf.LinearDrift(large)
    )
    assert "Head(query=array(64, 64), key=array(64, 64))" in repr(problem)
    assert "bias=array(64,), activation='relu'" in repr(problem)
    assert "drift=LinearDrift(matrix=array(64, 64))" in repr(problem)
    assert len(repr(problem)) < 500
    assert eval(repr(mf.Head(score=small)), {"Head": mf.Head}) == mf.Head(score=small)
