"""Growth rates of small perturbations of a density, and so the stability of stationary states.

With f an axisymmetric state on any sphere, V = log f and a perturbation f + sqrt(f) phi the
equation linearises to:

    d_t phi = -H (D - T) phi,       H = -Laplacian + U,   U = Laplacian V / 2 + |grad V|^2 / 4,
    T phi = sqrt(f) delta_Phi,      delta_Phi = strength W * (sqrt(f) phi),

for SA delta_Phi = a * (sqrt(f) phi) / (c Z), Z = a*f. H is symmetric, not negative, and well
conditioned even if f spans many powers of ten. Without normalisation T is symmetric, too, and the
rates are real. Perturbations g(theta) S_m(omega), with a harmonic S_m of order m on S^{d-2}, do not
mix: each order m = 0, 1, 2, ... is an eigenvalue problem on the functions

    sin^m(theta) q_k(cos theta),    q_k orthonormal Gegenbauer polynomials of index lambda + m.

On the circle m = 0 are the even and m = 1 the odd perturbations.

For any density the rates are the spectrum of F'(f) (`fields.linearised`) at rising degrees. A small
matrix gives all eigenvalues. For a larger one Arnoldi's method on the inverse of F'(f) - shift,
factored once, gives the leading ones; the shift lies to the right of all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from meanfield.arrays import EPS, ComplexArray, FloatArray
from meanfield.bases.coordinates import coordinates
from meanfield.engines.threads import one_blas_thread
from meanfield.fields.linearised import LinearisedFlow
from meanfield.fields.mean_field import interaction
from meanfield.measures import Density
from meanfield.problem import Problem
from meanfield.spaces.manifold import laplacian_eigenvalues
from meanfield.spectrum.stability import couplings
from meanfield.stationary.self_consistency import SelfConsistency
from meanfield.stationary.symmetry import (
    axisymmetric,
    density_degree,
    gegenbauer,
    narrowest_width,
    polar_rule,
)

# All eigenvalues of a matrix of this size take 1 s for each order, 3 s if it is not symmetric.
_LARGEST_BLOCK = 1500
# The next degree can change which orders lead, so a few more are computed.
_SPARE_ORDERS = 6
# Factor between degrees, and their number, to 5 times the first: equal rates are converged ones.
_GROWTH, _ROUNDS = 1.4, 6
# Rates have converged if they change by less than this share of the coupling, or by this multiple
# of the rounding of the matrix.
_AGREEMENT, _ROUNDED_TERMS = 1e-11, 8.0


@dataclass(frozen=True)
class GrowthRate:
    """Growth exp((rate + i frequency) t) of perturbations of one order, in scaled time.

    order: azimuthal number m; on the circle 0 for even, 1 for odd perturbations; None about states
    without an axis. frequency: 0 without normalisation.
    """

    order: int | None
    rate: float
    frequency: float = 0.0


@dataclass(frozen=True, eq=False)
class _Profile:
    """A state at the nodes of a quadrature, with log weights."""

    angles: FloatArray
    log_weights: FloatArray
    log_density: FloatArray
    slope: FloatArray
    partition: FloatArray | None


def stationary_growth_rates(
    equation: SelfConsistency, moments: FloatArray, diffusivity: float, count: int = 6
) -> list[GrowthRate]:
    """Leading growth rates of perturbations of an axisymmetric stationary state, largest first.

    They include all perturbations without mass, for any fold of the state. The degree rises until
    the rates agree. A rate of order m > 0 belongs to all harmonics of that order; for an ordered
    state m = 1 includes the rate 0 of rotations.
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
    # Above the kernel's degree a perturbation has no field: only the first such order can lead.
    orders = list(range(2 if symmetry.dimension == 1 else own + 2))
    before, change = None, math.inf
    for round_ in range(_ROUNDS):
        degree = math.ceil(_GROWTH * degree) if round_ else degree
        # Matrices of this size are too small for several threads.
        with one_blas_thread():
            leading = _leading(equation, moments, diffusivity, degree, orders)
        eigenvalues = leading[:count]
        # A larger degree hardly changes them, so orders far from the lead are dropped.
        orders = sorted({order for order, _ in leading[: count + _SPARE_ORDERS]})
        if before is not None:
            change = max(abs(x - y) for (_, x), (_, y) in zip(eigenvalues, before, strict=True))
            size = max(diffusivity, float(np.abs(equation.coupling).max()))
            # All eigenvalues have the rounding of the largest one.
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
    # A stable sort: equal rates stay sorted by order.
    pairs.sort(key=lambda pair: -pair[1].real)
    return pairs


