"""Velocities of labelled measures: each label moves in the field of the measure it attends to.

    d_t f_i = -div(f_i v[nu_i]) - omega_i d f_i / d theta,    nu_i = sum_j C_ij mu_j    (`labels`)

All labels are on one grid, and transformed together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from meanfield.arrays import ComplexArray, FloatArray, ModalArray
from meanfield.bases.grid import Grid
from meanfield.fields.heads import heads_interaction
from meanfield.fields.interactions import AttentionInteraction, Field, attended, fixed_field
from meanfield.fields.lost_digits import partition_cancels, relative_errors
from meanfield.labels import Labels
from meanfield.problem import Problem

if TYPE_CHECKING:
    from meanfield.fields.circle.rotary import CircleRotary


@dataclass(frozen=True, eq=False)
class _Averages:
    """Mean fields of nu_i, an average of densities; `CircleRotary` has the same methods."""

    interaction: AttentionInteraction
    labels: Labels

    def velocities(self, parts: ModalArray, time: float, grid: Grid) -> FloatArray:
        return self.interaction.nodal_velocities(self._seen(parts, time), grid)

    def fields(self, parts: ModalArray, time: float) -> Sequence[Field]:
        return [self.interaction.of_density(each) for each in self._seen(parts, time)]

    def phased(self, parts: ModalArray) -> ModalArray:
        return parts[:, :0]

    def _seen(self, parts: ModalArray, time: float) -> ModalArray:
        return self.labels.attended(self.interaction.relevant(parts), time)


@dataclass(frozen=True, eq=False)
class LabelledField:
    """Velocities of all labels at the nodes of a grid."""

    problem: Problem
    labels: Labels
    grid: Grid

    @cached_property
    def attention(self) -> _Averages | CircleRotary:
        """Mean fields of attention, one a label."""
        of = self.problem.attention
        if of is None or of.rotary is None:
            return _Averages(attended(self.problem.unlabelled), self.labels)
        from meanfield.fields.circle.rotary import CircleRotary

        interaction = heads_interaction(self.problem.unlabelled)
        return CircleRotary(interaction, of.rotary.length, self.labels)

    def velocities(self, parts: ModalArray, time: float = 0.0) -> FloatArray:
        """Velocities at the nodes in the fields that densities create together.

        parts (M, ...): coefficients of the density of each label; time: how long labels turned.

        Returns (M, ..., n), or one row if all labels attend to the same measure; without natural
        frequencies.
        """
        velocity = self.attention.velocities(parts, time, self.grid)
        return velocity if self._fixed is None else velocity + self._fixed

    def divergence(
        self, parts: ModalArray, velocities: FloatArray, max_degree: int | None = None
    ) -> ModalArray:
        """Coefficients of div(f v) of each label, up to a degree as `Grid.divergence` has it."""
        values = self.grid.to_nodal(parts)
        if velocities.ndim > values.ndim:
            values = values[:, None, :]
        return self.grid.divergence(values * velocities, max_degree)

    def partition_error(self, parts: ModalArray, time: float = 0.0) -> float:
        """Mean relative error of velocities by the rounding of Z, for the worst label."""
        if not partition_cancels(self.problem.unlabelled):
            return 0.0
        worst, fields = 0.0, self.attention.fields(parts, time)
        for i, part in enumerate(parts):
            field = fields[min(i, len(fields) - 1)]
            masses = np.maximum(self.grid.to_nodal(part) * self.grid.weights, 0.0)
            worst = max(worst, float(masses @ relative_errors(field, self.grid.to_nodal)))
        return worst

    def label_error(self, moments: ModalArray) -> float:
        """Largest estimated error of integrals over labels: of moments, and of averages by C."""
        of_moments = self.problem.manifold.sizes_by_degree(self.labels.error(moments))
        of_phases = np.abs(self.labels.error(self.attention.phased(moments)))
        return max(float(of_moments.max()), float(of_phases.max(initial=0.0)))

    @cached_property
    def _fixed(self) -> FloatArray | None:
        return fixed_field(self.problem).on_nodes(self.grid) if self.problem.terms else None


def turned(labels: Labels, parts: ModalArray, time: float) -> ComplexArray:
    """Coefficients after each label has turned by omega_j t: f_jk e^{-i k omega_j t}."""
    # Powers by products: no exponential for each coefficient.
    phases = np.empty(parts.shape, dtype=np.complex128)
    phases[:, 0] = 1.0
    phases[:, 1:] = np.exp(-1j * time * labels.turning)[:, None]
    np.multiply.accumulate(phases, axis=1, out=phases)
    phases *= parts
    return phases
