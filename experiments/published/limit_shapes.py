"""Limit shapes of tokens in R^d without layer normalisation (arXiv:2305.05465).

    z_i = e^{-tV} x_i,    z_i' = sum_j P_ij V (z_j - z_i),    P_ij = softmax_j(<x_i, x_j>)

With V = 1 the tokens z tend to a polytope, with a simple leading eigenvalue to hyperplanes, with
V = 1 on a plane to a polytope times the other coordinates. The source's step with four stages moves
all tokens by the stage of token i and keeps attention constant. The stages cancel in z_j - z_i, so
it equals Euler's step (`published`).
"""

from __future__ import annotations

import numpy as np
from claims import Claim
from matplotlib import colormaps
from matplotlib.figure import Figure
from scipy.linalg import expm

from meanfield.api import simulate
from meanfield.arrays import FloatArray
from meanfield.figures.draw.axes import ENERGY, INK, MUTED
from meanfield.laws.initial import from_points
from meanfield.measures import Measure
from meanfield.papers.limit_shapes import LimitShape, hull_vertices, hull_volume, limit_shape
from meanfield.problem import Problem
from meanfield.runs import Run
from meanfield.spaces import Euclidean
from meanfield.terms.attention import Attention, Head
from published.entry import Progress, Reproduction, unfollowed
from published.spheres import token_paths

SIX = np.array([(2, 0.3), (-1.5, 1.2), (-0.4, -1.8), (0.5, 0.6), (0.2, -0.3), (-0.6, 0.4)])
LINE = np.array([[-1.2], [-0.3], [0.1], [0.4], [1.5]])
PAIR = np.array([[0.6, 0.8], [-0.6, -0.8]])
# By LSODA with a relative tolerance of 1e-11; the source prints no numbers.
VERTICES = [
    [1.980834873366, 0.300221225290],
    [-1.474972159385, 1.180104171659],
    [-0.394245769216, -1.779553028990],
]
LEVELS = [-1.469201065497, 1.980745346979]
LAST_OF_LINE = [-1.019132439168, -0.986577885497, 1.356601914686, 1.372508826571, 1.402956651737]
LARGEST = {1.0: 1.07616701, 5.0: 0.56460294, 20.0: 0.30184645}
# Drawn as in the source: 20 tokens, uniform in [-5, 5]^d, to t = 5.
TOKENS, HALF, UNTIL, STEP = 20, 5.0, 5.0, 0.1
DRAWN = {
    "V = 1": np.eye(2),
    "simple leading eigenvalue": np.array([[0.64709742, 0.81911926], [0.61210449, 0.63263484]]),
    "V = diag(1, 1, -1/2)": np.diag([1.0, 1.0, -0.5]),
}


def run_of(
    value: float | list[float] | FloatArray,
    points: FloatArray,
    times: FloatArray,
    tolerance: float = 1e-12,
) -> Run:
    """Tokens of one softmax head with beta = 1."""
    given = value.tolist() if isinstance(value, np.ndarray) else value
    attention = Attention([Head(value=given)], beta=1.0)
    problem = Problem(Euclidean(points.shape[1]), attention, initial=from_points(points))
    return simulate(problem, float(times[-1]), save=times.tolist(), tolerance=tolerance)


def shape_of(run: Run, time: float) -> LimitShape:
    """Limit shape at a saved time."""
    measure = run.measures[run.index_of(time)]
    assert isinstance(measure, Measure)
    return limit_shape(run.problem, measure, time)


def source_steps(value: FloatArray, points: FloatArray, stages: bool = False) -> FloatArray:
    """Tokens z (51, n, d) after the source's steps, by four stages or by Euler's step."""
    z, found = points.copy(), [points.copy()]
    for number in range(round(UNTIL / STEP)):
        x = z @ expm(number * STEP * value).T
        scores = x @ x.T
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)

        def speed(tokens: FloatArray, weights: FloatArray = weights) -> FloatArray:
            return np.asarray((weights @ tokens - tokens) @ value.T)

        if stages:
            step = np.empty_like(z)
            for token in range(len(z)):
                first = STEP * speed(z)[token]
                second = STEP * speed(z + first / 2)[token]
                third = STEP * speed(z + second / 2)[token]
                fourth = STEP * speed(z + third)[token]
                step[token] = (first + 2 * second + 2 * third + fourth) / 6
        else:
            step = STEP * speed(z)
        z = z + step
        found.append(z.copy())
    return np.array(found)


def _scheme_numbers() -> tuple[Claim, ...]:
    """Claims on the source's scheme: it equals Euler's step; its distance from the flow."""
    euler, stages = (source_steps(np.eye(2), SIX, each) for each in (False, True))
    run = run_of(1.0, SIX, np.array([0.0, UNTIL]))
    exact = shape_of(run, UNTIL).points
    return (
        Claim("its four stages less Euler's step", 0.0, float(np.abs(stages - euler).max()), 1e-13,
               "the same step: stages cancel in $z_j - z_i$"),
        Claim("vertices at $t = 5$ less those of the flow", None,
               float(np.abs(euler[-1] - exact)[:3].max()), None, "the error of steps of 0.1"),
    )  # fmt: skip


