"""Tokens align with the leading eigenspace first (arXiv:2509.25040, figure 1).

For large beta softmax attention with Q = K = 1 is x' = P_x V x at first, with the solution
x(t) = e^{tV} x(0) / |.|. If the largest eigenvalue of V is simple, tokens go to a pair of opposite
points. If it is a pair a +- ib, they go to a great circle that turns. At finite beta

- the average over a uniform ring is shorter by I_1(beta) / I_0(beta), so the circle turns more
  slowly by that factor,
- late distances from a pair fall like e^{-t} if V = diag(1, 0, 0).
"""

from __future__ import annotations

import numpy as np
from claims import Claim
from matplotlib.figure import Figure
from scipy.linalg import expm
from scipy.special import ive

from meanfield.api import simulate
from meanfield.arrays import FloatArray
from meanfield.figures.draw.axes import ENERGY, INK
from meanfield.laws.initial import from_points
from meanfield.problem import Problem
from meanfield.spaces import Sphere
from meanfield.terms.attention import Attention, Head
from published.entry import Progress, Reproduction, unfollowed
from published.spheres import draw_ball, token_paths

BETA, TOKENS = 30.0, 400
VALUES = {
    "pair": np.diag([1.0, 0.0, 0.0]),
    "circle": np.array([[1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]),
}
TIMES = np.array([0.0, 1.0, 2.0, 5.0, 6.0])


def spread_points(count: int) -> FloatArray:
    """Points of a Fibonacci spiral, spread evenly over the sphere."""
    height = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    turned = np.pi * (3.0 - np.sqrt(5.0)) * np.arange(count)
    across = np.sqrt(1.0 - height**2)
    return np.stack([across * np.cos(turned), across * np.sin(turned), height], axis=1)


def paths_of(value: FloatArray, points: FloatArray) -> FloatArray:
    """Tokens at `TIMES`."""
    attention = Attention([Head(value=value.tolist())], beta=BETA)
    problem = Problem(Sphere(), attention, initial=from_points(points))
    run = simulate(
        problem, float(TIMES[-1]), save=TIMES.tolist(), representation="particles", tolerance=1e-6
    )
    return token_paths(run)


def compute(
    short: bool = False, published: bool = False, progress: Progress = unfollowed
) -> Reproduction:
    """Tokens under both matrices, and the linear flow of the limit."""
    points = spread_points(60 if short else TOKENS)
    paths, numbers = {}, []
    for name, value in progress(VALUES.items(), len(VALUES), "matrices"):
        paths[name] = found = paths_of(value, points)
        limit = points @ expm(TIMES[1] * value).T
        limit /= np.linalg.norm(limit, axis=1, keepdims=True)
        gap = np.arccos(np.clip(np.sum(found[1] * limit, axis=1), -1.0, 1.0)).mean()
        numbers.append(
            Claim(f"{name}: mean angle from the linear flow, $t = 1$", 0.0, float(gap), 3.0 / BETA,
                   "the limit: angles are of order $1/\\beta$")
        )  # fmt: skip
    pair, circle = (paths[name] for name in VALUES)
    lengths = np.median(np.linalg.norm(pair[-2:, :, 1:], axis=2), axis=1)
    turned = np.angle(
        np.exp(1j * np.diff(np.arctan2(circle[-2:, :, 1], circle[-2:, :, 0]), axis=0))
    )
    slower = "exact for a uniform ring: $I_1(\\beta) / I_0(\\beta)$; the limit is 1"
    numbers += [
        Claim("pair: rate of approach", 1.0, float(np.log(lengths[0] / lengths[1])), 1e-2,
               "exact at late times"),
        Claim("circle: angular speed", float(ive(1, BETA) / ive(0, BETA)), float(turned.mean()),
               1e-2, slower),
        Claim("circle: largest $|x_3|$ at $t = 6$", None, float(np.abs(circle[-1, :, 2]).max())),
    ]  # fmt: skip
    return Reproduction(tuple(numbers), {"time": TIMES, **paths})


def draw(figure: Figure, reproduction: Reproduction) -> None:
    """Balls at four times, a row for each matrix; red tokens show the rotation."""
    data = reproduction.data
    figure.set_size_inches(6.0, 3.3)
    shown = (0, 1, 2, 4)
    panels = figure.subplots(2, len(shown))
    for row, (name, title) in zip(
        panels, (("pair", "$V = \\mathrm{diag}(1, 0, 0)$"), ("circle", "$V$: $1 \\pm i$, 0")),
        strict=True,
    ):  # fmt: skip
        for axes, index in zip(row, shown, strict=True):
            points = data[name][index]
            draw_ball(axes, points, size=3.0)
            # A fiftieth of the tokens, which start around one direction.
            marked = np.argsort(data[name][0] @ np.array([0.6, -0.7, 0.4]))[-len(points) // 50 :]
            draw_ball(axes, points[marked], size=7.0, colour=ENERGY)
            axes.set_title(f"$t = {data['time'][index]:g}$", fontsize=8)
        row[0].annotate(
            title, (-0.12, 0.5), xycoords="axes fraction", rotation=90, va="center", ha="center",
            color=INK, fontsize=8,
        )  # fmt: skip
