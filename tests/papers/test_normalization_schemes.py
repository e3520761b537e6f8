"""Tokens at equal angles wherever layers normalise, as flows and layer by layer."""

import math
from dataclasses import replace
from typing import Any

import core
import numpy as np
import pytest
from parameters import refused, together
from scipy.integrate import solve_ivp

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.papers.equiangular import equiangular_time
from meanfield.papers.normalization_schemes import (
    equiangular_layers,
    linear_phase_clock,
    terminal_contraction,
)

SA = mf.Problem(mf.Sphere(8), mf.exponential(2.0), mf.SA)


def laid(problem: mf.Problem, placement: Any, step: float = 0.0, **options: Any) -> mf.Problem:
    return replace(problem, layers=mf.Layers(step=step, placement=placement, **options))


def attention(n: int, beta: float, flow: mf.Flow) -> core.Term:
    """Field of the oracle for tokens in R^n."""
    head = (beta * np.eye(n), flow.strength * np.eye(n))
    return core.attention([head], flow.normalization, abs(beta))


POST = [0.230696012555, 0.659873709506]
SPEED = 0.1389945237720
FLOWS = [
    ("post", SPEED, [*POST, 0.998645534025, 0.999999938414], 1.0),
    ("pre", SPEED, [0.168809527577, 0.375592696272, 0.803124142869, 0.952464739920], 4.2267944818),
    ("peri", 0.2548274222271, [0.308871998857, 0.576543115652, 0.878872731884, 0.965242544529],
     5.4590561567),
    ("ngpt", 0.1274137111136, [0.190113511112, 0.487100263690, 0.959925042737, 0.999722339389],
     1.0),
    ("depth_scaled", SPEED, [0.175287385506, 0.416715588443, 0.917730756054, 0.997184160935], 1.0),
    ("mix", SPEED, [*POST, 0.97273994, 0.99491694], 3.74201648),
]  # fmt: skip


@pytest.mark.parametrize(("placement", "speed", "cosines", "radius"), FLOWS)
def test_flows_are_those_of_eight_tokens(placement, speed, cosines, radius):
    """First speed, cosines at four times, radius at t = 5 would differ from printed ones."""
    problem = laid(SA, placement, tau=2.0, alpha=0.5)
    (early,) = equiangular_layers(problem, 8, np.array([1e-9])).cosine
    assert early / 1e-9 == pytest.approx(speed, rel=1e-8)
    result = equiangular_layers(problem, 8, np.array([1.0, 2.0, 5.0, 10.0]))
    digits = 5e-9 if placement == "mix" else 1e-12
    np.testing.assert_allclose(result.cosine, cosines, rtol=0, atol=digits)
    np.testing.assert_allclose(result.gap, 1 - result.cosine, rtol=0, atol=2e-16)
    assert result.radius[2] == pytest.approx(radius, abs=1e-8 if placement == "mix" else 1e-10)


@pytest.mark.parametrize("placement", ["pre", "peri", "ngpt"])
@pytest.mark.parametrize(("beta", "flow"), [(-3.0, mf.SA), (1.5, mf.Flow(False, 0.7))])
def test_flows_obey_their_equations(placement, beta, flow):
    """Speeds of vectors, from the cosine -0.1, for beta < 0 and without softmax."""
    n, a, rate = 8, -0.1, 0.5
    problem, term = mf.Problem(mf.Sphere(9), mf.exponential(beta), flow), attention(n, beta, flow)

    def speed(t: float, y: FloatArray) -> list[float]:
        gamma, r = y
        tokens = np.linalg.cholesky((1 - gamma) * np.eye(n) + gamma)
        first, second = term(core.Points(tokens, np.full(n, 1 / n)), tokens[:2], None).u
        size, along = np.linalg.norm(first), first @ tokens[0]
        factor, outward = {
            "pre": (r, along), "peri": (r * size, along / size), "ngpt": (size / rate, 0.0),
        }[placement]  # fmt: skip
        return [(first @ tokens[1] + tokens[0] @ second - 2 * along * gamma) / factor, outward]

    run = solve_ivp(speed, (0, 3), [a, 1.5], rtol=1e-12, atol=1e-13, method="DOP853")
    problem = laid(problem, placement, radius=1.5, alpha=rate)
    cosines = equiangular_layers(problem, n, np.array([0.0, 3.0]), start=a)
    assert cosines.cosine[0] == a and cosines.radius[0] == 1.5
    np.testing.assert_allclose([cosines.cosine[1], cosines.radius[1]], run.y[:, -1], rtol=2e-11)


