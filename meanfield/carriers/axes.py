"""Densities of many dimensions have an axis: which problem a run evolves."""

from __future__ import annotations

from meanfield.measures import Density
from meanfield.problem import Problem


def carried(problem: Problem, representation: str) -> Problem:
    """The problem that a run evolves: that of axial densities if one begins on S^{d-1}, d > 3.

    Tokens drawn from it, and tokens that are given, stay on the sphere itself.

    >>> import meanfield as mf
    >>> problem = mf.Problem(mf.Sphere(8), mf.exponential(5.0), mf.SA, mf.von_mises_fisher(2.0))
    >>> carried(problem, "auto").manifold, carried(problem, "particles").manifold
    (Axial(8), Sphere(8))
    """
    space = problem.manifold
    if space.has_series or not space.is_sphere or representation == "particles":
        return problem
    return problem.axial if isinstance(problem.initial_measure(), Density) else problem
