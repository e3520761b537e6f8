"""Divergence of the flux f grad Phi / Z in a given field, by the compiled engines."""

import numpy as np

from meanfield.engines.harmonics import density as by_rings
from meanfield.engines.harmonics.scratch import Scratch
from meanfield.fields.circle import product_roots


def advection(space, max_degree, density, potential, partition=None):
    """Coefficients up to max_degree of div(f grad Phi / Z); Z = 1 if None."""
    if space.dimension == 1:
        degree = min(len(potential) - 1, max_degree) if partition is None else max_degree
        roots = product_roots(max_degree, degree)
        return circle_advection(density, potential, partition, max_degree, roots)
    return by_rings.advection(density, potential, partition, max_degree, Scratch())


def circle_advection(density, potential, partition, max_degree, roots):
    """Divergence on the circle, by the kernels of `transport` with a field from outside."""
    # The second copy of the package has its own kernels, see tests/interpreted.
    from meanfield.engines.fourier import density as kernels

    # Compiled for complex numbers.
    with np.errstate(invalid="ignore"):
        slope = 1j * np.arange(len(potential)) * np.asarray(potential, complex)
    partitions = np.empty((0, 1), complex)
    if partition is not None:
        partitions = np.asarray(partition, complex)[None]
    largest, density = np.full(1, np.inf), np.asarray(density, complex)
    return -kernels.heads_transport(
        slope[None], partitions, largest, max_degree, roots, density, density[0].real
    )
