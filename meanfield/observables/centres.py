"""Tokens that come first in their neighbourhood: seeds of clusters under causal attention."""

from __future__ import annotations

import math

import numpy as np

from meanfield.arguments import at_least, checked
from meanfield.arrays import FloatArray, IntArray
from meanfield.measures import Density, Measure
from meanfield.observables.cosines import are_tokens

# Separation, in units of beta^{-1/2}.
_SEPARATION = 4.0
# Squared number of tokens times dimension that takes seconds.
_MOST_WORK = 1e9


def usual_separation(beta: float) -> float:
    """Separation 4 |beta|^{-1/2} at which tokens hardly feel each other, at most pi.

    >>> usual_separation(64.0)
    0.5
    """
    return min(_SEPARATION / math.sqrt(abs(beta)), math.pi) if beta else math.pi


@checked
def renyi_centres(measure: Density | Measure, separation: float) -> tuple[float, float]:
    """Numbers of greedy and of strong centres among tokens in their order.

    A greedy centre is farther than the separation from all greedy centres before it, a strong one
    from all tokens before it. Clusters of causal attention form about them.

    measure: equal tokens on a sphere, in their order; separation: geodesic distance.

    Returns greedy, strong: NaN of other measures, and of so many tokens n that n^2 d is above 10^9.

    Karagodin, Polyanskiy, Rigollet, Clustering in causal attention masking, arXiv:2411.04990.

    >>> import meanfield as mf
    >>> renyi_centres(mf.Measure(mf.Circle(), [0.0, 0.4, 0.8, 2.0]), 0.5)
    (3.0, 2.0)
    """
    at_least(0.0, separation=separation)
    space = measure.manifold
    if isinstance(measure, Density) or not are_tokens(measure):
        return math.nan, math.nan
    if not space.is_sphere or space.has_rings:
        return math.nan, math.nan
    if len(measure.points) ** 2 * float(space.ambient) > _MOST_WORK:
        return math.nan, math.nan
    greedy, strong = (
        float(len(centres(measure.points, separation)))
        for centres in (greedy_centres, strong_centres)
    )
    return greedy, strong


def strong_centres(points: FloatArray, separation: float) -> IntArray:
    """Tokens that are farther than a separation from all before them, in order.

    Causal attention with V = B = 1 and a separation of some beta^{-1/2} hardly moves them before
    they meet; `expected_centres` is their number among random tokens.

    points (n,) or (n, d): angles or unit vectors in the order of the tokens; separation: a
    geodesic distance. Returns indices; the first token is always one.

    Karagodin, Polyanskiy, Rigollet, Clustering in causal attention masking, arXiv:2411.04990.
    """
    return _centres(points, separation, strong=True)


@checked
def greedy_centres(points: FloatArray, separation: float) -> IntArray:
    """Tokens that are farther than a separation from all centres before them: Renyi's parking.

    Returns indices, `strong_centres` among them: every token is within the separation of one.
    """
    return _centres(points, separation, strong=False)


def _centres(points: FloatArray, separation: float, strong: bool) -> IntArray:
    at_least(0.0, separation=separation)
    vectors = np.stack([np.cos(points), np.sin(points)], axis=-1) if points.ndim == 1 else points
    if vectors.ndim != 2 or np.any(np.abs(np.linalg.norm(vectors, axis=1) - 1.0) > 1e-9):
        raise ValueError(
            "points must be a list of angles, or unit vectors of shape (n, d), got an array of "
            f"shape {points.shape}."
        )
    centres: list[int] = []
    for token, vector in enumerate(vectors):
        before = vectors[:token] if strong else vectors[centres]
        # Half the angle of two unit vectors, to rounding at both ends.
        half = np.arctan2(
            np.linalg.norm(before - vector, axis=1), np.linalg.norm(before + vector, axis=1)
        )
        if np.all(2.0 * half > separation):
            centres.append(token)
    return np.array(centres, dtype=np.int64)
