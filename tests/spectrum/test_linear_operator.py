"""The linearised flow: against finite differences, closed forms and published couplings."""

from collections.abc import Callable

import core
import numpy as np
import pytest
from head_oracle import B1, B2, B3, V1, V2, V3, turn
from parameters import refused
from scipy.special import iv, ivp, spherical_in

import meanfield as mf
from meanfield.arrays import ComplexArray, FloatArray

J = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
CIRCLE, SPHERE = mf.Circle(), mf.Sphere()


def attention(space, *pairs, beta, **options):
    heads = [mf.Head(score=score, value=value) for score, value in pairs]  # type: ignore[arg-type]
    return mf.Problem(space, mf.Attention(heads, beta=beta, **options))  # type: ignore[arg-type]


def in_paper_time(problem: mf.Problem, **options: int) -> ComplexArray:
    """Eigenvalues for weights e^{beta x^T B y}."""
    operator = mf.linear_operator(problem, **options)
    assert operator.stationary
    return operator.eigenvalues * np.exp(problem.log_scale)


def apart(result: ComplexArray, expected: ComplexArray) -> float:
    return float(np.abs(result[:, None] - np.asarray(expected)[None]).min(axis=0).max())


def nonlinear(problem: mf.Problem, degree: int) -> Callable[[FloatArray], FloatArray]:
    """-div(f v) + diffusivity Laplacian f from coefficients, by sums over the nodes of one grid."""
    space, of = problem.manifold, problem.attention
    assert of is not None
    grid = space.grid(degree)
    x, l = space.vectors(grid.points), np.arange(degree + 1.0)
    heads = core.attention(of.matrices(x.shape[1]), of.normalization, problem.log_scale)
    phi = np.arctan2(x[:, 1], x[:, 0])
    east = np.stack([-np.sin(phi), np.cos(phi), 0 * phi][: x.shape[1]], axis=1)
    frame = [east] if space is CIRCLE else [np.cross(east, x), east]  # the first along theta

    def change(coefficients: FloatArray) -> FloatArray:
        nodal = grid.to_nodal(coefficients)
        velocity = core.Problem([heads]).velocity(core.Points(x, grid.weights * nodal), x)
        flux = nodal * np.array([(velocity * axis).sum(axis=1) for axis in frame])
        spread = space.convolve(-of.diffusivity * l * (l + space.dimension - 1), coefficients)
        return np.asarray(spread - grid.divergence(flux if space is SPHERE else flux[0]))

    return change


@pytest.mark.parametrize("normalization", ["none", "softmax", "sinkhorn"])
@pytest.mark.parametrize("space", [CIRCLE, SPHERE])
def test_operator_is_the_derivative_of_the_flow(space, normalization):
    """A term of the derivative would be missing: of Z, of the scaling, of the drift."""
    pairs = [(B1, V1), (B2, V2)] if space is CIRCLE else [(0.6 * B3, V3)]
    problem = attention(space, *pairs, beta=1.5, normalization=normalization, diffusivity=0.05)
    modes = [[1, 0.1, 0.0], [2, 0.0, 0.05], [3, -0.07, 0.04]]
    density = mf.perturbed_uniform(modes if space is CIRCLE else [[1, 1, 0.3], [2, 0, 0.2]])
    f = density.build(space)
    degree, wide = 6, 40 if space is CIRCLE else 11
    # Not stationary: only the matrix means something.
    operator = mf.linear_operator(problem, degree, about=f)
    assert not operator.stationary and len(operator.eigenvalues) == 0
    vector = np.random.default_rng(5).standard_normal(len(operator.matrix))
    step = 1e-4 * space.resize(operator.to_coefficients(vector), wide)
    change, at = nonlinear(problem, wide), f.moments(wide)
    # Error of the difference step^2, of its rounding eps / step.
    slope = (change(at + step) - change(at - step)) / 2e-4
    assert operator.matrix @ vector == pytest.approx(operator.to_vector(slope), abs=3e-7)


