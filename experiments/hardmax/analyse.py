"""Hardmax attention: paths in the plane, the limit of softmax, choices near a ridge.

Tokens in the plane follow their leaders, and their hull does not grow. On the circle with
B = diag(1, -1) moments of softmax at large beta are compared with the limit. In Example 9.3 of
arXiv:2312.10794 two tokens rest and a third starts near the ridge between them. For random heads on
circles, spheres and in R^d velocities are compared with the inclusion, and paths with small steps.
Prints numbers beside expected ones, and draws hardmax.png.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from claims import Claim, Errors, near_zero
from scipy.spatial import ConvexHull

import meanfield as mf
from meanfield.figures.draw.axes import COUNT, ENERGY, FAINT, INK, MUTED, ORDER, style
from meanfield.figures.draw.figures import new_figure, write_figure
from meanfield.papers.hardmax import inclusion_distance, two_pole_moments

SECONDS = 30, 10
FOLDER = Path(__file__).parent
POLES, TIME = [1.0, -1.0], 0.5
# B for the plane: tokens attend to the one farthest to their left.
TURNED = [[0.6, 0.8], [-0.8, 0.6]]
BETAS = (5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0)
STEEP = (3.0, 10.0, 30.0, 100.0)
# The third token of Example 9.3 at time 1, by beta and initial distance from the ridge. The paper
# has no numbers; these are from SciPy's DOP853 and LSODA, which agree to 2e-10.
TABLE = {
    (3.0, 0.0): (0.0, 0.537529),
    (3.0, 1e-6): (0.000005, 0.537529),
    (3.0, 1e-3): (0.004558, 0.537529),
    (3.0, 0.1): (0.352217, 0.540520),
    (10.0, 0.0): (0.0, 0.599004),
    (10.0, 1e-6): (0.003729, 0.599005),
    (10.0, 1e-3): (0.379910, 0.603493),
    (10.0, 0.1): (0.650343, 0.619457),
    (30.0, 0.0): (0.0, 0.625031),
    (30.0, 1e-6): (0.475191, 0.625112),
    (30.0, 1e-3): (0.586912, 0.625551),
    (30.0, 0.1): (0.668411, 0.631607),
    (100.0, 0.0): (0.0, 0.630217),
    (100.0, 1e-6): (0.596955, 0.630218),
    (100.0, 1e-3): (0.624326, 0.630415),
    (100.0, 0.1): (0.668908, 0.632120),
}


def moment(beta: float) -> float:
    """c_2 of softmax on the circle at `TIME`, from the uniform measure."""
    heads = mf.Attention([mf.Head(score=POLES)], beta=beta)
    problem = mf.Problem(mf.Circle(), heads, initial=mf.uniform())
    return float(mf.simulate(problem, until=TIME, save=2).moments[-1, 2].real)


def third(delta: float) -> np.ndarray:
    """Two tokens at rest, and a third at the distance `delta` from their ridge."""
    return np.array([[1.0, 1.0], [-1.0, 1.0], [delta, 0.0]])


def softmax_end(beta: float, delta: float) -> np.ndarray:
    """Third token under softmax at time 1."""
    heads = mf.Attention([mf.Head()], beta=beta)
    law = mf.from_points(third(delta))
    problem = mf.Problem(mf.Euclidean(2), heads, initial=law, drift=mf.LinearDrift(-1.0))
    return mf.simulate(problem, until=1.0, save=2, tolerance=1e-9).measures[-1].points[2]


def small_steps(space, x: np.ndarray, score, value, steps: int) -> np.ndarray:
    """Tokens at time 1 by Euler's method, with a new argmax in every step."""
    x = x.copy()
    for _ in range(steps):
        toward = x[((x @ score) @ x.T).argmax(axis=1)] @ value.T
        if space.is_sphere:
            x += (toward - (toward * x).sum(axis=1)[:, None] * x) / steps
            x /= np.linalg.norm(x, axis=1)[:, None]
        else:
            x += (toward - x @ value.T) / steps
    return x


def random_heads(runs: int) -> tuple[float, float, int, int]:
    """Largest distance to the inclusion, median error of small steps, numbers of events, slides."""
    spaces = (mf.Circle(), mf.Sphere(3), mf.Sphere(5), mf.Euclidean(2), mf.Euclidean(3))
    off, errors, events, slides = 0.0, [], 0, 0
    for seed in range(runs):
        for space in spaces:
            rng, d = np.random.default_rng(seed), space.ambient
            score, value, x = rng.normal(size=(d, d)), rng.normal(size=(d, d)), None
            x = rng.normal(size=(7, d))
            if space.is_sphere:
                x /= np.linalg.norm(x, axis=1)[:, None]
            head = {"score": score, "value": value}
            run = mf.hardmax(space, space.points_of(x), **head, until=1.0, save=6)
            for t in run.time:
                v = run.velocities(t)
                far = inclusion_distance(space, run.at(t), v, **head).max()
                off = max(off, far / max(1.0, float(np.abs(v).max())))
            end = small_steps(space, x, score, value, 4000)
            errors.append(np.abs(space.vectors(run.points[-1]) - end).max() / np.abs(end).max())
            events += len(run.events)
            slides += sum(len(each.after) > 1 for each in run.events)
    return off, float(np.median(errors)), events, slides


