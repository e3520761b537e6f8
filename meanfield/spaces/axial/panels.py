"""Label space of axial measures: panels of Gauss-Legendre nodes in the polar angle.

As on the circle, on [0, pi] and with the weights of sigma, c sin^{d-2}(theta) dtheta.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanfield.arrays import FloatArray
from meanfield.spaces.axial.measure import height
from meanfield.spaces.circle.panels import Panels, equal_bounds

# Panels of so many widths 1/sqrt(d) of sigma about the equator: 16 nodes integrate it to 1e-15.
_WIDTHS = 2.0


@dataclass(frozen=True, eq=False)
class AxialPanels(Panels):
    """Panels of [0, pi], each with 16 nodes."""

    ambient: int = 2  # d of S^{d-1}
    end = np.pi

    def _of_sigma(self, lengths: FloatArray) -> FloatArray:
        return lengths * height(self.ambient, self.points)

    def _next(self, first: float) -> float:
        return np.inf


def panels(d: int, length: float) -> AxialPanels:
    """Equal panels of at most that length in radians, short enough for sigma."""
    return AxialPanels(equal_bounds(np.pi, min(length, _WIDTHS / np.sqrt(d))), d)
