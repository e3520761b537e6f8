"""Branches of stationary states: how they change with the diffusivity.

The primary branch leaves uniform at the critical diffusivity in the degree that loses stability
first. Along every branch its saddle nodes are located, and its transition: where its free energy
is that of uniform.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray
from meanfield.engines.threads import one_blas_thread
from meanfield.problem import Problem
from meanfield.spectrum.stability import critical_degree, critical_diffusivity
from meanfield.stationary.bordered import CurvePoint, first_point
from meanfield.stationary.continuation import Curve, Family, Located, Pace, follow
from meanfield.stationary.onset import branch_direction
from meanfield.stationary.states import StationaryState
from meanfield.stationary.symmetry import Symmetry, carrying_degree, stationary_symmetry, steepest

Kind = Literal["bifurcation", "saddle_node", "transition"]
_KINDS: Mapping[str, Kind] = {
    "bifurcation": "bifurcation",
    "fold": "saddle_node",
    "transition": "transition",
}
# Moment of the critical degree at the first point: D - D_# is still small there, yet resolved.
_FIRST_MOMENT = 1e-3
# Ordered states above this, and below uniform by D in free energy, end a branch.
_ALMOST_DIRAC = 0.98
# The next quadrature is for states a little sharper than the branch was seen to have.
_SPARE = 0.8
# A branch has 40 to 80 points then: turns are not stepped over, and splines through them exact.
_LARGEST_STEP = 0.15
# The work grows as the fourth power of the degree: minutes here, hours at three times as much.
_CONTINUED_DEGREE = 1000


@dataclass(frozen=True, eq=False)
class SpecialPoint:
    """A point of a branch where something happens.

    kind: "bifurcation" (another branch crosses), "saddle_node" (the branch turns) or "transition"
    (its free energy is that of uniform); value: diffusivity there.
    """

    kind: Kind
    value: float
    order_parameter: float
    free_energy: float
    moments: FloatArray = field(repr=False)


@dataclass(frozen=True, eq=False)
class Branch:
    """Stationary states along a curve, arrays (n_points, ...).

    - degree: the critical degree of the problem.
    - values: diffusivity; it turns at saddle nodes.
    - free_energy: above uniform at the same diffusivity; NaN if none is known.
    - order_parameter: moment of the critical degree as a share of that of a Dirac: |int x dmu| for
      degree 1, |int e^{ik theta} dmu| for degree k on the circle.
    - stable_within_symmetry: whether no perturbation of the symmetry grows; for all others see
      `state(i).is_stable`.
    - special (tuple of SpecialPoint): in the order in which the branch passes them.
    """

    problem: Problem
    symmetry: Symmetry = field(repr=False)
    degree: int
    values: FloatArray = field(repr=False)
    moments: FloatArray = field(repr=False)
    free_energy: FloatArray = field(repr=False)
    order_parameter: FloatArray = field(repr=False)
    stable_within_symmetry: npt.NDArray[np.bool_] = field(repr=False)
    special: tuple[SpecialPoint, ...]

    def state(self, i: int) -> StationaryState:
        """Stationary state of a point, of the problem with the diffusivity there."""
        problem, value = self.problem, float(self.values[i])
        problem = replace(problem, flow=replace(problem.flow, diffusivity=value))
        return StationaryState(problem, self.symmetry, self.moments[i])


def primary_branch(problem: Problem, *, smallest: float = 0.1) -> Branch:
    """Branch of ordered states that leaves uniform at the critical diffusivity D_#.

    Followed through its saddle nodes until the diffusivity is `smallest` D_#, or the state almost
    a Dirac and uniform far behind in free energy. It ends earlier where moments no longer hold the
    state: for SA with beta < 0 it is densest where a*f vanishes. States are axisymmetric, and
    k-fold if degree k is the critical one on the circle (even, if k is on the sphere). Its first
    point is uniform at D_#. ContinuationError if it cannot be followed to its end.

    >>> import meanfield as mf
    >>> branch = primary_branch(mf.Problem(mf.Circle(), mf.exponential(beta=3.0), mf.USA))
    >>> for point in branch.special:
    ...     print(point.kind, round(branch.values[0] / point.value, 8))
    bifurcation 1.0
    saddle_node 0.98868532
    transition 0.99122557
    """
    if not 0.0 < smallest < 1.0:
        raise ValueError(f"smallest must be a share of D_# in (0, 1), got {smallest}.")
    check_narrowness(problem)
    critical, degree = critical_diffusivity(problem), critical_degree(problem)
    fold, lowest = _symmetry_fold(problem, degree), smallest * critical
    # Quadrature for states as narrow as the kernel; finer, if some are narrower.
    resolved = max(lowest, steepest(problem) / max(problem.zonal.degree, fold) ** 2)
    with one_blas_thread():
        while True:
            symmetry = stationary_symmetry(problem, resolved, fold)
            family = Family(problem, symmetry, critical)
            with family.named():
                curve = _from_uniform(family, degree, branch_direction(problem), smallest)
            needed = max(lowest, min(family.sharpness(point) for point in curve.points))
            if needed >= resolved:
                return _branch_of(problem, family, curve, degree)
            resolved = max(lowest, _SPARE * needed)


def check_narrowness(problem: Problem) -> int:
    """Number of degrees that the stationary states of a problem need, refused if too many."""
    degrees = carrying_degree(problem)
    if degrees > _CONTINUED_DEGREE:
        raise ValueError(
            f"{problem.zonal.kernel!r} is too narrow: its stationary states need {degrees} degrees,"
            f" at most {_CONTINUED_DEGREE}. Take a smaller beta."
        )
    return degrees


def _from_uniform(family: Family, degree: int, direction: float, smallest: float) -> Curve:
    """The curve that leaves uniform in the moment of a degree, from uniform on."""
    dirac, index = family.symmetry.dirac, _index_of(family, degree)
    along = np.eye(1, len(dirac) + 1, index)[0]
    # Small enough for B eps^2 to be small.
    bend = abs(direction) if math.isfinite(direction) else 0.0
    guess = along * _FIRST_MOMENT / (dirac[index] * math.sqrt(1.0 + bend))
    start = first_point(family.system, guess[:-1], 0.0, along)

    def ends(point: CurvePoint) -> bool:
        if family.is_lost(point):
            return True
        # An unknown free energy is NaN, and not refined.
        behind = not family.free_energy(point) > -family.diffusivity(point.parameter)
        return bool(point.state[index] > _ALMOST_DIRAC) and behind

    curve = follow(
        family.system,
        start,
        bounds=(math.log(smallest), math.inf),
        stop=ends,
        tests={"transition": family.free_energy},
        pace=Pace(first=0.5 * float(guess[index]), largest=_LARGEST_STEP),
    )
    # Uniform itself is left out by the continuation: two curves cross there.
    uniform = replace(start, state=np.zeros(len(dirac)), parameter=0.0)
    born = Located("bifurcation", uniform, 0)
    later = tuple(replace(each, after=each.after + 1) for each in curve.located)
    return Curve((uniform, *curve.points), (born, *later))


def _branch_of(problem: Problem, family: Family, curve: Curve, degree: int) -> Branch:
    """The curve in the words of physics; `degree` is the critical one."""
    points, index = curve.points, _index_of(family, degree)
    return Branch(
        problem=problem,
        symmetry=family.symmetry,
        degree=degree,
        values=np.array([family.diffusivity(point.parameter) for point in points]),
        moments=np.array([family.moments(point) for point in points]),
        free_energy=np.array([family.free_energy(point) for point in points]),
        order_parameter=np.array([abs(point.state[index]) for point in points]),
        stable_within_symmetry=_stability(family, curve),
        special=tuple(
            SpecialPoint(
                kind=_KINDS[each.kind],
                value=family.diffusivity(each.point.parameter),
                order_parameter=float(abs(each.point.state[index])),
                free_energy=family.free_energy(each.point),
                moments=family.moments(each.point),
            )
            for each in curve.located
        ),
    )


def _index_of(family: Family, degree: int) -> int:
    """Where the basis of the family has a degree."""
    return int(np.flatnonzero(family.symmetry.degrees == degree)[0])


def _stability(family: Family, curve: Curve) -> npt.NDArray[np.bool_]:
    """Stability of every point; between folds and crossings it cannot change, so one decides."""
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


def _symmetry_fold(problem: Problem, degree: int) -> int:
    """Fold of the axisymmetric states of a degree: the degree on the circle, parity above."""
    return degree if problem.zonal.dimension == 1 else 2 - degree % 2
