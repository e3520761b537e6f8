"""Distances on the circle between weighted points, against an exact linear programme."""

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parameters import each

import meanfield as mf
from meanfield.transport.circle.wasserstein import wasserstein_circle

CIRCLE = mf.Circle()
TURN = 2.0 * np.pi
ANGLES = st.lists(st.floats(-20.0, 20.0), min_size=1, max_size=12)


@st.composite
def measures(draw: st.DrawFn) -> mf.Measure:
    """Points with equal or unequal weights, some of them possibly 0."""
    angles = draw(ANGLES)
    if draw(st.booleans()):
        return mf.Measure(CIRCLE, angles)
    weights = draw(st.lists(st.integers(0, 9), min_size=len(angles), max_size=len(angles)))
    total = sum(weights)
    return mf.Measure(CIRCLE, angles, np.array(weights) / total if total else None)


def moved(measure: mf.Measure, angle: float, sign: float = 1.0) -> mf.Measure:
    """Reflected if sign = -1, then rotated."""
    return mf.Measure(CIRCLE, sign * measure.points + angle, measure.weights)


def random_measure(kind: str, rng: np.random.Generator) -> mf.Measure:
    """One of the situations in which circle distances are known to go wrong."""
    n = int(rng.integers(1, 40))
    if kind == "few atoms":
        n = int(rng.integers(1, 5))
    points = rng.uniform(0.0, TURN, n)
    if kind == "arc":
        points = 0.5 + 0.3 * rng.random(n)
    if kind == "duplicates":
        points = rng.integers(0, 6, n) * TURN / 6
    if kind == "both ends":
        points[: n // 3], points[n // 3 : n // 2] = 0.0, TURN
    weights = None if kind == "equal weights" or rng.random() < 0.3 else rng.dirichlet(np.ones(n))
    return mf.Measure(CIRCLE, points, weights)


KINDS = ["spread", "arc", "few atoms", "duplicates", "both ends", "equal weights"]


def linear_programme(first: mf.Measure, second: mf.Measure, p: int) -> float:
    """W_p^p by network simplex on the full matrix of geodesic distances."""
    difference = np.abs(first.points[:, None] - second.points[None, :]) % TURN
    cost = np.minimum(difference, TURN - difference) ** p
    return float(ot.emd2(first.mass, second.mass, cost, numItermax=10**7))


@pytest.mark.slow
@pytest.mark.parametrize("p", [1, 2])
def test_distance_of_points_equals_the_linear_programme(p):
    """The cut or the coupling would be wrong, in 500 cases of every awkward kind."""
    # Powers are compared: the programme's cost carries an absolute error of 1e-15, of which the
    # square root would make 3e-8 where the distance is 0. Away from 0 distances agree as well.
    rng = np.random.default_rng(p)
    for case in range(500):
        first = random_measure(KINDS[case % 6], rng)
        second = random_measure(KINDS[case // 6 % 6], rng)
        distance = wasserstein_circle(first, second, p)
        expected = linear_programme(first, second, p)
        assert distance**p == pytest.approx(expected, abs=1e-12), case
        if expected > 1e-2:
            assert distance == pytest.approx(expected ** (1 / p), abs=1e-12), case


few_examples = settings(deadline=None, max_examples=60)


@pytest.mark.slow
@few_examples
@given(measures(), measures(), st.floats(-10.0, 10.0), st.sampled_from([1.0, -1.0]))
def test_distance_is_invariant_under_rotation_and_reflection(first, second, angle, sign):
    """The origin at which angles are cut would show."""
    for p in (1, 2):
        expected = wasserstein_circle(first, second, p)
        distance = wasserstein_circle(moved(first, angle, sign), moved(second, angle, sign), p)
        # Angles up to 30 are rounded by 4e-15 each, twice.
        assert distance == pytest.approx(expected, abs=5e-14)


@pytest.mark.slow
@few_examples
@given(measures(), measures())
def test_distance_is_symmetric(first, second):
    """First and second enter the search for the cut in different roles."""
    for p in (1, 2):
        distance = wasserstein_circle(second, first, p)
        assert distance == pytest.approx(wasserstein_circle(first, second, p), abs=1e-14)


@pytest.mark.slow
@few_examples
@given(measures(), measures(), measures())
def test_distance_obeys_the_triangle_inequality(first, second, third):
    """A value that is too large for some pairs of a triple."""
    for p in (1, 2):
        direct = wasserstein_circle(first, third, p)
        detour = wasserstein_circle(first, second, p) + wasserstein_circle(second, third, p)
        # Weights are rounded by 1e-16, which is pi sqrt(1e-16) in W_2.
        assert direct <= detour + (1e-14 if p == 1 else 1e-7)


@pytest.mark.slow
@few_examples
@given(measures(), measures())
def test_w2_is_between_w1_and_its_bound(first, second):
    """W_1 <= W_2 by Jensen, W_2^2 <= pi W_1 because no distance exceeds pi."""
    w1, w2 = (wasserstein_circle(first, second, p) for p in (1, 2))
    assert w1 <= w2 + 1e-13
    assert w2**2 <= np.pi * w1 + 1e-13


@pytest.mark.slow
@few_examples
@given(measures(), st.permutations(range(12)), st.integers(-3, 3))
def test_distance_to_the_same_points_in_another_order_is_zero(measure, order, laps):
    """Sums of equal weights in another order would differ by rounding: 1e-8 in W_2."""
    order = [i for i in order if i < len(measure.points)]
    weights = None if measure.weights is None else measure.weights[order]
    shuffled = mf.Measure(CIRCLE, measure.points[order] + laps * TURN, weights)
    # What is left is the rounding of the angles, and of weights that are normalised once more:
    # moving 1e-16 by pi costs pi sqrt(1e-16) in W_2.
    assert wasserstein_circle(measure, shuffled, 1) <= 1e-14
    assert wasserstein_circle(measure, shuffled, 2) <= (1e-14 if weights is None else 5e-8)


@each("angle", [1e-12, 1e-6, 0.1, 1.0], p=[1, 2])
def test_rotating_clustered_points_costs_the_angle(p, angle):
    """On an arc shorter than pi the circle is a line; small distances must keep their digits."""
    rng = np.random.default_rng(8)
    points = 5.5 + rng.random(1000)  # across 0
    for weights in (None, rng.dirichlet(np.ones(1000))):
        first = mf.Measure(CIRCLE, points, weights)
        second = mf.Measure(CIRCLE, points + angle, weights)
        assert wasserstein_circle(first, second, p) == pytest.approx(angle, abs=5e-15, rel=1e-13)


@pytest.mark.parametrize("p", [1, 2])
def test_rotating_a_regular_polygon_costs_the_nearest_turn(p):
    """The cut wins: turned by 0.6 of its symmetry, a polygon moves back by 0.4."""
    polygon = TURN * np.arange(7) / 7
    first, second = mf.Measure(CIRCLE, polygon), mf.Measure(CIRCLE, polygon + 0.6 * TURN / 7)
    assert wasserstein_circle(first, second, p) == pytest.approx(0.4 * TURN / 7, rel=1e-14)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("arc", [TURN, 0.3])
def test_many_points_equal_few_with_weights(p, arc):
    """Above some thousand points the median comes from a window; copies must not matter."""
    rng = np.random.default_rng(9)
    points = arc * rng.random(50), 0.1 + arc * rng.random(50)
    copies = [rng.multinomial(n, np.ones(50) / 50) for n in (6000, 6001)]
    sets = list(zip(points, copies, strict=True))
    many = wasserstein_circle(*(mf.Measure(CIRCLE, np.repeat(x, n)) for x, n in sets), p)
    few = wasserstein_circle(*(mf.Measure(CIRCLE, x, n / n.sum()) for x, n in sets), p)
    assert many == pytest.approx(few, abs=1e-13)
