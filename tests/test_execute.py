"""Running a configuration end to end: starting, going on, extending, stopping."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from meanfield.config import ConfigError, load_config
from meanfield.execute import execute
from meanfield.outputs.recorder import OutputError
from meanfield.outputs.run_file import load
from meanfield.run import Run
from meanfield.trajectory import SimulationError

TEXT = """\
title = "small"
[problem]
manifold = "circle"
beta = 4.0
[initial]
name = "perturbed_uniform"
modes = [[1, 0.1, 0.0], [3, 0.0, 0.05]]
[representation]
tolerance = 1e-8
[time]
end = 20.0
save = 9
"""
LOGARITHMIC = ["time.spacing=log", "time.first=2"]
REPRESENTATIONS = {
    "density": [],
    "normalized": ["problem.normalized=true", "time.end=6"],
    "particles": ["representation.name=particles", "representation.tokens=30"],
    "many": ["representation.name=particles", "representation.tokens=1000"],
    "noisy": [
        "problem.diffusivity=0.05",
        "representation={name='particles', tokens=30, seed=3}",
        "time.step=0.25",
    ],
    "characteristics": ["representation.name=characteristics"],
    # density, characteristics and atoms, with hand-overs between the saved times
    "auto": ["problem.normalized=true", "time.end=1e6", "time.save=9", *LOGARITHMIC],
    "meeting": [
        "initial={name='atoms', angles=[0, 0.4, 1, 2.5, 2.6]}",
        "time.end=1e6",
        *LOGARITHMIC,
    ],
    "atoms": ["initial={name='atoms', angles=[0, 1, 2.5], weights=[0.5, 0.25, 0.25]}"],
}


class Folder:
    """A folder with a run file, and what is run in it."""

    def __init__(self, path: Path) -> None:
        self.config = path / "run.toml"
        self.config.write_text(TEXT)
        self.output = path / "run.h5"

    def run(self, *overrides: str, stop_after: int | None = None, **options: Any) -> list[float]:
        """Times that pass; the stream is closed after some."""
        stream = execute(load_config(self.config, overrides, self.output), **options)
        times = []
        for snapshot in stream:
            times.append(snapshot.time)
            if len(times) == stop_after:
                break
        stream.close()
        return times


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A folder with a run file."""
    return Folder(tmp_path)


def assert_equal_runs(first: Run, second: Run) -> None:
    """Equal to the bit, in everything that is computed."""
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


@pytest.mark.parametrize("name", REPRESENTATIONS)
@pytest.mark.parametrize("stop_after", [1, 2, 6])
def test_resumed_run_is_the_uninterrupted_one(
    folder: Folder, tmp_path: Path, name: str, stop_after: int
) -> None:
    """The result would depend on when a queue needed the machine."""
    overrides = REPRESENTATIONS[name]
    folder.run(*overrides, stop_after=stop_after)
    assert load(folder.output).status.startswith("interrupted at t = ")
    passed = folder.run(*overrides, resume=True)
    assert len(passed) == 9 - stop_after
    resumed = load(folder.output)
    folder.run(*overrides, overwrite=True)
    assert_equal_runs(resumed, load(folder.output))
    assert resumed.status == "completed"


def test_chain_of_many_interruptions_changes_nothing(folder: Folder) -> None:
    """Small differences would add up."""
    while not folder.output.exists() or load(folder.output).status != "completed":
        folder.run(stop_after=1, resume=True)
    resumed = load(folder.output)
    folder.run(overwrite=True)
    assert_equal_runs(resumed, load(folder.output))


def test_resume_without_a_file_starts(folder: Folder) -> None:
    """A script that always says --resume would never start."""
    assert len(folder.run(resume=True)) == 9


