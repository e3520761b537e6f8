"""Observables as functions of moments, and their first variations.

For J(mu) = j(m_1(mu), m_2(mu), ...) the first variation is the field sum_i d_i j Y_i, the influence
function of J at the time of observation. Derivatives of j are central differences of
order six, exact up to rounding for linear and quadratic j. Of others steps are divided by four
until two agree: j = log |m_3| has derivatives where m_3 is small, and j = |m_3| none where it is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.bases.coordinates import coordinates
from meanfield.observables.energies import interaction_energy
from meanfield.problem import Problem

Functional = str | Callable[[ModalArray], float]
"""An observable: a name among `NAMED`, or a function of packed moments."""

# Weights of values at 0, h, 2 h, 3 h and of those behind, by the order of the derivative: their
# error is h^6 and eps / h or eps / h^2.
WEIGHTS = {1: (0.0, 3 / 4, -3 / 20, 1 / 60), 2: (-49 / 18, 3 / 2, -3 / 20, 1 / 90)}
"""Central differences of order six."""

_STEP = 1e-2
_SMALLEST = {1: _STEP / 4**7, 2: _STEP / 4**5}
# Differences of two steps that agree this well are taken, and others refused.
_AGREED = {1: 1e-10, 2: 1e-7}
_REFUSED = {1: 1e-5, 2: 1e-3}
# Rounding of values, in units of the last place.
_ROUNDING = 64 * float(np.finfo(np.float64).eps)
# A kink: slopes on both sides that differ by this share, however close.
_KINK = 0.1


@dataclass(frozen=True, eq=False)
class Variation:
    """An observable at one measure."""

    value: float  # J
    field: ModalArray  # coefficients of its first variation, without degree 0


def variation(problem: Problem, observable: Functional, moments: ModalArray) -> Variation:
    """Value and first variation of an observable, from moments of some degree."""
    value = function_of(problem, observable)
    space = problem.manifold
    of = coordinates(space.dimension, space.degree_of(moments))
    along = _along(value, moments, of.to_coefficients(np.eye(of.size)))
    slopes, errors = _differences(along, 1, quadratic=isinstance(observable, str))
    here = value(moments)
    if np.isfinite(here):
        _check_smooth(errors, float(np.abs(slopes).max()), 1)
    return Variation(here, of.to_coefficients(slopes))


def bent(
    problem: Problem, observable: Functional, moments: ModalArray, covariance: FloatArray
) -> float:
    """tr(j'' C), C in real coordinates of moments of some degree."""
    value = function_of(problem, observable)
    of = coordinates(problem.manifold.dimension, problem.manifold.degree_of(moments))
    # Along its own directions a covariance is a sum of squares.
    sizes, directions = np.linalg.eigh(covariance)
    sizes = np.maximum(sizes, 0.0)
    along = _along(value, moments, of.to_coefficients(directions.T))
    curvatures, errors = _differences(along, 2, quadratic=isinstance(observable, str))
    if np.isfinite(value(moments)):
        _check_smooth(sizes * errors, float(sizes @ np.abs(curvatures)), 2)
    return float(sizes @ curvatures)


Line = Callable[[float], float]


def _along(
    value: Callable[[ModalArray], float], moments: ModalArray, directions: ModalArray
) -> list[Line]:
    return [lambda s, each=each: value(moments + s * each) for each in directions]  # type: ignore[misc]


def _differences(
    along: list[Line], order: int, *, quadratic: bool
) -> tuple[FloatArray, FloatArray]:
    """Derivatives at 0 of functions of a number, and their errors beyond rounding."""
    differences = np.array([_difference(each, order, quadratic) for each in along])
    return differences[:, 0], differences[:, 1]


def _difference(line: Line, order: int, quadratic: bool) -> tuple[float, float]:
    here = line(0.0)

    def at(step: float) -> tuple[float, float, float]:
        """Difference, its rounding, and the largest change of a value."""
        ahead, behind = (np.array([line(s * n * step) for n in (1, 2, 3)]) for s in (1, -1))
        weights = WEIGHTS[order]
        total = (ahead - here) + (-1) ** order * (behind - here)
        rounding = _ROUNDING * max(abs(here), *np.abs(ahead), *np.abs(behind)) / step**order
        change = max(*np.abs(ahead - here), *np.abs(behind - here))
        return float(total @ weights[1:]) / step**order, rounding, change

    if quadratic:
        return at(1.0)[0], 0.0
    step = _STEP
    last, _, change = at(step)
    if change == 0.0:
        return last, 0.0
    best, error = last, np.inf
    while step > _SMALLEST[order]:
        step /= 4.0
        now, rounding, _ = at(step)
        difference = abs(now - last)
        if difference < error:
            best, error = (last if difference <= rounding else now), difference
        if difference <= _AGREED[order] * abs(now) + rounding:
            error = 0.0
            break
        last = now
    if order == 1:
        error = max(error, _kink(line, here, best))
    return best, error


def _kink(line: Line, here: float, slope: float) -> float:
    """By how much slopes on both sides differ, if they do however close."""
    far, near = (
        abs((line(step) - here) + (line(-step) - here)) / step for step in (_STEP, _SMALLEST[1])
    )
    rounding = _ROUNDING * abs(here) / _SMALLEST[1]
    return near if near > _KINK * max(far, abs(slope)) + rounding else 0.0


def _check_smooth(errors: FloatArray, scale: float, order: int) -> None:
    worst = float(errors.max(initial=0.0))
    if not worst <= _REFUSED[order] * scale:
        raise ValueError(
            f"the observable has no {'first' if order == 1 else 'second'} derivatives there: "
            f"differences vary by {worst:.1e} beside {scale:.1e}; take one that is smooth, as "
            "abs(m[1]) ** 2 where m[1] may be 0."
        )


def finite_variation(problem: Problem, observable: Functional, moments: ModalArray) -> Variation:
    """First variation at the end of a run, see `variation`."""
    result = variation(problem, observable, moments)
    if not (np.isfinite(result.value) and np.isfinite(result.field).all()):
        raise ValueError(
            f"the observable or its slopes are not finite at the end of the run: its value is "
            f"{result.value}; take one that is smooth there."
        )
    return result


def check_degrees(problem: Problem, observable: Functional, degree: int) -> None:
    """Refuse the energy, a function of all moments of the kernel, where they end below."""
    kernel_degree = problem.kernel_degree
    if observable == "energy" and degree < kernel_degree:
        raise ValueError(
            f"the energy is a function of moments up to degree {kernel_degree}, "
            "and these are known up "
            f"to {degree}: give degree = {kernel_degree}."
        )


def function_of(problem: Problem, observable: Functional) -> Callable[[ModalArray], float]:
    """Observable as a function of packed moments, by its name too."""
    if not isinstance(observable, str):
        return partial(_number, observable)
    if observable not in NAMED:
        names = ", ".join(sorted(NAMED))
        raise ValueError(
            f"observable {observable!r} is not known. Known: {names}; or a function of moments."
        )
    return partial(_number, partial(NAMED[observable], problem))


def _number(function: Callable[[ModalArray], float], moments: ModalArray) -> float:
    try:
        value = function(moments)
    except IndexError as error:
        raise ValueError(
            f"the observable looks for more than the {len(moments)} moments there are, packed: "
            f"give a larger degree. {error}"
        ) from error
    if not np.isscalar(value) or isinstance(value, (str, bytes)) or np.iscomplexobj(value):
        raise TypeError(
            "an observable must be one real number of the moments, as lambda m: m[1].real, got "
            f"{type(value).__name__}."
        )
    return float(value)


NAMED: dict[str, Callable[[Problem, ModalArray], float]] = {"energy": interaction_energy}
"""Observables by name: "energy" is the interaction energy that runs store."""
