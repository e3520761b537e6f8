"""Going on with a run file: what may differ, what stays, and that the numbers are the same.

Every saved time, more representations and other processes: `test_runs`.
"""

import numpy as np
import pytest
from parameters import refused
from run_folder import Folder

from meanfield.recording import execute, times_after
from meanfield.runfile import ConfigError, load_config
from meanfield.store.run_file import load

LOGARITHMIC = ["time.spacing=log", "time.first=2"]
REPRESENTATIONS = {
    "density": [],
    "normalized": ["problem.normalized=true", "time.end=6"],
    "particles": ["representation.name=particles", "representation.tokens=30"],
    "many": ["representation.name=particles", "representation.tokens=1000"],
    "noisy": ["problem.diffusivity=0.05", "representation={name='particles', tokens=30, seed=3}",
              "time.step=0.25"],
    "characteristics": ["representation.name=characteristics"],
    # density, characteristics and atoms, with hand-overs between the saved times
    "auto": ["problem.normalized=true", "time.end=1e6", "time.save=9", *LOGARITHMIC],
    "meeting": ["initial={name='atoms', angles=[0, 0.4, 1, 2.5, 2.6]}", "time.end=1e6",
                *LOGARITHMIC],
    "atoms": ["initial={name='atoms', angles=[0, 1, 2.5], weights=[0.5, 0.25, 0.25]}"],
}  # fmt: skip


def test_output_may_change_on_the_way(folder):
    """Series of other observables would be of different lengths, or other states be refused."""
    folder.run("output.observables=['entropy']", stop_after=3)
    folder.run("output={observables=['order_parameter'], state='none'}", resume=True)
    run = load(folder.output)
    of = run.observables
    assert np.isnan(of["entropy"]).tolist() == [False] * 3 + [True] * 6
    assert np.isnan(of["order_parameter"]).tolist() == [True] * 3 + [False] * 6
    assert not np.any(np.isnan(of["energy"]))
    assert [m is not None for m in run.measures] == [True] * 3 + [False] * 6


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def assert_equal_runs(first, second):
    assert np.array_equal(first.time, second.time)
    assert np.array_equal(first.moments, second.moments)
    assert first.attributes["result_hash"] == second.attributes["result_hash"]
    assert first.representation == second.representation
    # NaN is not equal to itself.
    assert repr(first.events) == repr(second.events)
    for mine, theirs in (
        (first.observables, second.observables),
        (first.diagnostics, second.diagnostics),
    ):
        assert mine.keys() == theirs.keys()
        for name in mine:
            assert np.array_equal(mine[name], theirs[name], equal_nan=True), name
    for one, other in zip(first.measures, second.measures, strict=True):
        for name in ("coefficients", "points", "weights"):
            assert np.array_equal(getattr(one, name, None), getattr(other, name, None))


def same_as_at_once(folder, *overrides):
    """Check that the file is, to the bit, that of the run that was never interrupted."""
    resumed = load(folder.output)
    folder.run(*overrides, overwrite=True)
    assert_equal_runs(resumed, load(folder.output))
    return resumed


@pytest.mark.slow
@pytest.mark.parametrize("name", REPRESENTATIONS)
def test_resumed_run_is_the_uninterrupted_one(folder, name):
    """The result would depend on when a queue needed the machine."""
    overrides = REPRESENTATIONS[name]
    folder.run(*overrides, stop_after=2)
    assert load(folder.output).status.startswith("interrupted at t = ")
    assert len(folder.run(*overrides, resume=True)) == 7
    assert same_as_at_once(folder, *overrides).status == "completed"


@pytest.mark.slow
def test_chain_of_many_interruptions_changes_nothing(folder):
    """Small differences would add up."""
    while not folder.output.exists() or load(folder.output).status != "completed":
        folder.run(stop_after=1, resume=True)
    same_as_at_once(folder)


@pytest.mark.slow
def test_resume_without_a_file_starts(folder):
    """A script that always says --resume would never start."""
    assert len(folder.run(resume=True)) == 9


