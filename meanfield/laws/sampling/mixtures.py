"""Tokens of mixtures of von Mises-Fisher densities on the sphere, in closed form.

Let t = 1 - <x, mean>. A density of concentration kappa has P(t < s) proportional to
1 - e^{-kappa s}, 0 <= s <= 2. The angle about the mean is independent and uniform. So

    t = -ln(1 - q (1 - e^{-2 kappa})) / kappa,    q uniform in [0, 1).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.measures import Component

_AT_ONCE = 2**16


def mixture_tokens(
    components: Sequence[Component], count: int, rng: np.random.Generator
) -> FloatArray:
    """Unit vectors (count, 3), each from a component that is drawn by its weight."""
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
    """Points about a centre, from what is uniform in [0, 1)."""
    if concentration:
        depth = -np.log1p(shares * np.expm1(-2.0 * concentration)) / concentration
    else:
        depth = 2.0 * shares
    depth = np.minimum(depth, 2.0)
    # sin^2 = t (2 - t): no digits are lost near the mean.
    radius, angles = np.sqrt(depth * (2.0 - depth)), 2.0 * np.pi * turns
    first, second = _frame(centre)
    points = np.multiply.outer(1.0 - depth, centre)
    points += np.multiply.outer(radius * np.cos(angles), first)
    points += np.multiply.outer(radius * np.sin(angles), second)
    return np.asarray(points / np.sqrt((points * points).sum(axis=1))[:, None])


def _frame(centre: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Two unit vectors orthogonal to a third and to each other."""
    axis = np.zeros(3)
    axis[np.argmin(np.abs(centre))] = 1.0
    first = np.cross(centre, axis)
    first /= np.sqrt(first @ first)
    return first, np.cross(centre, first)
