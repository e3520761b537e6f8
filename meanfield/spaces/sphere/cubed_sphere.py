"""Equiangular cubed sphere: six faces, each a square of two angles.

    x = (c + a tan u + b tan v) / r,    r^2 = 1 + tan^2 u + tan^2 v,    |u|, |v| <= pi/4
    dsigma = du dv / (4 pi cos^2 u cos^2 v r^3)

a, b and the face's middle c are coordinate axes with a x b = c. A rectangle of a face is given
by where its sides are as shares of pi/4, so -1 to 1 is the whole face: halves of halves are exact
numbers. The map and its Jacobian are analytic beyond the edges, up to u = pi/2.
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.bases.legendre import gauss_legendre

_EIGHTH = np.pi / 4.0
_AXES = np.eye(3)
# (face, [a, b, c], component): middles x, y, z, -x, -y, -z. Swapped axes turn the middle round.
_FRAMES = np.array(
    [[_AXES[(i + 1) % 3], _AXES[(i + 2) % 3], _AXES[i]] for i in range(3)]
    + [[_AXES[(i + 2) % 3], _AXES[(i + 1) % 3], -_AXES[i]] for i in range(3)]
)


def uniform_bounds(parts: int) -> FloatArray:
    """Rectangles (6 parts^2, 5): every face cut `parts` times along u and along v."""
    edges = np.linspace(-1.0, 1.0, parts + 1)
    face, i, j = np.meshgrid(np.arange(6), *2 * [np.arange(parts)], indexing="ij")
    sides = (face, edges[i], edges[i + 1], edges[j], edges[j + 1])
    return np.stack([side.ravel() for side in sides], axis=1).astype(np.float64)


def checked_bounds(bounds: FloatArray) -> FloatArray:
    """Rectangles (cells, 5) of face, u_0, u_1, v_0, v_1 that could cover the sphere."""
    cells = np.ascontiguousarray(bounds, dtype=np.float64)
    if cells.ndim != 2 or cells.shape[1] != 5 or len(cells) == 0:
        raise ValueError(
            f"bounds have shape {cells.shape}, expected (cells, 5): face, u0, u1, v0, v1."
        )
    face, sides = cells[:, 0], cells[:, 1:].reshape(-1, 2, 2)
    fine = np.isin(face, np.arange(6.0)) & np.all(np.abs(sides) <= 1.0, axis=(1, 2))
    fine &= np.all(sides[:, :, 0] < sides[:, :, 1], axis=1)
    if not fine.all():
        first = int(np.argmin(fine))
        raise ValueError(
            f"cell {first} is {cells[first].tolist()}, expected a face 0 to 5 and sides "
            "-1 <= u0 < u1 <= 1, -1 <= v0 < v1 <= 1."
        )
    covered = np.bincount(face.astype(int), np.prod(np.diff(sides)[:, :, 0], axis=1), 6)
    if np.any(np.abs(covered - 4.0) > 1e-9):
        raise ValueError(
            f"cells cover {np.array2string(covered / 4.0, precision=6)} of the six faces, "
            "expected each once."
        )
    return cells


def quadrature(bounds: FloatArray, order: int) -> tuple[FloatArray, FloatArray]:
    """Nodes (n, 3) and weights for sigma (n,) of order x order nodes on each rectangle.

    Exact to rounding for smooth functions on rectangles of at most half a face along each side.
    """
    nodes, means = gauss_legendre(order)
    tangents, slopes = [], []
    for lower, upper in (bounds[:, 1:3].T, bounds[:, 3:5].T):
        angles = 0.5 * _EIGHTH * ((lower + upper)[:, None] + (upper - lower)[:, None] * nodes)
        t = np.tan(angles)  # (cells, order)
        tangents.append(t)
        slopes.append(_EIGHTH * (upper - lower)[:, None] * means * (1.0 + t * t))
    s, t = tangents[0][:, :, None, None], tangents[1][:, None, :, None]
    a, b, c = np.moveaxis(_FRAMES[bounds[:, 0].astype(int)], 1, 0)[:, :, None, None, :]
    inverse = 1.0 / np.sqrt(1.0 + s * s + t * t)
    points = ((c + s * a) + t * b) * inverse  # (cells, order, order, 3)
    weights = slopes[0][:, :, None] * slopes[1][:, None, :] * inverse[..., 0] ** 3 / (4.0 * np.pi)
    return points.reshape(-1, 3), weights.ravel()
