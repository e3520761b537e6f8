"""Rates of any clusters against complex steps, closed forms, more digits and runs."""

from typing import Any

import mpmath
import numpy as np
import pytest
from atoms import angles_after
from parameters import each, refused, together

import meanfield as mf
from meanfield.spectrum.cluster_rates import ClusterRates, cluster_rates
from meanfield.spectrum.stability import growth_rates

CIRCLE, SPHERE = mf.Circle(), mf.Sphere()
FLOWS = [mf.USA, mf.SA, mf.Flow("none", strength=-0.5), mf.Flow(normalized=True, strength=2.0)]
STEP = 1e-200
RNG = np.random.default_rng(4)
MASSES = RNG.dirichlet(np.ones(5))
CLUSTERS = {
    "circle": mf.Measure(CIRCLE, 2 * np.pi * RNG.random(5), MASSES),
    "sphere": mf.Measure(SPHERE, RNG.standard_normal((5, 3)), MASSES),
    "sphere:4": mf.Measure(mf.Sphere(4), RNG.standard_normal((5, 4)), MASSES),
}


def problem(manifold: str, beta: float, flow: mf.Flow) -> mf.Problem:
    kernel = mf.exponential(beta) if beta else mf.linear()
    return mf.Problem(CLUSTERS[manifold].manifold, kernel, flow)


def rates_of(points: Any, weights: Any, beta: float, flow: mf.Flow = mf.USA) -> ClusterRates:
    """Rates of clusters on the circle."""
    return cluster_rates(problem("circle", beta, flow), mf.Measure(CIRCLE, points, weights))


def vectors(measure: mf.Measure) -> np.ndarray:
    return measure.manifold.vectors(measure.points)


def frames(x: np.ndarray) -> np.ndarray:
    return np.array([np.linalg.svd(point[None])[2][1:] for point in x])


def velocity(x: np.ndarray, y: np.ndarray, mass: np.ndarray, beta: float, flow: mf.Flow):
    """Definition of the model, analytic in its arguments: complex steps differentiate it."""
    x = x / np.sqrt((x * x).sum(axis=1))[:, None]
    y = y / np.sqrt((y * y).sum(axis=1))[:, None]
    s = x @ y.T
    a = np.exp(beta * s - abs(beta)) * mass
    drift = a @ y - (a * s).sum(axis=1)[:, None] * x
    return flow.strength * (drift / a.sum(axis=1)[:, None] if flow.normalized else drift)


def jacobian(measure: mf.Measure, beta: float, flow: mf.Flow) -> np.ndarray:
    """Derivative of all velocities in tangent frames, (n k, n k), exact to rounding."""
    x, basis = vectors(measure), frames(vectors(measure))
    columns = []
    for i in range(len(x)):
        for tangent in basis[i]:
            moved = x.astype(complex)
            moved[i] += 1j * STEP * tangent
            slope = velocity(moved, moved, measure.mass, beta, flow).imag / STEP
            columns.append(np.einsum("nkx,nx->nk", basis, slope).ravel())
    return np.array(columns).T


def assert_same_rates(rates: np.ndarray, expected: np.ndarray, error: float) -> None:
    """In any order."""
    result, expected = np.sort_complex(rates), np.sort_complex(expected)
    np.testing.assert_allclose(result, expected, rtol=0, atol=error)


@pytest.mark.parametrize("manifold", CLUSTERS)
@each("beta", [-3.0, 0.0, 2.0, 8.0], flow=FLOWS)
def test_escape_rates_are_eigenvalues_of_the_jacobian(manifold, beta, flow):
    """Clusters anywhere, of any masses, moving or not, would escape at other rates."""
    measure = CLUSTERS[manifold]
    escape = cluster_rates(problem(manifold, beta, flow), measure).escape
    expected = np.linalg.eigvals(jacobian(measure, beta, flow))
    assert np.all(np.diff(escape.real) <= 0)
    assert_same_rates(escape, expected, 2e-14 * np.abs(expected).max())


@pytest.mark.parametrize("flow", FLOWS[:2])
@pytest.mark.parametrize("manifold", CLUSTERS)
def test_modes_are_tangent_vectors_that_grow_at_their_rate(manifold, flow):
    """J mode = rate mode, with modes of length 1 in the coordinates of the points."""
    measure = CLUSTERS[manifold]
    rates = cluster_rates(problem(manifold, 3.0, flow), measure)
    x = vectors(measure)
    modes = rates.modes
    if manifold == "circle":
        modes = modes[:, :, None] * np.stack([-x[:, 1], x[:, 0]], axis=1)
    assert np.abs(np.einsum("rnx,nx->rn", modes, x)).max() < 1e-15
    flat = np.einsum("nkx,rnx->rnk", frames(x), modes).reshape(len(modes), -1)
    np.testing.assert_allclose(np.linalg.norm(flat, axis=1), 1.0, rtol=1e-14)
    pushed = flat @ jacobian(measure, 3.0, flow).T
    np.testing.assert_allclose(pushed, rates.escape[:, None] * flat, rtol=0, atol=2e-14)


