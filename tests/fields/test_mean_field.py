"""From moments to the mean field."""

import numpy as np
import pytest
from parameters import each

import meanfield as mf
from meanfield.fields import circle, engines
from meanfield.fields.mean_field import interaction
from meanfield.terms.kernels import KERNELS

LAW = mf.mixture([(0.6, 0.3, 2.0), (0.4, 2.0, 1.0)]).build(mf.Circle())


def test_field_of_few_moments_is_cut_to_them():
    """A density of low degree has no more moments than that."""
    mean_field = interaction(mf.Problem(mf.Circle(), mf.exponential(6.0), mf.USA))
    assert len(mean_field.field(np.array([1.0, 0.2, 0.1j])).potential) == 3


@each("beta", [-4.0, 0.0, 5.0, 80.0], normalized=[False, True], strength=[1.0, -0.5])
def test_velocity_and_divergence_are_integrals_over_the_density(beta, normalized, strength):
    """v(x) = -strength int a(cos d) sin d f dsigma [/ int a f dsigma], by 400 nodes."""
    # Differentiated, v' = (N' - v Z') / Z with the integrals N = int a sin d f and Z = int a f.
    problem = mf.Problem(mf.Circle(), KERNELS["exponential"](beta), mf.Flow(normalized, strength))
    mean_field = interaction(problem)
    points = np.linspace(-3.0, 9.0, 23)
    field = mean_field.field(LAW.moments(mean_field.degree))
    velocity, found = field.velocity_and_divergence(points)
    theta = 2 * np.pi * np.arange(400) / 400
    f = mf.Circle().evaluate(LAW.coefficients, theta)
    d = points[:, None] - theta
    a = np.exp(beta * np.cos(d) - abs(beta)) * f
    exact = -strength * (a * np.sin(d)).mean(axis=1)
    expected = strength * (a * (beta * np.sin(d) ** 2 - np.cos(d))).mean(axis=1)
    if normalized:
        slope = -beta * (a * np.sin(d)).mean(axis=1)
        exact /= a.mean(axis=1)
        expected = (expected - field.velocity(points) * slope) / a.mean(axis=1)
    # Terms of size beta cancel.
    np.testing.assert_allclose(found, expected, rtol=0, atol=5e-15 * max(1.0, abs(beta)))
    np.testing.assert_allclose(velocity, field.velocity(points), rtol=0, atol=5e-15)
    np.testing.assert_allclose(field.velocity(points), exact, rtol=0, atol=5e-15)


@pytest.mark.slow
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("space", [mf.Circle(), mf.Sphere()], ids=["circle", "sphere"])
@pytest.mark.parametrize("own", [False, True], ids=["exponential", "zonal"])
def test_divergence_obeys_the_divergence_theorem(own, space, normalized):
    """Means of g div v and of -<grad g, v> agree, also where grad Z is not along grad Phi."""
    kernel = mf.zonal(lambda s: 1.2 + s + 0.3 * s**2) if own else mf.exponential(3.0)
    mean_field = interaction(mf.Problem(space, kernel, mf.Flow(normalized)))
    assert (mean_field.partition_slope is None) == (own or not normalized)
    grid = space.grid(60)
    points = np.asarray(grid.points)
    law = mf.von_mises_fisher(2.0, mean=0.4 if space.dimension == 1 else [0.0, 0.6, 0.8])
    field = mean_field.field(law.build(space).moments(mean_field.degree))
    velocity, divergence = field.velocity_and_divergence(points)
    test = law.build(space).moments(7)
    test[1:] += 0.1
    along = velocity * space.gradient(test, points)
    along = along if along.ndim == 1 else along.sum(axis=1)
    expected = -(grid.weights @ along)
    assert abs(expected) > 1e-3
    found = grid.weights @ (divergence * space.evaluate(test, points))
    assert found == pytest.approx(expected, abs=1e-13)


