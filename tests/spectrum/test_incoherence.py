"""Attention with frequencies: onset and growth about incoherence."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from parameters import refused
from scipy.integrate import quad

import meanfield as mf
from meanfield.spectrum.incoherence import critical_widths, incoherence_growth_rates
from meanfield.terms.frequencies import UnimodalFrequencies

SA = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.SA)


def test_spread_changes_which_degree_is_first():
    """Without spread degree 3 is the fastest, with it degree 2 is the first."""
    shape = mf.Lorentzian(1.0, centre=0.4)
    widths = critical_widths(SA, shape, 4)
    expected = [0.17867663, 0.25705870, 0.22755944, 0.15002228]
    np.testing.assert_allclose(widths[1:], expected, rtol=0, atol=5e-9)
    rates, k = mf.growth_rates(SA, 4), np.arange(5)
    assert widths.argmax() == 2 and rates.argmax() == 3
    result = incoherence_growth_rates(SA, mf.Lorentzian(0.2, centre=0.4), 4)
    np.testing.assert_allclose(result, rates - 0.2 * k - 0.4j * k, rtol=0, atol=1e-15)
    sharp = mf.Problem(mf.Circle(), mf.exponential(10.0), mf.SA)
    expected = [0.09485998, 0.16205601, 0.18734634, 0.17423494]
    np.testing.assert_allclose(critical_widths(sharp, shape)[1:5], expected, rtol=0, atol=5e-9)


def mean_of(law: UnimodalFrequencies, function: Callable[[float], complex]) -> complex:
    """Mean over a law, in the angle in whose tangent all tails are inside."""
    end = math.pi / 4 if law.plateau else math.pi / 2

    def part(angle: float) -> complex:
        w = law.centre + law.width * math.tan(angle)
        density = law.density(np.array([w]))[0]
        return complex(density * function(w) * law.width / math.cos(angle) ** 2)

    return complex(quad(part, -end, end, complex_func=True, epsabs=1e-13)[0])


@pytest.mark.parametrize("shape", [mf.Gaussian, mf.UniformSpread, mf.Lorentzian])
def test_growth_solves_its_equation(shape):
    """1 = lambda_k int g / (s + i k omega), with diffusion, and s = 0 at the critical width."""
    noisy = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.Flow(True, 1.0, 0.01))
    law = shape(0.15, 0.3)
    result, damping = incoherence_growth_rates(noisy, law, 3), 0.01 * np.arange(4) ** 2
    for k in (1, 2, 3):
        s = result[k]
        total = mean_of(law, lambda w, k=k, s=s: 1.0 / (s + damping[k] + 1j * k * w))
        assert (mf.growth_rates(noisy, 3)[k] + damping[k]) * total == pytest.approx(1.0, abs=2e-12)
        critical = shape(critical_widths(noisy, law, 3)[k])
        assert abs(incoherence_growth_rates(noisy, critical, 3)[k]) < 1e-11


def test_listed_frequencies_grow_as_their_linear_system():
    """c_k(omega_j)' = -i k omega_j c_k + lambda_k mean c_k; many values are nearly their law."""
    law = mf.Gaussian(0.2, 0.1)
    values = mf.GivenFrequencies(law.quantiles((np.arange(300) + 0.5) / 300))
    result, limit = (incoherence_growth_rates(SA, each, 2)[2] for each in (values, law))
    # Quantiles in place of the law: the midpoint rule, whose tails err like 1 / n^2.
    assert abs(result - limit) < 4e-5
    three = mf.GivenFrequencies([0.3, -0.1, 0.3])
    s = incoherence_growth_rates(SA, three, 2)
    rates = mf.growth_rates(SA, 2)
    for k in (1, 2):
        assert rates[k] * three.resolvent(s[k] / k) / k == pytest.approx(1.0, abs=1e-13)


def test_damping_below_the_threshold():
    """Gauss's law damps at the rate of the continuation, e^{x^2} erfc(x) sqrt(pi/2) lambda = 1."""
    problem = mf.Problem(mf.Circle(), mf.linear(), mf.SA)  # lambda_1 = 1/2
    law = mf.Gaussian(0.8)
    s = incoherence_growth_rates(problem, law, 1)[1].real

    # Volterra's equation of the mean, Z = f + lambda int ghat(t - u) Z(u) du, ghat = e^{-(sigma
    # t)^2 / 2}: by trapezoids, extrapolated. From t = 20 on the pole alone is left.
    def late_rate(step: float) -> float:
        t = np.arange(0.0, 24.0 + step / 2, step)
        response = np.exp(-((0.8 * t) ** 2) / 2)
        mean = np.zeros(len(t))
        for i in range(len(t)):
            past = response[i:0:-1] @ mean[:i] - 0.5 * response[i] * mean[0] if i else 0.0
            mean[i] = (response[i] + 0.5 * step * past) / (1.0 - 0.25 * step if i else 1.0)
        return float(np.log(mean[-1] / mean[-1 - round(4.0 / step)]) / 4.0)

    coarse, fine = late_rate(0.04), late_rate(0.02)
    assert s < 0 and (4 * fine - coarse) / 3 == pytest.approx(s, abs=2e-6)
    assert math.isnan(incoherence_growth_rates(problem, mf.UniformSpread(1.0), 1)[1].real)


def test_spheres_are_refused():
    """A rotation of a sphere has an axis, and the rates would be of no problem."""
    sphere = mf.Problem(mf.Sphere(), mf.linear(), mf.USA)
    message = r"Give mf.Circle\(\), not Sphere"
    refused(message, incoherence_growth_rates, sphere, mf.Gaussian(1.0))
