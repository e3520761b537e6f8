"""Limit shapes of tokens of R^d without layer normalisation, after rescaling.

    x_i' = sum_j P_ij V x_j,    P_ij = softmax_j(x_i^T S x_j),    S = beta Q^T K
    z_i = e^{-tV} x_i,          z_i' = sum_j P_ij V (z_j - z_i)

Tokens may diverge, but z has limits. A table of theorems predicts them from V and S (Geshkovski,
Letrouit, Polyanskiy, Rigollet, arXiv:2305.05465):

    V                                       S                 limit of z
    lambda 1, lambda > 0                    sym. positive     boundary of a polytope, or 0
    simple largest lambda > 0, vector phi   <phi, S phi> > 0  at most three parallel hyperplanes
    lambda 1 on F, dim F > 1, less on G     sym. positive     (boundary of a polytope, or 0) x G
    -lambda 1                               a multiple of 1   x itself tends to 0

With V = lambda 1 the convex hull of z never grows, for any S. In dimension 1 all rows of the
attention matrix, except at most one, tend to rows with a single 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from meanfield.arguments import at_least, checked
from meanfield.arrays import EPS, FloatArray, IntArray
from meanfield.described import plot_method
from meanfield.measures import Measure
from meanfield.problem import Problem

THEOREMS = {
    "polytope": "z tends to the boundary of a polytope, or to 0",
    "hull": "the convex hull of z never grows; of its limit nothing is known for such scores",
    "hyperplanes": "z tends to at most three parallel hyperplanes, phi*(z) = a, 0 or b",
    "product": "z tends to (the boundary of a polytope in F, or 0) x G",
    "origin": "x itself tends to 0",
    "none": "no theorem is known for these matrices",
}
"""Statements of the theorems by name."""

# Rounding of entries of matrices, relative to the largest.
_ROUNDING = 1e-12
# Largest dimension in which Qhull is quick.
_MOST_HULL = 6


@dataclass(frozen=True, eq=False)
class Limits:
    """Properties of V and S that determine a limit shape.

    - theorem: a key of `THEOREMS`.
    - rate: lambda, the largest real part of an eigenvalue of V.
    - basis (d, m): orthonormal basis of F, the eigenspace of lambda. It is phi, with its largest
      component positive, for simple lambda, and empty if no theorem applies.
    - functional (m, d): coordinates in F along the other invariant space: phi* if m = 1.
    """

    theorem: str
    rate: float
    basis: FloatArray
    functional: FloatArray


@checked
def listed_limits(problem: Problem) -> Limits:
    """Theorem that applies to tokens on R^d with one softmax head.

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Euclidean(2), mf.Attention([mf.Head(value=[1.0, 0.4])], beta=1.0))
    >>> listed_limits(problem).theorem
    'hyperplanes'
    """
    score, value = _matrices(problem)
    d = len(value)
    values = np.linalg.eigvals(value)
    scale = max(float(np.linalg.norm(value, 2)), np.finfo(float).tiny)
    leading = float(values.real.max())
    near = np.abs(values - leading) <= 1e3 * np.sqrt(_ROUNDING) * scale
    m = int(near.sum())
    none = Limits("none", leading, np.zeros((d, 0)), np.zeros((0, d)))
    positive = _is_symmetric_positive(score)
    multiple = np.abs(value - value[0, 0] * np.eye(d)).max() <= _ROUNDING * scale
    if multiple and leading > 0:
        whole = (leading, np.eye(d), np.eye(d))
        return Limits("polytope" if positive else "hull", *whole)
    if multiple and leading < 0:
        identity = score[0, 0] > 0 and np.array_equal(score, score[0, 0] * np.eye(d))
        return Limits("origin", leading, np.eye(d), np.eye(d)) if identity else none
    if leading <= 0:
        return none
    right, left = (_eigenspace(each, leading, scale) for each in (value, value.T))
    smaller = np.all(np.abs(values[~near]) < leading * (1.0 - _ROUNDING))
    if right.shape[1] != m or left.shape[1] != m or not smaller:
        return none
    if m == 1:
        right = right * np.sign(right[np.argmax(np.abs(right[:, 0])), 0])
        if not float(right[:, 0] @ score @ right[:, 0]) > 0.0:
            return none
    elif not positive:
        return none
    functional = np.asarray(np.linalg.solve(left.T @ right, left.T), dtype=np.float64)
    return Limits("hyperplanes" if m == 1 else "product", leading, right, functional)


def _matrices(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Score and value of the one head."""
    heads = problem.heads
    if problem.manifold.is_sphere:
        raise ValueError(
            f"limit shapes are of tokens in R^d, mf.Euclidean(d), got {problem.manifold}: on "
            "spheres tokens form clusters."
        )
    alone = heads is not None and len(heads) == 1 and problem.normalization == "softmax"
    others = problem.mask != "none" or problem.terms or problem.layers
    if not alone or others or problem.stages or problem.time_functions:
        raise ValueError(
            "limit shapes are known of one head under softmax, without mask, feed_forward, drift, "
            "layers, stages and functions of time."
        )
    assert heads is not None
    return heads[0].score, heads[0].value


