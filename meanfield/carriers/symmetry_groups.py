"""Orthogonal maps that may fix a measure, and tests whether they do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from meanfield.arrays import EPS, FloatArray, IntArray, ModalArray
from meanfield.measures import Measure
from meanfield.problem import Problem
from meanfield.spaces import Manifold
from meanfield.spaces.configurations import rotation_group
from meanfield.terms.fixed import total_field
from meanfield.terms.time_dependent import is_time_dependent

ROUNDING = 2e-14
"""Differences of coefficients and points that are rounding of a law."""

# The search takes no more points, and tries no more choices of images.
_MOST_POINTS, _MOST_BRANCHES = 400, 20_000
# Most mirrors of a pattern that are tried.
_MOST_MIRRORS = 64
_FOLDS_OF_UNIFORM = range(12, 1, -1)
# Degrees that exclude most maps, tested first.
_FEW_DEGREES = 6


def split(space: Manifold, matrix: FloatArray) -> tuple[float, bool, float]:
    """Map of the longitude, phi -> angle + phi or angle - phi (a mirror), and the sign of z."""
    if space.has_rings:
        return 0.0, False, float(matrix[0, 0])
    mirror = np.linalg.det(matrix[:2, :2]) < 0.0
    sign = float(np.sign(matrix[2, 2])) if len(matrix) == 3 else 1.0
    return float(np.arctan2(matrix[1, 0], matrix[0, 0])), bool(mirror), sign


def orders_and_parities(space: Manifold, count: int) -> tuple[IntArray, FloatArray]:
    """Order m of each coefficient, and its factor (-1)^{l + m} under z -> -z."""
    degrees: IntArray = np.arange(count, dtype=np.int64)
    if space.is_circle:
        return degrees, np.ones(count)
    if space.has_rings:
        return np.zeros(count, dtype=np.int64), np.where(degrees % 2, -1.0, 1.0)
    from meanfield.engines.harmonics.coefficients import degrees_orders

    l, m = degrees_orders((int(np.sqrt(8 * count + 1)) - 3) // 2)
    return np.asarray(m, dtype=np.int64), np.where((l + m) % 2, -1.0, 1.0)


def turned_coefficients(space: Manifold, c: ModalArray, matrix: FloatArray) -> ModalArray:
    """Coefficients (..., n) of g# mu, from the coefficients of mu."""
    if len(matrix) == 3 and abs(abs(matrix[2, 2]) - 1.0) > 1e-9:
        from meanfield.engines.harmonics.coefficients import degrees_orders
        from meanfield.engines.harmonics.rotations import rotate

        l, _ = degrees_orders(space.degree_of(c))
        flip = np.linalg.det(matrix) < 0.0
        turned = rotate(c, -matrix if flip else matrix)
        return turned * (1.0 - 2.0 * (l % 2)) if flip else turned
    orders, parities = orders_and_parities(space, c.shape[-1])
    angle, mirror, sign = split(space, matrix)
    phases = np.exp(-1j * angle * orders) * np.where(parities > 0, 1.0, sign)
    return np.asarray(phases * (c.conj() if mirror else c))


def respects(problem: Problem, matrix: FloatArray) -> bool:
    """True if a map commutes with the velocity: B and V of all heads, fixed fields, frequencies.

    g^T B g = B and g V = V g; kernels of <x, y>, diffusion and layers commute with all maps, and
    so do numbers that are functions of time.
    """
    if problem.frequencies is not None and np.linalg.det(matrix) < 0.0:
        return False
    turning = [part for name, part, _ in problem.time_functions if name not in ("kernel", "flow")]
    turning += [
        part
        for _, part, _ in problem.time_functions
        if is_time_dependent(getattr(part, "heads", None))
    ]
    if problem.own_terms or turning:
        # Nothing proves that a function, or a term of the user's own, commutes at all times.
        return False
    for stage in problem.staged:
        for each in (part for head in stage.kernel.matrices(len(matrix)) for part in head):
            if np.abs(matrix.T @ each @ matrix - each).max() > ROUNDING * np.abs(each).max():
                return False
        if stage.terms:
            x = np.random.default_rng(0).standard_normal((32, len(matrix)))
            x /= np.linalg.norm(x, axis=1, keepdims=True)
            u, moved = total_field(stage.terms, x), total_field(stage.terms, x @ matrix.T)
            if np.abs(moved - u @ matrix.T).max() > ROUNDING * np.abs(u).max():
                return False
    return True


