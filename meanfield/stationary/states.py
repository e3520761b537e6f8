"""Stationary states of a noisy problem: their moments, density, free energy and stability.

Below the saddle node the fixed-point iteration m -> G(m) reaches the ordered state from the most
concentrated state of the symmetry. Newton's method replaces it as soon as it finds a state that the
iteration would keep, because the iteration is slow near a bifurcation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from meanfield.arguments import checked
from meanfield.arrays import EPS, FloatArray, IntArray
from meanfield.engines.threads import one_blas_thread
from meanfield.measures import Density
from meanfield.names import VIEWS
from meanfield.problem import Problem
from meanfield.spaces.configurations import POLYHEDRA
from meanfield.spaces.manifold import Manifold
from meanfield.stationary.self_consistency import (
    SelfConsistency,
    polyhedral_density,
    stationary_polyhedral,
)
from meanfield.stationary.stability import GrowthRate, leading_growth_rates, stationary_growth_rates
from meanfield.stationary.symmetry import (
    Symmetry,
    axisymmetric,
    density_degree,
    narrowest_width,
    stationary_symmetry,
)

# Coefficients this small, relative to those of a Dirac, are rounding.
_NOISE = 2.0 * EPS
# Perturbations grow if the rate is above this share of the coupling; rotations have the rate 0.
_NEUTRAL = 1e-9


@dataclass(frozen=True, eq=False)
class StationaryState:
    """A stationary state of a problem with diffusivity.

    Attributes
    ----------
    problem : Problem
    symmetry : Symmetry
    moments : ndarray, shape (n,)
        int p_j dmu in the basis of the symmetry. On the circle m_l = sqrt(2) Re c_l.
    """

    problem: Problem
    symmetry: Symmetry
    moments: FloatArray

    @property
    def diffusivity(self) -> float:
        return self.problem.zonal.diffusivity

    @cached_property
    def equation(self) -> SelfConsistency:
        return SelfConsistency(self.problem, self.symmetry)

    @property
    def residual(self) -> float:
        """Largest |m - G(m)| / (1 + |m|)."""
        return residual_size(self.equation, self.moments, self.diffusivity)

    @property
    def order_parameter(self) -> float:
        """Length of the mean vector |int x dmu|."""
        return self.equation.order_parameter(self.moments)

    @property
    def free_energy(self) -> float | None:
        """Free energy above that of uniform; None if none is known."""
        if not self.problem.zonal.has_free_energy:
            return None
        return self.equation.free_energy(self.moments, self.diffusivity)

    @property
    def nodal_density(self) -> FloatArray:
        """Density relative to sigma at the nodes of the symmetry, shape (q,)."""
        return self.equation.density(self.moments, self.diffusivity)

    def density(self) -> Density:
        """Density on the circle or the sphere, exact to rounding; an axis goes through the origin.

        ValueError on other spheres, or if the state is too sharp.
        """
        if not self.symmetry.is_axisymmetric:
            return polyhedral_density(self.equation, self.moments, self.diffusivity)
        space = self.problem.manifold
        if not space.has_series:
            raise ValueError(
                f"{space.name} has no harmonics: density() is that on the circle or the sphere."
            )
        fold, own = int(self.symmetry.degrees[0]), int(self.symmetry.degrees[-1])
        degree = density_degree(own, narrowest_width(self.problem, self.diffusivity))
        wide = axisymmetric(
            self.symmetry.dimension, min(degree, space.largest_degree), fold=fold, nodes=2 * degree
        )
        padded = np.zeros(len(wide.degrees))
        padded[: len(self.moments)] = self.moments
        with one_blas_thread():
            moments = SelfConsistency(self.problem, wide).image(padded, self.diffusivity)
        # Relative to moments of a Dirac; the top eighth of the degrees is rounding.
        shares = moments / wide.dirac
        sizes = np.abs(shares)
        noise = max(_NOISE, 2.0 * float(sizes[-(len(moments) // 8 + 1) :].max()))
        carried = np.flatnonzero(sizes > noise)
        last = int(carried[-1]) + 1 if len(carried) else 1
        return _axial_density(space, wide.degrees[:last], shares[:last])

    def growth_rates(self, count: int = 6, max_degree: int | None = None) -> list[GrowthRate]:
        """Leading growth rates of small perturbations of any symmetry.

        For axisymmetric states by order (`stationary_growth_rates`); for others without an order
        (`leading_growth_rates`, which takes `max_degree`).
        """
        if not self.symmetry.is_axisymmetric:
            rates = leading_growth_rates(self.problem, self.density(), count, max_degree)
            return [GrowthRate(None, float(rate.real), float(rate.imag)) for rate in rates]
        return stationary_growth_rates(self.equation, self.moments, self.diffusivity, count)

    @cached_property
    def is_stable(self) -> bool:
        """True if no small perturbation grows, also without the symmetry; rotations are neutral."""
        size = max(self.diffusivity, float(np.abs(self.equation.coupling).max()))
        return all(rate.rate <= _NEUTRAL * size for rate in self.growth_rates(1))

    def _repr_html_(self) -> str:
        return str(VIEWS["StationaryState.html"](self))

    def __repr__(self) -> str:
        return (
            f"StationaryState({self.problem!r}, {self.symmetry.name}, "
            f"order_parameter={self.order_parameter:.6g})"
        )


@checked
def stationary_state(
    problem: Problem,
    symmetry: Symmetry | str | int = "axisymmetric",
    guess: FloatArray | None = None,
) -> StationaryState:
    """Stationary state of a problem with diffusivity: the most ordered one, or near a guess.

    Parameters
    ----------
    problem : Problem
        With diffusivity > 0, on any sphere. A normalised flow needs the exponential or linear
        kernel.
    symmetry : Symmetry, str or int
        "axisymmetric"; "3-fold" or 3 for 3-fold states on the circle (on spheres 2: even states);
        "tetrahedral", "octahedral", "icosahedral" on the sphere; or a `Symmetry`. Names choose a
        quadrature that resolves the state.
    guess : array_like, shape (k,), k <= n, optional
        Moments from which Newton's method starts, filled with zeros. Zeros return uniform.

    Returns
    -------
    StationaryState
        With a residual at rounding.

    Raises
    ------
    ValueError
        If the diffusivity is 0, the symmetry is not known, or there is no ordered state. Uniform is
        always stationary, and returned only for a guess of zeros.
    RuntimeError
        If Newton's method does not converge from the guess.

    Examples
    --------
    Kuramoto with noise: r = I_1(r / D) / I_0(r / D).

    >>> import meanfield as mf
    >>> from scipy.special import ive
    >>> kuramoto = mf.Problem(mf.Circle(), mf.linear(), mf.Flow("none", diffusivity=0.4))
    >>> r = stationary_state(kuramoto).order_parameter
    >>> bool(abs(r - ive(1, r / 0.4) / ive(0, r / 0.4)) < 1e-14)
    True
    """
    problem.check_one_stage()
    diffusivity = problem.zonal.diffusivity
    if not diffusivity > 0:
        raise ValueError(f"stationary states need a diffusivity above 0, got {diffusivity}.")
    if symmetry in POLYHEDRA:
        symmetry = stationary_polyhedral(str(symmetry), problem, diffusivity)
    elif not isinstance(symmetry, Symmetry):
        symmetry = stationary_symmetry(problem, diffusivity, _fold(symmetry))
    else:
        symmetry = _resolving(problem, symmetry)
    equation = SelfConsistency(problem, symmetry)
    # Matrices of this size are too small for several threads.
    with one_blas_thread():
        if guess is None:
            moments = most_ordered(equation, diffusivity)
        else:
            moments = from_guess(equation, diffusivity, np.asarray(guess, dtype=np.float64))
    return StationaryState(problem, symmetry, moments)


def _fold(symmetry: str | int) -> int:
    if symmetry == "axisymmetric":
        return 1
    text = str(symmetry).removesuffix("-fold")
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(
            f"symmetry {symmetry!r} is not known: take 'axisymmetric', a fold like '3-fold' or 3, "
            f"one of {', '.join(POLYHEDRA)}, or a Symmetry."
        )
    return int(text)


def _resolving(problem: Problem, symmetry: Symmetry) -> Symmetry:
    """The symmetry, with more nodes if it has too few for the states of the problem."""
    if symmetry.dimension != problem.zonal.dimension:
        return symmetry  # SelfConsistency refuses it
    diffusivity, degree = problem.zonal.diffusivity, int(symmetry.degrees[-1])
    if symmetry.name in POLYHEDRA:
        finer = stationary_polyhedral(symmetry.name, problem, diffusivity, degree)
    elif symmetry.is_axisymmetric:
        finer = stationary_symmetry(problem, diffusivity, int(symmetry.degrees[0]), degree)
    else:
        return symmetry  # no rule to refine it
    return finer if len(finer.log_weights) > len(symmetry.log_weights) else symmetry


def _axial_density(space: Manifold, degrees: IntArray, shares: FloatArray) -> Density:
    """Density with moments of some degrees, as shares of the moments of a Dirac at the origin."""
    series = np.zeros(int(degrees[-1]) + 1)
    series[0], series[degrees] = 1.0, shares
    dirac = space.moments(space.check_points(np.array([space.origin])), None, len(series) - 1)
    return Density(space, space.convolve(series, dirac))


# Fixed-point steps before the first attempt of Newton's method, enough far from a bifurcation; the
# number doubles before each further attempt, to 80,000 in all.
_STEPS = 20
_ATTEMPTS = 12
# Near uniform the residual is cubic in the moments, so smaller moments count as uniform.
_UNIFORM = 3e-5
# Larger eigenvalues of the Jacobian are positive up to rounding.
_SMALLEST_EIGENVALUE = -1e-7
# Far from a state many steps are damped; near it five are enough.
_NEWTON_STEPS = 40
# If a step of 1/32 does not reduce the residual, it is rounding, or a minimum.
_HALVINGS = 6
# Residual of a state in units of the rounding of one value, a sum of some hundred terms.
_ROUNDED_TERMS = 32.0
# A state with a larger residual would have too few digits. `_LOST` is the same for the bound of the
# rounding, which is some 40 times the actual rounding.
_LARGEST_RESIDUAL = 1e-7
_LOST = 4e-6


def residual_size(equation: SelfConsistency, moments: FloatArray, diffusivity: float) -> float:
    """Largest |m - G(m)| / (1 + |m|)."""
    residual = equation.residual(moments, diffusivity)
    return float((np.abs(residual) / (1.0 + np.abs(moments))).max())


def newton(equation: SelfConsistency, moments: FloatArray, diffusivity: float) -> FloatArray | None:
    """Solution of m = G(m) by damped Newton from given moments; None if it does not converge."""
    reached = residual_size(equation, moments, diffusivity)
    for _ in range(_NEWTON_STEPS):
        residual = equation.residual(moments, diffusivity)
        try:
            step = np.linalg.solve(equation.jacobian(moments, diffusivity), residual)
        except np.linalg.LinAlgError:
            return None
        for halving in range(_HALVINGS):
            trial = moments - 0.5**halving * step
            size = residual_size(equation, trial, diffusivity)
            if size < reached:
                break
        if not size < reached:
            break
        moments, reached = trial, size
    rounding = _ROUNDED_TERMS * equation.rounding(moments, diffusivity)
    return moments if reached <= min(rounding, _LARGEST_RESIDUAL) else None


def most_ordered(equation: SelfConsistency, diffusivity: float) -> FloatArray:
    """Limit of the fixed-point iteration from a Dirac, or from its copies under the symmetry."""
    values = equation.symmetry.values
    # The node whose orbit has the largest energy; among equal ones the one nearest the pole.
    energy = values**2 @ equation.coupling
    best = np.flatnonzero(energy >= energy.max() - 1e-9 * abs(energy.max()))
    moments = values[best[np.argmax(values[best, 0])]]
    for attempt in range(_ATTEMPTS):
        for _ in range(_STEPS * 2**attempt):
            moments = equation.image(moments, diffusivity)
        solution = newton(equation, moments, diffusivity)
        if solution is not None and not _is_uniform(solution):
            eigenvalues = np.linalg.eigvals(equation.jacobian(solution, diffusivity))
            if eigenvalues.real.min() > _SMALLEST_EIGENVALUE and solution @ moments > 0:
                return solution
        if _is_uniform(moments) or equation.rounding(moments, diffusivity) > _LOST:
            break
    raise _no_ordered_state(equation, moments, diffusivity)


def from_guess(equation: SelfConsistency, diffusivity: float, guess: FloatArray) -> FloatArray:
    """State to which Newton's method converges from given moments."""
    moments = padded_guess(guess, len(equation.symmetry.degrees))
    if not moments.any():
        return moments
    solution = newton(equation, moments, diffusivity)
    if solution is None:
        raise RuntimeError(
            f"Newton's method found no stationary state at diffusivity = {diffusivity:g} from "
            "this guess: give a closer one, or none."
        )
    if _is_uniform(solution):
        raise ValueError(
            f"Newton's method fell to uniform at diffusivity = {diffusivity:g} from this guess: "
            "give one nearer to an ordered state, or none."
        )
    return solution


