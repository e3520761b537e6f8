"""Stationary states as fixed points of a map on the moments.

A state of the noisy equation is stationary if v = D grad log f. The velocity is a gradient,

    USA, linear kernel   v = grad Phi,                Phi = strength * W*f,
    SA, exponential      v = grad log(a*f) / c,       c = beta / strength,

hence f = exp(V) / <exp(V)> with V = Phi / D or V = log(a*f) / (c D), <.> the mean over sigma.
V depends only on the moments m_l of f, so f is stationary if and only if m = G(m), where G are the
moments of the right-hand side.

States may have the symmetry of a regular polyhedron. The mean over a finite group of rotations
projects a field onto the invariant ones. The projection of a Dirac at y has the moments of the
orbit of y,

    m_lm = 1/|G| sum_{R in G} conj(Y_lm(R y)),

so the orbits of a few points span the invariants of every degree. Their number is the trace of the
projection (Weyl), 1/|G| sum_R sin((2 l + 1) a / 2) / sin(a / 2), with the angle a of R.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from meanfield.arrays import EPS, ComplexArray, FloatArray, IntArray
from meanfield.bases.coordinates import coordinates
from meanfield.bases.grid import Grid
from meanfield.engines.partition import floored
from meanfield.measures import Density
from meanfield.problem import Problem
from meanfield.spaces import Sphere
from meanfield.spaces.configurations import GOLDEN, invariants_by_degree, rotation_group
from meanfield.spectrum.stability import couplings
from meanfield.stationary.symmetry import Symmetry, degrees_of_width, log_mean, narrowest_width

# Below this exp(x) - 1 - x - x^2/2 loses digits, and its series to x^15 / 15! does not.
_SERIES_BELOW = 0.5
_SERIES = np.array([1.0 / math.factorial(k) for k in range(15, 2, -1)] + [0.0, 0.0, 0.0])
# If |V| is below this everywhere, f is near uniform, and small terms are summed separately.
_WEAK = 2.0
# Below this log(1 + y) - y uses its series: the next term is y^13 / 13.
_LOG_SERIES_BELOW = 0.04
_LOG_SERIES = np.array([(-1.0) ** (k + 1) / k for k in range(12, 1, -1)] + [0.0, 0.0])


@dataclass(frozen=True, eq=False)
class SelfConsistency:
    """The equation m = G(m) of stationary states with a symmetry; diffusivity is an argument.

    - symmetry: has all its degrees up to the kernel's.
    - coupling (n,): A_j = strength w_l / z, z = 1 or a_0: degree l is unstable if D < A_j.
    - exponent: 1 / c for normalised flows with the exponential kernel, None where V is linear.

    ValueError if the flow is normalised and its kernel is neither exponential nor linear, because
    its velocity is no gradient.

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
        # Symmetries have gaps between degrees; the next degree after one more gap would be missing.
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
        """Exact derivative of the residual with respect to the moments, shape (n, n).

        dG_j/dm_k = Cov_f(p_j, dV/dm_k),  dV/dm_k = A_k p_k / D, divided by a*f / a_0 if
        normalised. For USA all eigenvalues are positive at minima of the free energy.
        """
        values = self.symmetry.values
        potential, partition = self._potential(moments, diffusivity)
        masses = self._masses(potential)
        means = masses @ values
        # Subtract means before the product, because near a Dirac the covariance is small.
        if partition is None:
            root = np.sqrt(masses)[:, None] * (values - means)
            covariance = root.T @ root
        else:
            slopes = values / partition[:, None]
            covariance = (masses[:, None] * (values - means)).T @ (slopes - masses @ slopes)
        return np.asarray(np.eye(len(means)) - covariance * (self.coupling / diffusivity))

    def slope(self, moments: FloatArray, diffusivity: float) -> FloatArray:
        """Derivative of the residual with respect to D, Cov_f(p_j, V) / D, shape (n,)."""
        values = self.symmetry.values
        potential, _ = self._potential(moments, diffusivity)
        masses = self._masses(potential)
        centred = potential - masses @ potential
        return np.asarray((masses * centred) @ (values - masses @ values) / diffusivity)

    def density(self, moments: FloatArray, diffusivity: float) -> FloatArray:
        """Nodal values of exp(V) / <exp(V)>, relative to sigma, shape (q,)."""
        # In high dimension a density relative to sigma may overflow.
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

        At a stationary state it is sum_j A_j m_j^2 / 2 - D log<exp(V)>. A residual r of the moments
        changes it by r^2 only, and its error is a few eps times sum_j A_j m_j^2. So the part of
        order |m|^4, which decides at a bifurcation, has digits down to about |m| = 1e-4.
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

        For beta < 0 this mean is up to e^{2 |beta|}: at beta = -20 no digit is left.
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


# Degree of the grid relative to that of the basis, for broad densities.
_OVERSAMPLING = 2
# Number of orbits for each invariant of a degree; some are spare.
_ORBITS = 4
# Degrees of this relative size are rounding of exp(V); the largest measured one is 3e-14.
_EXPONENTIAL_NOISE = 1e-13
# Largest number of values of a basis: 0.3 GB.
_LARGEST = 4e7


@dataclass(frozen=True, eq=False)
class PolyhedralBasis:
    """Orthonormal harmonics with the symmetry of a polyhedron, by values and by coefficients."""

    symmetry: Symmetry  # values at the nodes of `grid`
    grid: Grid  # of the whole sphere
    # (n, count of coefficients): packed complex, one row per basis function.
    coefficients: ComplexArray

    def density(self, values: FloatArray) -> Density:
        """Density of mass 1 from nodal values, of the degree of the grid."""
        modal = self.grid.to_modal(np.ascontiguousarray(values))
        modal[0] = 1.0
        return Density(Sphere(), modal)


