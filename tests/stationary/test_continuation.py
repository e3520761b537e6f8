"""Continuation on curves whose special points are known exactly, and on families of states."""

from collections.abc import Callable

import numpy as np
import pytest
from parameters import refused, together

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.stationary.continuation import (
    FARTHEST,
    ContinuationError,
    Curve,
    CurvePoint,
    Family,
    Pace,
    System,
    first_point,
    follow,
)
from meanfield.stationary.symmetry import stationary_symmetry

# What is located lies on the curve and on the zero of its test, to rounding of numbers of size 1.
ROUNDING = 1e-12
Scalar = Callable[[float, float], float]


def scalar(residual: Scalar, derivative: Scalar, slope: Scalar) -> System:
    return System(
        lambda x, p: np.array([residual(x[0], p)]),
        lambda x, p: np.array([[derivative(x[0], p)]]),
        lambda x, p: np.array([slope(x[0], p)]),
    )


CIRCLE = scalar(lambda x, p: x**2 + p**2 - 1, lambda x, p: 2 * x, lambda x, p: 2 * p)
CUBIC = scalar(lambda x, p: p - x**3 + x, lambda x, p: 1 - 3 * x**2, lambda x, p: 1.0)
PITCHFORK = scalar(lambda x, p: p * x - x**3, lambda x, p: p - 3 * x**2, lambda x, p: x)


def test_newton_reaches_rounding_from_afar():
    """On the line x - p = 0.4 the circle has the point x = 0.2 + sqrt(0.46)."""
    point = first_point(CIRCLE, np.array([0.9]), 0.5, np.array([1.0, -1.0]))
    assert point.state[0] == pytest.approx(0.2 + np.sqrt(0.46), abs=1e-15)
    assert point.parameter == pytest.approx(np.sqrt(0.46) - 0.2, abs=1e-15)


def test_row_says_which_way():
    """The tangent at (1, 0) is (0, 1) or (0, -1)."""
    for way in (1.0, -1.0):
        point = first_point(CIRCLE, np.array([1.0]), 0.0, np.array([0.0, way]))
        np.testing.assert_allclose(point.tangent, [0.0, way], rtol=0, atol=1e-15)


def test_several_unknowns_agree_with_the_logarithm_of_the_determinant():
    """The sign and size of a determinant of many factors follow the permutation of rows."""
    rng = np.random.default_rng(0)
    matrix, slope = rng.normal(size=(7, 7)), rng.normal(size=7)
    linear = System(lambda x, p: matrix @ x + p * slope, lambda x, p: matrix, lambda x, p: slope)
    point = first_point(linear, np.zeros(7), 0.0, rng.normal(size=8))
    bordered = np.vstack([np.column_stack([matrix, slope]), point.tangent])
    np.testing.assert_allclose(point.determinant, np.linalg.slogdet(bordered), rtol=0, atol=1e-13)


def test_newton_does_not_jump_to_other_parameters():
    """A step of Newton's method may go anywhere, and functions of exp(p) overflow there."""
    records: list[float] = []

    def residual(x: np.ndarray, p: float) -> np.ndarray:
        records.append(p)
        return x - np.exp(-p) * 1e-6

    growing = System(residual, lambda x, p: np.eye(1), lambda x, p: np.exp([-p]) * 1e-6)
    with pytest.raises(ContinuationError):
        first_point(growing, np.array([1.0]), 0.0, np.array([1.0, 0.0]))
    assert max(abs(p) for p in records) <= FARTHEST


def test_no_point_near_the_guess_is_an_error():
    """x^2 + p^2 = 1 has no point with p = 2."""
    message, row = "no point of the curve near the guess at p = 2", np.array([0.0, 1.0])
    refused(message, first_point, CIRCLE, np.array([0.3]), 2.0, row, error=ContinuationError)


def along(system, start, row, **how):
    """Curve from a point (x, p), in the direction of a row."""
    first = first_point(system, np.array(start[:1]), start[1], np.array(row))
    return follow(system, first, **how)


def located(curve: Curve, kind: str) -> FloatArray:
    points = [each.point for each in curve.located if each.kind == kind]
    return np.array([[*point.state, point.parameter] for point in points])


