"""Repulsive attention as a heat flow (arXiv:2509.25040, figure 3).

For large beta softmax attention is a heat flow in time s = t / beta; with V = -1 it is forward,

    d_s mu = Laplacian mu,    c_k(s) = c_k(0) e^{-k^2 s}.

At finite beta a mode about uniform decays by k^2 I_k(beta) / I_0(beta), slower by 1 %, 4 %, ... at
beta = 50. Three Gaussians spread until only the first modes are left. Where two of them meet, the
density at finite beta has features narrower than the kernel, whose width beta^{-1/2} is 0.14. So
densities are drawn and compared after convolution with a Gaussian of width 0.05.
"""

from __future__ import annotations

import numpy as np
from claims import Claim
from matplotlib import colormaps
from matplotlib.figure import Figure
from scipy.special import ive

from meanfield.api import simulate
from meanfield.arrays import ComplexArray, FloatArray
from meanfield.figures.draw.axes import INK, TIME_COLOURS
from meanfield.laws.initial import from_density
from meanfield.problem import Problem
from meanfield.spaces import Circle
from meanfield.terms.flows import Flow
from meanfield.terms.kernels import exponential
from published.entry import Progress, Reproduction, unfollowed

BETA, MOST, WINDOW = 50.0, 128, 0.05
# Weights, centres, widths of the three Gaussians.
MIXTURE = ((0.4, -1.8, 0.25), (0.35, 0.2, 0.35), (0.25, 1.9, 0.3))
DRAWN = (0.0, 0.02, 0.1, 0.3, 1.0)  # s
# Interval of s for the decay rate of the first mode, when the others have decayed.
LATE, BRIEFLY = (4.0, 5.0), (1.5, 2.0)


def mixture_modes() -> ComplexArray:
    """c_0 to c_128 of the mixture of wrapped Gaussians."""
    k = np.arange(MOST + 1)
    return np.asarray(
        sum(
            weight * np.exp(-1j * k * centre - 0.5 * (k * width) ** 2)
            for weight, centre, width in MIXTURE
        )
    )


def on_angles(modes: ComplexArray, angles: FloatArray) -> FloatArray:
    """Densities relative to uniform of modes (times, degrees), smoothed by the window."""
    k = np.arange(modes.shape[1])
    doubled = np.where(k > 0, 2.0, 1.0) * np.exp(-0.5 * (k * WINDOW) ** 2) * modes
    return np.asarray((doubled @ np.exp(1j * np.outer(k, angles))).real)


def compute(
    short: bool = False, published: bool = False, progress: Progress = unfollowed
) -> Reproduction:
    """The density and the heat flow at the same times; the short form ends earlier."""
    late = BRIEFLY if short else LATE
    start = mixture_modes()
    law = from_density(start)
    problem = Problem(Circle(), exponential(BETA), Flow(True, -1.0), law)
    times = np.array([*DRAWN, *late])
    run = simulate(problem, BETA * times[-1], save=(BETA * times).tolist(), tolerance=1e-7)
    k = np.arange(MOST + 1)
    found = np.zeros((len(times), MOST + 1), dtype=np.complex128)
    kept = min(MOST + 1, run.moments.shape[1])
    found[:, :kept] = run.moments[:, :kept]
    heat = start * np.exp(-np.outer(times, k**2))
    angles = np.linspace(-np.pi, np.pi, 721)
    here, limit = on_angles(found, angles), on_angles(heat, angles)
    gaps = np.abs(here - limit).mean(axis=1)
    rate = float(np.log(np.abs(found[-2, 1] / found[-1, 1])) / (late[1] - late[0]))
    numbers = [
        Claim("rate of the first mode over the heat flow's", float(ive(1, BETA) / ive(0, BETA)),
               rate, 1e-5 if short else 1e-6,
               "exact at $\\beta = 50$, $I_1 / I_0$; the limit is 1"),
        *(
            Claim(f"mean distance of the densities, $s = {time:g}$", 0.0, float(gap), 3.0 / BETA,
                   "the heat flow is the limit: distances are of order $1/\\beta$")
            for time, gap in zip(DRAWN, gaps, strict=False)
        ),
    ]  # fmt: skip
    data = {"s": times, "angle": angles, "density": here, "heat": limit, "distance": gaps}
    return Reproduction(tuple(numbers), data)


def draw(figure: Figure, reproduction: Reproduction) -> None:
    """Densities in colours, and the heat flow as dashed lines."""
    data = reproduction.data
    figure.set_size_inches(6.4, 3.4)
    axes = figure.subplots()
    colours = colormaps[TIME_COLOURS](np.linspace(0.1, 0.95, len(DRAWN)))
    for index, (time, colour) in enumerate(zip(DRAWN, colours, strict=True)):
        axes.plot(data["angle"], data["density"][index], color=colour, label=f"$s = {time:g}$")
        axes.plot(
            data["angle"], data["heat"][index], color=INK, linewidth=0.8, linestyle=(0, (4, 3)),
            label="heat flow" if index == len(DRAWN) - 1 else None,
        )  # fmt: skip
    axes.set_xticks([-np.pi, 0.0, np.pi], ["$-\\pi$", "$0$", "$\\pi$"])
    axes.set_xlabel("$\\theta$")
    axes.set_ylabel("density over uniform")
    axes.legend(fontsize=7.5)
