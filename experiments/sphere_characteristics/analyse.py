"""Accuracy of characteristics on the sphere while clusters form, and after.

With three tolerances, each refinement must reduce the differences of moments to degree 8, and an
independent density of high degree must agree. A run states the error of its cells, which must not
be too small for cells that are coarse compared with the steps. Then a resolved density hands over
to characteristics, whose flow starts without stretching.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from claims import Claim, near_zero

import meanfield as mf
from meanfield.carriers import Options, represent
from meanfield.observables import USUAL_OBSERVABLES, chosen_observables
from meanfield.problem import Problem
from meanfield.runfile import load_config
from meanfield.runs import assembled, observed
from meanfield.trajectory import trajectory

SECONDS = 300, 30
FOLDER = Path(__file__).parent
DEGREE = 8
# (end, hand-over, last end) in scaled time, tolerances from the start, tolerances after it.
WHOLE = (6.0, 6.0, 8.0), (1e-6, 1e-7, 1e-8), (1e-5, 1e-6, 1e-7)
SHORT = (5.0, 4.5, 6.0), (1e-6, 1e-7, 1e-8), (1e-4, 1e-5, 1e-6)
# Coarse cells with fine steps, so that cells dominate the error.
CELLS, STEPS = (1e-2, 1e-3, 1e-4), 1e-9
LATE = 1e-4, 1e-5
ALLOWED = 1e-6


def main(short: bool, *, late: bool = False) -> list[Claim]:
    """Run, refine, compare."""
    (end, handover, last), tolerances, later = SHORT if short else WHOLE
    problem = load_config(FOLDER / "run.toml").problem

    print(f"the density to t = {max(end, handover):g}, tolerance 1e-9")
    density, seconds = carried(problem, sorted({0.0, end, handover}), 1e-9, "density")
    print(f"degree {density.measures[-1].max_degree}, {seconds:.0f} s\n")
    at_end, at_handover = np.searchsorted(density.time, [end, handover])

    print(f"characteristics from the start, to t = {end:g}")
    runs = refined(problem, [0.0, 4.0, end], tolerances)
    errors = table(runs, tolerances, moments(density)[at_end])
    refinements = differences(runs)

    print(f"coarse cells from the start, to t = {end:g}, steps at {STEPS:g}")
    coarse = refined(problem, [0.0, end], CELLS, STEPS)
    errors_of_cells = table(coarse, CELLS, moments(density)[at_end])
    shares = [
        error / run.diagnostics["error"][-1]
        for error, run in zip(errors_of_cells, coarse, strict=True)
    ]

    print(f"characteristics from the density at t = {handover:g}, to t = {last:g}")
    taken = replace(problem, initial=mf.from_density(density.measures[at_handover].coefficients))
    continued = refined(taken, [0.0, last - handover], later)
    reference = moments(runs[-1])[-1] if last <= end else None
    table(continued, later, reference)
    if late and not short:
        print("characteristics from the start, to t = 8, beside the finest of those")
        table(refined(problem, [0.0, 8.0], LATE), LATE, moments(continued[-1])[-1])

    nodes = max(run.diagnostics["nodes"].max() for run in [*runs, *continued])
    checks = {
        "first refinement": (refinements[0], ALLOWED),
        "second refinement": (refinements[1], ALLOWED),
        "finest run against the density": (errors[-1], ALLOWED / 10),
        "error of coarse cells, over the stated one": (max(shares), 1.0),
        "last refinement after the hand-over": (differences(continued)[-1], 1e-5),
        "most nodes, in millions": (nodes / 1e6, 2.0),
        "mass drift": (max(float(np.abs(m[:, 0] - 1.0).max()) for m in map(moments, runs)), 1e-14),
        "largest fall of the energy": (fall(runs[-1]), 1e-9),
    }
    return near_zero(checks)


def carried(
    problem: Problem,
    times: list[float],
    tolerance: float,
    representation: str,
    steps: float | None = None,
) -> tuple[mf.Run, float]:
    """Run, and its time in seconds; `steps` is a tolerance for the steps alone."""
    began = time.perf_counter()
    carrier = represent(problem, Options(name=representation, tolerance=tolerance))
    stream = trajectory(problem, carrier, times, tolerance=steps or tolerance)
    chosen = chosen_observables(USUAL_OBSERVABLES)
    rows = [(snapshot, observed(problem, snapshot, chosen)) for snapshot in stream]
    return assembled(problem, rows, {}), time.perf_counter() - began


def refined(
    problem: Problem, times: list[float], tolerances: tuple[float, ...], steps: float | None = None
) -> list[mf.Run]:
    """Runs of characteristics, one for each tolerance."""
    runs = []
    for tolerance in tolerances:
        run, seconds = carried(problem, times, tolerance, "characteristics", steps)
        nodes, count = run.diagnostics["nodes"][-1], run.diagnostics["evaluations"][-1]
        print(
            f"  tolerance {tolerance:.0e}: {nodes:9,.0f} nodes, {count:.0f} evaluations, ", end=""
        )
        print(f"{seconds:.0f} s", flush=True)
        runs.append(run)
    return runs


def moments(run: mf.Run) -> np.ndarray:
    """Real moments to degree 8 at the saved times, shape (times, 2 * 81)."""
    return run.moments[:, :, : DEGREE + 1, : DEGREE + 1].reshape(len(run.time), -1)


def differences(runs: list[mf.Run]) -> list[float]:
    """Largest differences of last moments between each run and the next finer one."""
    last = [moments(run)[-1] for run in runs]
    return [float(np.abs(a - b).max()) for a, b in zip(last, last[1:], strict=False)]


def table(
    runs: list[mf.Run], tolerances: tuple[float, ...], reference: np.ndarray | None
) -> list[float]:
    """Print nodes, stated errors, differences to the finest run; return those to `reference`."""
    print("tolerance     nodes  stated error  to the finest  to the reference")
    finest, errors = moments(runs[-1])[-1], []
    for run, tolerance in zip(runs, tolerances, strict=True):
        found = moments(run)[-1]
        errors.append(np.nan if reference is None else float(np.abs(found - reference).max()))
        nodes, stated = run.diagnostics["nodes"][-1], run.diagnostics["error"][-1]
        print(
            f"{tolerance:9.0e}  {nodes:8.0f}  {stated:12.1e}  "
            f"{np.abs(found - finest).max():13.1e}  {errors[-1]:16.1e}"
        )
    print()
    return errors


def fall(run: mf.Run) -> float:
    """Largest fall of the energy between saved times."""
    return float(np.max(-np.diff(run.observables["energy"]), initial=0.0))
