"""Laws of natural frequencies: densities, quantiles, quadratures and resolvents agree."""

import numpy as np
import pytest
from parameters import refused
from scipy.integrate import quad

import meanfield as mf
from meanfield.runfile.matrices import FREQUENCIES

LAWS = [law(0.3, 0.2) for law in FREQUENCIES.values()]


@pytest.mark.parametrize("law", LAWS)
def test_quantiles_density_and_resolvent_are_of_one_law(law):
    """Simulated tokens would have another law than the theory beside them."""
    p = np.array([1e-3, 0.2, 0.5, 0.9])
    # dp / d omega = g, by Richardson's differences: h^4 and rounding / h below 1e-9.
    h = 1e-3 * np.minimum(p, 1 - p)
    wide, narrow = (law.quantiles(p + s) - law.quantiles(p - s) for s in (h, h / 2))
    np.testing.assert_allclose(
        law.density(law.quantiles(p)) * (8 * narrow - wide) / (6 * h), 1.0, rtol=1e-9
    )
    assert law.peak == law.density(np.array([0.2]))[0] and law.mean == law.quantiles(p)[2] == 0.2
    # In the angle of Lorentz's tangent, so that all tails are inside.
    z = 1.0 + 0.1j
    half = 0.3 if isinstance(law, mf.UniformSpread) else np.inf
    angles = np.arctan(np.array([-half, half]) / 0.3)

    def part(angle: float) -> complex:
        w = 0.2 + 0.3 * np.tan(angle)
        return complex(law.density(np.array([w]))[0] * 0.3 / np.cos(angle) ** 2 / (z + 1j * w))

    judge = quad(part, *angles, complex_func=True, epsabs=1e-12)[0]
    assert abs(law.resolvent(z) - judge) < 1e-11
    nodes, weights = law.nodes(80)
    assert abs(weights @ (1 / (z + 1j * nodes)) - judge) < 1e-11


def test_listed_frequencies_are_a_law():
    """Equal masses at the values, each drawn with the same probability."""
    law = mf.GivenFrequencies([0.3, -0.1, 0.4])
    assert law == mf.GivenFrequencies(np.array([0.3, -0.1, 0.4])) and law.mean == pytest.approx(0.2)
    assert law.quantiles([0.1, 0.5, 0.99]).tolist() == [-0.1, 0.3, 0.4]
    drawn = law.draw(2000, np.random.default_rng(0))
    # Four standard deviations of a count of 2000 / 3.
    assert all(abs(np.sum(drawn == value) - 2000 / 3) < 85 for value in law.values)
    assert law.resolvent(1.0) == pytest.approx(np.mean(1 / (1 + 1j * law.values)), abs=1e-16)


def test_what_is_no_law_is_refused():
    """No width, no values, or probabilities beyond 0 and 1."""
    for call, message in [
        (lambda: mf.Gaussian(0.0), "width must be positive, got 0"),
        (lambda: mf.GivenFrequencies([]), r"one for each token, got an array of shape \(0,\)"),
        (lambda: mf.GivenFrequencies([0.1]).quantiles([1.0]), "between 0 and 1"),
        (lambda: mf.Lorentzian(1.0).quantiles([0.0]), "between 0 and 1"),
        (lambda: mf.Lorentzian(1.0).nodes(0), "count must be at least 1, got 0"),
    ]:
        refused(message, call)