@pytest.mark.parametrize("manifold", CLUSTERS)
@each("beta", [-3.0, 0.0, 8.0], flow=FLOWS)
def test_contraction_is_the_slowest_fall_of_a_test_particle(manifold, beta, flow):
    """The field of all clusters, self-attraction included, differentiated at each of them."""
    measure = CLUSTERS[manifold]
    x, basis = vectors(measure), frames(vectors(measure))
    columns = [
        velocity(x + 1j * STEP * basis[:, k], x, measure.mass, beta, flow).imag / STEP
        for k in range(basis.shape[1])
    ]
    slopes = np.einsum("nkx,lnx->nkl", basis, columns)
    expected = -np.linalg.eigvals(slopes).real.max(axis=1)
    contraction = cluster_rates(problem(manifold, beta, flow), measure).contraction
    np.testing.assert_allclose(contraction, expected, rtol=0, atol=2e-15 * max(1.0, abs(beta)))


@pytest.mark.parametrize("manifold", CLUSTERS)
def test_drift_is_the_largest_speed(manifold):
    """A moving configuration would pass for stationary."""
    measure = CLUSTERS[manifold]
    for flow in FLOWS:
        speeds = velocity(vectors(measure), vectors(measure), measure.mass, 2.0, flow)
        drift = cluster_rates(problem(manifold, 2.0, flow), measure).drift
        assert drift == pytest.approx(np.linalg.norm(speeds, axis=1).max(), rel=1e-14)


@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
def test_rates_do_not_change_under_rotation(flow):
    """Rates would depend on the choice of frames."""
    measure = CLUSTERS["sphere"]
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    turned = mf.Measure(SPHERE, measure.points @ turn.T, measure.weights)
    one, other = (cluster_rates(problem("sphere", 4.0, flow), each) for each in (measure, turned))
    np.testing.assert_allclose(one.escape, other.escape, rtol=0, atol=1e-14)
    np.testing.assert_allclose(one.contraction, other.contraction, rtol=0, atol=1e-14)


def test_a_kernel_from_a_function_has_the_same_rates():
    """The derivative of the attention comes from its series then."""
    measure, kernel = CLUSTERS["sphere"], mf.zonal(lambda s: np.exp(4 * s - 4))
    for flow in FLOWS:
        rates = cluster_rates(mf.Problem(SPHERE, kernel, flow), measure)
        expected = cluster_rates(problem("sphere", 4.0, flow), measure)
        np.testing.assert_allclose(rates.escape, expected.escape, rtol=0, atol=1e-12)


def test_a_point_without_mass_escapes_as_it_contracts():
    """A test particle on top of cluster 0 attends to the cluster, and no cluster to it."""
    points, weights = [0.3, 1.7, 4.0, 0.3], [0.2, 0.3, 0.5, 0.0]
    for flow in (mf.USA, mf.SA):
        alone = rates_of(points[:3], weights[:3], 3.0, flow)
        escape = rates_of(points, weights, 3.0, flow).escape
        assert_same_rates(escape, np.append(alone.escape, -alone.contraction[0]), 1e-14)


def test_moving_clusters_may_have_complex_rates_under_sa_only():
    """Softmax breaks the symmetry of the Jacobian unless the clusters stand still."""
    measure = mf.Measure(CIRCLE, [2.0, 3.4, 2.65], [0.06, 0.78, 0.16])
    usa, sa = (cluster_rates(problem("circle", 4.3, flow), measure) for flow in FLOWS[:2])
    assert np.isrealobj(usa.escape)
    assert np.abs(sa.escape.imag).max() > 1e-3
    assert_same_rates(sa.escape, np.linalg.eigvals(jacobian(measure, 4.3, mf.SA)), 1e-13)


@each(
    "points, weights",
    [
        (2 * np.pi * np.arange(4) / 4, None),
        (2 * np.pi * np.arange(5) / 5, None),
        ([0.0, np.pi], [0.2, 0.8]),
    ],
    flow=[mf.USA, mf.SA],
)
def test_atoms_leave_along_the_leading_mode_at_its_rate(points, weights, flow):
    """Two e-folds of a displacement of 1e-8, by an independent integrator."""
    beta, start = 5.0, mf.Measure(CIRCLE, points, weights)
    rates = cluster_rates(problem("circle", beta, flow), start)
    time, step, options = 2.0 * rates.lifetime, 1e-8 * rates.modes[0], (beta, flow.normalized)
    ends = [
        angles_after(time, start.points + way * step, start.weights, *options, atol=1e-16)
        for way in (1.0, -1.0)
    ]
    # Odd in the displacement: rounding of the start cancels, eps / 1e-8 of each angle is left.
    growth = np.linalg.norm(ends[0] - ends[1]) / 2e-8
    assert np.log(growth) == pytest.approx(2.0, rel=5e-7)


