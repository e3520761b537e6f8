"""Ensembles: the same whatever runs them, in whatever order."""

from dataclasses import replace

import numpy as np
import pytest
from parameters import refused, together

import meanfield as mf
from meanfield.studies.ensemble import EnsembleOptions, ensemble_plan

PROBLEM = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA)


def plan(tokens=(20, 60), runs=3):
    return ensemble_plan(PROBLEM, EnsembleOptions(tokens, runs), tolerance=1e-6)


@pytest.mark.parametrize("order", [1, -1])
def test_order_and_resuming_do_not_matter(order):
    """Earlier or last results would be lost or in another place."""
    whole = plan(runs=130)
    blocks = whole.missing(whole.empty())
    records = [(b.size, run) for b in blocks for run in b.numbers]
    assert sorted(records) == [(n, run) for n in (20, 60) for run in range(130)]
    small = plan((60,), 3)
    result = small.empty()
    for block in small.missing(result):
        result = small.placed(result, block, small.run(block))
    larger = plan((20, 60), 5)
    grown = larger.resumed(small.results(result))
    assert (grown.counts[1, :3] == result.counts[0]).all()
    missing = larger.missing(grown)
    expected = [*[(20, run) for run in range(5)], (60, 3), (60, 4)]
    assert sorted((b.size, run) for b in missing for run in b.numbers) == expected
    for block in missing[::order]:
        grown = larger.placed(grown, block, larger.run(block))
    results, expected = larger.results(grown), mf.ensemble(PROBLEM, tokens=(20, 60), runs=5)
    for name, values in expected.stored_values().items():
        np.testing.assert_array_equal(results.stored_values()[name], values)


HEADS = mf.Attention([mf.Head(beta=4.0), mf.Head(value=0.5 * np.eye(2), beta=6.0)])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "tokens"),
    [
        (PROBLEM, 90),
        (mf.Problem(mf.Sphere(), mf.exponential(5.0), mf.SA), 60),
        (mf.Problem(mf.Sphere(12), mf.exponential(3.0), mf.SA), 24),
        (mf.Problem(mf.Circle(), HEADS), 40),
    ],
    ids=["circle", "sphere", "S^11", "heads"],
)
def test_runs_that_move_together_count_as_those_that_move_alone(problem, tokens, monkeypatch):
    """Another method, and sums over pairs for moments: clusters are the same to the tolerance."""
    # Three times, 1, 1.5 and 2 onset times, while clusters form; a sharper run for the masses.
    options = {"tokens": tokens, "runs": 12, "times": (1.0, 1.5, 2.0), "tolerance": 1e-9}
    together = mf.ensemble(problem, **options)
    monkeypatch.setattr("meanfield.studies.token_runs._FEW_TOKENS", 0)
    alone = mf.ensemble(problem, **options)
    np.testing.assert_array_equal(together.counts, alone.counts)
    np.testing.assert_array_equal(together.mass, alone.mass)
    np.testing.assert_allclose(together.centre, alone.centre, rtol=0, atol=1e-6)


def test_runs_are_the_same_in_groups_of_any_size(monkeypatch):
    """Results of the second group would stand in the place of the first one's."""
    options = {"tokens": 20, "runs": 5, "times": (1.5,)}
    whole = mf.ensemble(PROBLEM, **options)
    two_runs = 2 * 20 * 2  # coordinates
    monkeypatch.setattr("meanfield.studies.token_runs._COORDINATES_AT_ONCE", two_runs)
    split = mf.ensemble(PROBLEM, **options)
    for name, values in whole.stored_values().items():
        np.testing.assert_array_equal(split.stored_values()[name], values)


def test_runs_with_doubly_stochastic_weights_move_one_by_one():
    """Blocks of several systems refuse these weights, and every ensemble of few tokens would."""
    problem = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.Flow("sinkhorn"))
    found = mf.ensemble(problem, tokens=20, runs=2, times=(1.0,))
    assert found.counts.shape == (1, 2, 1) and (found.counts > 0).all()


