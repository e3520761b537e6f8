"""Wasserstein distances between measures: `wasserstein`, and one module a manifold behind it."""

from __future__ import annotations

from collections.abc import Callable

from meanfield.measures import Density, Measure
from meanfield.transport.circle.wasserstein import wasserstein_circle

__all__ = ["WASSERSTEIN", "wasserstein"]

WASSERSTEIN: dict[str, Callable[[Measure | Density, Measure | Density, int], float]] = {
    "circle": wasserstein_circle,
}
"""Distance by the name of the manifold."""


def wasserstein(first: Measure | Density, second: Measure | Density, p: int = 1) -> float:
    """Wasserstein distance W_p of two measures on the same manifold, p = 1 or 2.

        W_p(mu, nu)^p = min over couplings of int d(x, y)^p,    d the geodesic distance.

    Parameters
    ----------
    first, second : Measure or Density
        In any combination.
    p : int
        1 or 2.

    Returns
    -------
    float
        W_p itself, not its power, in radians: at most pi.

    Raises
    ------
    TypeError
        If one is neither a Measure nor a Density.
    ValueError
        If they live on different manifolds, or on one without a distance, or p is not 1 or 2.

    See Also
    --------
    meanfield.transport.circle.wasserstein.wasserstein_circle : what is exact there, and its cost.

    Examples
    --------
    >>> import numpy as np
    >>> import meanfield as mf
    >>> uniform = mf.Density(mf.Circle(), [1.0])
    >>> square = mf.Measure(mf.Circle(), np.pi * np.arange(4) / 2)
    >>> round(wasserstein(square, uniform) / (np.pi / 8), 12)
    1.0
    """
    for name, measure in (("first", first), ("second", second)):
        if not isinstance(measure, Measure | Density):
            raise TypeError(
                f"{name} is a {type(measure).__name__}, expected a Measure or a Density."
            )
    if first.manifold.name != second.manifold.name:
        raise ValueError(
            f"first lives on the {first.manifold.name}, second on the {second.manifold.name}: "
            "a distance needs one manifold."
        )
    if first.manifold.name not in WASSERSTEIN:
        known = ", ".join(sorted(WASSERSTEIN))
        raise ValueError(
            f"no Wasserstein distance is known on the {first.manifold.name}. Known: {known}."
        )
    return WASSERSTEIN[first.manifold.name](first, second, p)
