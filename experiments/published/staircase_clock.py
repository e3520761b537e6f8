"""Second integration of the tokens of the staircase figure, in a clock with even progress.

It uses SciPy and shares only the radius of clusters with the package. It also integrates the clock
s of arXiv:2410.06833,

    dt = ln(beta) min e^{beta (1 - cos(theta_i - theta_j))} ds,

with the minimum over pairs farther apart than 1 / sqrt(beta ln(beta)). Saved times cannot give s:
between merges most of s passes while t does not change in any digit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from meanfield.arrays import FloatArray
from meanfield.observables.clusters import cluster_radius

# Tokens merge at this distance.
ONE = 1e-8
# Longest step, in units of the nearest pair, so that curves are smooth.
SMOOTH = 0.1
# Gaps within this factor of a length have reached it already, and trigger no second event.
HAIR = 1.0 + 1e-6


@dataclass
class Tokens:
    """State of the second integration."""

    angles: FloatArray  # (n,): increasing; merged tokens are one
    mass: FloatArray  # (n,)
    beta: float
    normalized: bool
    time: float = 0.0  # scaled time
    s: float = 0.0  # clock of the paper

    def exponents(self, angles: FloatArray) -> FloatArray:
        """Matrix beta (1 - cos(theta_i - theta_j))."""
        return 2.0 * self.beta * np.sin(0.5 * (angles[:, None] - angles)) ** 2

    def energy(self, angles: FloatArray) -> float:
        """E / E[Dirac]."""
        return float(self.mass @ np.exp(-self.exponents(angles)) @ self.mass)

    def velocity(self, angles: FloatArray, unit: float) -> FloatArray:
        """Velocities times e^unit."""
        exponents = self.exponents(angles)
        d = angles - angles[:, None]
        v = (np.sin(d) * np.exp(unit - exponents)) @ self.mass
        return v / (np.exp(-exponents) @ self.mass) if self.normalized else v


def second_integration(
    angles: FloatArray, beta: float, normalized: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Times of merges; the clock of the paper; the energy along it."""
    count = len(angles)
    tokens = Tokens(angles.copy(), np.full(count, 1.0 / count), beta, normalized)
    merges: list[float] = []
    clock, energy = [0.0], [tokens.energy(tokens.angles)]
    while len(tokens.angles) > 1:
        path, met = stretch(tokens)
        clock += path[1:, -1].tolist()
        energy += [tokens.energy(state[:-2]) for state in path[1:]]
        if met:
            merges.append(tokens.time)
        gaps = np.diff(tokens.angles)
        one = int(np.argmin(gaps))
        if gaps[one] <= HAIR * ONE:
            pair = tokens.mass[one : one + 2]
            tokens.angles[one] = pair @ tokens.angles[one : one + 2] / pair.sum()
            tokens.mass[one] = pair.sum()
            tokens.angles, tokens.mass = (
                np.delete(array, one + 1) for array in (tokens.angles, tokens.mass)
            )
    return np.array(merges), np.array(clock), np.array(energy)


def stretch(tokens: Tokens) -> tuple[FloatArray, bool]:
    """Integrate until a gap reaches one of three lengths; True if it is the radius of clusters.

    The clock u is dt = min e^{beta (1 - cos)} du over all pairs. Time counts from the start of the
    stretch in units of dt/du there, so that the error control applies to its relevant digits.
    """
    pairs = np.triu_indices(len(tokens.angles), 1)
    threshold, radius = (
        1.0 / np.sqrt(tokens.beta * np.log(tokens.beta)),
        cluster_radius(tokens.beta),
    )
    apart = tokens.angles[pairs[1]] - tokens.angles[pairs[0]]
    far, gaps = apart > HAIR * threshold, np.diff(tokens.angles)
    unit = float(tokens.exponents(tokens.angles)[pairs].min())

    def rhs(u: float, y: FloatArray) -> FloatArray:
        exponents = tokens.exponents(y[:-2])[pairs]
        nearest = exponents.min()
        pace = np.exp(nearest - exponents[far].min()) / np.log(tokens.beta) if far.any() else 0.0
        v = tokens.velocity(y[:-2], nearest)
        return np.concatenate([v, [np.exp(nearest - unit), pace]])

    def comes_to(limit: float, watched: np.ndarray, all_pairs: bool = False) -> Any:
        def event(u: float, y: FloatArray) -> float:
            lengths = y[pairs[1]] - y[pairs[0]] if all_pairs else np.diff(y[:-2])
            return float(lengths[watched].min()) / limit - 1.0 if watched.any() else 1.0

        event.terminal = True  # type: ignore[attr-defined]
        return event

    events = [
        comes_to(radius, gaps > HAIR * radius),
        comes_to(threshold, far, all_pairs=True),
        comes_to(ONE, gaps > HAIR * ONE),
    ]
    start = np.concatenate([tokens.angles, [0.0, tokens.s]])
    options = {"rtol": 1e-11, "atol": 1e-14, "max_step": SMOOTH}
    found = solve_ivp(rhs, (0.0, 1e6), start, "DOP853", events=events, **options)
    tokens.angles, tokens.s = found.y[:-2, -1], float(found.y[-1, -1])
    tokens.time += float(np.exp(unit) * found.y[-2, -1])
    return found.y.T, bool(len(found.t_events[0]))
