"""Gradients by one backward sweep against differences of runs."""

import numpy as np
import pytest
from parameters import refused, together

import meanfield as mf

WEIGHTS = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}


def squared(moments):
    return float(abs(moments[2]) ** 2 + (moments[1] + moments[2]).imag + moments[1].real)


def kernel(p):
    law = mf.from_density([1.0, 0.25 + p[3], -0.1j])
    flow = mf.Flow(normalized=True, strength=p[1], diffusivity=p[2])
    drift = mf.LinearDrift([[0.0, p[4]], [0.1, 0.2]])
    return mf.Problem(mf.Circle(), mf.exponential(p[0]), flow, law, drift=drift)


def heads(p):
    """Entries of score and value, beta, and strength, end and query of stages, unnormalised."""
    head = mf.Head(score=[[0.9, p[0]], [-0.4, 0.5]], value=[[0.8, p[1]], [-0.6, 1.1]])
    first = mf.Attention([head, mf.Head(query=p[5])], "none", beta=p[2])
    second = mf.Attention([head], "none", beta=2 * p[2], strength=p[3], diffusivity=0.01)
    law = mf.from_density([1.0, 0.25, -0.1j])
    stages = [mf.Stage(end=p[4]), mf.Stage(kernel=second)]
    return mf.Problem(mf.Circle(), first, initial=law, stages=stages)


def near_kernel(p):
    """A head of numbers at p = 0 alone."""
    head = mf.Head(score=[[1.0, p[0]], [0.0, 1.0 + p[1]]], value=[[1.0, p[2]], [0.0, 1.0]])
    law = mf.from_density([1.0, 0.25, -0.1j])
    return mf.Problem(mf.Circle(), mf.Attention([head], beta=2.0), initial=law)


def sphere(p):
    score = [[0.5, p[0], 0.0], [0.0, 0.3, 0.2], [0.1, 0.0, -0.2]]
    value = [[1.0, 0.2, 0.0], [0.0, 0.5, p[1]], [0.0, 0.3, 1.0]]
    attention = mf.Attention([mf.Head(score=score, value=value)], beta=1.0)
    law = mf.perturbed_uniform([[2, 1, p[2]], [1, 0, 0.2]])
    return mf.Problem(mf.Sphere(), attention, initial=law)


def beta_alone(p):
    return mf.Problem(mf.Circle(), mf.exponential(p[0]), mf.SA)


def zonal_sphere(p):
    law = mf.perturbed_uniform([[2, 1, 0.1], [1, 0, 0.2]])
    drift = mf.LinearDrift([[0.0, p[1], 0.0], [0.0, 0.0, 0.1], [0.2, 0.0, 0.0]])
    return mf.Problem(mf.Sphere(), mf.exponential(p[0]), mf.USA, law, drift=drift)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "at", "until", "unit", "degree"),
    [
        (kernel, [2.0, 1.3, 0.02, 0.0, 0.2], 0.2, "scaled", None),
        (heads, [0.7, 0.3, 1.5, 1.2, 0.4, 0.7], 0.6, "scaled", None),
        (heads, [0.7, 0.3, 1.5, 1.2, 0.4, 0.7], 0.5, "paper", None),
        (near_kernel, [0.0, 0.0, 0.0], 1.0, "scaled", None),
        (sphere, [0.6, 0.4, 0.1], 0.1, "scaled", 16),
        (zonal_sphere, [0.7, 0.4], 0.1, "paper", 24),
    ],
)
def test_every_parameter_against_differences_of_runs(problem, at, until, unit, degree):
    """Runs of another stepping, differences of order six: their error is some 1e-10."""
    gradient = mf.gradient(problem, at, squared, until=until, unit=unit, degree=degree,
                        tolerance=1e-12)  # fmt: skip

    def run(p):
        result = mf.simulate(problem(p), until, save=2, unit=unit, tolerance=1e-12,
                             representation="density")  # fmt: skip
        return squared(result.problem.manifold.packed(result.moments[-1]))

    p = np.array(at)
    # Every parameter changes along one direction through all of them.
    direction = np.where(p == 0.0, 1.0, np.minimum(np.abs(p), 1.0)) * (-1.0) ** np.arange(len(p))
    step = 1e-2 * direction
    slope = sum(w * (run(p + n * step) - run(p - n * step)) / 1e-2 for n, w in WEIGHTS.items())
    np.testing.assert_allclose(gradient.gradient @ direction, slope, rtol=1e-8)
    np.testing.assert_allclose(gradient.value, run(p), rtol=1e-10)