def main(short: bool) -> list[Claim]:
    """Run, check, draw."""
    checks: Errors = {}
    limit = float(two_pole_moments(2, TIME)[2])
    short_of = np.array([limit - moment(beta) for beta in BETAS])
    for beta, each in zip(BETAS, short_of, strict=True):
        print(f"beta = {beta:g}: tanh t - c_2 = {each:.3e} = {beta * each:.4f} / beta")
    first = limit - float(two_pole_moments(2, TIME, beta=1.0)[2])
    angles = 2.0 * np.pi / 128 * (np.arange(128) + 0.5)
    tokens = mf.hardmax(mf.Circle(), angles, score=POLES, until=TIME, save=2)
    c_2 = float(np.exp(2j * tokens.points[-1]).mean().real)
    checks["c_2 of 128 tokens at equal angles minus tanh t"] = (abs(c_2 - limit), 1e-13)
    scaled = Claim(
        "beta (tanh t - c_2) at beta = 320", first, BETAS[-1] * short_of[-1], 1.0 / BETAS[-1]
    )
    ends = {pair: softmax_end(*pair) for pair in TABLE}
    checks["Example 9.3, largest difference to the table"] = (
        max(float(np.abs(ends[pair] - TABLE[pair]).max()) for pair in TABLE), 1.5e-6)  # fmt: skip
    share = 1.0 - math.exp(-1.0)
    hard = max(
        float(np.abs(mf.hardmax(mf.Euclidean(2), third(delta), until=1.0, save=2).points[-1, 2]
                     - [share + delta / math.e, share]).max())
        for delta in (0.0, 1e-6, 1e-3, 0.1)
    )  # fmt: skip
    checks["Example 9.3 at beta = infinity: the corner"] = (hard, 1e-12)
    plane = np.random.default_rng(6).normal(size=(24, 2))
    paths = mf.hardmax(mf.Euclidean(2), plane, score=TURNED, until=3.0, save=121)
    off, steps, events, slides = random_heads(4 if short else 40)
    print(f"random heads: {events} events, {slides} of them begin to slide along a ridge")
    checks["random heads: velocities to the inclusion"] = (off, 1e-9)
    checks["random heads: 4,000 small steps, median of relative errors"] = (steps, 2e-3)
    draw(paths, short_of, share)
    return [scaled, *near_zero(checks)]


def draw(paths, short_of: np.ndarray, share: float) -> None:
    """Draw paths in the plane, moments over beta, and the third token near a ridge."""
    with style():
        figure = new_figure((13.5, 4.3))
        plane, approach, ridge = figure.subplots(1, 3)
        for i in range(paths.tokens):
            plane.plot(*paths.points[:, i].T, color=ORDER, lw=0.9)
        for points in paths.points[::60]:
            hull = points[ConvexHull(points).vertices]
            plane.fill(*hull.T, facecolor="none", edgecolor=MUTED, lw=1.0, ls="--", zorder=0)
        plane.plot([], [], "--", color=MUTED, label="hull at $t = 0, 1.5, 3$")
        plane.plot(*paths.points[0].T, ".", color=MUTED, ms=5, label="at $t = 0$")
        plane.plot(*paths.points[-1].T, "o", color=ENERGY, ms=4, label="at $t = 3$")
        turns = [(each.time, each.token) for each in paths.events]
        turned = np.array([paths.at(t)[i] for t, i in turns])
        plane.plot(*turned.T, "x", color=INK, ms=4, label="turn to another")
        plane.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal", ylim=(-2.4, 2.2))
        plane.legend(loc="lower right")
        approach.loglog(BETAS, short_of, "o", color=ENERGY, ms=4, label="softmax, density")
        first = np.array([math.tanh(TIME) - two_pole_moments(2, TIME, b)[2] for b in BETAS])
        approach.loglog(BETAS, first, color=INK, lw=0.8, label=r"first order, $0.2655/\beta$")
        approach.set(xlabel=r"$\beta$", ylabel=r"$\tanh t - c_2(t)$, $t = 1/2$")
        approach.legend()
        deltas = np.geomspace(1e-8, 0.3, 25)
        for beta, colour in zip(STEEP, (FAINT, COUNT, ORDER, ENERGY), strict=True):
            x = [softmax_end(beta, float(delta))[0] for delta in deltas]
            ridge.semilogx(deltas, x, color=colour, label=rf"$\beta={beta:g}$")
        x = [mf.hardmax(mf.Euclidean(2), third(float(d)), until=1.0, save=2).points[-1, 2, 0]
             for d in deltas]  # fmt: skip
        ridge.semilogx(deltas, x, color=INK, ls="--", label=r"$\beta=\infty$, corner")
        ridge.axhline(0.0, color=MUTED, ls=":", label=r"$\beta=\infty$, midpoint from 0")
        ridge.set(xlabel=r"distance from the ridge at $t=0$", ylabel="$x_1$ at $t=1$")
        ridge.legend(loc=(0.02, 0.15))
    write_figure(figure, FOLDER / "hardmax.png")
