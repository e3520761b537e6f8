"""A schedule beta(t) steers a density to a target, by gradients through the flow.

Softmax on the circle, beta = 9, from one random density makes four clusters. L-BFGS-B with
`mf.gradient` chooses five stages of beta to t = 5, so that the run has a given second moment at
t = 5, or goes on at beta = 9 to three clusters, or to two. Runs of `mf.simulate` must reach these
targets, and so must most runs of many tokens. Draws steering.png (short.png).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from claims import Claim
from scipy.optimize import minimize

import meanfield as mf
from meanfield.figures.draw.axes import DENSITY_COLOURS, ENERGY, INK, ORDER, style
from meanfield.figures.draw.figures import new_figure, write_figure
from meanfield.observables import clusters

SECONDS = 120, 60
FOLDER = Path(__file__).parent
BETA, END, LATE = 9.0, 5.0, 24.0
STAGES, BOUNDS, FIRST = 5, (0.5, 5.0), 3.0
DEGREES = range(1, 7)
SECOND_MOMENT = 0.3
COLOURS = {"beta = 9": INK, "three": ENERGY, "two": ORDER}

Observable = Callable[[np.ndarray], float]


def initial() -> mf.Law:
    """Density with six random modes of size 0.03."""
    rng = np.random.default_rng(0)
    modes = 0.03 * (rng.standard_normal(6) + 1j * rng.standard_normal(6)) / np.sqrt(2.0)
    return mf.from_density([1.0, *modes])


def problem(betas: np.ndarray) -> mf.Problem:
    """Problem with stages of beta up to `END`, and `BETA` afterwards."""
    ends = END * np.arange(1, len(betas) + 1) / len(betas)
    stages = [
        mf.Stage(end=end, kernel=mf.exponential(float(beta)))
        for end, beta in zip(ends, betas, strict=True)
    ]
    kernel = mf.exponential(BETA)
    return mf.Problem(mf.Circle(), kernel, mf.SA, initial(), stages=[*stages, mf.Stage()])


def share_of(degree: int) -> Observable:
    """Logarithm of the power of other degrees over that of `degree`; its double is left out."""

    def observable(moments: np.ndarray) -> float:
        power = np.abs(moments) ** 2
        rest = sum(power[k] for k in DEGREES if k not in (degree, 2 * degree))
        return float(np.log(rest / power[degree]))

    return observable


def miss(moments: np.ndarray) -> float:
    """Squared distance of |c_2| from the target."""
    return float((abs(moments[2]) - SECOND_MOMENT) ** 2)


@dataclass(frozen=True)
class Found:
    """Optimal schedule."""

    betas: np.ndarray
    value: float
    gradients: int
    seconds: float


def steered(observable: Observable, *, relative: float) -> Found:
    """Betas that minimise an observable of the density at `END`."""
    count, began = 0, time.perf_counter()

    def both(betas: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal count
        count += 1
        found = mf.gradient(problem, betas, observable, until=END, tolerance=1e-7)
        return found.value, found.gradient

    found = minimize(
        both,
        np.full(STAGES, FIRST),
        jac=True,
        method="L-BFGS-B",
        bounds=[BOUNDS] * STAGES,
        options={"maxiter": 30, "ftol": relative, "gtol": 1e-9},
    )
    return Found(found.x, float(found.fun), count, time.perf_counter() - began)


def counts(betas: np.ndarray, tokens: int, seeds: int) -> list[int]:
    """Final numbers of clusters of tokens drawn from the initial density, by seed."""
    found = []
    for seed in range(seeds):
        run = mf.simulate(
            problem(betas), LATE, save=2, representation="particles", tokens=tokens, seed=seed,
            tolerance=1e-5,
        )  # fmt: skip
        found.append(clusters(run.measures[-1], BETA, tokens=tokens).count)
    return found


def image(run: mf.Run, angles: np.ndarray) -> np.ndarray:
    """Density (times, angles); for points a histogram."""
    width, rows = angles[1] - angles[0], []
    for measure in run.measures:
        if isinstance(measure, mf.Density):
            rows.append(mf.Circle().evaluate(measure.coefficients, angles))
            continue
        bins = np.rint(np.mod(measure.points, 2 * np.pi) / width).astype(int) % len(angles)
        rows.append(np.bincount(bins, measure.weights, len(angles)) * len(angles))
    return np.array(rows)


def draw(runs: dict[str, mf.Run], schedules: dict[str, np.ndarray], path: Path) -> None:
    """Draw three densities over time, and beta over time below."""
    angles = np.linspace(0.0, 2 * np.pi, 150, endpoint=False)
    with style():
        figure = new_figure((8.4, 4.6))
        axes = figure.subplots(2, 3, sharex=True, sharey="row", height_ratios=[2.2, 1.0])
        for (above, below), (name, run) in zip(axes.T, runs.items(), strict=True):
            above.pcolormesh(
                run.time, angles, np.log10(np.maximum(image(run, angles).T, 1e-2)),
                cmap=DENSITY_COLOURS, vmin=-2.0, vmax=1.5, rasterized=True,
            )  # fmt: skip
            number = clusters(run.measures[-1], BETA).count
            above.set_title(f"{name}: {number} clusters")
            betas = schedules[name]
            ends = [*np.linspace(0.0, END, len(betas) + 1), LATE]
            below.stairs([*betas, BETA], ends, color=COLOURS[name], baseline=None)
            below.axvline(END, color="0.8", linewidth=0.8)
            below.set_ylim(0.0, 12.0)
            below.set_xlim(0.0, LATE)
            below.set_xlabel("scaled time")
        axes[0, 0].set_ylabel(r"$\theta$")
        axes[1, 0].set_ylabel(r"$\beta$")
        write_figure(figure, path)


def main(short: bool) -> list[Claim]:
    """Steer, run on, count, draw."""
    moment = steered(miss, relative=1e-15)
    run = mf.simulate(problem(moment.betas), END, save=2, tolerance=1e-10)
    reached = abs(run.moments[-1][2])
    free = mf.simulate(problem(np.full(STAGES, BETA)), END, save=2, tolerance=1e-10)
    print(
        f"|c_2| = {SECOND_MOMENT:g} wished, {abs(free.moments[-1][2]):.6f} at beta = 9, "
        f"{reached:.9f} found: {moment.betas.round(4)}, {moment.gradients} gradients in "
        f"{moment.seconds:.1f} s"
    )
    claims = [Claim("second moment at the end", SECOND_MOMENT, float(reached), 1e-6)]

    schedules, wished = {"beta = 9": np.full(STAGES, BETA)}, {"beta = 9": 4}
    for name, degree in (("three", 3), ("two", 2)):
        found = steered(share_of(degree), relative=1e-6)
        schedules[name], wished[name] = found.betas, degree
        print(
            f"{name}: log of others over c_{degree} {found.value:.4f}, {found.betas.round(3)}, "
            f"{found.gradients} gradients in {found.seconds:.1f} s"
        )
    runs = {}
    for name, betas in schedules.items():
        runs[name] = mf.simulate(problem(betas), LATE, save=121)
        ended = clusters(runs[name].measures[-1], BETA).count
        claims.append(Claim(f"{name}: clusters", wished[name], ended, 0))
    draw(runs, schedules, FOLDER / ("short.png" if short else "steering.png"))

    seeds = 4 if short else 20
    print("tokens, seeds with as many clusters as the density")
    for tokens in (300, 3000) if short else (300, 3000, 30000):
        hits = [
            counts(betas, tokens, seeds).count(wished[name]) for name, betas in schedules.items()
        ]
        print(
            f"{tokens:6d}",
            *(f"{name}: {n} of {seeds}" for name, n in zip(wished, hits, strict=True)),
        )
        if tokens >= 30000:
            otherwise = 3 * seeds - sum(hits)
            claims.append(Claim(f"{tokens} tokens: seeds that end otherwise", 0, otherwise, seeds))
    return claims
