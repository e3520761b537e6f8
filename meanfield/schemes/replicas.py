"""Many small systems at once, each with adaptive steps of its own.

The method of Dormand and Prince, order 5 with an error of order 4 and a continuous extension of
order 4, in arrays over the systems. The steps of a system depend on itself only. So its result is
equal to the bit whatever other systems are computed beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray

# As in SciPy's steppers.
_SAFETY, _SHORTER, _LONGER = 0.9, 0.2, 10.0
_FIRST = 1e-3
# Shortest step, as a share of the last time; rounding loses shorter ones.
_SMALLEST = 1e-13

Numbers = npt.NDArray[np.int64]


def replicas_at(
    velocity: Callable[[Numbers, FloatArray], FloatArray],
    start: FloatArray,
    times: FloatArray,
    *,
    tolerance: float,
    retract: Callable[[FloatArray], FloatArray],
) -> Iterator[tuple[Numbers, Numbers, FloatArray]]:
    """States of many systems x' = v(x) at given times, in the order in which steps reach them.

    - velocity(numbers, x): v of the systems with these numbers, x and v (len(numbers), n, d). It
      must be smooth near the manifold too.
    - start (R, n, d): points on the manifold.
    - times (n_times,): not negative, increasing.
    - tolerance: largest error of a step of any point, in the norm of R^d.
    - retract: takes points (m, n, d) near the manifold to points on it.

    Yields numbers (m,) of systems, indices (m,) of the times reached, and states (m, n, d).

    Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.5 and II.6.
    """
    from scipy.integrate import RK45

    from meanfield.engines.steps.replica_kernels import combined

    count, n, d = start.shape
    numbers = np.arange(count)
    x = start.reshape(count, n * d).copy()
    time, step = np.zeros(count), np.full(count, _FIRST * times[-1])
    upcoming = np.zeros(count, dtype=np.int64)
    stages = np.empty((7, count, n * d))

    def flow(state: FloatArray) -> FloatArray:
        return velocity(numbers, state.reshape(-1, n, d)).reshape(-1, n * d)

    stages[0] = flow(x)
    if times[0] == 0.0:
        yield numbers, upcoming.copy(), start
        upcoming += 1
    while True:
        going = upcoming < len(times)
        if not going.all():
            numbers, x, time, step = numbers[going], x[going], time[going], step[going]
            upcoming, stages = upcoming[going], np.ascontiguousarray(stages[:, going])
        if not len(numbers):
            return
        taken = np.minimum(step, times[-1] - time)
        all_rows, state = np.arange(len(x)), np.empty_like(x)
        for s in range(1, 6):
            combined(x, taken, RK45.A[s : s + 1, :s].copy(), stages, all_rows, state)
            stages[s] = flow(state)
        combined(x, taken, RK45.B[None], stages, all_rows, state)
        state = retract(state.reshape(-1, n, d)).reshape(-1, n * d)
        stages[6] = flow(state)
        error = np.empty_like(x)
        combined(np.zeros_like(x), taken, RK45.E[None], stages, all_rows, error)
        sizes = np.sqrt((error.reshape(-1, n, d) ** 2).sum(axis=2).max(axis=1)) / tolerance
        with np.errstate(all="ignore"):
            change = np.clip(_SAFETY * sizes**-0.2, _SHORTER, _LONGER)
        accepted = sizes <= 1.0
        ended = np.where(time + taken >= times[-1] * (1.0 - 4e-16), times[-1], time + taken)
        while True:
            inside = accepted & (upcoming < len(times))
            inside[inside] = times[upcoming[inside]] <= ended[inside]
            rows = np.flatnonzero(inside)
            if not len(rows):
                break
            share = (times[upcoming[rows]] - time[rows]) / taken[rows]
            weights = share[:, None, None] ** np.arange(1.0, 5.0)
            between = np.empty((len(rows), n * d))
            coefficients = np.ascontiguousarray((weights * RK45.P).sum(axis=2))
            combined(x, taken, coefficients, stages, rows, between)
            yield numbers[rows], upcoming[rows], retract(between.reshape(-1, n, d))
            upcoming[rows] += 1
        step = taken * np.where(np.isnan(change), _SHORTER, change)
        if (~accepted & (step < _SMALLEST * times[-1])).any():
            raise FloatingPointError("steps fell below rounding: velocities overflow.")
        x[accepted], time[accepted] = state[accepted], ended[accepted]
        stages[0, accepted] = stages[6, accepted]
