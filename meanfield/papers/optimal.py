"""Optimal configurations: the least pair energy of n repulsive tokens, searched from many starts.

From independent uniform tokens, each search minimises

    (1 / beta) log P,    P = sum_{i < j} e^{beta (s_ij - 1)}.

L-BFGS on normalised vectors comes first. Newton's method with the Hessian of
`papers.configurations` follows until the gradient is rounding. The logarithm, computed relative to
the largest pair, never underflows.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import null_space

from meanfield.arguments import at_least, checked
from meanfield.arrays import FloatArray
from meanfield.engines.threads import one_blas_thread
from meanfield.measures import Measure
from meanfield.papers.configurations import (
    Sharp,
    check_beta,
    design_strength,
    energy_of,
    hessian_of,
    pair_energy,
    pair_energy_bound,
    relaxation_gap,
    sharp_configuration,
    uniform_energy,
)
from meanfield.progress import followed, wants_bar
from meanfield.spaces.configurations import shape_points
from meanfield.spaces.manifold import Manifold
from meanfield.spectrum.cluster_rates import tangent_frames
from meanfield.studies.executors import finished
from meanfield.studies.study import rng_of

# Unknowns of Newton's method, whose matrices are full.
_MOST_UNKNOWNS = 2000
_MOST_STEPS = 5000
_NEWTON_STEPS = 60
# Minima with a smaller relative difference of energy are one; different minima may differ by 1e-6.
_SAME = 1e-10
# Longest step of Newton's method, radians; relative curvatures below which a mode is flat, and
# below minus which a point is a saddle.
_LONGEST_STEP = 0.1
_FLAT = 1e-13
_SADDLE = 1e-9


@dataclass(frozen=True, eq=False)
class Configuration:
    """Configuration of n equal tokens with the least energy found.

    - points: angles (n,) in radians on the circle, unit vectors (n, d) on spheres.
    - pair_energy: P = sum_{i < j} e^{beta (<x_i, x_j> - 1)}.
    - gradient: largest |grad_i P| / (beta P).
    - starts, found: number of random starts, and of starts that reached this energy.
    - minima (tuple of (float, int)): pair energy and number of starts of each local minimum.
    - sharp (Sharp or None): the configuration that is proved to be optimal for every beta.
    """

    manifold: Manifold
    beta: float
    points: FloatArray
    pair_energy: float
    gradient: float
    starts: int
    found: int
    minima: tuple[tuple[float, int], ...]
    sharp: Sharp | None

    @property
    def tokens(self) -> int:
        return len(self.points)

    @property
    def measure(self) -> Measure:
        """The points with equal masses."""
        return Measure(self.manifold, self.points)

    @property
    def energy(self) -> float:
        """Energy eps_n = (n + 2 P) / n^2 = int int e^{beta (<x, y> - 1)} dmu dmu."""
        return energy_of(self.pair_energy, self.tokens)

    @property
    def uniform_energy(self) -> float:
        """Energy a_0 of the uniform measure, a lower bound that n tokens do not attain."""
        return uniform_energy(self.manifold.ambient, self.beta)

    @cached_property
    def gap(self) -> float:
        """Least eigenvalue of the Hessian of P without rotations; ValueError for many tokens."""
        _check_unknowns(self.manifold, self.tokens, "the gap")
        with one_blas_thread():
            return relaxation_gap(self.measure, self.beta)

    @property
    def relaxation_rate(self) -> float:
        """Decay rate gap / (n beta) of the slowest perturbation, scaled time (USA, strength -1)."""
        return self.gap / (self.tokens * self.beta)

    @cached_property
    def design(self) -> int:
        """Largest t for which the points are a t-design, at most 64 if sharp, else at most 24."""
        if self.sharp is not None:
            return self.sharp.design
        return design_strength(self.points)

    @cached_property
    def lower_bound(self) -> float:
        """Lower bound of P over all configurations: P if proved, else `pair_energy_bound`."""
        if self.sharp is not None:
            return self.pair_energy
        return pair_energy_bound(self.manifold.ambient, self.tokens, self.beta).value

    @property
    def proved(self) -> bool:
        """True if a theorem proves optimality."""
        return self.sharp is not None

    def __repr__(self) -> str:
        proof = f", {self.sharp.name}, proved optimal" if self.sharp else ""
        return (
            f"Configuration({self.tokens} tokens on the {self.manifold.name}, beta "
            f"{self.beta:g}: P = {self.pair_energy:.12g}{proof}; found by {self.found} of "
            f"{self.starts} starts)"
        )


@checked
def optimal_configuration(
    manifold: Manifold,
    tokens: int,
    beta: float,
    *,
    starts: int = 40,
    seed: int = 0,
    tolerance: float = 1e-12,
    executor: Executor | None = None,
    progress: bool | None = None,
) -> Configuration:
    """Configuration of n repulsive tokens at rest, with the least energy of many random starts.

    It minimises P = sum_{i < j} e^{beta (<x_i, x_j> - 1)} on a circle or sphere. Polygons,
    simplices, cross-polytopes and other sharp configurations are proved to be optimal. In other
    cases `Configuration.lower_bound` bounds P for all configurations.

    Parameters
    ----------
    manifold : Manifold
        mf.Circle(), mf.Sphere() or mf.Sphere(d).
    tokens : int
        n, at least 2.
    beta : float
        Positive, at most 300.
    starts : int
        Random starts; 0 skips the search if the optimum is proved.
    seed : int
        Seed of the starts. A start depends on seed, tokens, dimension and its number only.
    tolerance : float
        Largest |grad_i P| / (beta P) of a minimum, from 1e-13 to 1e-3.
    executor, progress
        As in `meanfield.ensemble`.

    Raises
    ------
    ValueError
        If a number is out of range, the manifold is not a circle or sphere of tokens, or no start
        reached a minimum.

    References
    ----------
    Cohn, Kumar, Universally optimal distribution of points on spheres, J. Amer. Math. Soc. 20
    (2007).

    Examples
    --------
    Five tokens on the sphere, for which no proof is known, change their shape near beta = 6.886:

    >>> import meanfield as mf
    >>> best = mf.optimal_configuration(mf.Sphere(), 5, beta=5.0, starts=4)
    >>> best
    Configuration(5 tokens on the sphere, beta 5: P = 0.0421323350347; found by 4 of 4 starts)
    >>> round(best.lower_bound, 7), best.design, round(best.gap, 7)
    (0.0332737, 1, 0.0206148)
    >>> mf.optimal_configuration(mf.Sphere(8), 240, beta=5.0, starts=0).sharp.name
    'e8'
    """
    if not manifold.is_sphere or manifold.has_rings:
        raise ValueError(
            f"optimal configurations are those of tokens on spheres, got {manifold!r}: take "
            "mf.Circle() or mf.Sphere(d)."
        )
    at_least(2, tokens=tokens)
    at_least(0, starts=starts, seed=seed)
    check_beta(beta)
    if not 1e-13 <= tolerance <= 1e-3:
        raise ValueError(f"tolerance must lie between 1e-13 and 1e-3, got {tolerance:g}.")
    sharp = sharp_configuration(manifold.ambient, tokens)
    if starts:
        _check_unknowns(manifold, tokens, "a search (starts > 0)")
    elif sharp is None:
        raise ValueError(
            f"the optimum of {tokens} tokens on the {manifold.name} is not proved: starts must be "
            "at least 1."
        )
    search = partial(_minimum, manifold, tokens, beta, seed, tolerance)
    done: Iterable[tuple[int, _Minimum | None]] = finished(search, range(starts), executor)
    if wants_bar(progress):
        done = followed(done, starts, "starts")
    with one_blas_thread():
        answers = dict(done)
    # In the order of their numbers, whichever finished first.
    met = [answer for number in range(starts) if (answer := answers[number]) is not None]
    if sharp is None and not met:
        raise ValueError(
            f"none of {starts} starts came within tolerance = {tolerance:g} of a minimum: raise it."
        )
    minima = _distinct([answer.pair_energy for answer in met])
    if sharp is None:
        best = next(answer for answer in met if answer.pair_energy <= minima[0][0] * (1.0 + _SAME))
    else:
        best = _sharp_minimum(manifold, sharp, beta)
    same = [answer for answer in met if answer.pair_energy <= best.pair_energy * (1.0 + _SAME)]
    return Configuration(
        manifold=manifold,
        beta=beta,
        points=best.points,
        pair_energy=best.pair_energy,
        gradient=best.gradient,
        starts=starts,
        found=len(same),
        minima=minima,
        sharp=sharp,
    )


class _Minimum(NamedTuple):
    points: FloatArray
    pair_energy: float
    gradient: float


def _sharp_minimum(manifold: Manifold, sharp: Sharp, beta: float) -> _Minimum:
    family = {"polygon": {"tokens": sharp.tokens}, "simplex": {"dimension": sharp.tokens - 1}}
    vectors, _ = shape_points(sharp.name, manifold.ambient, **family.get(sharp.name, {}))
    return _Minimum(manifold.points_of(vectors), sharp.pair_energy(beta), 0.0)


def _distinct(energies: list[float]) -> tuple[tuple[float, int], ...]:
    """Distinct energies in increasing order, and the number of each."""
    distinct: list[tuple[float, int]] = []
    for energy in sorted(energies):
        if distinct and energy <= distinct[-1][0] * (1.0 + _SAME):
            distinct[-1] = (distinct[-1][0], distinct[-1][1] + 1)
        else:
            distinct.append((energy, 1))
    return tuple(distinct)


def _check_unknowns(manifold: Manifold, tokens: int, what: str) -> None:
    unknowns = tokens * manifold.dimension
    if unknowns > _MOST_UNKNOWNS:
        raise ValueError(
            f"{what} takes matrices of {unknowns} rows, one a coordinate of {tokens} tokens: at "
            f"most {_MOST_UNKNOWNS}, take fewer tokens."
        )


def _minimum(
    manifold: Manifold, tokens: int, beta: float, seed: int, tolerance: float, number: int
) -> _Minimum | None:
    """Local minimum reached from one random start; None if none was reached."""
    d = manifold.ambient
    vectors = rng_of(seed, tokens, d, number).standard_normal((tokens, d))
    for _ in range(3):
        minimum, downhill = _polished(manifold, _descended(vectors, beta), beta, tolerance)
        if minimum is None or downhill is None:
            return minimum
        vectors = downhill  # from a saddle
    return None


def _descended(vectors: FloatArray, beta: float) -> FloatArray:
    """Unit vectors near a minimum, by L-BFGS."""
    from scipy.optimize import minimize

    shape = vectors.shape
    answer = minimize(
        lambda flat: _log_energy(flat.reshape(shape), beta),
        vectors.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _MOST_STEPS, "maxfun": 2 * _MOST_STEPS, "ftol": 1e-15, "gtol": 1e-9},
    )
    point = answer.x.reshape(shape)
    return np.asarray(point / np.sqrt((point**2).sum(axis=1))[:, None])


def _log_energy(vectors: FloatArray, beta: float) -> tuple[float, FloatArray]:
    """(1 / beta) log P of the directions of vectors, and its gradient, flat."""
    lengths = np.sqrt((vectors**2).sum(axis=1))[:, None]
    units = vectors / lengths
    cosines = units @ units.T
    np.fill_diagonal(cosines, -np.inf)
    largest = cosines.max()
    weights = np.exp(beta * (cosines - largest))
    total = weights.sum()  # each pair twice
    toward = 2.0 / total * (weights @ units)
    toward -= (toward * units).sum(axis=1)[:, None] * units
    return float(largest - 1.0 + np.log(0.5 * total) / beta), (toward / lengths).ravel()


def _polished(
    manifold: Manifold, vectors: FloatArray, beta: float, tolerance: float
) -> tuple[_Minimum | None, FloatArray | None]:
    """Critical point by Newton's method, or None; for a saddle also vectors downhill of it."""
    reached = False
    for _ in range(_NEWTON_STEPS):
        measure = Measure(manifold, manifold.points_of(vectors))
        energy = pair_energy(vectors, beta)
        hessian, rotations, gradient = hessian_of(measure, beta)
        others = null_space(rotations.T)
        curvature, modes = np.linalg.eigh(others.T @ hessian @ others)
        modes = others @ modes
        frames = tangent_frames(measure)
        slopes = np.sqrt((gradient.reshape(len(vectors), -1) ** 2).sum(axis=1))
        size = float(slopes.max()) / (beta * energy)
        if size <= tolerance and reached:
            saddle = curvature[0] < -_SADDLE * curvature[-1]
            beside = _moved(vectors, frames, 0.01 * modes[:, 0]) if saddle else None
            return _Minimum(measure.points, energy, size), beside
        # One more step after the tolerance is met: flat directions need it.
        reached = size <= tolerance
        # Downhill along every mode, also where P is concave.
        steep = np.maximum(np.abs(curvature), _FLAT * curvature[-1])
        step = -modes @ (modes.T @ gradient / steep)
        step *= min(1.0, _LONGEST_STEP / max(np.abs(step).max(), _FLAT))
        vectors = _moved(vectors, frames, step)
    return None, None


def _moved(vectors: FloatArray, frames: FloatArray, step: FloatArray) -> FloatArray:
    """Unit vectors moved by tangent vectors, given by components (n k,) in frames."""
    n, d = vectors.shape
    if d == 2 and frames.shape[2] == 1:
        tangents = np.stack([-vectors[:, 1], vectors[:, 0]], axis=1) * step[:, None]
    else:
        tangents = np.einsum("nkd,nk->nd", frames, step.reshape(n, -1))
    points = vectors + tangents
    return np.asarray(points / np.sqrt((points**2).sum(axis=1))[:, None])