def scaled_run(flow: mf.Flow, scale: float, representation: str, until: float) -> mf.Run:
    """Run with a user's kernel, from a density that leaves hardly any mass on one side."""
    law = mf.von_mises_fisher(12.0)
    if representation == "particles":
        angles = law.build(mf.Circle()).coefficients[1].real * np.linspace(0.0, 5.0, 150) ** 2
        law = mf.from_points(angles, np.linspace(1.0, 2.0, 150) / 225.0)
    kernel = mf.zonal(lambda s: scale * np.exp(6.0 * (s - 1.0)), beta=6.0)
    problem = mf.Problem(mf.Circle(), kernel, flow, law)
    return mf.simulate(problem, until=until, save=[until], representation=representation)


@pytest.mark.slow
@pytest.mark.parametrize("representation", ["density", "characteristics", "particles", "auto"])
def test_softmax_flow_does_not_depend_on_the_scale_of_its_kernel(representation):
    """At 1e-15 all of Z was below its floor; powers of two change no bit, but of energies."""
    ends = [scaled_run(mf.SA, 2.0**k, representation, 0.7) for k in (0, -50, 60)]
    for k, end in zip((-50, 60), ends[1:], strict=True):
        assert np.array_equal(end.moments, ends[0].moments)
        dissipation = end.diagnostics["energy_dissipation"]
        assert np.array_equal(dissipation, 2.0**k * ends[0].diagnostics["energy_dissipation"])


@pytest.mark.slow
@pytest.mark.parametrize("exponent", [-50, 60])
@pytest.mark.parametrize("representation", ["density", "particles"])
def test_scale_of_a_kernel_is_a_unit_of_time(representation, exponent):
    """Without softmax: steps of 1e-18 are no steps that vanish where velocities are 1e18."""
    plain = scaled_run(mf.USA, 1.0, representation, 0.7)
    scaled = scaled_run(mf.USA, 2.0**exponent, representation, 0.7 * 2.0**-exponent)
    np.testing.assert_allclose(scaled.moments, plain.moments, rtol=0, atol=1e-9)


@pytest.mark.parametrize("normalized", [False, True])
def test_degree_beyond_a_gap_moves_tokens(normalized):
    """A kernel of degrees 1 and 70: moments of 200 tokens against sums over pairs."""
    multipliers = np.zeros(71)
    multipliers[[0, 1, 70]] = 1.0, 0.2, 0.1
    kernel, space = mf.zonal(multipliers=multipliers), mf.Circle()
    points = np.random.default_rng(3).uniform(0.0, 2 * np.pi, 200)
    mean_field = interaction(mf.Problem(space, kernel, mf.Flow(normalized)))
    found = mean_field.field(space.moments(points, None, mean_field.degree)).velocity(points)
    expected = engines.pair_velocity(space, kernel, points, None, normalized)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("flow", [mf.USA, mf.SA, mf.Flow(normalized=True, strength=-1.0)])
@pytest.mark.parametrize("weighted", [False, True])
def test_velocity_in_the_own_field_is_that_of_three_calls_to_the_bit(flow, weighted):
    """Few tokens take one compiled call; more, and angles that it cannot reduce, do not."""
    rng = np.random.default_rng(4)
    space = mf.Circle()
    mean_field = interaction(mf.Problem(space, mf.exponential(30.0), flow))
    for n, turns, alone in ((1, 1, True), (193, 1, True), (3000, 1, True), (200, 1e17, False)):
        points = turns * rng.uniform(0.0, 2 * np.pi, n)
        weights = rng.dirichlet(np.ones(n)) if weighted else None
        expected = mean_field.field(space.moments(points, weights, mean_field.degree)).velocity(
            points
        )
        assert np.array_equal(engines.velocity(mean_field, points, weights), expected)
        assert (circle.own_velocity(mean_field, points, weights) is not None) == alone
    points = rng.uniform(0.0, 2 * np.pi, 4000)
    assert circle.own_velocity(mean_field, points, None) is None
