"""Branches of stationary states: how they change with the diffusivity, or with beta.

The primary branch leaves uniform at the critical diffusivity in the degree that loses stability
first. Along every branch its saddle nodes are located, and its transition: where its free energy
is that of uniform.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray
from meanfield.compute.threads import one_blas_thread
from meanfield.problem import Problem
from meanfield.stationary.bordered import CurvePoint, first_point
from meanfield.stationary.continuation import Curve, Located, Pace, follow
from meanfield.stationary.families import Family, diffusivity_family
from meanfield.stationary.self_consistency import stationary_symmetry
from meanfield.stationary.symmetry import Symmetry
from meanfield.stationary.transition import branch_direction, critical_degree
from meanfield.theory.stability import critical_diffusivity

Kind = Literal["bifurcation", "saddle_node", "transition"]
Parameter = Literal["diffusivity", "beta"]
_KINDS: Mapping[str, Kind] = {
    "bifurcation": "bifurcation",
    "fold": "saddle_node",
    "transition": "transition",
}
# Moment of the critical degree at the first point: D - D_# is still small there, yet resolved.
_FIRST_MOMENT = 1e-3
# Ordered states within this of a Dirac end a branch.
_ALMOST_DIRAC = 0.98
_SPARE = 0.8
LARGEST_STEP = 0.15


@dataclass(frozen=True, eq=False)
class SpecialPoint:
    """A point of a branch where something happens.

    Attributes
    ----------
    kind : {"bifurcation", "saddle_node", "transition"}
        Derived. Another branch crosses, the branch turns, or its free energy is that of uniform.
    value : float
        Derived. The parameter there.
    order_parameter : float
        Derived.
    moments : ndarray, shape (n,)
        Derived.
    """

    kind: Kind
    value: float
    order_parameter: float
    moments: FloatArray


@dataclass(frozen=True, eq=False)
class Branch:
    """Stationary states along a curve.

    Attributes
    ----------
    problem : Problem
        Given. With the beta (or the diffusivity) that stays fixed.
    symmetry : Symmetry
        Given. Basis of the moments.
    parameter : {"diffusivity", "beta"}
        Given. What changes.
    values : ndarray, shape (n_points,)
        Derived. The parameter; it turns at saddle nodes.
    moments : ndarray, shape (n_points, n)
        Derived.
    free_energy : ndarray, shape (n_points,)
        Derived. Above uniform at the same parameters; NaN if none is known.
    order_parameter : ndarray, shape (n_points,)
        Derived. Moment of the critical degree as a share of that of a Dirac: |int x dmu| for
        degree 1, |int e^{ik theta} dmu| for degree k on the circle.
    stable : ndarray of bool, shape (n_points,)
        Derived. Within the symmetry.
    special : tuple of SpecialPoint
        Derived. In the order in which the branch passes them.
    """

    problem: Problem
    symmetry: Symmetry
    parameter: Parameter
    values: FloatArray
    moments: FloatArray
    free_energy: FloatArray
    order_parameter: FloatArray
    stable: npt.NDArray[np.bool_]
    special: tuple[SpecialPoint, ...]


def primary_branch(
    problem: Problem, *, smallest: float = 0.1, stop: Callable[[float], bool] | None = None
) -> Branch:
    """Branch of ordered states that leaves uniform at the critical diffusivity D_#.

    Followed through its saddle nodes until it is almost a Dirac, or the diffusivity is below a
    share of D_#. States are axisymmetric, and k-fold if degree k is the critical one on the circle
    (even, if k is on the sphere).

    Parameters
    ----------
    problem : Problem
        Its diffusivity and its initial measure are not used. On any sphere.
    smallest : float
        Share of D_# at which the branch ends, in (0, 1).
    stop : callable, optional
        Of the free energy of a state that was reached by falling diffusivity (NaN if unknown): ends
        the branch there.

    Returns
    -------
    Branch
        Its first point is uniform at D_#, a bifurcation.

    Raises
    ------
    ValueError
        If nothing grows, or no equation for stationary states is known.
    ContinuationError
        If the branch cannot be followed to its end.

    Examples
    --------
    >>> import meanfield as mf
    >>> branch = primary_branch(mf.Problem(mf.Circle(), mf.exponential(beta=3.0)))
    >>> for point in branch.special:
    ...     print(point.kind, round(branch.values[0] / point.value, 8))
    bifurcation 1.0
    saddle_node 0.98868532
    transition 0.99122557
    """
    if not 0.0 < smallest < 1.0:
        raise ValueError(f"smallest must be a share of D_# in (0, 1), got {smallest}.")
    critical, degree = critical_diffusivity(problem), critical_degree(problem)
    fold, lowest = symmetry_fold(problem, degree), smallest * critical
    # Quadrature for states as narrow as the kernel; finer, if some are narrower.
    resolved = max(lowest, abs(problem.flow.strength) / max(problem.kernel_degree, fold) ** 2)
    with one_blas_thread():
        while True:
            symmetry = stationary_symmetry(problem, resolved, fold)
            family = diffusivity_family(problem, symmetry, critical)
            index = int(np.flatnonzero(symmetry.degrees == degree)[0])
            curve = _from_uniform(family, index, branch_direction(problem), smallest, stop)
            needed = max(lowest, min(family.sharpness(point) for point in curve.points))
            if needed >= resolved:
                return branch_of(problem, "diffusivity", family, curve, index)
            resolved = max(lowest, _SPARE * needed)


def _from_uniform(
    family: Family,
    index: int,
    direction: float,
    smallest: float,
    stop: Callable[[float], bool] | None,
) -> Curve:
    """The curve that leaves uniform in one moment, from uniform on."""
    along = np.eye(1, len(family.dirac) + 1, index)[0]
    # Small enough for B eps^2 to be small.
    bend = abs(direction) if math.isfinite(direction) else 0.0
    guess = along * _FIRST_MOMENT / (family.dirac[index] * math.sqrt(1.0 + bend))
    start = first_point(family.system, guess[:-1], 0.0, along)

    def ends(point: CurvePoint) -> bool:
        if stop is None:
            return bool(point.state[index] > _ALMOST_DIRAC)
        return bool(point.tangent[-1] < 0) and stop(family.free_energy(point))

    curve = follow(
        family.system,
        start,
        bounds=(math.log(smallest), math.inf),
        stop=ends,
        tests={"transition": family.free_energy},
        pace=Pace(first=0.5 * float(guess[index]), largest=LARGEST_STEP),
    )
    # Uniform itself is left out by the continuation: two curves cross there.
    uniform = replace(start, state=np.zeros(len(family.dirac)), parameter=0.0)
    born = Located("bifurcation", uniform, 0)
    later = tuple(replace(each, after=each.after + 1) for each in curve.located)
    return Curve((uniform, *curve.points), (born, *later))


def branch_of(
    problem: Problem, parameter: Parameter, family: Family, curve: Curve, index: int
) -> Branch:
    """The curve in the words of physics; `index` is that of the critical degree."""
    points = curve.points
    return Branch(
        problem=problem,
        symmetry=family.symmetry,
        parameter=parameter,
        values=np.array([family.value(point.parameter) for point in points]),
        moments=np.array([family.moments(point) for point in points]),
        free_energy=np.array([family.free_energy(point) for point in points]),
        order_parameter=np.array([abs(point.state[index]) for point in points]),
        stable=_stability(family, curve),
        special=tuple(
            SpecialPoint(
                _KINDS[each.kind],
                family.value(each.point.parameter),
                float(abs(each.point.state[index])),
                family.moments(each.point),
            )
            for each in curve.located
        ),
    )


def _stability(family: Family, curve: Curve) -> npt.NDArray[np.bool_]:
    """Stability of every point; between folds and crossings it cannot change, so one is asked."""
    # Where a curve ends in uniform, that point is marginal and is counted with its neighbours.
    ends = (curve.points[0], curve.points[-1])
    turns = [
        each.after + 1
        for each in curve.located
        if each.kind != "transition" and each.point not in ends
    ]
    borders = sorted({0, len(curve.points), *turns})
    stable = np.zeros(len(curve.points), dtype=bool)
    for first, end in itertools.pairwise(borders):
        stable[first:end] = family.is_stable(curve.points[(first + end) // 2])
    return stable


def symmetry_fold(problem: Problem, degree: int) -> int:
    """Fold of the axisymmetric states of a degree: the degree on the circle, parity above."""
    return degree if problem.manifold.dimension == 1 else 2 - degree % 2
