"""Repulsive attention on spheres: energies of point configurations, designs and lower bounds.

n equal tokens under USA with strength -1 descend along the gradient of their pair energy,

    P = sum_{i < j} e^{beta (s_ij - 1)},    eps_n = (n + 2 P) / n^2,    x_i' = -grad_i P / (n beta)

in scaled time, with s_ij = <x_i, x_j>. Here eps_n is int int a dmu dmu. The uniform measure has
a_0, less than any n tokens. A configuration with m cosines between its points is sharp if it is a
(2 m - 1)-design. Sharp configurations and the 600-cell minimise P among n points for every
beta > 0.

A t-design has int g dmu = int g dsigma for every polynomial g of degree t. Equivalently
sum_ij P_l(s_ij) = 0 for l = 1 ... t, with the Gegenbauer polynomials P_l, P_l(1) = 1.

For h = sum_l h_l P_l <= f(s) = e^{beta (s - 1)} on [-1, 1], h_l >= 0 for l >= 1:

    2 P >= sum_{i != j} h(s_ij) >= n^2 h_0 - n h(1).

The best h of some degree solves a linear programme.

Cohn, Kumar, Universally optimal distribution of points on spheres, J. Amer. Math. Soc. 20 (2007),
theorem 1.2 and table 1. Delsarte, Goethals, Seidel, Geom. Dedicata 6 (1977) (designs). Yudin,
Discrete Math. Appl. 3 (1993) (the bound).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy.linalg import null_space

from meanfield.arguments import at_least, checked
from meanfield.arrays import EPS, FloatArray
from meanfield.measures import Measure
from meanfield.problem import Problem
from meanfield.spaces.manifold import Manifold
from meanfield.spectrum.cluster_rates import linearisation, tangent_frames
from meanfield.terms.flows import Flow
from meanfield.terms.kernels.exponential import exponential

# Squares of moments, int int P_l dmu dmu: sums of n^2 terms of size 1, divided by n^2.
_MOMENT = 1e-13
_MOST_DEGREE = 64
# P reaches e^{-2 beta}.
_LARGEST_BETA = 300.0
# Largest strength of given points.
_MOST_DESIGN = 24
_PAIRS_AT_ONCE = 2**22
# Number of Chebyshev points at which h <= f at first; later programmes add maxima of h - f.
_FIRST_PLACES = 200
_EXCHANGES = 6
# The largest beta for which a solver's tolerances resolve f on all of [-1, 1].
_MILD = 8.0
# Halvings of intervals in the proof that h - f <= shift.
_DEEPEST = 60
# Bounds above this, in units of h, are not active: the second and later programmes cut them there.
_FAR_ABOVE = 1e3
# Smaller values of the kernel are replaced by this one.
_LEAST = 1e-250
_ROOT5 = float(np.sqrt(5.0))


@dataclass(frozen=True)
class Sharp:
    """A configuration that is optimal for every beta > 0, by its cosines.

    - cosines (tuple of float): cosines between a point and the others.
    - multiplicities (tuple of int): number of other points at each cosine.
    """

    name: str
    dimension: int
    tokens: int
    cosines: tuple[float, ...]
    multiplicities: tuple[int, ...]

    def pair_energy(self, beta: float) -> float:
        """P = (n / 2) sum_k m_k e^{beta (s_k - 1)}."""
        gaps = np.array(self.cosines) - 1.0
        return float(0.5 * self.tokens * np.exp(beta * gaps) @ np.array(self.multiplicities))

    def energy(self, beta: float) -> float:
        """Energy eps_n = (n + 2 P) / n^2."""
        return energy_of(self.pair_energy(beta), self.tokens)

    @property
    def design(self) -> int:
        """Largest t <= 64 for which it is a t-design."""
        values = polynomials(self.dimension, np.array(self.cosines), _MOST_DEGREE)
        sums = (1.0 + values @ np.array(self.multiplicities)) / self.tokens
        return _strength(sums)


def _sharp(name: str, d: int, n: int, **pairs: int) -> Sharp:
    cosines = tuple(_COSINES.get(word) or float(Fraction(word)) for word in pairs)
    return Sharp(name, d, n, cosines, tuple(pairs.values()))


_COSINES = {
    "1/sqrt5": 1.0 / _ROOT5,
    "-1/sqrt5": -1.0 / _ROOT5,
    "(1+sqrt5)/4": (1.0 + _ROOT5) / 4.0,
    "(1-sqrt5)/4": (1.0 - _ROOT5) / 4.0,
    "(-1+sqrt5)/4": (-1.0 + _ROOT5) / 4.0,
    "(-1-sqrt5)/4": (-1.0 - _ROOT5) / 4.0,
}

SHARP: tuple[Sharp, ...] = (
    _sharp("icosahedron", 3, 12, **{"-1": 1, "-1/sqrt5": 5, "1/sqrt5": 5}),
    _sharp(
        "600_cell",
        4,
        120,
        **{"-1": 1, "-1/2": 20, "1/2": 20, "0": 30},
        **{"(1+sqrt5)/4": 12, "(1-sqrt5)/4": 12, "(-1+sqrt5)/4": 12, "(-1-sqrt5)/4": 12},
    ),
    _sharp("hemicube", 5, 16, **{"-3/5": 5, "1/5": 10}),
    _sharp("schlaefli", 6, 27, **{"-1/2": 10, "1/4": 16}),
    _sharp("28_lines", 7, 56, **{"-1": 1, "-1/3": 27, "1/3": 27}),
    _sharp("e8", 8, 240, **{"-1": 1, "-1/2": 56, "1/2": 56, "0": 126}),
    _sharp("isotropic_112", 21, 112, **{"-1/3": 30, "1/9": 81}),
    _sharp("regular_162", 21, 162, **{"-2/7": 56, "1/7": 105}),
    _sharp("higman_sims", 22, 100, **{"-4/11": 22, "1/11": 77}),
    _sharp("mclaughlin", 22, 275, **{"-1/4": 112, "1/6": 162}),
    _sharp("isotropic_891", 22, 891, **{"-1/2": 42, "-1/8": 512, "1/4": 336}),
    _sharp("276_lines", 23, 552, **{"-1": 1, "-1/5": 275, "1/5": 275}),
    _sharp("kissing_4600", 23, 4600, **{"-1": 1, "-1/3": 891, "1/3": 891, "0": 2816}),
    _sharp(
        "leech",
        24,
        196560,
        **{"-1": 1, "-1/2": 4600, "1/2": 4600, "-1/4": 47104, "1/4": 47104, "0": 93150},
    ),
)
"""Sharp configurations of one size, and the 600-cell."""


@checked
def sharp_configuration(dimension: int, tokens: int) -> Sharp | None:
    """Configuration of n >= 2 points of S^{d-1} that is optimal for every beta; None if unknown.

    Polygons on the circle, simplices (n <= d + 1), cross-polytopes (n = 2 d), and `SHARP`.

    >>> sharp_configuration(3, 6).name, sharp_configuration(3, 5)
    ('cross_polytope', None)
    """
    at_least(2, dimension=dimension, tokens=tokens)
    d, n = dimension, tokens
    if d == 2:
        k = np.arange(1, n // 2 + 1)
        counts = np.where(2 * k == n, 1, 2)
        # By sines, as 1 - cos(2 pi / n) cancels for large n.
        cosines = 1.0 - 2.0 * np.sin(np.pi * k / n) ** 2
        return Sharp("polygon", 2, n, tuple(cosines.tolist()), tuple(counts.tolist()))
    if n <= d + 1:
        return Sharp("simplex", d, n, (-1.0 / (n - 1),), (n - 1,))
    if n == 2 * d:
        return Sharp("cross_polytope", d, n, (-1.0, 0.0), (1, n - 2))
    return next((each for each in SHARP if (each.dimension, each.tokens) == (d, n)), None)


def energy_of(pair_energy: float, tokens: int) -> float:
    """Energy eps_n = (n + 2 P) / n^2 of n equal tokens with pair energy P."""
    return (tokens + 2.0 * pair_energy) / tokens**2


def uniform_energy(dimension: int, beta: float) -> float:
    """Energy a_0 of the uniform measure on the sphere of R^d."""
    return float(exponential(beta).attention_multipliers(dimension - 1, 0)[0])


def pair_energy(vectors: FloatArray, beta: float) -> float:
    """P of unit vectors (n, d), with full relative accuracy however small it is."""
    total, n = 0.0, len(vectors)
    rows = max(1, _PAIRS_AT_ONCE // (n * vectors.shape[1]))
    for start in range(0, n, rows):
        block = vectors[start : start + rows]
        squares = ((block[:, None] - vectors[None]) ** 2).sum(axis=-1)
        weights = np.exp(-0.5 * beta * squares)
        weights[np.arange(len(block)), np.arange(start, start + len(block))] = 0.0
        total += float(weights.sum())
    return 0.5 * total


def polynomials(dimension: int, cosines: FloatArray, max_degree: int) -> FloatArray:
    """Gegenbauer polynomials P_l of S^{d-1}, P_l(1) = 1, shape (max_degree + 1, len(cosines))."""
    d = dimension
    values = np.ones((max_degree + 1, len(cosines)))
    if max_degree > 0:
        values[1] = cosines
    for l in range(1, max_degree):
        # (l + d - 2) P_{l+1} = (2 l + d - 2) s P_l - l P_{l-1}
        values[l + 1] = (2 * l + d - 2) * cosines * values[l] - l * values[l - 1]
        values[l + 1] /= l + d - 2
    return values


@checked
def design_strength(points: FloatArray) -> int:
    """Largest t <= 24 for which points are a t-design, in any dimension.

    points: angles (n,) in radians, or vectors (n, d) of any positive length.

    >>> design_strength(2 * np.pi * np.arange(5) / 5)
    4
    """
    if points.ndim == 1:
        points = np.stack([np.cos(points), np.sin(points)], axis=1)
    if points.ndim != 2 or points.shape[1] < 2:
        raise ValueError(f"points must have shape (n,) or (n, d) with d >= 2, got {points.shape}.")
    if not np.isfinite(points).all():
        wrong = points[~np.isfinite(points)][0]
        raise ValueError(f"points must be finite numbers, got {wrong:g}.")
    sizes = np.abs(points).max(axis=1, keepdims=True)
    points = points / np.where(sizes > 0.0, sizes, 1.0)
    lengths = np.sqrt((points**2).sum(axis=1))
    if len(points) == 0 or not lengths.all():
        raise ValueError(
            f"points have shape {points.shape} and least length {lengths.min(initial=0.0):g}: "
            "expected at least one, and no zero vector."
        )
    vectors = points / lengths[:, None]
    n, d = vectors.shape
    sums = np.zeros(_MOST_DESIGN + 1)
    rows = max(1, _PAIRS_AT_ONCE // (n * (_MOST_DESIGN + 1)))
    for start in range(0, n, rows):
        cosines = (vectors[start : start + rows] @ vectors.T).ravel()
        sums += polynomials(d, cosines, _MOST_DESIGN).sum(axis=1)
    return _strength(sums / n**2)


def _strength(squares: FloatArray) -> int:
    """Largest t with moments 0 of degrees 1 ... t; squares are int int P_l dmu dmu."""
    present = np.abs(squares[1:]) > _MOMENT
    return int(present.argmax()) if present.any() else len(present)


def relaxation_gap(measure: Measure, beta: float) -> float:
    """Least eigenvalue of the Hessian of P at points of equal mass, without rotations.

    It uses exact derivatives of the velocity (`cluster_rates`). Small perturbations of an optimal
    configuration decay at least like e^{-rate t}, rate = gap / (n beta) in scaled time. A negative
    gap means that P falls in some direction. It is infinite if there are only rotations. beta is
    positive, at most 300, as P may underflow beyond.

    >>> import meanfield as mf
    >>> law = mf.from_points(np.concatenate([np.eye(3), -np.eye(3)]))
    >>> round(relaxation_gap(law.build(mf.Sphere()), 5.0), 8)
    0.26997188
    """
    check_beta(beta)
    hessian, rotations, _ = hessian_of(measure, beta)
    others = null_space(rotations.T)
    if not others.shape[1]:
        return np.inf
    return float(np.linalg.eigvalsh(others.T @ hessian @ others)[0])


def check_beta(beta: float) -> None:
    """Refuse a beta that is not positive, or for which P may underflow."""
    if not 0.0 < beta <= _LARGEST_BETA:
        raise ValueError(f"beta must be positive, at most {_LARGEST_BETA:g}, got {beta:g}.")


def hessian_of(measure: Measure, beta: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Riemannian Hessian (n k, n k) of P, rotations (n k, r), gradient (n k,) in tangent frames."""
    n, manifold = len(measure.points), measure.manifold
    frames = tangent_frames(measure)
    size = n * frames.shape[1]
    problem = Problem(manifold, exponential(beta), Flow("none", strength=-1.0))
    linear = linearisation(problem, measure, frames)
    hessian = -n * beta * linear.among_clusters.reshape(size, size)
    gradient = -n * beta * linear.drift.reshape(size)
    return 0.5 * (hessian + hessian.T), _rotations(manifold, measure.points, frames), gradient