def _flow_numbers() -> tuple[Claim, ...]:
    """Claims on the flow: tokens by another integrator, and theorems."""
    polytope = run_of(1.0, SIX, np.linspace(0.0, 10.0, 21))
    planes, line = (
        run_of([1.0, 0.4], SIX, np.array([16.0])),
        run_of(1.0, LINE, np.array([3.0, 4.0])),
    )
    falling = run_of(-1.0, SIX, np.array(list(LARGEST)))
    pair = run_of(-1.0, PAIR, np.array([10.0]))
    volumes = [hull_volume(shape_of(polytope, time).points) for time in polytope.time]
    lengths = np.linalg.norm(token_paths(falling), axis=2).max(axis=1)
    second, theorem = "another integrator, LSODA at 1e-11", "a theorem of the source"
    numbers = [
        Claim(f"polytope: vertex {k}, coordinate {j}", VERTICES[k][j],
               float(shape_of(polytope, 10.0).points[k, j]), 1e-8, second)
        for k in range(3)
        for j in range(2)
    ]  # fmt: skip
    numbers += [
        Claim(f"hyperplanes: level {k}", level, float(found), 1e-8, second)
        for k, (level, found) in enumerate(zip(LEVELS, shape_of(planes, 16.0).levels, strict=True))
    ]
    numbers += [
        Claim(f"line: token {k} at $t = 4$", last, float(found), 1e-8, second)
        for k, (last, found) in enumerate(
            zip(LAST_OF_LINE, shape_of(line, 4.0).points[:, 0], strict=True)
        )
    ]
    numbers += [
        Claim(f"$V = -1$: largest length, $t = {time:g}$", largest, float(found), 1e-7, second)
        for (time, largest), found in zip(LARGEST.items(), lengths, strict=True)
    ]
    numbers += [
        Claim("$V = -1$: $|x|^2$ of a pair, $t = 10$", 0.048333020689,
               float(np.square(token_paths(pair)[-1, 0]).sum()), 1e-9,
               "of $w' = -2 w \\tanh w$"),
        Claim("polytope: largest growth of the hull's area", 0.0,
               float(max(np.diff(volumes).max(), 0.0)), 1e-11, theorem),
        Claim("polytope: attention from a Boolean matrix, $t = 5$", 0.0,
               shape_of(polytope, 5.0).attention_error, 1e-6, theorem),
        Claim("line: attention from a Boolean matrix, $t = 3$", 0.0,
               shape_of(line, 3.0).attention_error, 1e-8, theorem),
    ]  # fmt: skip
    return tuple(numbers)


def compute(
    short: bool = False, published: bool = False, progress: Progress = unfollowed
) -> Reproduction:
    """Rescaled paths for the three theorems; the short form has less accurate paths."""
    rng = np.random.default_rng(3)
    times = np.linspace(0.0, UNTIL, 51)
    data = {"time": times}
    for number, value in enumerate(progress(DRAWN.values(), len(DRAWN), "theorems")):
        points = rng.uniform(-HALF, HALF, (TOKENS, len(value)))
        if published:
            paths = source_steps(value, points)
        else:
            tokens = token_paths(run_of(value, points, times, 1e-6 if short else 1e-12))
            paths = np.array([x @ expm(-t * value).T for t, x in zip(times, tokens, strict=True)])
        data[f"path_{number}"] = paths
    return Reproduction(_scheme_numbers() if published else _flow_numbers(), data)


def draw(figure: Figure, reproduction: Reproduction) -> None:
    """Paths of rescaled tokens, convex hulls at three times, and tokens at both ends."""
    figure.set_size_inches(8.4, 3.0)
    for number, (axes, name) in enumerate(zip(figure.subplots(1, 3), DRAWN, strict=True)):
        paths = reproduction.data[f"path_{number}"]
        # In three dimensions the first two coordinates are the plane on which V is 1.
        plane = paths[:, :, :2]
        axes.plot(plane[:, :, 0], plane[:, :, 1], color=MUTED, linewidth=0.5)
        if number != 1:
            shown = (0, len(paths) // 10, len(paths) - 1)
            colours = colormaps["viridis_r"]([0.15, 0.5, 0.9])
            for index, colour in zip(shown, colours, strict=True):
                corners = hull_vertices(plane[index])
                around = plane[index][corners] - plane[index][corners].mean(axis=0)
                order = corners[np.argsort(np.arctan2(around[:, 1], around[:, 0]))]
                ring = plane[index][np.append(order, order[0])]
                time = reproduction.data["time"][index]
                axes.plot(
                    ring[:, 0], ring[:, 1], color=colour, linewidth=1.1, label=f"$t = {time:g}$"
                )
            figure.legends.clear()
            figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)
        axes.plot(plane[0, :, 0], plane[0, :, 1], "o", color=INK, markersize=2, mfc="none")
        axes.plot(plane[-1, :, 0], plane[-1, :, 1], "o", color=ENERGY, markersize=4)
        axes.set_title(name, fontsize=9, loc="left")
        axes.set_aspect("equal")
        axes.set_xlabel("$z_1$")
    figure.axes[0].set_ylabel("$z_2$")
