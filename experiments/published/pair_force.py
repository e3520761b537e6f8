"""The force of a pair, h_beta(theta) = e^{beta cos theta} sin theta, and its maximum."""

from __future__ import annotations

import numpy as np
from claims import Claim
from matplotlib.figure import Figure

from meanfield.papers.contraction import convex_angle, pair_force
from published.entry import Progress, Reproduction, unfollowed

BETAS = (1.0, 2.0, 4.0, 9.0)
_COLOURS = ("#9ecae1", "#4292c6", "#2171b5", "#08306b")


def compute(
    short: bool = False, published: bool = False, progress: Progress = unfollowed
) -> Reproduction:
    """Forces relative to their largest value, and the angles of the maxima."""
    from scipy.optimize import minimize_scalar

    angles = np.linspace(0.0, np.pi, 601)
    taus = [convex_angle(beta) for beta in BETAS]
    forces = [
        pair_force(beta, angles) / float(pair_force(beta, np.array(tau)))
        for beta, tau in zip(BETAS, taus, strict=True)
    ]
    numbers = []
    for beta, tau in zip(BETAS, taus, strict=True):
        printed = np.arccos((np.sqrt(1.0 + 4.0 * beta**2) - 1.0) / (2.0 * beta))
        numbers.append(
            Claim(f"tau_beta, beta = {beta:g}", float(printed), tau, 1e-14,
                   "printed as arccos[(sqrt(1 + 4 beta^2) - 1) / 2 beta]", printed=True)
        )  # fmt: skip
    found = [
        minimize_scalar(lambda x, b=b: -np.exp(b * np.cos(x)) * np.sin(x), (0.1, 1.0), tol=1e-10).x
        for b in BETAS
    ]
    away = float(np.abs(np.subtract(found, taus)).max())
    numbers.append(
        Claim("largest distance of tau_beta from where a search finds the largest force", 0.0,
               away, 1e-7, "a maximum is known to the root of rounding")
    )  # fmt: skip
    return Reproduction(
        tuple(numbers),
        {
            "beta": np.array(BETAS),
            "angle": angles,
            "force": np.array(forces),
            "tau": np.array(taus),
        },
    )


def draw(figure: Figure, reproduction: Reproduction) -> None:
    """Forces relative to their largest value, which is marked."""
    data = reproduction.data
    figure.set_size_inches(6.0, 3.4)
    axes = figure.subplots()
    for beta, force, tau, colour in zip(
        data["beta"], data["force"], data["tau"], _COLOURS, strict=True
    ):
        axes.plot(data["angle"], force, color=colour)
        axes.plot([tau], [1.0], "o", color=colour, markersize=4.5, label=rf"$\beta = {beta:g}$")
    axes.set_xlim(0.0, np.pi)
    axes.set_ylim(0.0, 1.12)
    axes.set_xticks(np.pi * np.array([0.0, 0.5, 1.0]), ["0", r"$\pi/2$", r"$\pi$"])
    axes.set_xlabel(r"angle $\theta$")
    axes.set_title(r"$h_\beta(\theta) \,/\, h_\beta(\tau_\beta)$, $\tau_\beta$ marked", loc="left")
    axes.legend(loc="upper right")
