"""Tokens of a decoder on the circle with ALiBi's weights: the first ones gather the others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from claims import Claim
from matplotlib.figure import Figure

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.figures.draw.axes import FAINT, INK
from published.entry import Progress, Reproduction, unfollowed
from published.spheres import token_paths

TOKENS, BETA, RATE, UNTIL, STEP, SEED = 64, 1.0, 1.0, 10.0, 0.0025, 17
CLUSTERS, SPREAD = 4, 0.075
TIMES = (0.0, 1.0, 2.0, 4.0, 10.0)
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#e69f00")


def compute(
    short: bool = False, published: bool = False, progress: Progress = unfollowed
) -> Reproduction:
    """Paths by the package, whose tokens attend to themselves, or by the source's scheme."""
    start, clusters = beginning()
    time = np.linspace(0.0, UNTIL, 41 if short else 201)
    run = _run(start, time)
    step = 0.05 if short else STEP
    theirs = _steps(start, time, step)
    exact = _solved(start, time)
    numbers = [
        Claim("error of the source's steps, largest over tokens and times", 0.0,
               float(np.abs(theirs - exact).max()), 1e-5 if short else 1e-10,
               "from SciPy's DOP853 at 1e-12"),
        Claim("first token, t = 10", float(start[0]), float(run[-1, 0]), 1e-12, "it rests"),
    ]  # fmt: skip
    away = {"source": theirs, "package": run}
    for at in (2.0, 4.0, 10.0):
        i = int(np.argmin(np.abs(time - at)))
        orders = {name: abs(np.exp(1j * paths[i]).mean()) for name, paths in away.items()}
        numbers.append(
            Claim(f"length of the mean vector, t = {at:g}", float(orders["source"]),
                   float(orders["package"]), 0.05, "by the source's scheme; "
                   "a token of the package attends to itself, which slows the first ones")
        )  # fmt: skip
    numbers.append(
        Claim("largest distance of a token's place, t = 10", 0.0,
               float(np.abs(theirs[-1] - run[-1]).max()), None,
               "the same; it vanishes as there are more tokens")
    )  # fmt: skip
    own = float(np.abs(_solved(start, time, itself=True) - run).max())
    numbers.append(
        Claim("largest distance of a run from SciPy's DOP853 if tokens see themselves", 0.0, own,
               1e-6)
    )  # fmt: skip
    data = {"time": time, "angles": theirs if published else run, "cluster": clusters,
            "times": np.array(TIMES), "published": np.array(published)}  # fmt: skip
    return Reproduction(tuple(numbers), data)


def draw(figure: Figure, reproduction: Reproduction) -> None:
    """Circles with paths, coloured by the initial cluster; and angles over time."""
    data = reproduction.data
    figure.set_size_inches(10.5, 6.0)
    grid = figure.add_gridspec(2, len(data["times"]), height_ratios=(1.0, 1.3))
    angles, time = data["angles"], data["time"]
    around = np.linspace(0.0, 2.0 * np.pi, 201)
    for column, at in enumerate(data["times"]):
        axes = figure.add_subplot(grid[0, column])
        i = int(np.argmin(np.abs(time - at)))
        axes.plot(np.cos(around), np.sin(around), color=FAINT, linewidth=0.8)
        for token in range(TOKENS):
            colour, path = _COLOURS[data["cluster"][token]], angles[: i + 1, token]
            axes.plot(np.cos(path), np.sin(path), color=colour, linewidth=0.8, alpha=0.6)
            axes.plot(np.cos(path[-1]), np.sin(path[-1]), "o", color=colour, markersize=4)
        axes.plot(np.cos(angles[i, 0]), np.sin(angles[i, 0]), "o", markerfacecolor="none",
                  markeredgecolor=INK, markersize=9)  # fmt: skip
        axes.set_aspect("equal")
        axes.axis("off")
        axes.set_title(f"$t = {at:g}$")
    axes = figure.add_subplot(grid[1, :])
    for token in range(TOKENS):
        axes.plot(time, angles[:, token] / np.pi, color=_COLOURS[data["cluster"][token]],
                  linewidth=0.8)  # fmt: skip
    for turns, label in ((0.0, "first token"), (2.0, None)):
        axes.plot(time, angles[:, 0] / np.pi + turns, color=INK, linewidth=1.4, label=label)
    axes.set(xlabel="time $t$", ylabel="angle / π", xlim=(0.0, time[-1]))
    axes.legend(loc="center right")


def beginning() -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Initial angles by the source's seed, and the cluster of each token."""
    clusters = np.repeat(np.arange(CLUSTERS), TOKENS // CLUSTERS)
    centres = np.pi * np.linspace(0.1, 1.9, CLUSTERS)
    noise = np.random.default_rng(SEED).normal(0.0, SPREAD, TOKENS)
    return np.mod(centres[clusters] + noise, 2.0 * np.pi), clusters


def _run(start: FloatArray, time: FloatArray) -> FloatArray:
    """Angles by the package, whose force has no factor beta; beta = 1 here."""
    attention = mf.Attention([mf.Head()], "none", beta=BETA, mask="alibi", alibi_rate=RATE)
    problem = mf.Problem(mf.Circle(), attention, initial=mf.from_points(start))
    run = mf.simulate(
        problem, until=UNTIL, unit="paper", save=time.tolist(), tolerance=1e-9,
        representation="particles",
    )  # fmt: skip
    return token_paths(run)


def _velocity(itself: bool) -> Callable[[FloatArray], FloatArray]:
    """Velocity -beta sum_k w_jk sin(theta_j - theta_k) e^{beta cos(theta_j - theta_k)}.

    w_jk = e^{-lambda (j - k) / n} for k < j, divided by their sum, plus 1 if `itself`.
    """
    back = np.subtract.outer(np.arange(TOKENS), np.arange(TOKENS))
    weights = np.where(back > 0, np.exp(-RATE / TOKENS * back), 0.0)
    weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-300) + itself

    def velocity(theta: FloatArray) -> FloatArray:
        away = theta[:, None] - theta
        return -BETA * np.asarray(
            (weights * np.sin(away) * np.exp(BETA * np.cos(away))).sum(axis=1)
        )

    return velocity


def _steps(start: FloatArray, time: FloatArray, step: float) -> FloatArray:
    """Angles by the source's classical Runge-Kutta steps."""
    velocity, theta, found = _velocity(False), start, [start]
    for _ in time[1:]:
        for _ in range(round((time[1] - time[0]) / step)):
            k1 = velocity(theta)
            k2 = velocity(theta + 0.5 * step * k1)
            k3 = velocity(theta + 0.5 * step * k2)
            k4 = velocity(theta + step * k3)
            theta = theta + step / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        found.append(theta)
    return np.array(found)


def _solved(start: FloatArray, time: FloatArray, itself: bool = False) -> FloatArray:
    """Angles by SciPy at 1e-12."""
    from scipy.integrate import solve_ivp

    velocity = _velocity(itself)
    found = solve_ivp(lambda _, x: velocity(x), (0.0, UNTIL), start, "DOP853", t_eval=time,
                      rtol=1e-12, atol=1e-12)  # fmt: skip
    return np.asarray(found.y.T)
