"""The placement of normalisation determines the speed of clustering: six placements.

Eight orthogonal tokens in R^8 and a density near uniform on the circle evolve under the flows of
six placements. Cosines of tokens must follow the reduced equation. Small modes of the density must
grow exponentially or, if lengths grow, like a power of depth. Layers with a step must have order 1.
Draws schemes.png (short.png).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from claims import Claim, Errors, near_zero

import meanfield as mf
from meanfield.figures.draw.axes import ENERGY, INK, MUTED, ORDER, style, title_above
from meanfield.figures.draw.figures import new_figure, write_figure
from meanfield.schemes.layers import Placement

SECONDS = 10, 7
FOLDER = Path(__file__).parent
COLOURS: dict[Placement, str] = {
    "post": ENERGY,
    "ngpt": "#d98c2b",
    "mix": MUTED,
    "depth_scaled": "#4f9a57",
    "peri": "#6f4fa3",
    "pre": ORDER,
}
TOKENS, DEGREE, AMPLITUDE = 8, 3, 1e-8
# End of the runs: the mode is about 0.01, or a power law is visible.
LINEAR = {"post": 20.0, "ngpt": 36.0, "depth_scaled": 110.0, "pre": 300.0, "peri": 300.0}


def layers(placement: Placement, step: float = 0.0, count: int | None = None) -> mf.Layers:
    """Layers with alpha = 1/2; "mix" switches at depth 2."""
    return mf.Layers(step=step, count=count, placement=placement, alpha=0.5, tau=2.0)


def orthogonal(of: mf.Layers) -> mf.Problem:
    """Eight orthogonal tokens, softmax, beta = 2."""
    law = mf.from_points(np.eye(TOKENS))
    return mf.Problem(mf.Sphere(TOKENS), mf.exponential(2.0), mf.SA, law, layers=of)


def gaps(run: mf.Run) -> np.ndarray:
    """Mean of 1 - cosine over pairs, by distances, which avoid cancellation."""
    found = []
    for measure in run.measures:
        away = measure.points[:, None] - measure.points
        found.append(0.5 * (away**2).sum() / (TOKENS * (TOKENS - 1)))
    return np.array(found)


def main(short: bool) -> list[Claim]:
    """Run, check, draw."""
    checks: Errors = {}
    orders: list[Claim] = []
    end = 100.0 if short else 1000.0
    times = np.concatenate([np.linspace(0.05, 1.0, 20), np.geomspace(1.0, end, 61)[1:]])
    curves = {}
    for placement in COLOURS:
        problem = orthogonal(layers(placement))
        run = mf.simulate(problem, until=end, save=list(times), tolerance=1e-12)
        expected = mf.equiangular_layers(problem, TOKENS, times)
        curves[placement] = np.maximum(gaps(run), 1e-16)
        error = np.abs(gaps(run) - expected.gap).max()
        checks[f"{placement}: cosines minus the reduced equation"] = (float(error), 1e-10)

    kernel, law = mf.exponential(5.0), mf.perturbed_uniform([[DEGREE, AMPLITUDE, 0.0]])
    modes = {}
    for placement, until in LINEAR.items():
        until = min(until, 60.0) if short else until
        problem = mf.Problem(mf.Circle(), kernel, mf.SA, law, layers=layers(placement))
        save = np.concatenate([[0.0], np.geomspace(0.1, until, 40)])
        run = mf.simulate(
            problem, until=until, save=list(save), tolerance=1e-12,
            representation="characteristics",
        )  # fmt: skip
        grown = np.array([abs(m.moments(DEGREE)[DEGREE]) for m in run.measures])
        grown /= grown[0]
        modes[placement] = save, grown
        clock = mf.linear_phase_clock(problem, save)
        rate = mf.growth_rates(replace(problem, layers=None), DEGREE)[DEGREE]
        # Later the error of second order in the mode is too large.
        early = grown < 1e4
        error = np.abs(grown * np.exp(-rate * clock) - 1.0)[early].max()
        checks[f"{placement}: growth of mode {DEGREE} minus that of its clock, relative"] = (
            float(error),
            1e-5,
        )

    steps = (1.0, 0.5, 0.2, 0.1) if short else (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
    lags = {}
    for placement in COLOURS:
        if placement == "mix":
            continue
        exact = float(mf.equiangular_layers(orthogonal(layers(placement)), TOKENS, [2.0]).gap[0])
        lag = []
        for step in steps:
            count = round(2.0 / step)
            run = mf.simulate(orthogonal(layers(placement, step, count)), save=[count])
            lag.append(gaps(run)[0] - exact)
        lags[placement] = np.array(lag)
        order = np.log(lag[-2] / lag[-1]) / np.log(steps[-2] / steps[-1])
        allowed = 0.2 if short else 0.02
        orders.append(Claim(f"{placement}: order of layers", 1.0, float(order), allowed))
        print(f"{placement}: lag at depth 2 over the step {lag[-1] / steps[-1]:.4f}")

    save_figure(
        FOLDER / ("short.png" if short else "schemes.png"), times, curves, modes, steps, lags
    )
    return near_zero(checks) + orders


def save_figure(
    path: Path,
    times: np.ndarray,
    curves: dict[Placement, np.ndarray],
    modes: dict[Placement, tuple[np.ndarray, np.ndarray]],
    steps: tuple[float, ...],
    lags: dict[Placement, np.ndarray],
) -> None:
    """Draw gaps of tokens, the growth of a mode, and the lag of layers behind the flow."""
    with style():
        figure = new_figure((12.6, 4.6))
        tokens, density, error = figure.subplots(1, 3)
        for placement, gap in curves.items():
            shown = np.where(gap > 3e-13, gap, np.nan)
            tokens.loglog(times, shown, color=COLOURS[placement], label=placement)
        tokens.set(xlabel="depth", ylabel="$1 - \\cos$", ylim=(1e-9, 2.0))
        title_above(tokens, "Eight orthogonal tokens", "flows, $\\beta = 2$")
        for placement, (save, grown) in modes.items():
            density.loglog(1.0 + save, grown, color=COLOURS[placement])
        late = np.array([20.0, 300.0])
        power = 0.764149562835
        first = float(np.interp(20.0, 1.0 + modes["pre"][0], modes["pre"][1]))
        guide = 0.6 * first * (late / late[0]) ** power
        density.loglog(late, guide, "--", color=INK, linewidth=0.9)
        density.text(60.0, 6.0, f"power {power:.3f}", color=INK, va="top")
        density.set(xlabel="1 + depth", ylabel=f"growth of mode {DEGREE}", ylim=(0.7, 1e6))
        title_above(density, "A density near uniform", "circle, $\\beta = 5$")
        for placement, lag in lags.items():
            error.loglog(steps, lag, "o-", markersize=3.5, color=COLOURS[placement])
        error.set(xlabel="step $h$", ylabel="lag of $\\cos$ behind the flow")
        title_above(error, "Layers with a step", "the tokens at depth 2")
        handles, labels = tokens.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=6)
        write_figure(figure, path)
