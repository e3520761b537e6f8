"""Stochastic stepper of weak order two: noise, drift, noise (Strang's splitting).

    dX = v(X) dt + sqrt(2 diffusivity) dB,    generator v . grad + diffusivity Laplacian

Over a step h the noise acts alone for h/2, then the drift for h, then the noise for h/2. The law of
the noise is exact, or on S^(d-1), d > 3, of higher order. The splitting and the midpoint rule for
the drift err with order two:

    e^{h (A + B)} = e^{h A / 2} e^{h B} e^{h A / 2} + O(h^3)           (Strang 1968)
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from meanfield.arrays import FloatArray, State
from meanfield.schemes.brownian import BrownianPath
from meanfield.schemes.stepper import RightHandSide

Diffusion = Callable[[State, float, FloatArray], State]
"""diffuse(state, time, normals): state after noise alone for a time on the stepper's clock."""


class StochasticStepper:
    """Stepper of fixed step for noisy tokens.

    steps: steps since the run began; the next one draws its random numbers by this number.
    """

    attempts = 1

    def __init__(
        self,
        drift: RightHandSide,
        diffuse: Diffusion,
        path: BrownianPath,
        time: float,
        state: State,
        *,
        step: float,
        steps: int = 0,
    ) -> None:
        self._drift, self._diffuse, self._path = drift, diffuse, path
        self.time, self.previous_time = time, time
        self.state, self._previous_state = state, state
        self.step_size, self.steps = step, steps

    def step(self, largest: float = math.inf) -> bool:
        if self.time + self.step_size == self.time:
            return False
        normals = self._path.halves(self.steps)
        following = self._moved(self.time, self.state, self.step_size, normals)
        self.previous_time, self._previous_state = self.time, self.state
        self.time, self.state = self.time + self.step_size, following
        self.steps += 1
        return True

    def interpolate(self) -> None:
        pass

    def dense_output(self, time: float) -> State:
        """State inside the last step: a shorter step on the same Brownian path.

        `BrownianPath.inside` fills the path in with separate random numbers, so that output never
        changes the run.
        """
        if time >= self.time:
            return self.state
        if time <= self.previous_time:
            return self._previous_state
        shorter = time - self.previous_time
        fraction = shorter / self.step_size
        normals = self._path.shorter_halves(self.steps - 1, fraction)
        return self._moved(self.previous_time, self._previous_state, shorter, normals)

    def _moved(
        self, time: float, state: State, step: float, normals: tuple[FloatArray, FloatArray]
    ) -> State:
        half = 0.5 * step
        # The caller checks that values are finite; NumPy need not warn.
        with np.errstate(all="ignore"):
            state = self._diffuse(state, half, normals[0])
            middle = state + half * self._drift(time, state)
            state = state + step * self._drift(time + half, middle)
            return self._diffuse(state, half, normals[1])


def stochastic(
    drift: RightHandSide,
    diffuse: Diffusion,
    shape: tuple[int, ...],
    time: float,
    state: State,
    *,
    step: float,
    seed: int,
    steps: int = 0,
) -> StochasticStepper:
    """Start a stepper of weak order two for dX = v(X) dt + noise, with equal steps.

    diffuse: noise alone for a time: `Manifold.diffuse` for diffusivity times that time.
    shape: shape of the normals: (n,) on the circle, (n, d - 1) on S^(d-1), (n, d) in R^d.
    step: positive; the stability of the midpoint rule limits it.
    seed: 0 to 2^64 - 1.
    steps: steps that the run took before; it continues equal to the bit.

    Strang, On the construction and comparison of difference schemes, SIAM J. Numer. Anal. 5
    (1968) 506-517.
    Ninomiya, Victoir, Weak approximation of stochastic differential equations and application to
    derivative pricing, Appl. Math. Finance 15 (2008) 107-121 (splitting of a diffusion's flows).
    Salmon, Moraes, Dror, Shaw, Parallel random numbers: as easy as 1, 2, 3, SC11 (Philox).
    """
    if not 0.0 < step < math.inf:
        raise ValueError(f"step = {step} is not a time step, expected a positive number.")
    path = BrownianPath(seed, shape)
    return StochasticStepper(drift, diffuse, path, time, state, step=step, steps=steps)
