"""Tokens that come first in their neighbourhood: seeds of clusters under causal attention."""

from __future__ import annotations

import math

from meanfield.checks import at_least, checked
from meanfield.measures import Density, Measure
from meanfield.observables.cosines import are_tokens
from meanfield.theory.causal import greedy_centres, strong_centres

# Of the separation, in units of beta^{-1/2}.
_SEPARATION = 4.0
# Squared number of tokens times dimension that takes seconds.
_MOST_WORK = 1e9


def usual_separation(beta: float) -> float:
    """Separation 4 |beta|^{-1/2} at which tokens hardly feel each other, at most pi.

    Examples
    --------
    >>> usual_separation(64.0)
    0.5
    """
    return min(_SEPARATION / math.sqrt(abs(beta)), math.pi) if beta else math.pi


@checked
def renyi_centres(measure: Density | Measure, separation: float) -> tuple[float, float]:
    """Numbers of greedy and of strong centres among tokens in their order.

    A greedy centre is farther than the separation from all greedy centres before it, a strong one
    from all tokens before it. Clusters of causal attention form about them.

    Parameters
    ----------
    measure : Density or Measure
        Equal tokens on a sphere, in their order.
    separation : float
        Geodesic distance.

    Returns
    -------
    greedy, strong : float
        NaN of other measures, and of so many tokens n that n^2 d is above 10^9.

    References
    ----------
    Karagodin, Polyanskiy, Rigollet, Clustering in causal attention masking, arXiv:2411.04990.

    Examples
    --------
    >>> import meanfield as mf
    >>> renyi_centres(mf.Measure(mf.Circle(), [0.0, 0.4, 0.8, 2.0]), 0.5)
    (3.0, 2.0)
    """
    at_least(0.0, separation=separation)
    space = measure.manifold
    if isinstance(measure, Density) or not are_tokens(measure):
        return math.nan, math.nan
    if not space.is_sphere or space.family == "axial":
        return math.nan, math.nan
    if len(measure.points) ** 2 * float(space.ambient) > _MOST_WORK:
        return math.nan, math.nan
    greedy, strong = (
        float(len(centres(measure.points, separation)))
        for centres in (greedy_centres, strong_centres)
    )
    return greedy, strong
