"""Time steppers."""

from meanfield.schemes.exponential import ExponentialStepper, exponential
from meanfield.schemes.layered import LayerStepper
from meanfield.schemes.runge_kutta import (
    INTEGRATORS,
    RungeKuttaStepper,
    dop853,
    rk45,
    runge_kutta,
)
from meanfield.schemes.stepper import RightHandSide, Start, Stepper, StepTooLong
from meanfield.schemes.stochastic import StochasticStepper, stochastic

__all__ = [
    "INTEGRATORS",
    "ExponentialStepper",
    "LayerStepper",
    "RightHandSide",
    "RungeKuttaStepper",
    "Start",
    "StepTooLong",
    "Stepper",
    "StochasticStepper",
    "dop853",
    "exponential",
    "rk45",
    "runge_kutta",
    "stochastic",
]
