"""Constants of certified stability: closed forms, and configurations that reach them."""

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.papers.contraction import (
    arc_rate,
    convex_angle,
    is_one_cluster_almost_surely,
    pair_force,
    slopes,
    softmax_source,
    softmax_stretch,
)

CIRCLE = mf.Circle()


def slope(beta: float, angle: np.ndarray) -> np.ndarray:
    """Slope h' of h = e^{beta cos - |beta|} sin."""
    return np.exp(beta * np.cos(angle) - abs(beta)) * (np.cos(angle) - beta * np.sin(angle) ** 2)


def velocity(beta: float, normalized: bool, points: np.ndarray, masses: np.ndarray, at: np.ndarray):
    weights = masses * np.exp(beta * (np.cos(points - at[:, None]) - 1.0))
    force = (weights * np.sin(points - at[:, None])).sum(axis=1)
    return force / weights.sum(axis=1) if normalized else force


def test_slopes_are_the_extremes_of_the_coupling():
    """The closed form against a grid, on both sides of beta = 1/3, and its limits."""
    angles = np.linspace(0.0, np.pi, 400_001)
    for beta in (0.2, 2.0, 50.0):
        fall, rise = slopes(beta)
        assert abs(fall + slope(beta, angles).min()) < 1e-10 and rise == 1.0
        assert slopes(-beta) == (rise, fall)
    assert abs(slopes(1.0)[0] - np.exp(-1.0)) < 1e-15
    assert abs(slopes(1e8)[0] - 2.0 * np.exp(-1.5)) < 1e-8
    assert abs(slopes(1 / 3 - 1e-9)[0] - slopes(1 / 3 + 1e-9)[0]) < 1e-8


@pytest.mark.parametrize("p", [1, 2])
def test_two_atoms_part_at_the_upper_rate(p):
    """Both rates on the circle are sharp: M- for any masses, 2 (1 - p) M- of a light atom."""
    beta, light = 5.0, 0.01
    problem = mf.Problem(CIRCLE, mf.exponential(beta), mf.USA)
    angle = np.arccos((np.sqrt(4 * beta**2 + 5) - 3) / (2 * beta))
    masses, moved = np.array([light, 1.0 - light]), 1e-5
    points = np.array([0.0, angle])
    # For W_2 the mean stays, the distance grows by `moved`; for W_1 the light atom alone moves.
    step = moved * np.array([-masses[1], masses[0]] if p == 2 else [-1.0, 0.0])
    other = points + step
    change = velocity(beta, False, other, masses, other)
    change -= velocity(beta, False, points, masses, points)
    if p == 2:
        rate, share = change @ (masses * step) / (step @ (masses * step)), 1.0
    else:
        signs = np.array([-1.0, np.sign(change[1])])
        rate, share = masses * signs @ change / (light * moved), 1.0 - light
    bound = mf.contraction_rates(problem, p).upper
    assert abs(rate / (share * bound) - 1.0) < 1e-4


def test_rates_on_spheres_and_with_noise():
    """Rates would not be twice the circle's for W_2, or diffusion gain no curvature."""
    kernel = mf.exponential(3.0)
    fall, _ = slopes(3.0)
    solid = mf.contraction_rates(mf.Problem(mf.Sphere(5), kernel, mf.Flow("none", strength=2.0)))
    assert (solid.upper, solid.lower) == (4.0 * fall, 4.0)
    first = mf.contraction_rates(mf.Problem(mf.Sphere(5), kernel, mf.USA), 1)
    assert (first.upper, first.lower) == (fall + 1.0, 2.0)
    noisy = mf.contraction_rates(mf.Problem(mf.Sphere(5), kernel, mf.Flow("none", diffusivity=0.1)))
    assert noisy.upper == 2.0 * fall - 0.1 * 3 and noisy.lower == np.inf
    repelled = mf.contraction_rates(mf.Problem(CIRCLE, kernel, mf.Flow("none", strength=-1.0)))
    assert (repelled.upper, repelled.lower) == (1.0, fall)


