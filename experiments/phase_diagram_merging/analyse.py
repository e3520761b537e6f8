"""Run phase_diagram_merging: shares of merged pairs over beta and time, in several dimensions.

Panels of `mf.merging_diagram` for 32 tokens under softmax, beside the curve (6.12) of
arXiv:2312.10794. Checked are single replicas against plain fixed steps written here, which share
nothing with the package but its starts; shares against other runs of the same law, printed below;
what the published layers do; and in high dimension the time of merging against the curve.
Draws diagram.png (short.png).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import meanfield as mf
from meanfield.outputs.plots.figures import new_figure, write_figure
from meanfield.outputs.plots.merging import draw_merging
from meanfield.outputs.plots.style import style
from meanfield.pictures.merging import merging_picture
from meanfield.studies.merging_results import MergingDiagram
from meanfield.studies.study import rng_of

FOLDER = Path(__file__).parent
TOKENS = 32

PRINTED = {
    (2, 1.0): ([0.1422, 0.8407, 0.9681, 0.9931, 0.9991], [30, 69, 38, 18, 7]),
    (2, 4.0): ([0.2381, 0.4494, 0.4849, 0.5005, 0.5226], [25, 33, 32, 33, 30]),
    (2, 5.0): ([0.2353, 0.4036, 0.4338, 0.4498, 0.4724], [22, 28, 31, 32, 31]),
    (2, 6.0): ([0.2289, 0.3636, 0.3882, 0.4038, 0.4255], [36, 44, 48, 52, 55]),
    (2, 8.0): ([0.2156, 0.3165, 0.3375, 0.3467, 0.3634], [31, 37, 40, 40, 41]),
    (8, 4.0): ([0.0319, 0.6184, 0.7455, 0.7985, 0.8525], [18, 156, 154, 151, 145]),
    (8, 5.0): ([0.0316, 0.4117, 0.5318, 0.5867, 0.6438], [14, 118, 144, 145, 146]),
    (8, 6.0): ([0.0286, 0.2682, 0.3645, 0.4118, 0.4702], [10, 73, 93, 109, 122]),
    (8, 8.0): ([0.0199, 0.1283, 0.1914, 0.2251, 0.2617], [6, 32, 45, 55, 61]),
    (128, 4.0): ([0.0, 1.0, 1.0, 1.0, 1.0], [0, 0, 0, 0, 0]),
    (128, 5.0): ([0.0, 0.9383, 1.0, 1.0, 1.0], [0, 247, 0, 0, 0]),
    (128, 6.0): ([0.0, 0.0, 0.7162, 1.0, 1.0], [0, 0, 563, 0, 0]),
}
"""Shares at t = 5, 10, 15, 20, 30 by d and beta from projected Runge-Kutta steps of order 4, 40 to
1000 runs written by another hand; standard errors in units of 1e-4."""
LAYERS = (128, 5.0, [0.0, 0.5341, 1.0, 1.0, 1.0], [0, 580, 0, 0, 0])
"""The same of the published layers."""
TIMES = [5.0, 10.0, 15.0, 20.0, 30.0]

Checks = dict[str, tuple[float, float]]


@dataclass(frozen=True)
class Panel:
    """One panel.

    Attributes
    ----------
    dimension, betas, times, replicas : int
        Given. d, and how many of each.
    """

    dimension: int
    betas: int
    times: int
    replicas: int


def main() -> int:
    """Run, check, draw."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--short", action="store_true", help="fewer betas, fewer replicas")
    short = options.parse_args().short
    panels = [Panel(2, 30, 60, 32), Panel(8, 15, 60, 32), Panel(128, 10, 60, 2)]
    if not short:
        panels = [Panel(2, 90, 200, 256), Panel(8, 90, 200, 256), Panel(128, 90, 200, 16),
                  Panel(1024, 30, 200, 2)]  # fmt: skip
    checks: Checks = step_check(4 if short else 24)
    with ProcessPoolExecutor(os.cpu_count()) as executor:
        began = time.perf_counter()
        checks |= printed_check({2: 64, 8: 24} if short else {2: 512, 8: 512, 128: 64}, executor)
        checks |= layers_check(8 if short else 64, executor)
        print(f"printed shares: {time.perf_counter() - began:.0f} s", flush=True)
        made = []
        for panel in panels:
            began = time.perf_counter()
            made.append(
                mf.merging_diagram(
                    TOKENS, panel.dimension, betas=np.linspace(0.1, 9.0, panel.betas),
                    times=np.linspace(0.0, 30.0, panel.times + 1)[1:], replicas=panel.replicas,
                    executor=executor,
                )
            )  # fmt: skip
            print(f"{made[-1]!r}: {time.perf_counter() - began:.0f} s", flush=True)
    checks |= curve_check(made[-1])
    save_figure(made, FOLDER / ("short.png" if short else "diagram.png"))
    for name, (found, allowed) in checks.items():
        word = "" if found <= allowed else ": FAILED"
        print(f"{name}: {found:.2g} (allowed {allowed:.2g}){word}")
    return int(any(not found <= allowed for found, allowed in checks.values()))


