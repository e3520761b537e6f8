"""Engines of axial measures, see `engines.Engines`: one object for each sphere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from meanfield.arrays import ComplexArray, FloatArray
from meanfield.bases.gegenbauer.grid import AxialGrid
from meanfield.engines.partition import floored
from meanfield.fields.axial import pairs

if TYPE_CHECKING:
    from meanfield.fields.mean_field import Interaction, Transport


@dataclass(frozen=True)
class AxialEngines:
    """Row of the table for S^{d-1}."""

    ambient: int  # d

    def transport(self, interaction: Interaction, max_degree: int) -> Transport:
        """Transforms by products of matrices, on nodes that integrate three fields."""
        grid = AxialGrid(self.ambient, max_degree)

        def transport(density: ComplexArray, perturbation: bool) -> ComplexArray:
            field = interaction.field(density)
            if field.partition is None and perturbation:
                density = density.copy()
                density[0] = 0.0
            # Values that are not finite stay so, and the stepper rejects the step.
            with np.errstate(all="ignore"):
                flux = grid.to_nodal(density) * grid.gradient(field.potential)
                if field.partition is not None:
                    flux /= floored(grid.to_nodal(field.partition))
                return -grid.divergence(flux)

        return transport

    def head_table(self, *arguments: Any) -> NoReturn:
        """Refuse heads; see `Problem`."""
        raise ValueError("heads with matrices prefer directions, and keep no density axial.")

    heads_transport = heads_velocity = far_velocity = head_table

    def own_velocity(
        self, interaction: Interaction, points: FloatArray, weights: FloatArray | None
    ) -> None:
        return None

    def direct_sum_limit(self, degree: int) -> int:
        """Near the crossover of costs: each pair of rings needs a Bessel function."""
        return 8

    def exponential_velocity(
        self,
        points: FloatArray,
        weights: FloatArray | None,
        beta: float,
        normalized: bool,
        targets: FloatArray | None,
    ) -> FloatArray:
        return pairs.velocity(self.ambient, points, weights, beta, normalized, targets)

    def pairwise_velocity(
        self,
        attention: Callable[[FloatArray], FloatArray],
        points: FloatArray,
        weights: FloatArray | None,
        normalized: bool,
        targets: FloatArray | None,
    ) -> FloatArray:
        return pairs.velocity_by_quadrature(
            self.ambient, attention, points, weights, normalized, targets
        )
