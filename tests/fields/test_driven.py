"""Fixed fields beside attention: every carrier moves by them, and exactly where that is known."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import meanfield as mf
from meanfield.carriers.idle import uniform_is_stationary
from meanfield.fields.interactions import interaction_of, transport
from meanfield.observables import energy_note, interaction_energy
from meanfield.terms.fixed import ACTIVATIONS

WIDE = mf.FeedForward(
    [[1, -0.5, 0.3], [0.2, 0.8, -1.1]], [[0.7, -0.3], [0.4, 0.9], [-0.6, 0.5]], (0.1, -0.2), "tanh"
)
LAW = mf.perturbed_uniform([[1, 0.1, 0.0], [3, 0.08, 0.0]])
FLAT = mf.FeedForward([[1, -0.5], [0.2, 0.8]], [[0.7, -0.3], [0.4, 0.9]], (0.1, -0.2), "tanh")
TURN = mf.LinearDrift([[0.0, -0.5], [0.5, 0.0]])


@pytest.mark.slow
@pytest.mark.parametrize("carrier", ["density", "characteristics"])
@pytest.mark.parametrize("space", [mf.Circle(), mf.Sphere()])
def test_a_linear_drift_makes_an_angular_central_gaussian(space, carrier):
    """Points go to e^{tM} x / |.|, M = e e^T: p = e^{-t} (1 - u^2 + u^2 e^{-2t})^{-d/2}."""
    d = space.ambient
    axis = np.eye(d)[0 if d == 2 else 2]
    problem = mf.Problem(space, [mf.LinearDrift(np.outer(axis, axis))])
    finest = 1e-8 if (d, carrier) == (3, "characteristics") else 1e-11
    run = mf.simulate(problem, until=1.0, save=[1.0], representation=carrier, tolerance=finest)
    measure = run.measures[-1]
    if isinstance(measure, mf.Measure):
        u = space.vectors(measure.points) @ axis
        expected = {2: 0.5 * (1.0 + np.tanh(0.5)), 3: 0.610177302017}[d]
        assert measure.mass @ u**2 == pytest.approx(expected, abs=finest)
    else:
        x = space.random_points(50, np.random.default_rng(0))
        u = space.vectors(x) @ axis
        expected = np.exp(-1.0) * (1.0 - u**2 + u**2 * np.exp(-2.0)) ** (-d / 2)
        assert np.abs(measure.at(x) - expected).max() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [mf.exponential(3.0), mf.exponential(-9.0)])
@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
def test_carriers_agree(kernel, flow):
    """Density, characteristics and 10,000 tokens of equal mass under attention and fixed fields."""
    angles = np.linspace(0.0, 2.0 * np.pi, 20001)
    # The integral of 1 + 0.1 cos t + 0.08 cos 3t.
    covered = angles + 0.1 * np.sin(angles) + 0.08 / 3 * np.sin(3 * angles)
    levels = 2.0 * np.pi * (np.arange(10_000) + 0.5) / 10_000
    tokens = mf.from_points(np.interp(levels, covered, angles))
    moments = []
    for name, law in (("density", LAW), ("characteristics", LAW), ("particles", tokens)):
        problem = mf.Problem(mf.Circle(), kernel, flow, law, feed_forward=FLAT, drift=TURN)
        run = mf.simulate(problem, until=1.0, save=[1.0], representation=name)
        moments.append(run.measures[-1].moments(6))
    assert np.abs(moments[1] - moments[0]).max() < 1e-10
    # Tokens stand for cells of mass 1e-4: their moments are known to its square.
    assert np.abs(moments[2] - moments[0]).max() < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("diffusivity", [0.0, 0.05])
def test_a_skew_drift_rotates_the_run_without_it(diffusivity):
    """c_k(t) gains e^{-ik omega t}, also where steps take part of the flow exactly."""
    flow = mf.Flow("none", diffusivity=diffusivity)
    alone = mf.Problem(mf.Circle(), mf.exponential(5.0), flow, LAW)
    driven = replace(alone, drift=TURN)
    still, turned = (
        mf.simulate(p, until=2.0, save=[2.0], representation="density").measures[-1].moments(8)
        for p in (alone, driven)
    )
    assert np.abs(turned - still * np.exp(-1j * np.arange(9))).max() < 1e-8
    assert uniform_is_stationary(driven)
    pushed = mf.Problem(mf.Circle(), mf.linear(), mf.USA, feed_forward=FLAT)
    assert not uniform_is_stationary(pushed)
    rates = mf.growth_rates(alone, 6)
    found = mf.linear_operator(driven, 6).eigenvalues
    for k in (1, 3):
        assert np.abs(found - (rates[k] + 0.5j * k)).min() < 1e-10


@pytest.mark.slow
def test_velocity_and_divergence_are_those_that_move_a_density():
    """div(f v) at nodes by the product rule is what the transport of a density makes."""
    heads = mf.Attention([mf.Head(score=[1.0, 0.5, -0.3], value=[0.4, 1.0, 0.7])], beta=2.0)
    problem = mf.Problem(mf.Sphere(), heads, feed_forward=WIDE)
    mean_field, space = interaction_of(problem), mf.Sphere()
    uniform = space.resize(space.from_modes([]), 24)
    points = space.random_points(20, np.random.default_rng(1))
    _, divergence = mean_field.of_density(uniform).velocity_and_divergence(points)
    change = space.evaluate(transport(mean_field, 24)(uniform, False), points)
    # tanh leaves 1e-9 above degree 24.
    assert np.abs(change + divergence).max() < 1e-7


@pytest.mark.slow
def test_a_corner_that_no_density_resolves_ends_the_run():
    """The tail of a Lipschitz field falls as k^-2: never silently wrong."""
    corner = replace(FLAT, activation="relu")
    problem = mf.Problem(mf.Circle(), mf.exponential(3.0), mf.SA, LAW, feed_forward=corner)
    with pytest.raises(mf.SimulationError, match="under-resolved: spectral tail"):
        mf.simulate(problem, until=1.0, save=[1.0], representation="density")
    rough = mf.simulate(problem, until=0.1, save=[0.1], tolerance=1e-4)
    fine = mf.simulate(problem, until=0.1, save=[0.1], representation="density", tolerance=1e-5)
    assert np.abs(rough.moments[-1, :4] - fine.moments[-1, :4]).max() < 1e-4


HEADS = mf.Attention([mf.Head(score=[1.0, 0.5], value=[1.0, 0.5])], "none", beta=3.0)


@pytest.mark.parametrize("kernel", [mf.exponential(3.0), HEADS], ids=["kernel", "heads"])
def test_the_sum_of_energies_climbs_by_the_squared_speed(kernel):
    """dE/dt = int |v|^2 dmu in the unit of the energy: units of the two parts fit."""
    w = np.array([[1.0, 0.2], [-0.5, 0.8]]) * [0.3, -0.7]
    layer = mf.FeedForward([[1.0, -0.5], [0.2, 0.8]], w, (0.1, -0.2), "silu")
    drift = mf.LinearDrift([[0.3, 0.1], [0.1, 0.0]])
    points = mf.Measure(mf.Circle(), np.array([0.3, 1.1, 2.0, 2.7, 4.4]))
    problem = mf.Problem(mf.Circle(), kernel, normalization="none", feed_forward=layer, drift=drift)
    assert energy_note(problem) is None
    velocity = interaction_of(problem).of_points(points.points, None).velocity(points.points)
    h = 1e-5
    near = [mf.Measure(mf.Circle(), points.points + s * h * velocity) for s in (1.0, -1.0)]
    high, low = (interaction_energy(problem, m.moments(60), m) for m in near)
    rate = 2.0 * problem.beta * float((velocity**2).mean())
    assert (high - low) / (2 * h) == pytest.approx(rate, rel=1e-7)


def test_fields_without_potential_say_why():
    """NaN, and one line: a skew drift, a layer that writes elsewhere, softmax beside anything."""
    circle, kernel = mf.Circle(), mf.exponential(3.0)
    point, stretch = mf.Measure(circle, np.zeros(1)), mf.LinearDrift([1.0, 0.0])
    for flow, field, words in (
        (mf.USA, {"drift": TURN}, "drift matrix is not symmetric"),
        (mf.USA, {"feed_forward": FLAT}, "writes in another direction"),
        (mf.SA, {"drift": stretch}, "Z divides attention"),
    ):
        problem = mf.Problem(circle, kernel, flow, **field)
        assert words in str(energy_note(problem))
        assert np.isnan(interaction_energy(problem, point.moments(31), point))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_integrals_of_activations(name):
    """S' = sigma, also far out, where exponentials would overflow."""
    of, y = ACTIVATIONS[name], np.array([-800.0, -30.0, -1.3, 0.4, 2.0, 40.0, 800.0])
    h = 1e-4 * np.maximum(1.0, np.abs(y))
    slope = (of.integral(y + h) - of.integral(y - h)) / (2 * h)
    assert slope == pytest.approx(of.value(y), rel=1e-7, abs=1e-7)


def test_matrices_are_converted_once():
    """Each velocity of a layer of 512 neurons converted its rows anew, 3.6 of 5 ms."""
    x = np.eye(2)
    layer, drift = mf.FeedForward([[1.0, 2.0]], [[3.0], [4.0]], 0.5), mf.LinearDrift([2.0, 1.0])
    for term, change in ((layer, {"bias": 0.0}), (drift, {"matrix": 1.0})):
        values = term.vectors(x)
        again, other = pickle.loads(pickle.dumps(term)), replace(term, **change)
        assert again == term != other
        assert hash(again) == hash(term)
        assert not np.array_equal(other.vectors(x), values)
        # Evaluations no longer read what was converted.
        for name in change:
            object.__setattr__(again, name, None)
        assert np.array_equal(again.vectors(x), values)
