"""The difference of two densities as masses in cells: all that W_1 depends on.

    W_1(f, g) = t W_1((f - g)^+ / t, (f - g)^- / t)

with the mass t of either part. What stays where it is does not have to be transported, and the
lower bound does not suffer from it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meanfield.transport.sphere.cells import Cells
from meanfield.transport.sphere.partition import Evaluate, finished, integrals, refined

_MASS_NOISE = 1e-13  # mass by which evaluated densities of mass 1 are uncertain
_ONE_SIGN = 1e-9  # of |f - g|: a cell in which less has the other sign is taken to have one


class Difference(NamedTuple):
    """W_1 = mass x W_1(positive, negative), up to `error`."""

    positive: Cells
    negative: Cells
    mass: float
    error: float


def difference_cells(first: Evaluate, second: Evaluate, degree: int, count: int) -> Difference:
    """Cells of the positive and the negative part, about `count` in all.

    Where f - g changes its sign inside a cell, the cell has its net mass, spread like |f - g|: that
    moves W_1 by at most twice the integral of |f - g| there, times the distance to its direction.
    """
    squares = refined(lambda x: np.abs(first(x) - second(x)), degree, count, 1, "difference")
    net = np.subtract(
        *(
            integrals(density, degree, *squares[2:], name)[0]
            for density, name in ((first, "first"), (second, "second"))
        )
    )
    mixed = squares.mass - np.abs(net) > _ONE_SIGN * squares.mass
    # Angles are at most pi / 2 times chords, and the direction is not farther off than that allows.
    error = np.pi * float(squares.mass[mixed] @ squares.reach[mixed])
    error += np.pi * (_ONE_SIGN * float(squares.mass.sum()) + _MASS_NOISE)
    squares = squares._replace(mass=np.abs(net))
    parts = [finished(squares.chosen(sign * net > 0.0)) for sign in (1.0, -1.0)]
    mass = float(np.abs(net).sum()) / 2.0
    return Difference(parts[0], parts[1], mass, error)
