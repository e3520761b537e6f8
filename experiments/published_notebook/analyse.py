"""Run the published notebook's job and time it: beta = 5, 20,000 tokens, paper time 0.6.

Prints the wall time of the evolution, the clusters, and where the dominant degree alone
would have put them: (2 pi j - arg c_3(0)) / 3.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import meanfield as mf
from meanfield.config import load_config
from meanfield.execute import execute

FOLDER = Path(__file__).parent


def main() -> int:
    """Run twice (the first compiles) and report the second."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--short", action="store_true", help="the same: it takes seconds")
    options.parse_args()
    config = load_config(FOLDER / "run.toml")
    for _ in range(2):
        began = time.perf_counter()
        for _ in execute(config, overwrite=True):
            pass
        spent = time.perf_counter() - began
    run = mf.load(config.output.path)
    problem = config.problem
    k = mf.dominant_degree(problem)
    onset = mf.onset_time(problem, config.options.tokens)
    predicted = (2 * np.pi * np.arange(k) - np.angle(run.moments[0, k])) / k % (2 * np.pi)
    count = int(run.observables["clusters/count"][-1])
    centres = run.observables["clusters/centre"][-1][:count] % (2 * np.pi)
    masses = run.observables["clusters/mass"][-1][:count]
    print(f"wall time {spent:.2f} s, {int(run.diagnostics['steps'][-1])} steps")
    print(f"onset time {onset * run.attributes['paper_time_factor']:.4f} (paper)")
    print(f"dominant degree {k} alone: clusters at {np.sort(predicted).round(2)}")
    print(f"found: {count} clusters at {np.sort(centres).round(2)}, masses {masses.round(3)}")
    return int(run.status != "completed")


if __name__ == "__main__":
    sys.exit(main())
