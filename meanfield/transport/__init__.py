"""Distances between measures; `wasserstein` calls the file or folder of the manifold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from meanfield.arguments import at_least, checked
from meanfield.measures import Density, Measure, shared_manifold
from meanfield.spaces.manifold import of_space
from meanfield.transport.axial import wasserstein_axial
from meanfield.transport.bracket import TOLERANCE, Bracket
from meanfield.transport.discrepancy import maximum_mean_discrepancy, sobolev_distance

__all__ = [
    "WASSERSTEIN",
    "Bracket",
    "maximum_mean_discrepancy",
    "sobolev_distance",
    "wasserstein",
]


def _on_circle(*measures: Any, **options: Any) -> float:
    """Distance on the circle; the first call loads numba."""
    from meanfield.transport.circle.wasserstein import wasserstein_circle

    return wasserstein_circle(*measures, **options)


def _on_sphere(*measures: Any, **options: Any) -> Bracket:
    """Distance on the sphere; the first call loads numba."""
    from meanfield.transport.sphere.wasserstein import wasserstein_sphere

    return wasserstein_sphere(*measures, **options)


WASSERSTEIN: dict[str, Callable[..., float | Bracket]] = {
    "axial": wasserstein_axial,
    "circle": _on_circle,
    "sphere": _on_sphere,
}
"""Distance function by the family of the manifold."""


@checked
def wasserstein(
    first: Measure | Density,
    second: Measure | Density,
    p: int = 1,
    *,
    cost: str = "geodesic",
    tolerance: float = TOLERANCE,
) -> float | Bracket:
    """Wasserstein distance W_p of two measures on the same manifold, p = 1 or 2.

        W_p(mu, nu)^p = min over couplings of int d(x, y)^p

    where d is the geodesic distance, or on the sphere the chord |x - y|.

    Parameters
    ----------
    first, second : Measure or Density
    p : int
        1 or 2.
    cost : str
        "geodesic", or "chordal" on the sphere.
    tolerance : float
        Relative width at which a bracket is narrow enough. Only the sphere uses it.

    Returns
    -------
    float, on the sphere Bracket
        W_p itself, not its power: at most pi (radians), chordal at most 2. The distance lies
        between `lower` and `upper` of a `Bracket`.

    Raises
    ------
    TypeError
        If an argument is neither a Measure nor a Density.
    ValueError
        If the manifolds differ or have no distance, p is not 1 or 2, the manifold has no such cost,
        or tolerance < 0.

    See Also
    --------
    meanfield.transport.circle.wasserstein.wasserstein_circle : accuracy and cost.
    meanfield.transport.axial.wasserstein_axial : why polar angles suffice.
    meanfield.transport.sphere.wasserstein.wasserstein_sphere : where it is exact, and the brackets.
    sobolev_distance : cheaper, another number.
    maximum_mean_discrepancy : cheaper, in any dimension.

    Examples
    --------
    >>> import numpy as np
    >>> import meanfield as mf
    >>> uniform = mf.Density(mf.Circle(), [1.0])
    >>> square = mf.Measure(mf.Circle(), np.pi * np.arange(4) / 2)
    >>> round(wasserstein(square, uniform) / (np.pi / 8), 12)
    1.0
    """
    at_least(0, tolerance=tolerance)
    space = shared_manifold(first, second)
    instead = " Tokens in any dimension have mf.maximum_mean_discrepancy." * space.is_sphere
    distance = of_space(WASSERSTEIN, space, "Wasserstein distance", instead)
    return distance(first, second, p, cost=cost, tolerance=tolerance)
