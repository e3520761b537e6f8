"""Path of a run against the bound by its energy: nearly equal, and never more."""

from dataclasses import replace

import numpy as np
import pytest
from parameters import refused, together

import meanfield as mf
from meanfield.certificates.action import check_climbs
from meanfield.certificates.partition import (
    SmallestPartition,
    integral_of_inverse,
    lowest_between,
    smallest_partition,
)

CIRCLE = mf.Circle()
HEAD = mf.Head(score=[1.0, 0.5], value=[1.0, 0.5])
LAW = mf.perturbed_uniform([[3, 0.2, 0.0]])


def problem_of(kernel: object, flow: mf.Flow | None = None, **options: object) -> mf.Problem:
    return mf.Problem(CIRCLE, kernel, flow, LAW, **options)


def largest_share(problem: mf.Problem, until: float, **options: object) -> float:
    """Largest squared distance over its bound, of saves an eighth of the run apart."""
    bound = mf.action_bound(mf.simulate(problem, until=until, save=9, **options))
    assert bound.holds
    return float(np.max(bound.squared_distance / bound.bound))


@pytest.mark.parametrize(
    "problem",
    [
        problem_of(mf.exponential(3.0), mf.Flow("none", strength=-0.7)),
        problem_of(mf.exponential(3.0), mf.Flow("none", diffusivity=0.05)),
        problem_of(mf.exponential(-3.0), mf.USA, drift=mf.LinearDrift([[0.3, 0], [0, 0]])),
        problem_of(mf.Attention([HEAD], "none", beta=4.0)),
        problem_of(mf.Attention([mf.Head()], "sinkhorn", beta=4.0)),
    ],
)
def test_short_ways_use_all_of_the_energy(problem):
    """The two sides agree to the square of the time between saves: a factor would show."""
    share = largest_share(problem, 2.0)
    assert 0.995 < share < 1.0
    # A quarter of the distance from 1 at half the time between saves.
    assert 1.0 - largest_share(problem, 1.0) < 0.4 * (1.0 - share)


@pytest.mark.slow
def test_softmax_divides_by_the_smallest_partition_function():
    """Two equal tokens have one Z: the bound is sharp but for what Z may do between saves."""
    for kernel in (mf.exponential(3.0), mf.Attention([HEAD], "softmax", beta=3.0)):
        start = mf.from_points([0.5, -0.5])
        problem = mf.Problem(CIRCLE, kernel, mf.SA, start)
        assert 0.95 < largest_share(problem, 0.02, representation="particles") < 1.0


def test_tokens_of_many_dimensions_are_compared_with_themselves():
    """Where no distance is known the way of each token takes its place."""
    problem = mf.Problem(mf.Sphere(6), mf.exponential(3.0), mf.USA)
    share = largest_share(problem, 0.5, representation="particles", tokens=20)
    assert 0.999 < share < 1.0


def test_saves_that_are_no_gradient_flow_break_it():
    """The states of a run at a third of the times: three times as fast as its energy allows."""
    run = mf.simulate(problem_of(mf.exponential(3.0), mf.USA), until=2.0, save=5)
    hurried = replace(run, scaled_time=run.scaled_time / 3.0)
    assert not mf.action_bound(hurried).kept.any()
    assert "broken by 5" in repr(mf.action_bound(hurried))


def test_a_pair_of_saves_lies_in_one_stage():
    """Energy gained under another kernel would count."""
    stages = [mf.Stage(end=1.0), mf.Stage(flow=mf.SA)]
    problem = problem_of(mf.exponential(3.0), mf.USA, stages=stages)
    bound = mf.action_bound(mf.simulate(problem, until=2.0, save=5))
    assert bound.times.tolist() == [0.5, 1.0, 1.5, 2.0] and bound.holds


@pytest.mark.slow
def test_partition_function_is_smallest_where_it_is():
    """Points by sums, a density over all places; both from below."""
    problem = mf.Problem(CIRCLE, mf.exponential(5.0), mf.SA, mf.perturbed_uniform([[1, 0.4, 0.0]]))
    angles = np.linspace(0.0, 2 * np.pi, 4001)
    law = problem.initial_measure()
    z = np.exp(5.0 * (np.cos(angles[:-1, None] - angles[:-1]) - 1.0)) @ law(angles[:-1]) / 4000
    assert 0.0 <= np.log(z.min()) - smallest_partition(problem, law).log < 2e-5
    solid = mf.Problem(mf.Sphere(), mf.exponential(5.0), mf.SA)
    result = smallest_partition(solid, solid.initial_measure())
    assert 0.0 <= np.log((1.0 - np.exp(-10.0)) / 10.0) - result.log < 0.02


def test_partition_function_between_saves():
    """The integral of the tent, against a sum; its lowest point; the floor."""
    first, second = SmallestPartition(-1.0, 2.0, -3.0), SmallestPartition(-2.0, 2.0, -3.0)
    t = (np.arange(200_000) + 0.5) / 100_000
    logs = np.maximum(np.maximum(-1.0 - 2.0 * t, -2.0 - 2.0 * (2.0 - t)), -3.0)
    assert abs(integral_of_inverse(first, second, 2.0) - 2.0 * np.exp(-logs).mean()) < 1e-8
    assert lowest_between(first, second, 2.0) == -3.0
    assert lowest_between(first, second, 0.1) == -2.0


@together(
    ("problem", "words"),
    [
        (mf.Problem(CIRCLE, mf.Attention([HEAD, mf.Head()], beta=2.0)), "several heads"),
        (mf.Problem(CIRCLE, mf.exponential(2.0), mf.Flow(True, 1.0, 0.1)), "no free energy"),
        (mf.Problem(CIRCLE, mf.linear(), mf.USA, frequencies=mf.Lorentzian(0.1)), "labels"),
        (mf.Problem(CIRCLE, mf.zonal(lambda s: 2.0 + s), mf.SA), "another kernel"),
        (mf.Problem(mf.Euclidean(3), mf.exponential(1.0), mf.USA), "R\\^d"),
    ],
)
def test_flows_without_an_energy_are_refused(problem, words):
    """No bound is better than one that is not proved."""
    refused(words, check_climbs, problem)


def test_one_save_or_no_state_is_refused():
    """A bound is about two measures."""
    run = mf.simulate(problem_of(mf.exponential(3.0), mf.USA), until=1.0, save=2)
    refused("not kept", mf.action_bound, replace(run, measures=(None, run.measures[1])))
    one = replace(run, scaled_time=run.scaled_time[:1], measures=run.measures[:1])
    refused("two saved times", mf.action_bound, one)


def test_nodes_that_stand_for_a_density_are_left_out():
    """As points they are apart by their gaps, more than energy allows for a density."""
    law = mf.perturbed_uniform([[2, 0.3, 0.0]])
    problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA, law)
    run = mf.simulate(problem, until=30.0, save=16)
    carried = np.isin(run.representation, ["characteristics"])
    assert carried.any() and not carried.all()
    bound = mf.action_bound(run)
    assert bound.holds
    assert not np.isin(run.scaled_time[carried], [bound.starts, bound.times]).any()
