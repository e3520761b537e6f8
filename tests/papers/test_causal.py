"""Causal attention: the second token, positions near uniform, Poisson layers, centres."""

import math
from dataclasses import replace

import numpy as np
import pytest
from parameters import refused
from scipy.integrate import quad, solve_ivp

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.observables.cosines import greedy_centres, strong_centres
from meanfield.papers.causal import causal_poisson, causal_response
from meanfield.papers.random_tokens import expected_centres

LINEAR = mf.Problem(mf.Circle(), mf.linear(), mf.SA)


def test_response_of_positions_is_printed():
    """Values at lambda t = 1.7 * 1.3, s_0 = 0.3, and nothing before the source."""
    result = causal_response(1.7 * 1.3, 0.3, np.array([0.1, 0.5, 0.8, 1.0]))
    expected = [0.0, 7.431105303789, 7.056382837935, 6.785221799334]
    np.testing.assert_allclose(result, expected, rtol=0, atol=6e-13)


@pytest.mark.parametrize("exponent", [2.1, -3.0])
@pytest.mark.parametrize("power", [0.0, 1.0, 2.5])
def test_powers_of_the_position_grow_alone(exponent, power):
    """s^p plus its response is s^p e^{lambda t / (p + 1)}, attraction or repulsion."""
    s = 0.7

    def part(y: float) -> float:  # Y = ln(s / s_0)
        source = s * math.exp(-y)
        return float(causal_response(exponent, source, np.array([s]))[0] * source ** (power + 1))

    response = quad(part, 0, 60, epsabs=1e-14, limit=200)[0]
    growth = math.expm1(exponent / (power + 1))
    assert response == pytest.approx(s**power * growth, abs=1e-11)


def profile(s: FloatArray) -> FloatArray:
    return np.asarray((0.1 + 0.3 * s) * np.exp(2j * s))


def test_poisson_layers_stay_poisson():
    """Printed moments at four positions and two times."""
    result = causal_poisson(LINEAR, profile, np.array([2.0, 5.0]), np.array([0.0, 0.25, 0.5, 1.0]))
    expected = [
        [
            0.2635396737806, 0.3486744810807 + 0.1200148587155j, 0.3478818816411 + 0.2907985529515j,
            0.0507567619025 + 0.5640395670568j,
        ],
        [
            0.7745060372993, 0.8331554899023 + 0.1070240763298j, 0.8453375975265 + 0.232572208594j,
            0.7567856730502 + 0.4900198155303j,
        ],
    ]  # fmt: skip
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-11)


def test_poisson_layers_of_any_value():
    """With two heads the layers of midpoints converge to them; equal layers forget the mask."""
    first, second = [[0.5, 0.1], [-0.6, 1.0]], [[0.3, 0.2], [0.0, 0.1]]
    heads = [mf.Head(score=0.0, value=each) for each in (first, second)]
    problem = mf.Problem(mf.Circle(), mf.Attention(heads, beta=1.0))
    value = np.add(first, second)

    def midpoints(count: int) -> complex:
        zeta = profile((np.arange(count) + 0.5) / count)

        def speed(t: float, zeta: FloatArray) -> FloatArray:
            vectors = value @ np.array([zeta.real, zeta.imag])
            force = vectors[0] + 1j * vectors[1]
            # Half of the layer's own mass, and the position of its middle.
            mean = (np.cumsum(force) - force / 2) / (np.arange(count) + 0.5)
            return np.asarray((mean - mean.conj() * zeta**2) / 2)

        run = solve_ivp(speed, (0, 2), zeta, rtol=1e-9, atol=1e-11)
        return complex(run.y[-1, -1])

    for count in (40, 80):
        (exact,) = causal_poisson(problem, profile, np.array([2.0]), np.array([1 - 0.5 / count]))[0]
        error = abs(midpoints(count) - exact)
        assert error < 0.6 * count**-1.6
    positions = np.array([0.0, 0.4, 1.0])
    (same,) = causal_poisson(problem, lambda s: 0.3 + 0 * s, np.array([1.0]), positions)
    np.testing.assert_allclose(same, same[0], rtol=0, atol=1e-13)


@pytest.mark.slow
def test_centres_are_as_many_as_expected():
    """200 tokens, separation 1/2: 2 pi in the mean; greedy ones cover everything."""
    rng = np.random.default_rng(11)
    counts = [len(strong_centres(rng.uniform(0, 2 * np.pi, 200), 0.5)) for _ in range(60)]
    error = np.std(counts) / math.sqrt(60)
    assert np.mean(counts) == pytest.approx(expected_centres(mf.Circle(), 200, 0.5), abs=4 * error)
    x = rng.standard_normal((300, 5))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    greedy, strong = greedy_centres(x, 0.9), strong_centres(x, 0.9)
    angles = np.arccos(np.clip(x @ x.T, -1, 1))
    assert set(strong) <= set(greedy) and angles[greedy].min(axis=0).max() <= 0.9
    assert np.all(angles[np.ix_(greedy, greedy)] + 9 * np.eye(len(greedy)) > 0.9)
    assert strong.tolist() == [i for i in range(300) if np.all(angles[i, :i] > 0.9)]


def test_what_has_no_order_is_refused():
    """Numbers out of range, profiles that are not smooth, problems with scores."""
    one, circle = np.ones(1), mf.Circle()
    refused("must be positive", causal_response, 1.0, 0.0, one)
    for message, of, times, positions in (
        ("do not resolve the moments", lambda s: np.abs(s - 0.3), one, one),
        ("none larger than 1", lambda s: 2 + s, one, one),
        ("not negative and in order", profile, -one, one),
        ("numbers from 0 to 1", profile, one, 2 * one),
    ):
        refused(message, causal_poisson, LINEAR, of, times, positions)
    noisy = mf.Attention([mf.Head(score=0.0, value=[1, 2])], beta=1.0, diffusivity=0.1)
    turned = mf.LinearDrift([[0, 1], [-1, 0]])
    for message, problem in (
        ("heads whose scores are 0", mf.Problem(circle, mf.exponential(1.0), mf.USA)),
        (r"on mf.Circle\(\), not on Sphere", mf.Problem(mf.Sphere(), mf.linear(), mf.USA)),
        ("give no feed_forward, drift or layers", replace(LINEAR, drift=turned)),
        ("diffusivity > 0", mf.Problem(circle, noisy)),
    ):
        refused(message, causal_poisson, problem, profile, one, one)
    refused(r"got an array of shape \(3, 2\)", strong_centres, np.ones((3, 2)), 0.1)
    refused("separation must be at least 0", greedy_centres, np.ones(3), -0.1)
