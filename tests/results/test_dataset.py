"""Runs as xarray datasets, and run files opened by xarray itself."""

import sys

import numpy as np
import pytest
import xarray
from parameters import refused

import meanfield as mf
from meanfield.api import simulate
from meanfield.commands.main import main
from meanfield.store.run_file import load

CONFIG = """
title = "small"
problem = { manifold = "circle", kernel = "exponential", beta = 5.0, normalized = false }
initial = { name = "perturbed_uniform", modes = [[3, 0.1, 0.0]] }
representation = { name = "density" }
time = { end = 10.0, save = 6 }
"""


@pytest.fixture(params=["density", "particles"])
def path(request, tmp_path):
    tokens = 'name = "particles", tokens = 300'
    text = CONFIG if request.param == "density" else CONFIG.replace('name = "density"', tokens)
    (tmp_path / "run.toml").write_text(text)
    output = tmp_path / "run.h5"
    assert main(["run", str(tmp_path / "run.toml"), "-o", str(output), "--quiet"]) == 0
    return output


def test_dataset_holds_the_numbers_of_the_run(path):
    """A swapped axis or a lost observable would show here."""
    run = load(path)
    dataset = run.to_xarray()
    assert dataset.sizes["time"] == 6 and dataset.sizes["degree"] == run.moments.shape[1]
    assert np.array_equal(dataset.time, run.time)
    assert np.array_equal(dataset.moments, run.moments) and dataset.moments.dtype == complex
    # Nearly uniform is no cluster.
    observables = run.observables | {"clusters/count": run.cluster_counts()}
    assert np.isnan(dataset.clusters_count[0])
    for name, values in observables.items():
        assert np.array_equal(dataset[name.replace("/", "_")], values, equal_nan=True)
    for name, values in run.diagnostics.items():
        assert np.array_equal(dataset[f"diagnostics_{name}"], values, equal_nan=True)
    assert dataset.clusters_mass.dims == ("time", "cluster")
    assert dataset.representation.values.tolist() == list(run.representation)


@pytest.mark.slow
def test_dataset_says_what_it_is_and_survives_netcdf(path, tmp_path):
    """Rates would stand at a shifted degree, plots lack labels, NetCDF not know a type."""
    dataset = load(path).to_xarray()
    problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA)
    assert float(dataset.growth_rates.sel(degree=3)) == mf.growth_rates(problem)[3]
    assert bool(np.isnan(dataset.growth_rates[-1]))
    assert dataset.time.attrs["units"] == "scaled time"
    assert dataset.time.attrs["paper_time_factor"] == pytest.approx(np.exp(-5.0))
    assert dataset.attrs["title"] == "small" and dataset.attrs["beta"] == 5.0
    assert dataset.clusters_centre.attrs["units"] == "rad"
    unnamed = [name for name, values in dataset.items() if not values.attrs.get("long_name")]
    assert unnamed == []
    dataset.to_netcdf(tmp_path / "copy.nc", engine="h5netcdf")
    with xarray.open_dataset(tmp_path / "copy.nc", engine="h5netcdf") as copy:
        assert copy.identical(dataset)


def test_runs_of_python_become_datasets(monkeypatch):
    """Without a file some attributes are missing; an ImportError would not say what to install."""
    run = simulate(mf.Problem(mf.Circle(), mf.linear(), mf.USA), until=1.0, save=3)
    dataset = run.to_xarray()
    assert dataset.attrs["manifold"] == "circle" and dataset.sizes["time"] == 3
    monkeypatch.setitem(sys.modules, "xarray", None)
    refused("needs xarray: pip install xarray h5netcdf", run.to_xarray)