def test_an_interrupt_leaves_balanced_sizes():
    """All runs of one size would be done before the next size begins."""
    study = plan((20, 60), 640)
    blocks = study.missing(study.empty())
    assert [block.size for block in blocks[:2]] == [60, 20]
    half = blocks[: len(blocks) // 2]
    few, many = (max(b.numbers.stop for b in half if b.size == n) for n in (20, 60))
    assert abs(few - many) <= max(len(block.numbers) for block in blocks)
    assert sum(map(study.work, blocks)) == 640 * (1020 + 1060)


def test_prediction_is_of_uniform_tokens():
    """The linear law would stand beside runs that it is not about."""
    assert plan((20,)).predicted[0] == mf.mean_clusters(PROBLEM, 20)
    law = mf.perturbed_uniform([[3, 0.1, 0.0]])
    other = mf.ensemble(replace(PROBLEM, initial=law), tokens=20, runs=1)
    assert np.isnan(other.predicted[0])


def test_counts_follow_the_law_of_the_tokens():
    """Tokens would be drawn from uniform whatever the initial law."""
    law = mf.von_mises_fisher(20.0)
    ensemble = mf.ensemble(replace(PROBLEM, initial=law), tokens=200, runs=3, times=[2.0])
    assert (ensemble.counts == 1).all()
    # One cluster near the mean, 0, of a law of width 1 / sqrt(20).
    assert np.nanmax(np.abs(ensemble.centre)) < 0.1


@pytest.mark.slow
def test_density_runs_count_as_particles_do():
    """Density runs from sampled data would follow another law than particles."""
    particles, density = (
        mf.ensemble(PROBLEM, tokens=2000, runs=60, times=[2.0], representation=carrier)
        for carrier in ("particles", "density")
    )
    # The same tokens: most runs agree, and the means to a few of those that do not.
    assert np.mean(particles.counts == density.counts) > 0.9
    assert abs(float(particles.mean_count[0, 0] - density.mean_count[0, 0])) < 0.1


@together(("d", "beta", "tokens", "runs"), [(3, 5.0, 1000, 6), (4, 3.0, 2000, 2)])
def test_density_runs_of_rings_count_as_rings_do(d, beta, tokens, runs):
    """Nodes of the coarse grid of S^2 lie further apart than the gaps between clusters of rings."""
    problem = mf.Problem(mf.Axial(d), mf.exponential(beta), mf.USA)
    options = {"tokens": tokens, "runs": runs, "times": [1.0, 2.0]}
    particles, density = (
        mf.ensemble(problem, representation=carrier, **options)
        for carrier in ("particles", "density")
    )
    assert (density.counts[..., 0] == 1).all()
    assert np.abs(density.counts - particles.counts).sum() <= 1


@pytest.mark.parametrize("space", [mf.Circle(), mf.Sphere()])
def test_without_growth_there_is_no_onset(space):
    """Runs to an infinite time would never end."""
    repulsive = mf.Problem(space, mf.exponential(5.0), mf.Flow("none", strength=-1.0))
    text = "nothing grows: uniform is stable, there is no onset"
    refused(text, mf.ensemble, repulsive, tokens=20, runs=1)


def test_what_cannot_be_drawn_or_stepped_is_refused():
    """The error would come from a worker, after others were paid for; steps be unbounded."""
    points, text = (
        mf.from_points(np.arange(3.0)),
        "'tokens' gives points, but tokens are drawn from",
    )
    refused(text, mf.ensemble, replace(PROBLEM, initial=points), tokens=9, runs=1, error=TypeError)
    refused("tolerance must lie between", mf.ensemble, PROBLEM, tokens=20, runs=1, tolerance=1.0)


@together(("options", "message"), [
    ({"tokens": ()}, "tokens must all be at least 2"),
    ({"tokens": (1,)}, "tokens must all be at least 2"),
    ({"tokens": (9, 5)}, "tokens must be increasing"),
    ({"runs": 0}, "runs must lie between 1 and 1000000, got 0"),
    ({"times": ()}, "times must be positive multiples of the onset time"),
    ({"times": (0.0, 1.0)}, "times must be positive multiples of the onset time"),
    ({"times": (float("nan"),)}, "times must be positive multiples of the onset time"),
    ({"times": (2.0, 1.0)}, "times must be increasing"),
    ({"times": (1.0, 1e300)}, "times must be at most .* onset times, got 1e.300"),
    ({"representation": "atoms"}, "representation 'atoms' is not known. Known: density, particles"),
    ({"seed": -1}, "seed must not be negative"),
])  # fmt: skip
def test_options_out_of_range_are_refused(options, message):
    """A mistake would surface later, or not at all."""
    refused(message, EnsembleOptions, **options)
