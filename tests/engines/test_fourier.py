"""Moments and series at scattered angles, both methods, against direct sums."""

from functools import partial
from itertools import product

import mpmath
import numpy as np
import pytest
from any_threads import check_any_threads
from parameters import each, refused, together

from meanfield.engines import fourier as circle_points
from meanfield.engines.fourier import cells, evaluate, gradient, moments, recurrence
from meanfield.engines.fourier.tokens import own_velocity

close = partial(np.testing.assert_allclose, rtol=0)
METHODS = [cells, recurrence]
# Cells of 8 and of 16 coefficients, and the method of products.
EVALUATIONS = [
    partial(cells.evaluate, depth=1), partial(cells.evaluate, depth=2), recurrence.evaluate,
]  # fmt: skip
# Around the groups of nine degrees, the rows of eight and the blocks of tokens.
DEGREES = [0, 1, 4, 5, 13, 14, 30, 78]
KINDS = ["uniform", "clustered", "equal"]
COUNTS = [1, 2, 7, 8, 191, 193, 511, 513, 1500]


def _angles(kind: str, n: int) -> np.ndarray:
    rng = np.random.default_rng(n)
    if kind == "uniform":
        return rng.uniform(-np.pi, np.pi, n)
    if kind == "clustered":
        return rng.choice([-2.0, 0.0, 1.5], n) + 1e-9 * rng.normal(size=n)
    return np.full(n, 0.7)


def _direct_moments(angles: np.ndarray, weights: np.ndarray, max_degree: int) -> np.ndarray:
    return np.exp(-1j * np.outer(np.arange(max_degree + 1), angles)) @ weights


def _direct_values(coefficients: np.ndarray, angles: np.ndarray) -> np.ndarray:
    k = np.arange(len(coefficients))
    return (np.exp(1j * np.outer(angles, k)) @ (np.where(k == 0, 1.0, 2.0) * coefficients)).real


