"""Stationary states of a noisy problem: their moments, density, free energy and stability."""

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
from meanfield.spaces.manifold import Manifold
from meanfield.spaces.polyhedra import POLYHEDRA
from meanfield.stationary.linearised import leading_growth_rates
from meanfield.stationary.newton import from_guess, most_ordered, residual_size
from meanfield.stationary.polyhedral import polyhedral_density, stationary_polyhedral
from meanfield.stationary.resolution import density_degree, narrowest_width, stationary_symmetry
from meanfield.stationary.self_consistency import SelfConsistency
from meanfield.stationary.stability import GrowthRate, stationary_growth_rates
from meanfield.stationary.symmetry import Symmetry, axisymmetric

# Coefficients this small, relative to those of a Dirac, are rounding.
_NOISE = 2.0 * EPS
# Rates above this share of the coupling grow; the rotation of an ordered state has the rate 0.
_NEUTRAL = 1e-9


@dataclass(frozen=True, eq=False)
class StationaryState:
    """A stationary state of a problem with diffusivity.

    Attributes
    ----------
    problem : Problem
        With its diffusivity.
    symmetry : Symmetry
    moments : ndarray, shape (n,)
        int p_j dmu in the basis of the symmetry. On the circle m_l = sqrt(2) Re c_l.
    """

    problem: Problem
    symmetry: Symmetry
    moments: FloatArray

    @property
    def diffusivity(self) -> float:
        """Diffusivity of the problem."""
        return self.problem.zonal.diffusivity

    @cached_property
    def equation(self) -> SelfConsistency:
        """Equation that the moments solve."""
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
        """Free energy above that of uniform; None where none is known."""
        if not self.problem.zonal.has_free_energy:
            return None
        return self.equation.free_energy(self.moments, self.diffusivity)

    @property
    def nodal_density(self) -> FloatArray:
        """Density relative to sigma at the nodes of the symmetry, shape (q,), on every sphere."""
        return self.equation.density(self.moments, self.diffusivity)

    def density(self) -> Density:
        """Density on the circle or the sphere, all digits; an axis goes through the origin.

        ValueError if the state lives on another sphere, or is too sharp.
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
        # Relative to those of a Dirac; what the top eighth of the degrees holds is rounding.
        shares = moments / wide.dirac
        sizes = np.abs(shares)
        noise = max(_NOISE, 2.0 * float(sizes[-(len(moments) // 8 + 1) :].max()))
        carried = np.flatnonzero(sizes > noise)
        last = int(carried[-1]) + 1 if len(carried) else 1
        return _axial_density(space, wide.degrees[:last], shares[:last])

    def growth_rates(self, count: int = 6, max_degree: int | None = None) -> list[GrowthRate]:
        """Leading growth rates of small perturbations, whatever their symmetry.

        By order for axisymmetric states (`stationary_growth_rates`); one by one, without an order,
        for others (`leading_growth_rates`, with its `max_degree`).
        """
        if not self.symmetry.is_axisymmetric:
            rates = leading_growth_rates(self.problem, self.density(), count, max_degree)
            return [GrowthRate(None, float(rate.real), float(rate.imag)) for rate in rates]
        return stationary_growth_rates(self.equation, self.moments, self.diffusivity, count)

    @cached_property
    def is_stable(self) -> bool:
        """True if no small perturbation grows; rotations of an ordered state are neutral.

        Judged against all perturbations, with or without the symmetry.
        """
        size = max(self.diffusivity, float(np.abs(self.equation.coupling).max()))
        return all(rate.rate <= _NEUTRAL * size for rate in self.growth_rates(1))

    def _repr_html_(self) -> str:
        """Table for notebooks."""
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
        With diffusivity > 0, on any sphere; the flow normalised with the exponential or linear
        kernel, or not normalised with any.
    symmetry : Symmetry, str or int
        "axisymmetric"; "3-fold" or 3 for the fold of states on the circle (above it 2: even
        states); "tetrahedral", "octahedral", "icosahedral" on the sphere; or a `Symmetry`. Names
        find a quadrature that resolves the state.
    guess : array_like, shape (k,), k <= n, optional
        Moments from which Newton's method starts, filled up with zeros. Zeros return uniform.

    Returns
    -------
    StationaryState
        With a residual at rounding.

    Raises
    ------
    ValueError
        If the diffusivity is 0, the symmetry not known, or there is no ordered state: uniform,
        which is always stationary, is never returned unless asked for.
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
    # Threads waiting for each other take longer than matrices of this size.
    with one_blas_thread():
        if guess is None:
            moments = most_ordered(equation, diffusivity)
        else:
            moments = from_guess(equation, diffusivity, np.asarray(guess, dtype=np.float64))
    return StationaryState(problem, symmetry, moments)


def _fold(symmetry: str | int) -> int:
    """Fold of a symmetry given by name or number."""
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
    """The symmetry itself, or with more nodes where too few for the states of the problem."""
    if symmetry.dimension != problem.zonal.dimension:
        return symmetry  # refused with the equation
    diffusivity, degree = problem.zonal.diffusivity, int(symmetry.degrees[-1])
    if symmetry.name in POLYHEDRA:
        finer = stationary_polyhedral(symmetry.name, problem, diffusivity, degree)
    elif symmetry.is_axisymmetric:
        finer = stationary_symmetry(problem, diffusivity, int(symmetry.degrees[0]), degree)
    else:
        return symmetry  # no rule here refines this kind
    return finer if len(finer.log_weights) > len(symmetry.log_weights) else symmetry


def _axial_density(space: Manifold, degrees: IntArray, shares: FloatArray) -> Density:
    """Density whose moments of some degrees are these shares of a Dirac's at the origin."""
    series = np.zeros(int(degrees[-1]) + 1)
    series[0], series[degrees] = 1.0, shares
    dirac = space.moments(space.check_points(np.array([space.origin])), None, len(series) - 1)
    return Density(space, space.convolve(series, dirac))
