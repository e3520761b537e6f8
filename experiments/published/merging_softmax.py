"""Share of merged pairs of 32 random tokens over beta and time, with softmax."""

from __future__ import annotations

from concurrent.futures import Executor
from functools import partial

import numpy as np
from claims import Claim
from matplotlib.figure import Figure

import meanfield as mf
from published import merging_panels
from published.entry import Progress, Reproduction, unfollowed
from published.merging_panels import (
    TOKENS,
    Panel,
    curve_numbers,
    half_time,
    layers_time,
    merging_time,
)

# Shares at these times, and standard errors in units of 1e-4, from 22 to 1000 runs of an
# independent program with projected Runge-Kutta steps of order 4. Then the same for layers.
_TIMES = [5.0, 10.0, 15.0, 20.0, 30.0]
_OTHERS = {
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
_OTHER_LAYERS = {(128, 5.0): ([0.0, 0.5341, 1.0, 1.0, 1.0], [0, 580, 0, 0, 0])}
# By adaptive quadrature of the reciprocal of (6.9).
_TIMES_OF_CURVE = {5.0: (9.54432920, 9.54432920e-8), 9.0: (178.73092952, 178.73092952e-8)}
_OTHER_PROGRAM = "runs of another program; within four standard errors of both"
_REPLICAS = {2: 512, 8: 512, 128: 64}
_SHORT_REPLICAS = {2: 64, 8: 16, 128: 4}


def compute(
    short: bool = False, published: bool = False, progress: Progress = unfollowed
) -> Reproduction:
    """Shares in four dimensions (short form: three), the curve, shares of another program."""
    made = {}
    with merging_panels.workers(short) as executor:
        shares = _shares_of_others(short, published, executor)
        panels = _panels(short)
        for panel in progress(panels, len(panels), "dimensions"):
            made[panel.name] = panel.made("softmax", published, executor)
    last = list(made.values())[-1]
    numbers = [*curve_numbers(mf.SA, _TIMES_OF_CURVE, "(6.9) by quadrature"), *shares]
    expected = layers_time if published else partial(merging_time, flow=mf.SA)
    late = [
        abs(half_time(last, float(beta)) - expected(float(beta)))
        for beta in last.betas
        if beta <= (4.0 if short else 6.0)
    ]
    numbers.append(
        Claim(
            f"time at which half of the pairs in R^{last.dimension} have merged minus that of "
            f"orthogonal ones, largest over beta up to {4 if short else 6}",
            0.0, max(late), 0.3,
            "random tokens in high dimension are nearly orthogonal, not quite",
        )
    )  # fmt: skip
    data = merging_panels.arrays_by_dimension(made, mf.SA, 30.0, published)
    return Reproduction(tuple(numbers), data)


def draw(figure: Figure, made: Reproduction) -> None:
    """A panel for each dimension, with the curve (6.12)."""
    moved = "layers of step 0.1" if made.data["layers"] else "SA"
    merging_panels.draw_dimensions(figure, made.data, moved, 2)


def _panels(short: bool) -> list[Panel]:
    if short:
        times, betas = np.linspace(0.0, 30.0, 61)[1:], np.array([2.0, 5.0, 8.0])
        sizes = [(2, betas, 8), (8, betas, 4), (128, np.array([2.0, 4.0]), 2)]
    else:
        times, betas = np.linspace(0.0, 30.0, 201)[1:], np.linspace(0.1, 9.0, 90)
        sizes = [(2, betas, 128), (8, betas, 64), (128, betas, 4),
                 (1024, np.linspace(0.1, 9.0, 30), 2)]  # fmt: skip
    return [Panel(f"d{d}", f"d = {d}", d, each, times, count) for d, each, count in sizes]


def _shares_of_others(short: bool, published: bool, executor: Executor | None) -> list[Claim]:
    """Claims on shares by the other program: for beta = 5, and the largest deviation of all."""
    others = _OTHER_LAYERS if published else _OTHERS
    if short:
        others = {key: others[key] for key in [(128, 5.0) if published else (2, 5.0)]}
    replicas = _SHORT_REPLICAS if short else _REPLICAS
    shown, worst = [], 0.0
    for d in sorted({d for d, _ in others}):
        betas = [beta for dimension, beta in others if dimension == d]
        found = mf.merging_diagram(
            TOKENS, d, betas=betas, times=_TIMES, runs=replicas[d], seed=1, executor=executor,
            motion="layers" if published else "flow",
        )  # fmt: skip
        for i, beta in enumerate(betas):
            shares, errors = (np.array(each) for each in others[d, beta])
            # Shares without variance may differ by 1e-4.
            combined = np.sqrt(found.standard_error[i] ** 2 + (1e-4 * errors) ** 2 + 1e-8)
            worst = max(worst, float(np.max(np.abs(found.fraction[i] - shares) / combined)))
            if beta == 5.0:
                shown.append(
                    Claim(f"share of merged pairs, d = {d}, beta = 5, t = 10", float(shares[1]),
                           float(found.fraction[i, 1]), float(4.0 * combined[1]), _OTHER_PROGRAM)
                )  # fmt: skip
    name = f"largest distance of {5 * len(others)} shares, in combined standard errors"
    return [*shown, Claim(name, 0.0, worst, 4.0, _OTHER_PROGRAM)]
