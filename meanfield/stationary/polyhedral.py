"""Fields on the sphere with the symmetry of a regular polyhedron.

The projection of a field onto those invariant under a finite group of rotations is its mean over
the group. That of a Dirac at y has the moments of the orbit of y,

    m_lm = 1/|G| sum_{R in G} conj(Y_lm(R y)),

so that the orbits of a few points span the invariants of every degree. How many there are says
the trace of the projection (Weyl), 1/|G| sum_R sin((2 l + 1) a / 2) / sin(a / 2), a the angle of R.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from meanfield.arrays import ComplexArray, FloatArray, IntArray
from meanfield.bases.coordinates import coordinates
from meanfield.bases.grid import Grid
from meanfield.measures import Density
from meanfield.problem import Problem
from meanfield.spaces import Sphere
from meanfield.spaces.polyhedra import GOLDEN, invariants_by_degree, rotation_group
from meanfield.stationary.resolution import degrees_of_width, narrowest_width
from meanfield.stationary.self_consistency import SelfConsistency
from meanfield.stationary.symmetry import Symmetry

# Broad densities are resolved by this many times the degree of the basis.
_OVERSAMPLING = 2
# Orbits for each invariant of a degree: random directions span well, with some to spare.
_ORBITS = 4
# Degrees this small, relative to the largest, are rounding of exp(V): up to 3e-14 was measured.
_EXPONENTIAL_NOISE = 1e-13
# Values of a basis that take 0.3 GB.
_LARGEST = 4e7


@dataclass(frozen=True, eq=False)
class PolyhedralBasis:
    """Orthonormal harmonics with the symmetry of a polyhedron, by values and by coefficients."""

    symmetry: Symmetry  # their values at the nodes of `grid`
    grid: Grid  # A grid on the whole sphere
    # (n, count of coefficients): packed complex, one row for each basis function.
    coefficients: ComplexArray

    def density(self, values: FloatArray) -> Density:
        """Density of nodal values with mass 1, of the degree of the grid."""
        modal = self.grid.to_modal(np.ascontiguousarray(values))
        modal[0] = 1.0
        return Density(Sphere(), modal)


def polyhedral_basis(name: str, max_degree: int, grid_degree: int | None = None) -> PolyhedralBasis:
    """Orthonormal invariant harmonics of a rotation group (12, 24 or 60) of a polyhedron.

    Vertices: (1, 1, 1) of the tetrahedron, (0, 0, 1) of the octahedron, (0, 1, golden ratio) of the
    icosahedron, and where the group takes them. Reflections are not in the groups. max_degree: of
    the basis; grid_degree: of the grid, to which densities are resolved, default 2 max_degree.
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
    """Symmetry of a regular polyhedron on the sphere, by its rotations, see `polyhedral_basis`.

    >>> polyhedral("tetrahedral", 8).degrees
    array([3, 4, 6, 6, 7, 8])
    """
    return polyhedral_basis(name, max_degree).symmetry


def stationary_polyhedral(
    name: str, problem: Problem, diffusivity: float, max_degree: int | None = None
) -> Symmetry:
    """Symmetry of a polyhedron, up to a degree or the kernel's, on a grid for all states."""
    if problem.zonal.dimension != 2:
        raise ValueError(f"{name} states live on the sphere, not on {problem.manifold.name}.")
    degree = max_degree or problem.zonal.degree
    # A grid of degree N integrates degree 3 N.
    widest = degrees_of_width(narrowest_width(problem, diffusivity))
    resolved = _OVERSAMPLING * degree + math.ceil(widest / 3.0)
    # Nodes of a grid: (3 N / 2)(3 N). Of the (degree + 1)^2 harmonics a 12th or less is invariant.
    if resolved**2 * 4.5 * degree**2 / 12.0 > _LARGEST:
        raise ValueError(
            f"diffusivity = {diffusivity:g} makes {name} states too sharp for a grid that fits in "
            "memory: raise it."
        )
    return polyhedral_basis(name, degree, resolved).symmetry


def polyhedral_density(
    equation: SelfConsistency, moments: FloatArray, diffusivity: float
) -> Density:
    """Density exp(V) / <exp(V)> of a state with the symmetry, on grids as fine as it needs."""
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
    """Points spread over the sphere along a spiral, none with a symmetry, shape (count, 3)."""
    height = 1.0 - (2.0 * np.arange(count) + 0.7) / count
    turn = 2.0 * np.pi * np.arange(count) / GOLDEN + 0.3
    radius = np.sqrt(1.0 - height**2)
    return np.stack([radius * np.cos(turn), radius * np.sin(turn), height], axis=1)
