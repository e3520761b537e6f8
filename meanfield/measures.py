"""Measures on a manifold: weighted points and densities.

Distances, observables and figures take either. Both are immutable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from meanfield.arguments import at_least, at_most, checked, describe
from meanfield.arrays import Axes, FloatArray, ModalArray
from meanfield.labels import Labels
from meanfield.names import VIEWS
from meanfield.spaces.carried_density import (
    PanelImages,
    RectangleImages,
    images_of_cells,
)
from meanfield.spaces.manifold import Manifold, laplacian_eigenvalues
from meanfield.terms.kernels.exponential import exponential
from meanfield.terms.kernels.kernel import LARGEST_DEGREE

MOST_TOKENS = 10**10
"""Largest number of tokens of a run; their angles take 80 GB."""

_WEIGHT_SUM_TOLERANCE = 1e-9
# Degree times width at which heat has died out, e^{-37} = 1e-16.
_NEGLIGIBLE = 8.6
# A density may be negative by the rounding of its series, which grows with the highest peak.
_NEGATIVE_TOLERANCE = 1e-10
_ROUNDING_OF_PEAK = 1e-13

Component = tuple[float, Any, float]
"""Weight, centre and concentration of a von Mises-Fisher density in a mixture."""


def plot_method(wanted: str) -> Callable[..., Any]:
    """Method `plot` of a class of measures, which calls VIEWS[wanted]."""

    def plot(
        self: Any,
        *,
        width: float | None = None,
        ax: Axes | None = None,
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
        dpi: float | None = None,
    ) -> Any:
        """Figure of the measure: its density, smoothed over an angle if `width` is given.

        Points on the circle become a histogram, up to 60 of them bars of mass; on the sphere dots
        over a smoothed density. Other options as for `Run.plot`.
        """
        draw = VIEWS[wanted]
        return draw(self, width=width, ax=ax, title=title, figsize=figsize, dpi=dpi)

    plot.__qualname__ = wanted
    return checked(plot)


@checked
@dataclass(frozen=True, eq=False)
class Measure:
    """Weighted points mu = sum_i w_i delta_{x_i}.

    Attributes
    ----------
    manifold : Manifold
        Circle, sphere or R^d.
    points : ndarray, shape (n,) on the circle and on `Axial(d)`, (n, d) elsewhere
        Angles, or polar angles, in radians; unit vectors, or vectors of R^d.
    weights : ndarray, shape (n,), or None
        Non-negative, with sum 1 within 1e-9, then normalised; None means 1/n each.
    cell_order : int
        Nodes along each direction of a label cell, cell by cell, if the points are quadrature
        nodes of characteristics, which represent a density. 0 for plain points.

    Raises
    ------
    ValueError
        If there is no point, a point is not finite, or the weights are not probabilities.

    Examples
    --------
    >>> import meanfield as mf
    >>> mf.Measure(mf.Circle(), [0.0, 3.0], [0.25, 0.75])
    Measure(2 weighted points on the circle)
    """

    manifold: Manifold
    points: FloatArray
    weights: FloatArray | None = None
    cell_order: int = 0

    def __post_init__(self) -> None:
        points = self.manifold.check_points(self.points)
        object.__setattr__(self, "points", points)
        if self.weights is not None:
            object.__setattr__(self, "weights", _checked_weights(self.weights, len(points)))

    @property
    def mass(self) -> FloatArray:
        """Weight of every point, shape (n,), also where `weights` is None."""
        n = len(self.points)
        return np.full(n, 1.0 / n) if self.weights is None else self.weights

    @cached_property
    def cells(self) -> PanelImages | RectangleImages:
        """Images of the label cells of characteristics; ValueError for plain points."""
        if not self.cell_order:
            raise ValueError(
                f"{len(self.points)} points have no density. Give width=, the angle in radians "
                "over which to smooth them; or take them as they are, in .points and .mass."
            )
        return images_of_cells(self.manifold, self.points, self.mass, self.cell_order)

    @checked
    def __call__(self, points: ArrayLike, *, width: float | None = None) -> FloatArray:
        """Density relative to uniform: of characteristics, or smoothed over an angle.

        points: angles in radians (...), or vectors (..., 3). width: see `smoothed`; plain points
        need it, because a sum of Dirac measures has no density.

        Returns values (...); NaN on the sphere where no cell resolves a place.

        Examples
        --------
        >>> import meanfield as mf
        >>> pair = mf.Measure(mf.Circle(), [0.0, 3.0], [0.25, 0.75])
        >>> pair([0.0, 3.0], width=0.1).round(4)
        array([ 6.2666, 18.7997])
        """
        if width is not None:
            return self.smoothed(width)(points)
        return _at_places(self.manifold, points, lambda at: self.cells.density(at))

    @checked
    def smoothed(self, width: float) -> Density:
        """Density after the heat flow, with multipliers e^{-l (l + d - 2) width^2 / 2}.

        On the circle each point becomes a wrapped normal distribution of standard deviation width;
        on the sphere about the same along each direction. Error: rounding of the largest value.

        Raises
        ------
        ValueError
            If the width is not positive, or needs too many degrees.
        """
        decay = _heat(self.manifold, width)
        return Density(self.manifold, self.manifold.convolve(decay, self.moments(len(decay) - 1)))

    @property
    def order_parameter(self) -> float:
        """Length of the mean vector |int x dmu|."""
        return self.manifold.order_parameter(self.moments(1))

    @checked
    def moments(self, max_degree: int) -> ModalArray:
        """Moments int conj(Y_l) dmu up to `max_degree`, in the manifold's layout."""
        _check_degree(max_degree)
        return self.manifold.moments(self.points, self.weights, max_degree)

    plot = plot_method("Measure.plot")

    def __repr__(self) -> str:
        if self.cell_order:
            kind = "nodes of a density"
        else:
            kind = "equal points" if self.weights is None else "weighted points"
        return f"Measure({len(self.points)} {kind} on the {self.manifold.name})"