def _profile(
    equation: SelfConsistency, moments: FloatArray, diffusivity: float, nodes: int
) -> _Profile:
    """Log f, its derivative in theta, and a*f / a_0, on another quadrature."""
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

    p_k' = sqrt(k (k + 2 index) / share) r_{k-1}, r of index + 1; share = int sin^2 dsigma.
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
    # Rows: nodes, times the root of the weight. Columns: functions.
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


# Rates of two consecutive degrees agree if they differ by less than this share of the largest.
_SPECTRA_AGREE = 1e-8
# Noise of eigenvalues, relative to the largest entry of the matrix.
_EIGENVALUE_NOISE = 1e-13
# Coefficients of a density of this relative size are rounding.
_NEGLIGIBLE = 16 * EPS
# Up to this size all eigenvalues take no longer than the leading ones, and none can be missed.
_DENSE = 600
# A matrix of this size and its factors take 0.2 GB.
_LARGEST = 3300
# Arnoldi's method finds copies of an eigenvalue one by one, so it computes some more.
_SPARE = 10
# The shift moves right until no eigenvalue is beyond it; usually the first one, from a matrix of
# low degree, is enough.
_SHIFTS = 8
# More than any case has needed; beyond it too many eigenvalues are close together.
_RESTARTS = 100


def leading_growth_rates(
    problem: Problem, density: Density, count: int = 6, max_degree: int | None = None
) -> FloatArray | ComplexArray:
    """Growth rates of small perturbations of a density: eigenvalues with largest real part.

        d_t g = L g,    g = eigenvector * e^{rate t}

    About a stationary density they decide its stability; each rotation that changes it has a rate
    0. About uniform they are `growth_rates`, each 2 (circle) or 2 l + 1 (sphere) times.

    Parameters
    ----------
    problem : Problem
        On the circle or the sphere, with its diffusivity; its initial measure is not used.
    density : Density
        Stationary or not; degrees that are rounding are dropped.
    count : int
        Number of rates.
    max_degree : int, optional
        Largest degree of perturbations, without a check. By default the degree rises by a third
        until the rates of two consecutive degrees agree within 1e-8 of the largest.

    Returns
    -------
    ndarray, shape (count,)
        In scaled time, largest real part first, with multiplicity. Real if all are, as under USA
        about stationary densities.

    Raises
    ------
    TypeError
        If density is no Density.
    ValueError
        If the density is on another manifold, or count is not between 1 and the number of unknowns.
    RuntimeError
        If the rates do not converge; without diffusion they need not.

    See Also
    --------
    growth_rates : about uniform, in closed form.
    StationaryState.growth_rates : about a stationary state, each order of an axis once.
    cluster_rates : about clusters, without diffusion.

    Examples
    --------
    >>> import meanfield as mf
    >>> flow = mf.Flow(normalized=True, diffusivity=0.1)
    >>> problem = mf.Problem(mf.Sphere(), mf.exponential(beta=2.0), flow)
    >>> leading_growth_rates(problem, mf.uniform().build(mf.Sphere())).round(4)
    array([ 0.3373,  0.3373,  0.3373, -0.0179, -0.0179, -0.0179])
    >>> mf.growth_rates(problem, 2).round(4) + 0.0
    array([ 0.    ,  0.3373, -0.0179])
    """
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}.")
    _check(problem, density)
    if max_degree is not None:
        if max_degree < 1:
            raise ValueError(f"max_degree must be at least 1, got {max_degree}.")
        size = coordinates(problem.manifold.dimension, max_degree).size
        if count > size:
            raise ValueError(
                f"count = {count} is more than the {size} unknowns of max_degree = "
                f"{max_degree}: raise it."
            )
        with one_blas_thread():
            values, noise = _leading_rates(problem, density, max_degree, count)
        return _real_if_so(values[:count], noise)
    density = _trimmed(density)
    degrees = _degrees(problem, density, count)
    spectra = (_leading_rates(problem, density, l, count) for l in degrees)
    change = np.inf
    # Matrices of this size are too small for several threads.
    with one_blas_thread():
        for (before, _), (now, noise) in pairwise(spectra):
            rates = now[:count]
            change = _distance(rates, before)
            if change <= max(_SPECTRA_AGREE * np.abs(rates).max(), noise):
                return _real_if_so(rates, noise)
    raise RuntimeError(
        f"growth rates about this density still change by {change:.1e} at the largest degree tried:"
        f" with diffusivity = {problem.zonal.diffusivity:g} they need not settle. Raise it, or give"
        " max_degree to take what one degree gives."
    )


