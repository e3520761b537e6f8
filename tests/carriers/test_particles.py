"""Particles as a representation, and the choice between representations."""

from dataclasses import replace

import numpy as np
import pytest
from parameters import each, refused, together
from scipy.integrate import solve_ivp

import meanfield as mf
from meanfield.carriers import Options, particles, represent

LAW = mf.perturbed_uniform([[3, 0.2, 0.1]])


def problem_of(law: mf.Law, flow: mf.Flow = mf.USA) -> mf.Problem:
    return mf.Problem(mf.Circle(), mf.exponential(5.0), flow, law)


def test_tokens_are_drawn_with_the_seed():
    """From a density: the same tokens as `sample_tokens`, equal weights."""
    problem = problem_of(LAW)
    carrier = particles(problem, problem.initial_measure(), tokens=50, seed=4)
    expected = mf.sample_tokens(problem.initial_measure(), 50, np.random.default_rng(4))
    assert np.array_equal(carrier.state, expected)
    assert carrier.weights is None


def test_points_are_taken_as_they_are():
    """Angles stay unwrapped, weights stay theirs; `tokens` does not resample."""
    law = mf.from_points(np.array([-9.0, 20.0]), np.array([0.25, 0.75]))
    carrier = particles(problem_of(law), problem_of(law).initial_measure(), tokens=7)
    assert np.array_equal(carrier.state, [-9.0, 20.0])
    assert np.array_equal(carrier.weights, [0.25, 0.75])
    measure = carrier.measure(carrier.state)
    assert np.array_equal(measure.moments(5), carrier.moments(carrier.state, 5))


@pytest.mark.parametrize("d", [2, 3, 4, 40])
def test_tokens_keep_loose_tolerances(d):
    """Steps of order five err by four tolerances here, and by more as the tolerance falls."""
    space, rng = mf.Circle() if d == 2 else mf.Sphere(d), np.random.default_rng(1)
    law = mf.from_points(space.random_points(200, rng))
    problem = mf.Problem(space, mf.exponential(2.0), mf.SA, law)
    exact, *rough = (
        mf.simulate(problem, until=2.0, save=2, tolerance=tolerance).measures[-1].points
        for tolerance in (1e-12, 1e-4, 3e-5, 1e-5)
    )
    # Single tokens: states inside steps err by less than a tolerance in root mean square.
    errors = [np.abs(points - exact).max() for points in rough]
    assert (np.array(errors) < [1.5e-4, 3e-5, 1e-5]).all(), errors


@each("d", [2, 3, 4, 16], normalized=[False, True])
def test_own_kernel_moves_few_tokens_like_the_exponential(d, normalized):
    """Kernels without a pair sum of their own go through moments, few tokens or not."""
    space, rng = mf.Circle() if d == 2 else mf.Sphere(d), np.random.default_rng(0)
    measure = mf.Measure(space, space.random_points(9, rng), rng.dirichlet(np.ones(9)))
    own = mf.zonal(lambda s: np.exp(5 * (s - 1)), beta=5.0)
    problem = mf.Problem(space, mf.exponential(5.0), mf.Flow(normalized, -2.0))
    rate, expected = (
        particles(each, measure).rhs(0.0, np.ravel(measure.points))
        for each in (replace(problem, kernel=own), problem)
    )
    # Quadrature leaves 1e-14 in each multiplier, and Z may be small.
    np.testing.assert_allclose(rate, expected, rtol=0, atol=1e-12)


