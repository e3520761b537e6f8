"""Cheap distances by degree: discrepancy with the kernel of attention, and Sobolev distance."""

from __future__ import annotations

import math

import numpy as np

from meanfield.arguments import at_least, checked
from meanfield.arrays import FloatArray
from meanfield.measures import Density, Measure, shared_manifold
from meanfield.spaces.manifold import laplacian_eigenvalues
from meanfield.terms.kernels import Kernel
from meanfield.terms.kernels.exponential import exponential

# Kernel values of one block of rows.
_PAIRS = 2**22


@checked
def maximum_mean_discrepancy(
    first: Measure | Density, second: Measure | Density, beta: float
) -> float:
    """Maximum mean discrepancy of two measures with the kernel k = a(<x, y>) of attention.

        MMD^2 = int int k dmu dmu + int int k dnu dnu - 2 int int k dmu dnu
              = sum_l a_l |m_l(mu) - m_l(nu)|^2,        k = e^{beta <x, y> - beta}

    It is the largest difference of means of a function that has norm 1 in the Hilbert space of k.
    With the papers' kernel e^{beta <x, y>} it is larger by e^{beta / 2}. Its square is then
    2 beta (E[mu] + E[nu]) - 2 int int e^{beta <x, y>} dmu dnu. For n samples it falls like n^{-1/2}
    in every dimension, unlike Wasserstein distances, see `sampled_discrepancy`.

    Parameters
    ----------
    first, second : Measure or Density
        On one sphere of any dimension.
    beta : float
        Positive, as only then k is a positive kernel. The problem's beta is a natural choice.

    Returns
    -------
    float
        At most sqrt(2). From moments it is right to a few times 1e-16 sqrt(degrees), however near
        the two are. Tokens on spheres without series need n^2 exponentials, right to 1e-8.

    Raises
    ------
    TypeError
        If an argument is neither a Measure nor a Density.
    ValueError
        If the manifolds differ or are no spheres, or beta is not positive. If a density lies on a
        sphere without series.

    References
    ----------
    Gretton, Borgwardt, Rasch, Schoelkopf, Smola, A kernel two-sample test, J. Mach. Learn. Res. 13
    (2012), 723-773.

    Examples
    --------
    >>> import meanfield as mf
    >>> one, other = (mf.Measure(mf.Circle(), [angle]) for angle in (0.0, 0.5))
    >>> found = maximum_mean_discrepancy(one, other, beta=4.0)
    >>> round(found**2 - 2.0 * (1.0 - math.exp(4.0 * (math.cos(0.5) - 1.0))), 14)
    0.0
    """
    space = shared_manifold(first, second)
    kernel = _kernel(beta)
    _check_space(first, second)
    if isinstance(first, Measure) and isinstance(second, Measure) and not space.has_series:
        points = np.concatenate([first.points, second.points])
        masses = np.concatenate([first.mass, -second.mass])
        return math.sqrt(max(_over_pairs(points, masses, beta), 0.0))
    degree = kernel.degree(space.dimension, of_points=space.has_rings)
    difference = first.moments(degree) - second.moments(degree)
    multipliers = kernel.attention_multipliers(space.dimension, degree)
    return math.sqrt(max(space.inner(space.convolve(multipliers, difference), difference), 0.0))


@checked
def sampled_discrepancy(measure: Measure | Density, beta: float, tokens: int) -> float:
    """Mean squared discrepancy between n independent tokens and the measure of their law.

        E MMD^2 = (a(1) - int int k dmu dmu) / n;    uniform: (1 - a_0) / n

    >>> import meanfield as mf
    >>> uniform = mf.Density(mf.Circle(), [1.0])
    >>> round(10 * sampled_discrepancy(uniform, 1.0, 10), 9)  # 1 - I_0(1) / e
    0.534240392
    """
    at_least(1, tokens=tokens)
    kernel, space = _kernel(beta), measure.manifold
    _check_space(measure)
    if not space.has_series and isinstance(measure, Measure):
        return (1.0 - _over_pairs(measure.points, measure.mass, beta)) / tokens
    degree = kernel.degree(space.dimension, of_points=space.has_rings)
    moments = measure.moments(degree)
    multipliers = kernel.attention_multipliers(space.dimension, degree)
    return (1.0 - space.inner(space.convolve(multipliers, moments), moments)) / tokens


def _check_space(*measures: Measure | Density) -> None:
    for measure in measures:
        space = measure.manifold
        if not space.is_sphere:
            raise ValueError(f"{space.name} has no such kernel: measures on spheres have.")
        if not space.has_series and not isinstance(measure, Measure):
            raise ValueError(f"densities on {space.name} have no series: give tokens.")


def _kernel(beta: float) -> Kernel:
    if not beta > 0.0:
        raise ValueError(f"beta must be positive, or the kernel is no positive one: got {beta:g}.")
    return exponential(beta)


def _over_pairs(x: FloatArray, masses: FloatArray, beta: float) -> float:
    rows = max(1, _PAIRS // len(x))
    return math.fsum(
        float(masses[i : i + rows] @ np.exp(beta * (x[i : i + rows] @ x.T - 1.0)) @ masses)
        for i in range(0, len(x), rows)
    )


DEFAULT_DEGREE = 12


@checked
def sobolev_distance(
    first: Measure | Density, second: Measure | Density, max_degree: int = DEFAULT_DEGREE
) -> float:
    """Negative Sobolev distance of two measures, low degrees only.

        ||mu - nu||^2 = sum_{1 <= l <= L} |m_l - n_l|^2 / (l (l + d - 2))

    Near uniform it is W_2 without the degrees above L. On the circle, as L grows, it becomes W_2
    to the uniform measure. On the sphere the sum over all degrees is infinite for points. Away
    from uniform it bounds W_2 neither above nor below.

    Parameters
    ----------
    first, second : Measure or Density
        On the same circle, on S^2, or axial.
    max_degree : int
        L, from 1 to 1,048,576.

    Raises
    ------
    TypeError
        If an argument is neither a Measure nor a Density.
    ValueError
        If the manifolds differ or have no series, or max_degree is out of range.

    References
    ----------
    Peyre, Comparison between W2 distance and H^-1 norm, and localization of Wasserstein
    distance, ESAIM: COCV 24 (2018), 1489-1501.

    Examples
    --------
    >>> import meanfield as mf
    >>> law = mf.Density(mf.Circle(), [1.0, 0.01])
    >>> uniform = mf.Density(mf.Circle(), [1.0])
    >>> bool(abs(sobolev_distance(law, uniform) / mf.wasserstein(law, uniform, 2) - 1) < 1e-12)
    True
    """
    space = shared_manifold(first, second)
    at_least(1, max_degree=max_degree)
    if not space.has_series:
        instead = " Tokens on any sphere have mf.maximum_mean_discrepancy." * space.is_sphere
        raise ValueError(f"the moments of tokens on {space} end at degree 1.{instead}")
    difference = first.moments(max_degree) - second.moments(max_degree)
    weights = np.zeros(max_degree + 1)
    weights[1:] = 1.0 / laplacian_eigenvalues(space.dimension, max_degree)[1:]
    return math.sqrt(max(space.inner(space.convolve(weights, difference), difference), 0.0))