def linearised(problem: Problem, density: Density, degree: int) -> LinearisedFlow:
    """Linearised flow about a density; without normalisation exact up to a degree."""
    # Exact to three times its degree, for density x velocity of a perturbation x test field.
    grid = problem.manifold.grid(max(degree, density.max_degree))
    diffusivity = problem.zonal.diffusivity
    return LinearisedFlow(interaction(problem), grid, density.coefficients, diffusivity)


def _check(problem: Problem, density: Density) -> None:
    if not isinstance(density, Density):
        raise TypeError(
            f"density is a {type(density).__name__}, expected a Density: clusters have "
            "`cluster_rates`."
        )
    problem.check_lives("the density lives", density)
    problem.check_one_stage()


def _trimmed(density: Density) -> Density:
    """The density without those highest degrees that are rounding."""
    sizes = density.manifold.sizes_by_degree(density.coefficients)
    degree = int(np.flatnonzero(sizes > _NEGLIGIBLE * sizes.max())[-1])
    return Density(density.manifold, density.moments(degree))


def _degrees(problem: Problem, density: Density, count: int) -> Iterator[int]:
    """Degrees to try, each a third above the one before.

    The first is at least that of the density, up to the limit of `_DENSE`, and includes the fastest
    growing degree of uniform.
    """
    zonal, dimension = problem.zonal, problem.zonal.dimension
    multipliers = zonal.kernel.potential_multipliers(dimension, zonal.degree)
    drive = np.abs(laplacian_eigenvalues(dimension, zonal.degree) * multipliers)
    largest_dense = _DENSE // 2 if dimension == 1 else int(np.sqrt(_DENSE + 1)) - 1
    degree = min(density.max_degree, largest_dense)
    degree = max(degree, int(np.argmax(drive)) + 2, count + 1)
    while coordinates(dimension, degree).size <= _LARGEST:
        yield degree
        degree += -(-degree // 3)


def _leading_rates(
    problem: Problem, density: Density, degree: int, count: int
) -> tuple[ComplexArray, float]:
    """At least `count` eigenvalues, largest real part first, and their noise."""
    import scipy.linalg

    matrix = linearised(problem, density, degree).matrix(degree)
    noise = _EIGENVALUE_NOISE * float(np.abs(matrix).max())
    if len(matrix) <= _DENSE:
        return _sorted(scipy.linalg.eigvals(matrix)), noise
    # A matrix of low degree gives about the right end of the spectrum.
    small = 15 if problem.manifold.dimension == 2 else 128
    rough = _sorted(scipy.linalg.eigvals(linearised(problem, density, small).matrix(small)))
    wanted = count + _SPARE
    spread = float(np.abs(rough[0] - rough[min(wanted, len(rough) - 1)])) + noise
    largest = float(rough[0].real)
    for _ in range(_SHIFTS):
        shift = largest + 0.1 * spread
        values = _nearest(matrix, shift, wanted)
        largest = float(values[0].real)
        if largest < shift:
            break
    return values, noise


def _nearest(matrix: FloatArray, shift: float, count: int) -> ComplexArray:
    """Eigenvalues nearest to a shift, sorted."""
    import scipy.linalg
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs

    size = len(matrix)
    factors = scipy.linalg.lu_factor(matrix - shift * np.eye(size), overwrite_a=True)
    inverse = LinearOperator(
        matrix.shape, matvec=lambda x: scipy.linalg.lu_solve(factors, x), dtype=np.float64
    )
    start = np.random.default_rng(0).standard_normal(size)
    options = {"k": count, "ncv": min(4 * count, size), "v0": start, "maxiter": _RESTARTS}
    try:
        eigenvalues = eigs(inverse, **options, return_eigenvectors=False)
    except ArpackNoConvergence as error:
        raise RuntimeError(
            f"the leading eigenvalues among {size} are too close together to separate: "
            "raise the diffusivity, or give a max_degree with fewer unknowns."
        ) from error
    return _sorted(shift + 1.0 / eigenvalues)


def _sorted(values: ComplexArray) -> ComplexArray:
    """Sort by largest real part; in a pair the positive imaginary part comes first."""
    return np.asarray(values[np.lexsort((-values.imag, -values.real))])


def _distance(first: ComplexArray, second: ComplexArray) -> float:
    """Largest distance of the leading eigenvalues of one list from another list."""
    # Real parts are compared one by one, and so multiplicities are, too. The order of pairs with
    # equal real parts is arbitrary.
    apart = np.abs(first.real - second.real[: len(first)])
    nearest = np.abs(first[:, None] - second[None]).min(axis=1)
    return float(max(apart.max(), nearest.max()))


def _real_if_so(values: ComplexArray, noise: float) -> FloatArray | ComplexArray:
    """The real parts, if the imaginary parts are rounding."""
    return values.real if np.abs(values.imag).max() <= noise else values
