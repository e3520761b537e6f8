"""Cosines of random tokens in high dimension, compared with tokens at equal angles.

As d grows, cosines of all pairs of n random tokens tend to gamma_beta(t) of orthogonal tokens
(arXiv:2312.10794, Theorems 6.8 and 6.9). At finite d they start with cosines of size d^{-1/2}, and
cluster earlier. Prints the lead in time and the share of merged pairs, and draws cosines.png, the
cosines of all pairs over depth.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from claims import Claim, near_zero
from matplotlib.colors import LogNorm

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.figures.data.saved_times import edges_between
from meanfield.figures.draw.axes import DENSITY_COLOURS, style, title_above
from meanfield.figures.draw.figures import new_figure, write_figure
from meanfield.observables.cosines import EDGES

SECONDS = 100, 10
FOLDER = Path(__file__).parent
TOKENS, BETA, END, SAVES = 32, 5.0, 15.0, 61
DIMENSIONS, REPLICAS, FEW = (32, 128, 512), 40, 4
# Share of pairs with a cosine above 0.999 at t = 10 and d = 128: another code, 40 replicas.
MET, MET_ERROR = 0.9383, 0.0247
LEAST = 1e-4


def cosines_of(d: int, replicas: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Times, mean cosines and shares of pairs above 0.999 by replica, and pooled histograms."""

    def met(measure: mf.Measure) -> float:
        found = measure.points @ measure.points.T > 0.999
        return float((found.sum() - TOKENS) / (TOKENS * (TOKENS - 1)))

    means, shares, histograms = [], [], []
    for seed in range(replicas):
        points = np.random.default_rng((d, seed)).standard_normal((TOKENS, d))
        law = mf.from_points(points / np.linalg.norm(points, axis=1, keepdims=True))
        problem = mf.Problem(mf.Sphere(d), mf.exponential(BETA), mf.SA, law)
        run = mf.simulate(
            problem, END, save=SAVES, tolerance=1e-6,
            observables=["mean_cosine", "similarity", ("met", met)],
        )  # fmt: skip
        means.append(run.observables["mean_cosine"])
        shares.append(run.observables["met"])
        histograms.append(run.observables["similarity"])
    return run.time, np.array(means), np.array(shares), np.mean(histograms, axis=0)


def crossing(times: FloatArray, cosines: FloatArray) -> float:
    """Time at which a mean cosine passes 1/2."""
    return float(np.interp(0.5, np.maximum.accumulate(cosines), times))


def main(short: bool) -> list[Claim]:
    """Run, check, draw."""
    replicas = FEW if short else REPLICAS
    problem = mf.Problem(mf.Sphere(TOKENS), mf.exponential(BETA), mf.SA)
    found = {d: cosines_of(d, replicas) for d in DIMENSIONS}
    times = found[DIMENSIONS[0]][0]
    curve = mf.equiangular_cosine(problem, TOKENS, times)
    expected = mf.equiangular_time(problem, TOKENS, 0.5)
    print(f"mean cosine 1/2: tokens at equal angles at t = {expected:.4f}")
    early = {}
    for d, (_, means, _, _) in found.items():
        passed = np.array([crossing(times, each) for each in means])
        early[d] = expected - passed.mean()
        spread = passed.std(ddof=1) / np.sqrt(replicas)
        print(f"  d = {d:5d}: t = {passed.mean():.4f} +- {spread:.4f}, early by {early[d]:.4f}")
    shares = found[128][2][:, int(np.argmin(np.abs(times - 10.0)))]
    error = float(np.hypot(MET_ERROR, shares.std(ddof=1) / np.sqrt(replicas)))
    exact = exact_curve(problem)
    checks = {
        "orthogonal tokens minus the curve": (exact, 1e-8),
        "d = 512: time early, as a share": (abs(early[512]) / expected, 0.1),
        "early by less as d grows": (float(not early[32] > early[128] > early[512]), 0.0),
    }
    draw(times, {d: each[3] for d, each in found.items()}, np.asarray(curve), replicas)
    what = "share of pairs above 0.999 at t = 10, d = 128"
    met = Claim(what, MET, float(shares.mean()), 4.0 * error, "another code, 40 replicas")
    return [met, *near_zero(checks)]


def exact_curve(problem: mf.Problem) -> float:
    """Largest difference of the cosines of orthogonal tokens from their closed form."""
    law = mf.from_points(np.eye(TOKENS))
    run = mf.simulate(
        mf.Problem(problem.manifold, mf.exponential(BETA), mf.SA, law), END, save=16,
        observables=["mean_cosine"],
    )  # fmt: skip
    curve = mf.equiangular_cosine(problem, TOKENS, run.time)
    return float(np.abs(run.observables["mean_cosine"] - curve).max())


def draw(
    times: FloatArray, histograms: dict[int, FloatArray], curve: FloatArray, replicas: int
) -> None:
    """Draw histograms of cosines over depth, and the curve."""
    with style():
        figure = new_figure((12.0, 3.9))
        panels = figure.subplots(1, len(histograms), sharey=True)
        for axes, (d, shares) in zip(panels, histograms.items(), strict=True):
            mesh = axes.pcolormesh(
                edges_between(times, False), EDGES, np.maximum(shares.T, LEAST),
                norm=LogNorm(LEAST, 1.0), cmap=DENSITY_COLOURS, rasterized=True,
            )  # fmt: skip
            axes.plot(times, curve, color="#17a2b8", dashes=(5, 2), label="equal angles")
            axes.set_xlabel("scaled time $t$")
            axes.set_title(f"$d = {d}$", loc="right")
        panels[0].set_ylabel("cosine of pairs")
        panels[0].legend(loc="lower right", labelcolor="white")
        figure.colorbar(mesh, ax=panels, label="share of pairs", extend="min", pad=0.01)
        said = rf"$n = {TOKENS}$, $\beta = {BETA:g}$, SA, {replicas} draws each"
        title_above(panels[0], "Random tokens on $S^{d-1}$", said)
    write_figure(figure, FOLDER / "cosines.png")
