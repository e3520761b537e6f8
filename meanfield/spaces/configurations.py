"""Coordinates of famous point sets on spheres, and rotations of polyhedra, by exact constructions.

Regular polygons and polytopes have their usual coordinates. The other sets are sections of two
lattices: E8, and the Leech lattice, whose minimal vectors come from the extended Golay code. The
points of a set that have one cosine c with a point u lie on a smaller sphere,

    x = c u + sqrt(1 - c^2) y,    <x, x'> = c^2 + (1 - c^2) <y, y'>.

The 240 roots in R^8 give 56 in R^7, 27 in R^6 and 16 in R^5. The Leech lattice gives
196560 -> 4600 -> 891, 552 -> 275 -> 162, 112, and 100.

Conway, Sloane, Sphere Packings, Lattices and Groups, chapters 4, 10, 11 and 14.
Cohn, Kumar, Universally optimal distribution of points on spheres, J. Amer. Math. Soc. 20 (2007),
table 1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import combinations, permutations, product

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray, IntArray, read_only
from meanfield.bases.gegenbauer.grid import AxialGrid
from meanfield.errors import list_names

GOLDEN = (1.0 + np.sqrt(5.0)) / 2.0
# Distinct cosines of these sets differ by more; their rounding is smaller.
_SAME = 1e-9
# Largest d of a cube, which has 2^d corners.
_LARGEST_CUBE = 12
_NO_ROOM = "{} lies in R^{}, and points here are in R^{}."
_MOST_POINTS = 100_000


def polygon(tokens: int) -> FloatArray:
    """Regular polygon, shape (n, 2)."""
    angles = 2.0 * np.pi * np.arange(tokens) / tokens
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def subsphere(d: int, tokens: int) -> tuple[FloatArray, FloatArray | None]:
    """Quadrature of the uniform measure of S^{d-1}, d >= 2: points (n, d), and masses if unequal.

    A polygon of `tokens` points in the first two axes, and Gauss nodes of each further polar
    angle. Exact for polynomials of degree tokens - 1.
    """
    points, masses = polygon(tokens), np.full(tokens, 1.0 / tokens)
    for k in range(3, d + 1):
        # The grid integrates three times its degree: at least tokens - 1.
        grid = AxialGrid(k, -(-(tokens - 1) // 3))
        if len(points) * len(grid.points) > _MOST_POINTS:
            raise ValueError(
                f"a subsphere of R^{d} with {tokens} tokens around would have more than "
                f"{_MOST_POINTS} points: take fewer, or mf.sampled tokens."
            )
        rings = np.sin(grid.points)[:, None, None] * points
        heights = np.broadcast_to(np.cos(grid.points)[:, None, None], (*rings.shape[:2], 1))
        points = np.concatenate([rings, heights], axis=2).reshape(-1, k)
        masses = np.outer(grid.weights, masses).ravel()
    return points, masses if d > 2 else None


def simplex(d: int) -> FloatArray:
    """Regular simplex, shape (d + 1, d): cosines -1/d."""
    corners = np.zeros((d + 1, d))
    for k in range(d):
        # Height of corner k above the origin, and depth of the later corners below it.
        left = 1.0 - (corners[k] ** 2).sum()
        corners[k, k] = np.sqrt(left)
        corners[k + 1 :, k] = -np.sqrt(left) / (d - k)
    return corners


def cross_polytope(d: int) -> FloatArray:
    """Unit vectors along the axes and their negatives, shape (2 d, d)."""
    return np.concatenate([np.eye(d), -np.eye(d)])


def cube(d: int) -> FloatArray:
    """Corners of the cube, shape (2^d, d)."""
    if d > _LARGEST_CUBE:
        raise ValueError(f"a cube in R^{d} has 2^{d} corners: take at most R^{_LARGEST_CUBE}.")
    return np.asarray(np.array(list(product((1.0, -1.0), repeat=d))) / np.sqrt(d))


def icosahedron() -> FloatArray:
    """Vertices (0, +-1, +-golden ratio) and their cycles, shape (12, 3)."""
    corners = [(0.0, a, b * GOLDEN) for a, b in product((1.0, -1.0), repeat=2)]
    return _unit([np.roll(corner, k) for corner in corners for k in range(3)])


def dodecahedron() -> FloatArray:
    """Corners of a cube and (0, +-1 / golden ratio, +-golden ratio), shape (20, 3)."""
    corners = [(0.0, a / GOLDEN, b * GOLDEN) for a, b in product((1.0, -1.0), repeat=2)]
    others = [np.roll(corner, k) for corner in corners for k in range(3)]
    return _unit([*np.sqrt(3.0) * cube(3), *others])


def cell_600() -> FloatArray:
    """Vertices of the 600-cell, the icosians of length 1, shape (120, 4)."""
    orders = permutations(range(4))
    even = [each for each in orders if sum(a > b for a, b in combinations(each, 2)) % 2 == 0]
    signed = [
        np.array([0.0, a / GOLDEN, b, c * GOLDEN])[list(order)] / 2.0
        for a, b, c in product((1.0, -1.0), repeat=3)
        for order in even
    ]
    return _unit([*cross_polytope(4), *cube(4), *signed])


def e8_roots() -> FloatArray:
    """Minimal vectors of E8, shape (240, 8): (+-1, +-1, 0^6), and halves with even signs."""
    roots = [
        a * np.eye(8)[i] + b * np.eye(8)[j]
        for i, j in combinations(range(8), 2)
        for a, b in product((1.0, -1.0), repeat=2)
    ]
    halves = np.array(list(product((0.5, -0.5), repeat=8)))
    return _unit([*roots, *halves[halves.prod(axis=1) > 0]])


@lru_cache(maxsize=1)
def _golay() -> npt.NDArray[np.int8]:
    """Words of the extended Golay code, shape (4096, 24), from squares modulo 23 and a parity."""
    squares = np.zeros(23, dtype=np.int64)
    squares[np.arange(1, 23) ** 2 % 23] = 1
    rows = np.array([np.roll(squares, k) for k in range(12)])
    rows = np.concatenate([rows, rows.sum(axis=1, keepdims=True) % 2], axis=1)
    choices = np.array(list(product((0, 1), repeat=12)))
    return np.asarray(choices @ rows % 2, dtype=np.int8)


@lru_cache(maxsize=1)
def _leech_vectors() -> npt.NDArray[np.int16]:
    """Minimal vectors of the Leech lattice times sqrt(8), shape (196560, 24), of square 32."""
    code = _golay()
    fours = np.zeros((1104, 24), dtype=np.int16)
    places = [pair for pair in combinations(range(24), 2) for _ in range(4)]
    for row, pair, signs in zip(fours, places, list(product((4, -4), repeat=2)) * 276, strict=True):
        row[list(pair)] = signs
    even = np.array([signs for signs in product((2, -2), repeat=8) if np.prod(signs) > 0])
    octads = code[code.sum(axis=1) == 8]
    twos = np.zeros((len(octads), len(even), 24), dtype=np.int16)
    for block, octad in zip(twos, octads, strict=True):
        block[:, octad == 1] = even
    # (-3, 1^23) with signs changed on a word of the code.
    odd = (np.ones((24, 24)) - 4 * np.eye(24)) * (1 - 2 * code[:, None].astype(np.int16))
    vectors = [fours, twos.reshape(-1, 24), odd.reshape(-1, 24).astype(np.int16)]
    return np.concatenate(vectors)


def leech() -> FloatArray:
    """Directions of the minimal vectors of the Leech lattice, shape (196560, 24)."""
    return np.asarray(_leech_vectors() / np.sqrt(32.0))


def section(points: FloatArray, centres: FloatArray, cosine: float) -> FloatArray:
    """Directions y, (m, d - k), of the points that have one cosine with all centres.

    points (n, d); centres (k, d): unit vectors, independent.
    """
    near = np.all(np.abs(points @ centres.T - cosine) < _SAME, axis=1)
    # The last rows are an orthonormal basis of the orthogonal complement of the centres.
    basis = np.linalg.svd(centres)[2][len(centres) :]
    return _unit(points[near] @ basis.T)


def _below(make: Callable[[], FloatArray], cosine: float) -> Callable[[], FloatArray]:
    """Function that makes the section of a set at one of its points; all points are equivalent."""

    def section_of() -> FloatArray:
        points = make()
        return section(points, points[:1], cosine)

    return section_of


def _lines_276() -> FloatArray:
    """Leech vectors v with |v|^2 = 4, <v, a> = 3, |a|^2 = 6: 276 equiangular lines."""
    first, _ = _centres()
    return section(leech(), first[None], 3.0 / np.sqrt(24.0))


def _higman_sims() -> FloatArray:
    """Leech vectors v with |v|^2 = 4, <v, a> = <v, b> = 3, |a|^2 = |b|^2 = 6, |a - b|^2 = 4."""
    return section(leech(), np.array(_centres()), 3.0 / np.sqrt(24.0))


def _centres() -> tuple[FloatArray, FloatArray]:
    """Two Leech vectors a, b with |a|^2 = |b|^2 = 6 and |a - b|^2 = 4, scaled to length 1."""
    # Times sqrt(8): a = (1, 5, 1^22) and b = (1, 1, 5, 1^21), both of square 48.
    first = np.ones(24)
    first[0] = -3.0
    first = first + 4.0 * (np.eye(24)[0] + np.eye(24)[1])
    second = first - 4.0 * (np.eye(24)[1] - np.eye(24)[2])
    return first / np.sqrt(48.0), second / np.sqrt(48.0)


_E8_7 = _below(e8_roots, 0.5)
_E8_6 = _below(_E8_7, 1.0 / 3.0)
_KISSING = _below(leech, 0.5)
_MCLAUGHLIN = _below(_lines_276, 0.2)

FIXED: dict[str, Callable[[], FloatArray]] = {
    "icosahedron": icosahedron,
    "dodecahedron": dodecahedron,
    "600_cell": cell_600,
    "hemicube": _below(_E8_6, 0.25),
    "schlaefli": _E8_6,
    "28_lines": _E8_7,
    "e8": e8_roots,
    "isotropic_112": _below(_MCLAUGHLIN, -0.25),
    "regular_162": _below(_MCLAUGHLIN, 1.0 / 6.0),
    "higman_sims": _higman_sims,
    "mclaughlin": _MCLAUGHLIN,
    "isotropic_891": _below(_KISSING, 1.0 / 3.0),
    "276_lines": _lines_276,
    "kissing_4600": _KISSING,
    "leech": leech,
}
"""Sets of one dimension and size: functions that return unit vectors (n, d)."""

FAMILIES: dict[str, Callable[[int], FloatArray]] = {
    "simplex": simplex,
    "cross_polytope": cross_polytope,
    "cube": cube,
}
"""Sets in R^d for every d: functions of d."""


SHAPES = ("polygon", "antipodal", "subsphere", *FAMILIES, *FIXED)
"""Names of all sets."""


def check_shape(shape: str, tokens: int | None, dimension: int | None) -> None:
    """Refuse a shape that is unknown, or with a number missing, superfluous or out of range."""
    if shape not in SHAPES:
        raise ValueError(f"shape {shape!r} is not known. {list_names(shape, SHAPES)}")
    counted = shape in ("polygon", "subsphere")
    if (tokens is None) == counted:
        raise ValueError(
            f"a {shape} needs tokens, how many points it has around."
            if tokens is None
            else f"{shape} takes no tokens, got {tokens}: only polygon and subsphere do."
        )
    if tokens is not None and tokens < 2:
        raise ValueError(f"a {shape} has at least 2 tokens, got {tokens}.")
    if shape == "subsphere" and (dimension is None or dimension < 2):
        raise ValueError(
            f"a subsphere needs dimension, d of its R^d, at least 2, got {dimension}: the pair of "
            'd = 1 is "antipodal".'
        )
    sized = ("subsphere", *FAMILIES)
    if dimension is not None and (shape not in sized or dimension < 1):
        raise ValueError(
            f"dimension = {dimension} of {shape}: only {', '.join(sized)} have one, at least 1."
        )


def shape_points(
    shape: str, ambient: int, tokens: int | None = None, dimension: int | None = None
) -> tuple[FloatArray, FloatArray | None]:
    """Unit vectors in R^ambient of a checked shape, and masses if they are unequal."""
    if dimension is not None and dimension > ambient:
        # Refused first: such a set may need more memory than there is.
        raise ValueError(_NO_ROOM.format(shape, dimension, ambient))
    masses = None
    if shape == "antipodal":
        return np.asarray(np.outer([1.0, -1.0], np.eye(ambient)[-1])), None
    if shape == "polygon":
        vectors = polygon(tokens or 2)
    elif shape == "subsphere":
        vectors, masses = subsphere(dimension or 2, tokens or 2)
    elif shape in FAMILIES:
        vectors = FAMILIES[shape](dimension or ambient)
    else:
        vectors = FIXED[shape]()
    n, d = vectors.shape
    if d > ambient:
        raise ValueError(_NO_ROOM.format(shape, d, ambient))
    return np.concatenate([vectors, np.zeros((n, ambient - d))], axis=1), masses


def _unit(vectors: npt.ArrayLike) -> FloatArray:
    array = np.asarray(vectors, dtype=np.float64)
    return np.asarray(array / np.sqrt((array**2).sum(axis=1))[:, None])


POLYHEDRA = ("tetrahedral", "octahedral", "icosahedral")

_CYCLE = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
# A half turn and a quarter turn about the third axis, and a fifth of a turn about a vertex
# (0, 1, golden ratio). With the cycle of the axes each generates its group.
_OTHER = {
    "tetrahedral": [[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]],
    "octahedral": [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
    "icosahedral": [
        [0.5 / GOLDEN, -0.5 * GOLDEN, 0.5],
        [0.5 * GOLDEN, 0.5, 0.5 / GOLDEN],
        [-0.5, 0.5 / GOLDEN, 0.5 * GOLDEN],
    ],
}
# Rotations of a group differ by 0.8 in some entry; equal ones differ by rounding.
_SAME_ROTATION = 1e-9


@lru_cache(maxsize=4)
def rotation_group(name: str) -> FloatArray:
    """All rotations of a regular polyhedron as matrices, shape (12, 24 or 60, 3, 3)."""
    if name not in _OTHER:
        raise ValueError(f"symmetry {name!r} is not known. Known: {', '.join(_OTHER)}.")
    generators = np.array([_CYCLE, _OTHER[name]])
    group = np.eye(3)[None]
    while True:
        products = np.einsum("gij,hjk->ghik", generators, group).reshape(-1, 3, 3)
        larger = _distinct(np.concatenate([group, products]))
        if len(larger) == len(group):
            return read_only(group)
        group = larger


def invariants_by_degree(rotations: FloatArray, max_degree: int) -> IntArray:
    """Number of independent invariant harmonics of each degree, shape (max_degree + 1,)."""
    cosine = np.clip((np.trace(rotations, axis1=1, axis2=2) - 1.0) / 2.0, -1.0, 1.0)
    angles = np.arccos(cosine)
    # sin((2 l + 1) a / 2) / sin(a / 2) = 1 + 2 sum_{m <= l} cos m a
    cosines = np.cos(np.outer(np.arange(1, max_degree + 1), angles)).mean(axis=1)
    return np.rint(1.0 + 2.0 * np.concatenate([[0.0], np.cumsum(cosines)])).astype(np.int64)


def _distinct(arrays: FloatArray) -> FloatArray:
    """Distinct arrays along the first axis, in the order of their first occurrence."""
    distinct: list[FloatArray] = []
    for array in arrays:
        if not any(np.abs(array - other).max() < _SAME_ROTATION for other in distinct):
            distinct.append(array)
    return np.array(distinct)
