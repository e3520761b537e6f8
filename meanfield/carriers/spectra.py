"""Common parts of densities on grids: degrees, their doubling, and limits of steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

import numpy as np

from meanfield.arrays import FloatArray, ModalArray, State
from meanfield.problem import Problem
from meanfield.spaces import Manifold

TRANSFORM_NOISE = 2e-13
"""Smaller tails are rounding of the transforms, advected.

Tails of 1e-14 to 8e-14 were measured at degrees 64 to 4096 where the exact ones are below 1e-20.
"""

EFOLDS = 1.0
"""Longest step with an exact linear part, times the growth rate about uniform.

The remainder is quadratic in the perturbation, so a step multiplies it by at most e^2.
"""

# Degrees of an initial density this small are rounding of its mass.
_NOTHING = 1e-16
# The degree doubles when the tail passes this share of the tolerance: the truncation then
# never reaches the tolerance in the moments.
_DOUBLE_EARLY = 1e-3
# DOP853 is stable on the imaginary axis up to 5.96 and damps at 4 (|R(4i)| = 0.977); the
# velocity may grow by half within a step.
_COURANT = 4.0
# Exponential steps are stable on the imaginary axis up to 2.8. Degrees k > |v| / D set no limit:
# diffusion damps them, D k^2, faster than advection moves them, |v| k.
_DAMPED = 2.5

_T = TypeVar("_T")


def visible(tolerance: float) -> float:
    """Tail at which the degree doubles."""
    return max(_DOUBLE_EARLY * tolerance, TRANSFORM_NOISE)


def courant_limit(degree: int, fastest: float, diffusivity: float) -> float:
    """Longest step of a density whose largest speed is `fastest`; infinite where nothing moves.

    Without it steps stay at the limit of stability, and noise in the highest degrees looks like a
    full spectrum.

    >>> courant_limit(64, 0.5, 0.0), courant_limit(64, 0.5, 0.1), courant_limit(64, 0.0, 0.1)
    (0.125, 1.0, inf)
    """
    if fastest == 0:
        return np.inf
    if diffusivity:
        return max(_DAMPED / (degree * fastest), _DAMPED * diffusivity / fastest**2)
    return _COURANT / (degree * fastest)


def first_degree(
    problem: Problem, sizes: FloatArray, owner: str, max_degree: int, least: int
) -> int:
    """First degree of a density: the largest of twice its own, the kernel's and `least`."""
    space, kernel = problem.manifold, problem.unlabelled.kernel_degree
    if max_degree > space.largest_degree:
        raise ValueError(
            f"max_degree = {max_degree} must be at most {space.largest_degree} on the {space.name}."
        )
    # The final density of a run ends in rounding, which needs no grid of twice its degree.
    carried = int(np.flatnonzero(sizes > _NOTHING).max())
    check_degrees({owner: carried, "kernel": kernel}, max_degree)
    return min(max(least, 2 * carried, kernel), max_degree)


def check_degrees(degrees: Mapping[str, int], max_degree: int) -> None:
    """Refuse `max_degree` below one of the degrees by owner."""
    for owner, degree in degrees.items():
        if degree > max_degree:
            raise ValueError(
                f"max_degree = {max_degree} is below degree {degree} of the {owner}: set it to "
                f"{degree} or more."
            )


def per_coefficient(space: Manifold, rates: FloatArray) -> ModalArray:
    """Rates by degree, one for each coefficient; complex, as states are."""
    return space.convolve(rates, np.ones_like(space.resize(space.from_modes([]), len(rates) - 1)))


class LastSeen(Generic[_T]):
    """Cache of the last state's resolution: every step reads it several times."""

    def __init__(self, watch: Callable[[State], _T]) -> None:
        self._watch = watch
        self._last: tuple[State, _T] | None = None

    def __call__(self, state: State) -> _T:
        """Resolution of a state, computed once."""
        if self._last is None or not np.array_equal(self._last[0], state):
            self._last = (state.copy(), self._watch(state))
        return self._last[1]
