"""What a problem's measures feel: a kernel's interaction, or that of heads."""

from __future__ import annotations

from meanfield.fields.heads import HeadsField, HeadsInteraction, heads_interaction
from meanfield.fields.mean_field import Interaction, MeanField, interaction
from meanfield.problem import Problem

Felt = Interaction | HeadsInteraction
"""Map from measures to fields: `of_density`, `of_points`."""

Field = MeanField | HeadsField
"""What moves points: `velocity`, `velocity_and_divergence`, `on_nodes`, `partitions`."""


def felt_by(problem: Problem, degree: int | None = None) -> Felt:
    """What measures of a problem feel; of a kernel up to a degree, by default the kernel's.

    Where no series is known, tokens feel each other as heads do, by sums over pairs.
    """
    if problem.attention is not None or problem.manifold.family == "vectors":
        return heads_interaction(problem)
    return interaction(problem, degree)