def polyhedral_basis(name: str, max_degree: int, grid_degree: int | None = None) -> PolyhedralBasis:
    """Orthonormal invariant harmonics of the rotation group of a polyhedron (order 12, 24 or 60).

    Vertices are the orbits of (1, 1, 1) for the tetrahedron, (0, 0, 1) for the octahedron and
    (0, 1, golden ratio) for the icosahedron. The groups contain no reflections. max_degree: of the
    basis; grid_degree: of the grid, which resolves densities, default 2 max_degree.
    """
    if grid_degree is None:
        grid_degree = _OVERSAMPLING * max_degree
    if grid_degree < max_degree:
        raise ValueError(
            f"grid_degree = {grid_degree} is below max_degree = {max_degree}: raise it."
        )
    degrees, rows = _invariants(name, max_degree)
    grid = Sphere().grid(grid_degree)
    values = np.stack([grid.to_nodal(row) for row in rows], axis=1)
    return PolyhedralBasis(Symmetry(name, 2, degrees, values, np.log(grid.weights)), grid, rows)


def polyhedral(name: str, max_degree: int) -> Symmetry:
    """Rotational symmetry of a regular polyhedron on the sphere, see `polyhedral_basis`.

    >>> polyhedral("tetrahedral", 8).degrees
    array([3, 4, 6, 6, 7, 8])
    """
    return polyhedral_basis(name, max_degree).symmetry


def stationary_polyhedral(
    name: str, problem: Problem, diffusivity: float, max_degree: int | None = None
) -> Symmetry:
    """Symmetry of a polyhedron up to a degree, default the kernel's, on a grid for all states."""
    if problem.zonal.dimension != 2:
        raise ValueError(f"{name} states live on the sphere, not on {problem.manifold.name}.")
    degree = max_degree or problem.zonal.degree
    # A grid of degree N integrates degree 3 N.
    widest = degrees_of_width(narrowest_width(problem, diffusivity))
    resolved = _OVERSAMPLING * degree + math.ceil(widest / 3.0)
    # A grid has (3 N / 2)(3 N) nodes; at most 1/12 of the (degree + 1)^2 harmonics are invariant.
    if resolved**2 * 4.5 * degree**2 / 12.0 > _LARGEST:
        raise ValueError(
            f"diffusivity = {diffusivity:g} makes {name} states too sharp for a grid that fits in "
            "memory: raise it."
        )
    return polyhedral_basis(name, degree, resolved).symmetry


def polyhedral_density(
    equation: SelfConsistency, moments: FloatArray, diffusivity: float
) -> Density:
    """Density exp(V) / <exp(V)> of a polyhedral state, on a sufficiently fine grid."""
    symmetry = equation.symmetry
    max_degree = int(symmetry.degrees[-1])
    grid_degree = _OVERSAMPLING * max_degree
    while True:
        basis = polyhedral_basis(symmetry.name, max_degree, grid_degree)
        finer = SelfConsistency(equation.problem, basis.symmetry)
        density = basis.density(finer.density(moments, diffusivity))
        sizes = Sphere().sizes_by_degree(density.coefficients)
        carried = int(np.flatnonzero(sizes > _EXPONENTIAL_NOISE * sizes.max())[-1])
        if carried < 0.9 * grid_degree:
            return Density(Sphere(), density.moments(carried))
        grid_degree += grid_degree // 2
        if 4.5 * grid_degree**2 * len(symmetry.degrees) > _LARGEST:
            raise ValueError(
                f"the density needs a grid finer than degree {basis.grid.max_degree}: it is too "
                "sharp. Raise the diffusivity."
            )


@lru_cache(maxsize=8)
def _invariants(name: str, max_degree: int) -> tuple[IntArray, ComplexArray]:
    """Degrees and packed coefficients of the invariant harmonics, orthonormal."""
    rotations = rotation_group(name)
    counts = invariants_by_degree(rotations, max_degree)
    if not counts[1:].any():
        raise ValueError(
            f"no {name} harmonic has a degree from 1 to max_degree = {max_degree}: raise it."
        )
    space, numbers = Sphere(), coordinates(2, max_degree)
    starts = spiral(_ORBITS * int(counts[1:].max()))
    orbits = np.einsum("rij,nj->nri", rotations, starts)
    moments = np.array(
        [numbers.to_vector(space.moments(orbit, None, max_degree)) for orbit in orbits]
    )
    rows = []
    for l in np.flatnonzero(counts[1:]) + 1:
        own = np.flatnonzero(numbers.vector_degrees == l)
        for direction in np.linalg.svd(moments[:, own])[2][: counts[l]]:
            vector = np.zeros(numbers.size)
            vector[own] = direction * np.sign(direction[np.abs(direction).argmax()])
            rows.append(numbers.to_coefficients(vector))
    degrees = np.repeat(np.arange(1, max_degree + 1), counts[1:])
    return degrees, np.array(rows)


def spiral(count: int) -> FloatArray:
    """Points along a spiral on the sphere, without a symmetry, shape (count, 3)."""
    height = 1.0 - (2.0 * np.arange(count) + 0.7) / count
    turn = 2.0 * np.pi * np.arange(count) / GOLDEN + 0.3
    radius = np.sqrt(1.0 - height**2)
    return np.stack([radius * np.cos(turn), radius * np.sin(turn), height], axis=1)