def test_the_initial_density_alone_is_what_influence_has():
    """With respect to a mode a of 1 + 2 a cos 3 theta: twice the coefficient of degree 3."""

    def problem(p):
        law = mf.from_density([1.0, 0.25, -0.1j, p[0]])
        return mf.Problem(mf.Circle(), mf.exponential(3.0), mf.SA, law)

    gradient = mf.gradient(problem, [0.05], squared, until=1.0)
    psi = mf.influence(problem(np.array([0.05])), squared, until=1.0)
    np.testing.assert_allclose(gradient.gradient, [2 * psi.coefficients[0, 3].real], rtol=1e-12)


@pytest.mark.slow
def test_energy_depends_on_parameters_by_itself():
    """Uniform stays: the energy of its kernel is all that beta changes."""
    gradient = mf.gradient(beta_alone, [2.0], "energy", until=0.5)
    up, down = (mf.gradient(beta_alone, [b], "energy", until=0.5).value for b in (2.001, 1.999))
    np.testing.assert_allclose(gradient.gradient, (up - down) / 2e-3, rtol=1e-5)
    assert abs(gradient.gradient[0]) > 0.01


@together(("problem", "at", "observable", "options", "error", "match"), [
    (lambda p: p[0], [1.0], squared, {}, TypeError, "problem_of"),
    (kernel, [np.nan], squared, {}, ValueError,
     "parameters must be a vector of finite numbers"),
    (kernel, [2.0, 1.0, 0.0, 0.0, 0.0], squared, {}, ValueError,
     "fails near parameter 2 = 0, at -0.004"),
    (lambda p: mf.Problem(mf.Circle() if p[0] > 1.0 else mf.Sphere(), mf.linear(), mf.USA),
     [1.0], squared, {}, ValueError,
     "problems of one manifold: sphere became circle as parameter 0 went"),
    # Here the slope is that of log 0.
    (beta_alone, [2.0], lambda m: float("nan"), {}, ValueError,
     "not finite at the end of the run"),
    (beta_alone, [2.0], squared, {"step": 0.0}, ValueError, "step must be positive and finite"),
])  # fmt: skip
def test_bad_input_is_refused(problem, at, observable, options, error, match):
    """In one line, before anything runs."""
    refused(match, mf.gradient, problem, at, observable, error=error, until=0.1, **options)


def clocked(p):
    """Two stages, the second of which is as sharp as the first at p_0 = p_1."""
    first, second = (mf.exponential(beta) for beta in p)
    stages = [mf.Stage(end=0.02, kernel=first), mf.Stage(kernel=second)]
    law = mf.from_density([1.0, 0.0, 0.15, 0.1])
    return mf.Problem(mf.Circle(), mf.exponential(2.0), mf.USA, law, stages=stages)


def test_clocks_that_change_hands_have_derivatives_in_paper_time():
    """Where stages are equally sharp the largest weight has a kink; paper time has none."""

    def second(p):
        run = mf.simulate(clocked(np.array([p, 3.0])), 0.05, save=2, unit="paper", tolerance=1e-13)
        return float(run.moments[-1, 3].real)

    gradient = mf.gradient(clocked, [3.0, 3.0], lambda m: m[3].real, until=0.05, unit="paper")
    h = 2e-3
    slope = (8 * (second(3 + h) - second(3 - h)) - second(3 + 2 * h) + second(3 - 2 * h)) / (12 * h)
    np.testing.assert_allclose(gradient.gradient[0], slope, rtol=1e-6)


@pytest.mark.parametrize("end", [0.3, 0.2985])
def test_kinks_of_stages_have_no_derivatives(end):
    """Differences across one would be means of two slopes, or nothing at all."""

    def ending(p):
        stages = [mf.Stage(end=p[0], kernel=mf.exponential(3.0)), mf.Stage()]
        law = mf.from_density([1.0, 0.1])
        return mf.Problem(mf.Circle(), mf.exponential(2.0), mf.SA, law, stages=stages)

    refused("ends at until", mf.gradient, ending, [end], lambda m: m[1].real, until=0.3)
    refused("paper", mf.gradient, clocked, [3.0, 3.0], lambda m: m[1].real, until=0.3)
