"""Random fields and points, for tests of what is done with them."""

import numpy as np

from meanfield.engines.harmonics import coefficients as packing
from meanfield.spaces.sphere.sphere import Sphere

# Directions in which formulas with angles divide by zero, change sign or jump.
SPECIAL = np.array(
    [
        [0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [-0.0, -0.0, 1.0], [1e-9, 0.0, 1.0], [-3e-9, 4e-9, -1.0],
        [1e-160, -1e-160, 1.0], [-1e-300, 2e-300, 1.0], [-1e-310, 0.0, -1.0], [1.0, 0.0, 0.0],
        [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [-0.6, -1e-20, 0.8], [0.6, -1e-20, -0.8],
    ]
)  # fmt: skip


def circle_field(degree: int, seed: int = 0) -> np.ndarray:
    """Coefficients of a real field with every degree of the same size."""
    rng = np.random.default_rng(seed)
    c = rng.normal(size=degree + 1) + 1j * rng.normal(size=degree + 1)
    c[0] = c[0].real
    return c


def sphere_field(degree: int, seed: int = 0, mean: float | None = None) -> np.ndarray:
    """Coefficients of a real field with |g| of about 1, or of a density-like one."""
    rng = np.random.default_rng(seed)
    count = packing.count_of(degree)
    result = (rng.normal(size=count) + 1j * rng.normal(size=count)) / (2 * np.sqrt(count))
    result[: degree + 1] = result[: degree + 1].real
    if mean is not None:
        result *= 0.1
        result[0] = mean
    return result


def special_and_random(count: int, seed: int = 0) -> np.ndarray:
    """Unit vectors, the special directions first."""
    points = Sphere().random_points(count, np.random.default_rng(seed))
    points[: len(SPECIAL)] = SPECIAL
    return points
