"""What a problem's measures feel: a kernel's interaction, or that of heads, and fixed fields."""

from __future__ import annotations

from meanfield.fields import engines
from meanfield.fields.driven import DrivenField, DrivenInteraction, FixedField
from meanfield.fields.heads import HeadsField, HeadsInteraction, heads_interaction
from meanfield.fields.mean_field import Interaction, MeanField, Transport, interaction
from meanfield.problem import Problem

Attended = Interaction | HeadsInteraction
"""Map from measures to the fields of attention."""

Felt = Attended | DrivenInteraction
"""Map from measures to fields: `of_density`, `of_points`."""

Field = MeanField | HeadsField | DrivenField
"""What moves points: `velocity`, `velocity_and_divergence`, `on_nodes`, `partitions`."""


def felt_by(problem: Problem, degree: int | None = None) -> Felt:
    """What measures of a problem feel; of a kernel up to a degree, by default the kernel's."""
    own = attended(problem, degree)
    return DrivenInteraction(own, fixed_field(problem)) if problem.terms else own


def fixed_field(problem: Problem) -> FixedField:
    """Sum of the fields that move tokens beside attention."""
    return FixedField(problem.space, problem.terms)


def attended(problem: Problem, degree: int | None = None) -> Attended:
    """What attention alone does, as `felt_by`.

    Where no series is known, tokens feel each other as heads do, by sums over pairs.
    """
    if problem.attention is not None or problem.manifold.family == "vectors":
        return heads_interaction(problem)
    return interaction(problem, degree)


def attention_of(felt: Felt) -> Attended:
    """What attention does of what is felt."""
    return felt.own if isinstance(felt, DrivenInteraction) else felt


def transport(felt: Felt, max_degree: int) -> Transport:
    """Transport of densities of a degree by the field that they feel: `engines.transport`."""
    if isinstance(felt, DrivenInteraction):
        return felt.transport(max_degree)
    return engines.transport(felt, max_degree)
