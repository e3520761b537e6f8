"""Weights of the exponential Runge-Kutta method of stiff order four, for one step size.

For u' = L u + N(t, u), z = h L, D_i = N_i - N_1, phi_{k,c} = phi_k(c z), all products diagonal:

    U_2 = e^{z/2} u + h/2 phi_{1,1/2} N_1                             N_2 at t + h/2
    U_3 = U_2 + h phi_{2,1/2} D_2                                     N_3 at t + h/2
    U_4 = e^z u + h phi_1 N_1 + h phi_2 (D_2 + D_3)                   N_4 at t + h
    U_5 = U_2 + h a_52 (D_2 + D_3) + h (phi_{2,1/2} / 4 - a_52) D_4   N_5 at t + h/2
    new = e^z u + h phi_1 N_1 + h (4 phi_3 - phi_2) D_4 + h (4 phi_2 - 8 phi_3) D_5

    a_52 = phi_{2,1/2} / 2 - phi_3 + phi_2 / 4 - phi_{3,1/2} / 2.

This is eq. 5.19 of Hochbruck and Ostermann, Explicit exponential Runge-Kutta methods for
semilinear parabolic problems, SIAM J. Numer. Anal. 43 (2005), written in differences, which
vanish where L u + N(u) = 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from meanfield.arrays import FloatArray
from meanfield.engines.steps.phi import doubled, phi

# Rows of the table of weights, with the factor h.
ROWS = (
    LINEAR,  # L
    DECAY_HALF,  # e^{z/2}
    DECAY,  # e^z
    ONE_HALF,  # h/2 phi_1(z/2)
    ONE,  # h phi_1(z)
    TWO_HALF,  # h phi_2(z/2)
    TWO,  # h phi_2(z)
    EARLY,  # h a_52
    LATE,  # h a_54
    FOURTH,  # h b_4
    FIFTH,  # h b_5
) = tuple(range(11))

# Tables of so many columns stay in the processor's cache, where a column for each coefficient is
# faster than an index.
_SPREAD_SIZE = 2**13

Table = tuple[FloatArray, npt.NDArray[np.int32] | None]
"""Weights, and the column of each coefficient; None if each coefficient has its own column."""


def weights(rates: FloatArray, step: float) -> FloatArray:
    """Table of weights, shape (11, n), with `ROWS`, for rates (n,) and a step."""
    z = step * rates
    table = np.empty((len(ROWS), len(rates)))
    half = np.exp(0.5 * z)
    one_half, two_half, three_half = phi(0.5 * z)
    one, two, three = doubled(half, one_half, two_half, three_half)
    table[LINEAR] = rates
    table[DECAY_HALF], table[DECAY] = half, np.exp(z)
    table[ONE_HALF], table[ONE] = 0.5 * step * one_half, step * one
    table[TWO_HALF], table[TWO] = step * two_half, step * two
    early = 0.5 * (two_half - three_half) + 0.25 * two - three
    table[EARLY], table[LATE] = step * early, step * (0.25 * two_half - early)
    table[FOURTH], table[FIFTH] = step * (4.0 * three - two), step * (4.0 * two - 8.0 * three)
    return table


def tables(linear: FloatArray) -> Callable[[float], Table]:
    """Function from steps to tables of a state's rates `linear`; equal rates may share a column."""
    rates, columns = np.unique(linear, return_inverse=True)
    index = columns.astype(np.int32)
    spread = len(index) <= max(_SPREAD_SIZE, 2 * len(rates))

    def table(step: float) -> Table:
        compact = weights(rates, step)
        return (np.take(compact, index, axis=1), None) if spread else (compact, index)

    return table