def once_around(point: CurvePoint) -> bool:
    """True once the circle, begun at (1, 0) upwards, has passed both of its folds."""
    return bool(point.state[0] > 0.5 and point.parameter < 0)


def test_circle_is_followed_exactly():
    """A continuation in p alone ends at the first fold; points are corrected, tangents unit."""
    curve = along(CIRCLE, (1.0, 0.0), (0.0, 1.0), stop=once_around)
    np.testing.assert_allclose(located(curve, "fold"), [[0, 1], [0, -1]], rtol=0, atol=ROUNDING)
    x, p = np.array([[*point.state, point.parameter] for point in curve.points]).T
    np.testing.assert_allclose(x**2 + p**2, 1.0, rtol=0, atol=1e-15)
    tangents = [point.tangent for point in curve.points]
    np.testing.assert_allclose(tangents, np.column_stack([-p, x]), rtol=0, atol=1e-14)


def test_folds_of_a_cubic_are_exact():
    """Folds of p = x^3 - x would not lie at x = -1/sqrt(3), 1/sqrt(3), where dF/dx is singular."""
    curve = along(CUBIC, (-1.2, -0.528), (1.0, 0.0), bounds=(-0.6, 0.6))
    x, p = 1 / np.sqrt(3), 2 / np.sqrt(27)
    np.testing.assert_allclose(located(curve, "fold"), [[-x, p], [x, -p]], rtol=0, atol=ROUNDING)
    assert len(located(curve, "bifurcation")) == 0


@pytest.mark.parametrize("start", [-0.7, -0.5])
def test_pitchfork_is_detected_from_the_trivial_curve(start):
    """On x = 0 nothing but the determinant shows that x^2 = p branches off at p = 0."""
    curve = along(PITCHFORK, (0.0, start), (0.0, 1.0), bounds=(-1.0, 1.0))
    np.testing.assert_allclose(located(curve, "bifurcation"), [[0, 0]], rtol=0, atol=ROUNDING)
    assert len(located(curve, "fold")) == 0


def test_pitchfork_is_passed_on_its_curved_branch():
    """On x^2 = p the same point is a fold of p, and a crossing."""
    curve = along(PITCHFORK, (0.9, 0.81), (-1.0, 0.0), bounds=(-1.0, 1.0))
    # The crossing is where Newton's method is singular: half of the digits remain.
    np.testing.assert_allclose(located(curve, "bifurcation"), [[0, 0]], rtol=0, atol=1e-7)
    np.testing.assert_allclose(curve.points[-1].state, [-1.0], rtol=0, atol=ROUNDING)


def test_own_test_functions_are_located_in_order():
    """The point x = p lies before the fold; two zeros within one step stay in their order."""
    upwards = (CIRCLE, (1.0, 0.0), (0.0, 1.0))
    tests = {"diagonal": lambda point: point.state[0] - point.parameter}
    curve = along(*upwards, tests=tests, stop=lambda point: bool(point.state[0] < -0.5))
    assert [each.kind for each in curve.located] == ["diagonal", "fold"]
    np.testing.assert_allclose(
        located(curve, "diagonal"), [[np.sqrt(0.5)] * 2], rtol=0, atol=ROUNDING
    )
    levels = {"second": 0.52, "first": 0.5}
    tests = {name: lambda point, p=p: point.parameter - p for name, p in levels.items()}
    curve = along(*upwards, tests=tests, bounds=(-1.0, 0.6), pace=Pace(first=0.3, largest=0.3))
    assert [each.kind for each in curve.located] == ["first", "second"]
    assert curve.located[0].after == curve.located[1].after
    # A test that is NaN on one side has not changed its sign.
    tests = {"half": lambda point: np.nan if point.parameter < 0.5 else point.parameter}
    assert not along(*upwards, tests=tests, bounds=(-1.0, 0.9)).located


def test_curve_ends_on_its_bound():
    """A last point beyond the bound would be where the system may have no meaning."""
    curve = along(CUBIC, (-1.2, -0.528), (1.0, 0.0), bounds=(-0.6, 0.3))
    assert curve.points[-1].parameter == pytest.approx(0.3, abs=1e-15)
    assert max(point.parameter for point in curve.points[:-1]) < 0.3


