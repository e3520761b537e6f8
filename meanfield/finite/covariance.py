"""Covariance and mean shift of the moments of N tokens along a run.

N tokens are drawn from mu_0. In real coordinates x of the moments (`bases.coordinates`),

    lim N Cov(x)        = C,      C'   = A C + C A^T + Q,    C(0)_ij = int Y_i Y_j dmu_0 - x_i x_j
    lim N (E x - limit) = eta,    eta' = A eta + (1/2) F''[C],    eta(0) = 0

with A = F'(f_t), Q_ij = 2 diffusivity int <grad Y_i, grad Y_j> dmu_t, and F''[C] the second
derivative contracted with C. Without noise all randomness is in the start, and the empirical
measure solves the equation of the limit itself. Density, C and eta are one system, stepped by
DOP853.

Braun, Hepp, The Vlasov dynamics and its fluctuations in the 1/N limit of interacting classical
particles, Comm. Math. Phys. 56 (1977), 101-113.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray, ModalArray
from meanfield.errors import SimulationError
from meanfield.fields.linearised import LinearisedFlow
from meanfield.finite.path import SAME_TIME, Path
from meanfield.schemes import Start, dop853


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of N tokens at one time, to first order in 1/N."""

    time: float  # scaled
    density: ModalArray  # coefficients of the limit
    covariance: FloatArray  # (size, size): C in real coordinates
    shift: FloatArray  # (size,): eta in real coordinates


def covariance_bytes(size: int) -> int:
    """Memory of stepping C and eta of so many real coordinates: DOP853 has 16 states."""
    return 8 * 16 * size * (size + 2)


def moments_along(path: Path, tolerance: float) -> Iterator[Moments]:
    """Moments at the saved times of a path; the tolerance may be what truncation leaves out."""
    system = _System(path)
    times = [0.0, *(step.end for step in path.steps)]
    state, now, step = system.initial, 0.0, None
    wanted = [times[save] for save in path.saves]
    ends = _ends(path, wanted)
    yield from (system.moments(0.0, state) for time in wanted if time == 0.0)
    for end, interval, longest in ends:
        stepper = dop853(system.of(interval), Start(now, state, step), tolerance)
        while now < end:
            if not stepper.step(min(longest, end - now)):
                raise SimulationError(now, 0, "the step became too small")
            now, state = stepper.time, stepper.state
            if end - now < SAME_TIME * end:
                break
        now, step = end, stepper.step_size
        yield from (system.moments(end, state) for time in wanted if time == end)


def _ends(path: Path, wanted: Sequence[float]) -> Iterator[tuple[float, int, float]]:
    """Times to meet, with the interval before and the longest step of the path on the way."""
    longest, steps = 0.0, path.steps
    for n, step in enumerate(steps):
        longest = max(longest, step.length)
        last = n + 1 == len(steps) or steps[n + 1].interval != step.interval
        if step.end in wanted or last:
            yield step.end, step.interval, longest
            longest = 0.0


class _System:
    """Density, covariance and shift as one state of real numbers."""

    def __init__(self, path: Path) -> None:
        self._path, self._of = path, path.coordinates
        self._units = self._of.to_coefficients(np.eye(self._of.size))

    @property
    def initial(self) -> FloatArray:
        """State at time 0: tokens are independent."""
        density = self._path.states[0]
        grid, of = self._path.grid, self._of
        products = grid.to_modal(grid.to_nodal(self._units) * grid.to_nodal(density))
        mean = of.to_vector(density)
        covariance = of.to_vector(products) - np.outer(mean, mean)
        return np.concatenate([mean, covariance.ravel(), np.zeros(of.size)])

    def _parts(self, state: FloatArray) -> tuple[ModalArray, FloatArray, FloatArray]:
        size = self._of.size
        density = self._of.to_coefficients(state[:size])
        density[0] = 1.0
        return density, state[size:-size].reshape(size, size), state[-size:]

    def moments(self, time: float, state: FloatArray) -> Moments:
        """Moments in a state."""
        density, covariance, shift = self._parts(state)
        return Moments(time, density, covariance.copy(), shift.copy())

    def of(self, interval: int):  # type: ignore[no-untyped-def]
        """Right-hand side of an interval."""
        path, of = self._path, self._of

        def rhs(time: float, state: FloatArray) -> FloatArray:
            density, covariance, shift = self._parts(state)
            flow = path.flow(interval, density)
            rows = np.concatenate([of.to_coefficients(covariance), of.to_coefficients(shift)[None]])
            moved = flow.derivative(rows)
            change = of.to_vector(moved[:-1])
            change = change + change.T
            if flow.diffusivity:
                change += 2.0 * flow.diffusivity * of.to_vector(flow.spread(self._units))
            drift = moved[-1] + self._second(flow, rows[:-1])
            return np.concatenate(
                [of.to_vector(flow.transport), change.ravel(), of.to_vector(drift)]
            )

        return rhs

    def _second(self, flow: LinearisedFlow, rows: ModalArray) -> ModalArray:
        """Half of F'' contracted with C; rows of the mean field's degrees are enough."""
        low_degrees = self._of.vector_degrees <= flow.interaction.degree
        return flow.second(rows[low_degrees], self._units[low_degrees])
