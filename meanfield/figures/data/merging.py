"""Picture of a merging diagram: shares of merged pairs, and the curve of equiangular tokens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.papers.equiangular import equiangular_beta
from meanfield.papers.merging_results import MergingDiagram
from meanfield.terms.attention import Head

_CURVE_POINTS = 200


@dataclass(frozen=True, eq=False)
class MergingPicture:
    """Shares over beta and time."""

    facts: str  # tokens, dimension, flow and matrices, one line
    title: str  # may be empty
    times: FloatArray
    betas: FloatArray
    fraction: FloatArray  # (n_betas, n_times): NaN where nothing was run
    # (n, 2): times and betas at which pairs of orthogonal tokens reach the threshold, where Q = K =
    # V = 1 under softmax.
    curve: FloatArray | None


def merging_picture(made: MergingDiagram) -> MergingPicture:
    """Picture of a diagram, from memory or from a file."""
    facts, asked = made.facts, made.attributes
    flow = "SA" if facts.normalization == "softmax" else "USA"
    words = [f"{made.tokens} tokens in $\\mathbb{{R}}^{{{made.dimension}}}$", flow]
    if asked.get("motion") == "layers":
        words.append(f"layers of step {asked.get('step', 0.1):g}")
    plain = asked.get("matrices", repr(Head())) == repr(Head())
    if not plain:
        words.append(str(asked["matrices"]))
    words.append(f"{int(made.finished.min())} runs")
    title = facts.title or "Share of pairs of tokens that have merged"
    curve = _curve(made) if plain and flow == "SA" else None
    return MergingPicture(",  ".join(words), title, made.times, made.betas, made.fraction, curve)


def _curve(diagram: MergingDiagram) -> FloatArray | None:
    """The curve (6.12) with the tokens and the threshold of the diagram, inside its betas."""
    n, delta = diagram.tokens, 1.0 - float(diagram.attributes.get("threshold", 0.999))
    first = 0.5 * np.log(((n - 1) * (1.0 - delta) + 1.0) / delta)
    if diagram.times[-1] <= first:
        return None
    # At `first` beta is 0: closer to it the curve is steep.
    shares = np.linspace(0.0, 1.0, _CURVE_POINTS)[1:] ** 2
    times = first + (diagram.times[-1] - first) * shares
    betas = np.asarray(equiangular_beta(n, times, delta))
    curve: FloatArray = np.column_stack([times, betas])[betas <= diagram.betas[-1]]
    return curve
