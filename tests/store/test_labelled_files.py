"""Labelled densities in files and datasets, and runs of them that go on."""

import numpy as np
import pytest

import meanfield as mf


@pytest.mark.slow
@pytest.mark.parametrize("where", ["circle", "sphere"])
def test_labelled_runs_go_on_equal_to_the_bit(where, tmp_path):
    """A part, a label or the time of the turning frames that were lost would change the run."""
    if where == "circle":
        problem = mf.Problem(
            mf.Circle(),
            mf.exponential(3.0),
            mf.SA,
            mf.perturbed_uniform([[1, 0.2, 0.0], [2, 0.1, 0.0]]),
            frequencies=mf.Gaussian(0.3),
        )
    else:
        causal = mf.Attention([mf.Head()], beta=3.0, mask="causal")
        law = mf.with_profile(mf.perturbed_uniform([[2, 1, 0.1]]), 1.0)
        problem = mf.Problem(mf.Sphere(), causal, initial=law)
    options = {"labels": 4, "max_degree": 32}
    whole = mf.simulate(problem, until=2.0, save=5, output=tmp_path / "a.h5", **options)
    mf.simulate(problem, until=1.0, save=3, output=tmp_path / "b.h5", **options)
    resumed = mf.simulate(
        problem, until=2.0, save=5, output=tmp_path / "b.h5", resume=True, **options
    )
    assert resumed.attributes["result_hash"] == whole.attributes["result_hash"]
    start = mf.simulate(problem, until=2.0, save=5, **options)
    for run in (whole, resumed):
        result, built = run.measures[-1], start.measures[-1]
        np.testing.assert_array_equal(result.parts, resumed.measures[-1].parts)
        # Files of the sphere hold sqrt(2) times the parts.
        np.testing.assert_allclose(result.parts, built.parts, rtol=1e-15)
        np.testing.assert_array_equal(result.labels, built.labels)
        assert result.label_name == built.label_name
        np.testing.assert_array_equal(
            run.observables["label_order"], start.observables["label_order"]
        )


def test_datasets_have_an_axis_of_labels():
    """Names of axes and labels would have to be guessed."""
    causal = mf.Attention([mf.Head()], beta=3.0, mask="causal")
    problem = mf.Problem(mf.Circle(), causal, initial=mf.von_mises_fisher(0.5))
    dataset = mf.simulate(problem, until=1.0, save=3, labels=5).to_xarray()
    assert dataset.label_order.dims == ("time", "label")
    assert dataset.label_moments.dims == ("time", "label", "degree")
    np.testing.assert_allclose(dataset.label, np.sin(0.05 * np.pi * np.arange(1, 10, 2)) ** 4)
    np.testing.assert_allclose(
        np.abs(dataset.label_moments.sel(degree=1)), dataset.label_order, atol=1e-15
    )


@pytest.mark.slow
def test_files_hold_the_mean_over_labels_that_are_not_stored(tmp_path):
    """The mean of the stored densities alone would be taken for the limit; or labels change."""
    problem = mf.Problem(
        mf.Circle(),
        mf.linear(),
        mf.USA,
        initial=mf.perturbed_uniform([[1, 0.2, 0.0]]),
        frequencies=mf.Gaussian(1.0),
    )
    options = {"labels": 6, "tolerance": 1e-5}
    run = mf.simulate(problem, 4.0, save=[1.0, 4.0], output=tmp_path / "a.h5", **options)
    last = mf.load(tmp_path / "a.h5").measures[-1]
    assert run.diagnostics["labels"][-1] > len(last.labels) == 6
    np.testing.assert_array_equal(last.labels, run.measures[0].labels)
    np.testing.assert_allclose(last.moments(3), run.moments[-1, :4], rtol=0, atol=1e-15)
    assert abs(last.moments(1)[1] - last.label_weights @ last.parts[:, 1]) > 1e-3
    # A run that had taken more labels goes on with them.
    whole = mf.simulate(problem, 5.0, save=[1.0, 4.0, 5.0], **options)
    more = mf.simulate(
        problem, 5.0, save=[1.0, 4.0, 5.0], output=tmp_path / "a.h5", resume=True, **options
    )
    np.testing.assert_allclose(more.moments[-1], whole.moments[-1], rtol=0, atol=1e-15)
