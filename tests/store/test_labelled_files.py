"""Labelled densities in files and datasets, and runs of them that go on."""

from functools import partial

import numpy as np
import pytest

import meanfield as mf

CAUSAL = mf.Attention([mf.Head()], beta=3.0, mask="causal")
LAW = mf.perturbed_uniform([[1, 0.2, 0.0], [2, 0.1, 0.0]])
PROFILE = mf.with_profile(mf.perturbed_uniform([[2, 1, 0.1]]), 1.0)
PROBLEMS = {
    "circle": mf.Problem(
        mf.Circle(), mf.exponential(3.0), mf.SA, LAW, frequencies=mf.Gaussian(0.3)
    ),
    "sphere": mf.Problem(mf.Sphere(), CAUSAL, initial=PROFILE),
}


@pytest.mark.slow
@pytest.mark.parametrize("where", PROBLEMS)
def test_labelled_runs_go_on_equal_to_the_bit(where, tmp_path):
    """A part, a label or the time of the turning frames that were lost would change the run."""
    simulate = partial(mf.simulate, PROBLEMS[where], labels=4, max_degree=32)
    start = simulate(2.0, save=5)
    whole = simulate(2.0, save=5, output=tmp_path / "a.h5")
    simulate(1.0, save=3, output=tmp_path / "b.h5")
    resumed = simulate(2.0, save=5, output=tmp_path / "b.h5", resume=True)
    assert resumed.attributes["result_hash"] == whole.attributes["result_hash"]
    result, expected = whole.measures[-1], start.measures[-1]
    np.testing.assert_array_equal(resumed.measures[-1].parts, result.parts)
    # Files of the sphere hold sqrt(2) times the parts.
    np.testing.assert_allclose(result.parts, expected.parts, rtol=1e-15)
    for run in (whole, resumed):
        np.testing.assert_array_equal(run.measures[-1].labels, expected.labels)
        assert run.measures[-1].label_name == expected.label_name
        order = run.observables["label_order"]
        np.testing.assert_array_equal(order, start.observables["label_order"])


def test_datasets_have_an_axis_of_labels():
    """Names of axes and labels would have to be guessed."""
    problem = mf.Problem(mf.Circle(), CAUSAL, initial=mf.von_mises_fisher(0.5))
    dataset = mf.simulate(problem, until=1.0, save=3, labels=5).to_xarray()
    assert dataset.label_order.dims == ("time", "label")
    assert dataset.label_moments.dims == ("time", "label", "degree")
    np.testing.assert_allclose(dataset.label, np.sin(0.05 * np.pi * np.arange(1, 10, 2)) ** 4)
    np.testing.assert_allclose(
        np.abs(dataset.label_moments.sel(degree=1)), dataset.label_order, rtol=0, atol=1e-15
    )


@pytest.mark.slow
def test_files_hold_the_mean_over_labels_that_are_not_stored(tmp_path):
    """The mean of the stored densities alone would be taken for the limit; or labels change."""
    law = mf.perturbed_uniform([[1, 0.2, 0.0]])
    problem = mf.Problem(mf.Circle(), mf.linear(), mf.USA, law, frequencies=mf.Gaussian(1.0))
    simulate = partial(mf.simulate, problem, labels=6, tolerance=1e-5)
    run = simulate(4.0, save=[1.0, 4.0], output=tmp_path / "a.h5")
    last = mf.load(tmp_path / "a.h5").measures[-1]
    assert run.diagnostics["labels"][-1] > len(last.labels) == 6
    np.testing.assert_array_equal(last.labels, run.measures[0].labels)
    np.testing.assert_allclose(last.moments(3), run.moments[-1, :4], rtol=0, atol=1e-15)
    assert abs(last.moments(1)[1] - last.label_weights @ last.parts[:, 1]) > 1e-3
    # A run that had taken more labels goes on with them.
    whole = simulate(5.0, save=[1.0, 4.0, 5.0])
    more = simulate(5.0, save=[1.0, 4.0, 5.0], output=tmp_path / "a.h5", resume=True)
    np.testing.assert_allclose(more.moments[-1], whole.moments[-1], rtol=0, atol=1e-15)