@pytest.mark.slow
def test_resume_of_a_file_without_rows_starts(folder):
    """A run that was killed before its first row could not go on."""
    folder.run()
    complete = load(folder.output)
    stream = execute(load_config(folder.config, (), folder.output), overwrite=True)
    config = load_config(folder.config, (), folder.output)
    stream.close()
    # An earlier file would stay until there is a row.
    folder.output.unlink()
    with pytest.raises(ZeroDivisionError):
        list(execute(config, overwrite=True, watch=lambda: 1 // 0))
    assert len(load(folder.output).time) <= 1
    folder.run(resume=True)
    assert_equal_runs(load(folder.output), complete)


@pytest.mark.slow
def test_completed_run_is_done_at_once(folder):
    """A script that is started again would compute everything again, or touch the file."""
    folder.run()
    before = folder.output.read_bytes()
    assert folder.run(resume=True) == []
    assert folder.run("time.end=10", resume=True) == []
    assert folder.run("time.save=5", "output.state=none", resume=True) == []
    assert folder.output.read_bytes() == before


@pytest.mark.slow
def test_larger_end_extends_the_run_and_keeps_what_was_saved(folder):
    """A run too short would start again, or times that no longer fit be removed."""
    folder.run("time.end=10", "time.save=5")
    assert folder.run("time.end=15", "time.save=4", resume=True) == [15.0]
    assert load(folder.output).time.tolist() == [0.0, 2.5, 5.0, 7.5, 10.0, 15.0]
    assert "end = 15" in load(folder.output).attributes["config"]
    folder.run("time.end=10", "time.save=5", overwrite=True)
    assert folder.run("time.end=20", "time.save=9", resume=True) == [12.5, 15.0, 17.5, 20.0]
    same_as_at_once(folder)
    assert "end = 20" in load(folder.output).attributes["config"]


@pytest.mark.slow
@pytest.mark.parametrize("new", [13, 17, 31])
def test_extension_saves_no_time_twice(folder, new):
    """Another spacing rounds other times: 1.2 and 1.2000000000000002 would both be saved."""
    end = 0.1 * (new - 1)
    cut = [*REPRESENTATIONS["atoms"], "time.end=0.6", "time.save=7"]
    folder.run(*cut)
    folder.run(*cut[:1], f"time.end={end}", f"time.save={new}", resume=True)
    time = load(folder.output).time
    assert len(time) == new
    assert np.abs(np.diff(time) - 0.1).max() < 1e-9


def test_requested_times_are_different_however_close():
    """A run that was interrupted between two close times would lose the second one."""
    close = np.array([1.0, 1.2, np.nextafter(1.2, 2.0), 1.3])
    assert times_after(close, 1.2).tolist() == close[2:].tolist()
    assert times_after(close[[0, 2, 3]], 1.2).tolist() == [1.3]
    assert times_after(close, 0.0).tolist() == close.tolist()
    assert times_after(close, 1.3).tolist() == []


@pytest.mark.slow
def test_everything_saved_but_the_last_word(folder):
    """A run whose end was cut off would stay interrupted for ever."""
    shorter = ("time.end=10", "time.save=5")
    folder.run(stop_after=5)
    assert load(folder.output).status == "interrupted at t = 10"
    assert folder.run(*shorter, resume=True) == []
    run = same_as_at_once(folder, *shorter)
    assert run.status == "completed" and "end = 10" in run.attributes["config"]


@pytest.mark.slow
def test_resume_that_is_interrupted_at_once_says_how_far_it_is(folder):
    """The status would be that of a run that has only begun."""
    folder.run(stop_after=5)
    config = load_config(folder.config, (), folder.output)
    with pytest.raises(ZeroDivisionError):
        list(execute(config, resume=True, watch=lambda: 1 // 0))
    assert load(folder.output).status == "failed at t = 10"


@pytest.mark.slow
def test_resume_refuses_another_kernel_of_the_same_name(folder):
    """A function that was edited meanwhile would go on with the state of another problem."""
    kernel = folder.config.with_name("k.py")
    overrides = ["problem.kernel=zonal", "problem.attention=k.py:f", *REPRESENTATIONS["atoms"]]
    kernel.write_text("def f(s):\n    return 1.0 + 0.8 * s\n")
    folder.run(*overrides, stop_after=3)
    before = folder.output.read_bytes()
    kernel.write_text("def f(s):\n    return 1.0 + 0.7 * s\n")
    with pytest.raises(ConfigError, match=r"attention is another function than that of .*run\.h5"):
        folder.run(*overrides, resume=True)
    assert folder.output.read_bytes() == before
    kernel.write_text("def f(s):\n    return 0.8 * s + 1.0\n")
    folder.run(*overrides, resume=True)
    assert load(folder.output).status == "completed"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("problem.beta=5", r"\[problem\] beta"),
        ("problem.normalized=true", r"\[problem\] normalization"),
        ("initial.modes=[[1, 0.2, 0.0]]", r"\[initial\] modes"),
        ("representation.tolerance=1e-9", r"\[representation\] tolerance"),
        ("representation.max_degree=100", r"\[representation\] max_degree"),
        ("time.unit=paper", r"\[time\] unit"),
        ("time.stop=one_cluster", r"\[time\] stop"),
        ("compare.runs=5", r"\[compare\] runs"),
    ],
)
def test_resume_refuses_another_run(folder, override, key):
    """Two halves of different runs would be taken for one."""
    folder.run(stop_after=3)
    before = folder.output.read_bytes()
    with pytest.raises(ConfigError, match=rf"run\.toml: {key} differs from that of .*run\.h5"):
        folder.run(override, resume=True)
    assert folder.output.read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "override", ["problem.strength=1.0", "problem.beta=4", "time.unit=scaled", "compare.runs=20"]
)
def test_a_default_that_is_written_out_is_no_difference(folder, override):
    """A user would have to start again for having said what was meant anyway."""
    folder.run(stop_after=3)
    folder.run(override, resume=True)
    assert load(folder.output).status == "completed"


@pytest.mark.slow
def test_damaged_output_is_not_continued(folder):
    """A run would go on from garbage."""
    folder.run(stop_after=3)
    folder.output.write_bytes(folder.output.read_bytes()[:-5000])
    refused("is damaged", folder.run, resume=True)
    folder.output.write_text("something else")
    refused("is not a readable HDF5 file", folder.run, resume=True)
