"""Zonal kernels: functions of the inner product of two tokens."""

from collections.abc import Callable

from meanfield.terms.kernels.exponential import exponential, linear
from meanfield.terms.kernels.kernel import Kernel
from meanfield.terms.kernels.zonal import zonal

__all__ = ["KERNELS", "Kernel", "exponential", "linear", "zonal"]

KERNELS: dict[str, Callable[[float], Kernel]] = {
    "exponential": lambda beta: exponential(beta) if beta != 0 else linear(),
    "linear": lambda beta: linear(),
}
"""Kernels that a run file names, as functions of beta; beta = 0 is the linear kernel."""
