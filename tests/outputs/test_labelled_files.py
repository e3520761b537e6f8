"""Labelled densities in files and datasets, and runs of them that go on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import meanfield as mf


@pytest.mark.parametrize("where", ["circle", "sphere"])
def test_labelled_runs_go_on_equal_to_the_bit(where: str, tmp_path: Path) -> None:
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
    given = {"labels": 4, "max_degree": 32}
    whole = mf.simulate(problem, until=2.0, save=5, output=tmp_path / "a.h5", **given)
    mf.simulate(problem, until=1.0, save=3, output=tmp_path / "b.h5", **given)
    resumed = mf.simulate(
        problem, until=2.0, save=5, output=tmp_path / "b.h5", resume=True, **given
    )
    assert resumed.attributes["result_hash"] == whole.attributes["result_hash"]
    begun = mf.simulate(problem, until=2.0, save=5, **given)
    for run in (whole, resumed):
        found, made = run.measures[-1], begun.measures[-1]
        np.testing.assert_array_equal(found.parts, resumed.measures[-1].parts)
        # Of the sphere files hold sqrt(2) times what is kept.
        np.testing.assert_allclose(found.parts, made.parts, rtol=1e-15)
        np.testing.assert_array_equal(found.labels, made.labels)
        assert found.label_name == made.label_name
        np.testing.assert_array_equal(
            run.observables["label_order"], begun.observables["label_order"]
        )


def test_datasets_have_an_axis_of_labels() -> None:
    """Names of axes and labels would have to be guessed."""
    causal = mf.Attention([mf.Head()], beta=3.0, mask="causal")
    problem = mf.Problem(mf.Circle(), causal, initial=mf.von_mises_fisher(0.5))
    dataset = mf.simulate(problem, until=1.0, save=3, labels=5).to_xarray()
    assert dataset.label_order.dims == ("time", "label")
    assert dataset.label_moments.dims == ("time", "label", "degree")
    np.testing.assert_allclose(dataset.label, [0.1, 0.3, 0.5, 0.7, 0.9])
    np.testing.assert_allclose(
        np.abs(dataset.label_moments.sel(degree=1)), dataset.label_order, atol=1e-15
    )
