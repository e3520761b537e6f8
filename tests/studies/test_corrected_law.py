"""The corrected law: the mean-field equation from sampled moments, against what it stands for."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.observables.clusters import Clusters, cluster_radius
from meanfield.studies import corrected_law
from meanfield.studies.corrected_law import LATEST, corrected_counts, next_merges
from meanfield.studies.ensemble import run_tokens


def problem(beta, manifold=None):
    return mf.Problem(manifold or mf.Circle(), mf.exponential(beta), mf.USA)


def counts(result, tokens, samples, seed=0, **options):
    blocks = corrected_counts(result, tokens, samples, seed, **options)
    parts = sorted(blocks, key=lambda block: block[0].start)
    return np.concatenate([part for _, part in parts]).tolist()


@pytest.mark.slow
def test_samples_depend_on_seed_and_number_alone():
    """Blocks, executors and how many more are asked for must not matter."""
    result = problem(5.0)
    few = counts(result, 5000, 25)
    assert counts(result, 5000, 20) == few[:20]
    with ThreadPoolExecutor(2) as executor:
        assert counts(result, 5000, 25, executor=executor) == few
    assert counts(result, 5000, 25, seed=1) != few


@pytest.mark.slow
@pytest.mark.parametrize(("beta", "tokens"), [(7.0, 1_000_000), (20.0, 5000)])
def test_finer_steps_and_nodes_change_little(beta, tokens, monkeypatch):
    """Half the amplitude, a hundredth of the tolerance, twice the nodes: the same counts."""
    # 1 to 4 of 150 samples were measured to change; three of 40 allow for a merge at the end of the
    # run that comes a little earlier or later.
    result = problem(beta)
    usual = counts(result, tokens, 40)
    monkeypatch.setattr(corrected_law, "_AMPLITUDE", 0.5 * corrected_law._AMPLITUDE)
    monkeypatch.setattr(corrected_law, "_TOLERANCE", 0.01 * corrected_law._TOLERANCE)
    monkeypatch.setattr(corrected_law, "_GRID_DEGREES", {1: 24.0})
    monkeypatch.setattr(corrected_law, "_LEAST_GRID_DEGREE", {1: 256})
    finer = counts(result, tokens, 40)
    assert sum(a != b for a, b in zip(usual, finer, strict=True)) <= 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("beta", "tokens", "samples"), [(5.0, 3000, 600), (15.0, 3000, 600), (30.0, 20000, 400)]
)
def test_mean_is_that_of_particle_systems(beta, tokens, samples):
    """Within 4 standard errors of the difference: an independent ensemble of real tokens."""
    result = problem(beta)
    values = np.array(counts(result, tokens, samples))
    runs = mf.ensemble(result, tokens=tokens, runs=samples // 2, times=(2.0,), seed=11)
    error = np.hypot(values.std() / np.sqrt(samples), runs.standard_error[0, 0])
    assert abs(values.mean() - runs.mean_count[0, 0]) < 4 * error


def test_few_samples_are_counted():
    """Kuramoto ends in one cluster; on the sphere one or two, as the closed form 1.49 says."""
    result = mf.Problem(mf.Circle(), mf.linear(), mf.USA)
    assert counts(result, 20_000, 5) == [1] * 5
    assert set(counts(problem(2.0, mf.Sphere()), 5000, 4)) <= {1, 2}


def test_diffusion_is_refused():
    """Nodes do not diffuse."""
    problem = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.Flow("none", diffusivity=0.01))
    refused("diffusivity", list, corrected_counts(problem, 1000, 1, 0))


def test_moments_are_grown_to_the_start_of_the_run():
    """Ungrown, or run for too long, the samples would belong to another time."""
    result, tokens = problem(5.0), 1_000_000
    sampler = corrected_law._sampler(result, tokens)
    rates = mf.growth_rates(result, len(sampler.variances) - 1)
    assert sampler.start > 0
    assert 2.0 * sampler.variances.sum() == pytest.approx(0.08**2, rel=1e-9)
    assert sampler.variances[1:] * tokens == pytest.approx(
        np.exp(2.0 * rates[1:] * sampler.start), rel=1e-12
    )


@pytest.mark.parametrize("tokens", [300, 1_000_000])
def test_runs_start_where_linear_theory_ends(tokens, monkeypatch):
    """Tokens run for two onset times, nodes for what linear theory leaves of them."""
    result, records = problem(5.0), []

    def watch(problem, start, times, *rest):
        records.append((start, times[0]))
        return clusters_of_run(problem, start, times, *rest)

    clusters_of_run = corrected_law.clusters_of_run
    monkeypatch.setattr(corrected_law, "clusters_of_run", watch)
    counts(result, tokens, 1)
    ((start, duration),) = records
    beginning = corrected_law._sampler(result, tokens).start if tokens > 1000 else 0.0
    assert duration == pytest.approx(2.0 * mf.onset_time(result, tokens) - beginning, rel=1e-12)
    assert (start.weights is None) == (tokens <= 1000)
    if tokens <= 1000:
        # Not those that an ensemble of the same seed draws.
        assert not np.array_equal(start.points, run_tokens(result, tokens, 0, 0))


@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
@pytest.mark.parametrize("angle", [0.3, 1.0, 1.4])
def test_two_clusters_meet_when_the_closed_form_says(flow, angle):
    """One pair has a quadrature: the clock, the masses or the normalisation would be wrong."""
    problem = mf.Problem(mf.Circle(), mf.exponential(9.0), flow)
    pair = Clusters(np.array([0.6, 0.2]), np.array([0.0, angle]))
    exact = mf.two_cluster_time(problem, angle, cluster_radius(9.0), (0.75, 0.25))
    [times] = next_merges(problem, [pair], 2.0).values()
    # A thousand times the tolerance of a step: errors grow until the two meet.
    assert times == pytest.approx([2.0 + exact] * 3, rel=1e-2)


ANGLES = np.array([0.0, 1.0, 2.3, 3.5, 4.9])
VECTORS = np.array([[1, 0, 0], [0.6, 0.8, 0], [-0.96, 0.28, 0], [0, -0.8, 0.6], [0, 0.28, -0.96]])


@pytest.mark.parametrize(
    ("space", "points"), [(mf.Circle(), ANGLES), (mf.Sphere(), VECTORS)], ids=str
)
def test_first_merge_is_that_of_atoms(space, points):
    """Three and more clusters have no closed form; atoms have events."""
    mass = np.array([0.3, 0.25, 0.2, 0.15, 0.1])
    atoms = mf.from_points(points, weights=mass, name="atoms")
    problem = mf.Problem(space, mf.exponential(6.0), mf.SA, atoms)
    [times] = next_merges(problem, [Clusters(mass, points)], 1.0).values()
    run = mf.simulate(problem, until=2.0 * times[1], save=2)
    met = next(event.time for event in run.events if event.kind == "merge")
    assert times[1] - 1.0 == pytest.approx(met, rel=1e-2)


def test_each_number_of_clusters_has_its_own_quartiles():
    """Pairs that never meet in time would lend their infinity to others, or be left out."""
    problem = mf.Problem(mf.Circle(), mf.exponential(9.0), mf.USA)
    near, far = (Clusters(np.full(2, 0.5), np.array([0.0, angle])) for angle in (0.5, np.pi))
    three, one = Clusters(np.full(3, 1 / 3), np.array([0.0, 1.0, 3.0])), Clusters(*np.ones((2, 1)))
    result = next_merges(problem, [near, far, far, three, one], 1.0)
    assert result.keys() == {2, 3} and np.isfinite(result[3]).all()
    assert np.isfinite(result[2][0]) and np.isinf(result[2][1:]).all()
    assert result[2][0] < LATEST


def test_clusters_that_rest_apart_have_no_next_merge():
    """Explicit steps towards a stable configuration would not end."""
    problem = mf.Problem(mf.Circle(), mf.exponential(-5.0), mf.USA)
    groups = [Clusters(np.array([0.5, 0.5]), np.array([0.0, np.pi]))]
    assert next_merges(problem, groups, 5.0) == {}
