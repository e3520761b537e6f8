"""Time steppers."""

from meanfield.integrators.exponential import ExponentialStepper, exponential
from meanfield.integrators.layered import LayerStepper
from meanfield.integrators.runge_kutta import (
    INTEGRATORS,
    RungeKuttaStepper,
    by_tolerance,
    dop853,
    runge_kutta,
)
from meanfield.integrators.stepper import RightHandSide, Start, Stepper
from meanfield.integrators.stochastic import StochasticStepper, stochastic

__all__ = [
    "INTEGRATORS",
    "ExponentialStepper",
    "LayerStepper",
    "RightHandSide",
    "RungeKuttaStepper",
    "Start",
    "Stepper",
    "StochasticStepper",
    "by_tolerance",
    "dop853",
    "exponential",
    "runge_kutta",
    "stochastic",
]