def _is_symmetric_positive(score: FloatArray) -> bool:
    size = np.abs(score).max()
    if np.abs(score - score.T).max() > _ROUNDING * size:
        return False
    return bool(np.linalg.eigvalsh(0.5 * (score + score.T)).min() > _ROUNDING * size)


def _eigenspace(matrix: FloatArray, value: float, scale: float) -> FloatArray:
    """Orthonormal basis of the eigenvectors of a real eigenvalue."""
    _, sizes, rows = np.linalg.svd(matrix - value * np.eye(len(matrix)))
    return np.asarray(rows[sizes <= np.sqrt(_ROUNDING) * scale].T)


@checked
def rescaled(problem: Problem, points: FloatArray, time: float) -> FloatArray:
    """Tokens z = e^{-tV} x, (n, d), also for very large x."""
    from scipy.linalg import expm

    at_least(0.0, time=time)
    _, value = _matrices(problem)
    rate = float(np.linalg.eigvals(value).real.max())
    # In two halves: the whole factor may overflow although the result does not.
    half = np.exp(np.clip(-0.5 * rate * time, -700.0, 700.0))
    with np.errstate(over="ignore", invalid="ignore"):
        turned = expm(-time * (value - rate * np.eye(len(value))))
        shape = ((points * half) @ turned.T) * half
    if not np.isfinite(shape).all():
        raise ValueError(
            f"at t = {time:g} e^{{-tV}} has directions that differ by more than numbers hold: take "
            "an earlier time."
        )
    return np.asarray(shape)


@dataclass(frozen=True, eq=False)
class LimitShape:
    """Rescaled tokens of R^d at a late time, and the limit shape that theory predicts.

    Attributes
    ----------
    theorem : str
        "polytope", "hull", "hyperplanes", "product", "origin" or "none".
    time : float
    points : ndarray, shape (n, d)
        z = e^{-tV} x; for "origin" x itself.
    coordinates : ndarray, shape (n, m)
        Coordinates that tend to the shape: z; for "product" its part in F; for "hyperplanes"
        phi*(z), m = 1.
    vertices : ndarray of int
        Tokens at the vertices of the convex hull of the coordinates.
    leaders : ndarray of int, shape (n,)
        Token to which each token attends most.
    attention_error : float
        Largest 1 - max_j P_ij; 0 if each row of the attention matrix has a single 1.
    distance : float
        Distance of the coordinates from the limit set. "polytope" and "product": largest
        1 - <z, S z> / max_j <z, S v_j>. "hyperplanes": largest distance from the nearest of min, 0
        (if it lies between) and max, over the largest of max - min, |min| and |max|. "origin":
        largest |x|. NaN for other theorems.
    levels : ndarray, shape (k,)
        For "hyperplanes" the values phi*(z) at which tokens gather, k = 1, 2 or 3; else empty.
    limits : Limits
        Theorem and matrices that determine the shape.
    """

    theorem: str
    time: float
    points: FloatArray
    coordinates: FloatArray
    vertices: IntArray
    leaders: IntArray
    attention_error: float
    distance: float
    levels: FloatArray
    limits: Limits

    @property
    def statement(self) -> str:
        return THEOREMS[self.theorem]

    plot = plot_method(
        "LimitShape.plot",
        "Figure: tokens on two axes, their hull or the hyperplanes, and lines to leaders.",
    )

    def __str__(self) -> str:
        n, d = self.points.shape
        lines = [
            f"{n} tokens of R^{d} at t = {self.time:g}: {self.theorem}",
            f"  {self.statement}",
        ]
        if self.theorem == "hyperplanes":
            places = ", ".join(f"{level:.6g}" for level in self.levels)
            lines.append(f"  phi*(z) at {places}; tokens within {self.distance:.2g} of them")
        elif self.theorem == "origin":
            lines.append(f"  largest |x| = {self.distance:.3g}")
        else:
            named = ", ".join(map(str, self.vertices[:12].tolist()))
            more = ", ..." if len(self.vertices) > 12 else ""
            lines.append(f"  {len(self.vertices)} vertices, tokens {named}{more}")
            if np.isfinite(self.distance):
                lines.append(f"  tokens within {self.distance:.2g} of the limit set")
        lines.append(f"  rows of attention within {self.attention_error:.2g} of a single 1")
        return "\n".join(lines)

    def __repr__(self) -> str:
        n, d = self.points.shape
        return f"LimitShape({self.theorem}, {n} tokens of R^{d}, t = {self.time:g})"


