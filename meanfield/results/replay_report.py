"""Report of a replay, for `replay`, `info` and `print`."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.models.heads import HeadTable
from meanfield.models.ladder import RUNGS, STEPS
from meanfield.models.replay import Replay
from meanfield.results.report import Report, facts, table


def replay_report(replay: Replay, path: str | os.PathLike[str] = "") -> Report:
    """Tables by layer: means over texts, medians over heads."""
    depths = range(replay.depth + 1)
    observed = {name: values.mean(axis=0) for name, values in replay.observed.items()}
    heads = {each.name: getattr(replay.heads, each.name) for each in fields(HeadTable)}
    median = {name: np.median(values, axis=(0, 2)) for name, values in heads.items()}
    sizes, rungs = replay.sizes.mean(axis=0), replay.ladder.cosine.mean(axis=0)
    apart, steps = replay.ladder.distance.mean(axis=0), replay.ladder.step_distance.mean(axis=0)
    share, explained = (
        part.mean(axis=0) for part in (replay.ladder.share, replay.ladder.explained)
    )
    names = ("mean_cosine", "deviation", "alike", "effective_rank", "clusters", "energy")
    of_tokens = table(
        ["layer", *(name.replace("_", " ") for name in names)],
        [[k, *(f"{observed[name][k]:.4g}" for name in names)] for k in depths],
        above="directions of tokens",
    )
    of_heads = table(
        ["layer", "beta fit", "R^2", "beta entropy", "R^2", "beta norm", "R^2", "attended",
         "|attention|", "|feed-forward|"],
        [
            [k + 1, *(f"{median[name][k]:.3g}" for name in (
                "beta_fit", "r2_fit", "beta_entropy", "r2_entropy", "beta_norm", "r2_norm",
                "attended_tokens")), *(f"{size:.3g}" for size in sizes[:, k])]
            for k in range(replay.depth)
        ],
        above="heads, medians: scores as beta times cosine, and the share R^2 that is",
    )  # fmt: skip
    of_rungs = table(
        ["layer", *(f"cosine: {name}" for name in RUNGS), *(f"apart: {n}" for n in RUNGS[1:3])],
        [[k, *("-" if np.isnan(row[k]) else f"{row[k]:.4f}" for row in rungs),
          *(f"{row[k]:.3f}" for row in apart[1:3])] for k in depths],
        above="from the model to an equation: mean cosine of pairs, and how far from the model",
    )  # fmt: skip
    of_steps = table(
        ["layer", *(f"apart: {name}" for name in STEPS), *(f"R^2: {name}" for name in STEPS[2:]),
         "R^2 of one head's output"],
        [[k + 1, *(f"{row[k]:.3f}" for row in [*steps, *explained[2:], share])]
         for k in range(replay.depth)],
        above="one layer from the model's own state: how far from its next, R^2 of its step",
    )  # fmt: skip
    pairs: list[tuple[str, Any]] = [
        ("model", replay.model),
        ("texts", len(replay.texts)),
        ("tokens", len(replay.tokens)),
        ("beta", f"{replay.beta:.4g}, the median of positive beta fit, for clusters and energy"),
    ]
    if path:
        pairs.append(("file", str(path)))
    blocks = [facts(pairs), of_tokens, of_heads, of_rungs, of_steps]
    data = {
        "output": str(path),
        "model": replay.model,
        "texts": len(replay.texts),
        "tokens": len(replay.tokens),
        "beta": replay.beta,
        "observed": replay.observed,
        "sizes": replay.sizes,
        "heads": heads,
        "ladder": {each.name: getattr(replay.ladder, each.name) for each in fields(replay.ladder)}
        | {"explained": replay.ladder.explained},
    }
    columns: dict[str, FloatArray] = {"layer": np.arange(replay.depth + 1.0)}
    columns |= {name: observed[name] for name in names}
    columns |= {f"cosine {name}": row for name, row in zip(RUNGS, rungs, strict=True)}
    return Report(blocks, data, columns, "Replay")
