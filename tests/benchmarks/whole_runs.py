"""How long do the experiments' evolutions take, besides imports, compilation and figures?

Runs circle_clusters and published_notebook through the same code as `meanfield run`, file
included, and prints medians; beside the notebook's job, what 6,000 Euler steps of the compiled
direct sum would take, extrapolated from one. Run: python tests/benchmarks/whole_runs.py
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from meanfield.config import load_config
from meanfield.execute import execute
from meanfield.manifolds.circle.pairs import exponential_velocity_circle

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
EULER_STEPS = 6000


def seconds(name: str, folder: str) -> float:
    """Wall time of one run file, from reading it to the closed output."""
    began = time.perf_counter()
    config = load_config(EXPERIMENTS / name / "run.toml", output=Path(folder) / f"{name}.h5")
    for _ in execute(config, overwrite=True):
        pass
    return time.perf_counter() - began


def main() -> None:
    """Print medians."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="few rounds")
    rounds = 3 if options.parse_args().quick else 9
    medians = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("circle_clusters", "published_notebook"):
            seconds(name, folder)
            medians[name] = statistics.median(seconds(name, folder) for _ in range(rounds))
            print(f"{name}: {medians[name]:.3f} s")
    angles = 2 * np.pi * np.random.default_rng(0).random(20_000)
    weights = np.full(len(angles), 1.0 / len(angles))
    exponential_velocity_circle(angles, weights, 5.0, False)
    began = time.perf_counter()
    exponential_velocity_circle(angles, weights, 5.0, False)
    direct = EULER_STEPS * (time.perf_counter() - began)
    ratio = direct / medians["published_notebook"]
    print(
        f"6,000 Euler steps by the compiled direct sum: {direct:.0f} s, {ratio:.0f} times as long"
    )


if __name__ == "__main__":
    main()
