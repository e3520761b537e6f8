"""Share of merged pairs of 32 random tokens with random matrices B and V."""

from __future__ import annotations

import numpy as np
from claims import Claim
from matplotlib.figure import Figure

import meanfield as mf
from published import merging_panels
from published.entry import Progress, Reproduction, unfollowed
from published.merging_panels import TOKENS, Panel

DIMENSION = 8
_SCORES = {"gaussian": "B = G_1 G_2 / \\sqrt{d}", "goe": "B = (G + G^T) / \\sqrt{2}"}
_VALUES = {"identity": "V = 1", "wishart": "V = G G^T / \\sqrt{d}", "score": "V = B^T / |B|",
           "minus_score": "V = -B^T / |B|"}  # fmt: skip
_PAIRS = (
    ("gaussian", "identity"), ("gaussian", "wishart"), ("gaussian", "score"),
    ("goe", "identity"), ("goe", "score"), ("goe", "minus_score"),
)  # fmt: skip
# Shares at t = 30 and beta = 4.955, and their standard errors, from 128 runs of each pair by an
# independent program with projected Runge-Kutta steps of order 4.
_OTHERS = (
    (0.5555, 0.0146), (0.8081, 0.0206), (0.4770, 0.0076), (0.3887, 0.0088), (0.4261, 0.0100),
    (0.9766, 0.0134),
)  # fmt: skip
_OTHER_RUNS = 128


def compute(
    short: bool = False, published: bool = False, progress: Progress = unfollowed
) -> Reproduction:
    """Shares for six pairs of laws of B and V, with new matrices in each replica."""
    times = np.linspace(0.0, 30.0, 31 if short else 201)[1:]
    betas = np.linspace(0.1, 9.0, 45)
    betas = betas[24:25] if short else betas
    replicas = 16 if short else 64
    panels = [
        Panel(f"{score}_{value}", f"{score}, {value}", DIMENSION, betas, times, replicas,
              mf.RandomHead(score, value))
        for score, value in _PAIRS
    ]  # fmt: skip
    made = {}
    with merging_panels.workers(short) as executor:
        for panel in progress(panels, len(panels), "pairs of laws"):
            made[panel.name] = panel.made("softmax", published, executor)
    numbers = []
    # If V is large, layers of step 0.1 differ from the flow: their shares are not compared.
    wider = 4.0 * np.sqrt(1.0 + _OTHER_RUNS / replicas)
    for (score, value), each, (share, error) in zip(_PAIRS, made.values(), _OTHERS, strict=True):
        at = int(np.argmin(np.abs(each.betas - 5.0)))
        numbers.append(
            Claim(f"share of merged pairs, B {score}, V {value}, beta = {each.betas[at]:.3f}, "
                   "t = 30", share, float(each.fraction[at, -1]),
                   None if published else float(wider * error),
                   "128 runs of another program; within four standard errors")
        )  # fmt: skip
    data = merging_panels.arrays(made)
    data["replicas"] = np.array(panels[0].replicas)
    data["layers"] = np.array(published)
    return Reproduction(tuple(numbers), data)


def draw(figure: Figure, reproduction: Reproduction) -> None:
    """A panel for each pair of laws."""
    data = reproduction.data
    moved = "layers of step 0.1" if data["layers"] else "SA"
    facts = f"$d = {DIMENSION}$, {TOKENS} tokens, {moved}, {data['replicas']} replicas"
    listed = [
        (f"{score}_{value}", f"${_SCORES[score]}$,  ${_VALUES[value]}$", facts)
        for score, value in _PAIRS
    ]
    merging_panels.draw(figure, data, listed, 3)
