"""Run circle_clusters and hold it against what is known without running it.

While the perturbation is small every mode grows at its own rate lambda_k; later the energy
only rises and the mass stays 1. Prints each number beside its expectation and draws run.png.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

import meanfield as mf
from meanfield.commands.main import main as meanfield

FOLDER = Path(__file__).parent
EARLY = 2.0  # scaled time up to which the largest mode grows by less than a fifth


def main() -> int:
    """Run, check, draw."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--short", action="store_true", help="the same: it takes seconds")
    options.parse_args()
    run_file = FOLDER / "run.h5"
    status = meanfield(["run", str(FOLDER / "run.toml"), "--overwrite", "--quiet"])
    if status:
        return status
    run = mf.load(run_file)
    row = int(np.searchsorted(run.time, EARLY))
    grown = np.log(np.abs(run.moments[row]) / np.abs(run.moments[0])) / run.time[row]
    print("degree  measured rate  lambda_k")
    for k in (1, 3, 4, 5):
        print(f"{k:6d}  {grown[k]:13.6f}  {run.growth_rates[k]:8.6f}")
    energy = run.observables["energy"]
    excess = np.abs(run.diagnostics["energy_rate"] - run.diagnostics["energy_dissipation"])
    balance = excess[np.array(run.representation) == "density"].max()
    peaks, clusters = run.observables["peaks"], run.cluster_counts()
    counts = peaks[0], peaks[-1], clusters[-1]
    print("peaks at the start and at the end, clusters at the end:", *map(int, counts))
    checks = {
        "mass drift": (float(np.abs(run.moments[:, 0] - 1.0).max()), 1e-14),
        "largest fall of the energy": (float(np.max(-np.diff(energy), initial=0.0)), 1e-13),
        "energy balance dE/dt - int |v|^2 dmu": (float(balance), 1e-13),
        "largest spectral tail": (float(np.nanmax(run.observables["resolution"])), 1e-10),
        "rate of degree 4, relative error": (abs(grown[4] / run.growth_rates[4] - 1.0), 0.02),
        "counts other than 3, 4 and 4": (float(counts != (3, 4, 4)), 0.0),
    }
    for name, (found, allowed) in checks.items():
        print(f"{name}: {found:.2e} (allowed {allowed:.0e})")
    meanfield(["plot", str(run_file), "-o", str(FOLDER / "run.png")])
    return int(any(not found <= allowed for found, allowed in checks.values()))


if __name__ == "__main__":
    sys.exit(main())
