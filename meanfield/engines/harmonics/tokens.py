"""Tokens on the sphere in their own field, by solid harmonics."""

from __future__ import annotations

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.engines.harmonics import solid
from meanfield.engines.harmonics.points import checked_masses, checked_vectors
from meanfield.engines.harmonics.solid_tables import set_terms_of_sums, tables

_NONE = np.empty(0)


def own_velocity(
    points: FloatArray,
    weights: FloatArray | None,
    potential_multipliers: FloatArray,
    attention_multipliers: FloatArray | None = None,
    slope: float | None = None,
) -> FloatArray | None:
    """Velocity grad g / h, (n, 3), of tokens in their own field; h = 1 without a_l.

        g_lm = w_l m_lm,    h_lm = a_l m_lm,    m_lm moments of the tokens

    None where `moments` and `gradient` are as fast. slope: c in a_l = c w_l, l > 0, if known.
    """
    vectors = checked_vectors(points)
    masses = checked_masses(weights, vectors)
    count, degree = len(vectors), len(potential_multipliers) - 1
    if not (solid.is_faster(count, degree, True) and solid.is_faster(count, degree, False)):
        return None
    table, sums = tables(degree), solid.sums_of(vectors, masses, degree)
    below = _NONE if attention_multipliers is None or slope is not None else attention_multipliers
    terms = solid.empty_terms(len(table.poles), True, len(below) > 0)
    mass = set_terms_of_sums(
        degree, table.poles, table.scales, sums, potential_multipliers, below, *terms
    )
    line = _NONE
    if attention_multipliers is not None and slope is not None:
        constant = (attention_multipliers[0] - slope * potential_multipliers[0]) * mass
        line = np.array([constant, slope])
    velocity = np.empty_like(vectors)
    solid.write_fields(degree, terms, line, vectors, _NONE, velocity, _NONE)
    return velocity
