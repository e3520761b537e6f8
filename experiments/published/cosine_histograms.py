"""Histograms of the cosines of 32 tokens on the circle at two times: clusters that last."""

from __future__ import annotations

import numpy as np
from claims import Claim
from matplotlib.figure import Figure

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.figures.draw.axes import MUTED, ORDER
from published.entry import Progress, Reproduction, unfollowed
from published.spheres import layers, token_paths

BETA, TOKENS, TIMES, UNTIL = 9.0, 32, (2.5, 18.0), 40.0
STEP, SEED = 0.1, 1


def compute(
    short: bool = False, published: bool = False, progress: Progress = unfollowed
) -> Reproduction:
    """Cosines of pairs, clusters, and numbers of attended tokens.

    Positions come from a run or from the published layers x <- N(x + 0.1 A). SciPy computes them a
    second time.
    """
    start = np.random.default_rng(SEED).uniform(0.0, 2.0 * np.pi, TOKENS)
    until = TIMES[-1] if short else UNTIL
    saves = np.unique([*np.linspace(0.0, until, 21 if short else 81), *TIMES])
    problem = mf.Problem(mf.Circle(), mf.exponential(BETA), mf.SA, mf.from_points(start))
    run = mf.simulate(
        problem, until, save=saves.tolist(), observables=["similarity", "attended_tokens"],
        representation="particles", tolerance=1e-8 if short else 1e-10,
    )  # fmt: skip
    drawn = [run.index_of(time) for time in TIMES]
    own = token_paths(run)[drawn]
    cosines, numbers = [], []
    for time, i, points in zip(TIMES, drawn, own, strict=True):
        other = _integrated(start, time)
        shown = _layers(start, time) if published else points
        cosines.append(_of_pairs(shown))
        numbers += [
            Claim(f"clusters at t = {time:g}", None, float(run.observables["clusters/count"][i]),
                   why="of this seed"),
            Claim(f"mean number of attended tokens at t = {time:g}", _attended(other),
                   float(run.observables["attended_tokens"][i, 0]), 1e-5,
                   "SciPy's LSODA at 1e-11, attention written a second time"),
            Claim(f"largest difference of the cosines of pairs at t = {time:g}", 0.0,
                   float(np.abs(_of_pairs(other) - _of_pairs(points)).max()), 1e-6,
                   "SciPy's LSODA at 1e-11"),
        ]  # fmt: skip
        if published:
            away = float(np.abs(cosines[-1] - _of_pairs(points)).max())
            why = "steps of 0.1 that are not projected run late"
            what = f"the same of the published layers at t = {time:g}"
            numbers.append(Claim(what, 0.0, away, None, why))
    data = {
        "times": np.array(TIMES), "cosines": np.array(cosines), "time": run.time,
        "attended": run.observables["attended_tokens"][:, 0], "layers": np.array(published),
    }  # fmt: skip
    return Reproduction(tuple(numbers), data)


def draw(figure: Figure, reproduction: Reproduction) -> None:
    """Histograms at two times, and attended tokens over time."""
    data = reproduction.data
    figure.set_size_inches(10.0, 3.2)
    *panels, counts = figure.subplots(1, 3)
    bins = np.linspace(-1.0, 1.0, 41)
    highest = max(np.histogram(each, bins)[0].max() for each in data["cosines"])
    for axes, time, cosines in zip(panels, data["times"], data["cosines"], strict=True):
        axes.hist(cosines, bins, color=ORDER)
        axes.set(xlabel=r"$\langle x_i, x_j \rangle$", xlim=(-1.02, 1.02), ylim=(0, 1.06 * highest))
        axes.set_title(f"$t = {time:g}$", loc="left")
    panels[0].set_ylabel("pairs $i < j$")
    counts.plot(data["time"], data["attended"], color=ORDER)
    for time in data["times"]:
        counts.axvline(time, color=MUTED, linewidth=0.8, dashes=(4, 3))
    counts.set(xlabel="time $t$", xlim=(0.0, data["time"][-1]), ylim=(0.0, 10.0))
    counts.set_title("tokens that one attends to", loc="left")


def _attention(angles: FloatArray) -> FloatArray:
    weights = np.exp(BETA * (np.cos(angles[:, None] - angles) - 1.0))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _attended(angles: FloatArray) -> float:
    """Mean exponential of the entropy of attention rows."""
    rows = _attention(angles)
    logs = np.log(np.where(rows > 0.0, rows, 1.0))
    return float(np.exp(-(rows * logs).sum(axis=1)).mean())


def _integrated(angles: FloatArray, until: float) -> FloatArray:
    """Tokens by SciPy at 1e-11."""
    from scipy.integrate import solve_ivp

    def velocity(_: float, x: FloatArray) -> FloatArray:
        return -np.asarray((_attention(x) * np.sin(x[:, None] - x)).sum(axis=1))

    found = solve_ivp(velocity, (0.0, until), angles, "LSODA", rtol=1e-11, atol=1e-12)
    return np.asarray(found.y[:, -1])


def _layers(angles: FloatArray, until: float) -> FloatArray:
    """Tokens by x <- N(x + 0.1 A)."""
    start = np.column_stack([np.cos(angles), np.sin(angles)])
    x, y = layers(start, BETA, STEP, round(until / STEP))[-1].T
    return np.asarray(np.arctan2(y, x))


def _of_pairs(angles: FloatArray) -> FloatArray:
    """Cosines of pairs i < j."""
    return np.asarray(np.cos(angles[:, None] - angles)[np.triu_indices(TOKENS, 1)])
