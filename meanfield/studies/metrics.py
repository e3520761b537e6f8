"""Distances that studies measure, by the name that run files give them."""

from __future__ import annotations

from collections.abc import Callable

from meanfield.measures import Density, Measure
from meanfield.transport import Bracket, sobolev_distance, wasserstein

# Relative width of a bracket: below what systems of one size differ by, whose distances are of
# the size n^{-1/2} of sampling or larger. Narrower ones would cost more and say no more.
_TOLERANCE = 0.1

Metric = Callable[[Measure | Density, Measure | Density], tuple[float, float]]


def _wasserstein(p: int) -> Metric:
    def metric(first: Measure | Density, second: Measure | Density) -> tuple[float, float]:
        found = wasserstein(first, second, p, tolerance=_TOLERANCE)
        if isinstance(found, Bracket):
            return found.value, found.width
        return found, 0.0

    return metric


METRICS: dict[str, Metric] = {
    "W1": _wasserstein(1),
    "W2": _wasserstein(2),
    "sobolev": lambda first, second: (sobolev_distance(first, second), 0.0),
}
"""Each answers with the distance and the width of the interval in which it is known to lie."""

LABELS = {"W1": "W_1", "W2": "W_2", "sobolev": r"H^{-1}_{12}"}
"""Their symbols in figures."""