def _rotations(manifold: Manifold, points: FloatArray, frames: FloatArray) -> FloatArray:
    if points.ndim == 1:
        return np.full((len(points), 1), len(points) ** -0.5)
    # A = e_a e_b^T - e_b e_a^T moves x by A x; its tangent components are <frame, A x>.
    d = points.shape[1]
    a, b = np.triu_indices(d, 1)
    moved = frames[:, :, a] * points[:, None, b] - frames[:, :, b] * points[:, None, a]
    left, sizes, _ = np.linalg.svd(moved.reshape(-1, len(a)), full_matrices=False)
    return np.asarray(left[:, sizes > 1e-8 * sizes[0]])


@dataclass(frozen=True, eq=False)
class PairEnergyBound:
    """A lower bound of P for all configurations of n points of S^{d-1}.

    - coefficients (degree + 1,): h_l, with h_l >= 0 for l >= 1.
    - shift: h - shift <= e^{beta (s - 1)} on [-1, 1] is proved, rounding included.
    """

    value: float
    coefficients: FloatArray
    shift: float


@checked
def pair_energy_bound(
    dimension: int, tokens: int, beta: float, *, degree: int = 12
) -> PairEnergyBound:
    """Lower bound of P by the linear programme of Delsarte and Yudin.

        max n^2 h_0 - n h(1),    h = sum_{l <= degree} h_l P_l,    h_l >= 0 for l >= 1,
        h <= f on [-1, 1],       f(s) = e^{beta (s - 1)}.

    The bound does not rely on the solver. Intervals are halved until Taylor's formula of order two,
    with the remainder (sum_l h_l P_l'''(1) + max f''') r^3 / 6, proves h - f <= shift on each.
    Then n (n - 1) shift is subtracted.

    >>> bound = pair_energy_bound(3, 5, 5.0)
    >>> round(bound.value, 7), bound.shift < 1e-12
    (0.0332737, True)
    """
    at_least(2, dimension=dimension, tokens=tokens)
    at_least(1, degree=degree)
    if not beta > 0:
        raise ValueError(f"beta must be positive, got {beta:g}.")
    n = tokens
    best = PairEnergyBound(0.0, np.zeros(degree + 1), 0.0)
    for h in _candidates(dimension, n, beta, degree):
        shift = _largest_excess(dimension, beta, h)
        value = 0.5 * (n**2 * h[0] - n * h.sum() - n * (n - 1) * shift)
        # Rounding of n^2 h_0 and n h(1), whose difference may nearly cancel.
        value -= 8 * EPS * (n**2 * abs(h[0]) + n * h.sum())
        if value > best.value:
            best = PairEnergyBound(float(value), h, shift)
    return best


