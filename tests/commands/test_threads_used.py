"""How many threads of a process are really busy."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

RUN = """\
problem = { manifold = "sphere", beta = 9.0, normalized = true }
initial = { name = "uniform" }
representation = { name = "particles", tokens = 200000 }
time = { end = 1e4, save = 2 }
"""
# Ticks of processor time: threads that libraries start and never use have next to none.
BUSY = 20


def ticks(process):
    result = []
    for task in Path(f"/proc/{process}/task").iterdir():
        fields = (task / "stat").read_text().rpartition(")")[2].split()
        result.append(int(fields[11]) + int(fields[12]))
    return sorted(result)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no such file on this system")
@pytest.mark.parametrize(
    ("options", "environment", "expected"),
    [
        (["--threads", "1"], {"OMP_NUM_THREADS": "2"}, 1),
        (["--threads", "2"], {"MEANFIELD_THREADS": "1"}, 2),
        ([], {"MEANFIELD_THREADS": "1"}, 1),
        ([], {"OMP_NUM_THREADS": "1"}, 1),
    ],
)
def test_as_many_threads_are_busy_as_requested(tmp_path, options, environment, expected):
    """A job would take cores that a queue gave to others, or leave its own idle."""
    (tmp_path / "run.toml").write_text(RUN)
    reference = {k: v for k, v in os.environ.items() if "NUM_THREADS" not in k}
    process = subprocess.Popen(
        [sys.executable, "-m", "meanfield", "run", "run.toml", "--quiet", *options],
        cwd=tmp_path,
        env=reference | environment,
        stderr=subprocess.PIPE,
    )
    try:
        deadline = time.monotonic() + 300.0
        # Until the busiest has done ten times what counts as busy, all have had their turn.
        while (result := ticks(process.pid))[-1] < 30 * BUSY:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)
    finally:
        process.kill()
        process.communicate()
    assert sum(spent >= BUSY for spent in result) == expected, result