@pytest.mark.parametrize(
    "beta, points", [(-1.0, 2 * np.pi * np.arange(3) / 3), (5.0, [1.0]), (81.0, [0.5])]
)
def test_what_does_not_escape_lives_for_ever(beta, points):
    """The rounding of a rotation's rate must not pass for an escape."""
    for flow in (mf.USA, mf.SA):
        assert rates_of(points, None, beta, flow).lifetime == np.inf


def test_a_light_cluster_may_be_torn_apart():
    """Midway between heavy neighbours a cluster of little mass does not hold together."""
    rates = rates_of([-1.0, 0.0, 1.0], [0.495, 0.01, 0.495], 4.0)
    a, s = np.exp(4 * (np.cos(1.0) - 1)), np.cos(1.0)
    assert rates.contraction[1] == pytest.approx(0.01 - 0.99 * a * (4 * (1 - s**2) - s), rel=1e-13)
    assert rates.contraction[1] < 0 < rates.contraction[0]


def test_what_is_no_configuration_is_refused():
    """A list, a measure elsewhere, and diffusion have no cluster rates."""
    of, measure = problem("circle", 1.0, mf.USA), CLUSTERS["circle"]
    message = "measure must be weighted points, .*, got .0.0, 1.0. .list"
    refused(message, cluster_rates, of, [0.0, 1.0], error=TypeError)
    message = "clusters live on the circle, the problem on the sphere"
    refused(message, cluster_rates, problem("sphere", 1.0, mf.USA), measure)
    noisy = problem("circle", 1.0, mf.Flow("none", diffusivity=0.1))
    refused("no stationary states with diffusivity > 0", cluster_rates, noisy, measure)


@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
@pytest.mark.parametrize("gap", [1.2, 2.0])
def test_tiny_rates_keep_their_digits(gap, flow):
    """Beta = 81: rates of 1e-21 and 1e-48, which moments could not even see."""
    first, second, beta = 0.3, 0.7, 81.0
    rates = rates_of([0.5, 0.5 + gap], [first, second], beta, flow)
    with mpmath.workdps(50):
        phi = mpmath.mpf(0.5 + gap) - mpmath.mpf(0.5)

        def approach(angle: mpmath.mpf) -> mpmath.mpf:
            a = mpmath.exp(beta * (mpmath.cos(angle) - 1))
            masses = first + second * a, second + first * a
            z = masses if flow.normalized else (1, 1)
            return -a * mpmath.sin(angle) * (second / z[0] + first / z[1])

        slope = float(mpmath.diff(approach, phi))
    assert rates.escape[0] == pytest.approx(slope, rel=1e-13)
    assert rates.lifetime == pytest.approx(1.0 / slope, rel=1e-13)
    assert abs(rates.escape[1]) <= 1e-15 * slope


def test_several_tiny_rates_equal_those_with_more_digits():
    """Three unequal clusters at beta = 81, eigenvalues in 60 digits."""
    angles, masses, beta = [0.0, 1.4, 3.1], [0.2, 0.5, 0.3], 81.0
    with mpmath.workdps(60):
        matrix = mpmath.zeros(3)
        for i in range(3):
            for j in range(3):
                d = mpmath.mpf(angles[i]) - mpmath.mpf(angles[j])
                f = mpmath.exp(beta * (mpmath.cos(d) - 1))
                f *= beta * mpmath.sin(d) ** 2 - mpmath.cos(d)
                if i != j:
                    matrix[i, j] = -mpmath.sqrt(mpmath.mpf(masses[i]) * masses[j]) * f
                    matrix[i, i] += masses[j] * f
        exact = sorted((float(rate) for rate in mpmath.eigsy(matrix)[0]), reverse=True)
    escape = rates_of(angles, masses, beta).escape
    np.testing.assert_allclose(escape, exact, rtol=0, atol=1e-13 * exact[0])


