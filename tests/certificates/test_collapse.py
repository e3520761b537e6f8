"""Proofs that a measure becomes one cluster: runs are never later than they say."""

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.certificates.collapse import arc_length, least_cosine

CIRCLE = mf.Circle()


@pytest.mark.slow
@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
def test_arcs_are_no_longer_than_those_of_two_clusters(flow):
    """Random masses in an arc of 2.5, at saved times and at the time that is proved."""
    rng = np.random.default_rng(3)
    for kernel in (mf.linear(), mf.exponential(2.0)):
        measure = mf.Measure(CIRCLE, rng.uniform(0.0, 2.5, 7), rng.dirichlet(np.ones(7)))
        problem = mf.Problem(CIRCLE, kernel, flow, mf.from_points(measure.points, measure.mass))
        proof = mf.certified_collapse(problem, measure)
        assert proof is not None and proof.reason == "arc"
        slower = mf.Problem(CIRCLE, kernel, mf.USA)
        run = mf.simulate(problem, until=proof.by, save=6, representation="atoms")
        arcs = [arc_length(each.points) for each in run.measures]
        assert arcs[0] == proof.spread and arcs[-1] <= proof.within
        for time, arc in zip(run.scaled_time[1:-1], arcs[1:-1], strict=True):
            assert mf.two_cluster_time(slower, arcs[0], arc) >= time * (1.0 - 1e-8)


def test_two_clusters_and_equiangular_tokens_are_the_slowest():
    """The proved time of an arc, or of these cosines, would not be the slowest measure's."""
    problem = mf.Problem(CIRCLE, mf.exponential(2.0), mf.USA)
    proof = mf.certified_collapse(problem, mf.Measure(CIRCLE, [0.0, 2.0], [0.9, 0.1]), within=0.1)
    assert proof.by == mf.two_cluster_time(problem, 2.0, 0.1)
    problem = mf.Problem(mf.Sphere(5), mf.exponential(2.0), mf.USA)
    proof = mf.certified_collapse(problem, mf.Measure(mf.Sphere(5), np.eye(5)), within=0.1)
    assert abs(proof.by / mf.equiangular_time(problem, 5, np.cos(0.1)) - 1.0) < 1e-12


@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
def test_cosines_are_no_less_than_those_of_equal_angles(flow):
    """Random tokens in an orthant, under both flows against the slower of the two."""
    rng = np.random.default_rng(4)
    n, space = 6, mf.Sphere(7)
    x = np.abs(rng.normal(size=(n, 7))) + 0.1
    x /= np.linalg.norm(x, axis=1)[:, None]
    problem = mf.Problem(space, mf.exponential(2.0), flow, mf.from_points(x))
    proof = mf.certified_collapse(problem, mf.Measure(space, x))
    assert proof is not None and proof.reason == "cosine"
    run = mf.simulate(problem, until=proof.by, save=6)
    least = [least_cosine(each.points) for each in run.measures]
    assert least[-1] >= np.cos(proof.within)
    slower = mf.Problem(space, mf.exponential(2.0), mf.USA)
    gamma = mf.equiangular_cosine(slower, n, run.scaled_time, start=least[0])
    assert np.all(np.array(least) >= gamma - 1e-10)
    # The last stretch: no chord falls more slowly than the rate that is proved.
    assert proof.rate > 0.9


def test_a_hemisphere_collapses_without_a_time():
    """Found by its mean or by a linear programme; opposite tokens have none."""
    space = mf.Sphere(3)
    problem = mf.Problem(space, mf.exponential(-2.0), mf.USA)
    wide = np.array([[1, 0, 0.1], [-1, 0.3, 0.1], [-1, -0.3, 0.1], [0.0, 1.0, 0.01]])
    wide /= np.linalg.norm(wide, axis=1)[:, None]
    # Many in one place draw the mean out of the hemisphere's centre.
    many = np.vstack([np.repeat(wide[:1], 50, axis=0), wide])
    for points in (wide, many):
        proof = mf.certified_collapse(problem, mf.Measure(space, points))
        assert proof is not None and proof.reason == "hemisphere" and proof.by == np.inf
        assert "not known" in repr(proof)
    assert mf.certified_collapse(problem, mf.Measure(space, np.vstack([wide, -wide]))) is None


def test_a_run_is_proved_from_the_first_save_that_allows_it():
    """Before, its tokens were all around the circle; a density is everywhere for ever."""
    problem = mf.Problem(CIRCLE, mf.linear(), mf.USA, mf.perturbed_uniform([[1, 0.5, 0.0]]))
    run = mf.simulate(problem, until=20.0, save=41, representation="particles", tokens=30)
    proof = mf.certified_collapse(run)
    assert proof is not None and 0.0 < proof.start < proof.by
    later = run.scaled_time >= proof.by
    assert later.any()
    arcs = np.array([arc_length(each.points) for each in run.measures])
    assert np.all(arcs[later] <= proof.within) and arcs[run.scaled_time < proof.start].min() > np.pi
    density = mf.simulate(problem, until=1.0, save=2, representation="density")
    assert mf.certified_collapse(density) is None


@pytest.mark.parametrize(("problem", "words"), [
    (mf.Problem(CIRCLE, mf.exponential(2.0), mf.Flow("none", strength=-1.0)), "positive strength"),
    (mf.Problem(CIRCLE, mf.exponential(2.0), mf.Flow("none", diffusivity=0.1)), "diffusion"),
    (mf.Problem(CIRCLE, mf.zonal(lambda s: 2.0 + s), mf.USA), "mf.exponential"),
])  # fmt: skip
def test_what_does_not_collapse_is_refused(problem, words):
    """Nothing is proved of it."""
    refused(words, mf.certified_collapse, problem, mf.Measure(CIRCLE, [0.0]))


def test_arguments_are_checked():
    """An angle beyond a quarter turn, no measure, one too many, another space."""
    problem = mf.Problem(CIRCLE, mf.linear(), mf.USA, mf.from_points([0.0, 1.0]))
    measure = problem.initial_measure()
    refused("between 0 and pi/2", mf.certified_collapse, problem, measure, within=2.0)
    refused("a measure is needed", mf.certified_collapse, problem)
    run = mf.simulate(problem, until=1.0, save=2)
    refused("its own measures", mf.certified_collapse, run, measure)
    refused("the problem on", mf.certified_collapse, problem, mf.Measure(mf.Sphere(), np.eye(3)))
