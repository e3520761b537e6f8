"""Floor of the partition function Z on grids."""

from __future__ import annotations

import numpy as np

from meanfield.arrays import EPS, FloatArray

# A partition function this small, of a kernel whose largest value is about 1 (`interaction` makes
# it so), is rounding of its transform. It occurs only where the density is as small (Z >= the mass
# within 1/sqrt(beta) of the point), so the flux there is below rounding whatever the quotient; the
# floor keeps that quotient bounded. For kernels that are not largest at s = 1 it may occur where
# the mass is: `partition` sees that.
# Grids have nodes far from all mass and floor Z; tokens stand where mass is, and are not floored:
# those with next to none of it are summed over pairs (`tokens`).
PARTITION_FLOOR = 16 * EPS


def floored(partition: FloatArray) -> FloatArray:
    """Values of Z, in place, no smaller than the rounding of their transform."""
    largest = max(1.0, float(partition.max(initial=0.0)))
    return np.maximum(partition, PARTITION_FLOOR * largest, out=partition)
