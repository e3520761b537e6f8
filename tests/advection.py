"""Divergence of the flux f grad Phi / Z in a given field, by the compiled engines."""

import numpy as np

from meanfield.engines.harmonics import density as by_rings
from meanfield.engines.harmonics.scratch import Scratch
from meanfield.fields.circle import product_sizes


def advection(space, max_degree, density, potential, partition=None):
    """Coefficients up to max_degree of div(f grad Phi / Z); Z = 1 if None."""
    if space.dimension == 1:
        sizes = product_sizes(max_degree)
        return circle_advection(density, potential, partition, max_degree, sizes)
    return by_rings.advection(density, potential, partition, max_degree, Scratch())


def circle_advection(density, potential, partition, max_degree, sizes):
    """Divergence on the circle, by the kernels of `transport` with a field from outside."""
    # The second copy of the package has its own kernels, see tests/interpreted.
    from meanfield.engines.fourier import density as kernels

    # Compiled for complex numbers.
    density, potential = np.asarray(density, complex), np.asarray(potential, complex)
    if partition is not None:
        partition = np.asarray(partition, complex)
        return kernels._normalized_flux(density, potential, partition, 1.0, max_degree, sizes)
    slope = kernels._slope(potential)
    return kernels._multiplied(density, density[0], slope, 0.0, 1.0, max_degree, sizes)
