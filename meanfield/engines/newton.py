"""Newton's method for the root of an increasing function, inside a bracket."""

from __future__ import annotations

from meanfield.engines.compiled import njit


@njit
def narrowed(
    low: float, high: float, place: float, excess: float, slope: float
) -> tuple[float, float, float]:
    """New bracket (low, high), and the next place inside it: Newton's, or else the middle."""
    if excess > 0.0:
        high = place
    else:
        low = place
    proposed = place - excess / slope if slope > 0.0 else low - 1.0
    if not low <= proposed <= high:
        proposed = 0.5 * (low + high)
    return low, high, proposed