def padded_guess(guess: FloatArray, count: int) -> FloatArray:
    """Given moments filled with zeros, shape (count,)."""
    if guess.ndim != 1 or len(guess) > count:
        raise ValueError(f"guess has shape {guess.shape}, expected at most ({count},).")
    if not np.all(np.isfinite(guess)):
        raise ValueError(f"guess must hold finite moments, got {guess.tolist()}.")
    return np.pad(guess, (0, count - len(guess)))


def _no_ordered_state(
    equation: SelfConsistency, moments: FloatArray, diffusivity: float
) -> ValueError:
    """Error without an ordered state: reason and remedy."""
    critical = max(0.0, float(equation.coupling.max()))
    message = f"no ordered {equation.symmetry.name} state found at diffusivity = {diffusivity:g}"
    if equation.rounding(moments, diffusivity) > _LOST:
        beta = equation.problem.zonal.kernel.beta
        return ValueError(
            f"{message}: at beta = {beta:g} attention is so weak where the density is that its "
            "digits are lost. Take a beta nearer to 0."
        )
    if diffusivity < critical:
        return ValueError(
            f"{message}, though uniform is unstable below {critical:g}: pass a guess near it."
        )
    return ValueError(
        f"{message} (critical: {critical:g}; "
        "order lasts to the saddle node, see phase_point): lower "
        "it, or pass guess = [0.0] for the uniform state."
    )


def _is_uniform(moments: FloatArray) -> bool:
    return bool(np.abs(moments).max() < _UNIFORM)
