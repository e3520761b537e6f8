"""The cluster rule: one piece of code for tokens, weighted nodes and densities.

With radius r = 0.25 / sqrt(beta): discard every point around which the mass within r is
below one tenth of that of the uniform measure (stragglers on separatrices); link the rest by
gaps below r; count the groups of mass at least max(1 %, 3 tokens).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.measures import Density, Measure

_RADIUS = 0.25
_SPARSE = 0.1
_LEAST_MASS = 0.01
_LEAST_TOKENS = 3
# A group whose mean vector is this short against its mass has no centre: uniform has none.
_NO_CENTRE = 1e-9
# Nodes within one radius when a density becomes points: groups then end within r / 16.
_NODES_PER_RADIUS = 16


@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters of a measure, largest mass first.

    Attributes
    ----------
    mass : ndarray, shape (count,)
        Derived. Mass of each; together at most 1.
    centre : ndarray, shape (count,) on the circle
        Derived. Mean angle of each, in (-pi, pi]; NaN where the mean vector is rounding.
    """

    mass: FloatArray
    centre: FloatArray

    @property
    def count(self) -> int:
        """Number of clusters."""
        return len(self.mass)


def cluster_radius(beta: float) -> float:
    """Radius 0.25 / sqrt(|beta|) of the rule; beta = 1 for the linear kernel, at most pi / 2.

    Examples
    --------
    >>> cluster_radius(25.0)
    0.05
    """
    return min(_RADIUS / math.sqrt(abs(beta) if beta != 0 else 1.0), math.pi / 2)


def clusters(measure: Density | Measure, beta: float) -> Clusters:
    """Clusters of a measure on the circle.

    Parameters
    ----------
    measure : Density or Measure
        Tokens, weighted points, or a density (looked at on a grid).
    beta : float
        Inverse temperature of the kernel; sets the radius.

    Returns
    -------
    Clusters

    Examples
    --------
    >>> import meanfield as mf
    >>> points = np.concatenate([np.full(60, 0.0), np.full(40, 2.0)])
    >>> clusters(mf.Measure(mf.Circle(), points), beta=9.0).mass
    array([0.6, 0.4])
    """
    radius = cluster_radius(beta)
    least = _LEAST_MASS
    if isinstance(measure, Density):
        angles, mass = _nodes(measure, radius)
    else:
        angles, mass = _sorted(measure)
        if measure.weights is None:
            least = max(_LEAST_MASS, _LEAST_TOKENS / len(angles))
    dense = _mass_within(angles, mass, radius) >= _SPARSE * radius / np.pi
    angles, mass = angles[dense], mass[dense]
    if len(angles) == 0:
        return Clusters(np.zeros(0), np.zeros(0))
    group = _linked(angles, radius)
    total = np.asarray(np.bincount(group, mass), dtype=np.float64)
    mean = np.bincount(group, mass * np.cos(angles)) + 1j * np.bincount(
        group, mass * np.sin(angles)
    )
    # The last comparison allows the rounding of a sum of equal weights.
    kept = np.flatnonzero(total >= least * (1.0 - 1e-12))
    kept = kept[np.argsort(-total[kept], kind="stable")]
    centre = np.where(np.abs(mean) > _NO_CENTRE * total, np.angle(mean), np.nan)
    return Clusters(total[kept], centre[kept])


def _nodes(density: Density, radius: float) -> tuple[FloatArray, FloatArray]:
    """Grid that resolves both the density and the radius, with its masses."""
    degree = max(density.max_degree, int(np.ceil(np.pi * _NODES_PER_RADIUS / radius)))
    grid = density.manifold.grid(degree)
    mass = np.maximum(grid.to_nodal(density.coefficients), 0.0) * grid.weights
    return grid.points, mass / mass.sum()


def _sorted(measure: Measure) -> tuple[FloatArray, FloatArray]:
    """Angles in [0, 2 pi) in increasing order, with their masses."""
    angles = measure.points % (2 * np.pi)
    if measure.weights is None:
        # Sorting values is several times faster than sorting indices.
        return np.sort(angles), measure.mass
    order = np.argsort(angles, kind="stable")
    return angles[order], measure.weights[order]


def _mass_within(angles: FloatArray, mass: FloatArray, radius: float) -> FloatArray:
    """Mass within `radius` of every point; angles sorted in [0, 2 pi)."""
    low = int(np.searchsorted(angles, radius, side="right"))
    high = int(np.searchsorted(angles, 2 * np.pi - radius, side="left"))
    # The points within reach of the cut are repeated on its other side.
    around = np.concatenate([angles[high:] - 2 * np.pi, angles, angles[:low] + 2 * np.pi])
    around_mass = np.concatenate([mass[high:], mass, mass[:low]])
    cumulative = np.concatenate([[0.0], np.cumsum(around_mass)])
    right = np.searchsorted(around, angles + radius, side="right")
    left = np.searchsorted(around, angles - radius, side="left")
    return np.asarray(cumulative[right] - cumulative[left])


def _linked(angles: FloatArray, radius: float) -> FloatArray:
    """Group number of every point; neighbours closer than `radius` share a group."""
    starts = np.diff(angles) >= radius
    group = np.concatenate([[0], np.cumsum(starts)])
    wraps = angles[0] + 2 * np.pi - angles[-1] < radius
    if wraps:
        group[group == group[-1]] = group[0]
    return np.asarray(group)
