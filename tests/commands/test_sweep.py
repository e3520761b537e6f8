"""`meanfield sweep`: product and order, resuming, processes, and what it says."""

import json
import pickle
import shutil
from concurrent.futures import Executor, Future
from contextlib import chdir
from typing import Any

import numpy as np
import pytest
from command_line import killed
from parameters import refused

import meanfield as mf
from meanfield.commands.main import main
from meanfield.studies.sweep_results import Sweep


@pytest.fixture
def config(results):
    return results.config


OVER = ("problem.beta=1:1.5:2", "problem.normalization=softmax,none")


def sweep(config, folder, *options, over=OVER):
    arguments = [each for one in over for each in ("--over", one)]
    command = ["sweep", str(config), *arguments, "-o", str(folder), "--quiet", "--workers", "1"]
    return main([*command, *options])


def hashes(folder):
    return [member.result_hash for member in mf.load_sweep(folder).members]


@pytest.mark.slow
def test_members_are_the_runs_of_the_product(config, tmp_path, capsys):
    """A value would go to another member; arrays, table or a figure would not be the runs'."""
    folder, figure = tmp_path / "x", tmp_path / "x.png"
    assert sweep(config, folder, "--json", "--plot", str(figure)) == 0
    facts = json.loads(capsys.readouterr().out)
    product = [(beta, flow) for beta in (1.0, 1.5) for flow in ("softmax", "none")]
    assert [tuple(member["overrides"].values()) for member in facts["members"]] == product
    run = mf.load(folder)
    assert isinstance(run, Sweep) and run.shape == (2, 2)
    assert run.names == ("beta", "normalization")
    dataset = run.to_xarray()
    for i, (beta, flow) in enumerate(product):
        alone = mf.run(config, problem={"beta": beta, "normalization": flow})
        chosen = dataset.sel(beta=beta, normalization=flow)
        np.testing.assert_array_equal(chosen.order_parameter, alone.observables["order_parameter"])
        np.testing.assert_array_equal(chosen.clusters, alone.cluster_counts())
        np.testing.assert_array_equal(run.runs[i].moments, alone.moments)
        assert facts["values"]["order_parameter"][i] == alone.observables["order_parameter"][-1]
    np.testing.assert_array_equal(dataset.time, [0.0, 2.0, 4.0])
    assert run.run(beta=1.5, normalization="none").problem.beta == 1.5
    assert figure.read_bytes().startswith(b"\x89PNG")
    # What a run is continued by is the run file with the overrides.
    set_ = ["--set", "problem.beta=1", "--set", "problem.normalization=softmax"]
    assert main(["run", str(config), *set_, "-o", str(folder / "001.h5"), "--resume"]) == 0
    assert main(["info", str(folder), "--csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("001.h5,1.0,softmax,4.0,nan,")


@pytest.mark.slow
def test_lazy_dataset_reads_runs_when_they_are_computed(results, config, tmp_path, monkeypatch):
    """A dataset of thousands of runs would open them all, or hold other numbers."""
    eager = mf.load_sweep(results["sweep"]).to_xarray()
    result, read, opened = mf.load_sweep(results["sweep"]), Sweep.read, []
    monkeypatch.setattr(Sweep, "read", lambda *options: opened.append(1) or read(*options))
    lazy = result.to_xarray(lazy=True)
    assert lazy.sizes == eager.sizes and len(opened) == 1
    for name in eager.variables:
        np.testing.assert_array_equal(lazy[name].values, eager[name].values, name)
    assert len(opened) > 4
    sweep(config, tmp_path / "y", over=("time.save=3,5",))
    with pytest.raises(ValueError, match="other saved times"):
        mf.load_sweep(tmp_path / "y").to_xarray(lazy=True).order_parameter.load()


class Elsewhere(Executor):
    """Tasks of other processes, done here in a folder of their own and sent back."""

    def __init__(self, folder):
        self._folder = folder

    def submit(self, function, /, *args, **kwargs):
        sent, done = pickle.dumps((function, args)), Future[Any]()
        assert len(sent) < 2000
        with chdir(self._folder):
            called, options = pickle.loads(sent)
            done.set_result(pickle.loads(pickle.dumps(called(*options))))
        return done


@pytest.mark.slow
def test_other_processes_make_the_same(results, config, tmp_path, monkeypatch):
    """A task would hold the whole product, or what it makes depend on where that is."""
    shutil.copy(config, tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    over = {"problem.beta": [1, 1.5], "problem.normalization": ["softmax", "none"]}
    there = mf.sweep(config.name, over, folder="x", executor=Elsewhere(tmp_path / "there"))
    assert hashes(there.folder) == hashes(results["sweep"])
    assert len(set(hashes(there.folder))) == 4


@pytest.mark.slow
def test_resuming_runs_what_is_missing(results, config, tmp_path):
    """Members that ended would be run again, those that did not be left, or come out different."""
    folder = shutil.copytree(results["sweep"], tmp_path / "x")
    index = json.loads((folder / "sweep.json").read_text())
    # One that a kill caught before the index told of it, one in the middle, one that is gone.
    index["members"][0] |= {"status": None, "result_hash": None}
    index["members"][1] |= {"status": "interrupted at t = 1", "result_hash": None}
    (folder / "sweep.json").write_text(json.dumps(index))
    half = ["--set", "problem.beta=1", "--set", "time.end=2", "--set", "time.save=2"]
    assert main(["run", str(config), *half, "-o", str(folder / "002.h5"), "--overwrite"]) == 0
    (folder / "003.h5").unlink()
    entries = {n: (folder / f"{n}.h5").stat().st_mtime_ns for n in ("001", "004")}
    assert sweep(config, folder, "--resume") == 0
    assert hashes(folder) == hashes(results["sweep"])
    assert entries == {n: (folder / f"{n}.h5").stat().st_mtime_ns for n in entries}
    assert mf.load_sweep(folder).attributes["sessions"] == 2


@pytest.mark.slow
def test_a_file_of_another_run_is_refused(results, config, tmp_path):
    """A table would give values at parameters that they are not of."""
    folder = shutil.copytree(results["sweep"], tmp_path / "x")
    (folder / "001.h5").write_bytes((folder / "002.h5").read_bytes())
    refused(r"001\.h5 is not the run that the index knows", mf.load_sweep(folder).values, "energy")
    assert sweep(config, folder, "--resume") == 2
    (folder / "001.h5").unlink()
    assert sweep(config, folder, "--resume") == 0
    assert len(set(mf.load_sweep(folder).values("energy").ravel())) == 4


def test_a_refused_sweep_leaves_the_run_file(tmp_path):
    """A sweep of a problem that is there, and may be running, would lose what it is of."""
    law = mf.perturbed_uniform([[2, 0.0, 0.2]])
    ones = [mf.Problem(mf.Circle(), mf.linear(), flow, law) for flow in (mf.USA, mf.SA)]
    options = {"folder": tmp_path / "x", "time": {"end": 1.0, "save": 2}}
    mf.sweep(ones[0], {"problem.strength": [1, 2]}, **options)
    before = (tmp_path / "x" / "sweep.toml").read_bytes()
    for resume, message in ((False, "holds a sweep"), (True, r"x/sweep\.toml: .* differs")):
        refused(message, mf.sweep, ones[1], {"problem.strength": [1, 2]}, resume=resume, **options)
        assert (tmp_path / "x" / "sweep.toml").read_bytes() == before


@pytest.mark.slow
def test_killed_at_any_moment_loses_nothing(config, tmp_path):
    """A kill would leave an index or a run that is broken, or another result."""
    folder, whole, over = tmp_path / "x", tmp_path / "whole", ("problem.beta=1:6:12",)
    words = ("sweep", config, "--over", *over, "-o", folder, "--resume", "--quiet", "--workers", 2)
    for wanted in (2, 5):
        killed(lambda: len(list(folder.glob("[0-9]*.h5"))) >= wanted, *words)  # noqa: B023
        mf.load_sweep(folder).table()
    assert None in hashes(folder)
    assert sweep(config, folder, "--resume", over=over) == 0
    assert sweep(config, whole, over=over) == 0
    assert hashes(folder) == hashes(whole)


@pytest.mark.slow
def test_members_that_end_early_stop_no_others(config, tmp_path, capsys):
    """A sweep would end at the first that fails, or call it done; its values would hide it."""
    folder = tmp_path / "x"
    density = "representation={name='density', max_degree=32}"
    values = (density, "problem.beta=3", "initial.modes=[[2,0,0.2]]", "time={end=20, save=9}")
    fixed, over = [word for each in values for word in ("--set", each)], ("problem.strength=-1,1",)
    assert sweep(config, folder, *fixed, over=over) == 1
    said = capsys.readouterr()
    assert "1 of 2 runs did not complete: 002.h5 under-resolved at t =" in said.err
    assert "under-resolved at t =" in said.out
    result = mf.load_sweep(folder)
    assert result.statuses[0] == "completed" and result.statuses[1].startswith("under-resolved")
    dataset, last = result.to_xarray(), result.values("time")
    assert last[0] == 20.0 and 0.0 < last[1] < 20.0
    assert np.isnan(dataset.order_parameter.sel(strength=1, time=20.0))
    # Nothing would come out otherwise if it ran again.
    before = (folder / "002.h5").stat().st_mtime_ns
    assert sweep(config, folder, *fixed, "--resume", over=over) == 1
    assert (folder / "002.h5").stat().st_mtime_ns == before


@pytest.mark.slow
def test_times_that_differ_leave_the_last_values(config, tmp_path):
    """Values of different times would stand in one column."""
    assert sweep(config, tmp_path / "x", over=("time.end=1,3",)) == 0
    dataset = mf.load_sweep(tmp_path / "x").to_xarray()
    assert "time" not in dataset.dims and "saved times differ" in dataset.attrs["values"]
    np.testing.assert_array_equal(dataset.last_time, [1.0, 3.0])


@pytest.mark.slow
def test_overwriting_leaves_no_earlier_run(config, tmp_path):
    """Runs of a larger sweep would stay in the folder; what is no sweep would be written into."""
    folder = tmp_path / "x"
    assert sweep(config, folder, over=("problem.beta=1:2:3",)) == 0
    assert sweep(config, folder, "--overwrite", over=("problem.beta=5,6",)) == 0
    assert sorted(each.name for each in folder.iterdir()) == ["001.h5", "002.h5", "sweep.json"]
    np.testing.assert_array_equal(mf.load_sweep(folder).table()["beta"], [5, 6])
    assert sweep(config, tmp_path, over=("problem.beta=5,6",)) == 2
