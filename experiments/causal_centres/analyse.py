"""Run causal_centres: under a causal mask clusters form where Renyi's parking leaves its cars.

Tokens of a random prompt come one by one. One farther than 4 / sqrt(beta) from all before it is a
strong centre; one that is so far from all centres kept before it is a greedy centre. Strong centres
must be as many as (1 - (1 - q)^n) / q says, q the mass of a cap, and hardly move while the others
gather; token 1 must not move at all. Draws centres.png (short.png).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

import meanfield as mf
from meanfield.outputs.plots.figures import new_figure, write_figure
from meanfield.outputs.plots.style import ENERGY, FAINT, ORDER, style, title_above
from meanfield.theory.causal import greedy_centres, strong_centres
from meanfield.theory.random_tokens import expected_centres

FOLDER = Path(__file__).parent
BETA, TOKENS = 64.0, 200
SEPARATION = 4.0 / np.sqrt(BETA)
TIMES = (0.0, 25.0, 75.0, 125.0)
NEAR = 0.05
"""Gap that separates clusters, and distance at which a token is at a centre."""


def prompt(seed: int) -> np.ndarray:
    """Independent uniform angles."""
    return np.random.default_rng(seed).uniform(-np.pi, np.pi, TOKENS)


def moved(angles: np.ndarray, save: tuple[float, ...]) -> np.ndarray:
    """Angles over the saved times, windings kept."""
    attention = mf.Attention([mf.Head()], "softmax", beta=BETA, mask="causal")
    problem = mf.Problem(mf.Circle(), attention, initial=mf.from_points(angles))
    run = mf.simulate(problem, until=save[-1], save=list(save), tolerance=1e-8)
    return np.array([measure.points for measure in run.measures])


def clusters(angles: np.ndarray) -> int:
    """Groups of tokens that gaps above `NEAR` separate."""
    ordered = np.sort(np.mod(angles, 2.0 * np.pi))
    gaps = np.diff(ordered, append=ordered[0] + 2.0 * np.pi)
    return max(1, int((gaps > NEAR).sum()))


def at_centres(angles: np.ndarray, centres: np.ndarray) -> float:
    """Share of tokens within `NEAR` of one of the centres."""
    away = np.abs(np.angle(np.exp(1j * (angles[:, None] - angles[centres]))))
    return float((away.min(axis=1) < NEAR).mean())


def main() -> int:
    """Run, check, draw."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--short", action="store_true", help="fewer prompts")
    short = options.parse_args().short
    prompts, draws = (6, 200) if short else (20, 2000)

    counts = np.array([len(strong_centres(prompt(seed), SEPARATION)) for seed in range(draws)])
    expected = expected_centres(mf.Circle(), TOKENS, SEPARATION)
    error = counts.std(ddof=1) / np.sqrt(draws)
    greedy = np.array([len(greedy_centres(prompt(seed), SEPARATION)) for seed in range(draws)])
    print(f"strong centres {counts.mean():.3f} +- {error:.3f}, expected {expected:.6f}")
    print(f"greedy centres {greedy.mean():.3f} +- {greedy.std(ddof=1) / np.sqrt(draws):.3f}")

    strong, others, groups, gathered, first = [], [], [], [], 0.0
    for seed in range(prompts):
        start = prompt(seed)
        angles = moved(start, TIMES)
        away = np.abs(angles - start)
        first = max(first, float(away[:, 0].max()))
        of_strong, of_greedy = (
            find(start, SEPARATION) for find in (strong_centres, greedy_centres)
        )
        rest = np.setdiff1d(of_greedy, of_strong)
        strong.append(away[1:, of_strong].max(axis=1))
        others.append(away[1:, rest].max(axis=1, initial=0.0))
        groups.append([clusters(row) for row in angles[1:]])
        gathered.append([at_centres(row, of_greedy) for row in angles[1:]])
    print(f"{prompts} prompts, largest displacement of a strong centre: mean (largest); clusters")
    for i, time in enumerate(TIMES[1:]):
        own = np.array(strong)[:, i]
        print(
            f"t = {time:3g}: {own.mean():.4f} ({own.max():.3f}); other greedy centres up to "
            f"{np.array(others)[:, i].max():.2f}; {np.mean(groups, axis=0)[i]:.2f} clusters; "
            f"{100 * np.mean(gathered, axis=0)[i]:.1f} % of tokens at a centre"
        )
    checks = {
        "strong centres minus their expected number, standard errors": (
            abs(counts.mean() - expected) / error,
            4.0,
        ),
        "displacement of token 1, rounding of some 600 steps": (first, 1e-13),
        "share of prompts with a strong centre that moved by 0.05 until t = 75": (
            float((np.array(strong)[:, 1] > 0.05).mean()),
            0.1,
        ),
        "median of the largest displacement of a strong centre at t = 75": (
            float(np.median(np.array(strong)[:, 1])),
            0.01,
        ),
        "share of tokens away from centres at t = 75": (1 - np.mean(gathered, axis=0)[1], 0.05),
    }
    save_figure(FOLDER / ("short.png" if short else "centres.png"))
    for name, (found, allowed) in checks.items():
        word = "" if found <= allowed else ": FAILED"
        print(f"{name}: {found:.2g} (allowed {allowed:.2g}){word}")
    return int(any(not found <= allowed for found, allowed in checks.values()))


def save_figure(path: Path) -> None:
    """Paths of the tokens of two prompts, with their centres; the axis of time has its root."""
    save = tuple(np.linspace(0.0, np.sqrt(TIMES[-1]), 200) ** 2)
    with style():
        figure = new_figure((10.0, 4.8))
        panels = figure.subplots(1, 2, sharey=True)
        for axes, seed in zip(panels, (0, 1), strict=True):
            start = prompt(seed)
            angles = moved(start, save)
            strong, greedy = (find(start, SEPARATION) for find in (strong_centres, greedy_centres))
            rest = np.setdiff1d(greedy, strong)
            others = np.setdiff1d(np.arange(TOKENS), greedy)
            for which, colour, width, label in (
                (others, FAINT, 0.5, "other tokens"),
                (rest, ORDER, 1.4, "greedy centres"),
                (strong, ENERGY, 1.4, "strong centres"),
            ):
                shown = np.mod(angles[:, which] + np.pi, 2.0 * np.pi) - np.pi
                shown[1:][np.abs(np.diff(shown, axis=0)) > np.pi] = np.nan
                lines = axes.plot(np.sqrt(save), shown / np.pi, color=colour, linewidth=width)
                lines[0].set_label(f"{len(which)} {label}")
            ticks = np.array([0.0, 5.0, 25.0, 75.0, 125.0])
            axes.set_xticks(np.sqrt(ticks), [f"{tick:g}" for tick in ticks])
            axes.set(xlabel="time", xlim=(0.0, np.sqrt(TIMES[-1])), ylim=(-1.0, 1.0))
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=3)
            title_above(axes, f"Prompt {seed + 1}", f"{TOKENS} tokens, causal, $\\beta = {BETA:g}$")
        panels[0].set_ylabel("angle / π")
        write_figure(figure, path)


if __name__ == "__main__":
    sys.exit(main())
