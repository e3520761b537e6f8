"""How long does one wait before anything happens: commands, imports, compilation?

Processor seconds of new processes and their children, and wall time. With a warm cache of compiled
kernels, median (quartiles) of interleaved rounds:

    --version    `meanfield --version`
    stability    `meanfield stability --manifold circle --beta 9 --normalization none`, a row
    import       `import meanfield` alone
    peers        `import scipy.integrate, matplotlib.pyplot`, for comparison
    python       an interpreter that does nothing

Then with an empty cache, once each: `meanfield compile`; a first prediction on the sphere, until
its first line and to its end, and the same prediction again; README's first snippet up to its
answer, and again.
Run: python tests/benchmarks/start.py
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from side_by_side import Ratio, options

MEANFIELD = [sys.executable, "-m", "meanfield"]
FLOW = "--normalization=none"
SHORT = {
    "--version": [*MEANFIELD, "--version"],
    "stability": [*MEANFIELD, "stability", "--manifold", "circle", "--beta", "9", FLOW],
    "import": [sys.executable, "-c", "import meanfield"],
    "peers": [sys.executable, "-c", "import scipy.integrate, matplotlib.pyplot"],
    "python": [sys.executable, "-c", "pass"],
}
PREDICT = [*MEANFIELD, "predict", "--manifold", "sphere", "--beta", "5", "--tokens", "1000", FLOW]
README = Path(__file__).parents[2] / "README.md"


def first_snippet() -> list[str]:
    code = README.read_text(encoding="utf-8").split("```python\n")[1].partition("```")[0]
    lines = [line for line in code.splitlines() if not line.startswith("run.plot")]
    return [sys.executable, "-c", "\n".join(lines)]


def spent() -> float:
    """Processor seconds of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(command: list[str], environment: dict[str, str] | None = None) -> tuple[float, float]:
    """Processor and wall seconds of a command."""
    cpu, wall = spent(), time.perf_counter()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return spent() - cpu, time.perf_counter() - wall


def until_it_speaks(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Processor seconds until the first line of a command, and until its end.

    The line that kernels are being compiled does not count: nothing is known of progress yet.
    """
    before, first = spent(), float("nan")
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout is not None
    for line in process.stdout:
        if first != first and b"compiling kernels" not in line:
            first = _so_far(process.pid)
    assert process.wait() == 0
    return first, spent() - before


def _so_far(process: int) -> float:
    # Fields 14 to 17 of /proc/PID/stat: its own time and that of its ended children, in ticks.
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    rounds = 5 if options(__doc__).parse_args().quick else 15
    run(SHORT["stability"])
    values = np.array([[run(command) for command in SHORT.values()] for _ in range(rounds)])
    print(f"{'':10} {'CPU s':>20} {'wall s':>20}")
    for i, name in enumerate(SHORT):
        cpu, wall = (Ratio.of(values[:, i, clock]) for clock in range(2))
        print(f"{name:10} {cpu:>20} {wall:>20}", flush=True)
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        cpu, wall = run([*MEANFIELD, "compile"], {**os.environ, "NUMBA_CACHE_DIR": first})
        print(f"meanfield compile, empty cache: {cpu:.1f} s CPU, {wall:.1f} s wall")
        cached = {**os.environ, "NUMBA_CACHE_DIR": second}
        for when in ("empty cache", "again"):
            spoke, whole = until_it_speaks(PREDICT, cached)
            print(
                f"meanfield {' '.join(PREDICT[3:])}, {when}: "
                f"{spoke:.1f} s CPU to its first line, {whole:.1f} s in all"
            )
    with tempfile.TemporaryDirectory() as third:
        for when in ("empty cache", "again", "once more"):
            cpu, wall = run(first_snippet(), {**os.environ, "NUMBA_CACHE_DIR": third})
            print(f"README's first answer, {when}: {cpu:.1f} s CPU, {wall:.1f} s wall")


if __name__ == "__main__":
    main()
