"""Fields on the sphere with the symmetry of a regular polyhedron.

The projection of a field onto those invariant under a finite group of rotations is its mean over
the group. That of a Dirac at y has the moments of the orbit of y,

    m_lm = 1/|G| sum_{R in G} conj(Y_lm(R y)),

so that the orbits of a few points span the invariants of every degree. How many there are says
the trace of the projection (Weyl), 1/|G| sum_R sin((2 l + 1) a / 2) / sin(a / 2), a the angle of R.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from meanfield.arrays import ComplexArray, FloatArray, IntArray
from meanfield.manifolds import Sphere
from meanfield.manifolds.manifold import Grid
from meanfield.measures import Density, Measure
from meanfield.stationary.coordinates import coordinates
from meanfield.stationary.self_consistency import SelfConsistency
from meanfield.stationary.states import StationaryState
from meanfield.stationary.symmetry import Symmetry

_GOLDEN = (1.0 + np.sqrt(5.0)) / 2.0
_CYCLE = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
# A half turn, a quarter turn about the third axis, a fifth about a vertex (0, 1, golden ratio);
# with the cycle of the axes, a third of a turn, each generates its group.
_OTHER = {
    "tetrahedral": [[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]],
    "octahedral": [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
    "icosahedral": [
        [0.5 / _GOLDEN, -0.5 * _GOLDEN, 0.5],
        [0.5 * _GOLDEN, 0.5, 0.5 / _GOLDEN],
        [-0.5, 0.5 / _GOLDEN, 0.5 * _GOLDEN],
    ],
}
_VERTEX = {
    "tetrahedral": [1.0, 1.0, 1.0],
    "octahedral": [0.0, 0.0, 1.0],
    "icosahedral": [0.0, 1.0, _GOLDEN],
}
# Nodes resolve densities of this many times the degree of the basis.
_OVERSAMPLING = 2
# Orbits for each invariant of a degree: random directions span well, with some to spare.
_ORBITS = 4
_SAME = 1e-9
# Degrees this small, relative to the largest, are rounding of exp(V): up to 3e-14 was measured.
_ROUNDING = 1e-13
# Values of a basis that take 0.3 GB.
_LARGEST = 4e7


@dataclass(frozen=True, eq=False)
class PolyhedralBasis:
    """Orthonormal harmonics with the symmetry of a polyhedron, by values and by coefficients.

    Attributes
    ----------
    symmetry : Symmetry
        Derived. Their values at the nodes of `grid`.
    grid : Grid
        Given. A grid on the whole sphere.
    coefficients : ndarray, shape (n, count of coefficients)
        Given. Packed complex, one row for each basis function.
    """

    symmetry: Symmetry
    grid: Grid
    coefficients: ComplexArray

    def moments(self, measure: Measure | Density) -> FloatArray:
        """Moments int p_j dmu of a measure, shape (n,); what has not the symmetry is lost."""
        space = Sphere()
        modal = measure.moments(space.degree_of(self.coefficients[0]))
        return np.array([space.inner(row, modal) for row in self.coefficients])

    def density(self, values: FloatArray) -> Density:
        """Density of nodal values with mass 1, such as `SelfConsistency.density` gives.

        It has the degree of the grid, which may not be enough: see `polyhedral_density`.
        """
        modal = self.grid.to_modal(np.ascontiguousarray(values))
        modal[0] = 1.0
        return Density(Sphere(), modal)


def polyhedral_basis(name: str, max_degree: int, grid_degree: int | None = None) -> PolyhedralBasis:
    """Orthonormal invariant harmonics of a rotation group of a polyhedron.

    Vertices: (1, 1, 1) of the tetrahedron, (0, 0, 1) of the octahedron, (0, 1, golden ratio) of the
    icosahedron, and where the group takes them. Reflections are not in the groups. Where a degree
    has several functions, any rotation of them would do as well; the signs are arbitrary.

    Parameters
    ----------
    name : "tetrahedral", "octahedral" or "icosahedral"
        Groups of 12, 24 and 60 rotations.
    max_degree : int
        Largest degree of the basis; the kernel's for stationary states.
    grid_degree : int, optional
        Degree of the grid, to which densities are resolved; default 2 max_degree.

    Returns
    -------
    PolyhedralBasis

    Raises
    ------
    ValueError
        If the name is not known, max_degree is below the first invariant, or grid_degree below
        max_degree.

    Examples
    --------
    >>> polyhedral_basis("icosahedral", 16).symmetry.degrees
    array([ 6, 10, 12, 15, 16])
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
    return PolyhedralBasis(Symmetry(name, 2, degrees, values, grid.weights), grid, rows)


