"""Merging diagrams: printed shares, the published layers, and independence of who computes."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import core
import numpy as np
import pytest
from parameters import refused, together

import meanfield as mf
from meanfield.papers import merging
from meanfield.papers.merging import DiagramOptions, MergingPlan, RandomHead
from meanfield.studies.study import rng_of

# Shares of merged pairs of 32 tokens and their errors at t = 5, 10, 20, over d and beta.
PRINTED = [
    (2, 5.0, [0.2353, 0.4036, 0.4498], [0.0022, 0.0028, 0.0032]),
    (8, 5.0, [0.0316, 0.4117, 0.5867], [0.0014, 0.0118, 0.0145]),
    (8, 8.0, [0.0199, 0.1283, 0.2251], [0.0006, 0.0032, 0.0055]),
    (128, 5.0, [0.0, 0.9383, 1.0], [0.0, 0.0247, 0.0]),
]
SLOW = [pytest.param(*row, marks=pytest.mark.slow) for row in PRINTED[1:]]


@pytest.mark.parametrize(("d", "beta", "share", "error"), [PRINTED[0], *SLOW])
def test_shares_are_those_printed(d, beta, share, error):
    """Another clock, threshold or count of pairs would show."""
    runs = 40 if d == 2 else 64
    diagram = mf.merging_diagram(32, d, betas=[beta], times=[5.0, 10.0, 20.0], runs=runs)
    allowed = 4.0 * np.hypot(error, diagram.standard_error[0]) + 1e-4
    assert np.all(np.abs(diagram.fraction[0] - share) < allowed)


@pytest.mark.parametrize("normalization", ["softmax", "none"])
def test_layers_are_those_published(normalization):
    """Unprojected Euler steps, one replica written down; the step of USA shrinks with beta."""
    n, d, beta, times = 6, 3, 3.0, [0.0, 0.05, 0.4, 3.0]
    step = 0.1 if normalization == "softmax" else 0.1 / (np.sqrt(3.0) * np.exp(2.5))
    term = core.attention([(beta * np.eye(d), np.eye(d))], normalization)
    diagram = mf.merging_diagram(n, d, betas=[beta], times=times, runs=2, threshold=0.4,
                              normalization=normalization, motion="layers", seed=3)  # fmt: skip
    counts = []
    for replica in range(2):
        x = core.unit(rng_of(3, n, d, replica).standard_normal((n, d)))
        tokens, layer = core.Points(x, np.full(n, 1 / n)), 0
        for time in times:
            while (layer + 1) * step <= time * (1 + 1e-12):
                tokens = core.layer([term], "post", tokens, layer, step)
                layer += 1
            counts.append(np.sum(np.triu(tokens.y @ tokens.y.T > 0.4, 1)))
    np.testing.assert_array_equal(diagram.sums[0], np.reshape(counts, (2, 4)).sum(axis=0))
    assert len(set(counts)) > 2


@pytest.mark.slow
def test_results_do_not_depend_on_who_computes_them(monkeypatch):
    """Threads, blocks and what was known before: whole numbers are the same."""
    heads = RandomHead("goe", "minus_score")
    options = DiagramOptions(8, 3, (1.0, 4.0), (2.0, 5.0), 20, heads=heads)
    at_once = MergingPlan(options).completed()
    monkeypatch.setattr(merging, "replicas_at_once", lambda n, d: 3)
    first = MergingPlan(replace(options, runs=7)).completed()
    plan = MergingPlan(options)
    table = plan.resumed(first)
    with ThreadPoolExecutor(2) as executor:
        missing = plan.missing(table)
        for runs, part in zip(missing, executor.map(plan.run, missing), strict=True):
            table = plan.placed(table, runs, part)
    grown = plan.results(table)
    assert grown.finished.tolist() == [20, 20]
    np.testing.assert_array_equal(grown.sums, at_once.sums)
    np.testing.assert_array_equal(grown.squares, at_once.squares)


def test_error_is_that_of_the_mean_of_replicas():
    """Pairs of a replica are not independent: the error is over replicas."""
    options = DiagramOptions(5, 2, (2.0,), (3.0,), 30)
    result = MergingPlan(options).completed()
    shares = merging.merged_pairs(options, 2.0, range(30))[:, 0] / 10.0
    np.testing.assert_allclose(result.fraction, shares.mean())
    np.testing.assert_allclose(result.standard_error, shares.std(ddof=1) / np.sqrt(30))


def test_random_values_are_transposed_scores():
    """The published script multiplies rows from the right."""
    score, value = RandomHead("gaussian", "minus_score").matrices(2.0, 5, np.random.default_rng(0))
    np.testing.assert_allclose(value, -score.T / np.linalg.norm(score, 2))
    entries = [RandomHead("goe").matrices(1.0, 40, np.random.default_rng(s)).score for s in (1, 2)]
    np.testing.assert_array_equal(entries[0], entries[0].T)
    # Eigenvalues of the semicircle of radius 2 sqrt(d).
    assert abs(np.linalg.eigvalsh(entries[0]).max() / np.sqrt(160.0) - 1.0) < 0.15
    assert not np.array_equal(*entries)


@together(
    ("change", "message"),
    [
        ({"tokens": 1}, "tokens must all be at least 2"),
        ({"dimension": 1}, "dimension must be at least 2, got 1"),
        ({"betas": [2.0, 1.0]}, "betas must be increasing"),
        ({"times": []}, "times must be finite numbers"),
        ({"times": [-1.0, 1.0]}, "times must not be negative"),
        ({"runs": 1}, "runs must lie between 2"),
        ({"threshold": 1.0}, "threshold must lie between -1 and 1"),
        ({"step": 0.0}, r"step must lie in \(0, 1\]"),
        ({"betas": [1e3], "normalization": "none"}, "at most 300 without normalisation"),
        ({"heads": [mf.Head(value=[1.0, 2.0])], "dimension": 3}, "expected 3"),
        ({"motion": "flows"}, "motion"),
    ],
)
def test_impossible_diagrams_are_refused(change, message):
    """In one line."""
    options = {"betas": [1.0], "times": [1.0], "runs": 2} | change
    refused(message, mf.merging_diagram, **options, error=(ValueError, TypeError))
    refused("score 'gauss' is not known", RandomHead, "gauss")


VALUES = mf.RandomValues([mf.Head(beta=1.0)])


@pytest.mark.slow
def test_pairs_under_random_values_merge_as_often_as_the_law_says():
    """Three standard errors; the law's mean over uniform overlaps at the start, in R^3."""
    diagram = mf.merging_diagram(
        2, 3, betas=[2.0], times=[30.0], runs=1000, heads=VALUES, motion="layers", threshold=0.0
    )
    law = mf.papers.random_layers.antipodal_probability
    overlaps, weights = np.polynomial.legendre.leggauss(12)
    apart = weights @ [law(3, 2.0, each) for each in overlaps] / 2
    assert abs(diagram.fraction[0, 0] - (1 - apart)) < 3 * diagram.standard_error[0, 0]


