"""Similarity of tokens in any dimension: cosines of pairs, and effective rank.

For n equal tokens only pairs i != j count. So tokens drawn from a density have on average the
density's law of <x, y> under mu x mu. For weighted points all pairs count. In R^d cosines compare
directions.
"""

from __future__ import annotations

import math

import numpy as np

from meanfield.arguments import at_least, checked
from meanfield.arrays import FloatArray, IntArray, ModalArray
from meanfield.engines.pairs import PAIRS_AT_ONCE
from meanfield.engines.threads import map_chunks
from meanfield.measures import Density, Measure
from meanfield.spaces import Geometry

MOST_TOKENS = 10_000
"""Largest number of tokens for sums over all pairs."""

_BINS = 41
EDGES = np.linspace(-1.0, 1.0, _BINS + 1)
"""Edges of the bins of cosines. Their number is odd, so cosine 0 is the middle of a bin."""
CENTRES = 0.5 * (EDGES[1:] + EDGES[:-1])
"""Middles of the bins."""

# Eigenvalues of a matrix with so many rows take about a second.
_MOST_ROWS = 2_048
# Smaller shares of the sum of eigenvalues are rounding.
_ROUNDING = 1e-15


def directions(measure: Measure) -> FloatArray:
    """Unit vectors (n, d) of points; NaN for a token at 0 of R^d."""
    vectors = measure.manifold.vectors(measure.points)
    if measure.manifold.is_sphere:
        return vectors
    # First the scale, because squares of large numbers would overflow.
    with np.errstate(invalid="ignore"):
        vectors = vectors / np.abs(vectors).max(axis=1, keepdims=True)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def mean_cosine(measure: Density | Measure) -> float:
    """Mean of <x, y> over pairs: 1 for a single cluster, 0 for uniform.

        tokens            sum_{i != j} <x_i, x_j> / (n (n - 1)) = (n |m|^2 - 1) / (n - 1)
        other measures    int int <x, y> dmu dmu = |m|^2,    m = int x dmu

    Returns NaN for a single token, or if a token is at 0 of R^d.

    >>> import meanfield as mf
    >>> mean_cosine(mf.Measure(mf.Sphere(4), np.eye(4)))
    0.0
    """
    if isinstance(measure, Density) or measure.manifold.has_rings:
        return measure.order_parameter**2
    x = directions(measure)
    mean = measure.mass @ x
    square = float(mean @ mean)
    if not are_tokens(measure):
        return square
    n = len(x)
    return (n * square - 1.0) / (n - 1) if n > 1 else math.nan


