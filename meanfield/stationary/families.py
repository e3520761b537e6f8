"""The equations of stationary states as systems F(x, p) = 0 for the continuation.

    x_j = m_j / p_j(1),    p = log(D / D_0)   or   p = log(beta / beta_0):

moments as shares of those of a Dirac, so that a step means the same in every dimension, and
parameters that may change by orders of magnitude.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.fields.mean_field import PARTITION_FLOOR
from meanfield.kernels import exponential
from meanfield.problem import Problem
from meanfield.stationary.bordered import ContinuationError, CurvePoint, System
from meanfield.stationary.resolution import steepest
from meanfield.stationary.self_consistency import SelfConsistency
from meanfield.stationary.symmetry import Symmetry

Parameter = Literal["diffusivity", "beta"]

# Half the span of a difference: its error is the square of this, its rounding 1e-11.
_DIFFERENCE = 1e-5
_TINY = 1e-300
# Share of its largest value below which a*f, a sum of moments, keeps less than ten digits.
_FAINT = 1e-6


@dataclass(frozen=True, eq=False)
class Family:
    """Stationary states as a function of one parameter.

    Attributes
    ----------
    symmetry : Symmetry
        Given.
    parameter : {"diffusivity", "beta"}
        Given.
    value : callable p -> float
        Given. The parameter itself.
    equation : callable p -> (SelfConsistency, diffusivity)
        Given.
    """

    symmetry: Symmetry
    parameter: Parameter
    value: Callable[[float], float]
    equation: Callable[[float], tuple[SelfConsistency, float]]

    @property
    def system(self) -> System:
        """The equations in the unknowns x and p."""
        dirac, moving = self.symmetry.dirac, self.parameter == "diffusivity"

        def residual(x: FloatArray, p: float) -> FloatArray:
            equation, diffusivity = self.equation(p)
            return equation.residual(dirac * x, diffusivity) / dirac

        def jacobian(x: FloatArray, p: float) -> FloatArray:
            equation, diffusivity = self.equation(p)
            return equation.jacobian(dirac * x, diffusivity) * dirac / dirac[:, None]

        def slope(x: FloatArray, p: float) -> FloatArray:
            if moving:
                equation, diffusivity = self.equation(p)
                return diffusivity * equation.slope(dirac * x, diffusivity) / dirac
            ends = residual(x, p + _DIFFERENCE), residual(x, p - _DIFFERENCE)
            return (ends[0] - ends[1]) / (2.0 * _DIFFERENCE)

        return System(residual, jacobian, slope)

    def moments(self, point: CurvePoint) -> FloatArray:
        """Moments of a point of the curve."""
        return np.asarray(point.state * self.symmetry.dirac)

    def free_energy(self, point: CurvePoint) -> float:
        """Free energy above uniform at the same parameters; NaN if none is known."""
        equation, diffusivity = self.equation(point.parameter)
        if not equation.problem.zonal.has_free_energy:
            return math.nan
        return equation.free_energy(self.moments(point), diffusivity)

    def sharpness(self, point: CurvePoint) -> float:
        """Diffusivity of a state whose density may be as narrow, for `stationary_symmetry`.

        There -V'' is at most `steepest` / D. Here it is at most K / D, with K = sum_j |B_j| and
        B_j = A_j m_j p_j(1) l (l + dim - 1) / dim, as |p_j''| is largest at the pole. Where
        f = (a*f)^c, c < 0, is densest a*f is least: then it is |sum_j B_j| a_0 / a*f at the pole.
        """
        equation, diffusivity = self.equation(point.parameter)
        dimension, l = self.symmetry.dimension, self.symmetry.degrees
        field = equation.coupling * point.state * self.symmetry.dirac**2
        bends = field * (l * (l + dimension - 1) / dimension)
        here = float(np.abs(bends).sum())
        if equation.exponent is not None and equation.exponent < 0:
            partition = 1.0 + float(field.sum()) / equation.exponent
            here = abs(float(bends.sum())) / max(partition, PARTITION_FLOOR)
        return diffusivity * steepest(equation.problem) / max(here, _TINY)

    def is_lost(self, point: CurvePoint) -> bool:
        """Whether moments no longer hold the state: f = (a*f)^c, c < 0, is large where a*f ~ 0."""
        equation, _ = self.equation(point.parameter)
        if equation.exponent is None or equation.exponent > 0:
            return False
        field = self.symmetry.values @ (equation.coupling * self.moments(point))
        partition = 1.0 + field / equation.exponent
        return bool(partition.min() < _FAINT * partition.max())

    def is_stable(self, point: CurvePoint) -> bool:
        """Whether no perturbation of the symmetry grows: every eigenvalue of dF/dx is positive."""
        jacobian = self.system.jacobian(point.state, point.parameter)
        return bool(np.linalg.eigvals(jacobian).real.min() > 0.0)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Say where a curve was lost in the parameter that the user knows."""
        try:
            yield
        except ContinuationError as error:
            where = f"{self.parameter} = {self.value(error.parameter or 0.0):.10g}"
            raise ContinuationError(error.reason, error.parameter, where) from None


def diffusivity_family(problem: Problem, symmetry: Symmetry, scale: float) -> Family:
    """Stationary states of a problem at the diffusivities scale * exp(p)."""
    equation = SelfConsistency(problem, symmetry)

    def value(p: float) -> float:
        return scale * math.exp(p)

    return Family(symmetry, "diffusivity", value, lambda p: (equation, value(p)))


def beta_family(problem: Problem, symmetry: Symmetry) -> Family:
    """Stationary states at the problem's diffusivity, for the kernels of beta * exp(p)."""

    def value(p: float) -> float:
        return problem.zonal.kernel.beta * math.exp(p)

    # Residual, Jacobian and the two ends of a difference, asked for one after the other.
    @lru_cache(maxsize=8)
    def equation(p: float) -> tuple[SelfConsistency, float]:
        at = replace(problem, kernel=exponential(value(p)))
        return SelfConsistency(at, symmetry), problem.zonal.diffusivity

    return Family(symmetry, "beta", value, equation)
