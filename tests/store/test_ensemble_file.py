"""The file of `meanfield ensemble`: what is written is read, and nothing else is taken for it."""

from dataclasses import replace

import numpy as np
import pytest

import meanfield as mf
from meanfield.store.study_file import write_result
from meanfield.studies.ensemble import EnsembleOptions, ensemble_plan


@pytest.fixture(scope="module", params=[mf.Circle(), mf.Sphere()], ids=["circle", "sphere"])
def plan(request):
    problem = mf.Problem(request.param, mf.exponential(3.0), mf.USA)
    options = EnsembleOptions((20, 40), runs=3, times=(1.0, 1.5))
    return ensemble_plan(problem, options, tolerance=1e-4)


@pytest.fixture(scope="module")
def ensemble(plan):
    return plan.completed()


def test_ensemble_comes_back(ensemble, tmp_path):
    """A report or figure from a file would not be that of the ensemble."""
    expected = ensemble.attributes | {"title": "t"}
    write_result(tmp_path / "e.h5", replace(ensemble, attributes=expected))
    back = mf.load(tmp_path / "e.h5")
    assert isinstance(back, mf.Ensemble)
    for name, values in ensemble.stored_values().items():
        np.testing.assert_array_equal(back.stored_values()[name], values)
    assert {name: back.attributes[name] for name in expected} == expected


def test_other_programs_read_axes(ensemble, tmp_path):
    """Without dimension scales other programs could not name the axes."""
    xarray = pytest.importorskip("xarray")
    write_result(tmp_path / "e.h5", ensemble)
    with xarray.open_dataset(tmp_path / "e.h5", engine="h5netcdf") as data:
        assert data.counts.dims == ("tokens", "run", "time")
        assert data.mass.dims == ("tokens", "run", "time", "cluster")
        assert data.centre.dims[:4] == data.mass.dims
        assert data.time.values.tolist() == [1.0, 1.5]
        np.testing.assert_allclose(data.counts.mean("run"), data.mean_count, rtol=1e-14)
        np.testing.assert_allclose(data.distribution.sum("count"), 1.0, rtol=1e-14)
        mean = (data["count"] * data.distribution).sum("count")
        np.testing.assert_allclose(mean, data.mean_count, rtol=1e-14)


def test_an_ensemble_without_runs_comes_back(plan, tmp_path):
    """A process killed in its first second would leave a file that cannot go on."""
    write_result(tmp_path / "e.h5", plan.results(plan.empty()))
    back = mf.load(tmp_path / "e.h5")
    assert (back.counts == -1).all()
    assert len(plan.missing(plan.resumed(back))) == len(plan.missing(plan.empty()))
