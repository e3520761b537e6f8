"""Mean field of a problem: attention plus external fields."""

from __future__ import annotations

from meanfield.fields.driven import DrivenField, DrivenInteraction, FixedField
from meanfield.fields.heads import HeadsField, HeadsInteraction, heads_interaction
from meanfield.fields.mean_field import Interaction, MeanField, Transport, interaction
from meanfield.problem import Problem

AttentionInteraction = Interaction | HeadsInteraction
"""Map from measures to the fields of attention."""

AnyInteraction = AttentionInteraction | DrivenInteraction
"""Map from measures to fields: `of_density`, `of_points`."""

Field = MeanField | HeadsField | DrivenField
"""Field of a measure: `velocity`, `velocity_and_divergence`, `on_nodes`, `partitions`."""


def interaction_of(problem: Problem, degree: int | None = None) -> AnyInteraction:
    """Mean field of a problem; that of a kernel up to a degree, by default its own."""
    own = attended(problem, degree)
    return DrivenInteraction(own, fixed_field(problem)) if problem.terms else own


def fixed_field(problem: Problem) -> FixedField:
    """Sum of the fixed fields of a problem."""
    return FixedField(problem.manifold, problem.terms)


def attended(problem: Problem, degree: int | None = None) -> AttentionInteraction:
    """Mean field of attention alone, as `interaction_of`.

    On spaces without series, built-in kernels are heads, summed over pairs; others on spheres are
    summed by `kernel_output`.
    """
    if problem.attention is not None:
        return heads_interaction(problem)
    own = problem.own_kernel.log_slope is None and problem.manifold.is_sphere
    if not problem.manifold.has_series and not own:
        return heads_interaction(problem)
    return interaction(problem, degree)


def transport(interaction: AnyInteraction, max_degree: int) -> Transport:
    """Transport -div(f v[f]) of densities of a degree by the field that they create."""
    return interaction.transport(max_degree)
