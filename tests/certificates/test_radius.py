"""Two runs of one problem stay within the certified distance, and others do not."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.papers.contraction import softmax_source, softmax_stretch

CIRCLE = mf.Circle()
LAW = mf.perturbed_uniform([[3, 0.2, 0.0]])
OTHER = mf.perturbed_uniform([[3, 0.2, 0.0], [1, 0.1, 0.1]])
TOKENS = {"representation": "particles", "tokens": 60}


@pytest.mark.parametrize(
    "flow", [mf.USA, mf.Flow("none", strength=-1.0), mf.Flow("none", diffusivity=0.02), mf.SA]
)
def test_any_two_runs_stay_within_it(flow):
    """Densities and tokens in all combinations; softmax has no lower bound, noise no tokens."""
    problem = mf.Problem(CIRCLE, mf.exponential(3.0), flow, LAW)
    options = {"until": 0.1 if flow.normalized else 2.0, "save": 5}
    runs = [mf.simulate(replace(problem, initial=law), **options) for law in (LAW, OTHER)]
    if not flow.diffusivity:
        runs.append(mf.simulate(problem, **options, **TOKENS))
    for pair in combinations(runs, 2):
        radius = mf.certified_radius(*pair)
        assert radius.holds and radius.p == (1 if flow.normalized else 2)
        assert radius.informative.all()
        exact = flow.normalized or flow.diffusivity
        assert np.all(radius.lower[1:] == 0.0) if exact else np.all(radius.lower > 0.0)


def test_upper_bound_is_nearly_reached_by_two_atoms():
    """A factor of 2 in a rate, or the wrong sign of a kernel, would break it."""
    beta = 5.0
    angle = np.arccos((np.sqrt(4 * beta**2 + 5) - 3) / (2 * beta))
    result = []
    for moved in (0.0, 0.01):
        law = mf.from_points([0.0 - moved, angle + moved])
        problem = mf.Problem(CIRCLE, mf.exponential(beta), mf.USA, law)
        result.append(mf.simulate(problem, until=0.05, save=3, representation="particles"))
    radius = mf.certified_radius(*result)
    growth = np.log(radius.distance[-1, 0] / radius.distance[0, 0])
    certified = np.log(radius.upper[-1] / radius.upper[0])
    assert radius.holds and 0.97 < growth / certified < 1.0
    hurried = [replace(run, scaled_time=0.5 * run.scaled_time) for run in result]
    wrong = mf.certified_radius(*hurried)
    assert wrong.kept[0] and not wrong.kept[1:].any() and "broken at 2 times" in repr(wrong)


def test_softmax_bound_is_that_of_its_smallest_partition():
    """Two tokens that hardly move: the exponent in closed form."""
    beta, until = 3.0, 1e-3
    result = []
    for angle in (1.0, 1.1):
        problem = mf.Problem(CIRCLE, mf.exponential(beta), mf.SA, mf.from_points([0.0, angle]))
        result.append(mf.simulate(problem, until=until, save=2, representation="particles"))
    radius = mf.certified_radius(*result)
    z = 0.5 * (1.0 + np.exp(beta * (np.cos(1.0) - 1.0)))
    rate = np.log(radius.upper[1] / radius.upper[0]) / until
    expected = softmax_stretch(beta) + softmax_source(beta) / z
    assert 0.0 < rate / expected - 1.0 < 2.0 * beta * until


@pytest.mark.slow
def test_sphere_has_brackets_and_twice_the_rate():
    """The lower end of the distance against the bound from the upper end at the start."""
    result = []
    for seed in (1, 2):
        problem = mf.Problem(mf.Sphere(), mf.exponential(3.0), mf.USA)
        result.append(mf.simulate(problem, until=1.0, save=3, seed=seed, **TOKENS))
    radius = mf.certified_radius(*result)
    fall = mf.contraction_rates(mf.Problem(CIRCLE, mf.exponential(3.0), mf.USA)).upper
    assert radius.holds
    assert np.allclose(np.log(radius.upper / radius.upper[0]), 2.0 * fall * radius.times)


def test_what_is_not_proved_is_refused():
    """Different problems, W_2 under softmax, heads, noisy tokens, no common time."""
    problem = mf.Problem(CIRCLE, mf.exponential(3.0), mf.SA, LAW)
    run = mf.simulate(problem, until=0.1, save=2)
    refused("none of W_2", mf.certified_radius, run, run, 2)
    sharper = replace(problem, kernel=mf.exponential(4.0))
    other = mf.simulate(sharper, until=0.1, save=2)
    refused("two runs of one problem", mf.certified_radius, run, other)
    late = replace(run, scaled_time=run.scaled_time + 1.0)
    refused("no saved time in common", mf.certified_radius, run, late)
    lost = replace(run, measures=(None, None))
    refused("not kept", mf.certified_radius, run, lost)
    noisy = mf.Problem(CIRCLE, mf.exponential(3.0), mf.Flow("none", diffusivity=0.1), LAW)
    tokens = mf.simulate(noisy, until=0.1, save=2, step=0.05, **TOKENS)
    refused("noisy tokens", mf.certified_radius, tokens, tokens)
    attention = mf.Attention([mf.Head(score=[1.0, 0.5])], "none", beta=2.0)
    heads = mf.Problem(CIRCLE, attention, initial=LAW)
    of_heads = mf.simulate(heads, until=0.1, save=2)
    refused("attention has heads", mf.certified_radius, of_heads, of_heads)


@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
def test_tokens_of_many_dimensions_are_paired(flow):
    """No distance is known there, and the bound holds for the coupling of equal indices."""
    rng, space = np.random.default_rng(6), mf.Sphere(6)
    x = space.random_points(12, rng)
    y = x + 0.02 * rng.normal(size=x.shape)
    y /= np.linalg.norm(y, axis=1)[:, None]
    result = []
    for points in (x, y, y[:5]):
        problem = mf.Problem(space, mf.exponential(3.0), flow, mf.from_points(points))
        result.append(mf.simulate(problem, until=0.05, save=3, representation="particles"))
    radius = mf.certified_radius(result[0], result[1])
    assert radius.holds and radius.informative.all()
    assert radius.distance[0, 0] < 0.1 and np.all(radius.distance[:, 0] == radius.distance[:, 1])
    refused("paired one by one", mf.certified_radius, result[0], result[2])


def test_bounds_beyond_all_numbers_are_bounds():
    """Softmax of opposite tokens at beta = 1000 has Z = e^{-2000}."""
    problem = mf.Problem(CIRCLE, mf.exponential(1000.0), mf.SA, LAW)
    run = mf.simulate(problem, until=20.0, save=2, representation="particles", tokens=5)
    radius = mf.certified_radius(run, run)
    assert radius.holds and radius.upper[0] == 0.0
    assert mf.action_bound(run).holds


def test_layers_of_either_run_are_refused():
    """Steps of layers are no flow: an honest run would be called broken."""
    problem = mf.Problem(CIRCLE, mf.exponential(3.0), mf.USA, LAW)
    flow = mf.simulate(problem, until=2.0, save=[0.0, 1.0, 2.0], **TOKENS)
    stepped = mf.simulate(replace(problem, layers=mf.Layers(1.0, count=2)), **TOKENS)
    for pair in ((flow, stepped), (stepped, flow)):
        refused("the problem has layers", mf.certified_radius, *pair)
