"""Run the configuration of the kinetic figure, and tell its published clock from the right one.

arXiv:2410.06833 moves five tokens by x + dt A(x), normalised, where A(x) is the softmax average and
not its projection: that is a step of dt / (1 + dt <x, A>), near dt / (1 + dt) beside a cluster, so
its clock runs slow. Four schemes against the run: their last merge, and the published one with its
clock corrected. Two tokens have met here when the cosine of their angle is above 0.999. Draws
kinetic.png.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from scipy.optimize import brentq

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.commands.main import main as meanfield
from meanfield.config import load_config
from meanfield.outputs.plots.figures import new_figure, write_figure
from meanfield.outputs.plots.style import ENERGY, INK, MUTED, ORDER, style, title_above
from meanfield.problem import Problem

FOLDER = Path(__file__).parent
MET = float(np.arccos(0.999))
END = 400.0
# How many of the ten pairs of tokens have met then; the times are SciPy's, by Radau at 1e-12.
MERGES = {
    "first pair": (1, 1.266787),
    "second pair": (2, 2.409088),
    "a token and a pair, its nearer one": (3, 5.194468),
    "a token and a pair, its farther one": (4, 5.266655),
    "the last two clusters": (10, 328.364042),
}
ENERGIES = {
    0.0: 0.359712,
    5.0: 0.519307,
    20.0: 0.520330,
    100.0: 0.520399,
    300.0: 0.522379,
    400.0: 1.0,
}
# Whether the average is projected, dt, and when the last two clusters have met.
SCHEMES = ((False, 0.1, 364.1), (False, 0.01, 331.9), (True, 0.1, 329.80), (True, 0.01, 328.51))


def main() -> int:
    """Run, check, draw."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--short", action="store_true", help="the same: it takes seconds")
    options.parse_args()
    status = meanfield(["run", str(FOLDER / "run.toml"), "--overwrite", "--quiet"])
    if status:
        return status
    run = mf.load(FOLDER / "run.h5")
    problem = load_config(FOLDER / "run.toml").problem
    start = problem.initial_measure().points
    merges = [merge_time(problem, run, pairs) for pairs, _ in MERGES.values()]
    energies = np.interp(list(ENERGIES), run.time, run.observables["energy"])
    schemes = [euler(start, problem.kernel.beta, dt, projected) for projected, dt, _ in SCHEMES]
    ends = [last_merge(*scheme) for scheme in schemes]

    print(f"two tokens have met when cos > 0.999\n{'merge':36s}          t   expected")
    for (name, (_, expected)), found in zip(MERGES.items(), merges, strict=True):
        print(f"{name:36s} {found:10.6f}  {expected:.6f}")
    print("\n  t  energy    expected")
    for (at, expected), found in zip(ENERGIES.items(), energies, strict=True):
        print(f"{at:3.0f}  {found:.6f}  {expected:.6f}")
    print("\nlast merge by Euler's method  dt   t       expected  over 1 + dt")
    for (projected, dt, expected), found in zip(SCHEMES, ends, strict=True):
        name = "projected average" if projected else "average, as published"
        corrected = "" if projected else f"     {found / (1.0 + dt):.2f}"
        print(f"{name:27s} {dt:4g}   {found:.2f}  {expected:g}{corrected}")
    known = np.array([expected for _, expected in MERGES.values()])
    checks = {
        "merges, largest error": (float(np.abs(np.array(merges) - known).max()), 1e-6),
        "energies, largest error": (float(np.abs(energies - list(ENERGIES.values())).max()), 1e-6),
        "last merges of Euler, relative error": (
            float(np.abs(np.array(ends) / [s[2] for s in SCHEMES] - 1.0).max()),
            5e-4,
        ),
        "corrected clock, relative error at dt = 0.1": (ends[0] / 1.1 / merges[-1] - 1.0, 1e-2),
        "corrected clock, relative error at dt = 0.01": (ends[1] / 1.01 / merges[-1] - 1.0, 1e-3),
    }
    print()
    for name, (error, allowed) in checks.items():
        print(f"{name}: {error:.1e} (allowed {allowed:.0e})")
    draw(run, schemes, problem.kernel.beta)
    return int(any(not abs(error) <= allowed for error, allowed in checks.values()))


