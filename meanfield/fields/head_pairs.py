"""Heads by sums over pairs of points: positive terms, each row in a unit of its own.

    <g>(x) = int g e^{<z, y>} dmu(y) / G(x),    z = S^T x,    v = P_x V <y>
    div v = tr(P_x V C S^T) - (d - 1) <x, V <y>>,    C = <y y^T> - <y><y>^T

Every mean has relative accuracy for any G, at n^2 exponentials. Without normalisation the means
become integrals in the unit e^{s}, and C the integral of y y^T.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.engines.pairs import PAIRS_AT_ONCE
from meanfield.engines.threads import map_chunks
from meanfield.spaces import Geometry
from meanfield.terms.attention import HeadMatrices


class Tilted(NamedTuple):
    """Moments of a measure under the weights e^{<z, y>}, one row a target."""

    log_partition: FloatArray  # (n,): log G
    mean: FloatArray  # (n, d): <y>
    square: FloatArray | None  # (n, d, d): <y y^T>, if `squares`


def tilted(
    z: FloatArray,
    y: FloatArray,
    masses: FloatArray,
    *,
    squares: bool = False,
    log_sink: float = -math.inf,
) -> Tilted:
    """Means over points y (m, d) with masses (m,), tilted by e^{<z, y>}, z (n, d).

    Masses may be negative, as at interpolation nodes. A sink adds e^{log_sink} to G, and nothing to
    the numerators of means.

    >>> seen = tilted(np.array([[5.0, 0.0]]), np.array([[1.0, 0.0], [-1.0, 0.0]]), np.ones(2))
    >>> seen.mean.round(6), float(np.tanh(5.0).round(6))
    (array([[0.999909, 0.      ]]), 0.999909)
    """
    heavy = masses != 0.0
    y, masses = y[heavy], masses[heavy]
    d = y.shape[1]
    columns = [np.ones((len(y), 1)), y]
    if squares:
        columns.append((y[:, :, None] * y[:, None, :]).reshape(len(y), -1))
    terms, logs = np.column_stack(columns) * np.sign(masses)[:, None], np.log(np.abs(masses))
    rows = max(1, PAIRS_AT_ONCE // max(len(y), 1))

    def chunk(i: int) -> tuple[FloatArray, FloatArray]:
        exponents = z[i * rows : (i + 1) * rows] @ y.T
        exponents += logs
        largest = exponents.max(axis=1)
        exponents -= largest[:, None]
        return largest, np.asarray(np.exp(exponents, out=exponents) @ terms)

    chunks = map_chunks(chunk, -(-len(z) // rows))
    largest = np.concatenate([each[0] for each in chunks])
    sums = np.concatenate([each[1] for each in chunks])
    means, logs = sums[:, 1:] / sums[:, :1], largest + np.log(sums[:, 0])
    if log_sink > -math.inf:
        alone, logs = logs, np.logaddexp(logs, log_sink)
        means *= np.exp(alone - logs)[:, None]
    square = means[:, d:].reshape(-1, d, d) if squares else None
    return Tilted(logs, means[:, :d], square)


def pair_velocity(
    space: Geometry,
    heads: tuple[HeadMatrices, ...],
    masses: tuple[FloatArray, ...],
    points: FloatArray,
    log_scale: float | None,
    targets: FloatArray | None = None,
    log_sink: float = -math.inf,
) -> FloatArray:
    """Velocity at points, or at targets, in the field of points with masses, one array a head.

    `log_scale` is s without normalisation, None with it.
    """
    return _summed(space, heads, masses, points, log_scale, targets, log_sink, False)[0]


def pair_velocity_and_divergence(
    space: Geometry,
    heads: tuple[HeadMatrices, ...],
    masses: tuple[FloatArray, ...],
    points: FloatArray,
    log_scale: float | None,
    targets: FloatArray | None = None,
    log_sink: float = -math.inf,
) -> tuple[FloatArray, FloatArray]:
    """As `pair_velocity`, and its divergence there, shape (n,)."""
    return _summed(space, heads, masses, points, log_scale, targets, log_sink, True)


def _summed(
    space: Geometry,
    heads: tuple[HeadMatrices, ...],
    masses: tuple[FloatArray, ...],
    points: FloatArray,
    log_scale: float | None,
    targets: FloatArray | None,
    log_sink: float,
    squares: bool,
) -> tuple[FloatArray, FloatArray]:
    y = space.vectors(points)
    places = points if targets is None else targets
    x = y if targets is None else space.vectors(targets)
    total, divergence = np.zeros(x.shape), np.zeros(len(x))
    for head, own in zip(heads, masses, strict=True):
        weighted = tilted(x @ head.score, y, own, squares=squares, log_sink=log_sink)
        mean, square = weighted.mean, weighted.square
        unit = None
        if log_scale is not None:
            # Integrals in the place of means.
            unit = np.exp(weighted.log_partition - log_scale)
            mean = mean * unit[:, None]
        along = mean @ head.value.T
        total += along
        if square is None:
            continue
        if unit is None:
            square = square - mean[:, :, None] * mean[:, None, :]
        else:
            square = square * unit[:, None, None]
        slope = head.value @ square @ head.score.T
        divergence += np.trace(slope, axis1=1, axis2=2) - np.einsum("ni,nij,nj->n", x, slope, x)
        divergence -= space.dimension * (x * along).sum(axis=1)
    return space.project(places, total), divergence
