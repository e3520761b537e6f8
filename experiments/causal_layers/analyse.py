"""Densities of positions under a causal mask collapse one after another, at known rates.

Tokens of the position s attend to those before it. The first positions collapse last if they start
closest to uniform. Two results have closed forms. About uniform a profile s^p grows like
e^{lambda t / (p + 1)}, and for beta = 0 the Poisson densities of positions obey

    zeta' = (H - conj(H) zeta^2) / 2,    H(s) = (1 / s) int_0^s zeta ds'.

Draws collapse.png and layers.png.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from claims import Claim, near_zero

import meanfield as mf
from meanfield.papers.causal import causal_poisson

SECONDS = 20, 10
FOLDER = Path(__file__).parent
UNTIL = 2.1  # end in units of 1 / lambda, within the linear phase
POWERS = (0.0, 0.5, 1.0, 2.0)


def causal(beta: float) -> mf.Attention:
    """One head with Q = K = V = 1 under a causal mask."""
    return mf.Attention([mf.Head()], beta=beta, mask="causal")


def main(short: bool) -> list[Claim]:
    """Run, check, draw."""
    run = mf.run(FOLDER / "run.toml", representation={"labels": 40 if short else 64})
    run.plot("labels").savefig(FOLDER / "layers.png")
    run.plot("density").savefig(FOLDER / "collapse.png")

    checks = {f"rate of the profile s^{p:g}": (profile_error(p, 24), 1e-9) for p in POWERS}
    checks["layers of the linear kernel"] = (poisson_error(24), 1e-9)
    return near_zero(checks)


def profile_error(power: float, layers: int) -> float:
    """Relative error of the growth rate of the last position, for a profile s^p at beta = 5."""
    law = mf.with_profile(mf.perturbed_uniform([[2, 1e-6, 0.0]]), power)
    problem = mf.Problem(mf.Circle(), causal(5.0), initial=law)
    until = UNTIL / mf.growth_rates(problem, 2)[2]
    run = mf.simulate(problem, until, save=2, labels=layers, tolerance=1e-12)
    begin, end = (measure.parts[-1, 2] for measure in run.measures)
    return float(abs(np.log(abs(end / begin)) / UNTIL * (power + 1.0) - 1.0))


def poisson_error(layers: int) -> float:
    """Error of zeta(2, s) at the last position, zeta(0, s) = (0.1 + 0.3 s) e^{2is}, beta = 0."""

    def zeta(s: np.ndarray) -> np.ndarray:
        return (0.1 + 0.3 * s) * np.exp(2j * s)

    law = mf.from_labels(lambda s: mf.from_density(np.conj(zeta(np.asarray(s))) ** np.arange(40)))
    problem = mf.Problem(mf.Circle(), causal(0.0), initial=law)
    density = mf.simulate(problem, 2.0, save=2, labels=layers).measures[-1]
    exact = causal_poisson(problem.unlabelled, zeta, [2.0], density.labels)[0]
    return float(abs(np.conj(density.parts[-1, 1]) - exact[-1]))
