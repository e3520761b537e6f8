"""Rotating waves that linear theory predicts of a run of heads that starts near uniform.

    f = 1 + 2 sum_k |m_k| cos(k theta + arg m_k),    m_k(t) = m_k(0) e^{rate t - i k velocity t}

for modes of one order k: crests turn at the angular velocity that the linear operator gives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.runs import Run
from meanfield.spectrum.linear_operator import linear_operator

# Degrees of scores up to which the operator takes 0.1 s.
_MOST_DEGREES = 100
# |c_k| of a start that is near uniform, of one that is nothing, and up to where crests are drawn:
# the density is 1 + 2 |c_k| cos(...) there.
_NEAR, _NOTHING, _END = 0.2, 1e-12, 0.25
_POINTS = 200


@dataclass(frozen=True, eq=False)
class Wave:
    """Crest of the mode that linear theory expects to be largest: times, unwrapped angles (n,)."""

    order: int  # k of e^{ik theta}
    velocity: float  # angular velocity, per scaled time
    times: FloatArray
    angles: FloatArray


def predicted_wave(run: Run) -> Wave | None:
    """Wave of a run on the circle; None for a kernel, far from uniform, or if none turns."""
    if not run.facts.heads or run.manifold.dimension > 1:
        return None
    if run.facts.stages or run.facts.layers:
        return None
    try:
        problem = run.problem
    except ValueError:
        return None
    if problem.frequencies is not None or problem.has_rotary:
        return None
    start = run.manifold.packed(run.moments[0])
    sizes = np.abs(start[1:])
    if problem.kernel_degree > _MOST_DEGREES or not sizes.max(initial=0.0) <= _NEAR:
        return None
    try:
        operator = linear_operator(problem)
    except RuntimeError:  # no leading eigenvalue converges
        return None
    turning = np.isfinite(operator.angular_velocities) & (operator.orders < len(start))
    if not turning.any():
        return None
    orders, rates = operator.orders[turning], operator.eigenvalues.real[turning]
    sizes = np.abs(start[orders])
    first, last = run.scaled_time[0], run.scaled_time[-1]
    # When each would have grown to the end of linear theory.
    with np.errstate(divide="ignore", invalid="ignore"):
        reached = np.where(rates > 0, np.log(_END / sizes) / rates, np.inf)
    reached = np.where(sizes > _NOTHING, reached, np.inf)
    leading = int(np.argmin(reached))
    # Others than rotating modes may grow sooner.
    if not np.isfinite(reached[leading]) or operator.eigenvalues[0].real > 2.0 * rates[leading]:
        return None
    order = int(orders[leading])
    velocity = float(operator.angular_velocities[turning][leading])
    elapsed = np.linspace(0.0, min(float(reached[leading]), last - first), _POINTS)
    # Moments are int e^{-ik theta} dmu: the density has 2 |m_k| cos(k theta + arg m_k).
    crest = -np.angle(start[order]) / order
    return Wave(order, velocity, (first + elapsed) / run.unit_length, crest + velocity * elapsed)
