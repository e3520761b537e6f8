"""Studies that are killed, interrupted, or lose a worker: whole files, the same result, no orphans.

Studies of one process are struck as runs are; others also by killing a worker, and by
signals to all of them, as a terminal sends them.
"""

from __future__ import annotations

import random
import signal
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
import pytest
from children import STOPPING, at_calls, command, info, leftovers, traced, warm
from run_folder import SMALL

KILL = signal.SIGKILL
CONFIG = (
    SMALL
    + """\
compare = { tokens = [10, 20], runs = 3 }
ensemble = { tokens = [10, 20], runs = 40 }
"""
)
# What tells which results are there.
DONE = {"compare": "distances", "ensemble": "counts"}

pytestmark = [pytest.mark.slow, traced]


@dataclass
class Study:
    """A study that is struck and resumed, and what it would be undisturbed."""

    name: str
    folder: Path
    workers: int
    seconds: float = 0.0
    calls: int = 0
    done: int = 0

    @property
    def path(self):
        return self.folder / "study.h5"

    def arguments(self):
        several = ["--workers", str(self.workers), "--threads", str(self.workers)]
        return [self.name, "run.toml", "-o", "study.h5", "--resume", "--quiet", *several]

    def look(self):
        """How much the file holds, which must be that of the undisturbed one, and not shrink."""
        if not self.path.exists():
            assert self.done == 0
            return 0
        info(self.path)
        with h5py.File(self.path) as mine, h5py.File(self.folder / "reference") as theirs:
            contents = there(self.name, mine)
            assert np.all(there(self.name, theirs)[contents])
            for name in data(mine):
                result, expected = mine[name][()], theirs[name][()]
                if result.shape[: contents.ndim] != contents.shape:
                    continue
                if result.ndim > contents.ndim:
                    width = min(result.shape[contents.ndim], expected.shape[contents.ndim])
                    assert np.isnan(expected[contents][:, width:]).all()
                    result, expected = (x[..., :width] for x in (result, expected))
                assert np.array_equal(result[contents], expected[contents], equal_nan=True), name
        assert contents.sum() >= self.done, "results were lost"
        self.done = int(contents.sum())
        return self.done

    def begin_again(self):
        self.path.unlink(missing_ok=True)
        self.done = 0

    def finish(self):
        """Resume, and check all bits against the undisturbed study."""
        command(self.folder, *self.arguments()).check(0)
        self.look()
        with h5py.File(self.path) as mine, h5py.File(self.folder / "reference") as theirs:
            for name in ("status", "result_hash"):
                assert mine.attrs[name] == theirs.attrs[name]
        assert not leftovers(self.folder)


def data(file):
    return (name for name in file if not file[name].is_scale)


def there(name, file):
    values = file[DONE[name]][()]
    return values >= 0 if values.dtype.kind == "i" else np.isfinite(values)


def start_study(folder, name, workers):
    """A study that is about to begin; the undisturbed one is done by one process."""
    (folder / "run.toml").write_text(CONFIG)
    alone = Study(name, folder, 1)
    warm(folder, *alone.arguments())
    alone.path.rename(folder / "reference")
    study = Study(name, folder, workers)
    # Only what one process does can be counted.
    end = command(folder, *study.arguments(), **({"call": -1} if workers == 1 else {}))
    end.check(0)
    study.seconds, study.calls = end.seconds, end.calls
    study.finish()
    study.begin_again()
    return study


def struck(study, **fault):
    """Strike a study as it goes on, look at what is left, and say what became of it."""
    end = command(study.folder, *study.arguments(), **fault)
    number, worker = fault["signal"], fault.get("aim") == "worker"
    end.check(0, 1 if worker else -KILL if number == KILL else 130)
    assert end.status != 1 or "a worker process: ended unexpectedly" in end.err
    study.look()
    if end.status == 0:
        study.begin_again()
    return {0: "finished", 1: "told"}.get(end.status, "ended")


def at_instants(study, count, seed, **fault):
    """Strike a study, and what goes on from there, at random instants."""
    rng = random.Random(seed)
    ends = Counter()
    for _ in range(count):
        ends[struck(study, after=rng.uniform(0.0, 0.9 * study.seconds), **fault)] += 1
    study.finish()
    return ends


@pytest.mark.parametrize("name", DONE)
def test_many_signals_cost_no_results(tmp_path, name, survived):
    """A rarer instant would cost a study, or change its result."""
    study = start_study(tmp_path, name, 1)
    for number in (KILL, *STOPPING):
        study.begin_again()
        ends = at_instants(study, 15, int(number), signal=number)
        survived("signals", f"{signal.Signals(number).name} at random instants: {name}", 15, **ends)


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("name", DONE)
def test_every_call(tmp_path, name, part, survived):
    """Between two steps of a write the file would be neither the old one nor the new one."""
    study = start_study(tmp_path, name, 1)
    calls = list(range(3 * part, study.calls + 1, 12))
    ends = at_calls(struck, study, (KILL, *STOPPING), calls)
    survived("signals", f"inside a write: {name}", len(calls), **ends)


POOLS = [
    ("command", KILL, 8),
    ("worker", KILL, 5),
    ("session", signal.SIGINT, 5),
    ("session", signal.SIGTERM, 5),
    ("session", signal.SIGHUP, 5),
    ("command", signal.SIGTERM, 3),
]


@pytest.mark.parametrize(("aim", "number", "count"), POOLS)
@pytest.mark.parametrize("name", DONE)
def test_pools_leave_nothing(tmp_path, name, aim, number, count, survived):
    """Orphaned processes would go on, or a study of many processes would lose its results."""
    study = start_study(tmp_path, name, 2)
    ends = at_instants(study, count, 1, signal=number, aim=aim)
    what = {"command": "the first process", "worker": "a worker", "session": "all processes"}[aim]
    said = f"{signal.Signals(number).name} to {what} of several: {name}"
    survived("signals", said, count, **ends)