@pytest.mark.slow
@each("d", [4, 16], normalized=[False, True])
def test_own_kernels_are_summed_over_pairs_in_any_dimension(d, normalized):
    """Kernels without harmonics were refused; here a sum over all pairs, written out, is solved."""
    space, rng = mf.Sphere(d), np.random.default_rng(2)
    start, mass = space.random_points(7, rng), rng.dirichlet(np.ones(7))

    def attention(s: np.ndarray) -> np.ndarray:
        return 1.0 / (1.5 - s)

    def rate(t: float, state: np.ndarray) -> np.ndarray:
        x = state.reshape(7, d)
        weights = attention(x @ x.T) * mass
        if normalized:
            weights /= weights.sum(axis=1)[:, None]
        return -0.7 * space.project(x, weights @ x).ravel()

    flow = mf.Flow(normalized, strength=-0.7)
    problem = mf.Problem(space, mf.zonal(attention), flow, mf.from_points(start, mass))
    run = mf.simulate(problem, until=2.0, save=2, tolerance=1e-12)
    end = solve_ivp(rate, (0.0, 2.0), start.ravel(), method="DOP853", rtol=1e-12, atol=1e-12)
    x = end.y[:, -1].reshape(7, d)
    assert np.abs(x - start).max() > 0.1
    np.testing.assert_allclose(run.measures[-1].points, x, rtol=0, atol=1e-10)
    # W(s) = log(2.5 / (1.5 - s)), over that of all mass in one place.
    energy = mass @ np.log(2.5 / (1.5 - x @ x.T)) @ mass / np.log(5.0)
    assert run.observables["energy"][-1] == pytest.approx(energy, abs=1e-10)
    assert mf.verify(run).passed


@pytest.mark.parametrize(
    "flow, step", [(mf.USA, 5.0), (mf.SA, 5.0), (mf.Flow("none", strength=-2.0), 2.5)]
)
def test_steps_stay_within_the_stability_limit(flow, step):
    """Tokens that have met fall together at |strength|: longer steps let them drift apart."""
    problem = problem_of(LAW, flow)
    carrier = particles(problem, problem.initial_measure(), tokens=5)
    assert carrier.largest_step(0.0, carrier.state) == pytest.approx(step)


@pytest.mark.slow
def test_tokens_that_have_met_stay_together():
    """On its stability limit the stepper kept them 1e-10 apart at this tolerance."""
    problem = replace(problem_of(mf.from_points([0.0, 1.5])), kernel=mf.exponential(9.0))
    run = mf.simulate(problem, until=1e4, save=2, tolerance=1e-10, representation="particles")
    first, second = run.measures[-1].points
    assert abs(first - second) < 1e-12


def test_noise_depends_on_the_seed_and_on_nothing_else():
    """Runs from the same tokens would otherwise be one run many times."""
    problem = problem_of(mf.from_points([0.0, 1.0, 2.0]), mf.Flow("none", diffusivity=0.05))
    runs = [mf.simulate(problem, until=1.0, save=2, step=0.1, seed=seed) for seed in (3, 4, 3)]
    ends = [run.measures[-1].points for run in runs]
    assert np.array_equal(ends[0], ends[2]) and not np.any(np.isclose(ends[0], ends[1]))


FAST = mf.Flow("none", strength=4.0, diffusivity=0.05)


@together(
    "flow, options, message",
    [
        # There is no error control that would refuse a step that is too long.
        (FAST, {"tokens": 5, "step": 0.3},
         "step = 0.3 in scaled time is too long for the drift.* at most 0.25"),
        (mf.USA, {"tokens": 5, "step": 0.01}, "step = 0.01 is for particles with noise"),
        (mf.USA, {"tokens": None}, "particles drawn from a density need tokens >= 1"),
        (mf.USA, {"tokens": 0}, "particles drawn from a density need tokens >= 1"),
    ],
)  # fmt: skip
def test_options_that_cannot_act_are_refused(flow, options, message):
    """The midpoint rule would throw clustered tokens about; others would be ignored unsaid."""
    problem = problem_of(LAW, flow)
    refused(message, particles, problem, problem.initial_measure(), **options)


def test_auto_begins_as_the_initial_measure_does():
    """A density as a density, tokens as particles, atoms as atoms."""
    laws = [LAW, mf.from_points(np.zeros(3), name="atoms"), mf.from_points(np.zeros(3))]
    names = [represent(problem_of(law), Options()).name for law in laws]
    assert names == ["density", "atoms", "particles"]


