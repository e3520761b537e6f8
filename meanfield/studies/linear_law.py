"""The linear law: maxima of samples of the Gaussian potential at the onset time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from meanfield.arrays import IntArray
from meanfield.problem import Problem
from meanfield.theory.cluster_counts import potential_variances

# Samples of the field that are held at once, and coefficients of theirs.
_SAMPLES_AT_ONCE = 1000
_COEFFICIENTS_AT_ONCE = 500_000
# By default as many samples as these, and on the sphere no more than about half a minute's worth:
# the time that one takes grows with the cube of the degree, and so do the tables.
_SAMPLES, _LEAST_SAMPLES = 10_000, 20
_SPHERE_WORK = 1e8
LARGEST_SPHERE_DEGREE = 200


def check_degree(dimension: int, degree: int, beta: float) -> None:
    """Refuse potentials whose maxima would take the memory of the machine.

    Raises
    ------
    ValueError
        On the sphere above degree 200.
    """
    if dimension == 2 and degree > LARGEST_SPHERE_DEGREE:
        raise ValueError(
            f"beta = {beta:g} makes potentials of degree {degree} on the sphere, and maxima are "
            f"counted up to degree {LARGEST_SPHERE_DEGREE}: reduce beta."
        )


def default_samples(dimension: int, degree: int) -> int:
    """Samples unless told otherwise: 10,000, on the sphere as many as half a minute allows.

    With many clusters fewer samples do: the spread of their number over its mean falls.

    Examples
    --------
    >>> default_samples(1, 3000), default_samples(2, 12), default_samples(2, 33)
    (10000, 10000, 2782)
    """
    if dimension == 1:
        return _SAMPLES
    return max(_LEAST_SAMPLES, min(_SAMPLES, int(_SPHERE_WORK / max(degree, 1) ** 3)))


def linear_counts(problem: Problem, tokens: int, samples: int, seed: int) -> Iterator[IntArray]:
    """Numbers of maxima of samples of the potential at the onset time, chunk by chunk."""
    space, variances = problem.space, potential_variances(problem, tokens)
    # Only the shape counts; the size may be near the smallest numbers there are.
    from meanfield.manifolds.maxima import count_maxima, gaussian_fields

    variances = variances / variances.max()
    coefficients = len(space.resize(space.from_modes([]), len(variances) - 1))
    # The chunks are part of the result: they depend on the problem and on nothing else.
    chunk = min(_SAMPLES_AT_ONCE, max(1, _COEFFICIENTS_AT_ONCE // coefficients))
    rng = np.random.default_rng(seed)
    for start in range(0, samples, chunk):
        fields = gaussian_fields(space, variances, min(chunk, samples - start), rng)
        yield count_maxima(space, fields)
