"""Integrators of the carriers.

    no noise                  Runge-Kutta of order eight
    a density                 order eight; the largest error is below the tolerance if velocities
                              depend on time
    characteristics           order eight, no finer than the errors of their cells
    a density that diffuses   exponential Runge-Kutta: the part linear about uniform is exact, of
                              labelled densities diffusion alone
    tokens with noise         noise and drift in turn (Strang), weak order two
    discrete layers           one layer a step

A scheme starts a stepper; the time loop takes its steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from meanfield.arrays import EPS
from meanfield.carriers import Representation
from meanfield.problem import Problem
from meanfield.schemes import (
    LayerStepper,
    RightHandSide,
    Start,
    Stepper,
    dop853,
    exponential,
    rk45,
    stochastic,
)

Watched = Callable[[RightHandSide], RightHandSide]
"""Puts a right-hand side on the stepper's clock, counts its evaluations and keeps symmetries."""

Scheme = Callable[[Any, Start, float, Watched], Stepper]
"""Start a stepper: (carrier, start, tolerance, watched) -> Stepper."""

# SciPy accepts no smaller ones.
_LEAST_TOLERANCE = 100.0 * EPS


def explicit(carrier: Any, start: Start, tolerance: float, watched: Watched) -> Stepper:
    """Runge-Kutta steps of order eight: the usual scheme, of any carrier."""
    return dop853(watched(carrier.rhs), start, tolerance)


def explicit_by_largest(carrier: Any, start: Start, tolerance: float, watched: Watched) -> Stepper:
    """Runge-Kutta steps; the tolerance bounds the largest error if velocities depend on time.

    The error of a step is a root mean square over coefficients, most of them small. With constant
    velocities the step limits from rates keep it far below the tolerance.
    """
    if carrier.problem.is_time_dependent:
        tolerance = max(tolerance / np.sqrt(2.0 * len(start.state)), _LEAST_TOLERANCE)
    return dop853(watched(carrier.rhs), start, tolerance)


def order_five(carrier: Any, start: Start, tolerance: float, watched: Watched) -> Stepper:
    """Runge-Kutta steps of order five, for statistics of tokens with few digits."""
    return rk45(watched(carrier.rhs), start, tolerance)


def explicit_as_needed(carrier: Any, start: Start, tolerance: float, watched: Watched) -> Stepper:
    """Runge-Kutta steps, no finer than the carrier's `step_tolerance`."""
    return dop853(watched(carrier.rhs), start, max(tolerance, carrier.step_tolerance))


def semilinear(carrier: Any, start: Start, tolerance: float, watched: Watched) -> Stepper:
    """Exponential steps: `linear_rates` of the carrier are exact, its `remainder` is not."""
    return exponential(
        watched(carrier.remainder),
        carrier.linear_rates,
        start.time,
        start.state,
        tolerance=tolerance,
        step=start.step,
        end=start.end,
    )


def noisy(carrier: Any, start: Start, tolerance: float, watched: Watched) -> Stepper:
    """Steps of the carrier's own length, its drift between two halves of its noise."""
    drift = watched(carrier.rhs)
    return stochastic(
        # A last step is as long as the others; states at the end come from a shorter one.
        lambda time, state: drift(min(time, start.end), state),
        carrier.diffuse,
        carrier.noise_shape,
        start.time,
        start.state,
        step=carrier.step,
        seed=carrier.seed,
        steps=start.steps,
    )


def layered(carrier: Any, start: Start, tolerance: float, watched: Watched) -> Stepper:
    """Discrete layers: a step is one `layer` of the carrier, for any tolerance."""
    return LayerStepper(watched(carrier.layer), start)


SCHEMES: dict[tuple[str, bool], Scheme] = {
    ("characteristics", False): explicit_as_needed,
    ("density", False): explicit_by_largest,
    ("density", True): semilinear,
    ("labelled", True): semilinear,
    ("particles", True): noisy,
}
"""Schemes that are not `explicit`, by the name of a carrier and whether its measure diffuses.

They use of a carrier, beside `rhs`: `step_tolerance` (`explicit_as_needed`); `linear_rates` and
`remainder` (`semilinear`); `diffuse`, `noise_shape`, `step` and `seed` (`noisy`).
"""


def usual_scheme(problem: Problem, carrier: Representation) -> Scheme:
    """Default scheme of a carrier.

    >>> import meanfield as mf
    >>> from meanfield.carriers import Options, represent
    >>> problem = mf.Problem(mf.Circle(), mf.exponential(beta=5.0), mf.USA)
    >>> usual_scheme(problem, represent(problem, Options())).__name__
    'explicit_by_largest'
    """
    if not problem.layering.is_flow:
        return layered
    diffuses = problem.flow.diffusivity > 0.0
    if diffuses and (carrier.name, True) not in SCHEMES:
        raise ValueError(
            f"no scheme is known for {carrier.name} that diffuse: add one to `schemes.SCHEMES`, or "
            "give `scheme`."
        )
    return SCHEMES.get((carrier.name, diffuses), explicit)
