"""Cost C(|x - y|)^(p/2) of moving a unit of mass, as a function of the chord s = |x - y|.

    chordal   C_1 = s,                C_2 = s^2,
    geodesic  C_1 = 2 arcsin(s / 2),  C_2 = (2 arcsin(s / 2))^2.

All four are increasing and convex in s, hence convex in (x, y) jointly: the lower bounds of
`certificate` rest on that.
"""

from __future__ import annotations

import numpy as np

from meanfield.compute.compiled import njit

LARGEST_CHORD = 1.99  # tangents of the geodesic cost are taken no nearer to the antipode


@njit
def squared_distance(chord2: float, geodesic: bool) -> float:
    """Square of the distance whose chord has this square."""
    if not geodesic:
        return chord2
    if chord2 >= 4.0:
        return np.pi * np.pi
    if chord2 < 1e-8:  # two terms of the series, right to 1e-17
        return chord2 * (1.0 + chord2 / 12.0)
    d = 2.0 * np.arcsin(0.5 * np.sqrt(chord2))
    return d * d


@njit
def pair_cost(chord2: float, variance: float, geodesic: bool, p: int) -> float:
    """Root mean square cost (d^2 + variance)^(p/2)."""
    square = squared_distance(chord2, geodesic) + variance
    return square if p == 2 else np.sqrt(square)


@njit
def cost_of_chord(chord: float, geodesic: bool, p: int) -> float:
    """C(s)."""
    return pair_cost(chord * chord, 0.0, geodesic, p)


@njit
def slope_of_chord(chord: float, geodesic: bool, p: int) -> float:
    """C'(s); s < 2 if the cost is geodesic."""
    rate = 1.0
    distance = chord
    if geodesic:
        rate = 1.0 / np.sqrt(1.0 - 0.25 * chord * chord)
        distance = 2.0 * np.arcsin(0.5 * chord)
    return 2.0 * distance * rate if p == 2 else rate
