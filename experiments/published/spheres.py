"""Common parts of figures of tokens: arrays of paths, flows of a diagonal matrix, balls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle as Disc

from meanfield.api import simulate
from meanfield.arrays import FloatArray
from meanfield.figures.data.projections import Orthographic, directions
from meanfield.figures.draw.axes import INK, MUTED
from meanfield.laws.initial import from_points
from meanfield.measures import Measure
from meanfield.problem import Problem
from meanfield.runs import Run
from meanfield.spaces import Circle, Sphere
from meanfield.terms.attention import Attention, Head

_PIXELS = 160


def token_paths(run: Run) -> FloatArray:
    """Tokens at the saved times: angles (saves, n), or vectors (saves, n, d).

    >>> import meanfield as mf
    >>> still = mf.Attention([mf.Head(value=0.0)], beta=0.0)
    >>> problem = mf.Problem(mf.Circle(), still, initial=mf.from_points([0.0, 1.0]))
    >>> token_paths(mf.simulate(problem, 1.0, save=3)).shape
    (3, 2)
    """
    kept = [measure.points for measure in run.measures if isinstance(measure, Measure)]
    return np.array(kept)


def moved_by(
    diagonal: Sequence[float], sign: float, points: FloatArray, until: float
) -> FloatArray:
    """Tokens at a paper time with score D and value `sign` D (+1 ascends), without normalisation.

    Angles (n,) on the circle, or vectors (n, 3); arXiv:2501.03096, section 1.

    >>> moved_by((1.0, 2.0), 1.0, np.array([1.0, 1.2]), 9.0).round(3)
    array([1.571, 1.571])
    """
    head = Head(score=list(diagonal), value=[sign * each for each in diagonal])
    manifold = Circle() if points.ndim == 1 else Sphere()
    problem = Problem(manifold, Attention([head], "none", beta=1.0), initial=from_points(points))
    # Not atoms, which would merge tokens and change their number.
    run = simulate(
        problem, until, save=[until], unit="paper", representation="particles", tolerance=1e-8
    )
    return np.asarray(token_paths(run)[-1])


def layers(
    tokens: FloatArray, beta: float, step: float, count: int, *, projected: bool = False
) -> FloatArray:
    """Tokens (count + 1, n, d) under layers x <- N(x + h A), softmax, Q = K = V = 1, in NumPy.

    `projected` takes P_x A for A: Euler's method.
    """
    path = [tokens]
    for _ in range(count):
        attention = np.exp(beta * (tokens @ tokens.T - 1.0))
        average = attention @ tokens / attention.sum(axis=1, keepdims=True)
        if projected:
            average -= (average * tokens).sum(axis=1, keepdims=True) * tokens
        tokens = tokens + step * average
        tokens /= np.sqrt((tokens**2).sum(axis=1, keepdims=True))
        path.append(tokens)
    return np.array(path)


def energy_of(points: FloatArray, diagonal: Sequence[float]) -> float:
    """Energy of tokens (n, d): the mean of e^{x^T D y} over all pairs.

    >>> energy_of(np.array([[1.0, 0.0]]), (0.0, 2.0))
    1.0
    """
    return float(np.exp((points * diagonal) @ points.T).mean())


def seen_from(elevation: float, azimuth: float) -> FloatArray:
    """Unit vectors to the right, up and towards the viewer, at an elevation and azimuth in degrees.

    >>> seen_from(0.0, 0.0)[2]
    array([1., 0., 0.])
    """
    return Orthographic(directions(*np.radians([azimuth, elevation]))).frame


def draw_ball(
    axes: Axes,
    points: FloatArray,
    *,
    form: FloatArray | None = None,
    elevation: float = 25.0,
    azimuth: float = -55.0,
    size: float = 9.0,
    colour: Any = INK,
) -> None:
    """Draw tokens (n, 3) on a ball, hidden ones faint; `form` D colours the ball by x^T D x."""
    view = seen_from(elevation, azimuth)
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_xlim(-1.06, 1.06)
    axes.set_ylim(-1.06, 1.06)
    axes.add_patch(Disc((0.0, 0.0), 1.0, fill=False, color=MUTED, linewidth=0.7))
    if form is not None:
        across = np.linspace(-1.0, 1.0, _PIXELS)
        x, y = np.meshgrid(across, across)
        deep = np.sqrt(np.clip(1.0 - x * x - y * y, 0.0, None))
        vectors = np.stack([x, y, deep], axis=-1) @ view
        values = np.einsum("ijk,kl,ijl->ij", vectors, form, vectors)
        values[x * x + y * y > 1.0] = np.nan
        axes.imshow(
            values, extent=(-1.0, 1.0, -1.0, 1.0), origin="lower", cmap="Blues", alpha=0.55,
            vmin=float(np.linalg.eigvalsh(form)[0]) - 0.5,
            vmax=float(np.linalg.eigvalsh(form)[-1]) + 0.5,
        )  # fmt: skip
    right, up, towards = (points @ view.T).T
    front = towards >= 0.0
    axes.scatter(right[~front], up[~front], s=0.6 * size, c=MUTED, alpha=0.45, linewidths=0.0)
    colours = colour[front] if isinstance(colour, np.ndarray) else colour
    axes.scatter(right[front], up[front], s=size, c=colours, linewidths=0.0)
