"""The linear kernel, the limit beta -> 0 of self-attention: Kuramoto on every sphere."""

from __future__ import annotations

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.kernels.kernel import Kernel


def linear() -> Kernel:
    """Linear kernel: attention a(s) = 1, potential W(s) = s.

    Its multipliers are a_0 = 1, w_1 = 1/d on S^{d-1}, and zero elsewhere. On the circle it is
    the Kuramoto model of identical oscillators with coupling 1.

    Returns
    -------
    Kernel
        Multipliers have shape (max_degree + 1,).

    See Also
    --------
    exponential : the kernel of self-attention, of which this is the limit.

    Examples
    --------
    >>> linear().potential_multipliers(1, 3)
    array([0. , 0.5, 0. , 0. ])
    """
    return Kernel(
        name="linear",
        beta=0.0,
        attention=lambda s: np.ones_like(np.asarray(s, dtype=np.float64)),
        potential=lambda s: np.asarray(s, dtype=np.float64),
        attention_multipliers=lambda m, max_degree: _single(0, 1.0, max_degree),
        potential_multipliers=lambda m, max_degree: _single(1, 1.0 / (m + 1), max_degree),
        normalized_multipliers=lambda m, max_degree: _single(1, 1.0 / (m + 1), max_degree),
    )


def _single(degree: int, value: float, max_degree: int) -> FloatArray:
    multipliers = np.zeros(max_degree + 1)
    multipliers[degree : degree + 1] = value
    return multipliers
