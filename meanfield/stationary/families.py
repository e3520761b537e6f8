"""The equations of stationary states as systems F(x, p) = 0 for the continuation.

    x_j = m_j / p_j(1),    p = log(D / D_0)   or   p = log(beta / beta_0):

moments as shares of those of a Dirac, so that a step means the same in every dimension, and
parameters that may change by orders of magnitude.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.kernels import exponential
from meanfield.problem import Problem
from meanfield.stationary.bordered import CurvePoint, System
from meanfield.stationary.self_consistency import SelfConsistency
from meanfield.stationary.symmetry import Symmetry, harmonic_counts

_DIFFERENCE = 1e-5
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Family:
    """Stationary states as a function of one parameter.

    Attributes
    ----------
    symmetry : Symmetry
        Given.
    system : System
        Given. In the unknowns x and p.
    equation : callable p -> (SelfConsistency, diffusivity)
        Given.
    value : callable p -> float
        Given. The parameter itself.
    """

    symmetry: Symmetry
    system: System
    equation: Callable[[float], tuple[SelfConsistency, float]]
    value: Callable[[float], float]

    @property
    def dirac(self) -> FloatArray:
        """Moments p_j(1) of a Dirac at the axis, shape (n,)."""
        return dirac_moments(self.symmetry)

    def moments(self, point: CurvePoint) -> FloatArray:
        """Moments of a point of the curve."""
        return np.asarray(point.state * self.dirac)

    def free_energy(self, point: CurvePoint) -> float:
        """Free energy above uniform at the same parameters; NaN if none is known."""
        equation, diffusivity = self.equation(point.parameter)
        if equation.exponent is not None:
            return math.nan
        return equation.free_energy(self.moments(point), diffusivity)

    def sharpness(self, point: CurvePoint) -> float:
        """Diffusivity of a state whose density may be as narrow, for `stationary_symmetry`.

        There V'' is at most |strength| max|a| / D. Here it is at most K / D, with
        K = sum_j |A_j m_j| l (l + dim - 1) p_j(1) / dim as |p_j''| is largest at the pole.
        """
        equation, diffusivity = self.equation(point.parameter)
        dimension, l = self.symmetry.dimension, self.symmetry.degrees
        bends = l * (l + dimension - 1) * self.dirac**2 / dimension
        steepest = float(np.abs(equation.coupling * point.state) @ bends)
        return diffusivity * abs(equation.problem.flow.strength) / max(steepest, _TINY)

    def is_stable(self, point: CurvePoint) -> bool:
        """Whether no perturbation of the symmetry grows: every eigenvalue of dF/dx is positive."""
        jacobian = self.system.jacobian(point.state, point.parameter)
        return bool(np.linalg.eigvals(jacobian).real.min() > 0.0)


def diffusivity_family(problem: Problem, symmetry: Symmetry, scale: float) -> Family:
    """Stationary states of a problem at the diffusivities scale * exp(p)."""
    equation, dirac = SelfConsistency(problem, symmetry), dirac_moments(symmetry)

    def value(p: float) -> float:
        return scale * math.exp(p)

    return Family(
        symmetry,
        System(
            residual=lambda x, p: equation.residual(dirac * x, value(p)) / dirac,
            jacobian=lambda x, p: equation.jacobian(dirac * x, value(p)) * dirac / dirac[:, None],
            slope=lambda x, p: value(p) * equation.slope(dirac * x, value(p)) / dirac,
        ),
        equation=lambda p: (equation, value(p)),
        value=value,
    )


def beta_family(problem: Problem, symmetry: Symmetry) -> Family:
    """Stationary states at the problem's diffusivity, for the kernels of beta * exp(p)."""
    diffusivity, dirac = problem.flow.diffusivity, dirac_moments(symmetry)

    def value(p: float) -> float:
        return problem.kernel.beta * math.exp(p)

    # Residual, Jacobian and the two ends of a difference, asked for one after the other.
    @lru_cache(maxsize=8)
    def equation(p: float) -> SelfConsistency:
        return SelfConsistency(replace(problem, kernel=exponential(value(p))), symmetry)

    def residual(x: FloatArray, p: float) -> FloatArray:
        return equation(p).residual(dirac * x, diffusivity) / dirac

    return Family(
        symmetry,
        System(
            residual=residual,
            jacobian=lambda x, p: (
                equation(p).jacobian(dirac * x, diffusivity) * dirac / dirac[:, None]
            ),
            slope=lambda x, p: (
                (residual(x, p + _DIFFERENCE) - residual(x, p - _DIFFERENCE)) / (2.0 * _DIFFERENCE)
            ),
        ),
        equation=lambda p: (equation(p), diffusivity),
        value=value,
    )


def dirac_moments(symmetry: Symmetry) -> FloatArray:
    """Moments p_j(1) of a Dirac at the axis of an axisymmetric basis, shape (n,).

    Examples
    --------
    >>> from meanfield.stationary.symmetry import axisymmetric
    >>> dirac_moments(axisymmetric(2, 3)) ** 2
    array([3., 5., 7.])
    """
    counts = harmonic_counts(symmetry.dimension, int(symmetry.degrees[-1]))
    return np.asarray(np.sqrt(counts[symmetry.degrees]))
