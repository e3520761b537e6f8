"""Bounds of the transport cost that hold whatever the masses do inside their cells.

Above. Mass that goes from cell i to cell k is spread over both, independently. With the variance
s^2 about the direction of the barycentre, and rho its largest distance from there,

    E d^2 <= d_ik^2 + s_i^2 + s_k^2 + 2 (d_ik + rho_k) e_i + 2 d_ik e_k,    e = s^2 rho / 6,

by Toponogov's comparison: squared distances on the sphere grow no faster than in the plane. e
bounds the mean of the logarithm, that of the tangential part being 0. E d <= (E d^2)^(1/2). For the
chord E |x - y|^2 = |b_i - b_k|^2 + (1 - |b_i|^2) + (1 - |b_k|^2), exactly.

Below. Potentials f_i + <u_i, x - b_i> on cell i and g_k + <v_k, y - b_k> on cell k have the means
f_i and g_k: b is the barycentre. `tangents` finds the largest f that is feasible with g.
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.transport.sphere.cells import Cells
from meanfield.transport.sphere.costs import LARGEST_CHORD
from meanfield.transport.sphere.plans import Plan, farthest_chord, sites
from meanfield.transport.sphere.search import Sites, nearest
from meanfield.transport.sphere.tangents import Tangents, transform


def upper_bound(plan: Plan, first: Cells, second: Cells, geodesic: bool, p: int) -> float:
    """Cost of the plan, W_p^p from above."""
    x, y = sites(first, geodesic), sites(second, geodesic)
    i, k = plan.source, plan.sink
    variance = x.variances[i] + y.variances[k]
    chord2 = np.sum((x.points[i] - y.points[k]) ** 2, axis=1)
    if geodesic:
        distance = 2.0 * np.arcsin(np.minimum(0.5 * np.sqrt(chord2), 1.0))
        rho = 2.0 * np.arcsin(0.5 * farthest_chord(second))
        square = distance**2 + variance
        square += 2.0 * (distance + rho[k]) * third_order(first)[i]
        square += 2.0 * distance * third_order(second)[k]
    else:
        square = chord2 + variance
    cost = square if p == 2 else np.sqrt(square)
    return float(cost @ plan.flow) / float(plan.flow.sum())


def lower_bound(
    duals: FloatArray, at: Sites, first: Cells, second: Cells, geodesic: bool, p: int
) -> float:
    """Value of feasible potentials, W_p^p from below.

    Duals g belong to the places `at`. Their transform is f on the first family, and the transform
    of that, c_ik in place of c, is g on the second, whose reaches may be larger.
    """
    x, y = _places(first, geodesic), _places(second, geodesic)
    index, values = nearest(x, at, duals, 1, None, geodesic, p)
    f = values[:, 0].copy()
    x_normals, x_offsets = _tangents(x.points - at.points[index[:, 0]], geodesic, p)
    index, values = nearest(y, x, f, 2, None, geodesic, p)
    g = values[:, 0].copy()
    if np.any(first.reaches) or np.any(second.reaches):
        y_normals, y_offsets = _tangents(x.points[index[:, 0]] - y.points, geodesic, p)
        # Where two x compete, a slope in between loses least: r |T_1 - T_2| (1 - share) to the one,
        # r |T_1 - T_2| share, less what the other is behind, to the other.
        others = np.maximum(index[:, 1], 0)
        jump = _tangents(x.points[others] - y.points, geodesic, p)[0] - y_normals
        size = second.reaches * np.linalg.norm(jump, axis=1)
        size[index[:, 1] < 0] = 0.0
        share = np.zeros(len(second))
        close = values[:, 1] - g < size
        share[close] = 0.5 - 0.5 * (values[close, 1] - g[close]) / size[close]
        g = transform(
            Tangents(
                second.barycentres,
                second.reaches,
                -(y_normals + share[:, None] * jump),
                -y_normals,
                y_offsets,
            ),
            Tangents(first.barycentres, first.reaches, -x_normals, -x_normals, x_offsets),
            f,
            geodesic,
            p,
        )
    total = float(first.masses.sum())
    return float(first.masses @ f) / total + float(second.masses @ g) / total


def cone_bound(duals: FloatArray, at: Sites, first: Cells, second: Cells, geodesic: bool) -> float:
    """W_1 from below, where the first family are points, by a smaller search than `lower_bound`.

    F(x) = min_K (d(x, z_K)^2 + v_K)^(1/2) - g_K grows no faster than the distance, for all z, v and
    g. So W_1 >= int F dmu - int F dnu. Any K bounds the mean of F over a cell of the second family
    from above, as in `upper_bound`; d e / (E d^2)^(1/2) <= e.
    """
    places = Sites(first.directions, np.zeros(len(first)))
    f = nearest(places, at, duals, 1, None, geodesic, 1)[1][:, 0]
    means = nearest(sites(second, geodesic), at, duals, 1, None, geodesic, 1)[1][:, 0]
    if geodesic:
        means = means + third_order(second)
    total = float(first.masses.sum())
    return float(first.masses @ f) / total - float(second.masses @ means) / total


def third_order(cells: Cells) -> FloatArray:
    """E = s^2 rho / 6, the bound on the mean of the logarithm about the direction of b."""
    rho = 2.0 * np.arcsin(0.5 * farthest_chord(cells))
    e: FloatArray = sites(cells, True).variances * rho / 6.0
    return e


def _places(cells: Cells, geodesic: bool) -> Sites:
    return Sites(cells.directions if geodesic else cells.barycentres, np.zeros(len(cells)))


def _tangents(differences: FloatArray, geodesic: bool, p: int) -> tuple[FloatArray, FloatArray]:
    """Slopes T and offsets C(|a|) - <T, a> of the cost at differences a."""
    chord = np.linalg.norm(differences, axis=1)
    base = np.minimum(chord, LARGEST_CHORD)
    distance = 2.0 * np.arcsin(0.5 * base) if geodesic else base
    steep = 1.0 / np.sqrt(1.0 - 0.25 * base**2) if geodesic else np.ones_like(base)
    cost = distance
    if p == 2:
        cost, steep = distance**2, 2.0 * distance * steep
    along = steep / np.where(chord > 0.0, chord, 1.0)
    return differences * along[:, None], cost - steep * base