@checked
def limit_shape(
    problem: Problem, measure: Measure, time: float, *, tolerance: float = 1e-3
) -> LimitShape:
    """Limit shape of tokens of R^d: prediction from V and S, and tokens at a time.

    Parameters
    ----------
    problem : Problem
        On `Euclidean(d)`, with one head under softmax.
    measure : Measure
        Tokens x at the time, such as `run.measures[-1]`.
    time : float
        Scaled time, such as `run.scaled_time[-1]`.
    tolerance : float
        Vertices or levels nearer to each other than this, relative to the coordinates, are one.

    Raises
    ------
    ValueError
        If the problem is not of this kind, the measure is on another space, the time is negative,
        or e^{-tV} overflows.

    References
    ----------
    Geshkovski, Letrouit, Polyanskiy, Rigollet, The emergence of clusters in self-attention
    dynamics, arXiv:2305.05465, Theorems 3.1, 4.1, 5.2 and their table.

    Examples
    --------
    >>> import meanfield as mf
    >>> law = mf.from_points([[2, 0.3], [-1.5, 1.2], [-0.4, -1.8], [0.5, 0.6]])
    >>> head = mf.Head(value=[1.0, 0.4])
    >>> problem = mf.Problem(mf.Euclidean(2), mf.Attention([head], beta=1.0), initial=law)
    >>> run = mf.simulate(problem, until=12.0, save=2)
    >>> print(limit_shape(problem, run.measures[-1], run.time[-1]))
    4 tokens of R^2 at t = 12: hyperplanes
      z tends to at most three parallel hyperplanes, phi*(z) = a, 0 or b
      phi*(z) at -1.49343, 1.98534; tokens within 1.5e-05 of them
      rows of attention within 0 of a single 1
    """
    score, _ = _matrices(problem)
    if measure.manifold != problem.manifold:
        raise ValueError(
            f"the tokens are on the {measure.manifold.name}, the problem on the "
            f"{problem.manifold.name}."
        )
    limits = listed_limits(problem)
    x = measure.points
    falling = limits.theorem == "origin"
    z = x if falling else rescaled(problem, x, time)
    coordinates = z if limits.theorem == "none" else z @ limits.functional.T
    leaders, error = _attention(x, score, measure.mass)
    vertices = hull_vertices(coordinates, tolerance)
    levels, distance = np.zeros(0), np.nan
    if limits.theorem == "hyperplanes":
        levels, distance = _levels(coordinates[:, 0], tolerance)
    elif limits.theorem in ("polytope", "product"):
        distance = _distance(limits.basis.T @ score @ limits.basis, coordinates, vertices)
    elif falling:
        distance = float(np.linalg.norm(x, axis=1).max())
    return LimitShape(
        limits.theorem, time, z, coordinates, vertices, leaders, error, distance, levels, limits
    )


