"""Time steppers."""

from meanfield.integrators.runge_kutta import INTEGRATORS, Stepper, runge_kutta

__all__ = ["INTEGRATORS", "Stepper", "runge_kutta"]