def _candidates(d: int, n: int, beta: float, degree: int) -> list[FloatArray]:
    """Polynomials h that nearly solve the programme for f, and for an f of smaller beta."""
    solutions = _programme(d, n, beta, beta, degree)
    return solutions + (_programme(d, n, beta, _MILD, degree) if beta > _MILD else [])


def _programme(d: int, n: int, beta: float, solved: float, degree: int) -> list[FloatArray]:
    """Candidates h for beta, from programmes with the kernel of beta = solved."""
    from scipy.optimize import linprog

    places = np.cos(np.pi * np.arange(_FIRST_PLACES + 1) / _FIRST_PLACES)
    cost = np.full(degree + 1, float(n))
    cost[0] = n - float(n) ** 2
    bounds = [(None, None)] + [(0.0, None)] * degree
    solutions: list[FloatArray] = []
    # The first programme has the unit f(0), and rows divided by the root of f, to keep entries near
    # 1. Later ones have the unit of h, so that tolerances are small beside h.
    unit, root = max(float(np.exp(-solved)), _LEAST), True
    for _ in range(_EXCHANGES):
        kernel = np.maximum(np.exp(solved * (places - 1.0)), _LEAST)
        scale = np.sqrt(kernel) if root else np.full(len(kernel), unit)
        limit = kernel / scale
        answer = linprog(
            cost,
            unit * polynomials(d, places, degree).T / scale[:, None],
            limit if root else np.minimum(limit, _FAR_ABOVE),
            bounds=bounds,
            method="highs",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if answer.x is None:
            break
        h = unit * np.concatenate([answer.x[:1], np.maximum(answer.x[1:], 0.0)])
        unit, root = max(float(np.abs(h).max()), _LEAST), False
        if solved == beta:
            solutions.append(h)
        touching, height = _maxima(d, solved, h)
        near = touching[height > -1e-3 * np.exp(solved * (touching - 1.0))]
        count = min(2 * len(near) - int((near == -1.0).sum()), degree + 1)
        largest = np.sort(np.argsort(-np.concatenate([[np.inf], h[1:]]))[:count])
        # If the programme has many solutions, one of them has the lowest degrees.
        tried = (
            _touching(d, n, beta, near, active, degree) for active in (largest, np.arange(count))
        )
        solutions += [each for each in tried if each is not None]
        places = np.concatenate([places, near])
    return solutions


def _touching(
    d: int, n: int, beta: float, near: FloatArray, active: npt.NDArray[np.intp], degree: int
) -> FloatArray | None:
    """Polynomial that touches f near the given places; None if there is no such polynomial.

    At the optimum h touches f at places t_i, with h = f and h' = f' (at -1 only h = f). As many
    h_l are positive as there are conditions. The dual determines the places, for every f:

        sum_i w_i P_l(t_i) = n^2 [l = 0] - n    for these l.
    """
    inside = near[near > -1.0]
    at = np.concatenate([np.full(len(near) - len(inside), -1.0), inside])
    moving = len(at) - len(inside)
    wanted = np.where(active == 0, float(n) ** 2 - n, -float(n))
    values, slopes = _values_and_slopes(d, at, degree, active)
    weights = np.linalg.lstsq(values, wanted, rcond=None)[0]
    for _ in range(20):
        rows = np.concatenate([values, (weights * slopes)[:, moving:]], axis=1)
        change = np.linalg.lstsq(rows, wanted - values @ weights, rcond=None)[0]
        weights = weights + change[: len(at)]
        at[moving:] += change[len(at) :]
        if not (np.abs(at) <= 1.0).all():
            return None
        values, slopes = _values_and_slopes(d, at, degree, active)
    f = np.exp(beta * (at - 1.0))
    rows = np.concatenate([values, slopes[:, moving:]], axis=1).T
    polynomial = np.zeros(degree + 1)
    polynomial[active] = np.linalg.lstsq(rows, np.concatenate([f, beta * f[moving:]]), rcond=None)[
        0
    ]
    return polynomial if (polynomial[1:] >= 0).all() else None


def _values_and_slopes(
    d: int, s: FloatArray, degree: int, of: npt.NDArray[np.intp]
) -> tuple[FloatArray, FloatArray]:
    """P_l(s) and P_l'(s) for the degrees l in `of`, shape (len(of), len(s)) each."""
    slopes = np.zeros((degree + 1, len(s)))
    slopes[1:] = polynomials(d + 2, s, degree - 1)
    slopes *= _derivative_factors(d, degree, 0)[:, None]
    return polynomials(d, s, degree)[of], slopes[of]


def _maxima(d: int, beta: float, h: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Places of the local maxima of h - f on [-1, 1], and their heights."""
    grid = np.cos(np.pi * np.arange(2001) / 2000)[::-1]
    excess = _excess(d, beta, h, grid)[0]
    padded = np.concatenate([[-np.inf], excess, [-np.inf]])
    at = grid[(padded[1:-1] >= padded[:-2]) & (padded[1:-1] >= padded[2:])]
    for _ in range(5):
        _, slope, curvature = _excess(d, beta, h, at)
        inside = (np.abs(at) < 1.0) & (curvature < 0)
        at = np.where(inside, at - slope / np.where(inside, curvature, 1.0), at)
        at = np.clip(at, -1.0, 1.0)
    return at, _excess(d, beta, h, at)[0]


def _excess(d: int, beta: float, h: FloatArray, s: FloatArray) -> FloatArray:
    """Excess h - f and its first two derivatives at s, shape (3, len(s))."""
    f, rows, factor = np.exp(beta * (s - 1.0)), [], h.copy()
    for k in range(3):
        rows.append(factor[k:] @ polynomials(d + 2 * k, s, len(h) - 1 - k) - beta**k * f)
        factor = factor * _derivative_factors(d, len(h) - 1, k)
        if len(h) - 1 - k < 1:
            rows += [-(beta**j) * f for j in range(k + 1, 3)]
            break
    return np.array(rows)


def _derivative_factors(d: int, degree: int, k: int) -> FloatArray:
    """Ratios P_l^(k + 1)(1) / P_l^(k)(1) = (l - k) (l + d - 2 + k) / (d - 1 + 2 k)."""
    l = np.arange(degree + 1)
    return np.asarray((l - k) * (l + d - 2.0 + k) / (d - 1.0 + 2 * k))


def _largest_excess(d: int, beta: float, h: FloatArray) -> float:
    """A proved upper bound of h - f on [-1, 1], not below 0."""
    third = np.abs(h).copy()
    for k in range(3):
        third *= np.abs(_derivative_factors(d, len(h) - 1, k))
    # |P_l'''| <= P_l'''(1) on [-1, 1]: it is a positive multiple of P_{l-3} in dimension d + 6.
    of_polynomial = third[3:].sum()
    # Rounding of the recurrence, a few eps a degree, and of f where h may reach it.
    most = float(np.abs(h).sum())
    noise = 4 * EPS * (len(h) + 1.0 + beta) * most
    centres, radius, bound = np.linspace(-1.0, 1.0, 129)[1::2], 1.0 / 64.0, 0.0
    for _ in range(_DEEPEST):
        # Elsewhere f exceeds the maximum of h.
        centres = centres[np.exp(beta * (centres - radius - 1.0)) <= 1.01 * most]
        value, slope, curvature = _excess(d, beta, h, centres)
        of_kernel = beta**3 * np.exp(beta * (centres + radius - 1.0))
        remainder = (of_polynomial + of_kernel) * radius**3 / 6.0
        top = _quadratic_maximum(value, slope, curvature, radius) + remainder
        # Halving gains nothing below noise.
        bound = max(bound, float(value.max(initial=0.0)))
        left = top > max(bound, 0.0) + noise
        if not left.any():
            return float(bound + 2.0 * noise)
        centres = (centres[left, None] + 0.5 * radius * np.array([-1.0, 1.0])).ravel()
        radius *= 0.5
    return float(bound + top[left].max())


def _quadratic_maximum(
    value: FloatArray, slope: FloatArray, curvature: FloatArray, radius: float
) -> FloatArray:
    """Largest value + slope x + curvature x^2 / 2 over |x| <= radius."""
    ends = value + np.abs(slope) * radius + 0.5 * curvature * radius**2
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = value - 0.5 * slope**2 / curvature
        inside = (curvature < 0) & (np.abs(slope) <= -curvature * radius)
    return np.where(inside, inner, ends)
