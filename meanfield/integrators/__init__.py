"""Time steppers."""

from meanfield.integrators.runge_kutta import INTEGRATORS, RungeKuttaStepper, dop853, runge_kutta
from meanfield.integrators.stepper import RightHandSide, Start, Stepper

__all__ = [
    "INTEGRATORS",
    "RightHandSide",
    "RungeKuttaStepper",
    "Start",
    "Stepper",
    "dop853",
    "runge_kutta",
]
