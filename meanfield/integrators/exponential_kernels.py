"""Compiled stages of the exponential Runge-Kutta method: one pass over memory each.

States are read as real numbers, two for each complex one. `weights` has the rows of
`exponential_weights.weights`, spread to these numbers (`index` None) or found through `index`.

A linear step e^{cz} u + c h phi_1(cz) N is written

    u + c h phi_1(cz) (L u + N)     where the sum does not cancel,

so that L u + N = 0 leaves u as it is, to the bit, and small steps do not add up the rounding
of e^{cz}; and as it stands where e^{cz} u is far below u, which the sum would not resolve.
"""

from __future__ import annotations

import numpy as np

from meanfield.compute.compiled import njit
from meanfield.compute.elementary import from_bits, to_bits
from meanfield.integrators.exponential_weights import (
    DECAY,
    DECAY_HALF,
    EARLY,
    FIFTH,
    FOURTH,
    LATE,
    LINEAR,
    ONE,
    ONE_HALF,
    TWO,
    TWO_HALF,
)

# Where e^{cz} is above this the sum loses less than two digits of rounding.
_NEAR_ONE = 0.4
_TINY = np.finfo(np.float64).tiny


@njit(inline="always")
def _linear_step(x, n, rate, decay, weight):  # type: ignore[no-untyped-def]
    slope = rate * x + n
    if decay > _NEAR_ONE or abs(slope) <= 0.5 * abs(rate * x):
        return x + weight * slope
    return decay * x + weight * n


@njit
def second_stage(state, first, weights, index):  # type: ignore[no-untyped-def]
    """U_2: the linear step to h / 2."""
    out = np.empty_like(state)
    y, x, n1 = out.view(np.float64), state.view(np.float64), first.view(np.float64)
    rate, decay, one = weights[LINEAR], weights[DECAY_HALF], weights[ONE_HALF]
    for j in range(y.size):
        i = j if index is None else index[j]
        y[j] = _linear_step(x[j], n1[j], rate[i], decay[i], one[i])
    return out


@njit
def third_stage(half, first, second, weights, index):  # type: ignore[no-untyped-def]
    """U_3 = U_2 + h phi_2(z / 2) D_2."""
    out = np.empty_like(half)
    y, x = out.view(np.float64), half.view(np.float64)
    n1, n2 = first.view(np.float64), second.view(np.float64)
    two = weights[TWO_HALF]
    for j in range(y.size):
        i = j if index is None else index[j]
        y[j] = x[j] + two[i] * (n2[j] - n1[j])
    return out


@njit
def fourth_stage(state, first, second, third, weights, index):  # type: ignore[no-untyped-def]
    """The linear step to h, and U_4 = that + h phi_2(z) (D_2 + D_3)."""
    full, out = np.empty_like(state), np.empty_like(state)
    w, y, x = full.view(np.float64), out.view(np.float64), state.view(np.float64)
    n1, n2, n3 = first.view(np.float64), second.view(np.float64), third.view(np.float64)
    rate, decay, one, two = weights[LINEAR], weights[DECAY], weights[ONE], weights[TWO]
    for j in range(y.size):
        i = j if index is None else index[j]
        moved = _linear_step(x[j], n1[j], rate[i], decay[i], one[i])
        w[j] = moved
        y[j] = moved + two[i] * ((n2[j] - n1[j]) + (n3[j] - n1[j]))
    return full, out


@njit
def fifth_stage(half, first, second, third, fourth, weights, index):  # type: ignore[no-untyped-def]
    """U_5 = U_2 + h a_52 (D_2 + D_3) + h a_54 D_4."""
    out = np.empty_like(half)
    y, x, n1 = out.view(np.float64), half.view(np.float64), first.view(np.float64)
    n2, n3, n4 = second.view(np.float64), third.view(np.float64), fourth.view(np.float64)
    early, late = weights[EARLY], weights[LATE]
    for j in range(y.size):
        i = j if index is None else index[j]
        n = n1[j]
        y[j] = x[j] + (early[i] * ((n2[j] - n) + (n3[j] - n)) + late[i] * (n4[j] - n))
    return out


# Division as NumPy has it: a check for zero would keep the loop from being vectorised.
@njit(error_model="numpy")
def finish(full, first, second, third, fourth, fifth, weights, index, share):  # type: ignore[no-untyped-def]
    """Add h b_4 D_4 + h b_5 D_5 to the linear step, in place; sizes of its error and of itself.

    Largest moduli over the coefficients. Not a number if anything is: bit patterns of positive
    doubles are ordered like integers, and those of NaN are above all.
    """
    y, n1 = full.view(np.float64), first.view(np.float64)
    n2, n3 = second.view(np.float64), third.view(np.float64)
    n4, n5 = fourth.view(np.float64), fifth.view(np.float64)
    end, middle = weights[FOURTH], weights[FIFTH]
    # Known to the compiler, from the type.
    width = 2 if np.iscomplexobj(full) else 1
    worst, largest = 0, 0
    for m in range(full.size):
        i = width * m if index is None else index[width * m]
        change, bend, stages, size = 0.0, 0.0, 0.0, 0.0
        for j in range(width * m, width * m + width):
            n = n1[j]
            d4, d5 = n4[j] - n, n5[j] - n
            x = y[j] + (end[i] * d4 + middle[i] * d5)
            y[j] = x
            size += x * x
            change += d4 * d4
            bend += (d4 - 2.0 * d5) ** 2
            stages += (n5[j] - 0.5 * (n2[j] + n3[j])) ** 2
        quadrature = share * bend * (bend / (change + bend + _TINY))
        worst = max(worst, to_bits(middle[i] * middle[i] * (stages + quadrature)))
        largest = max(largest, to_bits(size))
    return np.sqrt(from_bits(worst)), np.sqrt(from_bits(largest))