@checked
@dataclass(frozen=True, eq=False)
class Density:
    """Density f = sum_l f_l Y_l relative to the uniform probability measure.

    The basis is orthonormal in that measure, so the coefficients are the moments int conj(Y_l) dmu,
    and the one of degree 0 is the mass, 1.

    Attributes
    ----------
    manifold : Manifold
    coefficients : ndarray
        Circle: complex (K + 1,), c_k = int e^{-ik theta} dmu, so that
        f(theta) = Re[c_0 + 2 sum_{k >= 1} c_k e^{ik theta}]. Sphere: real (2, L + 1, L + 1) in
        pyshtools' layout, or a pyshtools.SHCoeffs; stored packed, complex ((L + 1)(L + 2) / 2,),
        and `manifold.unpacked` restores the layout. Axial: moments int P_l dmu, real (L + 1,).
    components : tuple of (weight, centre, concentration)
        Von Mises-Fisher densities whose mixture it is, if known; tokens are drawn from them.

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
        coefficients = self.manifold.check_coefficients(self.coefficients)
        object.__setattr__(self, "coefficients", coefficients)

    @property
    def max_degree(self) -> int:
        return self.manifold.degree_of(self.coefficients)

    @checked
    def __call__(self, points: ArrayLike, *, width: float | None = None) -> FloatArray:
        """Values at points (...) or (..., 3); smoothed if a width is given.

        Examples
        --------
        >>> import meanfield as mf
        >>> float(mf.Density(mf.Circle(), [1.0, 0.25])(0.0))
        1.5
        """
        density = self if width is None else self.smoothed(width)
        return _at_places(self.manifold, points, density.at)

    @checked
    def smoothed(self, width: float) -> Density:
        """Density after the heat flow, as in `Measure.smoothed`."""
        decay = _heat(self.manifold, width, self.max_degree)
        moments = self.moments(len(decay) - 1)
        return Density(self.manifold, self.manifold.convolve(decay, moments))

    @property
    def order_parameter(self) -> float:
        """Length of the mean vector |int x dmu|."""
        return self.manifold.order_parameter(self.moments(1))

    @checked
    def at(self, points: FloatArray) -> FloatArray:
        """Values at points (n,) or (n, 3).

        A known mixture has relative accuracy. A series has an absolute error, the rounding of the
        largest value.
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

    @checked
    def moments(self, max_degree: int) -> ModalArray:
        """Moments up to `max_degree`: the coefficients, cut or filled with zeros."""
        _check_degree(max_degree)
        return self.manifold.resize(self.coefficients, max_degree)

    plot = plot_method("Density.plot")

    def __repr__(self) -> str:
        return f"Density(degree {self.max_degree} on the {self.manifold.name})"