def merge_time(problem: Problem, run: mf.Run, pairs: int) -> float:
    """Time at which that many of the ten pairs of tokens have met."""

    def gap(measure: mf.Measure) -> float:
        # Atoms that are one by now are the tokens of which they consist.
        tokens = np.repeat(measure.points, np.rint(5.0 * measure.mass).astype(int))
        rows, columns = np.triu_indices(5, 1)
        return (
            float(np.sort(problem.space.distance(tokens[rows], tokens[columns]))[pairs - 1]) - MET
        )

    def gap_at(time: float) -> float:
        return gap(mf.simulate(problem, time, save=[time], tolerance=1e-12).measures[-1])

    row = next(i for i, measure in enumerate(run.measures) if gap(measure) < 0.0)
    return float(brentq(gap_at, run.time[row - 1] or 1e-9, run.time[row], xtol=1e-9))


def euler(
    start: FloatArray, beta: float, dt: float, projected: bool
) -> tuple[FloatArray, FloatArray]:
    """Times and angles (n_times, n) of the scheme: a step along the softmax average, normalised."""
    tokens = np.stack([np.cos(start), np.sin(start)], axis=1)
    kept = [tokens]
    for _ in range(round(END / dt)):
        attention = np.exp(beta * (tokens @ tokens.T - 1.0))
        average = attention @ tokens / attention.sum(axis=1, keepdims=True)
        if projected:
            average -= (average * tokens).sum(axis=1, keepdims=True) * tokens
        tokens = tokens + dt * average
        tokens /= np.sqrt((tokens**2).sum(axis=1, keepdims=True))
        kept.append(tokens)
    path = np.array(kept)
    return dt * np.arange(len(path)), np.arctan2(path[..., 1], path[..., 0])


def last_merge(times: FloatArray, angles: FloatArray) -> float:
    """Time at which the last two clusters, that of token 0 and that of token 2, have met."""
    cosines = np.cos(angles[:, 0] - angles[:, 2])
    row = int(np.argmax(cosines > np.cos(MET)))
    return float(np.interp(np.cos(MET), cosines[row - 1 : row + 1], times[row - 1 : row + 1]))


def draw(run: mf.Run, schemes: list[tuple[FloatArray, FloatArray]], beta: float) -> None:
    """Energy over time of the run and of the schemes, whole and around the last merge."""
    curves = []
    for (projected, dt, _), (times, angles) in zip(SCHEMES, schemes, strict=True):
        cosines = np.cos(angles[:, :, None] - angles[:, None])
        energy = np.exp(beta * (cosines - 1.0)).mean(axis=(1, 2))
        curves.append((projected, dt, times, energy))
    with style():
        figure = new_figure((9.0, 3.8))
        whole, end = figure.subplots(1, 2)
        for axes in (whole, end):
            for projected, dt, times, energy in curves:
                color = MUTED if projected else ORDER
                line = "-" if dt == SCHEMES[0][1] else "--"
                name = "Euler, projected" if projected else "Euler as published"
                axes.plot(
                    times, energy, line, color=color, linewidth=1.2, label=f"{name}, dt = {dt:g}"
                )
            _, dt, times, energy = curves[0]
            axes.plot(
                times / (1.0 + dt),
                energy,
                ":",
                color=ORDER,
                label=f"the first, time / {1.0 + dt:g}",
            )
            axes.plot(
                run.time, run.observables["energy"], color=ENERGY, label="this package", zorder=3
            )
            axes.axhline(0.52, color=INK, linewidth=0.6, linestyle=":", zorder=0)
            axes.set_xlabel("time $t$")
        whole.set_xscale("log")
        whole.set_xlim(0.5, END)
        whole.set_ylabel(r"energy $E/E[\mathrm{Dirac}]$")
        whole.annotate(r"$(2/5)^2 + (3/5)^2$", (12.0, 0.54), color=INK, fontsize=8.5)
        end.set_xlim(318.0, 372.0)
        end.legend(loc="center", bbox_to_anchor=(0.55, 0.6), fontsize=7.5)
        title_above(whole, str(run.attributes["title"]), r"circle, $\beta = 4$, SA")
        write_figure(figure, FOLDER / "kinetic.png")
    print(FOLDER / "kinetic.png")


if __name__ == "__main__":
    sys.exit(main())
