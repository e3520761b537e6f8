"""Continuation of a curve F(x, p) = 0 by pseudo-arclength, through folds.

Let y = (x, p) be a point with n components x and a number p, and t its unit tangent. A step is
predicted along t and corrected by Newton's method on the bordered system:

    F(y') = 0,    <t, y' - y> = sigma.

It is regular also at folds, where dF/dx is not. Special points are zeros of test functions: points
bracket a zero, and Brent's method on the corrected curve finds it. Every curve has the tests `fold`
(dp/ds = 0) and `bifurcation` (another curve crosses: the determinant of the bordered matrix changes
sign).

Stationary states are such systems with

    x_j = m_j / p_j(1),    p = log(D / D_0).

Moments are relative to moments of a Dirac, so a step has the same meaning in every dimension. The
diffusivity may change by orders of magnitude.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.engines.partition import PARTITION_FLOOR
from meanfield.problem import Problem
from meanfield.stationary.self_consistency import SelfConsistency
from meanfield.stationary.symmetry import Symmetry, steepest

# Quadratic convergence from a prediction needs three to five; otherwise the continuation halves its
# step.
_NEWTON_STEPS = 10
# The Newton step after one of this size would be its square. Steps below _STALLED that do not
# shrink are rounding.
_CONVERGED = 1e-11
_STALLED = 1e-7
# Newton's method fails if it moves the parameter farther from its prediction, probably to another
# curve. Parameters are logarithms, and their exponentials must not overflow.
FARTHEST = 0.3


class ContinuationError(RuntimeError):
    """A curve could not be followed to its end; it has the reason and the parameter p."""

    def __init__(self, reason: str, parameter: float | None = None, where: str = "") -> None:
        place = where if parameter is None or where else f"p = {parameter:g}"
        super().__init__(f"{reason} {place}".rstrip())
        self.reason, self.parameter = reason, parameter


@dataclass(frozen=True)
class System:
    """Equations F(x, p) = 0: F (n,), dF/dx (n, n), dF/dp (n,); dF/dp need not be exact."""

    residual: Callable[[FloatArray, float], FloatArray]
    jacobian: Callable[[FloatArray, float], FloatArray]
    slope: Callable[[FloatArray, float], FloatArray]


@dataclass(frozen=True, eq=False)
class CurvePoint:
    """A point of the curve."""

    state: FloatArray  # (n,): x
    parameter: float  # p
    tangent: FloatArray  # (n + 1,): unit vector (dx/ds, dp/ds)
    # Determinant of dF with the tangent as last row: sign, and logarithm of the modulus.
    determinant: tuple[float, float]


def first_point(system: System, state: FloatArray, parameter: float, row: FloatArray) -> CurvePoint:
    """Point of the curve near a guess, with the same <row, (x, p)>, and <row, tangent> > 0."""
    row = row / np.linalg.norm(row)
    point, converged = corrected(system, np.append(state, parameter), row)
    if not converged:
        raise ContinuationError("no point of the curve near the guess at", parameter)
    return point_at(system, point, row)


def vector(point: CurvePoint) -> FloatArray:
    """The point (x, p) as one vector, shape (n + 1,)."""
    return np.append(point.state, point.parameter)


def corrected(system: System, guess: FloatArray, row: FloatArray) -> tuple[FloatArray, bool]:
    """Newton's method in the plane through the guess normal to `row`, and whether it converged."""
    from scipy.linalg.lapack import dgetrf, dgetrs

    point, level, last = guess, float(row @ guess), math.inf
    for _ in range(_NEWTON_STEPS):
        residual = system.residual(point[:-1], point[-1])
        factors, pivots, singular = dgetrf(_bordered(system, point, row))
        if singular or not np.all(np.isfinite(residual)):
            return point, False
        change = -dgetrs(factors, pivots, np.append(residual, row @ point - level))[0]
        point = point + change
        size = float(np.linalg.norm(change) / (1.0 + np.linalg.norm(point)))
        if size <= _CONVERGED or (size <= _STALLED and size > 0.5 * last):
            return point, True
        if not abs(point[-1] - guess[-1]) <= FARTHEST:
            return point, False
        last = size
    return point, False


def point_at(system: System, vector: FloatArray, row: FloatArray) -> CurvePoint:
    """The point with its tangent, oriented along `row`."""
    from scipy.linalg.lapack import dgetrf, dgetrs

    factors, pivots, singular = dgetrf(_bordered(system, vector, row))
    if singular:
        return CurvePoint(vector[:-1], float(vector[-1]), row, (0.0, -math.inf))
    tangent = dgetrs(factors, pivots, np.eye(1, len(vector), len(vector) - 1)[0])[0]
    length = float(np.linalg.norm(tangent))
    diagonal = np.diagonal(factors)
    swaps = np.count_nonzero(pivots != np.arange(len(vector)))
    sign = float(np.prod(np.sign(diagonal)) * (-1.0) ** swaps)
    # Laplace expansion by the last row, with <row, tangent> = 1 / length.
    logarithm = float(np.sum(np.log(np.abs(diagonal)))) + math.log(length)
    return CurvePoint(vector[:-1], float(vector[-1]), tangent / length, (sign, logarithm))


