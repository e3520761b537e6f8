"""Few tokens on the circle in their own field, in one compiled call instead of six.

Results equal `moments` and `gradient` to the bit.
"""

from __future__ import annotations

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.engines.compiled import njit
from meanfield.engines.fourier import checked_angles, checked_masses, takes_one_pass
from meanfield.engines.fourier.recurrence_kernels import (
    REACH,
    group_count,
    moments,
    products,
    set_factors,
    values,
)

# Empty array in place of an absent one.
_NONE = np.empty(0)


def own_velocity(
    points: FloatArray,
    weights: FloatArray | None,
    potential_multipliers: FloatArray,
    attention_multipliers: FloatArray | None,
) -> FloatArray | None:
    """Velocity Phi' / Z of few tokens in the field of all of them, in one compiled call.

        Phi_k = w_k c_k,    Z_k = a_k c_k,    c_k = sum_j w_j e^{-ik theta_j}

    Z = 1 without a_k. None where `moments` and `gradient` are as fast, or angles are too large.
    """
    angles = checked_angles(points)
    masses = checked_masses(weights, angles)
    shape = potential_multipliers.shape
    if attention_multipliers is not None and attention_multipliers.shape != shape:
        raise ValueError(
            f"potential_multipliers have shape {shape}, attention_multipliers "
            f"{attention_multipliers.shape}: expected (max_degree + 1,) both."
        )
    degree, series = len(potential_multipliers) - 1, 1 if attention_multipliers is None else 2
    if not takes_one_pass(angles.size, degree, series):
        return None
    velocity: FloatArray
    velocity, reduced = _own_velocity(
        angles,
        _NONE if masses is None else masses,
        potential_multipliers,
        _NONE if attention_multipliers is None else attention_multipliers,
        group_count(degree),
    )
    return velocity if reduced else None


@njit
def _own_velocity(  # type: ignore[no-untyped-def]
    points, weights, potential_multipliers, attention_multipliers, groups
):
    """Velocity of tokens in their own field, and True if no angle is too large; see above."""
    degree = len(potential_multipliers) - 1
    sums, reduced = products(points, weights, groups)
    c = moments(sums, 1.0 if len(weights) > 0 else 1.0 / len(points), degree)
    factors = np.empty((2 if len(attention_multipliers) > 0 else 1, groups, REACH + 1, 4))
    field = np.empty(degree + 1, np.complex128)
    for k in range(degree + 1):
        w = potential_multipliers[k]
        field[k] = complex(-k * (w * c[k].imag), k * (w * c[k].real))
    set_factors(field, factors[0])
    if len(attention_multipliers) > 0:
        for k in range(degree + 1):
            a = attention_multipliers[k]
            field[k] = complex(a * c[k].real, a * c[k].imag)
        set_factors(field, factors[1])
    velocity = np.empty(len(points))
    return velocity, values(factors, points, velocity) and reduced
