"""One cluster or two under attention with a matrix D = diag(d, 1) (arXiv:2501.03096, figure 2).

Tokens on the circle with score and value D and no normalisation gather at one or both ends of the
leading axis. Let lambda be the eigenvalue along this axis and mu the other one. Two equal clusters
are unstable (both tilt to the same side) if and only if

    mu / lambda > tanh(lambda).

So two clusters are stable for d < tanh 1 = 0.7616 and for d tanh d > 1, d > 1.1997, and in between
only one cluster is. The source takes layers x <- N(x + tau A) of step 0.1 (`published`).
"""

from __future__ import annotations

import math

import numpy as np
from claims import Claim
from matplotlib.figure import Figure
from scipy.optimize import brentq

from meanfield.api import simulate
from meanfield.arrays import FloatArray
from meanfield.figures.draw.axes import COUNT, ENERGY, INK, ORDER
from meanfield.laws.initial import from_points
from meanfield.problem import Problem
from meanfield.schemes.layers import Layers
from meanfield.spaces import Circle
from meanfield.terms.attention import Attention, Head
from published.entry import Progress, Reproduction, unfollowed
from published.spheres import token_paths

ENTRIES = np.linspace(0.0, 1.5, 20)  # d
TOKENS, STEP, LAYERS = 100, 0.1, 1500
# Starts for each d: in the source, here, and here by the source's scheme.
STORED_STARTS, STARTS, PUBLISHED_STARTS = 100, 50, 5
# Share of starts that end in one cluster, stored by the source.
STORED = np.array([0, 1, 0, 1, 2, 2, 5, 8, 16, 50, 100, 100, 100, 100, 100, 100, 45, 6, 3, 1]) / 100
COMPARED, BRIEFLY = (8, 9, 10, 15, 16, 17), (10, 15)
# Allowed difference of two shares, in standard deviations.
DEVIATIONS = 3.5


def tokens_of(entry: float, angles: FloatArray, layers: Layers | None = None) -> Problem:
    """Problem of tokens with score and value diag(d, 1)."""
    head = Head(score=[entry, 1.0], value=[entry, 1.0])
    attention = Attention([head], "none", beta=1.0)
    return Problem(Circle(), attention, initial=from_points(angles), layers=layers)


def final_angles(entry: float, angles: FloatArray, published: bool) -> FloatArray:
    """Tokens at paper time 150, by the flow or by layers."""
    # Weights are e^{x^T D y - max(d, 1)} in scaled time.
    unit = math.exp(max(entry, 1.0))
    if published:
        problem = tokens_of(entry, angles, Layers(STEP * unit, LAYERS, "post"))
        run = simulate(problem, save=[LAYERS])
    else:
        until = LAYERS * STEP * unit
        run = simulate(tokens_of(entry, angles), until, save=[until], tolerance=1e-6)
    return np.asarray(token_paths(run)[-1])


def tilt_rate(entry: float) -> float:
    """Rate at which two equal clusters on the leading axis tilt to one side."""
    tilt, until = 1e-5, 0.1
    start = np.array([tilt, np.pi - tilt]) + (0.0 if entry > 1.0 else np.pi / 2)
    run = simulate(tokens_of(entry, start), until, save=[until], tolerance=1e-12)
    moved = token_paths(run)[-1][0] - start[0]
    return float(np.log((moved + tilt) / tilt) / until)


def compute(
    short: bool = False, published: bool = False, progress: Progress = unfollowed
) -> Reproduction:
    """Shares of starts that end in one cluster, and stability limits of two clusters."""
    replicas = 1 if short else PUBLISHED_STARTS if published else STARTS
    chosen = np.array(BRIEFLY) if short else np.arange(len(ENTRIES))
    rng = np.random.default_rng(2)
    single = np.zeros((len(chosen), replicas), dtype=bool)
    for row, column in progress(np.ndindex(single.shape), single.size, "starts"):
        directions = rng.standard_normal((TOKENS, 2))
        angles = np.arctan2(directions[:, 1], directions[:, 0])
        last = final_angles(float(ENTRIES[chosen[row]]), angles, published)
        single[row, column] = np.cos(last[:, None] - last).min() > 0.0
    shares = single.mean(axis=1)
    upper = brentq(lambda d: d * math.tanh(d) - 1.0, 1.0, 2.0)
    numbers = [
        Claim(
            f"two clusters are stable {side} $d$", exact,
            float(brentq(tilt_rate, *bracket, xtol=1e-9)), 1e-7,
            f"exact: {said}; the stored shares change on both sides of it",
        )
        for side, exact, bracket, said in (
            ("below", math.tanh(1.0), (0.6, 0.9), "$\\tanh 1$"),
            ("above", upper, (1.1, 1.4), "$d \\tanh d = 1$"),
        )[: 1 if short else 2]
    ]  # fmt: skip
    for number in BRIEFLY if short else COMPARED:
        share = float(STORED[number])
        spread = max(share * (1.0 - share), 0.01) * (1.0 / STORED_STARTS + 1.0 / replicas)
        numbers.append(
            Claim(
                f"share of one cluster, $d = {ENTRIES[number]:.3f}$", share,
                float(shares[np.flatnonzero(chosen == number)[0]]),
                DEVIATIONS * math.sqrt(spread), "other random starts", printed=True,
            )
        )  # fmt: skip
    data = {"entry": ENTRIES[chosen], "share": shares, "stored_share": STORED[chosen]}
    limits = np.array([math.tanh(1.0), upper])
    return Reproduction(tuple(numbers), {**data, "limit": limits, "replicas": np.array(replicas)})


def draw(figure: Figure, reproduction: Reproduction) -> None:
    """Shares of one cluster, published and here, and the two limits."""
    data = reproduction.data
    figure.set_size_inches(6.4, 3.4)
    axes = figure.subplots()
    entries, shares = data["entry"], data["share"]
    axes.axvspan(*data["limit"], color=COUNT, alpha=0.15, linewidth=0.0)
    texts = ("$\\tanh 1$", "$d\\,\\tanh d = 1$")
    for limit, text, height, side in zip(data["limit"], texts, (0.6, 0.4), (5, -5), strict=True):
        axes.axvline(limit, color=COUNT, linewidth=0.8)
        axes.annotate(
            text, (limit, height), xytext=(side, 0), ha="left" if side > 0 else "right",
            textcoords="offset points", color=INK,
        )  # fmt: skip
    spread = np.sqrt(shares * (1.0 - shares) / data["replicas"])
    axes.plot(entries, data["stored_share"], "o", color=ENERGY, markersize=7, mfc="none",
              label="stored with the source")  # fmt: skip
    axes.errorbar(entries, shares, spread, fmt=".", color=ORDER, label="here, one deviation")
    axes.set_xlabel("$d$ of $D = \\mathrm{diag}(d, 1)$")
    axes.set_ylabel("share of starts that end in one cluster")
    axes.set_ylim(-0.05, 1.05)
    axes.legend(loc="upper left", fontsize=7.5)
