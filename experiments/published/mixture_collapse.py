"""Components of a mixture collapse by backward heat (arXiv:2509.25040, figure 2).

Under softmax with V = 1 and large beta tokens follow the heat equation backwards in s = t / beta:
a component of variance sigma^2 would be a point at s = sigma^2 / 2. At finite beta a Gaussian on a
line stays Gaussian, and its variance v obeys

    v' = -2 v / (1 + beta v),    ln v + beta v = ln v_0 + beta v_0 - 2 t.

This is the limit while beta v is large, and v falls like e^{-2t} in the end. Components far apart
do not interact. The curvature of the circle gives corrections of order v.
"""

from __future__ import annotations

import math

import numpy as np
from claims import Claim
from matplotlib import colormaps
from matplotlib.figure import Figure
from scipy.special import lambertw

from meanfield.api import simulate
from meanfield.arrays import FloatArray
from meanfield.figures.draw.axes import COUNT, ENERGY, ORDER, TIME_COLOURS
from meanfield.laws.initial import from_points
from meanfield.problem import Problem
from meanfield.spaces import Circle
from meanfield.terms.flows import SA
from meanfield.terms.kernels import exponential
from published.entry import Progress, Reproduction, unfollowed
from published.spheres import token_paths

BETA, WIDTH, COMPONENTS = 10.0, 0.2, 3
TOKENS = 10_000
TIMES = np.linspace(0.0, 1.5, 31)
DRAWN = (0, 4, 10, 20)
COMPARED = (4, 10, 20)


def gaussian_variance(times: FloatArray) -> FloatArray:
    """v(t) on a line, by Lambert's function: beta v = W(beta v_0 e^{beta v_0 - 2t})."""
    first = BETA * WIDTH**2
    return np.asarray(lambertw(first * np.exp(first - 2.0 * times)).real / BETA)


def mixture_tokens(count: int) -> tuple[FloatArray, FloatArray]:
    """Angles at quantiles of three wrapped Gaussians, and the component of each."""
    from scipy.special import ndtri

    each = count // COMPONENTS
    offsets = WIDTH * ndtri((np.arange(each) + 0.5) / each)
    centres = 2.0 * np.pi * np.arange(COMPONENTS) / COMPONENTS
    return (centres[:, None] + offsets).ravel(), np.repeat(np.arange(COMPONENTS), each)


def compute(
    short: bool = False, published: bool = False, progress: Progress = unfollowed
) -> Reproduction:
    """Variance of a component over time."""
    angles, owners = mixture_tokens(600 if short else TOKENS)
    problem = Problem(Circle(), exponential(BETA), SA, from_points(angles))
    run = simulate(
        problem, float(TIMES[-1]), save=TIMES.tolist(), representation="particles", tolerance=1e-8
    )
    paths = token_paths(run)
    variances = paths[:, owners == 0].var(axis=1)
    line = gaussian_variance(TIMES)
    numbers = [
        Claim(
            f"variance of a component, $t = {TIMES[index]:g}$", float(line[index]),
            float(variances[index]), 0.03 * float(line[index]),
            "exact on a line; the circle's curvature adds order $\\sigma_0^2$",
        )
        for index in COMPARED
    ]  # fmt: skip
    limit = np.maximum(WIDTH**2 - 2.0 * TIMES / BETA, 0.0)
    numbers.append(
        Claim(
            "the limit's collapse, $t = \\beta\\sigma_0^2 / 2$", BETA * WIDTH**2 / 2.0,
            float(np.interp(-math.exp(-1.0), -variances / variances[0], TIMES)), None,
            "here the time at which the variance has fallen by e",
        )
    )  # fmt: skip
    data = {"time": TIMES, "variance": variances, "line": line, "limit": limit}
    return Reproduction(tuple(numbers), {**data, "angle": paths[list(DRAWN)]})


def draw(figure: Figure, reproduction: Reproduction) -> None:
    """Histograms of tokens at four times, and the variance of a component."""
    data = reproduction.data
    figure.set_size_inches(8.0, 3.2)
    left, right = figure.subplots(1, 2)
    colours = colormaps[TIME_COLOURS](np.linspace(0.1, 0.95, len(DRAWN)))
    bins = np.linspace(-np.pi / 3, 5 * np.pi / 3, 241)
    for index, values, colour in zip(DRAWN, data["angle"], colours, strict=True):
        time = data["time"][index]
        heights, _ = np.histogram(values, bins, density=True)
        left.stairs(heights * 2.0 * np.pi, bins, color=colour, label=f"$t = {time:g}$")
    left.set_yscale("log")
    left.set_ylim(0.02, 60.0)
    left.set_xticks([0.0, 2 * np.pi / 3, 4 * np.pi / 3], ["$0$", "$2\\pi/3$", "$4\\pi/3$"])
    left.set_xlabel("azimuth")
    left.set_ylabel("density over uniform")
    left.legend(fontsize=7, ncols=4, loc="upper center", columnspacing=1.0, handlelength=1.2)
    right.semilogy(data["time"], data["variance"], "o", color=ORDER, markersize=4, label="here")
    right.semilogy(data["time"], data["line"], color=ENERGY, linewidth=1.2, label="on a line")
    shown = data["limit"] > 1e-9
    right.semilogy(
        data["time"][shown], data["limit"][shown], color=COUNT, linestyle="--",
        label=r"$\beta \to \infty$",
    )  # fmt: skip
    right.set_ylim(1e-3, 0.1)
    right.set_xlabel("$t$")
    right.set_ylabel("variance of a component")
    right.legend(fontsize=7.5)
