"""Lifetimes of cluster states: runs of atoms compared with formulas and theorems.

For five clusters at random places on the circle the time of the first merger is compared with the
law from the closest pair, and with an estimate for each run. For opposite pairs and squares with
small random errors lifetimes are compared with a rate and a constant. Critical points of n tokens
over beta are compared with theorems. Prints numbers beside expected ones, and draws lifetimes.png.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from claims import Claim, Errors, near_zero
from scipy.stats import kstest

import meanfield as mf
from meanfield.figures.draw.axes import COUNT, ENERGY, FAINT, INK, MUTED, ORDER, style
from meanfield.figures.draw.figures import new_figure, write_figure

SECONDS = 360, 40
FOLDER = Path(__file__).parent
CIRCLE = mf.Circle()
CLUSTERS, STEEP = 5, (9.0, 25.0)
# With larger errors the pairs of a square meet at different times, see README.md.
NOISE, POLYGONS = 1e-5, {2: (1.0, 3.0, 5.0, 7.0, 9.0), 4: (1.0, 3.0, 5.0, 7.0, 9.0)}
TOKENS, BETAS = range(3, 11), (-1.0, -0.8, -0.6, -0.4, -0.2, 0.5, 1.0, 2.0, 4.0, 8.0)


def problem(beta: float, points: np.ndarray | None = None) -> mf.Problem:
    """USA on the circle, from atoms or uniform."""
    law = mf.uniform() if points is None else mf.from_points(points, name="atoms")
    return mf.Problem(CIRCLE, mf.exponential(beta), mf.USA, law)


def first_merge(beta: float, points: np.ndarray, about: float) -> float:
    """Time at which the first two atoms meet; `about` is an estimate."""
    while True:
        run = mf.simulate(problem(beta, points), until=3.0 * about, save=2)
        for event in run.events:
            if event.kind == "merge":
                return float(event.time)
        about *= 3.0


def random_places(beta: float, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """Sorted times of the first merger, and their estimates; 0 if two start as one."""
    rng, times, predicted = np.random.default_rng(3), np.zeros(runs), np.zeros(runs)
    for i in range(runs):
        points = 2.0 * np.pi * rng.random(CLUSTERS)
        predicted[i] = mf.next_merge_estimate(problem(beta), mf.Measure(CIRCLE, points)).time
        times[i] = first_merge(beta, points, predicted[i]) if predicted[i] else 0.0
    order = np.argsort(times)
    return times[order], predicted[order]


def pair_clock(beta: float) -> tuple[np.ndarray, np.ndarray]:
    """Merge times of single pairs, and the probability that the closest of all needs longer."""
    met = 0.25 / math.sqrt(beta)
    angles = np.linspace(met, 2.0 * np.pi / CLUSTERS, 400)[1:]
    masses = (1.0 / CLUSTERS, 1.0 / CLUSTERS)
    alone = [mf.two_cluster_time(problem(beta), float(g), met, masses) for g in angles]
    return np.array(alone), mf.closest_pair_survival(CIRCLE, CLUSTERS, angles)


def polygon_lifetimes(k: int, beta: float, runs: int) -> tuple[float, float, float, float]:
    """Rate x time of polygons with independent errors: mean, standard error, theory.

    The fourth number is the largest distance of a run from theory with its own alternating error.
    """
    rng, life = np.random.default_rng([k, int(beta)]), mf.polygon_lifetime(problem(beta), k)
    # An alternating displacement d changes gaps by 2 d. For errors of standard deviation NOISE it
    # is normal with standard deviation NOISE / sqrt(k), and the mean of ln |d| is explicit.
    width = 2.0 * NOISE / math.sqrt(k)
    predicted = life.constant - math.log(width) + 0.5 * (np.euler_gamma + math.log(2.0))
    found, own = [], []
    for _ in range(runs):
        errors = NOISE * rng.standard_normal(k)
        points = 2.0 * np.pi / k * np.arange(k) + errors
        own.append(life.rate * life.time(2.0 * abs(errors[::2].sum() - errors[1::2].sum()) / k))
        found.append(life.rate * first_merge(beta, points, own[-1] / life.rate / 2.0))
    apart = float(np.abs(np.subtract(found, own)).max())
    return float(np.mean(found)), float(np.std(found) / math.sqrt(runs)), predicted, apart


def main(short: bool) -> list[Claim]:
    """Run, check, draw."""
    runs = 50 if short else 500
    checks: Errors = {}
    merges = {beta: random_places(beta, runs) for beta in STEEP}
    for beta, (times, predicted) in merges.items():
        later = times > 0
        off = np.abs(predicted[later] / times[later] - 1.0)
        clock = pair_clock(beta)
        # Relative to starts without merged clusters.
        law = 1.0 - np.interp(times[later], *clock) / clock[1][0]
        distance = kstest(law, "uniform").statistic
        print(
            f"beta = {beta:g}: {later.sum()} of {runs} begin apart; the estimate is off by "
            f"{np.median(off):.1e} (median), {np.quantile(off, 0.9):.1e} (nine of ten)"
        )
        checks[f"beta = {beta:g}: first merger, distance of Kolmogorov and Smirnov to the law"] = (
            distance, 0.05 + 1.63 / math.sqrt(later.sum()))  # fmt: skip
        checks[f"beta = {beta:g}: estimate of the first merger, median error"] = (
            float(np.median(off)), 0.01)  # fmt: skip
    polygons = {}
    for k, betas in POLYGONS.items():
        polygons[k] = np.array([polygon_lifetimes(k, beta, 2 * runs // 5) for beta in betas])
        worst = np.abs(polygons[k][:, 0] - polygons[k][:, 2]) / polygons[k][:, 1]
        for beta, row in zip(betas, polygons[k], strict=True):
            print(
                f"k = {k}, beta = {beta:g}: {row[0]:.3f} +- {row[1]:.3f}, theory {row[2]:.3f}; "
                f"each run is within {row[3]:.2g} of its own"
            )
        checks[f"{k} clusters: rate x time minus theory, standard errors"] = (worst.max(), 4.0)
    found = {(n, beta): mf.critical_points(beta, n, starts=400) for n in TOKENS for beta in BETAS}
    wrong = 0
    for (n, beta), each in found.items():
        proved = mf.single_cluster_proof(CIRCLE, n, beta).proved
        # If a second maximum is proved, a search that misses it must have a nonzero Euler sum.
        missed = proved is False and not each.spurious.size
        wrong += (proved is True and each.spurious.size > 0) + (missed and each.euler_sum == 0)
    closed = sum(each.euler_sum == 0 for each in found.values() if not each.spurious.size)
    print(f"critical points: Euler sum 0 in {closed} of {len(found)} searches")
    checks["searches that contradict a theorem"] = (float(wrong), 0.0)
    draw(merges, polygons, found)
    return near_zero(checks)


def draw(merges: dict, polygons: dict, found: dict) -> None:
    """Draw the survival of the first merger, lifetimes of polygons, and the map of proofs."""
    with style():
        figure = new_figure((13.5, 4.3))
        law, life, proofs = figure.subplots(1, 3)
        for (beta, (times, _)), colour in zip(merges.items(), (ENERGY, ORDER), strict=True):
            w = np.log(np.maximum(times, 1e-3)) / beta
            law.step(w, 1.0 - np.arange(len(w)) / len(w), color=colour, label=rf"$\beta={beta:g}$")
            alone, survival = pair_clock(beta)
            law.plot(np.log(alone) / beta, survival, color=INK, lw=0.8)
        w = np.linspace(0.0, 1.0 - math.cos(2.0 * np.pi / CLUSTERS), 200)
        limit = mf.closest_pair_survival(CIRCLE, CLUSTERS, np.arccos(1.0 - w))
        law.plot(w, limit, color=MUTED, ls="--", label=r"$\beta\to\infty$")
        law.set(
            xlabel=r"$\beta^{-1}\ln T$, first merger", ylabel="share not merged", xlim=(-0.2, 1)
        )
        law.legend()
        for (k, rows), colour in zip(polygons.items(), (ENERGY, ORDER), strict=True):
            betas = POLYGONS[k]
            life.errorbar(betas, rows[:, 0], 2.0 * rows[:, 1], fmt="o", color=colour, ms=4)
            life.plot(betas, rows[:, 2], color=colour, label=f"{k} clusters")
        width = [-math.log(2.0 * NOISE / math.sqrt(k)) for k in POLYGONS]
        for value in width:
            life.axhline(value, color=COUNT, ls=":")
        life.set(xlabel=r"$\beta$", ylabel=r"rate $\times$ lifetime")
        life.legend()
        proofs.axvspan(-0.16, 10.0, color=ORDER, alpha=0.25, lw=0)
        proofs.axvspan(-2.0 / 3.0, -0.16, color=FAINT, lw=0)
        x = math.pi / (np.array(TOKENS) - 1.0)
        proofs.plot(np.cos(x) / np.sin(x) ** 2, TOKENS, color=INK, label="large $\\beta$, 2023")
        proofs.axvline(1.0, color=INK, ls="--", label=r"$0\leq\beta\leq 1$, 2024")
        proofs.axvline(-0.16, color=ORDER, label=r"$\beta\geq-0.16$, 2025")
        for (tokens, beta), each in found.items():
            several = each.spurious.size > 0
            proofs.plot(beta, tokens, "x" if several else ".", color=ENERGY if several else INK)
        proofs.set(xscale="symlog", xlabel=r"$\beta$", ylabel="tokens", xlim=(-1.2, 10.0))
        proofs.legend(loc="lower right", frameon=True, facecolor="white", framealpha=0.95)
    write_figure(figure, FOLDER / "lifetimes.png")