def step_check(replicas: int) -> Checks:
    """Shares of a few replicas beside those of plain steps, fine enough not to matter."""
    times = np.arange(1.0, 13.0)
    largest = 0.0
    for d, beta in ((3, 2.0), (8, 6.0)):
        made = mf.merging_diagram(TOKENS, d, betas=[beta], times=times, replicas=replicas,
                                  tolerance=1e-8)  # fmt: skip
        shares = np.mean([plain_shares(d, beta, times, run) for run in range(replicas)], axis=0)
        largest = max(largest, np.abs(made.fraction[0] - shares).max())
    return {"shares minus those of plain steps, of the same starts": (largest, 1e-3)}


def plain_shares(d: int, beta: float, times: np.ndarray, replica: int) -> np.ndarray:
    """Share of merged pairs of one replica, by classical Runge-Kutta steps of 1/40."""
    step, per_unit = 1.0 / 40.0, 40
    x = rng_of(0, TOKENS, d, replica).standard_normal((TOKENS, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    shares = []

    def velocity(x: np.ndarray) -> np.ndarray:
        weights = np.exp(beta * (x @ x.T - 1.0))
        mean = weights @ x / weights.sum(axis=1, keepdims=True)
        return mean - (x * mean).sum(axis=1, keepdims=True) * x

    for _ in times:
        for _ in range(per_unit):
            k1 = velocity(x)
            k2 = velocity(x + 0.5 * step * k1)
            k3 = velocity(x + 0.5 * step * k2)
            k4 = velocity(x + step * k3)
            x = x + step / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
            x /= np.linalg.norm(x, axis=1, keepdims=True)
        shares.append((x @ x.T > 0.999)[np.triu_indices(TOKENS, 1)].mean())
    return np.array(shares)


def printed_check(replicas: dict[int, int], executor: ProcessPoolExecutor) -> Checks:
    """Largest deviation from the printed shares in combined standard errors."""
    worst = 0.0
    for d, count in replicas.items():
        betas = [beta for dimension, beta in PRINTED if dimension == d]
        made = mf.merging_diagram(TOKENS, d, betas=betas, times=TIMES, replicas=count, seed=1,
                                  executor=executor)  # fmt: skip
        for i, beta in enumerate(betas):
            deviation = deviations(made, i, *PRINTED[d, beta])
            worst = max(worst, deviation)
            row = "  ".join(f"{share:.4f}" for share in made.fraction[i])
            print(f"d = {d}, beta = {beta:g}: {row}   {deviation:.1f} standard errors", flush=True)
    return {"printed shares, in combined standard errors": (worst, 4.0)}


def layers_check(replicas: int, executor: ProcessPoolExecutor) -> Checks:
    """The same of layers."""
    d, beta, shares, errors = LAYERS
    made = mf.merging_diagram(TOKENS, d, betas=[beta], times=TIMES, replicas=replicas, seed=1,
                              motion="layers", executor=executor)  # fmt: skip
    print(f"layers, d = {d}, beta = {beta:g}: {made.fraction[0].round(4)}", flush=True)
    worst = deviations(made, 0, shares, errors)
    return {"printed shares of layers, in combined standard errors": (worst, 4.0)}


def deviations(made: MergingDiagram, i: int, shares: list[float], errors: list[int]) -> float:
    """Largest over the times; shares that never vary may differ by 1e-4."""
    combined = np.sqrt(made.standard_error[i] ** 2 + (1e-4 * np.array(errors)) ** 2 + 1e-8)
    return float(np.max(np.abs(made.fraction[i] - shares) / combined))


def curve_check(made: MergingDiagram) -> Checks:
    """When half of all pairs have merged, in the largest dimension, beside the curve."""
    largest = 0.0
    for beta, share in zip(made.betas, made.fraction, strict=True):
        if beta > 6.0 or share[-1] < 0.9:
            continue
        problem = mf.Problem(mf.Sphere(TOKENS), mf.exponential(float(beta)), mf.SA)
        expected = mf.equiangular_time(problem, TOKENS, 0.999)
        largest = max(largest, abs(float(np.interp(0.5, share, made.times)) - expected))
    name = f"time of merging in R^{made.dimension} minus that of the curve, beta up to 6"
    return {name: (largest, 2.5 if made.dimension < 1024 else 0.6)}


def save_figure(made: list[MergingDiagram], path: Path) -> None:
    """All panels side by side, two a row."""
    rows = (len(made) + 1) // 2
    with style():
        figure = new_figure((11.0, 4.1 * rows))
        panels = figure.subplots(rows, 2, squeeze=False).ravel()
        for panel, each in zip(panels, made, strict=False):
            picture = replace(merging_picture(each), title=f"Pairs merged, $d = {each.dimension}$")
            draw_merging(picture, panel)
        for panel in panels[len(made) :]:
            panel.set_visible(False)
        write_figure(figure, path)


if __name__ == "__main__":
    sys.exit(main())