@each("beta", [-2.0, 5.0, 81.0], first=[0.5, 0.9])
def test_opposite_clusters_of_any_masses_have_the_closed_form(beta, first):
    """A pair at pi: a (USA), a [m_2 / Z_1 + m_1 / Z_2] (SA), with a = e^{-2 beta}."""
    own = np.exp(min(0.0, 2 * beta))  # a(1)
    a, second = own * np.exp(-2 * beta), 1 - first
    softened = a * (second / (first * own + second * a) + first / (second * own + first * a))
    for points, manifold in (([0.0, np.pi], CIRCLE), ([[0, 0, 1], [0, 0, -1]], SPHERE)):
        measure = mf.Measure(manifold, points, [first, second])
        for flow, rate in ((mf.USA, a), (mf.SA, softened)):
            rates = cluster_rates(problem(manifold.name, beta, flow), measure)
            count = manifold.dimension
            np.testing.assert_allclose(rates.escape[:count], rate, rtol=1e-14)
            np.testing.assert_allclose(rates.escape[count:], 0.0, rtol=0, atol=1e-15 * rate)


def polygon_rates(beta: float, k: int, flow: mf.Flow = mf.USA) -> ClusterRates:
    return rates_of(2 * np.pi * np.arange(k) / k, None, beta, flow)


def folded(values: np.ndarray, k: int) -> np.ndarray:
    """Sums over p in Z of values[|k p + q|], q = 0 ... k - 1."""
    reach = len(values) - 1
    degrees = np.arange(-reach, reach + 1)
    return np.bincount(degrees % k, values[np.abs(degrees)], minlength=k)


@together("flow", [mf.USA, mf.SA, mf.Flow("none", strength=-1.0)])
@together("k, beta", [(2, 5.0), (3, -2.0), (5, 9.0), (12, 0.0), (12, 30.0)])
def test_rates_are_folded_growth_rates(k, beta, flow):
    """Equations (13) and (14), by Poisson summation: sums over clusters are sums over degrees."""
    kernel = problem("circle", beta, mf.USA).kernel
    degree = kernel.degree(1) + k
    unnormalised = problem("circle", beta, mf.Flow("none", strength=flow.strength))
    growth = folded(growth_rates(unnormalised, degree), k)
    if flow.normalized:
        growth = growth / folded(kernel.attention_multipliers(1, degree), k)[0]
    rates = polygon_rates(beta, k, flow)
    # The folded ones are differences of rates of the size of the contraction.
    slack = 2e-14 * max(1.0, np.abs(growth).max())
    expected = np.sort(growth - growth[0])[::-1]
    np.testing.assert_allclose(rates.escape, expected, rtol=0, atol=slack)
    np.testing.assert_allclose(rates.contraction, growth[0], rtol=0, atol=slack)


PRINTED = [  # k, beta, normalized, largest escape rate, contraction rate; paper time
    (3, 5.0, False, "0.3488612442", "49.2385"),
    (3, 5.0, True, "0.00704403", "0.994199"),
    (4, 7.0, False, "7.0000000000", "270.658"),
    (4, 7.0, True, "0.0254862", "0.985435"),
    (3, 7.0, False, "0.173635", None),
    (4, 10.0, False, "10.0000000000", "5501.62"),
    (4, 10.0, True, "0.00181583", None),
]


@pytest.mark.parametrize("k, beta, normalized, escape, contraction", PRINTED)
def test_rates_equal_printed_values(k, beta, normalized, escape, contraction, verified):
    """Theory 1.5: the triangle at beta = 5, the square at beta = 7 with exactly 7."""
    rates = polygon_rates(beta, k, mf.Flow(normalized))
    unit = 1.0 if normalized else np.exp(beta)
    for value, text in ((rates.escape.max(), escape), (rates.contraction[0], contraction)):
        if text is not None:
            digits = len(text.partition(".")[2])
            # Half a unit of the last digit; e^beta multiplies the rounding of scaled rates.
            slack = 0.6 * 10.0**-digits + 1e-15 * unit
            what = "escape and contraction rates of polygons of clusters, circle, as printed"
            verified("exact solutions", what, value * unit - float(text), slack)


def test_triangle_is_marginal_at_minus_two_thirds(verified):
    """The sharp constant of the synchronisation theorem: Lambda_1 = 0 exactly there."""
    what = "escape rates of the triangle at beta = -2/3, circle"
    verified("exact solutions", what, polygon_rates(-2 / 3, 3).escape, 1e-12)
    # One rate is that of a rotation.
    assert polygon_rates(-2 / 3 - 1e-9, 3).escape[0] < 1e-15
    assert polygon_rates(-2 / 3 + 1e-9, 3).escape[1] > 1e-12


@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
def test_fine_polygon_has_the_rates_of_uniform(flow):
    """Finite N theorem: 64 tokens at beta = 5 have the five largest lambda_l, twice each."""
    escape = polygon_rates(5.0, 64, flow).escape
    rates = np.sort(np.repeat(growth_rates(problem("circle", 5.0, flow))[1:], 2))[::-1]
    np.testing.assert_allclose(escape[:10], rates[:10], rtol=2e-14)
