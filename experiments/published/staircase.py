"""Five tokens merge pair by pair, at times up to 1e143 (arXiv:2410.06833).

The energy rises through the sums of squared masses 0.2, 0.28, 0.44, 0.52, 1. The stored script of
the figure does not integrate in time. It takes steps of constant length along the gradient,

    theta <- theta + lr ln(beta) v / |v|,    lr = 1e-5,

and plots the energy against lr times their number: arc length over ln(beta). For large beta one
pair moves at a time. Two clusters of a and b tokens at the distance d meet after the arc length
d sqrt(a b / (a + b)).
"""

from __future__ import annotations

import itertools

import numpy as np
from claims import Claim
from matplotlib import colormaps
from matplotlib.figure import Figure

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.figures.draw.axes import INK
from meanfield.observables.cluster_tree import cluster_tree
from published.entry import Progress, Reproduction, unfollowed
from published.staircase_clock import second_integration

BETAS = (500, 1000, 1500, 2000, 3000, 4000)
ANGLES = np.log(2000) / np.sqrt(2000) * np.array([0.0, 0.25, 1.0, 2.0, 3.5])
LEVELS = (0.2, 0.28, 0.44, 0.52, 1.0)
LAST, FIRST = 1e150, 0.1
# Plateaus are compared with their level if the ratio of their ends exceeds this.
LASTING = 1e9
# Common logarithms of the last merge of softmax tokens, by the second integration.
LAST_MERGES = {500: 15.504581, 4000: 143.121782}
# From the script: lr, and the distance below which pairs merge.
RATE, GLUED = 1e-5, 1e-3
# Values of beta with claims on passages between levels. Passages are earlier than in the limit of
# large beta by up to this many widths 1 / sqrt(beta) of the kernel.
CLAIMED, WIDTHS = (500, 4000), 1.6


def compute(
    short: bool = False, published: bool = False, progress: Progress = unfollowed
) -> Reproduction:
    """Energies over time and over the paper's clock, or over arc length by the script."""
    if published:
        return by_arc_length(BETAS[::5] if short else BETAS, progress)
    flows = (mf.SA,) if short else (mf.SA, mf.USA)
    cases = list(itertools.product(flows, BETAS[:1] if short else BETAS))
    data: dict[str, FloatArray] = {}
    heights, errors, ends = [], [], {}
    for flow, beta in progress(cases, len(cases), "runs"):
        name = f"{'SA' if flow.normalized else 'USA'}_{beta}"
        law = mf.from_points(ANGLES, name="atoms")
        problem = mf.Problem(mf.Circle(), mf.exponential(float(beta)), flow, law)
        run = mf.simulate(
            problem, LAST, first=FIRST, spacing="log", save=77 if short else 303,
            tolerance=1e-9 if short else 1e-12, stop="one_cluster", observables=["energy"],
        )  # fmt: skip
        merges = cluster_tree(run.events).merge_times
        energy = run.observables["energy"]
        heights.append(level_error(run.time, energy, merges))
        data[f"{name}_time"], data[f"{name}_energy"] = run.time, energy
        if flow.normalized:
            ends[beta] = float(np.log10(merges[-1]))
        if not short:
            known, clock, climbed = second_integration(ANGLES, float(beta), flow.normalized)
            errors.append(float(np.abs(merges / known - 1.0).max()))
            data[f"{name}_clock"], data[f"{name}_clock_energy"] = clock, climbed
    numbers = [
        Claim("largest distance of a plateau of the energy from 0.2, 0.28, 0.44, 0.52, 1", 0.0,
               max(heights), 1e-6),
        *(
            Claim(f"log10 of the last merge, softmax, beta = {beta}, scaled time", known,
                   ends[beta], 1e-6, "by the second integration")
            for beta, known in LAST_MERGES.items()
            if beta in ends
        ),
    ]  # fmt: skip
    if errors:
        what = "largest relative distance of a merge time from the second integration"
        numbers.append(Claim(what, 0.0, max(errors), 1e-6))
    return Reproduction(tuple(numbers), data)


def level_error(times: FloatArray, energy: FloatArray, merges: FloatArray) -> float:
    """Largest distance of the energy from its level, in the middle of plateaus in log time."""
    ends = np.concatenate([merges, times[-1:]])
    begins = np.concatenate([times[:1], merges])
    worst = abs(energy[-1] - LEVELS[-1])
    for begin, end, level in zip(begins, ends, LEVELS, strict=True):
        if end > LASTING * begin:
            row = int(np.searchsorted(times, np.sqrt(begin) * np.sqrt(end)))
            worst = max(worst, abs(energy[row] - level))
    return float(worst)


