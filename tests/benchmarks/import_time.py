"""How long does `import meanfield` take beside `import scipy.integrate, matplotlib.pyplot`?

Each import runs in a fresh interpreter, in turn; prints medians and their ratio.
Run: python tests/benchmarks/import_time.py
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys

IMPORTS = ("meanfield", "scipy.integrate, matplotlib.pyplot")


def seconds(what: str) -> float:
    """Wall time of one import, without the start of the interpreter."""
    code = (
        "import time; began = time.perf_counter()\n"
        f"import {what}\n"
        "print(time.perf_counter() - began)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    """Print medians and ratio."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="few rounds")
    rounds = 3 if options.parse_args().quick else 15
    times = [[seconds(what) for what in IMPORTS] for _ in range(rounds + 1)][1:]
    ours, theirs = (statistics.median(column) for column in zip(*times, strict=True))
    print(f"import {IMPORTS[0]}: {ours:.3f} s; import {IMPORTS[1]}: {theirs:.3f} s")
    print(f"ratio {ours / theirs:.2f}")


if __name__ == "__main__":
    main()