def test_unknown_representation_is_refused():
    """The message lists what is known."""
    options = Options(name="densty")
    refused("'densty' is not known. Did you mean density", represent, problem_of(LAW), options)


@together(
    "options, message",
    [
        ({"tolerance": 1e-14}, "tolerance must lie between 1e-13 and 0.01, got 1e-14"),
        ({"tolerance": 0.1}, "tolerance must lie between 1e-13 and 0.01, got 0.1"),
        ({"tolerance": np.nan}, "tolerance must lie between"),
    ],
)
def test_options_refuse_impossible_tolerances(options, message):
    """Checked where they are given."""
    refused(message, Options, **options)


def test_kernel_too_narrow_for_the_manifold_is_refused():
    """Moments of degree 8,890 on the sphere would fill the memory."""
    tokens = mf.from_points([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    problem = mf.Problem(mf.Sphere(), mf.exponential(1e6), mf.USA, tokens)
    message = "the kernel needs degree 8890, at most 2047 on the sphere"
    refused(message, particles, problem, problem.initial_measure())


@pytest.mark.parametrize("weight", [0.0, 1e-17, 1e-11])
def test_lonely_tokens_of_little_weight_keep_their_velocity(weight):
    """Far from all mass Z is rounding, and so would be the softmax of tokens that weigh nothing."""
    rng = np.random.default_rng(1)
    n, angle = 3000, 1.5
    x = np.append(rng.uniform(-0.02, 0.02, n - 1), angle)
    lifted = np.stack([np.sin(x), np.zeros(n), np.cos(x)], axis=1)
    weights = np.append(np.full(n - 1, (1.0 - weight) / (n - 1)), weight)
    for space, points in ((mf.Circle(), x), (mf.Sphere(), lifted)):
        law = mf.from_points(points, weights)
        problem = mf.Problem(space, mf.exponential(60.0), mf.SA, law)
        carrier = particles(problem, problem.initial_measure())
        attention = weights * np.exp(60.0 * (np.cos(x - angle) - 1.0))
        expected = (attention @ np.sin(x - angle)) / attention.sum()
        found = carrier.rhs(0.0, carrier.state).reshape(n, -1)[-1]
        speed = found[0] if space.dimension == 1 else found @ [np.cos(angle), 0, -np.sin(angle)]
        # Angles are rounded by 2e-16, which the exponent multiplies by 60.
        assert speed == pytest.approx(expected, rel=1e-12)


@each("d", [2, 3], flow=[mf.USA, mf.SA], count=[20, 400], weighted=[False, True])
def test_saved_times_share_points_and_moments(d, flow, count, weighted):
    """Numbers computed together would differ from each alone."""
    rng, space = np.random.default_rng(count), mf.Circle() if d == 2 else mf.Sphere()
    points = space.random_points(count, rng)
    weights = rng.dirichlet(np.ones(count)) if weighted else None
    problem = mf.Problem(space, mf.exponential(5.0), flow, mf.from_points(points, weights))
    carrier = represent(problem, Options("particles"))
    measure, moments, facts = carrier.at_saved_time(0.0, carrier.state, 30)
    assert np.array_equal(measure.points, carrier.measure(carrier.state).points)
    assert np.array_equal(moments, carrier.moments(carrier.state, 30))
    assert facts == pytest.approx(carrier.diagnostics(0.0, carrier.state), rel=1e-12)


def test_saved_times_of_layers_have_their_own_diagnostics():
    """Tokens under layers would report the dissipation of the flow."""
    layers = mf.Layers(0.1, placement="pre", radius=2.0)
    problem = replace(problem_of(LAW, mf.SA), layers=layers)
    carrier = represent(problem, Options("particles", tokens=20))
    facts = carrier.at_saved_time(0.0, carrier.state, 3)[2]
    assert facts == carrier.diagnostics(0.0, carrier.state)