def test_pre_and_peri_share_a_curve():
    """The radius of a cosine does not depend on which; late (1 - gamma) r^2 is constant."""
    runs = [
        equiangular_layers(laid(SA, each, radius=1.7), 8, np.array([0.5, 4.0, 1e4]))
        for each in ("pre", "sandwich")
    ]
    for run in runs:
        softmax_time = mf.equiangular_time(SA, 8, run.cosine[:2])
        radius = 1.7 * np.exp(softmax_time) / np.sqrt(1.0 + 7.0 * run.cosine[:2])
        np.testing.assert_allclose(run.radius[:2], radius, rtol=1e-12)
        assert run.gap[2] * (run.radius[2] / 1.7) ** 2 == pytest.approx(3.734953426363, abs=1e-6)


@pytest.mark.parametrize("placement", ["post", "pre", "peri", "ngpt", "depth_scaled"])
def test_layers_approach_their_flow_at_first_order(placement):
    """Layers would belong to another flow."""
    coarse, fine = (
        equiangular_layers(laid(SA, placement, h, count=round(2 / h), alpha=0.5), 8).cosine[-1]
        for h in (0.01, 0.005)
    )
    problem = laid(SA, placement, alpha=0.5)
    (exact,) = equiangular_layers(problem, 8, np.array([2.0])).cosine
    order = math.log2((coarse - exact) / (fine - exact))
    assert order == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("placement", ["post", "pre", "peri", "mix", "ngpt", "depth_scaled"])
def test_layers_are_those_of_vectors(placement):
    """Ten layers of nine tokens in R^9 as they are written, with USA and beta < 0, too."""
    for beta, flow, start in ((3.0, mf.Flow(True, 1.3), 0.1), (-1.0, mf.Flow(False, 1.3), -0.12)):
        problem = mf.Problem(mf.Sphere(9), mf.exponential(beta), flow)
        problem = laid(problem, placement, 0.4, count=10, radius=1.4, alpha=0.6, tau=0.8)
        cosines = equiangular_layers(problem, 9, start=start)
        x = 1.4 * np.linalg.cholesky((1 - start) * np.eye(9) + start)
        tokens, step = core.Points(x, np.full(9, 1 / 9)), 0.24 if placement == "ngpt" else 0.4
        for number in range(10):
            scheme = ("post" if number < 2 else "pre") if placement == "mix" else placement
            tokens = core.layer([attention(9, beta, flow)], scheme, tokens, number, step)
            if scheme == "post":
                tokens = tokens._replace(y=1.4 * tokens.y)
        x, y = tokens.y[:2]
        size = np.linalg.norm(x)
        assert cosines.cosine[-1] == pytest.approx(x @ y / size / np.linalg.norm(y), abs=2e-14)
        if placement in ("pre", "peri", "mix"):
            assert cosines.radius[-1] == pytest.approx(size, rel=2e-15)


@together("placement", ["post", "pre", "peri", "ngpt", "depth_scaled"])
def test_late_layers_contract_as_predicted(placement):
    """The last gaps of many layers; post with h = 1/2 has 4/9."""
    assert terminal_contraction(laid(SA, "post", 0.5)) == pytest.approx(4 / 9, abs=1e-15)
    problem = laid(SA, placement, 0.5, count=60, alpha=0.7)
    run = equiangular_layers(problem, 8, start=0.999999)
    ratio = terminal_contraction(problem, depth=run.times[-2], radius=run.radius[-2])
    assert run.gap[-1] / run.gap[-2] == pytest.approx(ratio, rel=1e-6)