def _coefficients(max_degree: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    c = rng.normal(size=max_degree + 1) + 1j * rng.normal(size=max_degree + 1)
    return c / abs(c).sum()


@each("method, max_degree", list(product(METHODS, DEGREES)), kind=KINDS)
def test_moments_are_the_direct_sums(method, max_degree, kind):
    """A token lost at the end of a block, or a degree in the wrong place, shows here."""
    for n in COUNTS:
        angles, equal = _angles(kind, n), np.full(n, 1.0 / n)
        weights = np.random.default_rng(0).dirichlet(np.ones(n))
        for argument, masses in ((weights, weights), (None, equal)):
            result, reduced = method.moments(angles, argument, max_degree)
            assert reduced
            # NumPy's sum rounds k theta at 78 * 4e-16; ours stay below 1e-14.
            close(result, _direct_moments(angles, masses, max_degree), atol=3e-14)


@each("method, max_degree", list(product(EVALUATIONS, DEGREES)), kind=KINDS)
def test_values_are_the_direct_sums(method, max_degree, kind):
    """The same for series and for quotients of series of different length."""
    upper, lower = _coefficients(max_degree, 1), 0.3 * _coefficients(max_degree // 2, 2)
    lower[0], positive = 1.0, upper + 2.0 * np.eye(1, max_degree + 1)[0]
    for n in COUNTS:
        angles = _angles(kind, n)
        result, reduced = method([upper], angles)
        assert reduced
        close(result, _direct_values(upper, angles), atol=3e-14)
        for over, under in ((upper, lower), (lower, positive)):
            expected = _direct_values(over, angles) / _direct_values(under, angles)
            close(method([over, under], angles)[0], expected, atol=1e-13)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("max_degree", [300, 4000])
def test_high_degrees_are_accurate_to_1e_13(method, max_degree):
    """Rounding of a recurrence grows with the degree: 40-digit arithmetic as the judge."""
    angles = np.array([1e-7, 0.3, 1.0, 2.5, 3.14159, -3.0, 25.0])
    weights = np.full(7, 1.0 / 7.0)
    degrees = [1, max_degree // 2, max_degree - 1, max_degree]
    with mpmath.workdps(40):
        exact = [complex(sum(mpmath.expj(-k * mpmath.mpf(x)) for x in angles) / 7) for k in degrees]
        signal = [float(2 * mpmath.cos(max_degree * mpmath.mpf(x))) for x in angles]
    result, _ = method.moments(angles, weights, max_degree)
    close(result[degrees], exact, atol=1e-13)
    last = np.append(np.zeros(max_degree, dtype=complex), 1.0)
    close(method.evaluate([last], angles)[0], signal, atol=2e-13)


@pytest.mark.parametrize("n", [1, 50, 30_001])
def test_moments_and_values_are_adjoint(n):
    """sum_j w_j g(theta_j) is the inner product of the series with the moments, for every n."""
    rng = np.random.default_rng(n)
    angles, weights = rng.uniform(-20.0, 20.0, n), rng.dirichlet(np.ones(n))
    coefficients = _coefficients(40, 3)
    c = moments(angles, weights, 40)
    products = (coefficients * c.conj()).real
    expected = products[0] + 2.0 * products[1:].sum()
    assert weights @ evaluate(coefficients, angles) == pytest.approx(expected, abs=2e-15)


@pytest.mark.parametrize("n", [100, 5_000, 40_000])
def test_gradient_is_the_derivative(n):
    """Derivative and quotient through the public functions, on both sides of each crossover."""
    angles = _angles("uniform", n)
    field, divisor = _coefficients(30, 4), 0.3 * _coefficients(12, 5)
    divisor[0] = 1.0
    derivative = _direct_values(1j * np.arange(31) * field, angles)
    # The coefficients of the derivative sum to at most 30.
    close(gradient(field, angles), derivative, atol=3e-13)
    expected = derivative / _direct_values(divisor, angles)
    close(gradient(field, angles, divisor), expected, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_results_do_not_depend_on_threads(method):
    """The number of threads must not change one bit, nor must repetition."""
    rng = np.random.default_rng(9)
    angles, weights = rng.uniform(-9.0, 9.0, 70_001), rng.random(70_001)
    upper, lower = _coefficients(20, 6), _coefficients(20, 7) + 2.0 * np.eye(1, 21)[0]
    check_any_threads(
        lambda: [
            method.moments(angles, weights, 20)[0],
            method.evaluate([upper], angles)[0],
            method.evaluate([upper, lower], angles)[0],
        ]
    )


@pytest.mark.parametrize("n", [40, 30_000])
def test_tokens_without_mass_count_nothing(n):
    """Weights of zero are tracers: they move, and move nothing."""
    angles, weights = _angles("uniform", n), np.eye(1, n, 7)[0]
    close(moments(angles, weights, 30), moments(angles[7:8], None, 30), atol=1e-14)


def test_tokens_on_cell_centres_are_not_slow_numbers():
    """t^15 of a token at 1e-22 would be denormal, and slow; the offset is moved by 1e-18."""
    rows, offsets = np.zeros(2, np.int64), np.zeros(2)
    assert cells.cell_kernels._locate(np.array([1e-22, 0.0]), 32, 1, rows, offsets) == 0
    np.testing.assert_array_equal(rows, 0)
    assert (offsets**15 > np.finfo(float).tiny).all()
    assert (offsets < 1e-17).all()


def test_very_high_degrees_avoid_tables_of_cells(monkeypatch):
    """Degree 10^6 and few tokens would need gigabytes of cells."""
    monkeypatch.setattr(circle_points, "_VALUES_BY_CELLS", 1)
    monkeypatch.setattr(cells, "evaluate", lambda *arguments: pytest.fail("cells were used"))
    assert evaluate(_coefficients(1000, 11), np.zeros(2)).shape == (2,)


def test_cells_are_shallow_for_many_tokens_only(monkeypatch):
    """The choice of depth is one of time: the values must be the same on both sides of it."""
    coefficients, angles = _coefficients(14, 12), _angles("uniform", 24 * 512)
    depths = []
    gather = cells.cell_kernels.gather

    def recorded(points, count, depth, *others):  # type: ignore[no-untyped-def]
        depths.append(depth)
        return gather(points, count, depth, *others)

    monkeypatch.setattr(cells.cell_kernels, "gather", recorded)
    shallow, _ = cells.evaluate([coefficients], angles)
    deep, _ = cells.evaluate([coefficients], angles[:-1])
    assert depths == [1, 2]
    close(deep, shallow[:-1], atol=1e-14)


@pytest.mark.parametrize("n", [5, 30_000])
def test_huge_angles_are_reduced(n):
    """Angles beyond the reach of the kernels' reduction are the same angles modulo 2 pi."""
    angles = _angles("uniform", n)
    angles[:5] = [1e3, -1e9, 1e13, 1e18, -3e300]
    wrapped = np.arctan2(np.sin(angles), np.cos(angles))
    series = _coefficients(10, 10)
    close(moments(angles, None, 10), moments(wrapped, None, 10), atol=1e-14)
    close(evaluate(series, angles), evaluate(series, wrapped), atol=1e-14)
    close(gradient(series, angles), gradient(series, wrapped), atol=1e-13)


@pytest.mark.parametrize("n", [5, 30_000])
def test_angles_that_are_not_finite_give_nan(n):
    """A run that blew up must not look healthy, and must not read outside a table."""
    angles = _angles("uniform", n)
    angles[1], angles[2] = np.nan, np.inf
    assert np.isnan(moments(angles, None, 3)[1:]).all()
    values = evaluate(_coefficients(3, 3), angles)
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(values)), [1, 2])


@pytest.mark.parametrize("n", [40, 30_000])
def test_inputs_of_other_layouts_give_the_same(n):
    """Every second element of an array, or float32, is as good as a plain array."""
    angles = _angles("uniform", 2 * n)
    weights = np.random.default_rng(10).dirichlet(np.ones(2 * n))
    expected = moments(angles[::2].copy(), weights[::2].copy(), 20)
    np.testing.assert_array_equal(moments(angles[::2], weights[::2], 20), expected)
    series, single = _coefficients(20, 20)[::2], angles.astype(np.float32)
    expected = evaluate(series.copy(), single.astype(float))
    np.testing.assert_array_equal(evaluate(series, single), expected)


@pytest.mark.slow
@pytest.mark.parametrize("n", [40, 8_000])
def test_read_only_inputs_are_accepted(n):
    """Measures freeze their arrays, which are of another type to compiled code."""
    angles, series = _angles("uniform", n), _coefficients(5, 5)
    expected = moments(angles, None, 5), evaluate(series, angles)
    angles.setflags(write=False)
    series.setflags(write=False)
    np.testing.assert_array_equal(moments(angles, None, 5), expected[0])
    np.testing.assert_array_equal(evaluate(series, angles), expected[1])


ONE, THREE = np.ones(2), np.zeros(3)


@together(
    "call, arguments, message",
    [
        (call, (*before, points, *after), "expected angles of shape")
        for call, before, after in (
            (moments, (), (None, 3)),
            (evaluate, (ONE,), ()),
            (gradient, (ONE,), ()),
        )
        for points in (np.empty(0), np.zeros((3, 2)))
    ]
    + [
        (moments, (THREE, ONE, 3), "weights have shape"),
        (moments, (THREE, None, -1), "max_degree must be at least 0, got -1"),
        (own_velocity, (np.zeros(4), None, np.ones(3), ONE),
         r"shape \(3,\), attention_multipliers \(2,\)"),
        (evaluate, (np.empty(0), THREE), "coefficients have shape"),
        (evaluate, (np.ones((2, 2)), THREE), "coefficients have shape"),
        (gradient, (ONE, THREE, np.empty(0)), "divisor have shape"),
        (gradient, (ONE, THREE, np.ones((2, 2))), "divisor have shape"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(call, arguments, message):
    """Compiled code would read beyond the arrays; there is no moment of no tokens."""
    refused(message, call, *arguments)
