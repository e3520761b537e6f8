"""Branches of stationary states as functions of the diffusivity.

The primary branch leaves uniform at the critical diffusivity, in the degree that loses stability
first. On every branch the module locates saddle nodes and the transition, where the free energy is
that of uniform.

Order sets in continuously or with a jump. Let eps be the moment of the dominant degree k. At the
critical diffusivity D_# the branch begins like

    D = D_# (1 + B eps^2 + ...).

It exists below D_# if B < 0 (continuous) and overhangs above it if B > 0 (discontinuous). The
square of the dominant harmonic is p_k^2 = 1 + kappa p_{2k}, on the circle with kappa^2 = 1/2, and
on S^{d-1} for k = 1 with kappa^2 = (2d - 2)/(d + 2). With the ratios q = w_{2k} / w_k and
alpha_l = a_l / a_0,

    USA   B = kappa^2 q / (2 (1 - q)) + kappa^2 / 6 - 1/3
    SA    B = kappa (q mu - alpha_k kappa / 2 - alpha_{2k} mu) + alpha_k^2 (1 + kappa^2) / 3
              + (kappa^2 - 2) / 6,             mu = kappa (1 - alpha_k) / (2 (1 - q))

(SA for the exponential kernel, where stationary f ~ (a*f)^{1/(c D)}). B = 0 is the tricritical
point: for USA on S^{d-1}, q = I_{d/2+1}(beta) / I_{d/2}(beta) = 1/d.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from meanfield.arguments import checked
from meanfield.arrays import FloatArray
from meanfield.engines.threads import one_blas_thread
from meanfield.problem import Problem
from meanfield.spaces.manifold import Geometry
from meanfield.spectrum.stability import TIE, couplings, critical_degree, critical_diffusivity
from meanfield.stationary.continuation import (
    Curve,
    CurvePoint,
    Family,
    Located,
    Pace,
    first_point,
    follow,
)
from meanfield.stationary.states import StationaryState
from meanfield.stationary.symmetry import Symmetry, carrying_degree, stationary_symmetry, steepest
from meanfield.terms.kernels.exponential import inverse_bessel_ratio

Kind = Literal["bifurcation", "saddle_node", "transition"]
_KINDS: Mapping[str, Kind] = {
    "bifurcation": "bifurcation",
    "fold": "saddle_node",
    "transition": "transition",
}
# Moment of the critical degree at the first point: D - D_# is small there, but resolved.
_FIRST_MOMENT = 1e-3
# A branch ends at an order parameter above this, if its free energy is below uniform by D.
_ALMOST_DIRAC = 0.98
# The next quadrature resolves states that are a little sharper than those of the branch.
_SPARE = 0.8
# It gives 40 to 80 points: no turn is missed, and splines through them are accurate.
_LARGEST_STEP = 0.15
# The work grows as the fourth power of the degree: minutes here, hours at three times as much.
_CONTINUED_DEGREE = 1000


@dataclass(frozen=True, eq=False)
class SpecialPoint:
    """A special point of a branch.

    kind: "bifurcation" (another branch crosses), "saddle_node" (the branch turns) or "transition"
    (its free energy is that of uniform); value: its diffusivity.
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
    - order_parameter: moment of the critical degree relative to that of a Dirac: |int x dmu| for
      degree 1, |int e^{ik theta} dmu| for degree k on the circle.
    - stable_within_symmetry: whether no perturbation with the symmetry grows; for all perturbations
      see `state(i).is_stable`.
    - special (tuple of SpecialPoint): in order along the branch.
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
        """Stationary state at a point, with the problem at its diffusivity."""
        problem, value = self.problem, float(self.values[i])
        problem = replace(problem, flow=replace(problem.flow, diffusivity=value))
        return StationaryState(problem, self.symmetry, self.moments[i])


