"""Sixty-four tokens on the sphere with their paths, as in the films of arXiv:2312.10794.

Steps of the source add dt times the softmax average, without projection, and normalise. Near a
single cluster they are steps of dt / (1 + dt) along the flow.
"""

from __future__ import annotations

import numpy as np
from claims import Claim
from matplotlib.figure import Figure

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.figures.draw.axes import ENERGY, FAINT, MUTED, ORDER
from published.entry import Progress, Reproduction, unfollowed
from published.spheres import layers, seen_from, token_paths

TOKENS, BETA, END, DT, SEED = 64, 1.0, 15.0, 0.1, 0
FRAMES = 151
SNAPSHOTS = (0.0, 2.0, 4.0, 8.0)
MET = 0.999
# Direction of view in degrees: above the equator, and east of the last cluster.
ABOVE, ASIDE = 20.0, 35.0


def compute(
    short: bool = False, published: bool = False, progress: Progress = unfollowed
) -> Reproduction:
    """Paths by this package or by the steps of the source, and smallest cosines of pairs."""
    problem = mf.Problem(mf.Sphere(), mf.exponential(BETA), mf.SA, mf.uniform())
    run = mf.simulate(
        problem, END, save=FRAMES, representation="particles", tokens=TOKENS, seed=SEED,
        tolerance=1e-6 if short else 1e-10, observables=(),
    )  # fmt: skip
    times = run.time
    flow = token_paths(run)
    paths = layers(flow[0], BETA, DT, len(times) - 1) if published else flow
    numbers = [Claim("clusters at the end", 1, clusters_of(paths[-1]), 0, printed=True)]
    found = least_cosines(paths)
    decay = np.log((1.0 - found[-30]) / (1.0 - found[-1])) / (times[-1] - times[-30])
    # Near one cluster a step of the source divides distances by 1 + dt.
    numbers += [] if published else [_distance(flow, times)]
    known = 2.0 * np.log1p(DT) / DT if published else 2.0
    why = "linear theory of the last stage" + (", by steps" if published else "")
    numbers.append(Claim("rate of 1 - least cosine near the end", known, float(decay), 0.01, why))
    numbers.append(Claim(f"all pairs have cos > {MET:g}, t", None, last_meeting(times, found)))
    return Reproduction(tuple(numbers), {"time": times, "paths": paths, "least_cosine": found})


def _distance(paths: FloatArray, times: FloatArray) -> Claim:
    """Claim: distance of tokens from a second integration at t = 4, when most of them move."""
    from scipy.integrate import solve_ivp

    def velocity(_: float, flat: FloatArray) -> FloatArray:
        x = flat.reshape(-1, 3)
        weights = np.exp(BETA * (x @ x.T - 1.0))
        average = weights @ x / weights.sum(axis=1, keepdims=True)
        return np.ravel(average - (average * x).sum(axis=1, keepdims=True) * x)

    row = int(np.searchsorted(times, SNAPSHOTS[2] - 1e-9))
    until = (0.0, float(times[row]))
    other = solve_ivp(velocity, until, paths[0].ravel(), "DOP853", rtol=1e-11, atol=1e-12)
    away = float(np.abs(other.y[:, -1] - paths[row].ravel()).max())
    why = "SciPy's DOP853 at 1e-11, attention written a second time"
    return Claim("largest distance of a token from a second integration, t = 4", 0.0, away, 1e-5,
                  why)  # fmt: skip


def least_cosines(paths: FloatArray) -> FloatArray:
    """Smallest cosine of two tokens at each time."""
    return np.array([(tokens @ tokens.T).min() for tokens in paths])


def last_meeting(times: FloatArray, alike: FloatArray) -> float:
    """Time at which the smallest cosine passes `MET`."""
    row = int(np.argmax(alike > MET))
    return float(np.interp(MET, alike[row - 1 : row + 1], times[row - 1 : row + 1]))


def clusters_of(tokens: FloatArray) -> int:
    """Number of groups of tokens that are linked by cosines above `MET`."""
    linked = np.linalg.matrix_power((tokens @ tokens.T > MET).astype(float), len(tokens)) > 0.0
    return len(np.unique(linked, axis=0))


def draw(figure: Figure, reproduction: Reproduction) -> None:
    """Tokens at four times with their paths."""
    data = reproduction.data
    figure.set_size_inches(9.0, 2.5)
    theta, phi = np.linspace(0.0, np.pi, 9), np.linspace(0.0, 2.0 * np.pi, 13)
    turn = np.linspace(0.0, 2.0 * np.pi, 80)
    x, y, _ = data["paths"][-1].mean(axis=0)
    view = ABOVE, float(np.degrees(np.arctan2(y, x))) + ASIDE
    for panel, time in enumerate(SNAPSHOTS, start=1):
        axes = figure.add_subplot(1, len(SNAPSHOTS), panel, projection="3d", computed_zorder=False)
        for at in theta[1:-1]:
            ring = np.sin(at) * np.cos(turn), np.sin(at) * np.sin(turn), np.cos(at) + 0.0 * turn
            axes.plot(*ring, color=FAINT, linewidth=0.5, zorder=0)
        half = turn / 2.0
        for at in phi[:-1]:
            arc = np.sin(half) * np.cos(at), np.sin(half) * np.sin(at), np.cos(half)
            axes.plot(*arc, color=FAINT, linewidth=0.5, zorder=0)
        row = int(np.searchsorted(data["time"], time - 1e-9))
        for path in np.moveaxis(data["paths"][: row + 1], 1, 0):
            axes.plot(*path.T, color=ORDER, linewidth=0.7, alpha=0.5, zorder=1)
        tokens = data["paths"][row]
        front = tokens @ seen_from(*view)[2] > 0.0
        for which, colour, size in ((~front, MUTED, 6), (front, ENERGY, 12)):
            axes.scatter(*tokens[which].T, s=size, color=colour, depthshade=False, zorder=2)
        axes.set_box_aspect((1, 1, 1), zoom=1.5)
        axes.set_axis_off()
        axes.view_init(*view)
        axes.set_title(f"$t = {time:g}$")
