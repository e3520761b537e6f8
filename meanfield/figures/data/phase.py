"""Branches of stationary states and phase diagrams as curves to draw."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.described import Facts
from meanfield.problem_facts import facts_of
from meanfield.stationary.branches import Branch
from meanfield.studies.phase import PhaseDiagram, PhasePoint

ORDER, VALUE, ENERGY = range(3)
"""Columns of a piece: order parameter, parameter, free energy (0 where none is known)."""
Pieces = list[tuple[bool, FloatArray]]
"""Parts of a branch: whether stable within the symmetry, and states (n, 3)."""
# Points of a drawn piece.
_DENSE = 300
# Up to this many betas the points are marked.
_DOTS = 40


@dataclass(frozen=True, eq=False)
class BifurcationPicture:
    """Stationary states against diffusivity."""

    point: PhasePoint  # what is marked
    pieces: Pieces  # the branch, see `Pieces`
    facts: Facts  # manifold, kernel and flow
    symmetry: str  # of the states
    degree: int  # of the moment that is the order parameter
    has_energy: bool  # whether free energies are known


def bifurcation_picture(point: PhasePoint, branch: Branch) -> BifurcationPicture:
    """Picture of a branch in the diffusivity, and of a point of the phase diagram."""
    return BifurcationPicture(
        point,
        branch_pieces(branch),
        replace(facts_of(branch.problem), diffusivity=0.0),
        branch.symmetry.name,
        branch.degree,
        bool(np.all(np.isfinite(branch.free_energy))),
    )


def branch_pieces(branch: Branch) -> Pieces:
    """Pieces of a branch between the points where it turns."""
    energies = np.nan_to_num(branch.free_energy)
    points = np.column_stack([branch.order_parameter, branch.values, energies])
    stable = branch.stable_within_symmetry
    turns = [special for special in branch.special if special.kind == "saddle_node"]
    ends = [0, *(np.flatnonzero(np.diff(stable.astype(int))) + 1), len(points)]
    pieces = []
    joint: FloatArray = np.empty((0, 3))
    for begin, end in zip(ends[:-1], ends[1:], strict=True):
        before, joint = joint, np.empty((0, 3))
        if end < len(points):
            low, high = sorted(branch.order_parameter[end - 1 : end + 1])
            here = [turn for turn in turns if low <= turn.order_parameter <= high]
            joint = points[end - 1 : end]
            if here:
                turn = here[0]
                height = np.nan_to_num(turn.free_energy)
                joint = np.array([[turn.order_parameter, turn.value, height]])
        pieces.append((bool(stable[begin]), np.vstack([before, points[begin:end], joint])))
    return _smooth(pieces)


def _smooth(pieces: Pieces) -> Pieces:
    """Denser points of pieces: D and F are smooth in the square of the order parameter."""
    from scipy.interpolate import CubicSpline

    points = np.concatenate([piece for _, piece in pieces])
    square = points[:, ORDER] ** 2
    knots, first = np.unique(square, return_index=True)
    if len(knots) < 4 or np.any(np.diff(square) < 0):
        return pieces
    curve = CubicSpline(knots, points[first, VALUE:])
    dense = []
    for stable, piece in pieces:
        ends = piece[0, ORDER], piece[-1, ORDER]
        order = np.linspace(*ends, _DENSE)
        if ends[0] > 0.0:
            # A turn at small order parameter is magnified: equal ratios from there on, too.
            order = np.union1d(order, np.geomspace(*ends, _DENSE))
        dense.append((stable, np.column_stack([order, curve(order**2)])))
    return dense


@dataclass(frozen=True)
class PhaseCurves:
    """Columns (n,) of a diagram, beta increasing, NaN where a curve is absent."""

    dots: list[int]
    beta: FloatArray
    critical: FloatArray
    transition: FloatArray
    saddle: FloatArray
    jump: FloatArray


def phase_curves(diagram: PhaseDiagram) -> PhaseCurves:
    """Columns of the points, with the tricritical point, where all three meet, in between."""
    rows = [
        [
            point.beta,
            point.critical_diffusivity,
            point.transition_diffusivity,
            point.saddle_node_diffusivity,
            point.order_parameter_at_transition,
        ]
        for point in sorted(diagram.points, key=lambda point: point.beta)
    ]
    table = np.array(rows, dtype=np.float64)
    computed, at = set(table[:, 0]), _tricritical_inside(diagram)
    if at is not None:
        i = int(np.searchsorted(table[:, 0], at))
        share = (at - table[i - 1, 0]) / (table[i, 0] - table[i - 1, 0])
        # Between two points the critical diffusivity is nearly exponential in beta.
        level = table[i - 1, 1] ** (1 - share) * table[i, 1] ** share
        transition = level if np.any(np.isfinite(table[:, 2])) else np.nan
        table = np.insert(table, i, [at, level, transition, level, 0.0 * transition], axis=0)
    dots = [i for i, beta in enumerate(table[:, 0]) if beta in computed]
    # Many dots are a line.
    return PhaseCurves(dots if len(dots) <= _DOTS else [], *table.T)


def _tricritical_inside(diagram: PhaseDiagram) -> float | None:
    """Tricritical beta if it lies between two points that differ in order."""
    at = diagram.tricritical_beta
    points = sorted(diagram.points, key=lambda point: point.beta)
    if at is None or not points[0].beta < at < points[-1].beta:
        return None
    after = next(i for i, point in enumerate(points) if point.beta >= at)
    return at if points[after - 1].order != points[after].order else None
