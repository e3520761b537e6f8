"""Critical points of the interaction energy of n equal tokens on the circle, and theorems on them.

The energy is E = (1 / 2 beta n^2) sum a(cos(theta_i - theta_j)); for beta = 0 the potential is cos
in place of a / beta. Its gradient is v / n, with the velocity v without normalisation. The
Jacobian of v is symmetric:

    J_ij = h'(theta_i - theta_j) / n,    J_ii = -sum_{j != i} J_ij,    h(phi) = a(cos phi) sin phi.

The index is the number of positive eigenvalues, 0 at a local maximum. Softmax is the gradient flow
in another metric, with the same critical points and indices. If one cluster is the only maximum,
almost every start ends there (centre-stable manifolds; Lojasiewicz).

For beta = 0, E = |R|^2 / 2. Critical points have R = 0, or are opposite groups of p > m tokens.
The latter have index m and the eigenvalues 1, R = (p - m) / n (m - 1 times), 0, -R (p - 1 times).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meanfield.arguments import at_least, at_most, checked
from meanfield.arrays import EPS, FloatArray, IntArray
from meanfield.papers.contraction import is_one_cluster_almost_surely
from meanfield.papers.random_tokens import hemisphere_probability
from meanfield.spaces import Geometry

_STEPS = 80
_CLIMB = 100
# Longest step of Newton's method, radians; its quadratic model holds no farther.
_LONGEST = 0.5
# Eigenvalues of J, and velocities, below this share of the largest eigenvalue, times n, are 0.
_NOISE = 64 * EPS
# Angle below which tokens are one cluster.
_TOGETHER = 1e-6
# Relative difference of energies or eigenvalues above which two points differ.
_APART = 1e-6
_MOST_TOKENS = 64
_PROVED_FROM = -0.16
_FAILS_BELOW = -2.0 / 3.0


@dataclass(frozen=True, eq=False)
class CriticalPoints:
    """Critical points found, highest energy first, each once up to rotations and reflections.

    - converged: number of starts from which Newton's method found a critical point.
    - angles (points, tokens): radians, in order, from the first token.
    - energy (points,): mean over all pairs of [a(cos) - a(-1)] / [a(1) - a(-1)]: 1 for one cluster.
    - index (points,): number of positive eigenvalues.
    - nullity (points,): number of eigenvalues that are 0 up to rounding, besides rotations. If
      positive, the point is not isolated, or its index is undecided.
    - smallest (points,): smallest positive eigenvalue, scaled time; NaN at a maximum.
    - largest (points,): largest eigenvalue, the escape rate of v; 0 at a maximum.
    - multiplicities (tuple of tuples): tokens in each cluster of a point, around the circle.
    - labelled (tuple of int): number of ways to label the tokens of a point, up to rotations.
    - hits (points,): number of starts that led there.
    """

    beta: float
    tokens: int
    starts: int
    seed: int
    converged: int
    angles: FloatArray
    energy: FloatArray
    index: IntArray
    nullity: IntArray
    smallest: FloatArray
    largest: FloatArray
    multiplicities: tuple[tuple[int, ...], ...]
    labelled: tuple[int, ...]
    hits: IntArray

    @property
    def spurious(self) -> IntArray:
        """Maxima besides one cluster: index and nullity 0."""
        return np.flatnonzero(self._several & (self.index == 0) & (self.nullity == 0))

    @property
    def undecided(self) -> IntArray:
        """Points besides one cluster that may be maxima: index 0, and a nullity."""
        return np.flatnonzero(self._several & (self.index == 0) & (self.nullity > 0))

    @property
    def _several(self) -> npt.NDArray[np.bool_]:
        return np.array([len(each) > 1 for each in self.multiplicities])

    @property
    def euler_sum(self) -> int | None:
        """Sum of (-1)^index over all labelled points; None if an index is undecided.

        For all critical points it is 0, the Euler characteristic of the torus of n - 1 angles
        between tokens (Morse). Another number proves that points are missing; 0 proves nothing.
        """
        if np.any(self.nullity > 0):
            return None
        odd = (self.index % 2).tolist()
        return sum(-n if i else n for n, i in zip(self.labelled, odd, strict=True))

    @property
    def certificate(self) -> str:
        """One sentence on the search and its result."""
        several, count = np.flatnonzero(self._several), len(self.index)
        text = (
            f"{self.tokens} tokens on the circle, beta = {self.beta:g}: of {self.starts} starts "
            f"(seed {self.seed}) {self.converged} led to {count} critical points"
        )
        if len(self.spurious):
            shapes = ", ".join(str(self.multiplicities[i]) for i in self.spurious)
            return f"{text}; maxima besides one cluster: {shapes}."
        if len(self.undecided):
            shapes = ", ".join(str(self.multiplicities[i]) for i in self.undecided)
            return f"{text}; maxima or not, rounding does not say: {shapes}."
        if not len(several):
            return f"{text}, one cluster alone."
        least = self.largest[several].min()
        euler = self.euler_sum
        if euler is not None:
            text += " (Euler sum 0)" if euler == 0 else f" (Euler sum {euler:.4g}: there are more)"
        return f"{text}; no maximum but one cluster, all others are left at {least:.4g} or faster."

    def __repr__(self) -> str:
        return f"CriticalPoints({self.certificate[:-1]})"


@checked
def critical_points(
    beta: float, tokens: int, *, starts: int = 1000, seed: int = 0
) -> CriticalPoints:
    """Critical points of the energy of n equal tokens on the circle, by Newton's method.

    Half of the starts are independent uniform angles. The others are clusters at random places,
    of random or nearly equal sizes. Half of the former and all clusters of nearly equal sizes
    begin with gradient ascent, because Newton's method does not prefer maxima.

    Parameters
    ----------
    beta : float
        Of exponential(beta), or 0 for linear(). The escape rate e^{-2 |beta|} of opposite clusters
        must exceed rounding: |beta| is at most 13.8 for 64 tokens, 15.3 for three.
    tokens : int
        n, 2 to 64.
    starts, seed : int
        Number of random starts, at least 1, and their seed.

    Returns
    -------
    CriticalPoints
        Points may be missing; `.certificate` describes the search.

    Raises
    ------
    ValueError
        If numbers are out of range.

    References
    ----------
    Geshkovski, Letrouit, Polyanskiy, Rigollet, arXiv:2312.10794, Problem 3: whether all critical
    points but one cluster are strict saddles. Polyanskiy, Rigollet, Yao, arXiv:2507.22857.

    Examples
    --------
    >>> found = critical_points(5.0, 4, starts=200)
    >>> for i in range(len(found.index)):
    ...     print(found.multiplicities[i], found.index[i], f"{found.largest[i]:.4g}")
    (4,) 0 0
    (1, 3) 1 4.54e-05
    (2, 2) 1 4.54e-05
    (1, 1, 2) 2 0.002831
    (1, 1, 1, 1) 3 0.03369

    >>> found.euler_sum
    0

    For beta < -2/3 a triangle is stable:

    >>> [critical_points(b, 3, starts=100).spurious.size for b in (-0.6, -0.8)]
    [0, 1]
    """
    at_least(2, tokens=tokens)
    at_most(_MOST_TOKENS, tokens=tokens)
    at_least(1, starts=starts)
    at_least(0, seed=seed)
    # Forces between clusters that are far apart must exceed rounding.
    most = math.floor(-5.0 * math.log(_NOISE * tokens)) / 10.0
    if abs(beta) > most:
        raise ValueError(
            f"beta = {beta:g}: rates of {tokens} tokens down to e^(-2 |beta|) are rounding beside "
            f"the fastest, take at most {most:.1f} in modulus."
        )
    angles = _random_starts(tokens, starts, np.random.default_rng(seed))
    angles[2::4], angles[3::4] = _climbed(angles[2::4], beta), _climbed(angles[3::4], beta)
    for _ in range(_STEPS):
        velocity, jacobian = _velocity_and_jacobian(angles, beta)
        values, vectors = np.linalg.eigh(jacobian)
        noise = _noise(values)
        with np.errstate(divide="ignore"):
            inverse = np.where(np.abs(values) > noise[:, None], 1.0 / values, 0.0)
        parts = np.einsum("sij,si->sj", vectors, velocity) * inverse
        step = -np.einsum("sij,sj->si", vectors, parts)
        length = np.abs(step).max(axis=1, keepdims=True)
        angles = angles + step * np.minimum(1.0, _LONGEST / np.maximum(length, 1e-300))
    velocity, jacobian = _velocity_and_jacobian(angles, beta)
    values = np.asarray(np.linalg.eigvalsh(jacobian), dtype=np.float64)
    reached = (np.abs(velocity).max(axis=1) <= _noise(values)) & (length[:, 0] < 1e-6)
    return _sorted(beta, tokens, starts, seed, angles[reached], values[reached])


def _random_starts(tokens: int, starts: int, rng: np.random.Generator) -> FloatArray:
    """Angles, shape (starts, tokens): independent ones and clusters in turn."""
    angles = 2.0 * np.pi * rng.random((starts, tokens))
    for i in range(1, starts, 2):
        clusters = rng.integers(1, tokens + 1)
        # Clusters of equal sizes may be stable for beta < 0.
        place = np.arange(tokens) % clusters if i % 4 == 3 else rng.integers(0, clusters, tokens)
        angles[i] = angles[i, place]
    return angles


def _climbed(angles: FloatArray, beta: float) -> FloatArray:
    """Angles after gradient ascent, with the steps that the curvature allows."""
    for _ in range(_CLIMB):
        velocity, jacobian = _velocity_and_jacobian(angles, beta)
        bend = np.abs(jacobian).sum(axis=2).max(axis=1, initial=1e-300)
        angles = angles + np.clip(velocity / bend[:, None], -_LONGEST, _LONGEST)
    return angles


def _velocity_and_jacobian(angles: FloatArray, beta: float) -> tuple[FloatArray, FloatArray]:
    """Velocities v, shape (starts, n), and their derivatives, shape (starts, n, n)."""
    n = angles.shape[1]
    away = angles[:, None, :] - angles[:, :, None]
    cosine, sine = np.cos(away), np.sin(away)
    attention = np.exp(beta * cosine - abs(beta)) / n
    velocity = (attention * sine).sum(axis=2)
    jacobian = attention * (cosine - beta * sine**2)
    each = np.arange(n)
    jacobian[:, each, each] = 0.0
    jacobian[:, each, each] = -jacobian.sum(axis=2)
    return velocity, jacobian


def _noise(values: FloatArray) -> FloatArray:
    """Rounding error of eigenvalues and velocities, shape (starts,)."""
    return np.asarray(_NOISE * values.shape[1] * np.abs(values).max(axis=1))


def _sorted(
    beta: float, tokens: int, starts: int, seed: int, angles: FloatArray, values: FloatArray
) -> CriticalPoints:
    """Each point once; two points are equal if energy, eigenvalues and clusters agree."""
    cosine = np.cos(angles[:, None, :] - angles[:, :, None])
    energy = _share_of_energy(beta, np.minimum(cosine, 1.0)).mean(axis=(1, 2))
    noise = _noise(values)
    kinds: list[tuple[int, tuple[int, ...]]] = []
    hits: list[int] = []
    for i in np.argsort(-energy, kind="stable"):
        clusters = _clusters(angles[i])
        scale = np.abs(values[i]).max()
        for k, (first, shape) in enumerate(kinds):
            if (
                shape == clusters
                and abs(energy[i] - energy[first]) <= _APART * abs(energy[first])
                and np.abs(values[i] - values[first]).max() <= _APART * scale
            ):
                hits[k] += 1
                break
        else:
            kinds.append((int(i), clusters))
            hits.append(1)
    first_of_kind = np.array([first for first, _ in kinds], dtype=np.int64)
    values, noise = values[first_of_kind], noise[first_of_kind, None]
    positive = np.where(values > noise, values, np.inf).min(axis=1, initial=np.inf)
    places = (angles[first_of_kind] - angles[first_of_kind, :1]) % (2.0 * np.pi)
    return CriticalPoints(
        beta=beta,
        tokens=tokens,
        starts=starts,
        seed=seed,
        converged=len(angles),
        angles=np.sort(places, axis=1),
        energy=energy[first_of_kind],
        index=(values > noise).sum(axis=1),
        nullity=(np.abs(values) <= noise).sum(axis=1) - 1,
        smallest=np.where(np.isfinite(positive), positive, np.nan),
        largest=np.where(values[:, -1:] > noise, values[:, -1:], 0.0)[:, 0],
        multiplicities=tuple(shape for _, shape in kinds),
        labelled=tuple(_ways(angles[first]) for first, _ in kinds),
        hits=np.array(hits, dtype=np.int64),
    )


def _share_of_energy(beta: float, cosine: FloatArray) -> FloatArray:
    """[a(s) - a(-1)] / [a(1) - a(-1)], increasing in s for either sign of beta."""
    if beta == 0.0:
        return np.asarray(0.5 * (1.0 + cosine))
    if beta < 0.0:
        return np.asarray(np.expm1(beta * (1.0 + cosine)) / math.expm1(2.0 * beta))
    rise = np.expm1(-beta * (1.0 + cosine)) / math.expm1(-2.0 * beta)
    return np.asarray(np.exp(beta * (cosine - 1.0)) * rise)


def _clusters(angles: FloatArray) -> tuple[int, ...]:
    """Tokens in each cluster around the circle; the smallest of all rotations and reflections."""
    sizes = [int(size) for size in _round(angles)[0]]
    turns = [sizes[i:] + sizes[:i] for i in range(len(sizes))]
    return tuple(min(turns + [turn[::-1] for turn in turns]))


def _round(angles: FloatArray) -> tuple[IntArray, FloatArray]:
    """Tokens in each cluster, and the gap after it, around the circle."""
    ordered = np.sort(angles % (2.0 * np.pi))
    gaps = np.diff(ordered, append=ordered[0] + 2.0 * np.pi)
    ends = np.flatnonzero(gaps > _TOGETHER)
    return np.diff(ends, prepend=ends[-1] - len(angles)), gaps[ends]


def _ways(angles: FloatArray) -> int:
    """Labelled configurations of this shape and of its mirror image, up to rotations."""
    sizes, gaps = _round(angles)
    k = len(sizes)

    def same(other: IntArray, apart: FloatArray) -> int:
        return sum(
            np.array_equal(np.roll(other, i), sizes)
            and bool(np.abs(np.roll(apart, i) - gaps).max() < _TOGETHER)
            for i in range(k)
        )

    ways = math.factorial(len(angles)) // math.prod(math.factorial(int(size)) for size in sizes)
    # In the mirror image, the gap after a cluster is the gap before it.
    mirrored = same(sizes[::-1], np.roll(gaps[::-1], -1))
    return ways // same(sizes, gaps) * (1 if mirrored else 2)


@dataclass(frozen=True)
class SingleClusterProof:
    """Theorems on whether n equal tokens become one cluster.

    - proved (bool or None): True if almost every start becomes one cluster, False if an open set
      of starts does not, None if the question is open.
    - statements (tuple of (str, str)): theorems that apply, each with its source.
    - probability: proved lower bound for independent uniform tokens, 1 or the probability that
      they lie in a hemisphere.
    """

    proved: bool | None
    statements: tuple[tuple[str, str], ...]
    probability: float

    def __repr__(self) -> str:
        answer = {True: "proved", False: "false", None: "open"}[self.proved]
        lines = [f"  {statement} [{source}]" for statement, source in self.statements]
        return "\n".join([f"One cluster from almost every start: {answer}", *lines])


_PERSPECTIVE = "Geshkovski, Letrouit, Polyanskiy, Rigollet, arXiv:2312.10794"
_MARKDAHL = "Markdahl, Thunberg, Goncalves 2018; Criscitiello et al., arXiv:2405.18273"
_CRISCITIELLO = "Criscitiello, Rebjock, McRae, Boumal, arXiv:2405.18273"
_POLYANSKIY = "Polyanskiy, Rigollet, Yao, arXiv:2507.22857"
_WENDEL = "Wendel, Math. Scand. 11 (1962); Lemma 6.4 of arXiv:2312.10794"


@checked
def single_cluster_proof(manifold: Geometry, tokens: int, beta: float) -> SingleClusterProof:
    """Theorems on whether n equal tokens with Q = K = V = 1 become one cluster.

    They hold with and without softmax, as time goes to infinity.

    Parameters
    ----------
    manifold : Circle or Sphere
        The unit sphere of R^d, any d.
    tokens : int
        n, at least 1.
    beta : float
        Of any sign.

    Returns
    -------
    SingleClusterProof
        All statements in our list that apply.

    Raises
    ------
    ValueError
        If tokens < 1, or the manifold is not a sphere.

    Examples
    --------
    >>> import meanfield as mf
    >>> single_cluster_proof(mf.Circle(), 32, 9.0)
    One cluster from almost every start: proved
      circle, beta >= -0.16 [Polyanskiy, Rigollet, Yao, arXiv:2507.22857]
    >>> for beta in (-0.5, -0.7):
    ...     print(single_cluster_proof(mf.Circle(), 6, beta).proved)
    None
    False
    """
    at_least(1, tokens=tokens)
    probability = hemisphere_probability(manifold, tokens)
    d = manifold.dimension + 1
    theorems = []
    if tokens <= d:
        theorems.append(
            ("n <= d: in an open hemisphere, exponentially fast", f"{_PERSPECTIVE}, Theorem 6.3")
        )
    if d >= 3 and beta >= 0.0:
        theorems.append(("d >= 3, beta >= 0", _MARKDAHL))
    if d == 2 and beta >= _PROVED_FROM:
        theorems.append((f"circle, beta >= {_PROVED_FROM:g}", _POLYANSKIY))
    if d == 2 and 0.0 <= beta <= 1.0:
        theorems.append(("circle, 0 <= beta <= 1", _CRISCITIELLO))
    if d == 2 and tokens >= 3 and beta >= 0.0 and is_one_cluster_almost_surely(beta, tokens):
        least = _least_large_beta(tokens)
        theorems.append(
            (f"circle, large beta: beta > {least:.4g}", f"{_PERSPECTIVE}, proof of Theorem 5.1")
        )
    if theorems:
        return SingleClusterProof(True, tuple(theorems), 1.0)
    if d == 2 and beta < _FAILS_BELOW and tokens % 3 == 0:
        stable = ("circle, beta < -2/3, n a multiple of 3: three clusters are stable", _POLYANSKIY)
        return SingleClusterProof(False, (stable,), probability)
    part = (f"starts in a hemisphere: a share {probability:.4g} of all", _WENDEL)
    return SingleClusterProof(None, (part,), probability)


def _least_large_beta(tokens: int) -> float:
    """Beta above which (n - 1) tau < pi, for n >= 3; tau is `contraction.convex_angle`."""
    if tokens == 3:
        return 0.0
    x = math.pi / (tokens - 1)
    return math.cos(x) / math.sin(x) ** 2