def test_what_is_not_proved_is_refused():
    """Softmax, other kernels and orders."""
    softmax = mf.Problem(CIRCLE, mf.exponential(1.0), mf.SA)
    own = mf.Problem(CIRCLE, mf.zonal(lambda s: 1.0 + s**2), mf.USA)
    refused("certified_radius", mf.contraction_rates, softmax)
    refused("largest slope of its own", mf.contraction_rates, own)
    refused("1 or 2, got 3", mf.contraction_rates, mf.Problem(CIRCLE, mf.linear(), mf.USA), 3)


def test_softmax_stretch_is_reached():
    """Two equal masses at <x, y> = -1 / (2 beta) on both sides of a test particle."""
    beta, shift = 3.0, 1e-5
    away = np.arccos(-0.5 / beta)
    pair, masses = np.array([away, -away]), np.full(2, 0.5)
    v = velocity(beta, True, pair, masses, np.array([shift, -shift]))
    assert abs((v[0] - v[1]) / (2 * shift) - softmax_stretch(beta)) < 1e-8
    assert abs(softmax_stretch(beta) - 3.0 - 1.0 / 12.0) < 1e-15


@pytest.mark.parametrize("beta", [0.5, 9.0])
def test_softmax_source_is_a_largest_slope(beta):
    """Against differences of the vector field itself, for both extreme v."""
    angles = np.linspace(-np.pi, np.pi, 200_001)
    of = [np.exp(beta * (np.cos(angles) - 1.0)) * (np.sin(angles) - v) for v in (1.0, -1.0)]
    largest = max(np.abs(np.diff(f)).max() for f in of) / (angles[1] - angles[0])
    assert abs(softmax_source(beta) - largest) < 1e-7
    assert abs(softmax_source(1e6) / 1e3 - np.exp(-0.5)) < 1e-2


def test_arcs_are_convex_below_their_angle():
    """There h' vanishes; n tokens make a chain shorter than pi from cos x / sin^2 x on."""
    for beta in (1e-3, 1.0, 400.0):
        assert abs(slope(beta, np.array(convex_angle(beta)))) < 1e-13
    # An arc cosine near 1 would lose digits, and be pi / 2 where beta^2 overflows.
    for beta in (1e6, 1e12, 1e160):
        # tau^2 beta -> 1, the next term of order 1 / beta.
        assert abs(convex_angle(beta) * np.sqrt(beta) - 1.0) < 1.0 / beta + 1e-15
    angles = np.linspace(0.0, np.pi, 10_001)
    for beta in (-4.0, 9.0):
        force = np.exp(beta * np.cos(angles) - abs(beta)) * np.sin(angles)
        np.testing.assert_allclose(pair_force(beta, angles), force, rtol=1e-13, atol=1e-30)
        assert abs(angles[force.argmax()] - convex_angle(beta)) < np.pi / 20_000
    assert abs(arc_rate(7.0, 0.2) - slope(7.0, np.array(0.2))) < 1e-14
    for tokens, beta in ((4, 2.0 / 3.0), (5, np.sqrt(2.0)), (11, 9.959593139531)):
        assert is_one_cluster_almost_surely(beta * (1 + 1e-9), tokens)
        assert not is_one_cluster_almost_surely(beta * (1 - 1e-9), tokens)


def test_energy_in_an_arc_is_near_its_largest():
    """Polyak and Lojasiewicz: what is missing of the energy is paid for by the speed."""
    beta, length = 4.0, 0.4
    rng = np.random.default_rng(5)
    for _ in range(3):
        points, masses = rng.uniform(0.0, length, 6), rng.dirichlet(np.ones(6))
        kernel = np.exp(beta * (np.cos(points[:, None] - points) - 1.0))
        missing = (1.0 - masses @ kernel @ masses) / (2 * beta)
        squared = masses @ velocity(beta, False, points, masses, points) ** 2
        assert 0.0 < missing <= squared / (2.0 * arc_rate(beta, length))
    # Two tokens that have all but met reach it.
    points, masses = np.array([0.0, 1e-3]), np.full(2, 0.5)
    missing = -0.25 * np.expm1(beta * (np.cos(1e-3) - 1.0)) / beta
    squared = masses @ velocity(beta, False, points, masses, points) ** 2
    assert abs(missing * 2.0 * arc_rate(beta, 1e-3) / squared - 1.0) < 1e-4