def similarity(measure: Density | Measure) -> FloatArray:
    """Histogram of cosines of pairs: share of pairs in each bin of `EDGES`, with sum 1.

    For a density on S^{d-1} the law of s = <x, y> has the density w(s) sum_l p_l P_l(s). The
    uniform law has w(s) ~ (1 - s^2)^{(d-3)/2}. Here p_l = sum_m |m_lm|^2, with moments m_lm in an
    orthonormal basis, and P_l are Gegenbauer polynomials, P_l(1) = 1. By Sturm and Liouville

        int_a^b P_l w ds = [(1 - s^2) w P_l'](a) - [(1 - s^2) w P_l'](b), over l (l + d - 2).

    Returns (41,): NaN for more than `MOST_TOKENS` points, a single token, and rings of axial
    measures.

    NIST DLMF 18.8 (the differential equation) and 18.18 (the addition theorem).

    On S^2 cosines of uniform are uniform:

    >>> import meanfield as mf
    >>> bool(np.ptp(similarity(mf.uniform().build(mf.Sphere()))) < 1e-15)
    True
    """
    if isinstance(measure, Density):
        return _law(measure.manifold, measure.coefficients)
    tokens, n = are_tokens(measure), len(measure.points)
    # Axial points are rings: a pair of rings has an interval of cosines.
    if n > MOST_TOKENS or (tokens and n < 2) or measure.manifold.has_rings:
        return np.full(_BINS, np.nan)
    x, mass = directions(measure), measure.mass
    if not np.isfinite(x).all():
        return np.full(_BINS, np.nan)
    rows = max(1, PAIRS_AT_ONCE // n)

    def counted(chunk: int) -> FloatArray:
        """Counts of pairs within a chunk of rows, and twice those with later rows."""
        first, last = chunk * rows, min((chunk + 1) * rows, n)
        own = x[first:last]
        square = _binned(own @ own.T, mass[first:last], mass[first:last], tokens)
        return square + 2.0 * _binned(own @ x[last:].T, mass[first:last], mass[last:], tokens)

    counts = np.sum(map_chunks(counted, -(-n // rows)), axis=0)
    if tokens:
        # Pairs i = j.
        counts[-1] -= n
        counts /= n * (n - 1.0)
    return np.asarray(counts)


def _binned(cosines: FloatArray, one: FloatArray, other: FloatArray, equal: bool) -> FloatArray:
    """Number of pairs in each bin if all are equal, else their mass."""
    cosines += 1.0
    cosines *= 0.5 * _BINS
    np.clip(cosines, 0.0, _BINS - 0.5, out=cosines)
    weights = None if equal else np.outer(one, other).ravel()
    return np.bincount(cosines.astype(np.intp).ravel(), weights, _BINS).astype(np.float64)


def are_tokens(measure: Measure) -> bool:
    """True if points have equal weights and are not nodes of characteristics."""
    return measure.weights is None and not measure.cell_order


def _law(space: Geometry, coefficients: ModalArray) -> FloatArray:
    """Share of the law of <x, y> of a density in each bin."""
    powers = space.sizes_by_degree(coefficients) ** 2  # type: ignore[attr-defined]
    if space.is_circle:
        powers[1:] *= 2.0  # of k and -k
        angles = np.arccos(EDGES)
        l = np.arange(1, len(powers))
        below = angles + (np.sin(np.outer(angles, l)) / l) @ powers[1:]
        return np.asarray((below[:-1] - below[1:]) / np.pi)
    from scipy.special import betainc, gammaln

    d = space.ambient
    # (1 - s^2) P_l' = l (l + d - 2) (P_{l-1} - P_{l+1}) / (2 l + d - 2).
    constant = math.exp(gammaln(0.5 * d) - gammaln(0.5 * (d - 1))) / math.sqrt(math.pi)
    # (1 - s^2) w P_l' is 0 at s = 1 and -1, although w is not finite there for d = 2.
    weight = np.zeros(len(EDGES))
    weight[1:-1] = constant * (1.0 - EDGES[1:-1] ** 2) ** (0.5 * (d - 3))
    below = 0.5 * (1.0 + np.sign(EDGES) * betainc(0.5, 0.5 * (d - 1), EDGES**2))
    before, here = np.ones(len(EDGES)), EDGES.copy()
    for k in range(1, len(powers)):
        after = ((2 * k + d - 2) * EDGES * here - k * before) / (k + d - 2)
        below -= powers[k] * weight * (before - after) / (2 * k + d - 2)
        before, here = here, after
    return np.diff(below)


def effective_rank(measure: Density | Measure) -> float:
    r"""Effective number of directions: exp of the entropy of eigenvalues of the Gram matrix.

        exp(-sum_i p_i log p_i),    p_i = lambda_i / sum_j lambda_j

    with the eigenvalues lambda_i of (sqrt(m_i m_j) <x_i, x_j>)_ij, or of int x x^T dmu. It is 1 for
    a single cluster or two opposite ones, and d for uniform.

    Returns NaN where both n and d are above 2,048, or all tokens are at 0 of R^d.

    Roy and Vetterli, The effective rank, EUSIPCO 2007.

    >>> import meanfield as mf
    >>> round(effective_rank(mf.Measure(mf.Sphere(6), np.eye(6)[:4])), 12)
    4.0
    """
    space = measure.manifold
    if space.has_rings:
        return _axial_rank(space.ambient, measure.moments(2))
    if isinstance(measure, Density):
        grid = space.grid(max(measure.max_degree, 2))
        points, mass = grid.points, grid.weights * grid.to_nodal(measure.coefficients)
    else:
        points, mass = measure.points, measure.mass
    x = space.vectors(points)
    if min(x.shape) > _MOST_ROWS:
        return math.nan
    largest = np.abs(x).max()
    if not 0.0 < largest < math.inf:
        return math.nan
    x = x / largest
    if x.shape[0] < x.shape[1]:
        x = x * np.sqrt(mass)[:, None]
        gram = x @ x.T
    else:
        gram = (x.T * mass) @ x
    values = np.linalg.eigvalsh(gram)
    shares = values / values.sum()
    shares = shares[shares > _ROUNDING]
    return float(np.exp(-(shares @ np.log(shares))))


def _axial_rank(d: int, moments: ModalArray) -> float:
    """Effective rank of an axial law, from its moment m_2 = (d E u^2 - 1) / (d - 1)."""
    harmonics = (d + 2) * (d - 1) / 2.0
    square = (1.0 + (d - 1) * float(np.real(moments[2])) / math.sqrt(harmonics)) / d
    shares = np.array([square, *[(1.0 - square) / (d - 1)] * (d - 1)])
    shares = shares[shares > _ROUNDING]
    return float(np.exp(-(shares @ np.log(shares))))


# Separation, in units of beta^{-1/2}.
_SEPARATION = 4.0
# Largest n^2 d, which takes seconds.
_MOST_WORK = 1e9


def usual_separation(beta: float) -> float:
    """Separation 4 |beta|^{-1/2} beyond which tokens hardly interact, at most pi.

    >>> usual_separation(64.0)
    0.5
    """
    return min(_SEPARATION / math.sqrt(abs(beta)), math.pi) if beta else math.pi


@checked
def renyi_centres(measure: Density | Measure, separation: float) -> tuple[float, float]:
    """Numbers of greedy and of strong centres among tokens in their order.

    A greedy centre is farther than the separation from all earlier greedy centres, a strong one
    from all earlier tokens. Clusters of causal attention form about them.

    measure: equal tokens on a sphere, in their order; separation: geodesic distance.

    Returns (greedy, strong): NaN for other measures, and for n tokens with n^2 d above 10^9.

    Karagodin, Polyanskiy, Rigollet, Clustering in causal attention masking, arXiv:2411.04990.

    >>> import meanfield as mf
    >>> renyi_centres(mf.Measure(mf.Circle(), [0.0, 0.4, 0.8, 2.0]), 0.5)
    (3.0, 2.0)
    """
    at_least(0.0, separation=separation)
    space = measure.manifold
    if isinstance(measure, Density) or not are_tokens(measure):
        return math.nan, math.nan
    if not space.is_sphere or space.has_rings:
        return math.nan, math.nan
    if len(measure.points) ** 2 * float(space.ambient) > _MOST_WORK:
        return math.nan, math.nan
    greedy, strong = (
        float(len(centres(measure.points, separation)))
        for centres in (greedy_centres, strong_centres)
    )
    return greedy, strong


def strong_centres(points: FloatArray, separation: float) -> IntArray:
    """Indices of tokens that are farther than a separation from all earlier tokens.

    Causal attention with V = B = 1 hardly moves them before they meet, if the separation is a few
    beta^{-1/2}. `expected_centres` is their number among random tokens.

    points (n,) or (n, d): angles or unit vectors in the order of the tokens; separation: a
    geodesic distance. The first token is always a centre.

    Karagodin, Polyanskiy, Rigollet, Clustering in causal attention masking, arXiv:2411.04990.
    """
    return _centres(points, separation, strong=True)


@checked
def greedy_centres(points: FloatArray, separation: float) -> IntArray:
    """Indices of tokens that are farther than a separation from all earlier centres.

    Renyi's parking. Includes `strong_centres`; each token is within the separation of a centre.
    """
    return _centres(points, separation, strong=False)


def _centres(points: FloatArray, separation: float, strong: bool) -> IntArray:
    at_least(0.0, separation=separation)
    vectors = np.stack([np.cos(points), np.sin(points)], axis=-1) if points.ndim == 1 else points
    if vectors.ndim != 2 or np.any(np.abs(np.linalg.norm(vectors, axis=1) - 1.0) > 1e-9):
        raise ValueError(
            "points must be a list of angles, or unit vectors of shape (n, d), got an array of "
            f"shape {points.shape}."
        )
    centres: list[int] = []
    for token, vector in enumerate(vectors):
        before = vectors[:token] if strong else vectors[centres]
        # Half the angle of two unit vectors, accurate near 0 and near pi.
        half = np.arctan2(
            np.linalg.norm(before - vector, axis=1), np.linalg.norm(before + vector, axis=1)
        )
        if np.all(2.0 * half > separation):
            centres.append(token)
    return np.array(centres, dtype=np.int64)
