"""Twenty thousand tokens on the circle, as in the notebook of arXiv:2410.23228.

The notebook takes explicit Euler steps of 1e-4 in paper time, with dense 20,000 x 20,000 matrices.
This package solves the same system at tolerance 1e-8 with Fourier modes. The fastest-growing mode k
alone would put clusters at (2 pi j - arg c_k(0)) / k.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from claims import Claim
from matplotlib.figure import Figure

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.fields.interactions import interaction_of
from meanfield.figures.draw.axes import ENERGY, MUTED, ORDER
from meanfield.observables.clusters import Clusters, clusters
from published.entry import Progress, Reproduction, unfollowed
from published.spheres import token_paths

TOKENS, DT = 20_000, 1e-4
BINS, PATHS, FRAMES = 100, 200, 60
CIRCLE = 2.0 * np.pi


@dataclass(frozen=True)
class Job:
    """One of the two runs of the source; all times are paper time."""

    beta: float
    end: float
    histogram_at: float
    seed: int
    # From the figures of the source, the last two by eye.
    clusters: int
    formed: float  # time at which all clusters have formed
    furthest: float  # largest distance of a cluster from the prediction


JOBS = (
    Job(5.0, 0.6, 0.3, 12345, clusters=3, formed=0.3, furthest=0.17),
    Job(7.0, 0.1, 0.045, 1234, clusters=4, formed=0.05, furthest=0.11),
)
ANOTHER = "another draw: theirs came from a GPU"


def compute(
    short: bool = False, published: bool = False, progress: Progress = unfollowed
) -> Reproduction:
    """Runs at both temperatures, their clusters, and probabilities of their numbers."""
    tokens = 1000 if short else TOKENS
    numbers: list[Claim] = []
    data: dict[str, Any] = {}
    for job in JOBS:
        problem = mf.Problem(mf.Circle(), mf.exponential(job.beta), mf.USA, mf.uniform())
        times = np.linspace(0.0, job.end, FRAMES + 1)
        follow = progress(range(FRAMES + 1), FRAMES + 1, f"beta = {job.beta:g}")
        paths = accurate(problem, tokens, times, job.seed, 1e-5 if short else 1e-8, follow)
        row = int(np.argmin(np.abs(times - job.histogram_at)))
        if published:
            follow = progress(range(FRAMES + 1), FRAMES + 1, f"beta = {job.beta:g}, Euler")
            exact, step = paths, DT * (5.0 if short else 1.0)
            paths = euler(problem, exact[0], times, step, follow)
            apart = float(np.median(np.abs(paths[row] - exact[row])))
            numbers.append(
                Claim(f"beta = {job.beta:g}: median distance of a token of Euler's method from "
                       f"where it should be, t = {job.histogram_at:g}", 0.0, apart, 0.01)
            )  # fmt: skip
        found = [clusters(mf.Measure(mf.Circle(), angles), job.beta) for angles in paths]
        predicted = predicted_positions(problem, paths[0])
        numbers += compared(job, times, found, predicted)
        if job.beta == 7.0 and not (short or published):
            numbers += likelihoods(problem, progress)
        histogram, _ = np.histogram(paths[row] % CIRCLE, BINS, (0.0, CIRCLE), density=True)
        name = f"beta_{job.beta:g}"
        shown = paths[:, :: max(1, tokens // PATHS)]
        data |= {f"{name}_time": times, f"{name}_paths": shown, f"{name}_histogram": histogram}
        data[f"{name}_predicted"] = predicted
    return Reproduction(tuple(numbers), data)


def accurate(
    problem: mf.Problem,
    tokens: int,
    times: FloatArray,
    seed: int,
    tolerance: float,
    follow: Iterable[int],
) -> FloatArray:
    """Angles (n_times, n) by this package."""
    saved = iter(follow)
    run = mf.simulate(
        problem,
        times[-1],
        save=times.tolist(),
        unit="paper",
        representation="particles",
        tokens=tokens,
        seed=seed,
        tolerance=tolerance,
        observables=(),
        callback=lambda *_: next(saved),
    )
    list(saved)
    return token_paths(run)


def euler(
    problem: mf.Problem, start: FloatArray, times: FloatArray, step: float, follow: Iterable[int]
) -> FloatArray:
    """Angles (n_times, n) by the scheme of the source."""
    interaction, scaled = interaction_of(problem), np.exp(problem.beta) * step
    angles, kept, done = start.copy(), [], 0
    for time, _ in zip(times, follow, strict=True):
        while done < round(time / step):
            angles += scaled * interaction.of_points(angles, None).velocity(angles)
            done += 1
        kept.append(angles.copy())
    return np.array(kept)


def predicted_positions(problem: mf.Problem, angles: FloatArray) -> FloatArray:
    """Maxima of the mode that grows fastest."""
    k = mf.dominant_degree(problem) or 0
    phase = np.angle(np.exp(-1j * k * angles).mean())
    return np.sort((CIRCLE * np.arange(k) - phase) / k % CIRCLE)


def compared(
    job: Job, times: FloatArray, found: list[Clusters], predicted: FloatArray
) -> list[Claim]:
    """Claims on the number of clusters, the time of their formation, and their positions."""
    counts = np.array([each.count for each in found])
    formed = times[np.flatnonzero(counts != counts[-1])[-1] + 1]
    gaps = np.abs(found[-1].centre[:, None] - predicted + np.pi) % CIRCLE - np.pi
    furthest = float(np.abs(gaps).min(axis=1).max())
    name = f"beta = {job.beta:g}: "
    return [
        Claim(name + "clusters", job.clusters, int(counts[-1]), None, ANOTHER,
               printed=True),
        Claim(name + "formed by t", job.formed, float(formed), job.formed / 2, "by eye",
               printed=True),
        Claim(name + "cluster farthest from where the mode alone puts one", job.furthest,
               furthest, None, ANOTHER, printed=True),
    ]  # fmt: skip


def likelihoods(problem: mf.Problem, progress: Progress) -> list[Claim]:
    """Probabilities of three and four clusters over random starts."""
    law = mf.predict_clusters(
        problem, TOKENS, progress=lambda runs, total, label: progress(runs, total, label)
    ).distribution
    why = (
        "the corrected law of this package, over all draws, at twice the time ln N / 2 lambda "
        "at which clusters begin to form: later some merge"
    )
    return [
        Claim(f"beta = 7: probability of {n} clusters", None, law.get(n, 0.0), None, why)
        for n in (3, 4)
    ]


def draw(figure: Figure, reproduction: Reproduction) -> None:
    """Paths with predicted positions, and a histogram, for both temperatures."""
    data = reproduction.data
    figure.set_size_inches(9.0, 4.4)
    panels = figure.subplots(1, 4, width_ratios=[2.2, 1.0, 2.2, 1.0], sharey=True)
    for job, (paths, histogram) in zip(JOBS, (panels[:2], panels[2:]), strict=True):
        name = f"beta_{job.beta:g}"
        times, angles = data[f"{name}_time"], data[f"{name}_paths"] % CIRCLE
        # Paths have gaps where the angle jumps by a turn.
        angles = np.where(np.abs(np.diff(angles, axis=0, prepend=angles[:1])) > 3.0, np.nan, angles)
        paths.plot(times, angles, color=ORDER, linewidth=0.5, alpha=0.45)
        heights = data[f"{name}_histogram"]
        histogram.barh(CIRCLE * (np.arange(BINS) + 0.5) / BINS, heights, CIRCLE / BINS, color=ORDER)
        for axes in (paths, histogram):
            for angle in data[f"{name}_predicted"]:
                axes.axhline(angle, color=ENERGY, linewidth=1.0, linestyle="--")
        paths.axvline(job.histogram_at, color=MUTED, linewidth=0.8, linestyle=":")
        paths.set_title(rf"$\beta = {job.beta:g}$", loc="left")
        paths.set_xlabel("paper's time $t$")
        paths.set_xlim(0.0, job.end)
        histogram.set_title(f"$t = {job.histogram_at:g}$", loc="left")
        histogram.set_xlabel("density")
    panels[0].set_ylim(0.0, CIRCLE)
    panels[0].set_yticks(
        np.pi * np.arange(5) / 2, ["0", r"$\pi/2$", r"$\pi$", r"$3\pi/2$", r"$2\pi$"]
    )
    panels[0].set_ylabel(r"angle $\theta$; dashed: where one mode alone puts clusters")
