"""Tokens at the quantiles of a density on the circle: the closest tokens of equal mass."""

from __future__ import annotations

import numpy as np

from meanfield.measures import Density


def at_quantiles(density: Density, tokens: int) -> np.ndarray:
    """Angles x_j in [0, 2 pi] with mass (j + 1/2) / N in [0, x_j]; error 1e-13."""
    c = density.coefficients
    k = np.arange(1, len(c))

    def below(theta: np.ndarray) -> np.ndarray:
        # Mass of [0, theta]: theta / 2 pi + 2 Re sum_k c_k (e^{ik theta} - 1) / (2 pi i k).
        waves = np.exp(1j * np.multiply.outer(theta, k)) - 1.0
        return np.asarray(theta + 2.0 * (waves @ (c[1:] / (1j * k))).real) / (2.0 * np.pi)

    wanted = (np.arange(tokens) + 0.5) / tokens
    low, high = np.zeros(tokens), np.full(tokens, 2.0 * np.pi)
    for _ in range(46):
        middle = 0.5 * (low + high)
        left = below(middle) < wanted
        low, high = np.where(left, middle, low), np.where(left, high, middle)
    return 0.5 * (low + high)
