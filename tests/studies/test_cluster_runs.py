"""Runs from sampled tokens: what they draw, what carries them, what is counted."""

from dataclasses import replace

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.fields.mean_field import interaction
from meanfield.observables.clusters import clusters
from meanfield.studies.ensemble import CARRIERS, EnsembleOptions, ensemble_plan, run_tokens
from meanfield.studies.study import Runs

CIRCLE = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA)
SPHERE = mf.Problem(mf.Sphere(), mf.exponential(2.0), mf.USA)
BOTH = pytest.mark.parametrize("problem", [CIRCLE, SPHERE], ids=["circle", "sphere"])


def table_of_runs(problem, runs=range(1), tokens=150, carrier="particles", tolerance=1e-6):
    options = EnsembleOptions((tokens,), runs=runs.stop, representation=carrier, seed=3)
    plan = ensemble_plan(problem, options, tolerance=tolerance)
    return plan.run(Runs(tokens, runs))


@BOTH
def test_runs_do_not_depend_on_their_block(problem):
    """Another number of workers, or a resumed ensemble, would be another ensemble."""
    some, others = table_of_runs(problem, range(4))[1:3], table_of_runs(problem, range(1, 3))
    k = min(some.width, others.width)
    np.testing.assert_array_equal(some.counts, others.counts)
    np.testing.assert_array_equal(some.mass[..., :k], others.mass[..., :k])
    np.testing.assert_array_equal(some.centre[:, :, :k], others.centre[:, :, :k])


def test_tokens_depend_on_seed_size_and_run():
    """Runs would repeat each other, or the sizes of one run share their tokens."""
    draws = [
        run_tokens(CIRCLE, *key)[:5] for key in [(50, 0, 0), (50, 1, 0), (51, 0, 0), (50, 0, 1)]
    ]
    assert len({tuple(draw) for draw in draws}) == 4
    np.testing.assert_array_equal(run_tokens(CIRCLE, 50, 0, 0)[:5], draws[0])


@BOTH
def test_particles_are_those_of_a_run(problem):
    """An ensemble would count other clusters than `run` does, or at other times."""
    times = np.array([1.0, 2.0]) * mf.onset_time(problem, 150)
    problem = replace(problem, initial=mf.from_points(run_tokens(problem, 150, 0, 3)))
    options = {"representation": "particles", "tolerance": 1e-11}
    run = mf.simulate(problem, until=times[-1], save=times, **options)
    table = table_of_runs(replace(problem, initial=mf.uniform()), tolerance=1e-11)
    # Degrees below the tolerance move the tokens of the run, and errors grow by sqrt(150).
    for j, measure in enumerate(run.measures):
        result = clusters(measure, problem.kernel.beta)
        k = result.count
        assert table.counts[0, j] == k
        np.testing.assert_allclose(table.mass[0, j, :k], result.mass, rtol=1e-12)
        np.testing.assert_allclose(table.centre[0, j, :k], result.centre, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("space", "tokens"), [(mf.Circle(), 5000), (mf.Sphere(), 20_000)])
def test_nodes_have_the_moments_of_the_tokens(space, tokens):
    """The density would start in another field than the tokens."""
    problem = mf.Problem(space, mf.exponential(5.0), mf.USA)
    points = run_tokens(problem, tokens, 0, 0)
    degree = problem.kernel.degree(1, 1e-6)
    nodes = CARRIERS["density"](problem, points, 1e-6)
    expected = space.moments(points, None, degree)
    # Rounding of sums over the nodes.
    np.testing.assert_allclose(nodes.moments(degree), expected, rtol=0, atol=1e-13)
    beyond = nodes.moments(degree + 5)
    np.testing.assert_allclose(beyond, space.resize(expected, degree + 5), rtol=0, atol=1e-13)


def test_nodes_move_as_the_density_does():
    """Weighted nodes would be no density run."""
    points = run_tokens(CIRCLE, 2000, 0, 0)
    degree = CIRCLE.kernel.degree(1, 1e-6)
    law = mf.from_density(CIRCLE.manifold.moments(points, None, degree))
    nodes = CARRIERS["density"](CIRCLE, points, 1e-6)
    onset = mf.onset_time(CIRCLE, 2000)
    laws = {"density": law, "particles": mf.from_points(nodes.points, nodes.weights)}
    density, moving = (
        mf.simulate(
            replace(CIRCLE, initial=start), onset, save=2, tolerance=1e-9, representation=name
        )
        for name, start in laws.items()
    )
    # Both steppers, and the tail of the density, to 1e-9, grown by sqrt(2000) until the onset.
    np.testing.assert_allclose(moving.moments[-1][:13], density.moments[-1][:13], atol=1e-6, rtol=0)


def test_degrees_without_a_kernel_move_nothing():
    """The degree would be cut where it still moves tokens, or tokens pay for what does not."""
    degree = CIRCLE.kernel.degree(1, 1e-6)
    parts = np.abs(interaction(CIRCLE).potential_multipliers) * np.arange(CIRCLE.kernel_degree + 1)
    assert parts[degree] > 1e-6 * parts.max() >= parts[degree + 1 :].max()


@pytest.mark.parametrize(("tokens", "count"), [(1000, 2), (100, 1)])
def test_a_cluster_of_a_density_is_worth_three_tokens(tokens, count, monkeypatch):
    """Densities of few tokens would have clusters of less than the three tokens of the rule."""
    two = mf.Measure(mf.Circle(), [0.0, np.pi], [0.98, 0.02])
    monkeypatch.setitem(CARRIERS, "density", lambda *_: two)
    table = table_of_runs(CIRCLE, range(1), tokens, "density")
    assert table.counts[0].tolist() == [count, count]


def test_a_negative_density_is_refused():
    """It would be clipped silently: another field, another mass."""
    text = "of 40 tokens is negative: -.* Take more tokens, or repr"
    refused(text, table_of_runs, CIRCLE, range(1), 40, "density")
