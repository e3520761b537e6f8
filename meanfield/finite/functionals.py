"""Observables as functions of moments, and their first variations.

For J(mu) = j(m_1(mu), m_2(mu), ...) the first variation is the field sum_i d_i j Y_i, the influence
function of J at the time at which it is looked at. Derivatives of j are central differences of
order six, exact up to rounding for linear and quadratic j.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from meanfield.arrays import ModalArray
from meanfield.manifolds.coordinates import coordinates
from meanfield.observables.energies import interaction_energy
from meanfield.problem import Problem

Functional = str | Callable[[ModalArray], float]
"""An observable: a name among `NAMED`, or a function of packed moments."""

# Steps of differences: beside moments of order one their error is h^6 and eps / h.
_STEP = 1e-2
_WEIGHTS = ((1, 3.0 / 4.0), (2, -3.0 / 20.0), (3, 1.0 / 60.0))


@dataclass(frozen=True, eq=False)
class Variation:
    """An observable at one measure.

    Attributes
    ----------
    value : float
        Derived. J.
    field : ndarray
        Derived. Coefficients of its first variation, without degree 0.
    """

    value: float
    field: ModalArray


def variation(problem: Problem, observable: Functional, moments: ModalArray) -> Variation:
    """Value and first variation of an observable, from moments of some degree.

    Raises
    ------
    ValueError
        If the name is not known.
    TypeError
        If a function gives no number.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0))
    >>> variation(problem, lambda m: abs(m[1]) ** 2, np.array([1.0, 0.5])).field.round(12)
    array([0. +0.j, 0.5+0.j])
    """
    value = function_of(problem, observable)
    space = problem.space
    of = coordinates(space.dimension, space.degree_of(moments))
    slopes = np.zeros(of.size)
    for j, unit in enumerate(np.eye(of.size)):
        change = of.to_coefficients(unit)
        for n, weight in _WEIGHTS:
            ahead, behind = (value(moments + s * n * _STEP * change) for s in (1, -1))
            slopes[j] += weight * (ahead - behind) / _STEP
    return Variation(value(moments), of.to_coefficients(slopes))


def function_of(problem: Problem, observable: Functional) -> Callable[[ModalArray], float]:
    """Observable as a function of packed moments, by its name too.

    Raises
    ------
    ValueError
        If the name is not known.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0))
    >>> function_of(problem, lambda m: m[1].imag)(np.array([1.0, 0.5j]))
    0.5
    """
    if not isinstance(observable, str):
        return partial(_number, observable)
    if observable not in NAMED:
        known = ", ".join(sorted(NAMED))
        raise ValueError(
            f"observable {observable!r} is not known. Known: {known}; or a function of moments."
        )
    return partial(_number, partial(NAMED[observable], problem))


def _number(function: Callable[[ModalArray], float], moments: ModalArray) -> float:
    value = function(moments)
    if not np.isscalar(value) or np.iscomplexobj(value):
        raise TypeError(
            "an observable must be one real number of the moments, as lambda m: m[1].real, got "
            f"{type(value).__name__}."
        )
    return float(value)  # type: ignore[arg-type]


NAMED: dict[str, Callable[[Problem, ModalArray], float]] = {"energy": interaction_energy}
"""Observables by name: "energy" is the interaction energy that runs store."""