def polyhedral(name: str, max_degree: int) -> Symmetry:
    """Symmetry of a regular polyhedron on the sphere, by the group of its rotations.

    Parameters, errors and the orientation are those of `polyhedral_basis`, which also makes
    densities.

    Examples
    --------
    >>> polyhedral("tetrahedral", 8).degrees
    array([3, 4, 6, 6, 7, 8])
    """
    return polyhedral_basis(name, max_degree).symmetry


def polyhedral_density(state: StationaryState) -> Density:
    """Density of a state with the symmetry of a polyhedron, with all its digits.

    The moments of a state stop at the kernel's degree; the density exp(V) / <exp(V)> goes on. It
    is taken on finer grids until its highest degrees are rounding.

    Raises
    ------
    ValueError
        If the state has another symmetry, or is too sharp for a grid that fits in memory.

    Examples
    --------
    >>> import meanfield as mf
    >>> from meanfield.stationary.states import stationary_state
    >>> flow = mf.Flow(diffusivity=0.02)
    >>> problem = mf.Problem(mf.Sphere(), mf.exponential(beta=4.0), flow)
    >>> symmetry = polyhedral("tetrahedral", problem.kernel_degree)
    >>> polyhedral_density(stationary_state(problem, symmetry, [0.0]))  # uniform
    Density(degree 0 on the sphere)
    """
    symmetry = state.symmetry
    max_degree = int(symmetry.degrees[-1])
    rotation_group(symmetry.name)
    grid_degree = _OVERSAMPLING * max_degree
    while True:
        basis = polyhedral_basis(symmetry.name, max_degree, grid_degree)
        equation = SelfConsistency(state.problem, basis.symmetry)
        density = basis.density(equation.density(state.moments, state.diffusivity))
        sizes = Sphere().sizes_by_degree(density.coefficients)
        carried = int(np.flatnonzero(sizes > _ROUNDING * sizes.max())[-1])
        if carried < 0.9 * grid_degree:
            return Density(Sphere(), density.moments(carried))
        grid_degree += grid_degree // 2
        # Nodes of a grid: (3 N / 2)(3 N).
        if 4.5 * grid_degree**2 * len(symmetry.degrees) > _LARGEST:
            raise ValueError(
                f"the density needs a grid finer than degree {basis.grid.max_degree}: it is too "
                "sharp. Raise the diffusivity."
            )


def vertices(name: str) -> FloatArray:
    """Vertices of the polyhedron: 4, 6 or 12 unit vectors, shape (n, 3).

    Examples
    --------
    >>> [len(vertices(name)) for name in ("tetrahedral", "octahedral", "icosahedral")]
    [4, 6, 12]
    """
    rotations = rotation_group(name)
    first = np.array(_VERTEX[name]) / np.linalg.norm(_VERTEX[name])
    return _distinct(rotations @ first)


@lru_cache(maxsize=4)
def rotation_group(name: str) -> FloatArray:
    """All rotations of a regular polyhedron as matrices, shape (12, 24 or 60, 3, 3).

    Raises
    ------
    ValueError
        If the name is not known.
    """
    if name not in _OTHER:
        raise ValueError(f"symmetry {name!r} is not known. Known: {', '.join(_OTHER)}.")
    generators = np.array([_CYCLE, _OTHER[name]])
    group = np.eye(3)[None]
    while True:
        products = np.einsum("gij,hjk->ghik", generators, group).reshape(-1, 3, 3)
        larger = _distinct(np.concatenate([group, products]))
        if len(larger) == len(group):
            return group
        group = larger


def invariants_by_degree(rotations: FloatArray, max_degree: int) -> IntArray:
    """Number of independent invariant harmonics of each degree, shape (max_degree + 1,).

    Examples
    --------
    >>> invariants_by_degree(rotation_group("octahedral"), 9)
    array([1, 0, 0, 0, 1, 0, 1, 0, 1, 1])
    """
    cosine = np.clip((np.trace(rotations, axis1=1, axis2=2) - 1.0) / 2.0, -1.0, 1.0)
    angles = np.arccos(cosine)
    # sin((2 l + 1) a / 2) / sin(a / 2) = 1 + 2 sum_{m <= l} cos m a
    cosines = np.cos(np.outer(np.arange(1, max_degree + 1), angles)).mean(axis=1)
    return np.rint(1.0 + 2.0 * np.concatenate([[0.0], np.cumsum(cosines)])).astype(np.int64)


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
    turn = 2.0 * np.pi * np.arange(count) / _GOLDEN + 0.3
    radius = np.sqrt(1.0 - height**2)
    return np.stack([radius * np.cos(turn), radius * np.sin(turn), height], axis=1)


def _distinct(arrays: FloatArray) -> FloatArray:
    """Arrays along the first axis, each once, where they first occur."""
    kept: list[FloatArray] = []
    for array in arrays:
        if not any(np.abs(array - other).max() < _SAME for other in kept):
            kept.append(array)
    return np.array(kept)