def closure(maps: Iterable[FloatArray], d: int, most: int = 10_000) -> FloatArray:
    """Group that maps generate, identity first; it ends before a map that makes it too large."""
    group, generators = {_key(np.eye(d)): np.eye(d)}, list[FloatArray]()
    for new in maps:
        if _key(new) in group:
            continue
        larger, fresh = {_key(np.eye(d)): np.eye(d)}, [np.eye(d)]
        while fresh and len(larger) <= most:
            products = [g @ each for each in fresh for g in (*generators, new)]
            fresh = [each for each in products if larger.setdefault(_key(each), each) is each]
        if len(larger) > most:
            break
        group = larger
        generators.append(new)
    return np.array(list(group.values()))


def _key(matrix: FloatArray) -> bytes:
    return bytes(np.round(matrix * 1e6).astype(np.int64).tobytes())


def plane_rotation(angle: float, d: int) -> FloatArray:
    """Rotation of the first two axes."""
    matrix = np.eye(d)
    matrix[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return matrix


def plane_mirror(angle: float, d: int) -> FloatArray:
    """Reflection phi -> angle - phi."""
    return plane_rotation(angle, d) @ np.diag([1.0, -1.0, *np.ones(d - 2)])


def maps_of_density(problem: Problem, coefficients: ModalArray) -> list[FloatArray]:
    """Maps that fix densities (M, n) and the problem: on the sphere only with axes along z."""
    space = problem.manifold
    scale = ROUNDING * max(1.0, float(np.abs(coefficients).max()))
    few = [space.resize(c, min(_FEW_DEGREES, space.degree_of(c))) for c in coefficients]

    def fixes(matrix: FloatArray) -> bool:
        return all(
            np.abs(turned_coefficients(space, row, matrix) - row).max() <= scale
            for rows in (few, coefficients)
            for row in rows
        ) and respects(problem, matrix)

    if space.has_rings:
        return [each for each in [np.diag([-1.0, 1.0])] if fixes(each)]
    d, maps = problem.manifold.ambient, list[FloatArray]()
    orders, _ = orders_and_parities(space, coefficients.shape[-1])
    sizes = np.abs(coefficients).max(axis=0)
    orders_present = np.unique(orders[(sizes > scale) & (orders > 0)])
    folds: Sequence[int] = _FOLDS_OF_UNIFORM
    if len(orders_present):
        most = int(np.gcd.reduce(orders_present))
        folds = [k for k in range(most, 1, -1) if most % k == 0]
    flips = [np.eye(d)] if d == 2 else [np.eye(d), np.diag([1.0, 1.0, -1.0])]
    for flip in flips:
        angles = [2.0 * np.pi / k for k in sorted({*folds, *(2 * k for k in folds)}, reverse=True)]
        turns = (plane_rotation(angle, d) @ flip for angle in angles)
        maps += [each for each in [next((g for g in turns if fixes(g)), None)] if each is not None]
    mirrors, turned = [np.eye(d) - 2.0 * np.outer(axis, axis) for axis in _axes(problem)], [0.0]
    if len(orders_present):
        largest = np.argmax(np.where(orders > 0, sizes, 0.0))
        k, row = orders[largest], np.argmax(np.abs(coefficients[:, largest]))
        phase = -np.angle(coefficients[row, largest])
        angles = (phase + np.pi * np.arange(min(k, _MOST_MIRRORS))) / k
        mirrors += [plane_mirror(2.0 * angle, d) for angle in angles]
        turned += [(phase + 0.5 * np.pi * quarter) / k for quarter in range(4)]
    else:
        mirrors.append(plane_mirror(0.0, d))
    maps += [g for g in mirrors if fixes(g)]
    if d == 3:
        polyhedra = [*rotation_group("octahedral"), *rotation_group("icosahedral")]
        for q in (plane_rotation(angle, d) for angle in turned):
            both = (sign * q @ g @ q.T for g in polyhedra for sign in (1.0, -1.0))
            maps += [g for g in both if fixes(g)]
    return maps


def fixing_all(problem: Problem, coefficients: ModalArray) -> tuple[bool, bool]:
    """True if rotations about the last axis fix densities and problem; true if all rotations do."""
    space, d = problem.manifold, problem.manifold.ambient
    if space.has_rings:
        return False, False
    scale = ROUNDING * max(1.0, float(np.abs(coefficients).max()))
    orders, _ = orders_and_parities(space, coefficients.shape[-1])
    turning = np.abs(coefficients[:, orders > 0]).max(initial=0.0) <= scale
    turning = turning and respects(problem, plane_rotation(1.0, d))
    flat = np.abs(coefficients[:, 1:]).max(initial=0.0) <= scale
    other = np.roll(plane_rotation(1.0, d), 1, axis=(0, 1))
    return turning, turning and flat and respects(problem, other)


def points_of(space: Manifold, points: FloatArray) -> FloatArray:
    """Points as vectors (n, d); of axial measures the angles in a half-plane."""
    if space.has_rings:
        return np.column_stack([np.cos(points), np.sin(points)])
    return space.vectors(points)


def _axes(problem: Problem) -> Iterator[FloatArray]:
    """Eigenvectors of the symmetric parts of matrices of the problem."""
    d = problem.manifold.ambient
    matrices = [part for head in problem.kernel.matrices(d) for part in head]
    if problem.drift is not None:
        matrices.append(total_field((problem.drift,), np.eye(d)).T)
    for matrix in matrices:
        yield from np.linalg.eigh(matrix + matrix.T)[1].T


def permuted(
    maps: FloatArray,
    x: FloatArray,
    mass: FloatArray,
    far: float,
    rounding: float,
    labels: FloatArray | None = None,
) -> tuple[FloatArray, IntArray]:
    """Maps that take points onto points of equal mass and label, and their permutations."""
    from scipy.spatial import cKDTree

    # Most maps move the mean: no search among many points is needed.
    mean, slack = mass @ x, 3.0 * far + rounding * len(x) * float(np.abs(x).max())
    maps = maps[np.abs(maps @ mean - mean).max(axis=1) <= slack]
    if not len(maps):
        return maps, np.empty((0, len(x)), dtype=np.int64)
    tree, mapping, images = cKDTree(x), [], []
    weight = np.array([mass[near].sum() for near in tree.query_ball_point(x, far)])
    for each in maps:
        distance, image = tree.query(x @ each.T)
        same = np.abs(weight[image] - weight).max() <= rounding
        if labels is not None:
            same = same and np.array_equal(labels[image], labels)
        if same and distance.max() <= far:
            mapping.append(each)
            images.append(image)
    return np.array(mapping), np.array(images, dtype=np.int64)


def maps_of_points(space: Manifold, measure: Measure) -> Iterator[FloatArray]:
    """Maps that may permute points: those that keep scalar products with a few of them."""
    if space.has_rings:
        yield np.diag([-1.0, 1.0])
        return
    x = space.vectors(measure.points)
    if len(x) > _MOST_POINTS:
        yield -np.eye(x.shape[1])
        return
    gram, mass = x @ x.T, measure.mass
    scale = 1e3 * EPS * float(gram.diagonal().max())
    basis, rest = list[int](), x.copy()
    while len(basis) < x.shape[1]:
        sizes = (rest**2).sum(axis=1)
        first = int(np.argmax(sizes > 0.5 * sizes.max()))
        if sizes[first] <= 1e-12 * gram.diagonal().max():
            break
        basis.append(first)
        axis = rest[first] / np.sqrt(sizes[first])
        rest -= np.outer(rest @ axis, axis)
    inverse = np.linalg.pinv(x[basis])
    beside = np.eye(x.shape[1]) - inverse @ x[basis]
    open_: list[list[int]] = [[]]
    visited = 0
    while open_ and visited < _MOST_BRANCHES:
        chosen = open_.pop()
        visited += 1
        if len(chosen) == len(basis):
            yield (inverse @ x[chosen] + beside).T
            continue
        new = basis[len(chosen)]
        fits = np.abs(mass - mass[new]) <= ROUNDING
        fits &= np.abs(gram.diagonal() - gram[new, new]) <= scale
        for image, of in zip(chosen, basis, strict=False):
            fits &= np.abs(gram[image] - gram[of, new]) <= scale
        open_ += [[*chosen, int(i)] for i in np.flatnonzero(fits)]
