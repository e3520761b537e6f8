"""Growth rates of small perturbations of an axisymmetric stationary state, on any sphere.

With f the state, V = log f and a perturbation f + sqrt(f) phi the equation linearises to:

    d_t phi = -H (D - T) phi,       H = -Laplacian + U,   U = Laplacian V / 2 + |grad V|^2 / 4,
    T phi = sqrt(f) delta_Phi,      delta_Phi = strength W * (sqrt(f) phi),

for SA delta_Phi = a * (sqrt(f) phi) / (c Z), Z = a*f. H is symmetric, not negative, and well
conditioned where f itself spans many powers of ten; without normalisation T is symmetric too,
and the rates are real. Perturbations g(theta) S_m(omega), S_m a harmonic of order m on S^{d-2},
do not mix: each order m = 0, 1, 2, ... is an eigenvalue problem on the functions

    sin^m(theta) q_k(cos theta),    q_k orthonormal Gegenbauer polynomials of index lambda + m.

On the circle m = 0 are the even and m = 1 the odd perturbations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from meanfield.arrays import EPS, FloatArray
from meanfield.engines.threads import one_blas_thread
from meanfield.spectrum.stability import couplings
from meanfield.stationary.self_consistency import SelfConsistency
from meanfield.stationary.symmetry import (
    axisymmetric,
    density_degree,
    gegenbauer,
    narrowest_width,
    polar_rule,
)

# All eigenvalues of a matrix of this size take 1 s, 3 s if it is not symmetric, for each order.
_LARGEST_BLOCK = 1500
# The next degree can change which orders lead: a few below are kept in the race.
_SPARE_ORDERS = 6
# Degrees to compare, to 5 times the first: far enough apart that equal rates are converged ones.
_GROWTH, _ROUNDS = 1.4, 6
# Rates have converged when they change by less than this share of the coupling, or by this much
# of the rounding of the matrix.
_AGREEMENT, _ROUNDED_TERMS = 1e-11, 8.0


@dataclass(frozen=True)
class GrowthRate:
    """Growth of the perturbations of one order: they go like exp((rate + i frequency) t).

    order: azimuthal number m; on the circle 0 for even, 1 for odd perturbations; None about states
    without an axis. rate, frequency: in scaled time; 0 for flows that are not normalised.
    """

    order: int | None
    rate: float
    frequency: float = 0.0


@dataclass(frozen=True, eq=False)
class _Profile:
    """The state at the nodes of one quadrature, weights as logarithms."""

    angles: FloatArray
    log_weights: FloatArray
    log_density: FloatArray
    slope: FloatArray
    partition: FloatArray | None


def stationary_growth_rates(
    equation: SelfConsistency, moments: FloatArray, diffusivity: float, count: int = 6
) -> list[GrowthRate]:
    """Leading growth rates of perturbations of an axisymmetric stationary state, largest first.

    All perturbations without mass count, whatever the fold of the state; the degree is raised until
    the rates agree. Rates of the order m > 0 stand for all harmonics of that order: m = 1 of an
    ordered state holds the rate 0 of rotations.
    """
    symmetry = equation.symmetry
    if not symmetry.is_axisymmetric:
        raise ValueError(
            f"symmetry {symmetry.name!r} has no polar angles: these growth rates are for "
            "axisymmetric states."
        )
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}.")
    own = int(symmetry.degrees[-1])
    # sqrt(f) is wider than f.
    width = math.sqrt(2.0) * narrowest_width(equation.problem, diffusivity)
    degree = density_degree(own, width)
    if degree > _LARGEST_BLOCK:
        raise ValueError(
            f"diffusivity = {diffusivity:g} makes the state so sharp that perturbations need "
            f"degree {degree}, at most {_LARGEST_BLOCK}. Raise it."
        )
    # Above the kernel's degree a perturbation has no field: only its first order can lead.
    orders = list(range(2 if symmetry.dimension == 1 else own + 2))
    before, change = None, math.inf
    for round_ in range(_ROUNDS):
        degree = math.ceil(_GROWTH * degree) if round_ else degree
        # Threads waiting for each other take longer than matrices of this size.
        with one_blas_thread():
            leading = _leading(equation, moments, diffusivity, degree, orders)
        eigenvalues = leading[:count]
        # A finer degree hardly moves them: orders far from the lead are left behind.
        orders = sorted({order for order, _ in leading[: count + _SPARE_ORDERS]})
        if before is not None:
            change = max(abs(x - y) for (_, x), (_, y) in zip(eigenvalues, before, strict=True))
            size = max(diffusivity, float(np.abs(equation.coupling).max()))
            # The eigenvalues of a matrix carry the rounding of its largest one.
            rounding = EPS * diffusivity * degree**2
            if change <= _AGREEMENT * size + _ROUNDED_TERMS * rounding:
                return [GrowthRate(order, x.real, x.imag) for order, x in eigenvalues]
        before = eigenvalues
    raise RuntimeError(
        f"growth rates have not converged at degree {degree}: they still change by {change:.1g}."
    )


def _leading(
    equation: SelfConsistency,
    moments: FloatArray,
    diffusivity: float,
    degree: int,
    orders: list[int],
) -> list[tuple[int, complex]]:
    """Eigenvalues of these orders with perturbations up to a degree, largest real part first."""
    dimension, own = equation.symmetry.dimension, int(equation.symmetry.degrees[-1])
    profile = _profile(equation, moments, diffusivity, 2 * degree + dimension // 2)
    multipliers = couplings(equation.problem, own)
    pairs: list[tuple[int, complex]] = []
    for order in orders:
        eigenvalues = _eigenvalues(
            profile, dimension, order, degree, diffusivity, multipliers[order:]
        )
        pairs += [(order, complex(eigenvalue)) for eigenvalue in eigenvalues]
    # Equal rates of different orders stay in the order of the orders.
    pairs.sort(key=lambda pair: -pair[1].real)
    return pairs


def _profile(
    equation: SelfConsistency, moments: FloatArray, diffusivity: float, nodes: int
) -> _Profile:
    """Log f, its derivative in theta, and a*f / a_0, on a quadrature of its own."""
    dimension, degrees = equation.symmetry.dimension, equation.symmetry.degrees
    own, fold = int(degrees[-1]), int(degrees[0])
    finer = SelfConsistency(equation.problem, axisymmetric(dimension, own, fold=fold, nodes=nodes))
    log_density, partition = finer.log_density(moments, diffusivity)
    angles, log_weights = polar_rule(dimension, nodes)
    slopes = _gegenbauer_slopes(dimension / 2 - 0.5, angles, own)[degrees]
    slope = (equation.coupling * moments / diffusivity) @ slopes
    if partition is not None:
        slope = slope / partition
    return _Profile(angles, log_weights, log_density, slope, partition)


def _gegenbauer_slopes(
    index: float, angles: FloatArray, max_degree: int, first: FloatArray | float = 1.0
) -> FloatArray:
    """Derivatives in theta of the orthonormal polynomials p_k(cos theta), times `first`.

    p_k' = sqrt(k (k + 2 index) / share) r_{k-1}, r of index + 1, share = int sin^2 dsigma.
    """
    k = np.arange(1, max_degree + 1)
    share = (2 * index + 1) / (2 * index + 2)
    slopes = np.zeros((max_degree + 1, len(angles)))
    if max_degree > 0:
        polynomials = gegenbauer(index + 1, np.cos(angles), max_degree - 1, -np.sin(angles) * first)
        slopes[1:] = np.sqrt(k * (k + 2 * index) / share)[:, None] * polynomials
    return slopes


def _eigenvalues(
    profile: _Profile,
    dimension: int,
    order: int,
    degree: int,
    diffusivity: float,
    multipliers: FloatArray,
) -> FloatArray:
    """Eigenvalues of -H (D - T) for one order, mass excluded; complex if T is not symmetric."""
    index, sine = dimension / 2 - 0.5, np.sin(profile.angles)
    # int sin^{2 m} dsigma, so that the functions are orthonormal.
    i = np.arange(order)
    log_norm = np.log((2 * index + 2 * i + 1) / (2 * index + 2 * i + 2)).sum()
    with np.errstate(under="ignore"):
        first = np.exp(0.5 * (profile.log_weights - log_norm) + order * np.log(sine))
        root = np.exp(0.5 * profile.log_density)
    # Rows: nodes, times the root of the weight; columns: functions.
    values = gegenbauer(index + order, np.cos(profile.angles), degree - order, first).T
    slopes = _gegenbauer_slopes(index + order, profile.angles, degree - order, first).T
    slopes += order * (np.cos(profile.angles) / sine)[:, None] * values
    # int grad phi grad psi + U phi psi = int (grad phi - phi grad V / 2)(the same of psi).
    slopes -= 0.5 * profile.slope[:, None] * values
    around = math.sqrt(order * (order + dimension - 2)) / sine
    gradients = np.concatenate([slopes, around[:, None] * values])
    # T = sum_l A_l |sqrt(f) Y_l> <sqrt(f) Y_l|, for SA divided by a*f / a_0 on the left.
    carried = values[:, : len(multipliers)]
    right = values.T @ (root[:, None] * carried)
    left = right
    if profile.partition is not None:
        left = values.T @ ((root / profile.partition)[:, None] * carried)
    if order == 0:
        # Perturbations without mass are orthogonal to sqrt(f), which H maps to 0.
        with np.errstate(under="ignore"):
            mass = values.T @ np.exp(0.5 * (profile.log_density + profile.log_weights))
        without = np.linalg.qr(mass[:, None], mode="complete").Q[:, 1:]
        gradients, left, right = gradients @ without, without.T @ left, without.T @ right
    # H = R^T R: -H (D - T) has the eigenvalues of -R (D - T) R^T.
    upper: FloatArray = np.linalg.qr(gradients).R
    left, right = upper @ left, upper @ right
    operator = (left * multipliers) @ right.T - diffusivity * (upper @ upper.T)
    if profile.partition is None:
        return np.asarray(np.linalg.eigvalsh(operator))
    return np.asarray(np.linalg.eigvals(operator))