@pytest.mark.parametrize(
    ("alpha", "omega", "s"), [(0.4, 0.0, 1.0), (1.0, 0.0, 1.0), (0.4, 0.9, 0.7)]
)
def test_rotated_scores_and_values_on_the_circle(alpha, omega, s):
    """The signs of Im lambda, and the term that SA has more than USA / I_0."""
    beta, k = 5.0, np.arange(1, 9)
    wave, i, slope = np.exp(-1j * k * alpha), iv(k, beta), ivp(k, beta)
    w = s * np.exp(1j * (omega - alpha))
    i0, i1 = iv(0, beta), iv(1, beta)
    usa = wave * (k**2 / beta * i * w.real - 1j * k * slope * w.imag) - 1j * k * i1 * w.imag
    sa = usa / i0 + 1j * k * w.imag * i1 * i / i0**2 * wave
    for normalization, expected in (("none", usa), ("softmax", sa)):
        pair = (turn(alpha), s * turn(omega))
        problem = attention(CIRCLE, pair, beta=beta, normalization=normalization)
        operator = mf.linear_operator(problem)
        result = operator.eigenvalues * np.exp(problem.log_scale)
        scale = np.abs(expected).max()
        assert apart(result, np.concatenate([expected, expected.conj()])) < 1e-12 * scale
        # c_k ~ e^{lambda t}: the pattern cos(k theta + arg c_k) turns by -Im lambda / k.
        for order in (1, 2, 3):
            turning = operator.angular_velocities[operator.orders == order]
            rate = expected[order - 1] * np.exp(-problem.log_scale)
            assert turning == pytest.approx([-rate.imag / order] * 2, rel=1e-9)


def test_rotations_of_the_sphere():
    """B = V = R turns each order by its own angle; V = 1 + s J adds a drift."""
    beta, s, angle = 4.0, 0.7, 0.5
    pairs = [(l, m) for l in range(1, 5) for m in range(-l, l + 1)]
    l, m = np.array(pairs).T
    i, slope = spherical_in(l, beta), spherical_in(l, beta, derivative=True)
    i0, i1 = spherical_in(0, beta), spherical_in(1, beta)
    rate = l * (l + 1) * i / beta
    turned = turn(angle, 3)
    usa = rate - 1j * m * s * (i1 + slope + i / beta)
    sa = usa / i0 + 1j * m * s * i1 * i / i0**2
    problem = attention(SPHERE, (turned, turned), beta=beta, normalization="none")
    result = in_paper_time(problem, degree=5)
    assert apart(result, rate * np.exp(-1j * m * angle)) < 1e-11
    drifting = (np.eye(3), np.eye(3) + s * J)
    problem = attention(SPHERE, drifting, beta=beta, normalization="none")
    assert apart(in_paper_time(problem, degree=5), usa) < 1e-11
    assert apart(in_paper_time(attention(SPHERE, drifting, beta=beta), degree=5), sa) < 1e-12


def test_reflection_lets_cosines_grow_and_sines_decay():
    """Both would grow if y were not reflected where x is."""
    problem = attention(CIRCLE, ([1, -1], [1, -1]), beta=5.0, normalization="none")
    operator = mf.linear_operator(problem, 20)
    values = operator.eigenvalues.real * np.exp(5.0)
    assert values[[0, -1]] == pytest.approx([18.596070304472, -18.596070304472], rel=1e-12)
    grows, decays = operator.modes[0, 0], operator.modes[-1, 0]
    assert abs(grows[3].real) == pytest.approx(np.sqrt(0.5)) and abs(grows[3].imag) < 1e-12
    assert abs(decays[3].imag) == pytest.approx(np.sqrt(0.5)) and abs(decays[3].real) < 1e-12


# Eigenvalues of the couplings of Fourier coefficients, and of a Galerkin method on the sphere.
COUPLED = [
    (CIRCLE, np.diag([1.5, 0.75]), np.diag([2 / 3, 4 / 3]), 4.0,
     [32.89145317499811, 32.88606306967995, 23.07859162969532, 22.96340781912038,
      7.72665101546173, 7.17686616057163, 5.36909498828038],
     [0.37390436240031 + 0.20794979620637j, 0.36859563803622 + 0.20390424819141j,
      0.32588989521365 + 0.17510129625892j]),
    (CIRCLE, np.array([[1.2, 0.5], [-0.2, 0.8]]), None, 3.0,
     [2.92758733976491 + 2.99430168195896j, 2.38233435524331 + 3.49163881871838j,
      1.32469301682051],
     [0.46978124078103 + 0.30760200532155j, 0.28239820172996 + 0.43143057345400j,
      0.25811604751083 + 0.07047706851460j]),
    (SPHERE, np.diag([1.4, 1.0, 0.6]), None, 4.0,
     [13.1603987424, 13.0802435233, 9.0792624475, 9.0381723796, 8.8260400318, 8.7610305081,
      7.5805861621, 7.3855912906],
     [0.63834516006, 0.58842669974, 0.56947993589, 0.56761960048, 0.56453584380, 0.55832047745,
      0.5187960138 + 0.1703428131j]),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("space", "score", "value", "beta", "usa", "sa"), COUPLED)
