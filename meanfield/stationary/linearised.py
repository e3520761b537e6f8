"""Growth rates of small perturbations of any density: is a stationary state stable, and how fast.

The spectrum of F'(f) (`fields.linearised`) at rising degrees. All eigenvalues of a dense matrix
while it is small; beyond, the leading ones by Arnoldi's method on the inverse of F'(f) - shift,
factored once, the shift lying to the right of all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
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

# Two degrees in a row agree when their rates differ by this share of the largest of them.
_AGREEMENT = 1e-8
# Noise of eigenvalues, in units of the largest entry of the matrix.
_EIGENVALUE_NOISE = 1e-13
# Coefficients this small, relative to the largest, are rounding of a density.
_NEGLIGIBLE = 16 * EPS
# Up to this size all eigenvalues are as quick as the leading ones, and none can be missed.
_DENSE = 600
# A matrix of this size and its factors take 0.2 GB.
_LARGEST = 3300
# Arnoldi finds copies of an eigenvalue one by one: it computes more than are wanted.
_SPARE = 10
# The shift moves right until no eigenvalue is beyond it: more than once only where the matrix of
# low degree that it comes from says little.
_SHIFTS = 8
# More than ever seen: what needs them has too many eigenvalues next to each other.
_RESTARTS = 100


def leading_growth_rates(
    problem: Problem, density: Density, count: int = 6, max_degree: int | None = None
) -> FloatArray | ComplexArray:
    """Growth rates of small perturbations of a density: eigenvalues with largest real part.

        d_t g = L g,    g = eigenvector * e^{rate t}

    About a stationary density these say whether it is stable: a rotation of it has rate 0, as often
    as there are rotations that change it. About uniform they are `growth_rates`, 2 (circle) or
    2 l + 1 (sphere) times each.

    Parameters
    ----------
    problem : Problem
        On the circle or the sphere, with its diffusivity; its initial measure is not used.
    density : Density
        Stationary or not; degrees that are rounding are dropped.
    count : int
        How many.
    max_degree : int, optional
        Take perturbations up to this degree and check nothing. By default the degree rises by a
        third until the rates of two degrees in a row agree within 1e-8 of the largest of them.

    Returns
    -------
    ndarray, shape (count,)
        In scaled time, largest real part first, each as often as it occurs. Real if they all are,
        as under USA about stationary densities.

    Raises
    ------
    TypeError
        If density is no Density.
    ValueError
        If density lives on another manifold, or count is not between 1 and the number of unknowns.
    RuntimeError
        If the rates do not settle: without diffusion they need not.

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
            values, noise = _leading(problem, density, max_degree, count)
        return _real_if_so(values[:count], noise)
    density = _trimmed(density)
    degrees = _degrees(problem, density, count)
    spectra = (_leading(problem, density, l, count) for l in degrees)
    change = np.inf
    # Threads waiting for each other take longer than matrices of this size.
    with one_blas_thread():
        for (before, _), (now, noise) in pairwise(spectra):
            rates = now[:count]
            change = _distance(rates, before)
            if change <= max(_AGREEMENT * np.abs(rates).max(), noise):
                return _real_if_so(rates, noise)
    raise RuntimeError(
        f"growth rates about this density still change by {change:.1e} at the largest degree tried:"
        f" with diffusivity = {problem.zonal.diffusivity:g} they need not settle. Raise it, or give"
        " max_degree to take what one degree gives."
    )


def linearised(problem: Problem, density: Density, degree: int) -> LinearisedFlow:
    """Flow about a density, exact without normalisation for perturbations up to a degree."""
    # Exact to three times its degree: to density x perturbation's velocity x test field.
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


def _trimmed(density: Density) -> Density:
    """The density without its highest degrees, as far as they are rounding."""
    sizes = density.manifold.sizes_by_degree(density.coefficients)
    degree = int(np.flatnonzero(sizes > _NEGLIGIBLE * sizes.max())[-1])
    return Density(density.manifold, density.moments(degree))


def _degrees(problem: Problem, density: Density, count: int) -> Iterator[int]:
    """Degrees to try, each a third above the one before.

    The first holds the density, if that is small enough for all eigenvalues, and the degree of
    uniform that grows fastest.
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


def _leading(
    problem: Problem, density: Density, degree: int, count: int
) -> tuple[ComplexArray, float]:
    """At least `count` eigenvalues, largest real part first, and their noise."""
    import scipy.linalg

    matrix = linearised(problem, density, degree).matrix(degree)
    noise = _EIGENVALUE_NOISE * float(np.abs(matrix).max())
    if len(matrix) <= _DENSE:
        return _sorted(scipy.linalg.eigvals(matrix)), noise
    # A matrix of low degree says about where the spectrum ends.
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
    """Eigenvalues nearest to a shift."""
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
    """Largest real part first; of a pair the one with positive imaginary part."""
    return np.asarray(values[np.lexsort((-values.imag, -values.real))])


def _distance(first: ComplexArray, second: ComplexArray) -> float:
    """Largest distance of the leading eigenvalues of one list from another list."""
    # Real parts compare one by one, and so do multiplicities; of pairs with equal real parts the
    # order is chance.
    apart = np.abs(first.real - second.real[: len(first)])
    nearest = np.abs(first[:, None] - second[None]).min(axis=1)
    return float(max(apart.max(), nearest.max()))


def _real_if_so(values: ComplexArray, noise: float) -> FloatArray | ComplexArray:
    """The real parts, if the imaginary parts are rounding."""
    return values.real if np.abs(values.imag).max() <= noise else values
