"""Saved states for certificates, and the distance of two between two bounds."""

from __future__ import annotations

from meanfield.measures import Density, LabelledDensity, Measure
from meanfield.runs import Run, stored_state
from meanfield.transport import Bracket, wasserstein

TOLERANCE = 1e-7
"""How far a mean position of a run may be off, radians, at the default tolerance of steps."""


def certified_state(run: Run, save: int) -> Density | Measure:
    """State of a saved time, of which something may be proved."""
    measure = stored_state(run, save)
    if isinstance(measure, LabelledDensity):
        raise ValueError("nothing is proved for densities of labels.")
    return measure


def distance_ends(
    first: Density | Measure, second: Density | Measure, p: int
) -> tuple[float, float]:
    """Bounds of W_p, the same where it is exact.

    In dimensions above 2 tokens are paired, (sum_i m_i d(x_i, y_i)^p)^{1/p}: proofs for optimal
    couplings hold for every one that is followed along the flow.
    """
    space = first.manifold
    if space.has_series:
        distance = wasserstein(first, second, p)
        return (
            (distance.lower, distance.upper)
            if isinstance(distance, Bracket)
            else (distance, distance)
        )
    if not (isinstance(first, Measure) and isinstance(second, Measure)):
        raise ValueError(f"densities on {space.name} have no distance here: give tokens.")
    masses = first.mass
    if len(masses) != len(second.points) or (masses != second.mass).any():
        raise ValueError(
            f"on {space.name} tokens are paired one by one: give as many, of the same masses, got "
            f"{len(masses)} and {len(second.points)}."
        )
    angles = space.distance(first.points, second.points)
    paired = float(masses @ angles**p) ** (1.0 / p)
    return paired, paired