def test_matrices_that_couple_degrees(space, score, value, beta, usa, sa):
    """V = B^{-T} leaves uniform in peace, and nothing of it is diagonal."""
    value = np.linalg.inv(score).T if value is None else value
    for normalization, expected in (("none", usa), ("softmax", sa)):
        problem = attention(space, (score, value), beta=beta, normalization=normalization)
        operator = mf.linear_operator(problem, 15 if space is SPHERE else None)
        assert operator.drift < 1e-12
        result = operator.eigenvalues * np.exp(problem.log_scale)
        # Ten digits are printed on the sphere.
        tolerance = 1e-10 if space is SPHERE else 1e-13
        leading = result[result.imag >= 0][: len(expected)]
        assert leading == pytest.approx(np.array(expected), abs=tolerance * max(1, abs(usa[0])))
        assert operator.errors[: len(expected)].max() < 1e-10


NUMBERS = [(1.0, -0.5), (3.0, 1.5)]


@pytest.mark.parametrize(("problem", "degree"), [
    *((attention(space, *NUMBERS, beta=1.0, normalization=each, diffusivity=0.01), 7)
      for space in (CIRCLE, SPHERE) for each in ("none", "softmax", "sinkhorn")),
    (mf.Problem(CIRCLE, mf.exponential(-6.0), mf.Flow(True, -1.0, 0.02)), 20),
])  # fmt: skip
def test_numbers_as_matrices_and_kernels_have_closed_forms(problem, degree):
    """Every order of a degree has its rate, of a sum of heads the sum; a kernel is a head."""
    operator = mf.linear_operator(problem, degree)
    rates = mf.growth_rates(problem, degree)[1:]
    copies = 2 * np.arange(1, degree + 1) + 1 if problem.manifold.dimension == 2 else 2
    expected = np.sort(np.repeat(rates, copies))[::-1]
    assert operator.eigenvalues.real == pytest.approx(expected, abs=1e-13)
    assert not operator.travelling.any()


@pytest.mark.parametrize(
    ("space", "beta", "normalized", "diffusivity"),
    [(CIRCLE, 3.0, True, 0.15), (CIRCLE, 3.0, False, 0.05), (SPHERE, 3.0, True, 0.2)],
)
def test_about_an_ordered_state(space, beta, normalized, diffusivity):
    """About a state that is not uniform the density multiplies, and the velocity drifts."""
    flow = mf.Flow(normalized, diffusivity=diffusivity)
    problem = mf.Problem(space, mf.exponential(beta), flow)
    state = mf.stationary_state(problem)
    degree = 14 if space is SPHERE else None
    operator = mf.linear_operator(problem, degree, about=state.density())
    assert operator.stationary and operator.drift > 0.05
    # On the sphere orders above 0 come twice.
    expected = [
        rate.rate
        for rate in state.growth_rates(4)
        for _ in range(2 if rate.order and space is SPHERE else 1)
    ]
    result = operator.eigenvalues[: len(expected)]
    assert result.real == pytest.approx(expected, abs=1e-10)
    if space is CIRCLE:
        # Two halves of a head are one; so the same about a density with heads.
        halves = attention(space, (1.0, 0.5), (1.0, 0.5), beta=beta, diffusivity=diffusivity,
                           normalization="softmax" if normalized else "none")  # fmt: skip
        again = mf.linear_operator(halves, about=state.density()).eigenvalues
        assert again[: len(result)] == pytest.approx(result, abs=1e-11)


def test_uniform_that_is_carried_away_has_no_spectrum():
    """Rates about a density that does not stay would mean nothing."""
    operator = mf.linear_operator(attention(CIRCLE, (1.0, [2.0, 1.0]), beta=4.0))
    assert not operator.stationary and len(operator.eigenvalues) == 0
    assert operator.growth_rate_max is None and operator.modes.shape == (0, 2, operator.degree + 1)
    # |P_x V m|, m = x I_1 / I_0: largest at 45 degrees, half the difference of the values.
    assert operator.drift == pytest.approx(0.5 * iv(1, 4.0) / iv(0, 4.0), rel=1e-10)
    assert "not stationary: |v| up to 0.4318" in repr(operator)
    refused(r"the density is not stationary: .* 0.432, .* about=", operator.perturbed, 0)


