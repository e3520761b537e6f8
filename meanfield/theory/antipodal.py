"""Few tokens of R^d without normalisation: an antipodal pair, with others between them or without.

    x_i' = sum_j P_ij V x_j,    P_ij = softmax_j(beta <x_i, x_j>)

(Geshkovski, Letrouit, Polyanskiy, Rigollet, arXiv:2305.05465). Tokens at x, at -x and m more at 0
stay there but for x; with V = v 1 only w = beta |x|^2 changes,

    w' = 2 v w (1 - e^{-2w}) / (1 + m e^{-w} + e^{-2w}),

which for m = 0 is 2 v w tanh w. With v = -1 the pair meets, but w falls only like (2 + m) / 4t:
close tokens hardly feel that they differ. With v = 1 it grows like e^{2t}, as free tokens do.
"""

from __future__ import annotations

import math

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.checks import at_least, checked
from meanfield.theory.saved_states import saved_states


@checked
def antipodal_square(
    times: FloatArray, start: float, *, value: float = 1.0, between: int = 0
) -> FloatArray:
    """Squared radius w(t) = beta |x|^2 of an antipodal pair of R^d under softmax attention.

    w' = 2 v w tanh w for the pair alone; with m tokens at 0 between the two, in place of tanh w,
    2 sinh w / (m + 2 cosh w): for m = 1 a triple -u, 0, u on a line.

    Parameters
    ----------
    times : ndarray, shape (saves,)
        Time, not negative, in order.
    start : float
        w(0) = beta |x|^2, positive.
    value : float
        v of the value V = v 1.
    between : int
        Number m of tokens at 0.

    Returns
    -------
    ndarray, shape (saves,)
        By DOP853 for ln w, relative error some 1e-12; infinite beyond 1e308.

    Raises
    ------
    ValueError
        If start is not positive, times are negative or out of order, or between < 0.

    References
    ----------
    Geshkovski, Letrouit, Polyanskiy, Rigollet, The emergence of clusters in self-attention
    dynamics, arXiv:2305.05465.

    Examples
    --------
    >>> w = antipodal_square([1.0, 10.0, 1e4], 1.0, value=-1.0)
    >>> w.round(6)
    array([3.58076e-01, 4.83330e-02, 5.00000e-05])
    >>> antipodal_square([1.0], 1.0).round(6)
    array([6.644807])
    """
    at_least(0, between=between)
    if start <= 0.0:
        raise ValueError(f"start must be positive, got {start:g}.")

    def speed(t: float, log_square: FloatArray) -> FloatArray:
        w = math.exp(min(float(log_square[0]), 700.0))
        one = math.exp(-w)
        return np.array([-2.0 * value * math.expm1(-2.0 * w) / (1.0 + between * one + one * one)])

    logs = saved_states(speed, np.array([math.log(start)]), times)[:, 0]
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(logs))