def by_arc_length(betas: tuple[int, ...], progress: Progress) -> Reproduction:
    """Energies by the steps of the script, and arc lengths of passages between levels."""
    data: dict[str, FloatArray] = {}
    numbers = []
    lengths = limit_lengths()
    between = 0.5 * (np.array(LEVELS[1:]) + LEVELS[:-1])
    for beta in progress(betas, len(betas), "steps"):
        s, energy = script(float(beta))
        data[f"arc_{beta}_clock"], data[f"arc_{beta}_energy"] = s, energy
        if beta not in CLAIMED:
            continue
        near = WIDTHS / (np.sqrt(beta) * np.log(beta))
        for level, length in zip(between, lengths, strict=True):
            # At beta = 500 the energy is above 0.24 from the start.
            if energy[0] > level:
                continue
            numbers.append(
                Claim(f"beta = {beta}: energy passes {level:g} at s", float(length / np.log(beta)),
                       float(s[np.argmax(energy > level)]), float(near),
                       "the limit of large beta")
            )  # fmt: skip
    last = max(float(values[-1]) for name, values in data.items() if name.endswith("clock"))
    why = "the printed axis is another one, or its rate: with 1e-5 all is over by then"
    numbers.append(Claim("last s, of all beta", 10.0, last, None, why, printed=True))
    return Reproduction(tuple(numbers), data)


def script(beta: float) -> tuple[FloatArray, FloatArray]:
    """Arc length over ln(beta), and energy, by the steps of the script, USA, up to one cluster.

    The script merges pairs only while the whole gradient is below 1e-5, so a pair may oscillate
    around its centre for ever. Here pairs merge as soon as they are closer than `GLUED`.
    """
    angles, mass = ANGLES.copy(), np.full(5, 0.2)
    energy = []
    while len(angles) > 1:
        apart = angles - angles[:, None]
        kernel = np.exp(-2.0 * beta * np.sin(0.5 * apart) ** 2)
        energy.append(float(mass @ kernel @ mass))
        velocity = (np.sin(apart) * kernel) @ mass
        # Scaled, because squares of numbers below 1e-160 would vanish.
        velocity /= np.abs(velocity).max()
        angles = angles + RATE * np.log(beta) * velocity / np.sqrt(5.0 * mass @ velocity**2)
        one = int(np.argmin(np.diff(angles)))
        if angles[one + 1] - angles[one] < GLUED:
            angles, mass = merged(angles, mass, one)
    return np.linspace(0.0, RATE * len(energy), len(energy) + 1), np.array([*energy, 1.0])


def merged(angles: FloatArray, mass: FloatArray, one: int) -> tuple[FloatArray, FloatArray]:
    """Angles and masses after a merge of cluster `one` and the next at their centre."""
    pair = slice(one, one + 2)
    centre, total = mass[pair] @ angles[pair] / mass[pair].sum(), mass[pair].sum()
    return (
        np.concatenate([angles[:one], [centre], angles[one + 2 :]]),
        np.concatenate([mass[:one], [total], mass[one + 2 :]]),
    )


def limit_lengths() -> FloatArray:
    """Arc lengths of merges in the limit of large beta, in which the nearest pairs merge."""
    angles, mass, length, lengths = ANGLES.copy(), np.full(5, 0.2), 0.0, []
    while len(angles) > 1:
        one = int(np.argmin(np.diff(angles)))
        a, b = 5.0 * mass[one : one + 2]
        length += float((angles[one + 1] - angles[one]) * np.sqrt(a * b / (a + b)))
        lengths.append(length)
        angles, mass = merged(angles, mass, one)
    return np.array(lengths)


def draw(figure: Figure, reproduction: Reproduction) -> None:
    """Energy over time and over the paper's clock, SA above USA; or over arc length."""
    data = reproduction.data
    betas = sorted({int(name.split("_")[1]) for name in data})
    colours = dict(
        zip(betas, colormaps["viridis_r"](np.linspace(0.1, 0.95, len(betas))), strict=True)
    )
    rows = [word for word in ("SA", "USA", "arc") if f"{word}_{betas[0]}_energy" in data]
    clocks = [kind for kind in ("time", "clock") if f"{rows[0]}_{betas[0]}_{kind}" in data]
    figure.set_size_inches(4.7 * len(clocks) if len(clocks) > 1 else 7.0, 1.2 + 2.5 * len(rows))
    panels = figure.subplots(len(rows), len(clocks), sharey=True, sharex="col", squeeze=False)
    for word, row in zip(rows, panels, strict=True):
        for kind, axes in zip(clocks, row, strict=True):
            for beta in betas:
                name = f"{word}_{beta}_"
                energy = data.get(f"{name}{kind}_energy", data.get(f"{name}energy"))
                axes.plot(
                    data[f"{name}{kind}"], energy, color=colours[beta], label=rf"$\beta = {beta}$"
                )
            for level in LEVELS:
                axes.axhline(level, color=INK, linewidth=0.5, linestyle=":", zorder=0)
            if kind == "time":
                axes.set_xscale("log")
                axes.set_xlim(FIRST, LAST)
                axes.set_xticks([1.0, 1e50, 1e100, 1e150])
        flow = "USA, script" if word == "arc" else word
        row[0].set_ylabel(rf"{flow}: energy $E/E[\mathrm{{Dirac}}]$")
        row[0].set_yticks(LEVELS)
    words = {"time": "scaled time $t$", "clock": "clock $s$ of the paper"}
    for kind, axes in zip(clocks, panels[-1], strict=True):
        arc = r"arc length over $\ln \beta$"
        axes.set_xlabel(arc if rows == ["arc"] else words[kind])
    panels[0][-1].legend(loc="lower right", fontsize=7.5)
