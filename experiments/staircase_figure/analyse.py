"""Run the configuration of the staircase figure at its six betas, for SA and USA.

Five tokens meet one pair after the other, at times up to 1e143, and the energy climbs through the
sums of squared masses 0.2, 0.28, 0.44, 0.52, 1. The same tokens are integrated a second time by
code that shares nothing with the package, in a clock in which nothing is slow; the times at which
clusters meet must agree. Along it goes the clock s of arXiv:2410.06833,

    dt = ln(beta) min e^{beta (1 - cos(theta_i - theta_j))} ds,

with the minimum over pairs farther apart than 1 / sqrt(beta ln(beta)). Saved times could not give
s: from one merge to the next nearly all of it falls where t no longer changes in any digit. Draws
staircase.png.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.commands.main import main as meanfield
from meanfield.observables.cluster_tree import cluster_tree
from meanfield.observables.clusters import cluster_radius
from meanfield.outputs.plots.figures import new_figure, write_figure
from meanfield.outputs.plots.style import INK, style, title_above

FOLDER = Path(__file__).parent
OUTPUT = FOLDER / "sweep.h5"
BETAS = (500, 1000, 1500, 2000, 3000, 4000)
SHORT = (500, 4000)
ANGLES = np.log(2000) / np.sqrt(2000) * np.array([0.0, 0.25, 1.0, 2.0, 3.5])
LEVELS = (0.2, 0.28, 0.44, 0.52, 1.0)
# A plateau is held against its level where it is longer than this ratio of its ends.
LASTING = 1e9
# In the second integration tokens as near as this are one.
ONE = 1e-8
# Longest step, in the units of the nearest pair, so that curves are smooth.
SMOOTH = 0.1
# A length that a gap has come to is not waited for again.
HAIR = 1.0 + 1e-6


def main() -> int:
    """Run, check, draw."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--short", action="store_true", help="two of the six betas")
    betas = SHORT if options.parse_args().short else BETAS
    curves, errors, heights, falls = [], [], [], []
    print("        beta  clusters meet at t =                           paper's clock at the last")
    for normalized in (True, False):
        for beta in betas:
            status = evolve(beta, normalized)
            if status:
                return status
            run = mf.load(OUTPUT)
            tree = cluster_tree(run.events)
            known, clock, energy = second_integration(float(beta), normalized)
            times = "  ".join(f"{time:.3e}" for time in tree.merge_times)
            print(f"{'SA' if normalized else 'USA':3s}  {beta:7d}  {times}  {clock[-1]:.3f}")
            errors.append(np.abs(tree.merge_times / known - 1.0).max())
            heights.append(level_error(run, tree.merge_times))
            falls.append(np.max(-np.diff(run.observables["energy"]), initial=0.0))
            curves.append((beta, normalized, run, clock, energy))
    draw(curves)
    checks = {
        "merge times against the second integration, relative": (max(errors), 1e-6),
        "energy of plateaus minus their levels": (max(heights), 1e-6),
        "largest fall of the energy": (max(falls), 1e-13),
    }
    for name, (found, allowed) in checks.items():
        print(f"{name}: {found:.1e} (allowed {allowed:.0e})")
    return int(any(not found <= allowed for found, allowed in checks.values()))


def evolve(beta: int, normalized: bool) -> int:
    """Run the command; the times end where the clusters of this beta have met."""
    arguments = ["run", str(FOLDER / "run.toml"), "-o", str(OUTPUT), "--overwrite", "--quiet"]
    flow = "true" if normalized else "false"
    for change in (f"beta={beta}", f"normalized={flow}"):
        arguments += ["--set", f"problem.{change}"]
    title = f"Staircase figure: five tokens, beta = {beta}"
    return meanfield([*arguments, "--set", f"title={title}"])


def level_error(run: mf.Run, merges: FloatArray) -> float:
    """Largest difference of the energy from its level half-way between merges, in log time."""
    ends = np.concatenate([merges, run.time[-1:]])
    begins = np.concatenate([run.time[:1], merges])
    worst = abs(run.observables["energy"][-1] - LEVELS[-1])
    for begin, end, level in zip(begins, ends, LEVELS, strict=True):
        if end > LASTING * begin:
            row = int(np.searchsorted(run.time, np.sqrt(begin) * np.sqrt(end)))
            worst = max(worst, abs(run.observables["energy"][row] - level))
    return float(worst)


@dataclass
class Tokens:
    """State of the second integration: sorted angles, masses, and the two clocks.

    Attributes
    ----------
    angles, mass : ndarray, shape (n,)
        Tokens in order; those that are one are counted once.
    beta, normalized : float, bool
        The flow.
    time, s : float
        Scaled time, and the clock of the paper.
    """

    angles: FloatArray
    mass: FloatArray
    beta: float
    normalized: bool
    time: float = 0.0
    s: float = 0.0

    def exponents(self, angles: FloatArray) -> FloatArray:
        """Matrix beta (1 - cos(theta_i - theta_j))."""
        return 2.0 * self.beta * np.sin(0.5 * (angles[:, None] - angles)) ** 2

    def energy(self, angles: FloatArray) -> float:
        """E / E[Dirac]."""
        return float(self.mass @ np.exp(-self.exponents(angles)) @ self.mass)

    def velocity(self, angles: FloatArray, unit: float) -> FloatArray:
        """Velocities times e^unit."""
        exponents = self.exponents(angles)
        d = angles - angles[:, None]
        v = (np.sin(d) * np.exp(unit - exponents)) @ self.mass
        return v / (np.exp(-exponents) @ self.mass) if self.normalized else v


