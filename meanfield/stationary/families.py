"""The equations of stationary states as systems F(x, p) = 0 for the continuation.

    x_j = m_j / p_j(1),    p = log(D / D_0):

moments as shares of the moments of a Dirac, so that a step means the same in every dimension, and
a diffusivity that may change by orders of magnitude.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.engines.partition import PARTITION_FLOOR
from meanfield.problem import Problem
from meanfield.stationary.bordered import ContinuationError, CurvePoint, System
from meanfield.stationary.resolution import steepest
from meanfield.stationary.self_consistency import SelfConsistency
from meanfield.stationary.symmetry import Symmetry

_TINY = 1e-300
# Share of its largest value below which a*f, a sum of moments, keeps less than ten digits.
_FAINT = 1e-6


@dataclass(frozen=True, eq=False)
class Family:
    """Stationary states of a problem at the diffusivities scale * exp(p)."""

    problem: Problem  # its own diffusivity is not used
    symmetry: Symmetry  # basis of the moments
    scale: float  # diffusivity at p = 0

    @cached_property
    def equation(self) -> SelfConsistency:
        """Equation of the states, the diffusivity being its second argument."""
        return SelfConsistency(self.problem, self.symmetry)

    def diffusivity(self, p: float) -> float:
        """Diffusivity D = scale * exp(p)."""
        return self.scale * math.exp(p)

    @property
    def system(self) -> System:
        """Equations in the unknowns x and p, their derivatives dF/dx and dF/dp = D dF/dD."""
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
        """Moments of a point of the curve."""
        return np.asarray(point.state * self.symmetry.dirac)

    def free_energy(self, point: CurvePoint) -> float:
        """Free energy above uniform at the same parameters; NaN if none is known."""
        if not self.problem.zonal.has_free_energy:
            return math.nan
        return self.equation.free_energy(self.moments(point), self.diffusivity(point.parameter))

    def sharpness(self, point: CurvePoint) -> float:
        """Diffusivity of a state whose density may be as narrow, for `stationary_symmetry`.

        There -V'' is at most `steepest` / D. Here it is at most K / D, with K = sum_j |B_j| and
        B_j = A_j m_j p_j(1) l (l + dim - 1) / dim, as |p_j''| is largest at the pole. For c < 0
        f = (a*f)^c is densest where a*f is least: then it is |sum_j B_j| a_0 / a*f at the pole.
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
        """True where moments cannot represent the state: f = (a*f)^c, c < 0, with a*f near 0."""
        equation = self.equation
        if equation.exponent is None or equation.exponent > 0:
            return False
        field = self.symmetry.values @ (equation.coupling * self.moments(point))
        partition = 1.0 + field / equation.exponent
        return bool(partition.min() < _FAINT * partition.max())

    def is_stable(self, point: CurvePoint) -> bool:
        """True if no perturbation of the symmetry grows: all eigenvalues of dF/dx are positive."""
        jacobian = self.system.jacobian(point.state, point.parameter)
        return bool(np.linalg.eigvals(jacobian).real.min() > 0.0)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Name the diffusivity at which a curve was lost."""
        try:
            yield
        except ContinuationError as error:
            where = f"diffusivity = {self.diffusivity(error.parameter or 0.0):.10g}"
            raise ContinuationError(error.reason, error.parameter, where) from None
