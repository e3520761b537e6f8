"""What the runs of a study make their problem and their random numbers from."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor

import numpy as np

from meanfield.measures import Density, Measure
from meanfield.problem import Problem

ProblemSource = Callable[[], Problem]
"""Makes the problem anew. A Problem holds functions and cannot travel to another process."""


def made(source: Problem | ProblemSource) -> Problem:
    """The problem itself, or the one that the function makes."""
    return source if isinstance(source, Problem) else source()


def check_travels(source: Problem | ProblemSource, executor: Executor | None) -> None:
    """Refuse to send a Problem to other processes.

    Raises
    ------
    TypeError
        With what to do instead.
    """
    from concurrent.futures import ProcessPoolExecutor

    if isinstance(source, Problem) and isinstance(executor, ProcessPoolExecutor):
        raise TypeError(
            "a Problem cannot travel to other processes: got a ProcessPoolExecutor. Pass a "
            "function that makes the problem, or use a ThreadPoolExecutor."
        )


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