def second_integration(beta: float, normalized: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Times of the merges; the clock of the paper, and the energy along it."""
    tokens = Tokens(ANGLES.copy(), np.full(5, 0.2), beta, normalized)
    merges: list[float] = []
    clock, energy = [0.0], [tokens.energy(tokens.angles)]
    while len(tokens.angles) > 1:
        path, met = stretch(tokens)
        clock += path[1:, -1].tolist()
        energy += [tokens.energy(state[:-2]) for state in path[1:]]
        if met:
            merges.append(tokens.time)
        gaps = np.diff(tokens.angles)
        one = int(np.argmin(gaps))
        if gaps[one] <= HAIR * ONE:
            pair = tokens.mass[one : one + 2]
            tokens.angles[one] = pair @ tokens.angles[one : one + 2] / pair.sum()
            tokens.mass[one] = pair.sum()
            tokens.angles, tokens.mass = (
                np.delete(array, one + 1) for array in (tokens.angles, tokens.mass)
            )
    return np.array(merges), np.array(clock), np.array(energy)


def stretch(tokens: Tokens) -> tuple[FloatArray, bool]:
    """Go on until a gap comes to one of three lengths; say whether it was a cluster's radius.

    The clock is dt = min e^{beta (1 - cos)} du over all pairs. Time is counted from the start of
    the stretch, in units of dt/du there: the error control then has it where it matters.
    """
    pairs = np.triu_indices(len(tokens.angles), 1)
    threshold, radius = (
        1.0 / np.sqrt(tokens.beta * np.log(tokens.beta)),
        cluster_radius(tokens.beta),
    )
    apart = tokens.angles[pairs[1]] - tokens.angles[pairs[0]]
    far, gaps = apart > HAIR * threshold, np.diff(tokens.angles)
    unit = float(tokens.exponents(tokens.angles)[pairs].min())

    def rhs(u: float, y: FloatArray) -> FloatArray:
        exponents = tokens.exponents(y[:-2])[pairs]
        nearest = exponents.min()
        pace = np.exp(nearest - exponents[far].min()) / np.log(tokens.beta) if far.any() else 0.0
        v = tokens.velocity(y[:-2], nearest)
        return np.concatenate([v, [np.exp(nearest - unit), pace]])

    def comes_to(limit: float, watched: np.ndarray, all_pairs: bool = False) -> Any:
        def event(u: float, y: FloatArray) -> float:
            lengths = y[pairs[1]] - y[pairs[0]] if all_pairs else np.diff(y[:-2])
            return float(lengths[watched].min()) / limit - 1.0 if watched.any() else 1.0

        event.terminal = True  # type: ignore[attr-defined]
        return event

    events = [
        comes_to(radius, gaps > HAIR * radius),
        comes_to(threshold, far, all_pairs=True),
        comes_to(ONE, gaps > HAIR * ONE),
    ]
    start = np.concatenate([tokens.angles, [0.0, tokens.s]])
    options = {"rtol": 1e-11, "atol": 1e-14, "max_step": SMOOTH}
    found = solve_ivp(rhs, (0.0, 1e6), start, "DOP853", events=events, **options)
    tokens.angles, tokens.s = found.y[:-2, -1], float(found.y[-1, -1])
    tokens.time += float(np.exp(unit) * found.y[-2, -1])
    return found.y.T, bool(len(found.t_events[0]))


def draw(curves: list[tuple[int, bool, mf.Run, FloatArray, FloatArray]]) -> None:
    """Energy over time and over the clock of the paper, SA above and USA below."""
    from matplotlib import colormaps

    betas = sorted({curve[0] for curve in curves})
    colors = dict(
        zip(betas, colormaps["viridis_r"](np.linspace(0.1, 0.95, len(betas))), strict=True)
    )
    with style():
        figure = new_figure((9.0, 6.0))
        panels = figure.subplots(2, 2, sharey=True, sharex="col")
        for beta, normalized, run, clock, energy in curves:
            in_time, in_clock = panels[0 if normalized else 1]
            label = rf"$\beta = {beta}$"
            in_time.plot(run.time, run.observables["energy"], color=colors[beta], label=label)
            in_clock.plot(clock, energy, color=colors[beta], label=label)
        for row, flow in zip(panels, ("SA", "USA"), strict=True):
            for axes in row:
                for level in LEVELS:
                    axes.axhline(level, color=INK, linewidth=0.5, linestyle=":", zorder=0)
            row[0].set_xscale("log")
            row[0].set_xlim(0.1, 1e150)
            row[0].set_xticks([1.0, 1e50, 1e100, 1e150])
            row[0].set_ylabel(rf"{flow}: energy $E/E[\mathrm{{Dirac}}]$")
            row[0].set_yticks(LEVELS)
        panels[1][0].set_xlabel("scaled time $t$")
        panels[1][1].set_xlabel("clock $s$ of the paper")
        panels[0][1].legend(loc="lower right", fontsize=7.5)
        title_above(panels[0][0], "Staircase figure: five tokens", "circle, SA and USA")
        write_figure(figure, FOLDER / "staircase.png")
    print(FOLDER / "staircase.png")


if __name__ == "__main__":
    sys.exit(main())