def test_layers_of_random_values_are_those_of_the_numbers_of_a_run():
    """Layers by hand, of two heads, one twice as sharp and three times as strong."""
    heads = [mf.Head(beta=1.0), mf.Head(beta=2.0, value=3.0)]
    options = DiagramOptions(
        3, 2, (1.5,), (0.5,), 2, heads=mf.RandomValues(heads, scale=0.5), threshold=0.5,
        motion="layers", seed=4,
    )  # fmt: skip
    expected = []
    for number in range(2):
        rng = rng_of(4, 3, 2, number)
        tokens = core.Points(core.unit(rng.standard_normal((3, 2))), np.full(3, 1 / 3))
        for layer in range(5):
            first, second = rng.standard_normal((2, 2, 2))
            pairs = [(1.5 * np.eye(2), 0.5 * first), (3.0 * np.eye(2), 1.5 * second)]
            tokens = core.layer([core.attention(pairs)], "post", tokens, layer, np.sqrt(0.1 / 2))
        expected.append([(tokens.y @ tokens.y.T)[np.triu_indices(3, 1)] > 0.5])
    counts = merging.merged_pairs(options, 1.5, range(2))
    np.testing.assert_array_equal(counts[:, 0], np.sum(expected, axis=(1, 2)))
    assert options.facts()["matrices"].startswith("random values, scale 0.5: Head(beta=1.0)")


def test_random_values_that_a_diagram_cannot_take_are_refused():
    """A flow, another normalisation, or a path of their own."""
    base = {"heads": VALUES, "motion": "layers"}
    refused("softmax layers in a diagram", DiagramOptions, **base | {"motion": "flow"})
    refused("softmax layers in a diagram", DiagramOptions, normalization="none", **base)
    seeded = replace(VALUES, seed=3)
    refused("heads and a scale alone", DiagramOptions, **base | {"heads": seeded})
    causal = mf.RandomValues(mf.Attention(beta=1.0, mask="causal"))
    refused("heads and a scale alone", DiagramOptions, **base | {"heads": causal})
