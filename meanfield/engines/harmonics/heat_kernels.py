"""Compiled loop of `heat.diffuse`: turns unit vectors by tabulated angles."""

from __future__ import annotations

import math

from meanfield.engines.compiled import njit
from meanfield.engines.elementary import fma


@njit(error_model="numpy")
def turn(points, normals, table, longest, moved):  # type: ignore[no-untyped-def]
    """Turn each point by Theta(r) in the direction of its normal, of length r; see `heat.turns`."""
    pieces, terms, _ = table.shape
    scale = pieces / (longest * longest)
    for i in range(len(points)):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        inverse = 1.0 / math.sqrt(fma(x, x, fma(y, y, z * z)))
        x, y, z = x * inverse, y * inverse, z * inverse
        first, second = normals[i, 0], normals[i, 1]
        position = (first * first + second * second) * scale
        if not position < pieces:
            # Beyond the table, or NaN, which must not become an index.
            shorter = math.sqrt(pieces / position)
            first, second, position = first * shorter, second * shorter, float(pieces)
        piece = int(position) if position < pieces else pieces - 1
        u = 2.0 * (position - piece) - 1.0
        ahead, aside = table[piece, terms - 1, 0], table[piece, terms - 1, 1]
        for n in range(terms - 2, -1, -1):
            ahead = fma(ahead, u, table[piece, n, 0])
            aside = fma(aside, u, table[piece, n, 1])
        # The frame of Duff et al., JCGT 6 (2017) 1, has no square root, and jumps at the equator.
        sign = math.copysign(1.0, z)
        a = -1.0 / (sign + z)
        b = x * y * a
        first, second = first * aside, second * aside
        u = fma(ahead, x, fma(first, fma(sign * x * x, a, 1.0), second * b))
        v = fma(ahead, y, fma(first, sign * b, second * fma(y * y, a, sign)))
        w = fma(ahead, z, -fma(first, sign * x, second * y))
        # Lengths are 1 to the table's 1e-12: this is 1 / length to rounding.
        inverse = fma(-0.5, fma(u, u, fma(v, v, w * w)), 1.5)
        moved[i, 0], moved[i, 1], moved[i, 2] = inverse * u, inverse * v, inverse * w