def _attention(x: FloatArray, score: FloatArray, masses: FloatArray) -> tuple[IntArray, float]:
    """Leaders and `attention_error` of `LimitShape`, computed from differences of scores."""
    size = float(np.abs(x).max())
    if size == 0.0:
        return np.zeros(len(x), dtype=np.int64), 1.0 - float(masses.max())
    y = x / size
    scores = (y @ score) @ y.T
    gaps = scores - scores.max(axis=1, keepdims=True)
    with np.errstate(over="ignore", invalid="ignore"):
        exponents = np.where(gaps < 0.0, gaps * np.float64(size) * size, 0.0)
    weights = np.exp(exponents) * masses
    weights /= weights.sum(axis=1, keepdims=True)
    leaders = weights.argmax(axis=1)
    weights[np.arange(len(x)), leaders] = 0.0
    return leaders, float(weights.sum(axis=1).max())


def hull_vertices(points: FloatArray, tolerance: float = 0.0) -> IntArray:
    """Tokens at the vertices of the convex hull of points (n, m); the first of near vertices.

    Qhull up to dimension 6; for larger dimensions and flat hulls, one linear programme a token.

    >>> hull_vertices(np.array([[0.0, 0.0], [1.0, 0.0], [0.2, 0.2], [0.0, 1.0]]))
    array([0, 1, 3])
    """
    n, m = points.shape
    if m == 1:
        vertices = np.unique([points[:, 0].argmin(), points[:, 0].argmax()])
    else:
        hull = _hull(points)
        if hull is not None:
            vertices = np.sort(hull.vertices).astype(np.int64)
        else:
            vertices = np.array([i for i in range(n) if not _is_inside(points, i)], dtype=np.int64)
    size = float(np.ptp(points, axis=0).max())
    distinct: list[int] = []
    for i in vertices.tolist():
        near = np.linalg.norm(points[distinct] - points[i], axis=1) <= tolerance * size
        if not near.any():
            distinct.append(i)
    return np.array(distinct, dtype=np.int64)


def hull_volume(points: FloatArray) -> float:
    """Volume of the convex hull of points (n, m): length, area, ...; NaN above dimension 6."""
    if points.shape[1] == 1:
        return float(np.ptp(points))
    if points.shape[1] > _MOST_HULL:
        return float("nan")
    hull = _hull(points)
    return 0.0 if hull is None else float(hull.volume)


def _hull(points: FloatArray) -> Any:
    """Hull by Qhull; None for flat hulls and above dimension 6."""
    from scipy.spatial import ConvexHull, QhullError

    n, m = points.shape
    if m > _MOST_HULL or n <= m:
        return None
    try:
        return ConvexHull(points)
    except QhullError:
        return None


def _is_inside(points: FloatArray, i: int) -> bool:
    """True if a point is a convex combination of the others; the first of equal points is not."""
    from scipy.optimize import linprog

    equal = np.all(points == points[i], axis=1)
    if np.flatnonzero(equal)[0] < i:
        return True
    others = points[~equal]
    if not len(others):
        return False
    size = max(float(np.abs(points).max()), np.finfo(float).tiny)
    sums = np.vstack([others.T / size, np.ones(len(others))])
    wanted = np.append(points[i] / size, 1.0)
    return bool(linprog(np.zeros(len(others)), A_eq=sums, b_eq=wanted, bounds=(0, None)).success)


def _levels(values: FloatArray, tolerance: float) -> tuple[FloatArray, float]:
    """`levels` and `distance` of `LimitShape` for hyperplanes."""
    low, high = float(values.min()), float(values.max())
    size = max(high - low, abs(low), abs(high), EPS)
    wanted = np.unique([low, min(max(0.0, low), high), high])
    nearest = np.abs(values[:, None] - wanted).argmin(axis=1)
    distance = float(np.abs(values - wanted[nearest]).max()) / size
    levels: list[float] = []
    for level in wanted[np.unique(nearest)].tolist():
        if not levels or level - levels[-1] > tolerance * size:
            levels.append(level)
    return np.array(levels), distance


def _distance(score: FloatArray, z: FloatArray, vertices: IntArray) -> float:
    """Largest 1 - <z, S z> / max_j <z, S v_j> over tokens z that are not at 0."""
    scores = z @ score
    own = (scores * z).sum(axis=1)
    best = (scores @ z[vertices].T).max(axis=1)
    gone = own <= EPS * own.max()
    shares = 1.0 - own / np.where(gone, 1.0, best)
    return float(np.max(np.where(gone, 0.0, shares), initial=0.0))