def test_linear_phase_has_other_clocks():
    """Amplitudes of degree 3 at beta = 5, r_0 = 1.5, t = 6, and a power of time for pre."""
    problem = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.SA)
    rate, six = mf.growth_rates(problem, 3)[3], np.array([6.0])
    for placement, expected in [
        ("post", 60.1036157),
        ("pre", 3.1954432),
        ("peri", 3.4207208),
        ("ngpt", 9.8991480),
        ("depth_scaled", 9.4596703),
    ]:
        tau = linear_phase_clock(laid(problem, placement, radius=1.5, alpha=0.5), six)
        assert np.exp(rate * tau)[0] == pytest.approx(expected, rel=3e-8)
    far = linear_phase_clock(laid(problem, "pre"), np.array([1e8, 1e9]))
    assert rate * np.diff(far)[0] / math.log(10.0) == pytest.approx(0.764149562835, abs=1e-8)
    (tau,) = linear_phase_clock(laid(problem, "mix", radius=1.5, tau=2.0), six)
    (rest,) = linear_phase_clock(laid(problem, "pre", radius=1.5), np.array([4.0]))
    assert tau == pytest.approx(2.0 + rest, abs=1e-14)
    kuramoto = mf.Problem(mf.Circle(), mf.linear(), mf.SA)
    assert linear_phase_clock(laid(kuramoto, "pre", radius=1.5), six)[0] == pytest.approx(4.0)


def test_clocks_reach_any_time():
    """From 1e-300 to 1e300 and with |beta| = 340: gained and gaps are positive, in order."""
    times = np.array([1e-300, 1e-5, 1.0, 1e5, 1e100, 1e300])
    for beta in (340.0, -340.0):
        problem = mf.Problem(mf.Sphere(8), mf.exponential(beta), mf.SA)
        for placement in ("pre", "peri", "ngpt"):
            run = equiangular_layers(laid(problem, placement), 8, times)
            assert np.all(np.diff(run.cosine) >= 0) and np.all(np.diff(run.radius) >= 0)
            assert np.all(np.isfinite(run.radius)) and run.cosine[1] > 0
    # Behind e^beta / 2n of softmax's clock, at the rate 2 alpha: nothing is left.
    problem = mf.Problem(mf.Sphere(8), mf.exponential(100.0), mf.SA)
    assert equiangular_layers(laid(problem, "ngpt"), 8, np.array([1e100])).gap[0] == 0.0
    # Orthogonal tokens of beta = 100 attend to nothing but themselves: r = 1 + t, T = ln r.
    run = equiangular_layers(laid(problem, "pre"), 8, np.array([1e5]))
    gained = 2.0 * math.exp(-100.0) * math.log(1 + 1e5)
    assert run.cosine[0] == pytest.approx(gained, rel=1e-13)
    assert equiangular_time(problem, 8, run.cosine[0]) == pytest.approx(math.log1p(1e5), rel=1e-13)


def test_what_no_layer_does_is_refused():
    """Numbers out of range, and tokens that attention draws to the centre."""
    one, layers, clock = np.ones(1), equiangular_layers, linear_phase_clock
    refused("need mf.Sphere", layers, SA, 9, one)
    refused("times must be a list of numbers", layers, SA, 8, -one)
    refused("times must be a list of numbers from 0", layers, SA, 8)
    refused("number of layers is missing", layers, laid(SA, "pre", 0.1), 8)
    refused("have times of their own", layers, laid(SA, "pre", 0.1, count=3), 8, one)
    refused("mf.equiangular_layers knows", mf.equiangular_cosine, laid(SA, "pre"), 8, 1.0)
    sharp = mf.Problem(mf.Sphere(8), mf.exponential(400.0), mf.SA)
    refused("beta must be at most 340 in modulus, got 400", layers, sharp, 8, one)
    repelled = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.Flow(True, -1.0))
    refused("at the centre after a time 1: ", clock, laid(repelled, "peri"), np.array([2.0]))
    linear = mf.Problem(mf.Circle(), mf.linear(), mf.SA)
    refused("divides by the attention of uniform", clock, laid(linear, "ngpt"), one)
    noisy = mf.Problem(mf.Circle(), mf.linear(), mf.Flow(True, 1.0, 0.1))
    refused("without diffusion", clock, noisy, one)
    refused("times must not be negative", clock, SA, -one)
    opposite = mf.Problem(mf.Sphere(8), mf.linear(), mf.Flow(True, -1.0))
    message = "a layer moves tokens of length 1 to 0"
    refused(message, terminal_contraction, laid(opposite, "post", 1.0))
