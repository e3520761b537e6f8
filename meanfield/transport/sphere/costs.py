"""Cost C(|x - y|)^(p/2) of moving a unit of mass, as a function of the chord s = |x - y|.

    chordal   C_1 = s,                C_2 = s^2,
    geodesic  C_1 = 2 arcsin(s / 2),  C_2 = (2 arcsin(s / 2))^2.

All four are increasing and convex in s, hence convex in (x, y) jointly: the lower bounds of
`certificate` rest on that.
"""

from __future__ import annotations

import numpy as np

from meanfield.engines.compiled import njit

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
    distance: float = 2.0 * np.arcsin(0.5 * np.sqrt(chord2))
    return distance * distance


@njit
def pair_cost(chord2: float, variance: float, geodesic: bool, p: int) -> float:
    """Root mean square cost (d^2 + variance)^(p/2)."""
    square: float = squared_distance(chord2, geodesic) + variance
    cost: float = square if p == 2 else np.sqrt(square)
    return cost


@njit
def pair_slope(chord: float, variance: float, geodesic: bool, p: int) -> float:
    """Derivative in s of (C_1(s)^2 + variance)^(p/2)."""
    base = min(chord, LARGEST_CHORD) if geodesic else chord
    slope: float = slope_of_chord(base, geodesic, 2)
    if p == 2:
        return slope
    cost = pair_cost(base * base, variance, geodesic, 1)
    return 0.5 * slope / cost if cost > 0.0 else 0.0


@njit
def cost_of_chord(chord: float, geodesic: bool, p: int) -> float:
    """C(s)."""
    cost: float = pair_cost(chord * chord, 0.0, geodesic, p)
    return cost


@njit
def slope_of_chord(chord: float, geodesic: bool, p: int) -> float:
    """C'(s); s < 2 if the cost is geodesic."""
    rate = 1.0
    distance = chord
    if geodesic:
        rate = 1.0 / np.sqrt(1.0 - 0.25 * chord * chord)
        distance = 2.0 * np.arcsin(0.5 * chord)
    return 2.0 * distance * rate if p == 2 else rate


@njit
def slope_variation(near: float, far: float, geodesic: bool, p: int) -> float:
    """Lipschitz constant of the gradient of C(|a|) for near <= |a| <= far < 2: C'' or C' / s."""
    rate = 1.0
    bend = 0.0
    distance = far
    if geodesic:
        rate = 1.0 / np.sqrt(1.0 - 0.25 * far * far)
        bend = 0.25 * far * rate**3
        distance = 2.0 * np.arcsin(0.5 * far)
    if p == 2:
        return 2.0 * (rate * rate + distance * bend)
    return max(rate / near, bend) if near > 0.0 else np.inf
