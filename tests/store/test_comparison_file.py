"""The file of `meanfield compare`: what is written is read, and nothing else is taken for it."""

from dataclasses import replace

import h5py
import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.store.study_file import write_result
from meanfield.studies.convergence import StudyOptions, comparison

LAW = mf.perturbed_uniform([[3, 0.0, 0.2]])
PROBLEM = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA, LAW)


@pytest.fixture(scope="module")
def study():
    options, times = StudyOptions((5, 8), runs=2), np.array([0.0, 1.0])
    return comparison(PROBLEM, times, options, tolerance=1e-6, max_degree=64).completed()


@pytest.mark.slow
def test_study_comes_back(study, tmp_path):
    """A figure from a file would not be that of the study."""
    attributes = study.attributes | {"title": "t"}
    noted = replace(study, note="something fell short", attributes=attributes)
    write_result(tmp_path / "c.h5", noted)
    back = mf.load(tmp_path / "c.h5")
    assert isinstance(back, mf.ConvergenceStudy)
    for name, values in noted.stored_values().items():
        np.testing.assert_array_equal(back.stored_values()[name], values)
    assert (back.metric, back.note, back.headline) == ("W1", "something fell short", study.headline)
    assert back.growth_rate_max == study.growth_rate_max
    assert (back.attributes["title"], back.attributes["beta"]) == ("t", 5.0)


def test_other_programs_read_axes(study, tmp_path):
    """Without dimension scales other programs could not name the axes."""
    xarray = pytest.importorskip("xarray")
    write_result(tmp_path / "c.h5", study)
    with xarray.open_dataset(tmp_path / "c.h5", engine="h5netcdf") as data:
        assert data.distances.dims == ("tokens", "repetition", "time")
        assert data.tokens.values.tolist() == [5, 8]
        mean = data.distances.mean("repetition")
        np.testing.assert_allclose(mean, data.mean_distance, rtol=1e-14)


def test_negative_distances_are_refused(study, tmp_path):
    """Exponents would be fitted to logarithms of negative numbers."""
    write_result(tmp_path / "c.h5", study)
    with h5py.File(tmp_path / "c.h5", "a") as file:
        file["distances"][0, 0, 0] = -1.0
    refused("c.h5 is damaged: distances holds negative numbers", mf.load, tmp_path / "c.h5")


def test_files_without_certified_distances_are_read(study, tmp_path):
    """Files of versions that had none would be refused."""
    write_result(tmp_path / "c.h5", study)
    with h5py.File(tmp_path / "c.h5", "a") as file:
        del file["certified_exponent"], file["certified_distance"]
    back = mf.load(tmp_path / "c.h5")
    assert np.isnan(back.certified_distance).all()
    np.testing.assert_array_equal(back.mean_distance, study.mean_distance)
