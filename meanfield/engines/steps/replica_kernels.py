"""Compiled combinations of stages, each replica with a step of its own."""

from __future__ import annotations

from meanfield.engines.compiled import njit
from meanfield.engines.elementary import fma, wide_vectors


@njit
def combined(x, steps, coefficients, stages, rows, out):  # type: ignore[no-untyped-def]
    """Write x_r + h_r sum_s c_s k_rs for the systems r in rows, stages (s, R, m)."""
    wide_vectors()
    for j in range(len(rows)):
        r, row = rows[j], out[j]
        row[:] = 0.0
        own = coefficients[j if len(coefficients) > 1 else 0]
        for s in range(len(own)):
            factor, stage = own[s] * steps[r], stages[s, r]
            for i in range(len(row)):
                row[i] = fma(factor, stage[i], row[i])
        for i in range(len(row)):
            row[i] += x[r, i]
