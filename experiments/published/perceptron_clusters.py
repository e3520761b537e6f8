"""Tokens that repel each other in the valleys of a perceptron (arXiv:2601.21366).

    x' = -P_x [ (1/N) sum_j e^{beta (<x, x_j> - 1)} x_j + sum_m s_m a_m relu(<a_m, x>) ]

descends E(mu) = (1 / 2 beta) int int e^{beta (<x, y> - 1)} dmu dmu + int U dmu, where
U = sum_m s_m relu(<a_m, x>)^2 / 2, with as many neurons as dimensions. E is convex in mu, so the
energy of a state exceeds the least energy of all measures by at most

    int Phi dmu - min Phi,    Phi(x) = (1 / beta) int e^{beta (<x, y> - 1)} dmu(y) + U(x).

States are atoms. An atom of mass m is stable at every beta if the curvature of U exceeds m there.
Where U is flatter, the number of atoms grows with beta.
"""

from __future__ import annotations

import numpy as np
from claims import Claim
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec

from meanfield.api import simulate
from meanfield.arrays import FloatArray
from meanfield.figures.draw.axes import ENERGY, INK, ORDER, TIME_COLOURS
from meanfield.laws.initial import from_points
from meanfield.problem import Problem
from meanfield.spaces import Circle, Sphere
from meanfield.terms.fixed import FeedForward
from meanfield.terms.flows import Flow
from meanfield.terms.kernels import exponential
from published.entry import Progress, Reproduction, unfollowed
from published.spheres import draw_ball, token_paths

BETAS = (0.1, 1.0, 5.0, 10.0, 25.0, 50.0)
BRIEFLY = (5.0,)
TOKENS, UNTIL = 200, 2000.0
PARTICLE_SEED, NEURON_SEEDS = 42, {2: 777, 3: 111}
SAVES = 41