def test_resume_of_a_file_without_rows_starts(folder: Folder) -> None:
    """A run that was killed before its first row could not go on."""
    folder.run()
    complete = load(folder.output)
    stream = execute(load_config(folder.config, (), folder.output), overwrite=True)
    config = load_config(folder.config, (), folder.output)
    stream.close()
    with pytest.raises(ZeroDivisionError):
        list(execute(config, overwrite=True, watch=lambda: 1 // 0))
    assert len(load(folder.output).time) <= 1
    folder.run(resume=True)
    assert_equal_runs(load(folder.output), complete)


def test_completed_run_is_done_at_once(folder: Folder) -> None:
    """A script that is started again would compute everything again, or touch the file."""
    folder.run()
    before = folder.output.read_bytes()
    assert folder.run(resume=True) == []
    assert folder.run("time.end=10", resume=True) == []
    assert folder.run("time.save=5", "output.state=none", resume=True) == []
    assert folder.output.read_bytes() == before


def test_larger_end_extends_the_run(folder: Folder) -> None:
    """A run that turns out too short would have to start again."""
    folder.run("time.end=10", "time.save=5")
    assert folder.run("time.end=20", "time.save=9", resume=True) == [12.5, 15.0, 17.5, 20.0]
    extended = load(folder.output)
    folder.run(overwrite=True)
    assert_equal_runs(extended, load(folder.output))
    assert "end = 20" in load(folder.output).attributes["config"]


def test_extension_keeps_what_was_saved(folder: Folder) -> None:
    """Times that no longer fit the spacing would be refused, or removed."""
    folder.run("time.end=10", "time.save=5")
    assert folder.run("time.end=15", "time.save=4", resume=True) == [15.0]
    assert load(folder.output).time.tolist() == [0.0, 2.5, 5.0, 7.5, 10.0, 15.0]
    assert "end = 15" in load(folder.output).attributes["config"]


def test_everything_saved_but_the_last_word(folder: Folder) -> None:
    """A run whose end was cut off would stay interrupted for ever."""
    folder.run(stop_after=5)
    assert load(folder.output).status == "interrupted at t = 10"
    assert folder.run("time.end=10", resume=True) == []
    assert load(folder.output).status == "completed"


@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("problem.beta=5", r"\[problem\] beta"),
        ("problem.normalized=true", r"\[problem\] normalized"),
        ("initial.modes=[[1, 0.2, 0.0]]", r"\[initial\] modes"),
        ("representation.tolerance=1e-9", r"\[representation\] tolerance"),
        ("representation.max_degree=100", r"\[representation\] max_degree"),
        ("time.unit=paper", r"\[time\] unit"),
        ("time.stop=one_cluster", r"\[time\] stop"),
        ("compare.repetitions=5", r"\[compare\] repetitions"),
    ],
)
def test_resume_refuses_another_run(folder: Folder, override: str, key: str) -> None:
    """Two halves of different runs would be taken for one."""
    folder.run(stop_after=3)
    before = folder.output.read_bytes()
    with pytest.raises(ConfigError, match=rf"^run\.toml: {key} differs from that of .*run\.h5"):
        folder.run(override, resume=True)
    assert folder.output.read_bytes() == before


@pytest.mark.parametrize(
    "override",
    ["problem.strength=1.0", "problem.beta=4", "time.unit=scaled", "compare.repetitions=20"],
)
def test_a_default_that_is_written_out_is_no_difference(folder: Folder, override: str) -> None:
    """A user would have to start again for having said what was meant anyway."""
    folder.run(stop_after=3)
    folder.run(override, resume=True)
    assert load(folder.output).status == "completed"


def test_observables_may_change_on_the_way(folder: Folder) -> None:
    """A resumed run with other observables would have series of different lengths."""
    folder.run("output.observables=['entropy']", stop_after=3)
    folder.run("output.observables=['order_parameter']", resume=True)
    observables = load(folder.output).observables
    assert np.isnan(observables["entropy"]).tolist() == [False] * 3 + [True] * 6
    assert np.isnan(observables["order_parameter"]).tolist() == [True] * 3 + [False] * 6
    assert not np.any(np.isnan(observables["energy"]))


def test_states_may_change_on_the_way(folder: Folder) -> None:
    """`state` belongs to the output: a change would be refused or break the file."""
    folder.run(stop_after=3)
    folder.run("output.state=none", resume=True)
    assert [m is not None for m in load(folder.output).measures] == [True] * 3 + [False] * 6


def test_existing_output_is_kept(folder: Folder) -> None:
    """A run would be destroyed by the next one."""
    folder.run(stop_after=1)
    with pytest.raises(OutputError, match="exists: use --overwrite to replace it or --resume"):
        folder.run()


def test_damaged_output_is_not_continued(folder: Folder) -> None:
    """A run would go on from garbage."""
    folder.run(stop_after=3)
    folder.output.write_bytes(folder.output.read_bytes()[:-5000])
    with pytest.raises(ValueError, match="is not a readable HDF5 file"):
        folder.run(resume=True)
    folder.output.write_text("something else")
    with pytest.raises(ValueError, match="is not a readable HDF5 file"):
        folder.run(resume=True)


def test_one_cluster_ends_the_run(folder: Folder) -> None:
    """The run would go on after everything has happened, or stop at several clusters."""
    overrides = [*REPRESENTATIONS["many"], "problem.beta=1", "time.stop=one_cluster"]
    overrides += ["initial={name='von_mises_fisher', concentration=1.0}", "time.save=41"]
    times = folder.run(*overrides)
    run = load(folder.output)
    assert run.status == "completed" and 1.0 < times[-1] < 20.0
    counts, order = run.observables["clusters/count"], run.observables["order_parameter"]
    # Radius 0.25 / sqrt(beta) of the cluster rule.
    single = (counts == 1) & (order >= np.cos(0.25))
    assert single.tolist() == [False] * (len(times) - 1) + [True]
    # It is over, also for those who ask again or for more.
    assert folder.run(*overrides, resume=True) == []
    assert folder.run(*overrides, "time.end=30", resume=True) == []


def test_failure_is_raised_after_it_was_written(folder: Folder) -> None:
    """The reason would be known to the terminal only."""
    with pytest.raises(SimulationError, match="under-resolved"):
        folder.run(
            "representation.name=density",
            "representation.max_degree=24",
            "time.end=300",
            "time.save=301",
        )
    assert load(folder.output).status.startswith("under-resolved at t = ")


def test_watch_is_called_at_every_right_hand_side(folder: Folder) -> None:
    """A long step could not be interrupted."""
    calls = []
    config = load_config(folder.config, (), folder.output)
    snapshots = list(execute(config, watch=lambda: calls.append(1)))
    assert len(calls) >= snapshots[-1].diagnostics["evaluations"]
