"""Run files of the sphere: what was computed comes back, with its axes."""

import shutil

import h5py
import numpy as np
import pytest
from parameters import refused

import meanfield as mf

MODES = [[1, 0, 0.1], [3, -2, 0.3], [4, 4, 0.1]]
PROBLEM = mf.Problem(mf.Sphere(), mf.exponential(5.0), mf.USA, mf.perturbed_uniform(MODES))
PARTICLES = {"representation": "particles", "tokens": 300}


@pytest.fixture(scope="module", params=[{}, PARTICLES], ids=["density", "particles"])
def file(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("sphere") / "run.h5"
    mf.simulate(PROBLEM, 15.0, save=4, output=path, **request.param)
    return path


@pytest.fixture(scope="module")
def run(file):
    return mf.load(file)


@pytest.mark.slow
def test_moments_are_those_of_the_states(run):
    """Layout, orientation or normalisation of the two would differ."""
    degree = run.moments.shape[-1] - 1
    for moments, measure in zip(run.moments, run.measures, strict=True):
        expected = measure.manifold.unpacked(measure.moments(degree))
        np.testing.assert_allclose(moments, expected, rtol=0, atol=1e-14)


def test_moments_are_means_of_real_harmonics(run):
    """Int Y_10, Y_11, Y_1-1 dmu are sqrt(3) times the mean of z, x, y, without Condon-Shortley."""
    measure = run.measures[-1]
    if isinstance(measure, mf.Measure):
        mean = measure.points.mean(axis=0)
    else:
        grid = measure.manifold.grid(measure.max_degree)
        mean = (grid.weights * grid.to_nodal(measure.coefficients)) @ grid.points
    result = [run.moments[-1, 0, 1, 1], run.moments[-1, 1, 1, 1], run.moments[-1, 0, 1, 0]]
    np.testing.assert_allclose(result, np.sqrt(3.0) * mean, rtol=0, atol=1e-14)


def test_other_programs_read_axes(file, run):
    """Without dimension scales other programs could not name the axes."""
    xarray = pytest.importorskip("xarray")
    with xarray.open_dataset(file, engine="h5netcdf") as data:
        assert data.moments.dims == ("time", "kind", "degree", "order")
        ours = run.to_xarray()
        assert ours.moments.dims == data.moments.dims
        for axis in data.moments.dims:
            np.testing.assert_array_equal(ours[axis], data[axis])
        np.testing.assert_array_equal(ours.moments, data.moments)
    with xarray.open_dataset(file, engine="h5netcdf", group="observables/clusters") as clusters:
        assert clusters.centre.dims[0] == "time"
        assert clusters.centre.shape[2] == 3


def test_centres_are_unit_vectors_or_nan(run):
    """Angles would have been stored, or sums of vectors."""
    lengths = np.linalg.norm(run.observables["clusters/centre"], axis=2)
    expected = np.isfinite(lengths)
    np.testing.assert_allclose(lengths[expected], 1.0, rtol=1e-12)


@pytest.mark.slow
def test_last_state_is_the_start_of_the_next_run(file, run, tmp_path):
    """`[initial] name = "file"` would start elsewhere."""
    (tmp_path / "next.toml").write_text(
        'problem = {manifold = "sphere", beta = 5.0, normalization = "none"}\n'
        f'initial = {{name = "file", path = "{file}"}}\ntime = {{end = 1.0, save = 2}}\n'
    )
    again = mf.run(tmp_path / "next.toml")
    np.testing.assert_allclose(again.moments[0], run.moments[-1], rtol=0, atol=1e-14)


def test_moments_where_there_are_none_are_refused(file, tmp_path):
    """A file that another program changed would fail later, without a word about the file."""
    path = shutil.copy(file, tmp_path)
    with h5py.File(path, "a") as h5:
        h5["moments"][0, 0, 1, 2] = 0.5
    refused("moments holds numbers where there are no moments", mf.load, path)
