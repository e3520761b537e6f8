"""Running a configuration end to end: starting and stopping, see `tests/resume` for going on."""

from pathlib import Path

import numpy as np
import pytest
from parameters import refused
from run_folder import Folder

import meanfield as mf
from meanfield.files import OutputError
from meanfield.recording import execute
from meanfield.runfile import load_config
from meanfield.store.run_file import load


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_existing_output_stays(folder):
    """A run would be destroyed by the next one."""
    folder.run(stop_after=1)
    refused("exists: use --overwrite to replace it or --resume", folder.run, error=OutputError)


@pytest.mark.slow
def test_one_cluster_ends_the_run(folder):
    """The run would go on after everything has happened, or stop at several clusters."""
    overrides = [
        "representation={name='particles', tokens=1000}", "problem.beta=1", "time.save=41",
        "time.stop=one_cluster", "initial={name='von_mises_fisher', concentration=1.0}",
    ]  # fmt: skip
    times = folder.run(*overrides)
    run = load(folder.output)
    assert run.status == "stopped: one_cluster" and run.finished and 1.0 < times[-1] < 20.0
    counts, order = run.observables["clusters/count"], run.observables["order_parameter"]
    # Radius 0.25 / sqrt(beta) of the cluster rule.
    single = (counts == 1) & (order >= np.cos(0.25))
    assert single.tolist() == [False] * (len(times) - 1) + [True]
    # It is over, also for those who ask again or for more.
    assert folder.run(*overrides, resume=True) == []
    assert folder.run(*overrides, "time.end=30", resume=True) == []
    check = mf.verify(run)["complete"]
    assert check.passed and check.note == "status: stopped: one_cluster"


@pytest.mark.slow
def test_evaluations_are_all_right_hand_sides(folder):
    """States at saved times are computed too: a count without them says 312 in place of 2,019."""
    calls: list[int] = []
    config = load_config(folder.config, (), folder.output)
    for snapshot in execute(config, watch=lambda: calls.append(1)):
        assert snapshot.diagnostics["evaluations"] == len(calls)
    assert len(calls) > 100
