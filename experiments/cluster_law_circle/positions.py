"""Positions of clusters on the circle, predicted for every run of an ensemble from its tokens.

Predicted positions are (2 pi j - arg c_k) / k for the dominant degree alone, and the maxima of the
potential for the full linear field. The error is the distance to the nearest one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from meanfield.problem import Problem
from meanfield.studies.ensemble import run_tokens
from meanfield.studies.ensemble_results import Ensemble
from meanfield.studies.prediction import predict_positions


@dataclass(frozen=True)
class PositionErrors:
    """Median distances of measured clusters from predictions."""

    beta: float
    tokens: int
    runs: int
    dominant: tuple[float, float]  # radians, and shares of the spacing 2 pi / count of the run
    field: tuple[float, float]
    counts_right: tuple[float, float]  # share of runs with the right number: dominant, field


def position_errors(problem: Problem, made: Ensemble, size: int, runs: int) -> PositionErrors:
    """Errors at the last time of one size of an ensemble."""
    tokens, seed = int(made.tokens[size]), int(made.attributes["seed"])
    rows, right = [], []
    for run in range(min(runs, int(made.finished[size]))):
        count = int(made.counts[size, run, -1])
        centre = made.centre[size, run, -1, :count]
        predicted = predict_positions(problem, run_tokens(problem, tokens, run, seed))
        places = (predicted.dominant_positions, predicted.positions)
        nearest = [_distances(centre, at) for at in places]
        rows += [(*pair, count) for pair in zip(*nearest, strict=True)]
        right.append([len(at) == count for at in places])
    errors = np.array(rows)
    medians = np.median(errors[:, :2], axis=0)
    relative = np.median(errors[:, :2] * errors[:, 2:] / (2.0 * np.pi), axis=0)
    shares = np.mean(right, axis=0)
    return PositionErrors(
        problem.kernel.beta,
        tokens,
        len(right),
        (float(medians[0]), float(relative[0])),
        (float(medians[1]), float(relative[1])),
        (float(shares[0]), float(shares[1])),
    )


def table(errors: Iterable[PositionErrors]) -> str:
    """Table of errors in Markdown."""
    lines = [
        "| beta | N | runs | dominant degree, rad | of the spacing | full field, rad "
        "| of the spacing | count right: dominant | full field |",
        "|---" * 9 + "|",
    ]
    lines += [
        f"| {e.beta:g} | {e.tokens} | {e.runs} | {e.dominant[0]:.3f} | {e.dominant[1]:.3f} "
        f"| {e.field[0]:.3f} | {e.field[1]:.3f} | {e.counts_right[0]:.2f} "
        f"| {e.counts_right[1]:.2f} |"
        for e in errors
    ]
    return "\n".join(lines)


def _distances(centres: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Distance of each centre from the nearest place, at most pi."""
    apart = np.abs(centres[:, None] - places)
    return np.asarray(np.minimum(apart, 2.0 * np.pi - apart).min(axis=1, initial=np.pi))