def primary_branch(problem: Problem, *, smallest: float = 0.1) -> Branch:
    """Branch of ordered states that leaves uniform at the critical diffusivity D_#.

    Its first point is uniform at D_#. It passes saddle nodes and ends at the diffusivity `smallest`
    D_#, or when the state is almost a Dirac with a free energy far below uniform. It ends earlier
    where moments cannot represent the state: for SA with beta < 0 the density is largest where a*f
    vanishes. States are axisymmetric; for the critical degree k they are k-fold on the circle, and
    even on spheres if k is even. ContinuationError if the branch cannot be followed to its end.

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
    # Quadrature for states as narrow as the kernel, refined below if some are narrower.
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
    """Number of degrees that stationary states of a problem need; ValueError if too many."""
    degrees = carrying_degree(problem)
    if degrees > _CONTINUED_DEGREE:
        raise ValueError(
            f"{problem.zonal.kernel!r} is too narrow: its stationary states need {degrees} degrees,"
            f" at most {_CONTINUED_DEGREE}. Take a smaller beta."
        )
    return degrees


def _from_uniform(family: Family, degree: int, direction: float, smallest: float) -> Curve:
    """The curve from uniform on, which it leaves in the moment of a degree."""
    dirac, index = family.symmetry.dirac, _index_of(family, degree)
    along = np.eye(1, len(dirac) + 1, index)[0]
    # Small enough for B eps^2 to be small.
    bend = abs(direction) if math.isfinite(direction) else 0.0
    guess = along * _FIRST_MOMENT / (dirac[index] * math.sqrt(1.0 + bend))
    start = first_point(family.system, guess[:-1], 0.0, along)

    def ends(point: CurvePoint) -> bool:
        if family.is_lost(point):
            return True
        # True also for NaN, an unknown free energy.
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
    # The continuation cannot include uniform, where two curves cross.
    uniform = replace(start, state=np.zeros(len(dirac)), parameter=0.0)
    born = Located("bifurcation", uniform, 0)
    later = tuple(replace(each, after=each.after + 1) for each in curve.located)
    return Curve((uniform, *curve.points), (born, *later))


def _branch_of(problem: Problem, family: Family, curve: Curve, degree: int) -> Branch:
    """Branch of a curve; `degree` is the critical one."""
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
    return int(np.flatnonzero(family.symmetry.degrees == degree)[0])


def _stability(family: Family, curve: Curve) -> npt.NDArray[np.bool_]:
    """Stability of every point; between folds and crossings it is constant, so one decides."""
    # A point of uniform at an end is marginal, and belongs to its neighbours.
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
    """Fold of the axisymmetric states of a degree: the degree on the circle, 1 or 2 on spheres."""
    return degree if problem.zonal.dimension == 1 else 2 - degree % 2


@checked
def tricritical_beta(manifold: Geometry) -> float:
    """The beta above which order sets in with a jump, for attractive USA.

    It solves I_{d/2+1}(beta) / I_{d/2}(beta) = 1/d on the unit sphere of R^d, for the exponential
    kernel. Softmax attention (SA) has no such beta: B < 0 at every beta > 0.

    Parameters
    ----------
    manifold : Circle or Sphere
        `Sphere(d)` of any d.

    Returns
    -------
    float
        Accurate to a few roundings.

    Raises
    ------
    TypeError
        If it is no manifold; a number could be the dimension of the sphere or of R^d.

    References
    ----------
    Mun, Rosenzweig, arXiv:2604.16288 (d = 2) and arXiv:2606.05140 (all d).

    Examples
    --------
    >>> import meanfield as mf
    >>> [round(tricritical_beta(mf.Sphere(d)), 11) for d in (2, 3)]
    [2.44691831129, 1.81615452544]
    """
    d = manifold.dimension + 1
    return float(inverse_bessel_ratio(d / 2 + 1.0, 1.0 / d))


def branch_direction(problem: Problem) -> float:
    """Coefficient B in D = D_# (1 + B eps^2 + ...) of the branch that leaves uniform.

    eps is the moment of the critical degree in the normalised basis, sqrt(d) times the order
    parameter for degree 1. Order sets in continuously if B < 0, with a jump if B > 0
    (`tricritical_beta` has B = 0). Infinite, also with a jump, if the branch leaves linearly in
    eps, as for even degrees on the sphere.

    ValueError if nothing grows, a normalised flow has a kernel that is not built in, or the
    critical degree on the sphere is odd and above 1.

    >>> import meanfield as mf
    >>> round(branch_direction(mf.Problem(mf.Circle(), mf.linear(), mf.USA)), 12)
    -0.25
    """
    zonal = problem.zonal
    kernel, dimension = zonal.kernel, zonal.dimension
    k = critical_degree(problem)
    if zonal.normalized and kernel.log_slope is None:
        raise ValueError(
            f"stationary states of a normalised flow need a built-in kernel, got {kernel.name!r}. "
            "Use normalized = false."
        )
    if dimension > 1 and k > 1:
        if k % 2 == 0:
            return math.inf
        raise ValueError(
            f"the direction of the branch is known for degree 1 and even degrees on "
            f"{problem.manifold.name}; here degree {k} grows first."
        )
    d = dimension + 1
    squared = (2.0 * d - 2.0) / (d + 2.0)
    kappa = math.sqrt(squared)
    coupling = couplings(problem, 2 * k)
    q = float(coupling[2 * k] / coupling[k])
    # TIE: the rounding of a quadrature.
    if q >= 1.0 - TIE:
        # Both degrees lose stability together: the branch leaves linearly.
        return math.inf
    if not zonal.normalized or kernel.log_slope is None:
        return squared * q / (2.0 * (1.0 - q)) + squared / 6.0 - 1.0 / 3.0
    first, second = (float(kernel.log_slope / zonal.strength * coupling[l]) for l in (k, 2 * k))
    mu = kappa * (1.0 - first) / (2.0 * (1.0 - q))
    return (
        kappa * (q * mu - first * kappa / 2.0 - second * mu)
        + first**2 * (1.0 + squared) / 3.0
        + (squared - 2.0) / 6.0
    )
