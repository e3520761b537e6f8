"""A branch of stationary states as curves to draw: in pieces of one stability, dense and smooth."""

from __future__ import annotations

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.stationary.branches import Branch

ORDER, VALUE, ENERGY = range(3)
"""Columns of a piece: order parameter, parameter, free energy (0 where none is known)."""

Pieces = list[tuple[bool, FloatArray]]
"""Parts of a branch: whether stable within the symmetry, and states (n, 3)."""

# Points of a drawn piece.
_DENSE = 300


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
    """Denser points of pieces: a few dozen states are too far apart for a magnified turn.

    Diffusivity and free energy are smooth in the square of the order parameter, whose sign means
    nothing, as long as it grows along the branch.
    """
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
