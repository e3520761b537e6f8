"""Growth rates of Fourier modes about uniform, as in the notebook of arXiv:2410.23228.

    gamma_k = k^2 I_k(beta) / (pi beta) = e^beta lambda_k / pi,

where lambda_k are the growth rates of this package, in scaled time.
"""

from __future__ import annotations

import numpy as np
from claims import Claim
from matplotlib.figure import Figure

import meanfield as mf
from meanfield.figures.draw.axes import COUNT, ENERGY, ORDER
from published.entry import Progress, Reproduction, unfollowed

BETAS, DEGREES = (5.0, 7.0), 10
# Heights of the dots of degrees 1 to 4 at beta = 5, by eye.
READ = (1.55, 4.46, 5.92, 5.20)


def compute(
    short: bool = False, published: bool = False, progress: Progress = unfollowed
) -> Reproduction:
    """Growth rates at both temperatures."""
    problems = [mf.Problem(mf.Circle(), mf.exponential(beta), mf.USA) for beta in BETAS]
    plotted = np.array(
        [
            mf.growth_rates(problem, DEGREES) * np.exp(beta) / np.pi
            for problem, beta in zip(problems, BETAS, strict=True)
        ]
    )
    numbers = [
        Claim(
            f"degree of the largest rate, beta = {beta:g}",
            degree,
            mf.dominant_degree(problem) or 0,
            0,
            printed=True,
        )
        for problem, beta, degree in zip(problems, BETAS, (3, 4), strict=True)
    ]
    numbers += [
        Claim(
            f"gamma_{k}, beta = 5",
            height,
            float(plotted[0, k]),
            0.01,
            "read off the figure",
            printed=True,
        )
        for k, height in enumerate(READ, start=1)
    ]
    return Reproduction(
        tuple(numbers),
        {"beta": np.array(BETAS), "degree": np.arange(DEGREES + 1), "gamma": plotted},
    )


def draw(figure: Figure, reproduction: Reproduction) -> None:
    """Growth rates over the degree, a panel for each temperature; the largest is marked."""
    data = reproduction.data
    figure.set_size_inches(7.0, 3.2)
    panels = figure.subplots(1, len(data["beta"]))
    for axes, beta, rates in zip(panels, data["beta"], data["gamma"], strict=True):
        axes.vlines(data["degree"], 0.0, rates, color=COUNT, linewidth=0.8)
        axes.plot(data["degree"], rates, "o", color=ORDER)
        top = int(np.argmax(rates))
        axes.plot(data["degree"][top], rates[top], "o", color=ENERGY, markersize=9)
        axes.annotate(
            f"$k = {data['degree'][top]}$", (data["degree"][top], rates[top]),
            xytext=(9, 0), textcoords="offset points", va="center", color=ENERGY,
        )  # fmt: skip
        axes.set_title(rf"$\beta = {beta:g}$", loc="left")
        axes.set_xlabel("degree $k$")
        axes.set_ylim(bottom=0.0)
    panels[0].set_ylabel(r"$\gamma_k = k^2 I_k(\beta) / (\pi\beta)$")
