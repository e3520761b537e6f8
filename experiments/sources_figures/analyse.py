"""Draw two figures of the perspective paper: how alike tokens are, and the force of a pair.

32 tokens on the circle under softmax with beta = 9: histograms of the cosines of pairs at t = 2.5
and 18, how many tokens each attends to, and h_beta(theta) = e^{beta cos theta} sin theta with its
largest value at tau_beta. Prints each number beside an independent one and draws
sources_figures.png.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar

import meanfield as mf
from meanfield.outputs.plots.figures import new_figure, write_figure
from meanfield.outputs.plots.style import MUTED, ORDER, style
from meanfield.runs import Run
from meanfield.theory.contraction import convex_angle, pair_force

FOLDER = Path(__file__).parent
BETA, TOKENS, TIMES, UNTIL = 9.0, 32, (2.5, 18.0), 40.0
BETAS = (1.0, 2.0, 4.0, 9.0)
COLOURS = ("#9ecae1", "#4292c6", "#2171b5", "#08306b")


def run_of_tokens(seed: int = 1) -> Run:
    """Uniform tokens, which stay tokens when they meet."""
    angles = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, TOKENS)
    problem = mf.Problem(mf.Circle(), mf.exponential(BETA), mf.SA, mf.from_points(angles))
    saves = np.unique([*np.linspace(0.0, UNTIL, 81), *TIMES])
    observed = ["similarity", "attended_tokens"]
    return mf.simulate(
        problem, UNTIL, save=saves, observables=observed, representation="particles",
        tolerance=1e-10,
    )  # fmt: skip


def attention(angles: np.ndarray) -> np.ndarray:
    """Rows of softmax, written here."""
    weights = np.exp(BETA * (np.cos(angles[:, None] - angles) - 1.0))
    return weights / weights.sum(axis=1, keepdims=True)


def integrated(angles: np.ndarray, until: float) -> np.ndarray:
    """Tokens by SciPy at 1e-11."""

    def velocity(_: float, x: np.ndarray) -> np.ndarray:
        return -(attention(x) * np.sin(x[:, None] - x)).sum(axis=1)

    return solve_ivp(velocity, (0.0, until), angles, "LSODA", rtol=1e-11, atol=1e-12).y[:, -1]


def checks(run: Run) -> list[tuple[str, float, float]]:
    """What is checked, what is allowed, what came."""
    start = run.measures[0].points
    drawn = [run.index_of(time) for time in TIMES]
    cosines, counts = [], []
    for time, i in zip(TIMES, drawn, strict=True):
        other = integrated(start, time)
        pairs = [np.cos(x[:, None] - x) for x in (other, run.measures[i].points)]
        cosines.append(np.abs(pairs[0] - pairs[1]).max())
        rows = attention(other)
        logs = np.log(np.where(rows > 0.0, rows, 1.0))
        number = np.exp(-(rows * logs).sum(axis=1)).mean()
        counts.append(abs(run.observables["attended_tokens"][i, 0] / number - 1.0))
    forces = [
        minimize_scalar(lambda x, b=b: -np.exp(b * np.cos(x)) * np.sin(x), (0.1, 1.0), tol=1e-10).x
        for b in BETAS
    ]
    taus = [convex_angle(b) for b in BETAS]
    printed = [np.arccos((np.sqrt(1.0 + 4.0 * b * b) - 1.0) / (2.0 * b)) for b in BETAS]
    return [
        ("cosines of pairs, second integration", 1e-6, float(max(cosines))),
        ("attended tokens, second integration", 1e-6, float(max(counts))),
        ("tau_beta against the formula", 1e-14, float(np.abs(np.subtract(taus, printed)).max())),
        ("tau_beta against a search", 1e-7, float(np.abs(np.subtract(taus, forces)).max())),
    ]


def draw_counts(run: Run, axes: Axes) -> None:
    """Attended tokens over time."""
    axes.plot(run.time, run.observables["attended_tokens"][:, 0], color=ORDER)
    for time in TIMES:
        axes.axvline(time, color=MUTED, linewidth=0.8, dashes=(4, 3))
    axes.set_xlim(0.0, UNTIL)
    axes.set_ylim(0.0, 10.0)
    axes.set_xlabel("time $t$")
    axes.set_title("effective number of attended tokens", fontsize=9)


def draw_forces(axes: Axes) -> None:
    """Forces over their largest value, which is marked."""
    angles = np.linspace(0.0, np.pi, 601)
    for beta, colour in zip(BETAS, COLOURS, strict=True):
        tau = convex_angle(beta)
        largest = float(pair_force(beta, np.array(tau)))
        axes.plot(angles, pair_force(beta, angles) / largest, color=colour)
        axes.plot([tau], [1.0], "o", color=colour, markersize=4.5, label=rf"$\beta = {beta:g}$")
    axes.set_xlim(0.0, np.pi)
    axes.set_ylim(0.0, 1.12)
    axes.set_xticks(np.pi * np.array([0.0, 0.5, 1.0]), ["0", r"$\pi/2$", r"$\pi$"])
    axes.set_xlabel(r"angle $\theta$")
    axes.set_title(r"$h_\beta(\theta) \,/\, h_\beta(\tau_\beta)$, $\tau_\beta$ marked", fontsize=9)
    axes.legend(loc="upper right")


def main() -> int:
    """Run, check, draw."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--short", action="store_true", help="the same: it takes seconds")
    options.parse_args()
    run = run_of_tokens()
    passed = True
    for name, allowed, came in checks(run):
        passed &= came <= allowed
        print(f"{name:<40}{came:9.1e}  of {allowed:.0e}  {'ok' if came <= allowed else 'FAILED'}")
    for time in TIMES:
        i = run.index_of(time)
        clusters = run.observables["clusters/count"][i]
        number = run.observables["attended_tokens"][i, 0]
        print(f"t = {time:4g}: {clusters:.0f} clusters, {number:.3f} attended tokens")
    with style():
        figure = new_figure((10.0, 5.6))
        above, below = figure.subfigures(2, 1)
        run.plot("histogram", times=TIMES, ax=above.subplots())
        left, right = below.subplots(1, 2)
        draw_counts(run, left)
        draw_forces(right)
        write_figure(figure, FOLDER / "sources_figures.png")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
