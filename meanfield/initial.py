"""Initial measures: laws that any manifold can build.

A `Law` is a name, its parameters, and a function manifold -> Density | Measure. It is built later,
and keeps copies of what it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.kernels.exponential import exponential
from meanfield.measures import Component, Density, Measure

if TYPE_CHECKING:
    from meanfield.manifolds.manifold import Manifold

# A density may be negative by the rounding of its series, which a high peak leaves everywhere.
_NEGATIVE_TOLERANCE = 1e-10
_ROUNDING_OF_PEAK = 1e-13


Mean = float | Sequence[float] | FloatArray | None
"""Where a law is centred: an angle, a vector, or None for the manifold's own origin."""


@dataclass(frozen=True)
class Law:
    """An initial law.

    Attributes
    ----------
    name : str
        Given. What run files call it.
    build : callable (manifold) -> Density | Measure
        Given.
    parameters : dict
        Given. For display.
    """

    name: str
    build: Callable[[Manifold], Density | Measure]
    parameters: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Name and parameters."""
        inside = ", ".join(f"{key}={value}" for key, value in self.parameters.items())
        return f"{self.name}({inside})"


def uniform() -> Law:
    """Uniform measure: stationary for every kernel; f = 1.

    Examples
    --------
    >>> uniform()
    uniform()
    """
    return Law("uniform", lambda manifold: Density(manifold, manifold.from_modes([])))


def perturbed_uniform(modes: Sequence[Sequence[float]]) -> Law:
    """Uniform density with a few modes added.

    On the circle f(theta) = 1 + sum_i [A_i cos(k_i theta) + B_i sin(k_i theta)], on the sphere
    f(x) = 1 + sum_i A_i Y_{l_i m_i}(x) with real harmonics of mean square 1, without
    Condon-Shortley phase; m < 0 is the sine type.

    Parameters
    ----------
    modes : sequence of (k, cosine, sine) on the circle, of (l, m, amplitude) on the sphere
        Degrees >= 1 with their amplitudes relative to uniform.

    Raises
    ------
    ValueError
        When built: if a mode is malformed or the density is negative somewhere.

    Examples
    --------
    >>> import meanfield as mf
    >>> perturbed_uniform([[3, 0.1, 0.0]]).build(mf.Circle()).coefficients[3]
    np.complex128(0.05+0j)
    """
    modes = deepcopy(modes)
    return Law(
        "perturbed_uniform",
        lambda manifold: checked_positive(Density(manifold, manifold.from_modes(modes))),
        {"modes": modes},
    )


def von_mises_fisher(concentration: float, mean: Mean = None) -> Law:
    """Von Mises-Fisher density proportional to exp(concentration * <x, mean>).

    Its moments are those of a Dirac at `mean` times a_l / a_0, the multipliers of the exponential
    kernel: on the circle c_k = I_k(kappa) / I_0(kappa) e^{-ik mean}. `mean` is an angle in
    radians or a vector, by default the angle 0 or the north pole.

    Examples
    --------
    >>> import meanfield as mf
    >>> von_mises_fisher(2.0).build(mf.Circle()).coefficients[1].real.round(6)
    np.float64(0.697775)
    """
    mean = deepcopy(mean)
    parameters = {"concentration": concentration} | ({} if mean is None else {"mean": mean})
    return Law("von_mises_fisher", _mixture_builder([(1.0, mean, concentration)]), parameters)


def mixture(components: Sequence[tuple[float, Mean, float]]) -> Law:
    """Mixture of von Mises-Fisher densities.

    Parameters
    ----------
    components : sequence of (weight, mean, concentration)
        Weights sum to 1 within 1e-9; means as in `von_mises_fisher`.

    Raises
    ------
    ValueError
        If the weights do not sum to 1 or a concentration is negative.
    """
    components = deepcopy(components)
    return Law("mixture", _mixture_builder(components), {"components": components})


def sampled(tokens: int, seed: int, max_degree: int) -> Law:
    """Density whose moments up to max_degree are those of iid uniform tokens.

    Raises
    ------
    ValueError
        When built: if that density is negative somewhere; take more tokens or fewer degrees.
    """

    def build(manifold: Manifold) -> Density:
        points = manifold.random_points(tokens, np.random.default_rng(seed))
        density = Density(manifold, manifold.moments(points, None, max_degree))
        return checked_positive(density, "Take more tokens, another seed or a smaller max_degree")

    return Law("sampled", build, {"tokens": tokens, "seed": seed, "max_degree": max_degree})


def from_density(coefficients: ModalArray) -> Law:
    """Density given by its coefficients, as `Density` takes them: on the sphere SHCoeffs too."""
    coefficients = deepcopy(coefficients)

    def build(manifold: Manifold) -> Density:
        return checked_positive(Density(manifold, coefficients))

    return Law("density", build)


def from_points(points: FloatArray, weights: FloatArray | None = None, name: str = "tokens") -> Law:
    """Exact empirical measure of given points; equal weights by default."""
    points, weights = np.array(points), deepcopy(weights)
    return Law(name, lambda manifold: Measure(manifold, points, weights))


def checked_positive(density: Density, remedy: str = "Reduce the amplitudes") -> Density:
    """Return the density itself, or say where and how much it is negative, and the remedy.

    Raises
    ------
    ValueError
        If a value on a fine grid is below -1e-10, or -1e-13 of the largest.
    """
    positive_bound(density, remedy)
    return density


def positive_bound(density: Density, remedy: str) -> float:
    """Bound above all values of a density, after the lowest was looked at.

    Raises
    ------
    ValueError
        As `checked_positive`.
    """
    lowest, where, bound = density.manifold.extremes(density.coefficients)
    if lowest < -max(_NEGATIVE_TOLERANCE, _ROUNDING_OF_PEAK * bound):
        raise ValueError(f"density is negative: {lowest:.4g} at {np.round(where, 4)}. {remedy}.")
    return bound


def _mixture_builder(
    components: Sequence[tuple[float, Mean, float]],
) -> Callable[[Manifold], Density]:
    weights = np.array([weight for weight, _, _ in components], dtype=np.float64)
    if len(weights) == 0 or np.any(weights < 0) or abs(weights.sum() - 1.0) > 1e-9:
        raise ValueError(f"weights of a mixture sum to {weights.sum():.12g}, expected 1.")
    for _, mean, concentration in components:
        if mean is not None and not np.all(np.isfinite(mean)):
            raise ValueError(f"mean must be finite, got {mean}.")
        if not np.isfinite(concentration) or concentration < 0:
            raise ValueError(f"concentration must be finite and >= 0, got {concentration}.")

    def build(manifold: Manifold) -> Density:
        kernels = [exponential(kappa) for _, _, kappa in components if kappa > 0]
        degree = max([kernel.degree(manifold.dimension) for kernel in kernels], default=0)
        if degree > manifold.largest_degree:
            raise ValueError(
                f"concentration = {max(kappa for _, _, kappa in components):g} needs degree "
                f"{degree} on the {manifold.name}, at most {manifold.largest_degree}: reduce it."
            )
        total = manifold.resize(manifold.from_modes([]), degree)
        total[0] = 0.0
        parts: list[Component] = []
        for weight, (_, mean, kappa) in zip(weights / weights.sum(), components, strict=True):
            centre = manifold.check_points(np.array([manifold.origin if mean is None else mean]))
            spread = np.zeros(degree + 1)
            spread[0] = 1.0
            if kappa > 0:
                a = exponential(kappa).attention_multipliers(manifold.dimension, degree)
                spread = a / a[0]
            dirac = manifold.moments(centre, None, degree)
            total += manifold.convolve(weight * spread, dirac)
            parts.append((float(weight), centre[0], float(kappa)))
        total[0] = 1.0
        return Density(manifold, total, tuple(parts))

    return build
