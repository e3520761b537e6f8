"""Measures on a manifold: weighted points and densities.

`Measure` is the common currency of distances, observables and figures; `Density` is an
absolutely continuous measure given by its coefficients. Both are values: nothing here
moves them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.checks import checked
from meanfield.kernels.exponential import exponential
from meanfield.manifolds.manifold import Manifold

_WEIGHT_SUM_TOLERANCE = 1e-9

Component = tuple[float, Any, float]
"""Weight, centre and concentration of a von Mises-Fisher density in a mixture."""


@checked
@dataclass(frozen=True, eq=False)
class Measure:
    """Weighted points mu = sum_i w_i delta_{x_i}.

    Attributes
    ----------
    manifold : Manifold
        Given. Where the points live.
    points : ndarray, shape (n,) on the circle, (n, 3) on the sphere
        Given. Angles in radians, or unit vectors.
    weights : ndarray, shape (n,), or None
        Given. Non-negative, summing to 1 within 1e-9 and then normalised; None means 1/n each.

    Raises
    ------
    ValueError
        If a point is not finite, there is none, or the weights are no probability weights.

    Examples
    --------
    >>> import meanfield as mf
    >>> mf.Measure(mf.Circle(), [0.0, 3.0], [0.25, 0.75])
    Measure(2 weighted points on the circle)
    """

    manifold: Manifold
    points: FloatArray
    weights: FloatArray | None = None

    def __post_init__(self) -> None:
        """Check and normalise what was given."""
        points = self.manifold.check_points(self.points)
        object.__setattr__(self, "points", points)
        if self.weights is not None:
            object.__setattr__(self, "weights", _checked_weights(self.weights, len(points)))

    @property
    def mass(self) -> FloatArray:
        """Weight of every point, shape (n,), also when they are equal."""
        n = len(self.points)
        return np.full(n, 1.0 / n) if self.weights is None else self.weights

    def moments(self, max_degree: int) -> ModalArray:
        """Moments int conj(Y_l) dmu up to `max_degree`, in the manifold's layout."""
        return self.manifold.moments(self.points, self.weights, max_degree)

    def __repr__(self) -> str:
        """Say what it is, not its numbers."""
        kind = "equal" if self.weights is None else "weighted"
        return f"Measure({len(self.points)} {kind} points on the {self.manifold.name})"


@checked
@dataclass(frozen=True, eq=False)
class Density:
    """Density f = sum_l f_l Y_l relative to the uniform probability measure.

    Because the bases are orthonormal with respect to that measure, the coefficients are
    the moments int conj(Y_l) dmu, and the one of degree 0 is the mass, 1.

    Attributes
    ----------
    manifold : Manifold
        Given.
    coefficients : ndarray
        Given. Circle: complex (K + 1,), c_k = int e^{-ik theta} dmu, so that
        f(theta) = Re[c_0 + 2 sum_{k >= 1} c_k e^{ik theta}]. Sphere: real (2, L + 1, L + 1) in
        pyshtools' layout, or a pyshtools.SHCoeffs, kept packed: complex ((L + 1)(L + 2) / 2,), of
        which `manifold.spread` makes pyshtools' layout again.
    components : tuple of (weight, centre, concentration)
        Given. Von Mises-Fisher densities of which it is known to be a mixture, for tokens that are
        drawn from it; none by default.

    Raises
    ------
    ValueError
        If a coefficient is not finite or the mass is not 1 within 1e-9.

    Examples
    --------
    >>> import meanfield as mf
    >>> mf.Density(mf.Circle(), [1.0, 0.1j])
    Density(degree 1 on the circle)
    """

    manifold: Manifold
    coefficients: ModalArray
    components: tuple[Component, ...] = ()

    def __post_init__(self) -> None:
        """Check what was given."""
        coefficients = self.manifold.check_coefficients(self.coefficients)
        object.__setattr__(self, "coefficients", coefficients)

    @property
    def max_degree(self) -> int:
        """Largest degree that is stored."""
        return self.manifold.degree_of(self.coefficients)

    def at(self, points: FloatArray) -> FloatArray:
        """Values at points: of a known mixture to relative accuracy, however small they are.

        Those of a series have an absolute error, rounding of the largest value.
        """
        space = self.manifold
        if not self.components:
            return space.evaluate(self.coefficients, points)
        values = np.zeros(len(points))
        for weight, centre, kappa in self.components:
            mean = 1.0
            if kappa > 0.0:
                mean = exponential(kappa).attention_multipliers(space.dimension, 0)[0]
            # kappa (<x, centre> - 1), without cancellation.
            exponent = -2.0 * kappa * np.sin(0.5 * space.distance(points, centre)) ** 2
            values += weight / mean * np.exp(exponent)
        return values

    def moments(self, max_degree: int) -> ModalArray:
        """Moments up to `max_degree`: the coefficients, cut or filled with zeros."""
        return self.manifold.resize(self.coefficients, max_degree)

    def __repr__(self) -> str:
        """Say what it is, not its numbers."""
        return f"Density(degree {self.max_degree} on the {self.manifold.name})"


def shared_manifold(first: Measure | Density, second: Measure | Density) -> Manifold:
    """Manifold on which both of two measures live.

    Raises
    ------
    ValueError
        If they live on different manifolds.

    Examples
    --------
    >>> import meanfield as mf
    >>> shared_manifold(mf.Density(mf.Circle(), [1.0]), mf.Measure(mf.Circle(), [0.0])).name
    'circle'
    """
    if first.manifold.name != second.manifold.name:
        raise ValueError(
            f"first lives on the {first.manifold.name}, second on the {second.manifold.name}: "
            "a distance needs one manifold."
        )
    return first.manifold


def _checked_weights(weights: FloatArray, count: int) -> FloatArray:
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (count,):
        raise ValueError(f"weights have shape {weights.shape}, expected ({count},), one a point.")
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise ValueError("weights must be finite and not negative.")
    total = weights.sum()
    if abs(total - 1.0) > _WEIGHT_SUM_TOLERANCE:
        raise ValueError(f"weights sum to {total:.12g}, expected 1 within 1e-9.")
    return np.asarray(weights / total)
