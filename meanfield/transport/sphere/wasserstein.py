"""Wasserstein distances on the sphere, with certified bounds."""

from __future__ import annotations

from math import gcd

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray
from meanfield.measures import Density, Measure
from meanfield.transport.bracket import Bracket

IntArray = npt.NDArray[np.int64]

EXACT = 4000
"""Points against points are solved to the optimum up to this many on either side."""
TOLERANCE = 0.01
"""Relative width at which a bracket is narrow enough."""
_COSTS = ("geodesic", "chordal")


def wasserstein_sphere(
    first: Measure | Density,
    second: Measure | Density,
    p: int = 1,
    *,
    cost: str = "geodesic",
) -> Bracket:
    """Wasserstein distance W_p on the sphere, with certified bounds."""
    from meanfield.transport.sphere.cells import Cells, integer_masses, token_cells
    from meanfield.transport.sphere.levels import bracket
    from meanfield.transport.sphere.partition import density_cells

    if p not in (1, 2):
        raise ValueError(f"p = {p!r} is not known, expected 1 or 2.")
    if cost not in _COSTS:
        raise ValueError(f"cost = {cost!r} is not known. Known: geodesic, chordal.")
    for name, measure in (("first", first), ("second", second)):
        if not isinstance(measure, Measure | Density):
            raise TypeError(
                f"{name} is a {type(measure).__name__}, expected a Measure or a Density."
            )
    points = isinstance(first, Measure) and isinstance(second, Measure)

    def cells(measure, other, name) -> Cells:
        if isinstance(measure, Measure):
            return token_cells(measure.points, integer_masses(measure.mass))
        count = 100_000
        if isinstance(other, Measure):
            count = min(max(16_000, 4 * len(other.points)), count)
        coefficients = measure.coefficients
        manifold = measure.manifold
        if not np.any(coefficients[1:]):
            return density_cells(lambda x: np.ones(len(x)), 0, count, p, name)
        return density_cells(
            lambda x: manifold.evaluate(coefficients, x), measure.max_degree, count, p, name
        )

    x, y = cells(first, second, "first"), cells(second, first, "second")
    exact = points and max(len(x), len(y)) <= EXACT
    return bracket(x, y, cost == "geodesic", p, TOLERANCE, exact)
