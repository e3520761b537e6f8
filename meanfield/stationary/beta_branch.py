"""Branches of stationary states over beta, at a diffusivity that stays fixed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.compute.threads import one_blas_thread
from meanfield.kernels import exponential
from meanfield.problem import Problem
from meanfield.stationary.bordered import FARTHEST, first_point
from meanfield.stationary.branches import (
    LARGEST_STEP,
    Branch,
    branch_of,
    index_of,
    symmetry_fold,
)
from meanfield.stationary.continuation import Curve, Pace, follow
from meanfield.stationary.families import beta_family
from meanfield.stationary.newton import padded_guess
from meanfield.stationary.resolution import stationary_symmetry
from meanfield.theory.stability import critical_degree

# Moments, as shares of a Dirac's, that are those of uniform: half of the digits, as Newton's
# method is singular at the bifurcation.
_UNIFORM = 1e-8


def beta_branch(problem: Problem, moments: FloatArray, betas: tuple[float, float]) -> Branch:
    """Branch of stationary states at fixed diffusivity, over beta, through a given state.

    Parameters
    ----------
    problem : Problem
        With the exponential kernel and the diffusivity that stays fixed.
    moments : array_like, shape (n,)
        Of a stationary state of this problem, not uniform, in the axisymmetric basis of its fold;
        a guess is enough. Missing ones are 0.
    betas : pair of floats
        Bounds of beta around the problem's own, of its sign. The branch ends there, or where it
        merges with uniform.

    Returns
    -------
    Branch
        Ordered from the end that is met towards falling beta.

    Raises
    ------
    ValueError
        If the kernel is not exponential, there is no diffusivity, the bounds do not enclose the
        beta of the problem, the guess has more moments than the basis, or it leads to uniform.
    ContinuationError
        If there is no state near the guess, or the branch cannot be followed to its end.

    Examples
    --------
    >>> import meanfield as mf
    >>> flow = mf.Flow(diffusivity=0.066)
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=3.0), flow)
    >>> branch = beta_branch(problem, [0.99, 0.5, 0.2], (1.0, 6.0))
    >>> [point.kind for point in branch.special]
    ['transition', 'saddle_node', 'bifurcation']
    """
    bounds = sorted(betas, key=abs)
    _check_beta_branch(problem, bounds)
    # A step predicts a beta, and Newton's method tries others, a little beyond the bound.
    beyond = bounds[1] * math.exp(LARGEST_STEP + FARTHEST)
    widest = replace(problem, kernel=exponential(beyond))
    degree = critical_degree(problem)
    symmetry = stationary_symmetry(
        widest, problem.zonal.diffusivity, symmetry_fold(problem, degree)
    )
    family = beta_family(problem, symmetry)
    index = index_of(family, degree)
    guess = padded_guess(np.asarray(moments, dtype=np.float64), len(symmetry.degrees))
    guess /= symmetry.dirac

    def crossing(p: float) -> float:
        equation, diffusivity = family.equation(p)
        return float(equation.coupling[index]) / diffusivity - 1.0

    with one_blas_thread(), family.named():
        sides = []
        for way in (-1.0, 1.0):
            start = first_point(
                family.system, guess, 0.0, way * np.eye(1, len(guess) + 1, len(guess))[0]
            )
            if abs(start.state[index]) < _UNIFORM:
                raise ValueError(
                    f"the moments lead to uniform at diffusivity = {problem.zonal.diffusivity:g}: "
                    "give those of an ordered state, or a smaller diffusivity."
                )
            side = follow(
                family.system,
                start,
                bounds=(
                    math.log(bounds[0] / problem.zonal.kernel.beta),
                    math.log(bounds[1] / problem.zonal.kernel.beta),
                ),
                stop=lambda point: bool(point.state[index] * guess[index] < 0),
                tests={
                    "transition": family.free_energy,
                    "uniform": lambda point: float(point.state[index]),
                },
                pace=Pace(first=1e-2, largest=LARGEST_STEP),
            )
            sides.append(_until_uniform(side, crossing))
        return branch_of(problem, family, _joined(*sides), degree)


def _until_uniform(curve: Curve, crossing: Callable[[float], float]) -> Curve:
    """The curve up to where it merges with uniform, which is a bifurcation.

    The equation is singular there, and half of the digits are lost; `crossing` is the function of
    p whose zero it is.
    """
    from scipy.optimize import newton

    for found in curve.located:
        if found.kind == "uniform":
            before = tuple(each for each in curve.located if each.after < found.after)
            exact = float(newton(crossing, found.point.parameter, tol=1e-15))
            point = replace(found.point, state=np.zeros_like(found.point.state), parameter=exact)
            end = replace(found, kind="bifurcation", point=point)
            return Curve((*curve.points[: found.after + 1], point), (*before, end))
    return curve


def _joined(falling: Curve, rising: Curve) -> Curve:
    """Two curves from one point as a single one, the first of them backwards."""
    last = len(falling.points) - 1
    back = tuple(replace(each, after=last - 1 - each.after) for each in falling.located[::-1])
    on = tuple(replace(each, after=last + each.after) for each in rising.located)
    return Curve((*falling.points[:0:-1], *rising.points), (*back, *on))


def _check_beta_branch(problem: Problem, bounds: Sequence[float]) -> None:
    kernel = problem.zonal.kernel
    if kernel.name != "exponential":
        raise ValueError(f"a branch over beta needs the exponential kernel, got {kernel.name!r}.")
    if not problem.zonal.diffusivity > 0:
        raise ValueError("a branch over beta needs a diffusivity above 0, got 0.")
    if not 0.0 < bounds[0] / kernel.beta <= 1.0 <= bounds[1] / kernel.beta:
        raise ValueError(
            f"betas must enclose beta = {kernel.beta:g} and have its sign, got {tuple(bounds)}."
        )
