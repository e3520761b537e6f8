"""Pair correlation of tokens on the circle: runs compared with closures.

USA, beta = 5, uniform tokens, times in onset times T = ln N / (2 lambda_max). For 100 tokens the
correlations psi^_k of many runs are compared with the linear, the third-cumulant and Kirkwood's
closure. For 10,000 tokens beyond T they are compared with random phases under the nonlinear flow.
Prints errors of closures and their own estimates, and draws pair_correlation.png.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from claims import Claim, Errors, near_zero

import meanfield as mf
from meanfield.figures.draw.figures import write_figure
from meanfield.papers.pair_correlation import CLOSURES, next_order_share
from meanfield.papers.pair_correlation_study import PairCorrelation

SECONDS = 85, 20
FOLDER = Path(__file__).parent
BETA, TOKENS, DEGREES = 5.0, 100, 120
SHARES, DRAWN = (0.2, 0.4, 0.6, 0.8, 1.0), (1, 2, 4)
MANY, LATE = 10_000, (0.5, 1.0, 1.5, 2.0)


def main(short: bool) -> list[Claim]:
    """Run, check, draw."""
    problem = mf.Problem(mf.Circle(), mf.exponential(BETA), mf.USA)
    checks = few_tokens(problem, 1000 if short else 10_000)
    checks |= many_tokens(problem, 40 if short else 400)
    return near_zero(checks)


def few_tokens(problem: mf.Problem, runs: int) -> Errors:
    """Errors of closures of 100 tokens up to the onset time; draws the figure."""
    onset = mf.onset_time(problem, TOKENS)
    times = np.array(SHARES) * onset
    made = mf.pair_correlation(problem, TOKENS, times=times, runs=runs, max_degree=DEGREES)
    size = np.abs(made.correlations[:, 1:]).max(axis=1)
    noise = made.correlation_errors.max(axis=1) / size
    warned = next_order_share(problem, TOKENS, times, 12).max(axis=1)
    errors = {
        name: np.abs(made.closure(name) - made.correlations).max(axis=1) / size for name in CLOSURES
    }
    print(f"{TOKENS} tokens, {runs} runs")
    print("t / T   |psi^|max   s.e.   |S|/(N C)  " + "  ".join(f"{name:>14}" for name in CLOSURES))
    for row, share in enumerate(SHARES):
        found = "  ".join(f"{100 * errors[name][row]:13.1f}%" for name in CLOSURES)
        columns = f"{size[row]:9.4f}  {100 * noise[row]:5.1f}%  {warned[row]:9.3f}"
        print(f"{share:5.1f}   {columns}  {found}")
    angles = np.linspace(0.0, np.pi, 721)
    psi, error = made.psi(angles)
    second = made.closure("third cumulant")[0] @ np.cos(np.arange(DEGREES + 1)[:, None] * angles)
    second = 2.0 * second - 1.0
    checks = {
        "t = 0.2 T: psi minus its third-cumulant closure, in standard errors": (
            float((np.abs(psi[0] - second) / error[0]).max()), 5.0),
        "t = 0.4 T: error of the third-cumulant closure over that of the linear one": (
            errors["third cumulant"][1] / errors["linear"][1], 0.7),
        "t = T: energy minus the sum over pairs that psi tells": (
            abs(made.energy[-1] - _energy(angles, psi[-1])), 1e-6),
    }  # fmt: skip
    rows = list(DRAWN)
    shown = PairCorrelation(
        problem, TOKENS, runs, times[rows], made.second_moments[rows], made.covariances[rows]
    )
    write_figure(shown.plot(), FOLDER / "pair_correlation.png")
    return checks


def many_tokens(problem: mf.Problem, runs: int) -> Errors:
    """Errors of random phases under the nonlinear flow, until clusters have formed."""
    times = np.array(LATE) * mf.onset_time(problem, MANY)
    own = mf.pair_correlation(problem, MANY, times=times, runs=runs)
    waves = mf.pair_correlation(problem, MANY, times=times, runs=2 * runs, start="random phase")
    difference = np.abs(waves.correlations - own.correlations).max(axis=1)
    print(f"{MANY} tokens, {runs} runs")
    print("t / T   |psi^|max   difference   energy, tokens     random phase")
    for row, share in enumerate(LATE):
        energies = "   ".join(
            f"{each.energy[row]:.4f} +- {each.energy_error[row]:.4f}" for each in (own, waves)
        )
        size = np.abs(own.correlations[row, 1:]).max()
        print(f"{share:5.1f}   {size:9.4f}   {difference[row]:10.4f}   {energies}")
    apart = np.abs(own.energy - waves.energy) / np.hypot(own.energy_error, waves.energy_error)
    return {"random phases: energy minus that of tokens, in standard errors": (apart.max(), 4.0)}


def _energy(angles: np.ndarray, psi: np.ndarray) -> float:
    """1/N + (1 - 1/N) times the mean of e^{beta (cos phi - 1)} under psi, by trapezoids."""
    mean = np.trapezoid(psi * np.exp(BETA * (np.cos(angles) - 1.0)), angles) / np.pi
    return 1.0 / TOKENS + (1.0 - 1.0 / TOKENS) * float(mean)
