"""Onset of order with noise over beta, on the circle and the sphere.

Above a critical diffusivity D_# uniform is stable. For beta <= beta_* order sets in continuously at
D_#. For larger beta it sets in with a jump: at D_c > D_# the free energies of uniform and order are
equal, and order exists up to the saddle node D_SN. beta_* solves (arXiv:2606.05140; kappa = 1 / D
in paper time)

    I_{d/2+1}(beta) / I_{d/2}(beta) = 1 / d.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from claims import Claim
from matplotlib.figure import Figure
from scipy.optimize import brentq
from scipy.special import ive

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.figures.draw.axes import ENERGY, INK, MUTED, ORDER
from published.entry import Progress, Reproduction, unfollowed

MANIFOLDS = {"circle": (2, mf.Circle()), "sphere": (3, mf.Sphere())}
# Values of beta in the tables of the docs, and the largest one in the figure.
CLAIMED, MOST = (3.0, 5.0), 10.0


def compute(
    short: bool = False, published: bool = False, progress: Progress = unfollowed
) -> Reproduction:
    """Phase diagrams by continuation of the stationary states."""
    grid = [] if short else np.linspace(1.0, MOST, 37).tolist()
    numbers: list[Claim] = []
    data: dict[str, FloatArray] = {}
    for name, (d, manifold) in MANIFOLDS.items():
        root = brentq(partial(tricritical, d), 0.5, 5.0)
        # The jump grows like a square root from beta_*.
        near = [] if short else root + np.array([0.01, 0.03, 0.06, 0.1, 0.15])
        betas = np.unique([1.5, *CLAIMED[: 1 if short else None], *grid, *near])

        found = mf.phase_diagram(
            partial(problem_at, manifold),
            betas.tolist(),
            progress=partial(progress, total=len(betas), label=name),
        )
        numbers.append(
            Claim(f"{name}: beta_*", root, found.tricritical_beta or np.nan, 1e-8,
                   "root of the published equation", printed=True)
        )  # fmt: skip
        rows = np.array(
            [
                [
                    point.critical_diffusivity,
                    point.transition_diffusivity,
                    point.saddle_node_diffusivity or np.nan,
                    point.order_parameter_at_transition,
                ]
                for point in found.points
            ],
            dtype=np.float64,
        )
        data |= {f"{name}_beta": betas, f"{name}_states": rows}
        data[f"{name}_tricritical"] = np.array(found.tricritical_beta)
        for beta in CLAIMED[: 1 if short else None]:
            critical, transition, saddle, jump = rows[np.searchsorted(betas, beta)]
            # D_# = a_1 / beta in scaled time.
            rate = float(mf.exponential(beta).potential_multipliers(d - 1, 1)[1])
            numbers.append(
                Claim(f"{name}, beta = {beta:g}: D_#", rate, float(critical), 1e-12,
                       "published in closed form", printed=True)
            )  # fmt: skip
            for word, value in (("D_c / D_#", transition / critical),
                                ("D_SN / D_#", saddle / critical),
                                ("order at D_c", jump)):  # fmt: skip
                what = f"{name}, beta = {beta:g}: {word}"
                numbers.append(Claim(what, None, float(value), None, "no source"))
    return Reproduction(tuple(numbers), data)


def problem_at(manifold: Any, beta: float) -> mf.Problem:
    """Problem without noise, which phase diagrams add."""
    return mf.Problem(manifold, mf.exponential(beta), mf.USA)


def tricritical(d: int, beta: float) -> float:
    """Published function whose root is beta_*."""
    return float(d * ive(d / 2 + 1, beta) - ive(d / 2, beta))


def draw(figure: Figure, reproduction: Reproduction) -> None:
    """Diffusivities over the critical one, and the jump below, a column for each manifold."""
    data = reproduction.data
    figure.set_size_inches(9.0, 5.4)
    panels = figure.subplots(2, 2, sharex=True, sharey="row", height_ratios=[2.0, 1.0])
    for name, (above, below) in zip(MANIFOLDS, panels.T, strict=True):
        betas, at = data[f"{name}_beta"], float(data[f"{name}_tricritical"])
        critical, transition, saddle, jump = data[f"{name}_states"].T
        jumps = np.isfinite(saddle)
        beta = np.concatenate([[at], betas[jumps]])
        lines = [np.concatenate([[1.0], (each / critical)[jumps]]) for each in (transition, saddle)]
        above.fill_between(beta, 1.0, lines[1], color="#ece6f2", linewidth=0)
        above.axhline(1.0, color=INK, linewidth=1.4, label=r"$D_\#$: below, uniform is unstable")
        above.plot(beta, lines[0], color=ENERGY, label="$D_c$: free energies are equal")
        above.plot(beta, lines[1], color=ORDER, label=r"$D_{SN}$: above, there is no order")
        above.plot([at], [1.0], "o", color="white", markeredgecolor=INK, markersize=7, zorder=4)
        above.annotate(
            rf"$\beta_* = {at:.9f}$", (at, 1.0), xytext=(-4, -8), textcoords="offset points",
            va="top", fontsize=8.5,
        )  # fmt: skip
        above.set_title(name, loc="left")
        below.plot(np.concatenate([[betas[0]], beta]), [0.0, 0.0, *jump[jumps]], color=ENERGY)
        below.axvline(at, color=MUTED, linewidth=0.8, linestyle=":")
        below.set_xlim(betas[0], betas[-1])
        below.set_ylim(0.0, 1.0)
        below.set_xlabel(r"inverse temperature $\beta$")
    panels[0][0].set_ylabel(r"diffusivity over the critical one, $D / D_\#$")
    panels[0][0].set_ylim(bottom=0.85)
    panels[1][0].set_ylabel("order at $D_c$")
    panels[0][0].legend(loc="upper left")
