"""Kuramoto's model: the order of partial synchrony, and Lorentz's law in time."""

import math

import numpy as np
import pytest
from parameters import refused, together
from scipy.integrate import quad, solve_ivp

import meanfield as mf
from meanfield.papers.kuramoto import critical_coupling, ott_antonsen_order, synchronised_order


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
    assert ott_antonsen_order(mf.Lorentzian(0.1), 1.0, 1e4, 0.0) == 0.0


def test_every_coupling_has_an_order():
    """K^4 would overflow; of 1 - r little more than (sigma / K)^2 / 2 is left."""
    for law in (mf.Lorentzian(0.2), mf.Gaussian(0.2), mf.UniformSpread(0.2)):
        assert synchronised_order(law, 1e100) == synchronised_order(law, 1e200) == 1.0
    assert synchronised_order(mf.Gaussian(0.2), 1e4) == pytest.approx(1.0 - 2e-10, abs=1e-14)


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

        def part(angle: float, law=law, r=r) -> float:
            density = law.density(np.array([1.7 * r * math.sin(angle)]))[0]
            return math.cos(angle) ** 2 * density

        total = quad(part, -math.asin(end), math.asin(end), epsabs=1e-13)[0]
        assert 1.7 * total == pytest.approx(1.0, abs=1e-12)
    assert 1.0 / critical_coupling(mf.Gaussian(1.0)) == pytest.approx(0.6266570686578, abs=1e-13)
    # r = 1 - sigma^2 / 2 where nearly all lock, on both sides of the series.
    for width in (0.5e-4, 2e-4, 1e-9):
        order = synchronised_order(mf.Gaussian(width), 1.0)
        assert order == pytest.approx(1.0 - width**2 / 2, abs=3e-15)
    assert synchronised_order(mf.UniformSpread(1e-9), 1.0) == pytest.approx(1.0, abs=1e-15)


def test_values_out_of_range_are_refused():
    """An order would be a number of no meaning."""
    law = mf.Lorentzian(1.0)
    refused("coupling must be at least 0", synchronised_order, mf.Gaussian(1.0), -1.0)
    refused("coupling must not be 0", ott_antonsen_order, law, 0.0, 1.0, 0.1)
    refused("times must not be neg", ott_antonsen_order, law, 1.0, -1.0, 0.1)
    refused("start must lie between", ott_antonsen_order, law, 1.0, 1.0, 2.0)
