"""Tokens that minimise the energy of a matrix (arXiv:2501.03096, figures 3 and 4).

    E(mu) = int int e^{x^T D y} dmu dmu,    D without negative eigenvalues

with score D, value -D and no normalisation. For D = 1 the least energy is sinh(1), of the uniform
measure. If D has a kernel, it is 1 by Jensen's inequality, for measures in the kernel. Tokens
approach it slowly, because the force falls with the cube of the distance. For D = diag(1, d), four
tokens (+-x_1, +-x_2) on the circle rest where tanh(x_1^2) = d tanh(d x_2^2).
"""

from __future__ import annotations

import math

import numpy as np
from claims import Claim
from matplotlib.figure import Figure

from meanfield.figures.draw.axes import ENERGY, ORDER
from published.entry import Progress, Reproduction, unfollowed
from published.spheres import draw_ball, energy_of, moved_by

MATRICES = ((1.0, 1.0, 1.0), (1.0, 0.25, 1.0), (1.0, 0.0, 1.0), (0.0, 0.0, 1.0))
TOKENS, UNTIL = 100, 300.0
# tanh(x_1^2) / tanh(d x_2^2) for d = 1, ..., 5, stored by the source.
STORED = {
    1: 1.0, 2: 1.99961007, 3: 2.99953413, 4: 3.99948406, 5: 4.99940729,
}  # fmt: skip
BRIEFLY = (2,)


def ratio_of(entry: float) -> float:
    """tanh(x_1^2) / tanh(d x_2^2) of four tokens at rest."""
    start = np.asarray(0.25 * np.pi + 0.5 * np.pi * np.arange(4), dtype=np.float64)
    last = moved_by((1.0, entry), -1.0, start, 30.0)
    ratios = np.tanh(np.cos(last) ** 2) / np.tanh(entry * np.sin(last) ** 2)
    return float(ratios.mean())


def compute(
    short: bool = False, published: bool = False, progress: Progress = unfollowed
) -> Reproduction:
    """Four tokens for each d, and 100 tokens under four matrices (not in the short form)."""
    entries = BRIEFLY if short else tuple(STORED)
    ratios = np.array([ratio_of(float(entry)) for entry in entries])
    numbers = [
        Claim(f"ratio of four tokens, $d = {entry}$", STORED[entry], float(ratio), 1e-3,
               "exact: $d$; stored after 10,000 steps in single precision", printed=True)
        for entry, ratio in zip(entries, ratios, strict=True)
    ]  # fmt: skip
    numbers.append(
        Claim("ratio of four tokens less $d$, largest", 0.0,
               float(np.abs(ratios - entries).max()), 1e-6, "exact")
    )  # fmt: skip
    data = {"entry": np.array(entries, dtype=float), "ratio": ratios}
    data["stored"] = np.array([STORED[entry] for entry in entries])
    rng = np.random.default_rng(42)
    points = rng.standard_normal((TOKENS, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    chosen = () if short else MATRICES
    for number, diagonal in enumerate(progress(chosen, len(chosen), "matrices")):
        last = moved_by(diagonal, -1.0, points, UNTIL)
        data[f"tokens_{number}"] = last
        energy = energy_of(last, diagonal)
        name = f"$D = ({', '.join(f'{each:g}' for each in diagonal)})$"
        least = math.sinh(1.0) if number == 0 else 1.0
        if number == 1:
            numbers.append(Claim(f"{name}: energy", None, energy))
        else:
            numbers.append(
                Claim(f"{name}: energy", least, energy, 1e-3 if number else 1e-5,
                       "exact: the least energy of all measures")
            )  # fmt: skip
        if number >= 2:
            away = last[:, [0, 2]] if number == 2 else last[:, 2:]
            numbers.append(
                Claim(f"{name}: mean distance from where it is least", 0.0,
                       float(np.linalg.norm(away, axis=1).mean()), None,
                       "falls like $t^{-1/2}$")
            )  # fmt: skip
    return Reproduction(tuple(numbers), data)


def draw(figure: Figure, reproduction: Reproduction) -> None:
    """Tokens at rest on balls, and the ratio of four tokens."""
    data = reproduction.data
    kept = [number for number in range(len(MATRICES)) if f"tokens_{number}" in data]
    figure.set_size_inches(1.65 * len(kept) + 2.2, 2.4)
    widths = (*(1.0 for _ in kept), 1.3)
    panels = figure.subplots(1, len(kept) + 1, width_ratios=widths, squeeze=False)[0]
    for number, axes in zip(kept, panels, strict=False):
        draw_ball(axes, data[f"tokens_{number}"], form=np.diag(MATRICES[number]))
        inside = ", ".join(f"{each:g}" for each in MATRICES[number])
        axes.set_title(f"$D = \\mathrm{{diag}}({inside})$", fontsize=8)
    axes = panels[-1]
    axes.plot(data["entry"], data["stored"] - data["entry"], "o", mfc="none", color=ENERGY,
              label="stored")  # fmt: skip
    axes.plot(data["entry"], data["ratio"] - data["entry"], ".", color=ORDER, label="here")
    axes.set_xlabel("$d$ of $D = \\mathrm{diag}(1, d)$", fontsize=8)
    axes.set_title("ratio of four tokens $- d$", fontsize=8)
    axes.legend(fontsize=6.5)
