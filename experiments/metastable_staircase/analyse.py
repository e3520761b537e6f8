"""From the prompt to one cluster with three carriers: plateaus and merge times.

One run has three representations: a density, characteristics when its spectrum is full, atoms when
only clusters are left. On a plateau the energy is the sum of squared masses. The last two clusters
meet at a time in closed form (docs/late-times.md, eq. 30). A run with a hundredth of the tolerance
must have the same merge times. Draws staircase.png, tree.png and run.png.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from claims import Claim, near_zero
from commands import run_command

import meanfield as mf
from meanfield.observables.cluster_tree import cluster_tree, plateaus
from meanfield.observables.clusters import cluster_radius
from meanfield.runfile import load_config

SECONDS = 20, 10
FOLDER = Path(__file__).parent
FIGURES = {"staircase": "staircase.png", "tree": "tree.png", "overview": "run.png"}
# Plateaus with a smaller ratio of their ends do not settle, and are not compared.
LASTING = 10.0


def main(short: bool) -> list[Claim]:
    """Run, draw, check."""
    began = time.perf_counter()
    evolve("run.h5")
    spent = time.perf_counter() - began
    for kind, name in FIGURES.items():
        run_command("plot", FOLDER / "run.h5", "--kind", kind, "-o", FOLDER / name)
    print(f"run {spent:.1f} s, with its figures {time.perf_counter() - began:.1f} s")
    run = mf.load(FOLDER / "run.h5")
    for event in run.events:
        if event.kind == "hand-over":
            print(f"t = {event.time:.4g}: {event.text}")
    checks = {
        "mass drift": (float(np.abs(run.moments[:, 0] - 1.0).max()), 1e-14),
        "largest fall of the energy": (
            float(np.max(-np.diff(run.observables["energy"]), initial=0.0)),
            1e-9,
        ),
        "energy of plateaus minus sum of squared masses": (plateau_error(run), 1e-5),
        "last merge against the closed form": (last_merge_error(run), 1e-8),
    }
    if not short:
        evolve("fine.h5", "representation.tolerance=1e-12")
        fine = mf.load(FOLDER / "fine.h5")
        times, finer = (cluster_tree(one.events).merge_times for one in (run, fine))
        checks["merge times against tolerance 1e-12, relative"] = (
            float(np.abs(times / finer - 1.0).max()),
            1e-6,
        )
    carriers = list(dict.fromkeys(run.representation))
    wrong = carriers != ["density", "characteristics", "atoms"]
    checks["carriers other than density, characteristics, atoms"] = (float(wrong), 0.0)
    return near_zero(checks)


def evolve(output: str, *changes: str) -> None:
    """Run `meanfield run` with some keys of the run file changed."""
    written = ["-o", FOLDER / output, "--overwrite", "--quiet"]
    run_command("run", FOLDER / "run.toml", *written, changes=changes)


def plateau_error(run: mf.Run) -> float:
    """Largest difference of the energy from sum m^2 in the middle of plateaus, in log time."""
    print("\nplateau from        to  energy    sum m^2   masses")
    worst = 0.0
    for plateau in plateaus(cluster_tree(run.events), lasting=LASTING):
        if not np.isfinite(plateau.end):
            continue
        row = int(np.searchsorted(run.time, np.sqrt(plateau.begin * plateau.end)))
        energy = run.observables["energy"][row]
        masses = ", ".join(f"{mass:.4f}" for mass in plateau.mass)
        span = f"{plateau.begin:10.2e}  {plateau.end:8.2e}"
        print(f"{span}  {energy:.6f}  {plateau.level:.6f}  {masses}")
        worst = max(worst, abs(energy - plateau.level))
    print()
    return worst


def last_merge_error(run: mf.Run) -> float:
    """Relative error of the last merge time, by the closed form for the last two clusters."""
    problem = load_config(FOLDER / "run.toml").problem
    counts = [len(m.points) if isinstance(m, mf.Measure) else 0 for m in run.measures]
    row = counts.index(2)
    two = run.measures[row]
    assert isinstance(two, mf.Measure)
    angle = float(problem.manifold.distance(two.points[:1], two.points[1:])[0])
    left = mf.two_cluster_time(problem, angle, cluster_radius(problem.kernel.beta))
    found = cluster_tree(run.events).merge_times[-1]
    expected = run.time[row] + left / float(two.mass.sum())
    print(
        f"last merge at t = {found:.9e}, closed form from t = {run.time[row]:.1e}: {expected:.9e}"
    )
    return float(abs(found / expected - 1.0))
