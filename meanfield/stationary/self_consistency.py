"""Stationary states as fixed points of a map on the moments.

A state of the noisy equation is stationary if v = D grad log f. The velocity is a gradient,

    USA, linear kernel   v = grad Phi,                Phi = strength * W*f,
    SA, exponential      v = grad log(a*f) / c,       c = beta / strength,

hence f = exp(V) / <exp(V)> with V = Phi / D or V = log(a*f) / (c D), <.> the mean over sigma.
V depends on the moments m_l of f alone, so that f is stationary if and only if m = G(m), G the
moments of the right-hand side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from meanfield.arrays import EPS, FloatArray
from meanfield.engines.partition import floored
from meanfield.problem import Problem
from meanfield.spectrum.stability import couplings
from meanfield.stationary.symmetry import Symmetry, log_mean

# exp(x) - 1 - x - x^2/2 loses digits below this; its series to x^15 / 15! does not there.
_SERIES_BELOW = 0.5
_SERIES = np.array([1.0 / math.factorial(k) for k in range(15, 2, -1)] + [0.0, 0.0, 0.0])
# Fields V weaker than this everywhere are near uniform: small terms are then kept apart.
_WEAK = 2.0
# log(1 + y) - y by its series below this: the next term is y^13 / 13.
_LOG_SERIES_BELOW = 0.04
_LOG_SERIES = np.array([(-1.0) ** (k + 1) / k for k in range(12, 1, -1)] + [0.0, 0.0])


@dataclass(frozen=True, eq=False)
class SelfConsistency:
    """The equation m = G(m) of stationary states with a symmetry; diffusivity is an argument.

    - symmetry: holds every degree of the symmetry up to the kernel's.
    - coupling (n,): A_j = strength w_l / z, z = 1 or a_0: degree l is unstable if D < A_j.
    - exponent: 1 / c for normalised flows with the exponential kernel, None where V is linear.

    ValueError if the flow is normalised and its kernel neither exponential nor linear: its velocity
    is then no gradient.

    >>> import meanfield as mf
    >>> from meanfield.stationary.symmetry import axisymmetric
    >>> kuramoto = mf.Problem(mf.Circle(), mf.linear(), mf.USA)
    >>> equation = SelfConsistency(kuramoto, axisymmetric(1, 1))
    >>> abs(equation.jacobian(np.zeros(1), 0.5)).round(12)  # bifurcation at D = 1/2
    array([[0.]])
    """

    problem: Problem
    symmetry: Symmetry
    coupling: FloatArray = field(init=False)
    exponent: float | None = field(init=False)

    def __post_init__(self) -> None:
        problem, symmetry = self.problem, self.symmetry
        zonal = problem.zonal
        kernel, dimension = zonal.kernel, zonal.dimension
        if symmetry.dimension != dimension:
            raise ValueError(
                f"symmetry is of S^{symmetry.dimension}, the problem lives on S^{dimension}: "
                "build it for that dimension."
            )
        if zonal.normalized and kernel.log_slope is None:
            raise ValueError(
                f"kernel {kernel.name!r} with a normalised flow: its velocity is no gradient. "
                "Take an exponential or linear kernel, or normalized = false."
            )
        present = np.unique(symmetry.degrees)
        # Symmetries leave gaps between degrees: one more gap and a degree is missing.
        gap = int(np.diff(present, prepend=0).max())
        if present[-1] + gap <= zonal.degree:
            raise ValueError(
                f"symmetry {symmetry.name!r} ends at degree {present[-1]}, the kernel acts up to "
                f"{zonal.degree}: build it with that max_degree."
            )
        exponent = None if zonal.has_free_energy else zonal.strength / kernel.beta
        object.__setattr__(self, "coupling", couplings(problem, int(present[-1]))[symmetry.degrees])
        object.__setattr__(self, "exponent", exponent)

    def residual(self, moments: FloatArray, diffusivity: float) -> FloatArray:
        """Residual m - G(m), shape (n,)."""
        return np.asarray(moments - self.image(moments, diffusivity))

    def image(self, moments: FloatArray, diffusivity: float) -> FloatArray:
        """Moments G(m) of the density exp(V) / <exp(V)>, shape (n,)."""
        potential, _ = self._potential(moments, diffusivity)
        return np.asarray(self._masses(potential) @ self.symmetry.values)

    def jacobian(self, moments: FloatArray, diffusivity: float) -> FloatArray:
        """Derivative of the residual by the moments, exact, shape (n, n).

        dG_j/dm_k = Cov_f(p_j, dV/dm_k),  dV/dm_k = A_k p_k / D, divided by a*f / a_0 if
        normalised. For USA all eigenvalues are positive at minima of the free energy.
        """
        values = self.symmetry.values
        potential, partition = self._potential(moments, diffusivity)
        masses = self._masses(potential)
        means = masses @ values
        # Centred before the product: near a Dirac the covariance is small.
        if partition is None:
            root = np.sqrt(masses)[:, None] * (values - means)
            covariance = root.T @ root
        else:
            slopes = values / partition[:, None]
            covariance = (masses[:, None] * (values - means)).T @ (slopes - masses @ slopes)
        return np.asarray(np.eye(len(means)) - covariance * (self.coupling / diffusivity))

    def slope(self, moments: FloatArray, diffusivity: float) -> FloatArray:
        """Derivative of the residual by the diffusivity, Cov_f(p_j, V) / D, shape (n,)."""
        values = self.symmetry.values
        potential, _ = self._potential(moments, diffusivity)
        masses = self._masses(potential)
        centred = potential - masses @ potential
        return np.asarray((masses * centred) @ (values - masses @ values) / diffusivity)

    def density(self, moments: FloatArray, diffusivity: float) -> FloatArray:
        """Nodal values of exp(V) / <exp(V)>, relative to sigma, shape (q,)."""
        # In high dimension a density relative to sigma may be above every float.
        with np.errstate(over="ignore", under="ignore"):
            return np.exp(self.log_density(moments, diffusivity)[0])

    def log_density(
        self, moments: FloatArray, diffusivity: float
    ) -> tuple[FloatArray, FloatArray | None]:
        """Nodal values of log f = V - log<exp(V)>, and a*f / a_0 if normalised, shapes (q,)."""
        potential, partition = self._potential(moments, diffusivity)
        return potential - log_mean(potential, self.symmetry.log_weights), partition

    def free_energy(self, moments: FloatArray, diffusivity: float) -> float:
        """Free energy of a stationary state above the uniform one; NaN without a formula.

            F = D int f log f dsigma - (1/2) strength sum_{l >= 1} w_l |m_l|^2

        At a stationary state it is sum_j A_j m_j^2 / 2 - D log<exp(V)>: a residual r of the moments
        changes it by r^2 only, and the error is a few eps times sum_j A_j m_j^2. So the part that
        decides at a bifurcation, of order |m|^4, has digits down to |m| = 1e-4 or so.
        """
        if not self.problem.zonal.has_free_energy:
            return math.nan
        potential, _ = self._potential(moments, diffusivity)
        squares = self.coupling * moments**2
        # <V> = 0 and <V^2>/2 is a sum: log<exp(V)> = quadratic + rest.
        quadratic = 0.5 * float((self.coupling / diffusivity**2) @ squares)
        if np.abs(potential).max() < _WEAK:
            higher = float(self.symmetry.weights @ _exp_beyond_square(potential))
            if abs(quadratic + higher) < _LOG_SERIES_BELOW:
                rest = higher + float(np.polyval(_LOG_SERIES, quadratic + higher))
                shares = (diffusivity - self.coupling) / diffusivity
                return 0.5 * float(shares @ squares) - diffusivity * rest
        return float(
            0.5 * squares.sum() - diffusivity * log_mean(potential, self.symmetry.log_weights)
        )

    def rounding(self, moments: FloatArray, diffusivity: float) -> float:
        """Rounding of G(m): eps times the range of V, for SA times the mean of 1 / (a*f) over f.

        With beta < 0 that is up to e^{2 |beta|}: no digit is left of beta = -20.
        """
        potential, partition = self._potential(moments, diffusivity)
        magnified = 1.0 + float(np.ptp(potential))
        if partition is not None and self.exponent is not None:
            # a*f is a sum of terms as large as its largest value.
            steepness = abs(self.exponent) / diffusivity * float(partition.max())
            magnified += steepness * float(self._masses(potential) @ (1.0 / partition))
        return magnified * EPS

    def order_parameter(self, moments: FloatArray) -> float:
        """Length of the mean vector |int x dmu|: m_1 / sqrt(d) for axisymmetric states."""
        first = moments[self.symmetry.degrees == 1]
        return float(np.sqrt((first**2).sum() / (self.symmetry.dimension + 1)))

    def _potential(
        self, moments: FloatArray, diffusivity: float
    ) -> tuple[FloatArray, FloatArray | None]:
        """V at the nodes up to a constant, and a*f / a_0 if normalised."""
        field = self.symmetry.values @ (self.coupling * moments)
        if self.exponent is None:
            return field / diffusivity, None
        # c A_l = a_l / a_0.
        partition = floored(1.0 + field / self.exponent)
        return (self.exponent / diffusivity) * np.log(partition), partition

    def _masses(self, potential: FloatArray) -> FloatArray:
        """Mass of exp(V) / <exp(V)> at each node, sum 1."""
        exponents = potential + self.symmetry.log_weights
        with np.errstate(under="ignore"):
            masses = np.exp(exponents - exponents.max())
        return np.asarray(masses / masses.sum())


def _exp_beyond_square(x: FloatArray) -> FloatArray:
    """exp(x) - 1 - x - x^2/2 without cancellation."""
    series = np.polyval(_SERIES, np.clip(x, -_SERIES_BELOW, _SERIES_BELOW))
    return np.asarray(np.where(np.abs(x) < _SERIES_BELOW, series, np.expm1(x) - x - 0.5 * x * x))
