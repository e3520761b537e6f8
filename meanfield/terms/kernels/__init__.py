"""Zonal kernels: functions of the inner product of two tokens."""

from collections.abc import Callable

from meanfield.terms.kernels.exponential import exponential, linear
from meanfield.terms.kernels.kernel import Kernel
from meanfield.terms.kernels.zonal import zonal

__all__ = ["KERNELS", "Kernel", "exponential", "kernel_of", "linear", "zonal"]


def kernel_of(beta: float) -> Kernel:
    """Kernel of a head with score beta <x, y>; the linear one for beta = 0.

    >>> kernel_of(3.0), kernel_of(0.0)
    (exponential(beta=3.0), linear())
    """
    return exponential(beta) if beta else linear()


KERNELS: dict[str, Callable[[float], Kernel]] = {
    "exponential": kernel_of,
    "linear": lambda beta: linear(),
}
"""Kernels that a run file names, as functions of beta; beta = 0 is the linear kernel."""
