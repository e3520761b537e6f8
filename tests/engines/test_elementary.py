"""Elementary functions of compiled loops."""

from fractions import Fraction

import numpy as np

from meanfield.engines.compiled import njit
from meanfield.engines.elementary import economised, exp2, small_sine_cosine


def test_economised_polynomial_is_chebyshevs():
    """Dropping T_4 from x^4 = (3 T_0 + 4 T_2 + T_4) / 8 leaves x^2 - 1/8."""
    assert economised([Fraction(0)] * 4 + [Fraction(1)], 1.0, 2) == (-0.125, 0.0, 1.0)


@njit
def _elementary(angles, exponents):  # type: ignore[no-untyped-def]
    sines, cosines, powers = np.empty(angles.size), np.empty(angles.size), np.empty(angles.size)
    for i in range(angles.size):
        sines[i], cosines[i] = small_sine_cosine(angles[i])
        powers[i] = exp2(exponents[i])
    return sines, cosines, powers


def test_elementary_functions_are_accurate_to_two_units():
    """A wrong coefficient would cost digits everywhere."""
    rng = np.random.default_rng(0)
    angles = np.concatenate([rng.uniform(-np.pi / 4, np.pi / 4, 4000), [0.0, 1e-200, np.pi / 4]])
    exponents = np.concatenate([rng.uniform(-1020.0, 900.0, 4000), [0.0, 1.0, -2000.0]])
    sines, cosines, powers = _elementary(angles, exponents)
    # 2 units in the last place of ours and half a unit of NumPy's.
    tolerance = {"rtol": 2.5 * np.finfo(float).eps, "atol": 0.0}
    np.testing.assert_allclose(sines, np.sin(angles), **tolerance)
    np.testing.assert_allclose(cosines, np.cos(angles), **tolerance)
    np.testing.assert_allclose(powers, np.exp2(exponents), **tolerance)


def test_exp2_of_zero_is_one_and_underflows_to_zero():
    """Equal tokens must feel exactly the weight 1; far ones nothing, not garbage bits."""
    exponents = np.array([0.0, -1022.0, -1e6, -1e300])
    np.testing.assert_array_equal(_elementary(np.zeros(4), exponents)[2], [1.0, 0.0, 0.0, 0.0])
