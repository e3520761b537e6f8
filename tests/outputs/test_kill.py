"""Runs that are killed and interrupted at random instants: the file is whole, the result the same.

A helper process loads everything once and forks a run for each signal, so that many fit into
seconds. Runs write every snapshot at once: most signals arrive while the file is being written.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from meanfield.outputs.run_file import load
from meanfield.run import Run

HELPER = """\
import json, os, random, shutil, sys, time
from meanfield.commands.main import main
from meanfield.outputs import recorder
recorder._FLUSH_SECONDS = recorder._FLUSH_SHARE = 0.0
config, output = sys.argv[1:3]
number, count, seed, options = map(json.loads, sys.argv[3:])
# Compile and load before the first fork.
assert main(["run", config, "-o", output + ".warm", "--quiet", *options]) == 0

def start():
    child = os.fork()
    if child == 0:
        os._exit(main(["run", config, "-o", output, "--resume", "--quiet", *options]))
    return child

began = time.monotonic()
assert os.waitpid(start(), 0)[1] == 0
duration = time.monotonic() - began
shutil.move(output, output + ".reference")
rng, ends = random.Random(seed), []
for i in range(count):
    child = start()
    time.sleep(rng.uniform(0.005, 0.6 * duration))
    os.kill(child, number)
    ends.append(os.waitpid(child, 0)[1])
    if os.path.exists(output):
        shutil.copy(output, f"{output}.{i}")
    if ends[-1] == 0:
        os.remove(output)
assert os.waitpid(start(), 0)[1] == 0
print(json.dumps(ends))
"""

CONFIG = """\
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
save = 12
"""
PARTICLES = ["--set", "representation.name=particles", "--set", "representation.tokens=40"]
SPHERE = ["--set", "problem.manifold=sphere", "--set", "initial.modes=[[1, 0, 0.1], [3, -2, 0.05]]"]
AUTO = ["--set", "problem.normalized=true", "--set", "time.end=1e6", "--set", "time.spacing=log"]
AUTO += ["--set", "time.first=2"]
REPRESENTATIONS = {
    "density": [],
    "particles": PARTICLES,
    "noisy particles": [*PARTICLES, "--set", "problem.diffusivity=0.05", "--set", "time.step=0.25"],
    "auto": AUTO,
    "density on the sphere": SPHERE,
    "particles on the sphere": SPHERE + PARTICLES,
}

# Half a minute each on a busy machine.
DEAR = ("auto", "density on the sphere", "particles on the sphere")


def signalled_runs(
    folder: Path, number: int, count: int, options: list[str]
) -> tuple[list[int], Run, list[Run], Run]:
    """Exit states, the undisturbed run, the file after each signal, and the run at the end."""
    config, output = folder / "run.toml", folder / "run.h5"
    config.write_text(CONFIG)
    told = [json.dumps(value) for value in (int(number), count, 1, ["--threads", "1", *options])]
    done = subprocess.run(
        [sys.executable, "-c", HELPER, str(config), str(output), *told],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    copies = [folder / f"run.h5.{i}" for i in range(count)]
    runs = [load(copy) for copy in copies if copy.exists()]
    return json.loads(done.stdout), load(f"{output}.reference"), runs, load(output)


def assert_rows_equal(run: Run, reference: Run) -> None:
    """Every number of the run, bit for bit, is that of the first rows of the other one."""
    n = len(run.time)
    assert np.array_equal(run.time, reference.time[:n])
    assert run.representation == reference.representation[:n]
    if n:
        assert np.array_equal(run.moments, reference.moments[:n])
    for mine, theirs in (
        (run.observables, reference.observables),
        (run.diagnostics, reference.diagnostics),
    ):
        for name, values in mine.items():
            expected = theirs[name][:n]
            if values.ndim > 1:
                width = min(values.shape[1], expected.shape[1])
                values, expected = values[:, :width], expected[:, :width]
            assert np.array_equal(values, expected, equal_nan=True), name
    for mine, theirs in zip(run.measures, reference.measures, strict=False):
        assert np.array_equal(state(mine), state(theirs))


def state(measure: object) -> np.ndarray:
    """Numbers of a kept state."""
    return np.asarray(getattr(measure, "coefficients", getattr(measure, "points", None)))


def check(folder: Path, number: int, count: int, representation: str) -> None:
    """Send signals; look at what is left."""
    ends, reference, runs, final = signalled_runs(
        folder, number, count, REPRESENTATIONS[representation]
    )
    expected = signal.SIGKILL if number == signal.SIGKILL else 130 << 8
    assert set(ends) <= {expected, 0}
    assert sum(end != 0 for end in ends) > count / 2
    assert max(len(run.time) for run in runs) > 1
    for run in runs:
        assert_rows_equal(run, reference)
        if number != signal.SIGKILL:
            assert run.status == "completed" or run.status.startswith("interrupted at t = ")
    assert len(final.time) == len(reference.time)
    assert final.status == "completed"
    assert_rows_equal(final, reference)
    assert final.attributes["result_hash"] == reference.attributes["result_hash"]
    assert repr(final.events) == repr(reference.events)
    leftovers = {path.suffix for path in folder.iterdir()} & {".partial", ".lock"}
    assert not leftovers


@pytest.mark.parametrize(
    "representation",
    [
        pytest.param(name, marks=pytest.mark.slow) if name in DEAR else name
        for name in REPRESENTATIONS
    ],
)
def test_killed_runs_go_on_to_the_same_bits(tmp_path: Path, representation: str) -> None:
    """A power cut would cost the run, or change its result."""
    check(tmp_path, signal.SIGKILL, 15, representation)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_runs_go_on_to_the_same_bits(tmp_path: Path, number: int) -> None:
    """Ctrl-C, or a queue that needs the machine, would cost the run or change its result."""
    check(tmp_path, number, 6, "density")


@pytest.mark.slow
@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_many_signals(tmp_path: Path, number: int, representation: str) -> None:
    """A rarer instant would cost the run or change its result."""
    check(tmp_path, number, 200, representation)
