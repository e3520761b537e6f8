"""Tokens of R^d, rescaled: their paths, convex hulls that shrink, hyperplanes that they reach."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.figures.data.saved_times import Frame, frame, is_logarithmic
from meanfield.figures.data.vectors import ends_and_between, principal_axes, tokens_at
from meanfield.papers.limit_shapes import (
    LimitShape,
    hull_vertices,
    limit_shape,
    rescaled,
)
from meanfield.runs import Run

_HULLS = 5


@dataclass(frozen=True, eq=False)
class HullsPicture:
    """Rescaled tokens z on two axes."""

    frame: Frame | None  # None of a single time
    shape: LimitShape  # at the last time
    times: FloatArray  # (k,)
    paths: FloatArray  # (k, n, 2): z at every time
    # (m + 1, 2)): times, and closed convex hulls of what is drawn then.
    hulls: tuple[tuple[float, FloatArray], ...]
    # (2, 2)): levels phi*(z), and points of their lines; empty but for hyperplanes.
    lines: tuple[tuple[float, FloatArray], ...]
    labels: tuple[str, str]  # of the axes


def hulls_picture(run: Run) -> HullsPicture:
    """Picture of a run of R^d."""
    indices = range(len(run.time))
    tokens = [tokens_at(run, i) for i in indices]
    last = limit_shape(run.problem, tokens[-1], float(run.scaled_time[-1]))
    if last.theorem == "origin":
        z = np.array([each.points for each in tokens])
    else:
        z = np.array(
            [
                rescaled(run.problem, each.points, float(time))
                for each, time in zip(tokens, run.scaled_time, strict=True)
            ]
        )
    return _picture(last, run.time, z, frame(run))


def shape_picture(shape: LimitShape) -> HullsPicture:
    """Picture of a limit shape at its time."""
    return _picture(shape, np.array([shape.time]), shape.points[None], None)


def _picture(
    shape: LimitShape, times: FloatArray, z: FloatArray, around: Frame | None
) -> HullsPicture:
    axes, labels = _plane(shape)
    paths = z @ axes.T
    logarithmic = is_logarithmic(times)
    first = int(np.argmax(times > 0)) if logarithmic else 0
    hulls = []
    chosen = first + ends_and_between(times[first:], _HULLS, logarithmic)
    for k in chosen:
        corners = paths[k][hull_vertices(paths[k])]
        middle = corners.mean(axis=0)
        turn = np.argsort(np.arctan2(*(corners - middle).T[::-1]))
        hulls.append((float(times[k]), np.concatenate([corners[turn], corners[turn[:1]]])))
    return HullsPicture(around, shape, times, paths, tuple(hulls), _lines(shape, paths), labels)


def _plane(shape: LimitShape) -> tuple[FloatArray, tuple[str, str]]:
    """Axes (2, d) on which tokens are drawn: their own where there are two."""
    z = shape.points
    d = z.shape[1]
    name = "x" if shape.theorem == "origin" else "z"
    if d == 1:
        return np.array([[1.0], [0.0]]), (f"${name}$", "")
    if d == 2:
        return np.eye(2), (f"${name}_1$", f"${name}_2$")
    functional = shape.limits.functional
    if shape.theorem == "hyperplanes":
        along = functional[0]
        rest = z - np.outer(z @ along, shape.limits.basis[:, 0])
        other, _ = principal_axes(rest)
        return np.array([along, other[0]]), (r"$\varphi^*(z)$", "principal axis of the rest")
    if shape.theorem == "product" and len(functional) == 2:
        return functional, ("$z$ in $F$, first axis", "second axis")
    base = shape.coordinates @ _back(shape)
    plane, share = principal_axes(base)
    return plane, (f"first principal axis of ${name}$", f"second ({100 * share:.0f} % in both)")


def _back(shape: LimitShape) -> FloatArray:
    """Matrix that turns coordinates back into vectors of R^d."""
    return shape.limits.basis.T if shape.theorem != "none" else np.eye(shape.points.shape[1])


def _lines(shape: LimitShape, paths: FloatArray) -> tuple[tuple[float, FloatArray], ...]:
    """Lines phi*(z) = level, across all that is drawn."""
    if shape.theorem != "hyperplanes" or shape.points.shape[1] == 1:
        return ()
    # In the plane of the picture phi* is a row vector of length not zero.
    flat = shape.points.shape[1] == 2
    normal = shape.limits.functional[0] if flat else np.array([1.0, 0.0])
    along = np.array([-normal[1], normal[0]]) / np.linalg.norm(normal)
    reach = 2.0 * float(np.abs(paths).max())
    lines = []
    for level in shape.levels.tolist():
        foot = level * normal / (normal @ normal)
        lines.append((level, np.array([foot - reach * along, foot + reach * along])))
    return tuple(lines)
