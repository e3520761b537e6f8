"""Escape and contraction rates of any configuration of clusters.

Clusters x_i with masses m_i move with v_i = strength sum_j m_j a(s_ij) P_i x_j [/ Z_i]. With
u_ij = P_i x_j the derivative of v_i along tangent displacements e of all clusters is:

    sum_{j != i} m_j [ a'_ij u_ij (<u_ij, e_i> + <u_ji, e_j>) + a_ij (P_i e_j - s_ij e_i) ].

Normalised flows replace the first u_ij by u_ij - v_i and divide by Z_i. For a test particle beside
cluster i only the terms in e_i remain, and j = i belongs to the sum. All are sums of differences
over pairs, so rates of 1e-23 keep their digits, unlike rates from moments.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanfield.arguments import checked
from meanfield.arrays import EPS, ComplexArray, FloatArray
from meanfield.measures import Measure
from meanfield.problem import Problem
from meanfield.spectrum.pair_attention import attention_and_slope

_SYMMETRY_NOISE = 16 * EPS


@dataclass(frozen=True, eq=False)
class ClusterRates:
    """Rates of a configuration of n clusters, in scaled time.

    - manifold: name of the manifold, of dimension k.
    - escape (n k,): eigenvalues of the Jacobian, largest real part first; positive real parts lead
      away. They include rotations of a stationary configuration, with rate 0.
    - modes (n k, n) on the circle, (n k, n, d) on spheres of R^d: modes[r] displaces cluster i by
      the tangent vector modes[r, i] (radians); the sum of squares is 1.
    - contraction (n,): rate at which a test particle falls into each cluster, on spheres along the
      slowest direction. A cluster with a negative rate is torn apart.
    - drift: speed of the fastest cluster, 0 or rounding if the configuration is stationary.
    """

    manifold: str
    escape: FloatArray | ComplexArray
    modes: FloatArray | ComplexArray
    contraction: FloatArray
    drift: float

    @property
    def lifetime(self) -> float:
        """Time 1 / (largest escape rate) in which a displacement grows e-fold; inf if none grows.

        A displacement of size h needs about ln(1/h) such times. Rates that are rounding of the
        fastest, such as rates of rotations, count as 0.
        """
        largest = float(self.escape[0].real)
        rounding = _SYMMETRY_NOISE * len(self.escape) * float(np.abs(self.escape).max())
        with np.errstate(over="ignore"):
            return float(1.0 / np.float64(largest)) if largest > rounding else np.inf

    def __repr__(self) -> str:
        return (
            f"ClusterRates({len(self.contraction)} clusters on the {self.manifold}: "
            f"largest escape rate {self.escape[0].real:.4g}, lifetime {self.lifetime:.4g}, "
            f"slowest contraction {self.contraction.min():.4g}, drift {self.drift:.2g})"
        )


@dataclass(frozen=True, eq=False)
class Linearisation:
    """Derivatives of the velocity at clusters, in tangent frames of k vectors."""

    # (n, k, n, k): derivative of the velocity of cluster i with respect to the place of cluster j.
    among_clusters: FloatArray
    of_field: FloatArray  # (n, k, k): derivative of the field of all clusters at cluster i
    drift: FloatArray  # (n, k): velocity of every cluster
    # (n,): m_i Z_i, which makes inertia_i among_clusters_ij symmetric; None if it does not.
    inertia: FloatArray | None


@checked
def cluster_rates(problem: Problem, measure: Measure) -> ClusterRates:
    """Escape rates, modes and contraction rates of clusters of any masses at any places.

    At a stationary configuration (a polygon, a polytope, opposite clusters of any masses) a small
    displacement along a mode grows like e^{rate t}. If the clusters move, the rates say how fast
    two nearby configurations separate at this instant; they hold as long as `drift` * time << 1.
    Under USA, and at stationary configurations, they are real; else there may be complex pairs.

    Parameters
    ----------
    problem : Problem
        On the circle or any sphere, without diffusion; its initial measure is not used.
    measure : Measure
        The clusters. Points of mass 0 are test particles.

    Returns
    -------
    ClusterRates
        Errors are a few n eps times the largest rate: 13 digits of the leading rates are right, and
        rates 1e15 times slower are rounding. A kernel given by a function is differentiated through
        its Chebyshev series, whose noise is 128 eps of the largest term; its rates lose
        128 degree^2 eps.

    Raises
    ------
    TypeError
        If measure is no Measure.
    ValueError
        If it lives on another manifold than the problem, or there is diffusion, under which
        clusters are not stationary.

    See Also
    --------
    next_merge_estimate : the two clusters that meet first, and when.

    Examples
    --------
    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Sphere(), mf.exponential(beta=5.0), mf.SA)
    >>> octahedron = mf.Measure(mf.Sphere(), np.vstack([np.eye(3), -np.eye(3)]))
    >>> rates = cluster_rates(problem, octahedron)
    >>> rates
    ClusterRates(6 clusters on the sphere: largest escape rate 0.1312, lifetime 7.621,
        slowest contraction 0.9081, drift 0)
    >>> rates.escape.round(4) + 0.0
    array([0.1312, 0.1312, 0.1312, 0.0788, 0.0788, 0.0788, 0.0526, 0.0526,
           0.0526, 0.    , 0.    , 0.    ])
    """
    check_clusters(problem, measure)
    frames = tangent_frames(measure)
    n, k = frames.shape[:2]
    linear = linearisation(problem, measure, frames)
    values, vectors = _eigen(linear.among_clusters.reshape(n * k, n * k), linear.inertia, k)
    order = np.argsort(-values.real, kind="stable")
    modes = np.einsum("ikx,ikr->rix", frames, vectors[:, order].reshape(n, k, n * k))
    # The slowest direction: on spheres the field's derivative is a matrix at each cluster.
    fall = np.linalg.eigvals(-linear.of_field).real.min(axis=1)
    return ClusterRates(
        manifold=measure.manifold.name,
        escape=values[order],
        modes=modes.reshape(*modes.shape[:2], *measure.manifold.point_shape),
        contraction=fall,
        drift=float(np.sqrt((linear.drift**2).sum(axis=1)).max()),
    )


def linearisation(problem: Problem, measure: Measure, frames: FloatArray) -> Linearisation:
    """Exact derivatives of the velocity in tangent frames (n, k, d), or (n, 1, 1) on the circle."""
    points, masses, normalized = measure.points, measure.mass, problem.zonal.normalized
    n, k = frames.shape[:2]
    angles = measure.manifold.distance(points[:, None], points[None])
    attention, slope, partition = attention_and_slope(problem, masses, angles)
    toward, turned = _geometry(points, angles, frames)
    drift = np.einsum("ij,ijk->ik", attention, toward)
    # Derivative of a quotient N / Z: D(N / Z) = (DN - v DZ) / Z.
    pushed = toward - drift[:, None] if normalized else toward
    inward = np.einsum("ij,ijk,ijl->ijkl", slope, pushed, toward)
    inward -= (attention * np.cos(angles))[:, :, None, None] * np.eye(k)
    of_field = inward.sum(axis=1)
    others = ~np.eye(n, dtype=bool)
    matrix = np.einsum("ij,ijk,jil->ikjl", slope, pushed, toward)
    matrix += np.einsum("ij,ijkl->ikjl", attention, turned)
    each = np.arange(n)
    matrix[each, :, each] = (inward * others[:, :, None, None]).sum(axis=1)
    # v DZ / Z breaks the symmetry of a quotient, unless the clusters stand still.
    spoilt = np.abs(drift).max() * np.abs(slope[:, :, None] * toward).max() if normalized else 0.0
    inertia = masses * partition
    symmetric = inertia.min() > 0 and spoilt <= _SYMMETRY_NOISE * np.abs(matrix).max()
    strength = problem.zonal.strength
    return Linearisation(
        among_clusters=strength * matrix,
        of_field=strength * of_field,
        drift=strength * drift,
        inertia=inertia if symmetric else None,
    )


def check_clusters(problem: Problem, measure: Measure) -> None:
    """Refuse measures and problems for which clusters have no rates."""
    problem.check_lives("the clusters live", measure)
    problem.check_own_clock("rates of clusters")
    check_no_diffusion(problem)


def check_no_diffusion(problem: Problem) -> None:
    """Refuse diffusion."""
    if problem.zonal.diffusivity:
        raise ValueError("clusters are no stationary states with diffusivity > 0.")


def tangent_frames(measure: Measure) -> FloatArray:
    """Orthonormal tangent vectors at the points, shape (n, k, d), or (n, 1, 1) on the circle."""
    points = measure.points
    if not measure.manifold.point_axes:
        return np.ones((len(points), 1, 1))
    # A Householder reflection swaps x and -sign e, e the axis nearest to x. It maps the other axes
    # to tangent vectors: 1 - u u^T / (1 + |x_e|), u = x + sign e.
    n, d = points.shape
    each, axis = np.arange(n), np.abs(points).argmax(axis=1)
    normal = points.copy()
    normal[each, axis] += np.sign(points[each, axis])
    size = 1.0 + np.abs(points[each, axis])
    reflected = np.eye(d) - normal[:, :, None] * normal[:, None] / size[:, None, None]
    others = np.arange(d) != axis[:, None]
    return np.asarray(reflected[others].reshape(n, d - 1, d))


def _geometry(
    points: FloatArray, angles: FloatArray, frames: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Components of P_i x_j, shape (n, n, k), and frames_i frames_j^T, shape (n, n, k, k)."""
    if points.ndim == 1:
        toward = np.sin(points[None] - points[:, None])[:, :, None]
        return toward, np.cos(angles)[:, :, None, None]
    sign = np.where(angles > 0.5 * np.pi, -1.0, 1.0)
    # P_i x_j = P_i (x_j - sign x_i): the difference is small where the projection is.
    difference = points[None] - sign[:, :, None] * points[:, None]
    toward = np.einsum("ikx,ijx->ijk", frames, difference)
    return toward, np.einsum("ikx,jlx->ijkl", frames, frames)


def _eigen(
    matrix: FloatArray, inertia: FloatArray | None, k: int
) -> tuple[FloatArray | ComplexArray, FloatArray | ComplexArray]:
    if inertia is None:
        values, vectors = np.linalg.eig(matrix)
    else:
        root = np.repeat(np.sqrt(inertia), k)
        symmetric = matrix * root[:, None] / root
        values, vectors = np.linalg.eigh(0.5 * (symmetric + symmetric.T))
        vectors = vectors / root[:, None]
    return values, vectors / np.sqrt((np.abs(vectors) ** 2).sum(axis=0))