def _bordered(system: System, vector: FloatArray, row: FloatArray) -> FloatArray:
    """The matrix (dF/dx, dF/dp; row)."""
    state, parameter = vector[:-1], float(vector[-1])
    slope = system.slope(state, parameter)
    return np.vstack([np.column_stack([system.jacobian(state, parameter), slope]), row])


# If steps must be shorter, the curve has ended, or its residual is rounding.
_SMALLEST_STEP = 1e-9
# Tangents of neighbouring points are nearly parallel, so no turn is missed.
_LEAST_COSINE = math.cos(0.35)
# Rounding of a length of 1: zeros are as precise as the test function allows.
_ARC_TOLERANCE = 1e-15
# A corrected point is on another curve if it is farther from the interpolated one than this share
# of the interval.
_LARGEST_SHARE = 0.1
# Just below the largest exponent; of a larger determinant only the sign matters.
_LARGEST_LOGARITHM = 700.0


@dataclass(frozen=True)
class Pace:
    """Steps along the curve: first and largest length, growth factor, largest number of points."""

    first: float = 1e-2
    largest: float = 0.2
    growth: float = 1.3
    points: int = 2000


Test = Callable[[CurvePoint], float]
"""A function that changes sign at a special point; NaN where it is undefined."""


@dataclass(frozen=True, eq=False)
class Located:
    """A zero of the test function `kind`, between the points `after` and `after + 1`."""

    kind: str
    point: CurvePoint
    after: int


@dataclass(frozen=True, eq=False)
class Curve:
    """Points along a curve, and the special points between them, in order."""

    points: tuple[CurvePoint, ...]
    located: tuple[Located, ...]


def follow(
    system: System,
    start: CurvePoint,
    *,
    bounds: tuple[float, float] = (-math.inf, math.inf),
    stop: Callable[[CurvePoint], bool] = lambda point: False,
    tests: Mapping[str, Test] | None = None,
    pace: Pace | None = None,
) -> Curve:
    """Follow the curve from `start` along its tangent, until p leaves its bounds or `stop` is true.

    tests: test functions by name, besides "fold" and "bifurcation". Keller, in Rabinowitz (ed.),
    Applications of Bifurcation Theory (1977), 359-384.
    """
    pace = pace or Pace()
    if not bounds[0] <= start.parameter <= bounds[1]:
        raise ValueError(
            f"p = {start.parameter:g} of the first point lies outside of the bounds {bounds}."
        )
    looked_for = {"fold": fold, "bifurcation": bifurcation, **(tests or {})}
    points, located, step = [start], list[Located](), pace.first
    while len(points) <= pace.points:
        here = points[-1]
        there = _stepped(system, here, step)
        if there is None:
            step *= 0.5
            if step < _SMALLEST_STEP:
                raise ContinuationError("the curve could not be followed beyond", here.parameter)
            continue
        bound = min(max(there.parameter, bounds[0]), bounds[1])
        ends = bound != there.parameter
        if ends:
            there = _zero(system, here, there, _at(bound))
        path = [
            Located(kind, _zero(system, here, there, test), len(points) - 1)
            for kind, test in looked_for.items()
            if _changes(test(here), test(there))
        ]
        located += sorted(path, key=lambda each: _along(here, each.point))
        points.append(there)
        if ends or stop(there):
            return Curve(tuple(points), tuple(located))
        step = min(pace.growth * step, pace.largest)
    raise ContinuationError(
        f"the curve has not ended after {pace.points} points, at", points[-1].parameter
    )


def fold(point: CurvePoint) -> float:
    """Test function of folds, dp/ds."""
    return float(point.tangent[-1])


def bifurcation(point: CurvePoint) -> float:
    """Test function of crossings, the determinant of the bordered matrix."""
    sign, logarithm = point.determinant
    return sign * math.exp(min(logarithm, _LARGEST_LOGARITHM))


def _at(bound: float) -> Test:
    return lambda point: point.parameter - bound


def _changes(before: float, after: float) -> bool:
    """True if a test function passes 0; false for NaN."""
    return before * after < 0 or (after == 0 and before != 0)


def _along(here: CurvePoint, there: CurvePoint) -> float:
    """Step from one point to another, along the tangent of the first."""
    return float(here.tangent @ (vector(there) - vector(here)))


def _stepped(system: System, here: CurvePoint, step: float) -> CurvePoint | None:
    """The point one step further; None if Newton's method fails or the curve turns too much."""
    point, converged = corrected(system, vector(here) + step * here.tangent, here.tangent)
    if not converged:
        return None
    there = point_at(system, point, here.tangent)
    return there if there.tangent @ here.tangent > _LEAST_COSINE else None