def test_an_inexact_slope_does_not_move_the_curve():
    """dF/dp by differences is enough, since points are corrected by their residual."""
    crude = System(CIRCLE.residual, CIRCLE.jacobian, lambda x, p: 1.001 * CIRCLE.slope(x, p))
    curve = along(crude, (1.0, 0.0), (0.0, 1.0), stop=once_around)
    radii = [point.state[0] ** 2 + point.parameter**2 for point in curve.points]
    np.testing.assert_allclose(radii, 1.0, rtol=0, atol=1e-10)


ROOT = scalar(
    lambda x, p: x - np.sqrt(p) if p > 0 else np.nan,
    lambda x, p: 1.0,
    lambda x, p: -0.5 / np.sqrt(abs(p)),
)


@together("curve, how, error, message", [
    # A closed curve; one that ends at p = 0, and a bound that is never met.
    ((CIRCLE, (1.0, 0.0), (0.0, 1.0)), {"pace": Pace(points=50)}, ContinuationError,
     "has not ended after 50 points, at p = "),
    ((ROOT, (1.0, 1.0), (0.0, -1.0)), {}, ContinuationError,
     "could not be followed beyond p = "),
    ((CUBIC, (-1.2, -0.528), (1.0, 0.0)), {"bounds": (0.0, 1.0)}, ValueError,
     "p = -0.528 of the first point lies outside"),
])  # fmt: skip
def test_curves_without_an_end_are_errors(curve, how, error, message):
    """They would be followed, or steps tried, for ever."""
    refused(message, along, *curve, **how, error=error)


FLOWS = [mf.Flow("none", diffusivity=0.08), mf.Flow(normalized=True, strength=2.0, diffusivity=0.3)]


def family_of(flow: mf.Flow) -> Family:
    problem = mf.Problem(mf.Sphere(), mf.exponential(beta=3.0), flow)
    symmetry = stationary_symmetry(problem, flow.diffusivity / 2.0)
    return Family(problem, symmetry, flow.diffusivity)


@pytest.mark.parametrize("flow", FLOWS, ids=["USA", "SA"])
def test_derivatives_are_those_of_the_residual(flow):
    """Against central differences: a wrong scale would spoil Newton's order without an error."""
    family = family_of(flow)
    system, n = family.system, len(family.symmetry.degrees)
    x, p, h = 0.5 ** np.arange(1.0, n + 1.0), -0.01, 1e-6
    step = np.eye(n) * h
    columns = [system.residual(x + e, p) - system.residual(x - e, p) for e in step]
    expected = np.array(columns).T / (2.0 * h)
    np.testing.assert_allclose(system.jacobian(x, p), expected, rtol=0, atol=1e-8)
    slope = (system.residual(x, p + h) - system.residual(x, p - h)) / (2.0 * h)
    np.testing.assert_allclose(system.slope(x, p), slope, rtol=0, atol=1e-8)


def test_parameters_are_logarithms():
    """The continuation's p = log 2 would not be twice the parameter."""
    value = family_of(FLOWS[0]).diffusivity
    assert value(np.log(2.0)) == pytest.approx(2.0 * value(0.0), rel=1e-15)


def test_a_dirac_is_as_sharp_as_the_kernel_allows():
    """There sum_l A_l l (l + 1) p_l(1)^2 / 2 is -W'' at 0, a(1) = 1; uniform has no width."""
    family = family_of(FLOWS[0])
    uniform, dirac = (
        CurvePoint(np.full(len(family.symmetry.degrees), m), 0.0, np.zeros(1), (1.0, 0.0))
        for m in (0.0, 1.0)
    )
    assert family.sharpness(dirac) == pytest.approx(FLOWS[0].diffusivity, rel=1e-12)
    assert family.sharpness(uniform) > 1e200


def test_moments_hold_states_of_attractive_softmax():
    """There a*f vanishes where the state does, and no digits of it are asked for."""
    for beta, lost in ((60.0, False), (-60.0, True)):
        problem = mf.Problem(mf.Circle(), mf.exponential(beta), mf.SA)
        family = Family(problem, stationary_symmetry(problem, 0.01), 0.01)
        dirac = CurvePoint(np.ones(len(family.symmetry.degrees)), 0.0, np.zeros(1), (1.0, 0.0))
        assert family.is_lost(dirac) == lost
