"""The file of `meanfield compare`: what is written is read, and nothing else is taken for it."""

from dataclasses import replace

import h5py
import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.store.run_file import load
from meanfield.store.study_file import read_result, record_study, write_result
from meanfield.store.wall_time import WallTime
from meanfield.studies.convergence import StudyOptions, comparison
from meanfield.studies.convergence_results import ConvergenceStudy
from meanfield.studies.executors import finished

LAW = mf.perturbed_uniform([[3, 0.0, 0.2]])
PROBLEM = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA, LAW)
EXACT = ("times", "tokens", "distances", "widths", "onset_times", "mean_distance",
         "exponent_intervals", "certified_exponents", "certified_distance")  # fmt: skip


@pytest.fixture
def changed(study, tmp_path):
    def change(how):
        write_result(tmp_path / "c.h5", study)
        with h5py.File(tmp_path / "c.h5", "a") as file:
            how(file)
        return tmp_path / "c.h5"

    return change


@pytest.fixture(scope="module")
def plan():
    return comparison(
        PROBLEM, np.array([0.0, 1.0]), StudyOptions((5, 8), runs=2), tolerance=1e-6, max_degree=64
    )


@pytest.fixture(scope="module")
def study(plan):
    return plan.completed()


@pytest.mark.slow
def test_study_comes_back(study, tmp_path):
    """A figure from a file would not be that of the study."""
    noted = replace(
        study, note="something fell short", attributes=study.attributes | {"title": "t"}
    )
    write_result(tmp_path / "c.h5", noted)
    back = read_result(tmp_path / "c.h5", "comparison")
    for name in EXACT:
        np.testing.assert_array_equal(getattr(back, name), getattr(noted, name))
    assert (back.metric, back.note, back.headline) == ("W1", "something fell short", study.headline)
    assert back.growth_rate_max == study.growth_rate_max
    assert back.attributes["title"] == "t"
    assert back.attributes["beta"] == 5.0


def test_other_programs_read_axes(study, tmp_path):
    """Without dimension scales other programs could not name the axes."""
    xarray = pytest.importorskip("xarray")
    write_result(tmp_path / "c.h5", study)
    with xarray.open_dataset(tmp_path / "c.h5", engine="h5netcdf") as data:
        assert data.distances.dims == ("tokens", "repetition", "time")
        assert data.tokens.values.tolist() == [5, 8]
        mean = data.distances.mean("repetition")
        np.testing.assert_allclose(mean, data.mean_distance, rtol=1e-14)


def test_finished_study_is_completed(plan, tmp_path):
    """A finished file would be resumed for ever."""
    values = plan.empty()
    results = finished(plan.run, plan.missing(values))
    spent = WallTime({"running": 100.0})
    list(record_study(tmp_path / "c.h5", write_result, plan, values, results, {}, spent))
    attributes = read_result(tmp_path / "c.h5", "comparison").attributes
    assert attributes["status"] == "completed"
    assert attributes["seconds_running"] > 100.0 and attributes["seconds_writing"] > 0.0
    assert plan.missing(values) == []


def test_other_files_are_refused(tmp_path):
    """A run file, or no HDF5 file at all, would be read as a study."""
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file.attrs["format_version"] = 1
    (tmp_path / "text.h5").write_text("nothing")
    for name, message in (
        ("run", "run.h5 is not a comparison of format 2"),
        ("text", "text.h5 is not a readable HDF5 file"),
        ("none", "none.h5: no such file"),
    ):
        refused(message, read_result, tmp_path / f"{name}.h5", "comparison")


def test_damaged_file_is_refused(changed):
    """The user would meet a KeyError; exponents be fitted to logarithms of negative numbers."""
    with pytest.raises(ValueError, match="c.h5 is damaged"):
        read_result(changed(lambda file: file.__delitem__("distances")), "comparison")
    negative = changed(lambda file: file["distances"].__setitem__((0, 0, 0), -1.0))
    with pytest.raises(ValueError, match="c.h5 is damaged: distances holds negative numbers"):
        read_result(negative, "comparison")


def test_comparison_differs_from_a_run(study, tmp_path):
    """Whoever needs a run would read a comparison; `mf.load` would refuse it."""
    write_result(tmp_path / "c.h5", study)
    refused("c.h5 is a file of meanfield compare, no run: open it", load, tmp_path / "c.h5")
    back = mf.load(tmp_path / "c.h5")
    assert isinstance(back, ConvergenceStudy)
    np.testing.assert_array_equal(back.distances, study.distances)


def test_files_without_certified_distances_are_read(study, changed):
    """Those of versions that had none."""

    def earlier(file):
        del file["certified_exponent"], file["certified_distance"]

    back = read_result(changed(earlier), "comparison")
    assert np.isnan(back.certified_distance).all()
    np.testing.assert_array_equal(back.mean_distance, study.mean_distance)
