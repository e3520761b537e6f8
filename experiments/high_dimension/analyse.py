"""Axial densities on spheres of many dimensions, compared with tokens and the limit d -> infinity.

Densities start from a von Mises-Fisher law of mean 0.2 on S^{d-1}, d = 3, 8, 64 and 1000, with
beta = 4, SA. As d grows at fixed beta, the law becomes one ring with the height

    u(t) = u_0 e^t / sqrt(1 - u_0^2 + u_0^2 e^{2t})

up to an error of order 1 / d. For a single ring the constant is -1.16 at u_0 = 0.3, t = 1. Tokens
must follow the density of their own dimension. Draws high_dimension.png.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from claims import Claim, near_zero
from matplotlib.figure import Figure

import meanfield as mf
from meanfield.figures.data.circle import cell_edges, cell_means
from meanfield.terms.kernels.exponential import inverse_bessel_ratio

SECONDS = 60, 12
FOLDER = Path(__file__).parent
DIMENSIONS, BETA, MEAN, END = (3, 8, 64, 1000), 4.0, 0.2, 6.0
COLOURS = ("#7b3294", "#2c7bb6", "#1a9641", "#d7191c")
SHOWN = 2.0


def main(short: bool) -> list[Claim]:
    """Run, check, draw."""
    tokens = 300 if short else 3000
    densities = {d: run(d, None) for d in DIMENSIONS}
    drawn = {d: run(d, tokens) for d in DIMENSIONS}
    times = densities[3].time
    limit = limit_height(times, MEAN)
    print("mean <x, e> at t = 1, 2, 3 and its distance from the limit times d")
    for d, found in densities.items():
        at = [found.index_of(t) for t in (1.0, 2.0, 3.0)]
        beside = d * (found.moments[at, 1] - limit[at])
        print(f"d = {d:4d} ", found.moments[at, 1].round(6), beside.round(3))
    apart = max(
        float(np.abs(heights(drawn[d]) - densities[d].moments[::5, 1]).max()) for d in DIMENSIONS
    )
    sizes = np.append(2 ** np.arange(2, 10), 1000)
    errors = [ring_error(d) * d for d in map(int, sizes)]
    scaled = [1000 * (densities[1000].moments[i, 1] - limit[i]) for i in range(len(times))]
    draw(densities, drawn, limit, sizes, errors)
    beside = {
        # The initial error of a draw is about N^{-1/2} d^{-1/2}, and grows like e^t at first.
        f"{tokens} tokens beside their density": (apart, 4.0 / np.sqrt(tokens)),
        "d = 1000 beside the limit, times d": (float(np.abs(scaled).max()), 1.0),
    }
    return [Claim("error of a ring times d", -1.16, errors[-1], 0.02), *near_zero(beside)]


def problem(d: int) -> mf.Problem:
    """Problem with the same mean in every dimension: I_{d/2} / I_{d/2-1}(kappa) = 0.2."""
    kappa = float(inverse_bessel_ratio(0.5 * d, MEAN))
    space = mf.Axial(d) if d == 3 else mf.Sphere(d)
    return mf.Problem(space, mf.exponential(BETA), mf.SA, mf.von_mises_fisher(kappa))


def run(d: int, tokens: int | None) -> mf.Run:
    """Run of the density, or of tokens on the sphere."""
    if tokens is None:
        return mf.simulate(problem(d), END, save=61)
    asked = problem(d)
    if d == 3:
        asked = mf.Problem(mf.Sphere(), asked.kernel, asked.flow, asked.initial)
    count = tokens if d < 1000 else tokens // 3
    return mf.simulate(
        asked, END, save=13, representation="particles", tokens=count, tolerance=1e-5
    )


def heights(found: mf.Run) -> np.ndarray:
    """Mean <x, e> of tokens at the saved times."""
    measures = [measure for measure in found.measures if isinstance(measure, mf.Measure)]
    return np.array([measure.points[:, -1].mean() for measure in measures])


def limit_height(times: np.ndarray, start: float) -> np.ndarray:
    """Height u of a ring as d -> infinity: u^2 / (1 - u^2) grows like e^{2t}."""
    return start / np.sqrt(np.exp(-2.0 * times) * (1.0 - start**2) + start**2)


def ring_error(d: int) -> float:
    """Height at t = 1 of a ring that starts at 0.3, minus that of the limit."""
    start = mf.from_points([np.arccos(0.3)])
    ring = mf.Problem(mf.Axial(d), mf.exponential(BETA), mf.SA, start)
    (end,) = mf.simulate(ring, 1.0, save=[1.0]).measures
    return float(np.cos(end.points[0]) - limit_height(np.array(1.0), 0.3))


def draw(
    densities: dict[int, mf.Run],
    drawn: dict[int, mf.Run],
    limit: np.ndarray,
    sizes: np.ndarray,
    errors: list[float],
) -> None:
    """Draw means over time, laws of the polar angle at one time, and the error of one ring."""
    figure = Figure(figsize=(12.0, 3.8), layout="constrained")
    means, laws, rings = figure.subplots(1, 3)
    for colour, (d, found) in zip(COLOURS, densities.items(), strict=True):
        means.plot(found.time, found.moments[:, 1], color=colour, label=f"$d = {d}$")
        means.plot(drawn[d].time, heights(drawn[d]), "o", color=colour, markersize=3.5)
        measure = found.measures[found.index_of(SHOWN)]
        assert measure is not None
        laws.stairs(cell_means(measure, 720) / np.pi, cell_edges(720, 0.0), color=colour)
    means.plot(densities[3].time, limit, "k--", linewidth=1.0, label=r"$d \to \infty$")
    means.set(xlabel="time $t$", ylabel=r"mean $\langle x, e\rangle$")
    means.set_title("densities (lines) and tokens (dots)", fontsize=10)
    means.legend(frameon=False, fontsize=9)
    laws.set(xlabel=r"polar angle $\theta$", ylabel="density of the angle", xlim=(0.0, np.pi))
    laws.set_title(f"at $t = {SHOWN:g}$", fontsize=10)
    rings.semilogx(sizes, errors, "o-", color="black", markersize=4)
    rings.axhline(-1.16, color="grey", linestyle=":")
    rings.set(xlabel="dimension $d$", ylabel=r"$d\,(u_d - u_\infty)$")
    rings.set_title("one ring, $u_0 = 0.3$, $t = 1$", fontsize=10)
    figure.savefig(FOLDER / "high_dimension.png", dpi=140)
