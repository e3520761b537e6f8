"""What the runs of a study have in common: problem, law and random numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from meanfield.measures import Density, Measure
from meanfield.problem import Problem


def made(problem: Problem | Callable[[], Problem]) -> Problem:
    """The problem itself, or the one that the function makes."""
    return problem if isinstance(problem, Problem) else problem()


def initial_density(problem: Problem) -> Density:
    """The initial law, from which tokens are drawn.

    Raises
    ------
    TypeError
        If it gives points.
    """
    law = problem.initial_measure()
    if isinstance(law, Measure):
        raise TypeError(
            f"initial law {problem.initial.name!r} gives points, but tokens are drawn from a "
            "density. Use an initial law that is a density."
        )
    return law


def rng_of(seed: int, *key: int) -> np.random.Generator:
    """Random numbers of one run, which depend on these numbers and on nothing else.

    Examples
    --------
    >>> rng_of(0, 100, 3).random() == rng_of(0, 100, 3).random() != rng_of(0, 100, 4).random()
    True
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