def _zero(system: System, here: CurvePoint, there: CurvePoint, test: Test) -> CurvePoint:
    """Zero of a test function between two points, on the curve."""
    from scipy.optimize import brentq

    row, step = here.tangent, _along(here, there)
    points = {0.0: here, step: there}

    def value(length: float) -> float:
        if length not in points:
            points[length] = _between(system, row, points, length)
        return test(points[length])

    length = brentq(value, 0.0, step, xtol=_ARC_TOLERANCE, disp=False)
    value(length)
    return points[length]


def _between(
    system: System, row: FloatArray, points: dict[float, CurvePoint], length: float
) -> CurvePoint:
    """Point at a length along `row`: Hermite's cubic between its neighbours, then corrected."""
    low, high = max(at for at in points if at < length), min(at for at in points if at > length)
    span, share = high - low, (length - low) / (high - low)
    ends = [vector(points[at]) for at in (low, high)]
    slopes = [span * points[at].tangent / (row @ points[at].tangent) for at in (low, high)]
    chord = ends[1] - ends[0]
    bend = (1.0 - share) * (slopes[0] - chord) - share * (slopes[1] - chord)
    guess = ends[0] + share * (chord + (1.0 - share) * bend)
    point, converged = corrected(system, guess, row)
    # Near a crossing Newton's method is singular, and may converge to the other curve.
    if not converged or np.linalg.norm(point - guess) > _LARGEST_SHARE * span:
        point = guess
    return point_at(system, point, row)


_TINY = 1e-300
# a*f is a sum of moments: below this share of its largest value it has less than ten digits.
_FAINT = 1e-6


@dataclass(frozen=True, eq=False)
class Family:
    """Stationary states of a problem at the diffusivities scale * exp(p)."""

    problem: Problem  # its own diffusivity is not used
    symmetry: Symmetry  # basis of the moments
    scale: float  # diffusivity at p = 0

    @cached_property
    def equation(self) -> SelfConsistency:
        return SelfConsistency(self.problem, self.symmetry)

    def diffusivity(self, p: float) -> float:
        return self.scale * math.exp(p)

    @property
    def system(self) -> System:
        """Equations in the unknowns x and p, with dF/dx and dF/dp = D dF/dD."""
        dirac, equation = self.symmetry.dirac, self.equation

        def residual(x: FloatArray, p: float) -> FloatArray:
            return equation.residual(dirac * x, self.diffusivity(p)) / dirac

        def jacobian(x: FloatArray, p: float) -> FloatArray:
            return equation.jacobian(dirac * x, self.diffusivity(p)) * dirac / dirac[:, None]

        def slope(x: FloatArray, p: float) -> FloatArray:
            diffusivity = self.diffusivity(p)
            return diffusivity * equation.slope(dirac * x, diffusivity) / dirac

        return System(residual, jacobian, slope)

    def moments(self, point: CurvePoint) -> FloatArray:
        return np.asarray(point.state * self.symmetry.dirac)

    def free_energy(self, point: CurvePoint) -> float:
        """Free energy above uniform at the same parameters; NaN if none is known."""
        return self.equation.free_energy(self.moments(point), self.diffusivity(point.parameter))

    def sharpness(self, point: CurvePoint) -> float:
        """Diffusivity for which `stationary_symmetry` resolves the density of this point.

        Its quadrature allows -V'' up to `steepest` / D. Here -V'' is at most K / D, with
        K = sum_j |B_j| and B_j = A_j m_j p_j(1) l (l + dim - 1) / dim, as |p_j''| is largest at the
        pole. For c < 0, f = (a*f)^c is largest where a*f is smallest, and K is
        |sum_j B_j| a_0 / a*f at the pole.
        """
        equation = self.equation
        dimension, l = self.symmetry.dimension, self.symmetry.degrees
        field = equation.coupling * point.state * self.symmetry.dirac**2
        bends = field * (l * (l + dimension - 1) / dimension)
        here = float(np.abs(bends).sum())
        if equation.exponent is not None and equation.exponent < 0:
            partition = 1.0 + float(field.sum()) / equation.exponent
            here = abs(float(bends.sum())) / max(partition, PARTITION_FLOOR)
        return self.diffusivity(point.parameter) * steepest(self.problem) / max(here, _TINY)

    def is_lost(self, point: CurvePoint) -> bool:
        """True if moments cannot represent the state: f = (a*f)^c, c < 0, with a*f near 0."""
        equation = self.equation
        if equation.exponent is None or equation.exponent > 0:
            return False
        field = self.symmetry.values @ (equation.coupling * self.moments(point))
        partition = 1.0 + field / equation.exponent
        return bool(partition.min() < _FAINT * partition.max())

    def is_stable(self, point: CurvePoint) -> bool:
        """True if no perturbation with the symmetry grows: eigenvalues of dF/dx are positive."""
        jacobian = self.system.jacobian(point.state, point.parameter)
        return bool(np.linalg.eigvals(jacobian).real.min() > 0.0)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Add the diffusivity to a ContinuationError."""
        try:
            yield
        except ContinuationError as error:
            where = f"diffusivity = {self.diffusivity(error.parameter or 0.0):.10g}"
            raise ContinuationError(error.reason, error.parameter, where) from None
