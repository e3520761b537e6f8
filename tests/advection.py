"""Divergence of the flux f grad Phi / Z in a given field, by the compiled engines."""

from __future__ import annotations

from meanfield.arrays import ModalArray
from meanfield.engines.fourier import density as by_transforms
from meanfield.engines.harmonics import density as by_rings
from meanfield.engines.harmonics.scratch import Scratch
from meanfield.fields.circle import product_sizes
from meanfield.spaces import Manifold


def advection(
    space: Manifold,
    max_degree: int,
    density: ModalArray,
    potential: ModalArray,
    partition: ModalArray | None = None,
) -> ModalArray:
    """Coefficients up to max_degree of div(f grad Phi / Z); Z = 1 if None."""
    if space.dimension == 1:
        sizes = product_sizes(max_degree)
        return by_transforms.advection(density, potential, partition, max_degree, sizes)
    return by_rings.advection(density, potential, partition, max_degree, Scratch())
