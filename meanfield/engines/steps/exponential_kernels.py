"""Compiled stages of the exponential Runge-Kutta method: one pass over memory each.

Each fills its first arguments: to allocate an array and return it to Python takes half as long as a
pass over a thousand coefficients.

States are read as real numbers, two for each complex one. `weights` has the rows of
`exponential_weights.weights`, with a column for each coefficient (`index` None) or the column
that `index` names, with equal results.

Where it does not cancel, a linear step e^{cz} u + c h phi_1(cz) N is computed as

    u + c h phi_1(cz) (L u + N).

So L u + N = 0 keeps u to the bit, and small steps do not accumulate the rounding of e^{cz}. Where
e^{cz} u is far below u this sum would lose digits, and the first form is used.
"""

from __future__ import annotations

import numpy as np

from meanfield.engines.compiled import njit
from meanfield.engines.elementary import from_bits, to_bits, wide_vectors
from meanfield.engines.steps.exponential_weights import (
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

# Where e^{cz} is above this the second form loses less than two digits.
_NEAR_ONE = 0.4
_TINY = np.finfo(np.float64).tiny


@njit(inline="always")
def _linear_step(x, n, rate, decay, weight):  # type: ignore[no-untyped-def]
    slope = rate * x + n
    if decay > _NEAR_ONE or abs(slope) <= 0.5 * abs(rate * x):
        return x + weight * slope
    return decay * x + weight * n


@njit(inline="always")
def _width(state):  # type: ignore[no-untyped-def]
    """Real numbers in a coefficient, a constant for the compiler."""
    return 2 if np.iscomplexobj(state) else 1


@njit
def second_stage(out, state, first, weights, index):  # type: ignore[no-untyped-def]
    """U_2: the linear step to h / 2."""
    y, x, n1 = out.view(np.float64), state.view(np.float64), first.view(np.float64)
    width = _width(state)
    rate, decay, one = weights[LINEAR], weights[DECAY_HALF], weights[ONE_HALF]
    for m in range(state.size):
        i = m if index is None else index[m]
        for j in range(width * m, width * m + width):
            y[j] = _linear_step(x[j], n1[j], rate[i], decay[i], one[i])


@njit
def third_stage(out, half, first, second, weights, index):  # type: ignore[no-untyped-def]
    """U_3 = U_2 + h phi_2(z / 2) D_2."""
    y, x, width = out.view(np.float64), half.view(np.float64), _width(half)
    n1, n2 = first.view(np.float64), second.view(np.float64)
    two = weights[TWO_HALF]
    for m in range(half.size):
        i = m if index is None else index[m]
        for j in range(width * m, width * m + width):
            y[j] = x[j] + two[i] * (n2[j] - n1[j])


@njit
def fourth_stage(full, out, state, first, second, third, weights, index):  # type: ignore[no-untyped-def]
    """Linear step to h, into `full`, and U_4 = it + h phi_2(z) (D_2 + D_3), into `out`."""
    wide_vectors()
    w, y, x = full.view(np.float64), out.view(np.float64), state.view(np.float64)
    width = _width(state)
    n1, n2, n3 = first.view(np.float64), second.view(np.float64), third.view(np.float64)
    rate, decay, one, two = weights[LINEAR], weights[DECAY], weights[ONE], weights[TWO]
    for m in range(state.size):
        i = m if index is None else index[m]
        for j in range(width * m, width * m + width):
            moved = _linear_step(x[j], n1[j], rate[i], decay[i], one[i])
            w[j] = moved
            y[j] = moved + two[i] * ((n2[j] - n1[j]) + (n3[j] - n1[j]))


@njit
def fifth_stage(out, half, first, second, third, fourth, weights, index):  # type: ignore[no-untyped-def]
    """U_5 = U_2 + h a_52 (D_2 + D_3) + h a_54 D_4."""
    y, x, n1 = out.view(np.float64), half.view(np.float64), first.view(np.float64)
    width = _width(half)
    n2, n3, n4 = second.view(np.float64), third.view(np.float64), fourth.view(np.float64)
    early, late = weights[EARLY], weights[LATE]
    for m in range(half.size):
        i = m if index is None else index[m]
        for j in range(width * m, width * m + width):
            n = n1[j]
            y[j] = x[j] + (early[i] * ((n2[j] - n) + (n3[j] - n)) + late[i] * (n4[j] - n))


@njit(inline="always")
def _squared(x, y):  # type: ignore[no-untyped-def]
    return x * x + y * y


# Division as in NumPy: a check for zero would prevent vectorisation.
@njit(error_model="numpy")
def finish(full, first, second, third, fourth, fifth, weights, index, share):  # type: ignore[no-untyped-def]
    """Add h b_4 D_4 + h b_5 D_5 to the linear step, in place; return sizes of error and state.

    Sizes are largest moduli, NaN if one is NaN, because bit patterns of positive doubles have the
    order of integers.
    """
    wide_vectors()
    y, n1, width = full.view(np.float64), first.view(np.float64), _width(full)
    n2, n3 = second.view(np.float64), third.view(np.float64)
    n4, n5 = fourth.view(np.float64), fifth.view(np.float64)
    end, middle = weights[FOURTH], weights[FIFTH]
    # Real states read each number twice, and count it once.
    both = width - 1.0
    worst, largest = 0, 0
    for m in range(full.size):
        i = m if index is None else index[m]
        j, k = width * m, width * m + width - 1
        x = y[j] + (end[i] * (n4[j] - n1[j]) + middle[i] * (n5[j] - n1[j]))
        z = y[k] + (end[i] * (n4[k] - n1[k]) + middle[i] * (n5[k] - n1[k]))
        y[j], y[k] = x, z
        change = _squared(n4[j] - n1[j], both * (n4[k] - n1[k]))
        bend = _squared(n1[j] - 2.0 * n5[j] + n4[j], both * (n1[k] - 2.0 * n5[k] + n4[k]))
        stages = _squared(n5[j] - 0.5 * (n2[j] + n3[j]), both * (n5[k] - 0.5 * (n2[k] + n3[k])))
        quadrature = share * bend * (bend / (change + bend + _TINY))
        # NaN may have a sign.
        worst = max(worst, to_bits(abs(middle[i] * middle[i] * (stages + quadrature))))
        largest = max(largest, to_bits(abs(_squared(x, both * z))))
    return np.sqrt(from_bits(worst)), np.sqrt(from_bits(largest))
