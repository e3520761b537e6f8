"""The density's right-hand side on the sphere: div(f grad Phi / Z), in flux form.

Values of f and gradients of Phi are made on rings, multiplied there, and their divergence is
taken back by the adjoint of the gradient: the coefficient of degree 0 is exactly zero.

A polynomial velocity of degree H takes rings exact to degree 2 L + H, free of aliasing. The
quotient grad Phi / Z is no polynomial; it takes those exact to 3 L. There, at the same nodes as
f, and only there: far from all mass it is the quotient of two rounding errors, which times
f = 0 is harmless, but which carried to another grid would spread into the mass.
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
    # What is not finite stays so, and the stepper rejects the step.
    with np.errstate(all="ignore"):
        values = nodes.values(density, scratch.array("values", shape))
        if partition is not None:
            below = nodes.values(partition, scratch.array("partition", shape))
            values /= floored(below)
        flux = scratch.array("flux", (*shape[:-1], 2, nodes.size))
        flux = nodes.gradients(potential, flux)
        flux *= values[..., None, :]
        return nodes.divergence(flux, max_degree)
