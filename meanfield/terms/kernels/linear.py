"""The linear kernel, the limit beta -> 0 of self-attention: Kuramoto on every sphere."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from meanfield.arguments import checked
from meanfield.arrays import FloatArray
from meanfield.terms.kernels.kernel import Kernel


@checked
def linear() -> Kernel:
    """Linear kernel: attention a(s) = 1, potential W(s) = s.

    Its multipliers are a_0 = 1, w_1 = 1/d on S^{d-1}, and zero elsewhere. On the circle it is
    the Kuramoto model of identical oscillators with coupling 1.

    Returns: multipliers have shape (max_degree + 1,).

    See `exponential`: the kernel of self-attention, of which this is the limit.

    >>> linear().potential_multipliers(1, 3)
    array([0. , 0.5, 0. , 0. ])
    """
    return Linear()


@dataclass(frozen=True)
class Linear(Kernel):
    """The kernel that `linear` makes."""

    name: str = field(default="linear", init=False)
    beta: float = field(default=0.0, init=False)

    @property
    def log_slope(self) -> float:
        return 0.0

    def attention(self, s: FloatArray) -> FloatArray:
        return np.ones_like(np.asarray(s, dtype=np.float64))

    def potential(self, s: FloatArray) -> FloatArray:
        return np.asarray(s, dtype=np.float64)

    def attention_multipliers(self, dimension: int, max_degree: int) -> FloatArray:
        return _single(0, 1.0, max_degree)

    def potential_multipliers(self, dimension: int, max_degree: int) -> FloatArray:
        return _single(1, 1.0 / (dimension + 1), max_degree)

    def normalized_multipliers(self, dimension: int, max_degree: int) -> FloatArray:
        return self.potential_multipliers(dimension, max_degree)

    def __repr__(self) -> str:
        return "linear()"


def _single(degree: int, value: float, max_degree: int) -> FloatArray:
    multipliers = np.zeros(max_degree + 1)
    multipliers[degree : degree + 1] = value
    return multipliers