def neurons_of(d: int) -> tuple[FloatArray, FloatArray]:
    """Directions a_m, shape (d, d), and weights s_m."""
    rng = np.random.default_rng(NEURON_SEEDS[d])
    directions = rng.standard_normal((d, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions, rng.standard_normal(d)


def start_of(d: int, count: int) -> FloatArray:
    """Uniform tokens: angles or unit vectors."""
    rng = np.random.default_rng(PARTICLE_SEED)
    if d == 2:
        return np.asarray(rng.uniform(0.0, 2.0 * np.pi, count))
    points = rng.standard_normal((count, d))
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


def vectors_of(points: FloatArray) -> FloatArray:
    """Unit vectors (n, d) of angles, or of unit vectors."""
    return np.stack([np.cos(points), np.sin(points)], axis=1) if points.ndim == 1 else points


def field_of(x: FloatArray, tokens: FloatArray, beta: float) -> tuple[FloatArray, FloatArray]:
    """Phi and its tangential gradient at vectors x (m, d), for tokens (n, d)."""
    directions, weights = neurons_of(x.shape[1])
    attention = np.exp(beta * (x @ tokens.T - 1.0)) / len(tokens)
    active = np.maximum(x @ directions.T, 0.0)
    slope = attention @ tokens + (active * weights) @ directions
    slope -= np.sum(slope * x, axis=1, keepdims=True) * x
    return attention.sum(axis=1) / beta + 0.5 * active**2 @ weights, slope


def energy_of(tokens: FloatArray, beta: float) -> float:
    """E of tokens (n, d)."""
    directions, weights = neurons_of(tokens.shape[1])
    pairs = np.exp(beta * (tokens @ tokens.T - 1.0)).mean() / (2.0 * beta)
    return float(pairs + (0.5 * np.maximum(tokens @ directions.T, 0.0) ** 2 @ weights).mean())


def atoms_of(tokens: FloatArray, beta: float) -> FloatArray:
    """Shares of tokens in groups that are separated by the source's gap, largest first."""
    from scipy.sparse.csgraph import connected_components

    gap = min(0.5 / np.sqrt(beta), np.pi / (2.0 * tokens.shape[1]))
    near = tokens @ tokens.T >= np.cos(gap)
    count, owner = connected_components(near, directed=False)
    return np.sort(np.bincount(owner, minlength=count) / len(tokens))[::-1]


def paths_of(d: int, beta: float, count: int, until: float) -> FloatArray:
    """Tokens at `SAVES` times."""
    directions, weights = neurons_of(d)
    term = FeedForward(
        input=directions.tolist(), output=(-weights * directions.T).tolist(), activation="relu"
    )
    problem = Problem(
        Circle() if d == 2 else Sphere(), exponential(beta), Flow(False, -1.0),
        from_points(start_of(d, count)), feed_forward=term,
    )  # fmt: skip
    times = np.concatenate([[0.0], np.geomspace(0.1, until, SAVES - 1)])
    run = simulate(problem, until, save=times.tolist(), representation="particles", tolerance=1e-6)
    return token_paths(run)


def compute(
    short: bool = False, published: bool = False, progress: Progress = unfollowed
) -> Reproduction:
    """States on the circle and the sphere, and bounds on their energies."""
    betas = BRIEFLY if short else BETAS
    count, until = (40, 300.0) if short else (TOKENS, UNTIL)
    data, numbers, worst = {"beta": np.array(betas)}, [], np.zeros(3)
    jobs = [(d, beta) for d in ((2,) if short else (2, 3)) for beta in betas]
    for d, beta in progress(jobs, len(jobs), "temperatures"):
        paths = paths_of(d, beta, count, until)
        tokens = vectors_of(paths[-1])
        energies = np.array([energy_of(vectors_of(points), beta) for points in paths])
        potential, slope = field_of(tokens, tokens, beta)
        trial = np.random.default_rng(0).standard_normal((20_000, d))
        trial /= np.linalg.norm(trial, axis=1, keepdims=True)
        above = float(
            potential.mean() - min(field_of(trial, tokens, beta)[0].min(), potential.min())
        )
        atoms = atoms_of(tokens, beta)
        where = f"$S^{d - 1}$, $\\beta = {beta:g}$"
        numbers += [
            Claim(f"{where}: atoms", None, len(atoms)),
            Claim(f"{where}: heaviest atom", None, float(atoms[0])),
        ]
        worst = np.maximum(
            worst,
            [np.linalg.norm(slope, axis=1).max(), np.diff(energies).max(), above],
        )
        data |= {f"tokens {d} {beta:g}": paths[-1], f"energy {d} {beta:g}": energies}
        data[f"atoms {d} {beta:g}"] = atoms
    speed, rise, above = worst.tolist()
    overall = (
        Claim("largest speed at the end", 0.0, speed, 5e-3,
               "the source goes on to 1e-4, or $t = 20000$"),
        Claim("largest rise of the energy in a run", 0.0, rise, 1e-9, "a gradient flow: none"),
        Claim("energy above the least of all measures, at most", None, above, None,
               "a bound by convexity, the worst of all runs"),
    )  # fmt: skip
    return Reproduction((*overall, *numbers), data)


def draw(figure: Figure, reproduction: Reproduction) -> None:
    """Tokens at rest on the circle and on balls; numbers of atoms over the root of beta."""
    data = reproduction.data
    betas = data["beta"]
    both = [d for d in (2, 3) if f"tokens {d} {betas[0]:g}" in data]
    figure.set_size_inches(8.4, 4.6)
    grid = GridSpec(2, 1, figure=figure, height_ratios=(1.15, 1.0))
    top = grid[0].subgridspec(1, 2)
    left, right = figure.add_subplot(top[0]), figure.add_subplot(top[1])
    angles = np.linspace(0.0, 2.0 * np.pi, 721)
    colours = colormaps[TIME_COLOURS](np.linspace(0.1, 0.95, len(betas)))
    directions, weights = neurons_of(2)
    hills = 0.5 * np.maximum(vectors_of(angles) @ directions.T, 0.0) ** 2 @ weights
    left.plot(angles, hills, color=INK, linewidth=0.9)
    low, high = hills.min(), np.ptp(hills) + 0.1
    for row, (beta, colour) in enumerate(zip(betas, colours, strict=True)):
        points = np.mod(data[f"tokens 2 {beta:g}"], 2.0 * np.pi)
        level = low - 0.12 * high * (row + 1)
        left.plot(points, np.full(len(points), level), "o", color=colour, markersize=3)
        left.annotate(f"$\\beta = {beta:g}$", (2.02 * np.pi, level), fontsize=6.5, va="center")
    left.set_xlim(0.0, 2.35 * np.pi)
    left.set_xticks([0.0, np.pi, 2.0 * np.pi], ["$0$", "$\\pi$", "$2\\pi$"])
    left.set_title("potential $U$ on the circle, tokens at rest", loc="left")
    for d, marker, colour in zip(both, "os", (ORDER, ENERGY), strict=False):
        counts = [len(data[f"atoms {d} {beta:g}"]) for beta in betas]
        right.plot(np.sqrt(betas), counts, marker + "-", color=colour, label=f"$S^{d - 1}$")
    right.set_xlabel("$\\sqrt{\\beta}$")
    right.set_ylabel("atoms")
    right.legend()
    places = grid[1].subgridspec(1, len(betas))
    for number, beta in enumerate(betas):
        axes = figure.add_subplot(places[number])
        points = data[f"tokens {both[-1]} {beta:g}"]
        vectors = vectors_of(points)
        if vectors.shape[1] == 2:
            vectors = np.column_stack([vectors, np.zeros(len(vectors))])
        draw_ball(axes, vectors, size=7.0)
        axes.set_title(f"$\\beta = {beta:g}$", fontsize=8)
