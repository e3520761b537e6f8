"""Right-hand side of a density on the sphere: div(f grad Phi / Z), in flux form.

Values of f and gradients of Phi are computed and multiplied on rings. The adjoint of the gradient
gives the divergence, so the coefficient of degree 0 is exactly zero.

A polynomial velocity of degree H takes rings exact to degree 2 L + H, free of aliasing. The
quotient grad Phi / Z is no polynomial; it takes rings exact to 2 L + max(H, L). It is evaluated at
the nodes of f only. Far from all mass it is a quotient of two rounding errors; times f = 0 it is
harmless, but a transform to another grid would spread it.
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import ComplexArray
from meanfield.engines.harmonics.coefficients import degree_of
from meanfield.engines.harmonics.rings import rings
from meanfield.engines.harmonics.scratch import Scratch
from meanfield.engines.partition import floored


def advection(
    density: ComplexArray,
    potential: ComplexArray,
    partition: ComplexArray | None,
    max_degree: int,
    scratch: Scratch,
) -> ComplexArray:
    """Coefficients up to max_degree of div(f grad Phi / Z), leading axes kept."""
    field_degree = degree_of(potential)
    nodes = rings(
        2 * max_degree + (field_degree if partition is None else max(field_degree, max_degree))
    )
    shape = (*density.shape[:-1], nodes.size)
    # Values that are not finite stay so, and the stepper rejects the step.
    with np.errstate(all="ignore"):
        values = nodes.values(density, scratch.array("values", shape))
        if partition is not None:
            below = nodes.values(partition, scratch.array("partition", shape))
            values /= floored(below)
        flux = scratch.array("flux", (*shape[:-1], 2, nodes.size))
        flux = nodes.gradients(potential, flux)
        flux *= values[..., None, :]
        return nodes.divergence(flux, max_degree)