@checked
@dataclass(frozen=True, eq=False)
class LabelledDensity(Density):
    """Densities f_j with labels, and their mean f = sum_j w_j f_j.

    Functions that take a `Density` use the mean.

    Attributes
    ----------
    manifold, coefficients
        As in `Density`; coefficients of the mean.
    parts : ndarray, shape (M, ...)
        Coefficients of the density of each label, packed.
    labels, label_weights : ndarray, shape (M,)
        Positions in (0, 1) or frequencies, and their weights of sum 1.
    label_name : str
        "position" or "frequency".

    Raises
    ------
    ValueError
        If the numbers of parts, labels and weights differ, or a part is not finite of mass 1.

    Examples
    --------
    >>> import meanfield as mf
    >>> pair = mf.LabelledDensity(mf.Circle(), [1.0, 0.2], parts=[[1.0, 0.1], [1.0, 0.3]],
    ...     labels=[0.25, 0.75], label_weights=[0.5, 0.5])
    >>> pair, pair.label_order.round(9).tolist()
    (LabelledDensity(2 positions, degree 1 on the circle), [0.1, 0.3])
    """

    parts: ModalArray = field(kw_only=True)
    labels: FloatArray = field(kw_only=True)
    label_weights: FloatArray = field(kw_only=True)
    label_name: str = field(default="position", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        parts = np.array(self.parts, dtype=self.coefficients.dtype)
        count = len(parts) if parts.ndim == 2 else 0
        shapes = (np.shape(self.labels), np.shape(self.label_weights))
        if not count or shapes != 2 * ((count,),):
            raise ValueError(
                f"parts have shape {parts.shape}, labels {shapes[0]} and "
                f"label_weights {shapes[1]}, "
                "expected (M, number of coefficients), (M,) and (M,)."
            )
        if not np.all(np.isfinite(parts)) or np.abs(parts[:, 0] - 1.0).max() > 1e-9:
            raise ValueError("parts must be finite, and of mass 1.")
        object.__setattr__(self, "parts", parts)

    @classmethod
    def of(
        cls, manifold: Manifold, parts: ModalArray, labels: Labels, time: float = 0.0
    ) -> LabelledDensity:
        """Mean density over all labels at a time, with the densities of the stored labels."""
        mean = labels.mean(parts, time)
        mean[0] = 1.0
        stored, weights = labels.stored, labels.stored_weights
        return cls(
            manifold,
            mean,
            parts=parts[stored],
            labels=labels.values[stored],
            label_weights=labels.weights if weights is None else weights,
            label_name=labels.name,
        )

    @property
    def label_order(self) -> FloatArray:
        """Length of the mean vector |int x dmu_j| of each label, shape (M,)."""
        space = self.manifold
        return np.array([space.order_parameter(space.resize(part, 1)) for part in self.parts])

    @checked
    def part(self, index: int) -> Density:
        """Density of one label; a negative index counts from the end."""
        return Density(self.manifold, self.parts[index])

    def __repr__(self) -> str:
        plural = {"frequency": "frequencies"}.get(self.label_name, f"{self.label_name}s")
        return (
            f"LabelledDensity({len(self.labels)} {plural}, degree {self.max_degree} on the "
            f"{self.manifold.name})"
        )


def _check_degree(max_degree: int) -> None:
    at_least(0, max_degree=max_degree)
    at_most(LARGEST_DEGREE, max_degree=max_degree)


def shared_manifold(first: Measure | Density, second: Measure | Density) -> Manifold:
    """Common manifold of two measures; ValueError if they differ."""
    if first.manifold.name != second.manifold.name:
        raise ValueError(
            f"first lives on the {first.manifold.name}, second on the {second.manifold.name}: "
            "a distance needs one manifold."
        )
    return first.manifold


def _at_places(
    space: Manifold, points: ArrayLike, density: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    single = len(space.point_shape)
    try:
        array = np.asarray(points, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.zeros(0)
    if array.size == 0 or array.shape[array.ndim - single :] != space.point_shape:
        kind = f"vectors of shape (..., {space.ambient})" if single else "angles in radians"
        raise ValueError(f"points on the {space.name} must be {kind}, got {describe(points)}.")
    flat = array.reshape(-1, *array.shape[array.ndim - single :])
    values = density(space.check_points(flat))
    return np.asarray(values).reshape(array.shape[: array.ndim - single])


def _heat(space: Manifold, width: float, most: int | None = None) -> FloatArray:
    """Multipliers of the heat kernel of a width, up to degree `most` or until negligible."""
    if not space.has_series:
        raise ValueError(f"tokens on {space} have no density, smoothed or not: leave out width.")
    # e^{-l^2 width^2 / 2} = 1e-16 at l = 8.6 / width.
    largest = space.largest_degree
    least = _NEGLIGIBLE / largest
    if not (np.isfinite(width) and width > 0.0 and (most is not None or width >= least)):
        raise ValueError(
            f"width must be an angle in radians, on the {space.name} at least {least:.2g} for "
            f"points, got {width}."
        )
    degree = int(np.ceil(_NEGLIGIBLE / width)) if most is None or width > least else largest
    degree = degree if most is None else min(degree, most)
    return np.exp(-0.5 * width**2 * laplacian_eigenvalues(space.dimension, degree))


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


def checked_positive(density: Density, remedy: str = "Reduce the amplitudes") -> Density:
    """Return a density that is nowhere negative; ValueError with place, value and remedy."""
    positive_bound(density, remedy)
    return density


def positive_bound(density: Density, remedy: str) -> float:
    """Upper bound of a density; ValueError if the density is negative."""
    from meanfield.spaces.extremes import extremes

    lowest, where, bound = extremes(density.manifold, density.coefficients)
    if lowest < -max(_NEGATIVE_TOLERANCE, _ROUNDING_OF_PEAK * bound):
        raise ValueError(f"density is negative: {lowest:.4g} at {np.round(where, 4)}. {remedy}.")
    return bound
