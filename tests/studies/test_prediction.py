"""The law of the number of clusters: closed form, Monte Carlo, what is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest
from parameters import together

import meanfield as mf
from meanfield.observables.clusters import Clusters
from meanfield.problem import Problem
from meanfield.studies.prediction import default_samples, predict_clusters

SPACES = {"circle": mf.Circle(), "sphere": mf.Sphere()}


def problem(manifold, beta, flow=mf.USA):
    return Problem(SPACES[manifold], mf.exponential(beta), flow)


def linear(problem, tokens, samples=10, **options):
    return predict_clusters(problem, tokens, samples=samples, corrected=False, **options)


NARROW = Problem(mf.Circle(), mf.exponential(9.0), mf.USA, mf.von_mises_fisher(20.0))


def equal(count):
    return Clusters(np.full(count, 1.0 / count), 2.0 * np.pi * np.arange(count) / count)


@pytest.mark.parametrize("manifold", ["circle", "sphere"])
@pytest.mark.parametrize("kernel", [mf.linear(), mf.exponential(1e-9)], ids=["linear", "tiny"])
def test_degree_one_alone_gives_one_cluster(manifold, kernel):
    """Every field of degree 1 has one maximum: another count would be an artefact."""
    result = linear(Problem(SPACES[manifold], kernel, normalization="none"), 1000, 200)
    assert result.distribution == {1: 1.0} and result.linear.standard_error == 0.0
    assert result.mean_clusters == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("manifold", ["circle", "sphere"])
def test_nothing_that_grows_gives_no_clusters(manifold):
    """A stable uniform measure would seem to break up."""
    repulsive = problem(manifold, 3.0, mf.Flow("none", strength=-1.0))
    diffused = problem(manifold, 3.0, mf.Flow("none", diffusivity=10.0))
    for stable in (repulsive, diffused):
        prediction = predict_clusters(stable, 100)
        assert prediction.dominant_degree is None and prediction.second_degree is None
        assert prediction.mean_clusters == 0.0 and prediction.distribution == {0: 1.0}
        assert prediction.corrected is not None and prediction.corrected.mean == 0.0
        assert "uniform is stable" in prediction.message and "uniform is stable" in repr(prediction)


def test_self_attention_has_the_law_of_usa():
    """Rates differ by one factor, which the onset time takes out again."""
    usa, sa = (linear(problem("circle", 6.0, flow), 500, 300) for flow in (mf.USA, mf.SA))
    assert sa.mean_clusters == pytest.approx(usa.mean_clusters, rel=1e-12)
    assert sa.distribution == usa.distribution


def test_same_seed_gives_the_same_law():
    """A prediction could not be repeated."""
    first, again, other = (
        linear(problem("circle", 5.0), 1000, 2500, seed=seed).distribution for seed in (3, 3, 4)
    )
    assert first == again != other


def test_progress_has_every_chunk():
    """A bar would stand still, or samples be lost on the way."""
    records = []

    def progress(chunks, samples, name):
        for chunk in chunks:
            records.append(len(chunk))
            yield chunk
        records.append(-samples)

    predict_clusters(problem("circle", 5.0), 100, samples=1500, corrected=False, progress=progress)
    # Two chunks, and the number of samples.
    assert sum(records) == 0 and len(records) == 3


def test_corrected_law_is_that_of_its_counts(monkeypatch):
    """The corrected law would be of another problem, or lose some of its blocks."""
    calls = []

    def counts(*options):
        calls.append(options)
        yield range(2, 4), [equal(3), equal(3)]
        yield range(2), [equal(2), equal(3)]

    monkeypatch.setattr("meanfield.studies.prediction.corrected_clusters", counts)
    five = problem("circle", 5.0)
    prediction = predict_clusters(five, 20, samples=10, seed=3, runs=4)
    assert calls == [(five, 20, 4, 3, None)]
    assert prediction.corrected.distribution == {2: 0.25, 3: 0.75}
    assert prediction.corrected.mean == 2.75 and prediction.corrected.most_likely == 3
    assert prediction.corrected.samples == 4 and prediction.linear.samples == 10
    # The better law answers.
    assert prediction.mean_clusters == 2.75
    assert prediction.distribution == prediction.corrected.distribution
    assert prediction.mean_clusters_linear == mf.mean_clusters(five, 20)
    assert prediction.answer.startswith("3 clusters (75 +- 22 %) or 2 (25 +- 22 %), at t = 23.9")
    assert "tokens: 20, independent and uniform" in repr(prediction)


def test_shares_are_reported_with_their_time(monkeypatch):
    """Fewer than e^8 tokens are counted before clusters form: shares would lack that time."""

    def counts(*options):
        yield range(2), [equal(1), equal(1)]

    monkeypatch.setattr("meanfield.studies.prediction.corrected_clusters", counts)
    few, many = (
        predict_clusters(problem("circle", 0.5), tokens, samples=10, runs=2)
        for tokens in (2980, 2981)
    )
    assert few.counting_time < few.formation_time and many.formation_time <= many.counting_time
    text = f"{few.counting_time:.3g} (scaled time); the last clusters form by about"
    assert f", at t = {text} t = {few.formation_time:.3g}" in few.answer
    assert many.answer.endswith(f", at t = {many.counting_time:.3g} (scaled time)")
    # Wells of linear theory are not counted at a time.
    linear = predict_clusters(problem("circle", 0.5), 100, samples=10, corrected=False)
    assert "formed by about" in str(linear)


def test_few_tokens_have_clusters_and_a_note_on_the_linear_law():
    """Two tokens made "0 clusters": none has three of them."""
    few = predict_clusters(problem("circle", 5.0), 2, samples=10, runs=40)
    assert few.corrected.distribution.keys() <= {1, 2}
    assert "the linear law holds from about 100 tokens on" in few.note
    assert str(few).count(f"note: {few.note}") == repr(few).count(few.note) == 1
    assert linear(problem("circle", 5.0), 100).note == ""


@pytest.mark.parametrize(("beta", "tokens"), [(1000.0, 20), (20.0, 99)])
def test_linear_law_answers_no_number_for_few_tokens(beta, tokens):
    """Twenty tokens were predicted to form 42 clusters."""
    few = predict_clusters(problem("circle", beta), tokens, samples=10, corrected=False)
    refused = f"the linear law does not hold for {tokens} tokens, only from "
    assert few.answer.startswith(refused) and few.answer.endswith("--runs 100)")
    assert str(few).startswith(few.answer)
    noisy = problem("circle", beta, mf.Flow("none", diffusivity=1e-9))
    answer = predict_clusters(noisy, tokens, samples=10).answer
    assert answer.startswith(refused) and "--runs" not in answer
    assert json.loads(few.report().json())["most_likely"] is None


@pytest.mark.slow
def test_answer_says_when_it_counts_and_how_long_that_lasts():
    """Half of the fives have merged at twice the time: a plan for five would come too late."""
    steep = Problem(mf.Circle(), mf.exponential(12.0), mf.SA)
    prediction = predict_clusters(steep, 5000, samples=10, runs=20)
    number = prediction.law.most_likely
    low, half, high = prediction.merge_times[number]
    assert prediction.counting_time < low <= half <= high
    counted = f", at t = {prediction.counting_time:.3g} (scaled time); "
    lasting = f"half of the runs with {number} clusters have fewer by t = {half:.3g} (to 20 %;"
    assert f"{counted}{lasting}" in str(prediction)
    assert predict_clusters(steep, 5000, samples=10, corrected=False).merge_times == {}


def test_law_that_noise_does_not_hide_has_a_note():
    """0.03 of 1,000 tokens is hidden by their noise, 0.015 in a moment; of 20,000 it is not."""
    slight = replace(NARROW, initial=mf.perturbed_uniform([[3, 0.03, 0.0]]))
    assert linear(slight, 1000).note == ""
    text = "0.015 in degree 3, 2.12 times that of 20000 uniform tokens"
    assert text in linear(slight, 20_000).note


def test_tokens_far_from_uniform_have_a_note():
    """The laws of uniform tokens would stand beside tokens of one bump; the law is not used."""
    rng = np.random.default_rng(0)
    bump, even = 0.3 * rng.standard_normal(400), rng.uniform(0.0, 2 * np.pi, 400)
    assert "these tokens are not uniform" in linear(NARROW, bump).note
    assert linear(NARROW, even).note == ""


@pytest.mark.parametrize(
    ("manifold", "beta", "text"),
    [
        ("circle", 8.0, "4 clusters of these tokens by linear theory, at angles "),
        ("circle", 0.01, "1 cluster of these tokens by linear theory, at angle "),
        ("sphere", 2.0, "by linear theory, at ("),
    ],
)
def test_tokens_of_the_user_are_answered_first(manifold, beta, text):
    """A user who gave tokens would read of random ones, and not where or when theirs meet."""
    rng = np.random.default_rng(3)
    points = 0.5 + np.pi * np.arange(12) / 2 if text[0] == "4" else rng.uniform(0, 6, 50)
    points = points if manifold == "circle" else rng.standard_normal((50, 3))
    prediction = predict_clusters(problem(manifold, beta), points, samples=10, corrected=False)
    own, random = prediction.answer.split("; of as many random tokens: ")
    formed = f"formed by about t = {prediction.formation_time:.3g} (scaled time)"
    assert text in own and formed in own and own in prediction._repr_html_()
    refused = f"the linear law does not hold for {prediction.tokens} tokens"
    assert random.startswith(prediction.message or refused)
    shown = repr(prediction)
    assert own in shown and "given" in shown and "uniform" not in shown


@pytest.mark.slow
def test_what_cannot_run_has_a_note():
    """A prediction would fail for want of its second half, or not say why it lacks it."""
    noisy = problem("circle", 5.0, mf.Flow("none", diffusivity=1e-3))
    diffused = problem("circle", 5.0, mf.Flow("none", diffusivity=1e-9))
    points = np.random.default_rng(0).uniform(0, 6, 100)
    for calls, tokens, samples, text in (
        (diffused, 100, 10, "cannot carry diffusion: got"),
        (problem("circle", 1e6), 100, 1, "would take long"),
        (noisy, points, 10, "depends on their noise until then"),
    ):
        prediction = predict_clusters(calls, tokens, samples=samples)
        assert prediction.corrected is None and text in prediction.note
        assert (prediction.positions is None) == (tokens is not points)
    # 0 is a choice: no advice to give a number.
    assert not predict_clusters(problem("circle", 5.0), 1000, samples=10, runs=0).note
    noted = predict_clusters(problem("circle", 2.0), np.array([0.0, 0.1, 0.2]), samples=10)
    assert f"note: {noted.note}" in repr(noted) and noted.note


def test_rivals_are_reported():
    """The dominant degree would seem to be alone."""
    result = linear(problem("circle", 7.0), 100, 1)
    rates = mf.growth_rates(result.problem)
    assert (result.dominant_degree, result.second_degree) == (4, 3)
    assert result.rate_ratio == pytest.approx(rates[3] / rates[4], rel=1e-14)
    # 10^{2 / (1 - r)} = 10^33.0
    assert result.tokens_for_dominance == pytest.approx(1e33, rel=0.1)
    alone = linear(Problem(mf.Circle(), mf.linear(), normalization="none"), 9, 1)
    assert alone.second_degree is None and np.isnan(alone.rate_ratio)
    # One count gives no error of the mean, 0 least of all.
    assert np.isnan(linear(problem("circle", 5.0), 20, 1).linear.standard_error)


def test_huge_beta_counts_as_the_closed_form():
    """Degrees by the thousand would overflow, or fill the memory."""
    law = (result := linear(problem("circle", 1e6), 1000, 20)).linear
    assert abs(law.mean - result.mean_clusters) < 4 * law.standard_error
    numbers, shares = zip(*result.distribution.items(), strict=True)
    assert sum(shares) == pytest.approx(1.0, abs=1e-12)
    assert np.dot(numbers, shares) == pytest.approx(law.mean, rel=1e-12)


def test_sphere_takes_fewer_samples_of_large_degrees():
    """A prediction without options would take hours, or the memory of the machine."""
    samples = [default_samples(2, degree) for degree in range(1, 201)]
    assert samples[0] == 10_000 and samples[-1] == 20
    assert samples == sorted(samples, reverse=True)


@together(("change", "tokens", "options", "message"), [
    # NumPy would complain in its own words, or divide by zero.
    ({}, 100, {"samples": 0}, "samples must be at least 1, got 0"),
    ({}, 100, {"runs": -1}, "runs must be at least 0, got -1"),
    ({}, 100, {"samples": 10**30}, r"samples must be at most 1e\+08, got 1e\+30"),
    ({}, 100, {"seed": -1}, "seed must be at least 0, got -1"),
    ({}, 1, {}, "tokens must be at least 2, got 1"),
    ({}, 10**301, {}, r"tokens must be at most 1e\+300"),
    ({}, 2.5, {}, "tokens must be an integer, got 2.5"),
    # A list of sizes, as ensembles take it, would be read as angles.
    ({}, [100, 1000], {}, "tokens must be one number, or an array of points"),
    ({"manifold": mf.Sphere(4)}, 100, {}, "on the circle and the sphere, got sphere:4"),
    ({"layers": mf.Layers()}, 100, {}, "predictions rest on the flow of attention"),
    ({"flow": mf.Flow("none", strength=1e-300)}, 100, {},
     "below the range of numbers: got strength = 1e-300"),
    # A narrow law makes one cluster, and the answer would be four.
    ({"initial": mf.von_mises_fisher(20.0), "kernel": mf.exponential(9.0)}, 1000,
     {"samples": 10, "corrected": False},
     r"nearly uniform tokens.*von_mises_fisher.*mf\.ensemble"),
    # It would take hours, or the memory of the machine.
    ({"manifold": mf.Sphere(), "kernel": mf.exponential(1e4)}, 100, {},
     "of degree [0-9]+ on the sphere, and maxima are counted"),
])  # fmt: skip
def test_what_cannot_be_predicted_is_refused(change, tokens, options, message):
    """One token, half a token, another manifold: each with its own words."""
    with pytest.raises(ValueError, match=message):
        predict_clusters(replace(problem("circle", 5.0), **change), tokens, **options)
