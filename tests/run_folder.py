"""A folder with a run file, for tests that run it in parts; and the run file of most of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import meanfield as mf
from meanfield.recording import execute
from meanfield.runfile import ConfigError, load_config
from meanfield.runs import Run
from meanfield.store.run_file import load

CIRCLE = """\
[problem]
normalization = "none"
manifold = "circle"
beta = 4.0
[initial]
name = "perturbed_uniform"
modes = [[1, 0.1, 0.0], [3, 0.0, 0.05]]
[representation]
tolerance = 1e-8
"""
"""Run file without times."""

SMALL = """\
problem = { manifold = "circle", beta = 3.0, normalization = "none" }
initial = { name = "perturbed_uniform", modes = [[2, 0.0, 0.2]] }
representation = { tolerance = 1e-4 }
time = { end = 1.0, save = 2 }
"""
"""Run file of studies of short runs, without a section of theirs."""

TEXT = f"""title = "small"
{CIRCLE}[time]
end = 20.0
save = 9
"""


def digest(path: Path) -> Any:
    """Status and hash of a study, or of each member of a sweep: the same for equal bits."""
    run = mf.load(path)
    if isinstance(run, mf.Sweep):
        return [(member.status, member.result_hash) for member in run.members]
    return run.attributes["status"], run.attributes["result_hash"]


class Folder:
    """A folder with a run file, and what is run in it."""

    def __init__(self, path: Path, text: str = TEXT) -> None:
        self.config = path / "run.toml"
        self.config.write_text(text)
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

    def record(self, *overrides: str, **options: Any) -> Run:
        self.run(*overrides, **options)
        return load(self.output)


def whole_and_resumed(path: Path, text: str, overrides: Sequence[str]) -> list[Run]:
    """A run at once, and one that stops half-way and is resumed: equal to the bit."""
    runs = []
    for stop in (None, 2):
        folder = Folder(path, text)
        folder.run(*overrides, stop_after=stop, overwrite=True)
        if stop:
            assert load(folder.output).status != "completed"
            folder.run(*overrides, resume=True)
        runs.append(load(folder.output))
        assert runs[-1].status == "completed"
    assert runs[0].attributes["result_hash"] == runs[1].attributes["result_hash"]
    return runs


def refused_in_one_line(message: str, path: Path, text: str, overrides: Sequence[str]) -> None:
    """Check that a run file with changes is refused with this message, and its section."""
    (path / "run.toml").write_text(text)
    with pytest.raises(ConfigError) as error:
        load_config(path / "run.toml", overrides)
    line = str(error.value)
    assert message in line and "[problem]" in line and "\n" not in line


def assert_resumes(path: Path, problem: mf.Problem, until: float) -> None:
    """A run of Python that is interrupted and resumed has the moments of the whole one."""

    def interrupt(time: float, measure: Any) -> None:
        if time > 0.0:
            raise KeyboardInterrupt

    whole = mf.simulate(problem, until, save=3, output=path)
    with pytest.raises(KeyboardInterrupt):
        mf.simulate(problem, until, save=3, output=path, overwrite=True, callback=interrupt)
    again = mf.simulate(problem, until, save=3, output=path, resume=True)
    assert np.array_equal(again.moments, whole.moments)