@pytest.mark.slow
def test_xarray_opens_run_files(path):
    """An axis anywhere in the file without its scale makes xarray warn, hence fail here."""
    run = load(path)
    with xarray.open_dataset(path, engine="h5netcdf") as file:
        assert file.sizes == {"time": len(run.time), "degree": run.moments.shape[1]}
        assert file.moments.dims == ("time", "degree")
        assert np.array_equal(file.moments, run.moments)
        assert file.attrs["status"] == "completed"
        assert file.time.attrs["units"] == "scaled time"
    with xarray.open_dataset(path, engine="h5netcdf", group="observables") as file:
        assert file.energy.dims == ("time",)
        assert np.array_equal(file.energy, run.observables["energy"])
        assert np.array_equal(file.time, run.time)
    with xarray.open_datatree(path, engine="h5netcdf") as tree:
        assert np.array_equal(tree["observables/clusters"].time, run.time)
        assert np.array_equal(tree["stability/growth_rates"], run.growth_rates)
    with xarray.open_dataset(path, engine="h5netcdf", group="observables/clusters") as file:
        assert file.mass.dims == ("time", "cluster")
        assert np.array_equal(file["count"], run.observables["clusters/count"])
    with xarray.open_dataset(path, engine="h5netcdf", group="diagnostics") as file:
        assert np.array_equal(file.steps, run.diagnostics["steps"])


@pytest.mark.slow
def test_resumed_run_files_are_opened_too(path):
    """The checkpoint is replaced when a run goes on: its scale would be left behind."""
    config = path.with_suffix(".toml")
    longer = ["--set", "time.end=20.0", "--set", "time.save=11"]
    assert main(["run", str(config), "-o", str(path), "--resume", "--quiet", *longer]) == 0
    with xarray.open_dataset(path, engine="h5netcdf") as file:
        assert file.sizes["time"] == 11


@pytest.mark.parametrize("space", [mf.Circle(), mf.Sphere()])
def test_density_stands_on_a_grid_where_there_is_one(space):
    """A map would be turned, upside down, or tokens be shown as a density of zero."""
    law = mf.von_mises_fisher(2.0, mean=0.5 if space.dimension == 1 else [0.0, 0.6, 0.8])
    problem = mf.Problem(space, mf.exponential(3.0), mf.USA, law)
    run = simulate(problem, until=0.05, unit="paper", save=2)
    dataset = run.to_xarray(grid=64)
    assert dataset.time.attrs["units"] == "paper time" and dataset.time.values[-1] == 0.05
    density = dataset.density.sel(time=0.05)
    if space.dimension == 1:
        assert float(density.mean()) == pytest.approx(1.0, abs=1e-14)
        at = density.idxmax("angle")
        assert float(density.sel(angle=at)) == run.density(float(at))
        assert abs(float(at) - 0.5) < 0.1
    else:
        assert density.sizes == {"lat": 32, "lon": 64}
        # By the middles of cells: to the square of their height.
        assert float(density.weighted(np.cos(density.lat)).mean()) == pytest.approx(1.0, rel=1e-3)
        at = density.argmax(...)
        where = float(density.lon[at["lon"]]), float(density.lat[at["lat"]])
        assert where == pytest.approx((np.pi / 2, np.arcsin(0.8)), abs=0.1)
    tokens = simulate(problem, until=0.1, save=2, representation="particles", tokens=5, seed=1)
    assert np.isnan(tokens.to_xarray(grid=8).density).all()
    smooth = tokens.to_xarray(grid=8, width=0.5).density
    assert (smooth > 0).all() and smooth.attrs["width"] == 0.5


def test_grid_that_is_none_is_refused():
    """A dataset without its density, or an error of NumPy, would come instead."""
    run = simulate(mf.Problem(mf.Circle(), mf.linear(), mf.USA), until=1.0, save=2)
    for options, message in (
        ({"width": 0.1}, "width is of the density on a grid: give grid="),
        ({"grid": 1}, "grid must be a number of angles, at least 2, got 1"),
        ({"grid": 0}, "at least 2, got 0"),
        ({"grid": 10**10}, "grid must be at most 262144, got 10000000000"),
    ):
        refused(message, run.to_xarray, **options)