def test_without_scores_uniform_is_stationary_for_every_value():
    """At beta = 0 v = P_x V int y dmu: degree 1 moves like V (d - 1) / d, all else stays."""
    operator = mf.linear_operator(attention(SPHERE, (1.0, V3), beta=0.0), 3)
    assert operator.stationary
    expected = np.append(2 / 3 * np.linalg.eigvals(V3), 0.0)
    assert apart(operator.eigenvalues, expected) < 1e-14
    assert apart(expected, operator.eigenvalues) < 1e-14


def test_modes_are_eigenvectors_in_the_layout_of_densities():
    """A run that starts from a mode would start from something else."""
    operator = mf.linear_operator(attention(CIRCLE, (B1, np.linalg.inv(B1).T), beta=2.0))
    one, two = (operator.to_vector(part) for part in operator.modes[0])
    value = operator.eigenvalues[0]
    assert operator.matrix @ one == pytest.approx(value.real * one - value.imag * two, abs=1e-12)
    density = operator.perturbed(0, amplitude=0.02, phase=0.3)
    away = operator.to_vector(density.coefficients)
    expected = np.cos(0.3) * one - np.sin(0.3) * two
    assert core.unit(away) == pytest.approx(core.unit(expected), abs=1e-12)
    grid = CIRCLE.grid(operator.degree)
    # Over a turn of the phase every place has its own largest value.
    largest = np.hypot(grid.to_nodal(operator.modes[0, 0]), grid.to_nodal(operator.modes[0, 1]))
    place = int(largest.argmax())
    densities = [operator.perturbed(0, 0.02, phase) for phase in np.arange(0, 7, 0.1)]
    waves = [grid.to_nodal(each.coefficients)[place] - 1 for each in densities]
    assert np.abs(waves).max() == pytest.approx(0.02, rel=2e-3)
    assert operator.describe().startswith("grows, oscillates, period ")


def test_sharp_heads_are_resolved():
    """Bessel series of alternating signs lose all digits beyond beta |B| = 20."""
    beta, alpha = 100.0, 0.5
    operator = mf.linear_operator(attention(CIRCLE, (turn(alpha), turn(alpha)), beta=beta))
    rates = mf.growth_rates(mf.Problem(CIRCLE, mf.exponential(beta), mf.SA), 60)[1:]
    k = np.arange(1, 61)
    assert apart(operator.eigenvalues, rates * np.exp(-1j * k * alpha)) < 1e-12


def test_mistakes_are_one_line():
    """A mistake would be a traceback from linear algebra, or hours."""
    problem = attention(CIRCLE, (1.0, 0.5), (1.0, 0.5), beta=2.0)
    refused("degree must be at least 1, got 0", mf.linear_operator, problem, 0)
    on_circle = mf.Problem(mf.Sphere(2), mf.exponential(5.0))
    refused(r"sphere:2: .*; take mf\.Circle\(\)", mf.linear_operator, on_circle)
    message = "lives on the sphere, the problem on the circle"
    refused(message, mf.linear_operator, problem, about=mf.uniform().build(SPHERE))
    large, message = attention(SPHERE, (1.0, V3), beta=0.0), "make a matrix of 8280 rows"
    refused(f"degree 90 on the sphere {message}", mf.linear_operator, large, 90)
    refused("there is no mode 40: the operator has 4", mf.linear_operator(problem, 2).perturbed, 40)
    stretched = attention(CIRCLE, (1.0, (2.0, 1.0)), beta=2.0)
    message = "density is not stationary: tokens move there, .* Give a stat"
    refused(message, mf.linear_operator(stretched).describe)


@pytest.mark.slow
def test_run_that_starts_from_a_mode_grows_and_beats_like_it():
    """The operator would be that of another flow than the one that runs."""
    score, value = [1.5, 0.75], [2 / 3, 4 / 3]
    operator = mf.linear_operator(attention(CIRCLE, (score, value), beta=4.0))
    start = mf.from_density(operator.perturbed(0, 1e-7).coefficients)
    problem = mf.Problem(CIRCLE, operator.problem.kernel, initial=start)
    run = mf.simulate(problem, until=8.0, save=3, representation="density")
    mode, first = operator.vectors[:, 0], operator.eigenvalues[0]
    last = run.measures[-1]
    assert last is not None
    # Amplitudes grow to 2e-6, and so does what linear theory leaves out.
    vector = operator.to_vector(operator.perturbed(0, 1e-7).coefficients)
    size = np.linalg.norm(vector) / np.linalg.norm(mode.real)
    expected = size * (np.exp(first * 8.0) * mode).real
    away = operator.to_vector(last.moments(operator.degree)) - expected
    assert np.linalg.norm(away) < 5e-6 * np.linalg.norm(expected)
