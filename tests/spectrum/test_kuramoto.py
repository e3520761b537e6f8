"""Kuramoto's model and attention with frequencies: onset, order and growth about incoherence."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from parameters import refused, together
from scipy.integrate import quad, solve_ivp

import meanfield as mf
from meanfield.spectrum.kuramoto import (
    critical_coupling,
    critical_widths,
    incoherence_growth_rates,
    ott_antonsen_order,
    synchronised_order,
)
from meanfield.terms.frequencies import UnimodalFrequencies

SA = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.SA)


def test_lorentzian_order_solves_its_equation():
    """Its equation is r' = (K/2) r (1 - r^2) - Delta r: above, at and below the threshold."""
    for width, times, expected in [
        (0.2, [5.0, 10.0, 20.0], [0.3903631504264, 0.7234968372164, 0.7744563084524]),
        (0.7, [5.0, 10.0], [0.0363966610087, 0.0133704532498]),
    ]:
        order = ott_antonsen_order(mf.Lorentzian(width), 1.0, np.array(times), 0.1)
        np.testing.assert_allclose(order, expected, rtol=0, atol=1e-13)
    for width in (0.5, 0.5 - 1e-12):
        run = solve_ivp(
            lambda t, r, w=width: 0.5 * r * (1 - r**2) - w * r, (0, 9), [0.6], rtol=1e-12, atol=0
        )
        order = ott_antonsen_order(mf.Lorentzian(width), 1.0, 9.0, 0.6)
        assert order == pytest.approx(run.y[0, -1], rel=1e-11)
    late = ott_antonsen_order(mf.Lorentzian(0.2, centre=3.0), 1.0, 1e4, 0.1)
    assert late == pytest.approx(synchronised_order(mf.Lorentzian(0.2), 1.0), abs=1e-15)
    assert late == pytest.approx(0.7745966692415, abs=1e-13)
    assert ott_antonsen_order(mf.Lorentzian(2.0), 1.0, 1e4, 0.1) == 0.0


@together(
    ("law", "order"),
    [
        (mf.Gaussian(0.3), 0.9438801186610),
        (mf.Gaussian(0.5), 0.7151739566832),
        (mf.Gaussian(0.6), 0.3577640575630),
        (mf.UniformSpread(0.7), 0.8816555135046),
        (mf.UniformSpread(0.75, centre=2.0), 0.8459561922284),
        (mf.UniformSpread(math.pi / 4), math.pi / 4),
        (mf.Gaussian(0.6266570686579), 0.0),
        (mf.UniformSpread(0.7854), 0.0),
    ],
)
def test_order_of_partial_synchrony(law, order):
    """Numbers of both closed forms at K = 1, on both sides of the threshold."""
    assert synchronised_order(law, 1.0) == pytest.approx(order, abs=2e-13)


def test_order_is_what_locked_tokens_make():
    """The equation itself, 1 = K int cos^2 g(K r sin), with Lorentz's law beside the others."""
    for law in (mf.Lorentzian(0.3), mf.Gaussian(0.4), mf.UniformSpread(1.2)):
        r = synchronised_order(law, 1.7)
        end = min(1.0, 1.2 / (1.7 * r)) if isinstance(law, mf.UniformSpread) else 1.0
        total = quad(
            lambda a, g=law, r=r: (
                math.cos(a) ** 2 * g.density(np.array([1.7 * r * math.sin(a)]))[0]
            ),
            -math.asin(end),
            math.asin(end),
            epsabs=1e-13,
        )[0]
        assert 1.7 * total == pytest.approx(1.0, abs=1e-12)
    assert 1.0 / critical_coupling(mf.Gaussian(1.0)) == pytest.approx(0.6266570686578, abs=1e-13)
    # r = 1 - sigma^2 / 2 where nearly all lock, on both sides of the series.
    for width in (0.5e-4, 2e-4, 1e-9):
        order = synchronised_order(mf.Gaussian(width), 1.0)
        assert order == pytest.approx(1.0 - width**2 / 2, abs=3e-15)
    assert synchronised_order(mf.UniformSpread(1e-9), 1.0) == pytest.approx(1.0, abs=1e-15)


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
    result = critical_widths(sharp, shape)
    np.testing.assert_allclose(
        result[1:5], [0.09485998, 0.16205601, 0.18734634, 0.17423494], rtol=0, atol=5e-9
    )


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


@together(
    ("call", "message"),
    [
        (
            lambda: incoherence_growth_rates(
                mf.Problem(mf.Sphere(), mf.linear(), mf.USA), mf.Gaussian(1.0)
            ),
            r"Give mf.Circle\(\), not Sphere",
        ),
        (lambda: synchronised_order(mf.Gaussian(1.0), -1.0), "coupling must be at least 0"),
        (lambda: ott_antonsen_order(mf.Lorentzian(1.0), 0.0, 1.0, 0.1), "coupling must not be 0"),
        (lambda: ott_antonsen_order(mf.Lorentzian(1.0), 1.0, -1.0, 0.1), "times must not be neg"),
        (lambda: ott_antonsen_order(mf.Lorentzian(1.0), 1.0, 1.0, 2.0), "start must lie between"),
    ],
)
def test_what_has_no_frequencies_is_refused(call, message):
    """Spheres, repulsion where an order is asked, and values out of range."""
    refused(message, call)
