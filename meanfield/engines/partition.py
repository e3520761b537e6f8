"""Floor of the partition function Z on grids."""

from __future__ import annotations

import numpy as np

from meanfield.arrays import EPS, FloatArray

# Smaller values of Z are rounding of its transform, for a kernel whose largest value is about 1, to
# which `interaction` scales it. They occur only where the density is as small (Z >= the mass within
# 1/sqrt(beta) of the point), so the flux there is below rounding. The floor bounds the quotient.
# For kernels that are not largest at s = 1 they may occur where the mass is; see
# `fields.lost_digits`. Z at tokens needs no floor: tokens have mass, and those with almost none are
# summed over pairs (`fields.tokens`).
PARTITION_FLOOR = 16 * EPS


def floored(partition: FloatArray) -> FloatArray:
    """Values of Z, in place, no smaller than the rounding of their transform."""
    largest = max(1.0, float(partition.max(initial=0.0)))
    return np.maximum(partition, PARTITION_FLOOR * largest, out=partition)
