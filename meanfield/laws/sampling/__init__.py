"""Independent tokens from a density, exact in law; the generator alone decides them.

Densities near uniform use rejection: a uniform proposal x is accepted with probability
f(x) / bound, with a proven bound (`spaces.extremes`). Others invert cumulative distributions, at a
cost that does not depend on the peak: `circle`, `sphere`, polar angles, and mixtures.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from meanfield.arguments import at_least, at_most, checked
from meanfield.arrays import FloatArray
from meanfield.measures import MOST_TOKENS, Component, Density, positive_bound
from meanfield.spaces import Manifold

__all__ = ["drawing_bytes", "sample_tokens", "tokens_of"]

# Rejection is used up to this number of proposals per token.
_NEAR_UNIFORM = 8.0
# Or, on the sphere, up to this number times the degree: inversion takes 17, 65, 360 microseconds
# per token at degree 200, 630, 1,780, a proposal some 0.25.
_A_DEGREE = {1: 0.0, 2: 0.25}
# Proposals at a time, and the bytes of each.
_PROPOSALS = 2**20
_PROPOSAL_BYTES = {1: 40, 2: 90}
# Tokens of mixtures at a time.
_AT_ONCE = 2**16


@checked
def sample_tokens(density: Density, count: int, rng: np.random.Generator | int) -> FloatArray:
    """Independent tokens from a density, exact in law for any peak.

    Memory is bounded, besides that of the tokens.

    Parameters
    ----------
    density : Density
    count : int
        Number of tokens.
    rng : numpy.random.Generator or int
        An integer is the seed of numpy.random.default_rng.

    Returns
    -------
    ndarray, shape (count,) or (count, 3)
        Points of the manifold; polar angles for axial densities.

    Raises
    ------
    ValueError
        If the density is negative somewhere, a number is negative, or count is above 1e10.

    Examples
    --------
    >>> import meanfield as mf
    >>> law = mf.von_mises_fisher(2.0).build(mf.Circle())
    >>> sample_tokens(law, 3, rng=0).shape
    (3,)
    """
    at_least(0, count=count)
    at_most(MOST_TOKENS, count=count)
    if isinstance(rng, int):
        at_least(0, rng=rng)
        rng = np.random.default_rng(rng)
    space = density.manifold
    if density.max_degree == 0:
        return space.random_points(count, rng)
    if space.has_rings:
        from meanfield.spaces.axial.measure import polar_angles

        positive_bound(density, "Reduce the amplitudes")
        return polar_angles(space.ambient, density.coefficients, rng.random(count))
    if space.dimension == 2 and _peak(density) > _NEAR_UNIFORM:
        return _of_mixture(density.components, count, rng)
    bound = positive_bound(density, "Reduce the amplitudes")
    if bound <= _rejected(density):
        return _by_rejection(density, bound, count, rng)
    if space.dimension == 1:
        from meanfield.laws.sampling.circle import circle_tokens

        return circle_tokens(density.coefficients, count, rng)
    from meanfield.laws.sampling.sphere import sphere_tokens

    return sphere_tokens(density.coefficients, count, rng)


def tokens_of(
    space: Manifold, density: Density, count: int, rng: np.random.Generator
) -> FloatArray:
    """Tokens from a density as points of a manifold; an axial one also gives points on S^(d-1)."""
    points = sample_tokens(density, count, rng)
    if density.manifold.has_rings and not space.has_rings:
        # Uniform about the last axis.
        beside = rng.standard_normal((count, space.ambient - 1))
        beside *= (np.sin(points) / np.sqrt((beside * beside).sum(axis=1)))[:, None]
        return np.concatenate([beside, np.cos(points)[:, None]], axis=1)
    return points


def drawing_bytes(density: Density, count: int) -> float:
    """Largest memory in bytes to draw `count` tokens, besides libraries and the tokens."""
    dimension, degree = density.manifold.dimension, density.max_degree
    if density.manifold.has_rings:
        # A table, parts of the tokens at a time, and two copies of the vectors.
        return 2.0**24 + 2000.0 * degree + 8.0 * count * (3.0 + 2.0 * density.manifold.ambient)
    proposals = min(1.1 * count * _rejected(density) + 64, _PROPOSALS)
    if dimension == 1:
        # A cumulative distribution on at most 8 K cells, from transforms; one level per token.
        return max(proposals * _PROPOSAL_BYTES[1], 4000.0 * degree + 32.0 * count)
    if _peak(density) > _NEAR_UNIFORM:
        return 2.0**24 + 24.0 * count
    series = 2.0**26 + 3.0 * density.coefficients.nbytes
    return max(proposals * _PROPOSAL_BYTES[2], series + 64.0 * count)


def _peak(density: Density) -> float:
    """Bound of a mixture on the sphere with known components, else 0."""
    return sum(
        weight * 2.0 * concentration / -np.expm1(-2.0 * concentration) if concentration else weight
        for weight, _, concentration in density.components
    )


def _rejected(density: Density) -> float:
    """Largest bound at which rejection is used."""
    return max(_NEAR_UNIFORM, _A_DEGREE[density.manifold.dimension] * density.max_degree)


def _by_rejection(
    density: Density, bound: float, count: int, rng: np.random.Generator
) -> FloatArray:
    space = density.manifold
    drawn: list[FloatArray] = []
    missing = count
    while missing > 0:
        proposals = space.random_points(min(int(1.1 * missing * bound) + 64, _PROPOSALS), rng)
        heights = bound * rng.random(len(proposals))
        accepted = proposals[heights < space.evaluate(density.coefficients, proposals)]
        drawn.append(accepted[:missing])
        missing -= len(drawn[-1])
    return np.concatenate(drawn)


def _of_mixture(
    components: Sequence[Component], count: int, rng: np.random.Generator
) -> FloatArray:
    """Unit vectors (count, 3), each from a component drawn by its weight.

    Let t = 1 - <x, mean>. For concentration kappa, P(t < s) is proportional to 1 - e^{-kappa s},
    0 <= s <= 2. The angle about the mean is independent and uniform. So

        t = -ln(1 - q (1 - e^{-2 kappa})) / kappa,    q uniform in [0, 1).
    """
    weights = np.array([weight for weight, _, _ in components])
    uniform = rng.random((3, count))
    tokens = np.empty((count, 3))
    for start in range(0, count, _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        choices, shares, turns = uniform[:, part]
        number = np.searchsorted(np.cumsum(weights)[:-1], choices, side="right")
        for i, (_, centre, concentration) in enumerate(components):
            which = np.flatnonzero(number == i)
            tokens[start + which] = _around(centre, concentration, shares[which], turns[which])
    return tokens


def _around(
    centre: FloatArray, concentration: float, shares: FloatArray, turns: FloatArray
) -> FloatArray:
    """Points about a centre, from shares and turns that are uniform in [0, 1)."""
    if concentration:
        depth = -np.log1p(shares * np.expm1(-2.0 * concentration)) / concentration
    else:
        depth = 2.0 * shares
    depth = np.minimum(depth, 2.0)
    # sin^2 = t (2 - t) loses no digits near the mean.
    radius, angles = np.sqrt(depth * (2.0 - depth)), 2.0 * np.pi * turns
    first, second = _frame(centre)
    points = np.multiply.outer(1.0 - depth, centre)
    points += np.multiply.outer(radius * np.cos(angles), first)
    points += np.multiply.outer(radius * np.sin(angles), second)
    return np.asarray(points / np.sqrt((points * points).sum(axis=1))[:, None])


def _frame(centre: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Two unit vectors orthogonal to `centre` and to each other."""
    axis = np.zeros(3)
    axis[np.argmin(np.abs(centre))] = 1.0
    first = np.cross(centre, axis)
    first /= np.sqrt(first @ first)
    return first, np.cross(centre, first)
