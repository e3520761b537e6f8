"""Normalised flows whose Z is below the rounding of its series, against pairs of a quadrature."""

from functools import cache, partial

import numpy as np
import pytest
from head_oracle import carried, components, vectors, velocity
from parameters import refused
from scipy.integrate import solve_ivp
from scipy.special import i0e, i1e

import meanfield as mf
from meanfield.carriers import Options, represent
from meanfield.carriers.characteristics import resumed_characteristics
from meanfield.fields.positive_sums import noise_share, sums_pairs, velocity_and_divergence
from meanfield.trajectory import SimulationError

TOLERANCE = 1e-10


def problem_of(space, beta: float, concentration: float) -> mf.Problem:
    law = mf.von_mises_fisher(concentration)
    return mf.Problem(space, mf.exponential(beta), mf.SA, law)


@cache
def circle_moments(beta: float, concentration: float, until: float) -> np.ndarray:
    """Moments to degree 12, by 400 labels."""
    labels = 2.0 * np.pi * np.arange(400) / 400
    mass = np.exp(concentration * (np.cos(labels) - 1.0))
    mass /= mass.sum()
    head = (beta * np.eye(2), np.eye(2))
    x = carried(vectors(labels), mass, [head], "softmax", until)
    return mass @ (x[:, 0] - 1j * x[:, 1])[:, None] ** np.arange(13)


def sphere_order(beta: float, concentration: float, until: float) -> float:
    """Mean height of an axisymmetric law, by 200 colatitudes; azimuths summed in closed form."""
    x, w = np.polynomial.legendre.leggauss(200)
    labels = 0.5 * np.pi * (x + 1.0)
    mass = w * np.sin(labels) * np.exp(concentration * (np.cos(labels) - 1.0))
    mass /= mass.sum()

    def speed(time, theta):
        c, s = np.cos(theta), np.sin(theta)
        argument = beta * s[:, None] * s
        exponent = beta * c[:, None] * c + np.abs(argument) + np.log(mass)
        share = np.exp(exponent - exponent.max(axis=1, keepdims=True))
        total = (share * i0e(argument)).sum(axis=1)
        outward = (share * i1e(argument) * s).sum(axis=1) / total
        upward = (share * i0e(argument) * c).sum(axis=1) / total
        return c * outward - s * upward

    end = solve_ivp(speed, (0.0, until), labels, "DOP853", rtol=1e-11, atol=1e-11)
    return float(mass @ np.cos(end.y[:, -1]))


@pytest.mark.slow
@pytest.mark.parametrize("representation", ["auto", "characteristics", "density"])
@pytest.mark.parametrize(("beta", "concentration"), [(-10, 20), (-15, 0.5), (-20, 5), (-40, 20)])
def test_lost_partition_on_the_circle(beta, concentration, representation):
    """A run that ends well has the right moments; a density that cannot says why."""
    problem = problem_of(mf.Circle(), beta, concentration)
    run = partial(mf.simulate, problem, until=0.5, save=2, representation=representation)
    if (representation, concentration) == ("density", 20):
        refused("digits of Z are lost", run, error=SimulationError)
    else:
        exact = circle_moments(beta, concentration, 0.5)
        assert np.abs(run().moments[-1, :13] - exact).max() < 100 * TOLERANCE


@pytest.mark.slow
@pytest.mark.parametrize(("beta", "concentration"), [(-10, 5), (-15, 20), (-40, 0.5)])
def test_lost_partition_on_the_sphere(beta, concentration):
    """As on the circle; nodes are too many for sums over pairs, so that it ends."""
    problem = problem_of(mf.Sphere(), beta, concentration)
    if concentration == 20:
        message = "digits of Z are lost"
        refused(message, mf.simulate, problem, 0.25, save=2, error=SimulationError)
    else:
        run = mf.simulate(problem, until=0.25, save=2)
        exact = sphere_order(beta, concentration, 0.25)
        order = run.observables["order_parameter"][-1]
        assert order == pytest.approx(exact, abs=100 * TOLERANCE)


@pytest.mark.parametrize("space", [mf.Circle(), mf.Sphere()], ids=["circle", "sphere"])
def test_tokens_of_lost_partition_are_summed_over_pairs(space):
    """Equal weights, more tokens than are summed over pairs anyway: e^{beta s} in every pair."""
    rng = np.random.default_rng(1)
    points = space.check_points(mf.sample_tokens(mf.von_mises_fisher(20.0).build(space), 1500, rng))
    problem = mf.Problem(space, mf.exponential(-20.0), mf.SA, mf.from_points(points))
    tokens = represent(problem, Options(name="particles"))
    x, head = vectors(points), (-20.0 * np.eye(space.ambient), np.eye(space.ambient))
    exact = components(points, velocity(x, x, np.full(1500, 1 / 1500), [head], "softmax"))
    assert np.abs(tokens.rhs(0.0, tokens.state) - exact.ravel()).max() < 1e-12


def test_more_tokens_than_pairs_can_move_end_with_the_reason():
    """A velocity of minutes, or a wrong one, would be worse."""
    problem = problem_of(mf.Circle(), -20.0, 20.0)
    with pytest.raises(SimulationError, match=r"digits of Z are lost.*at most 10000 tokens"):
        mf.simulate(problem, until=1.0, save=2, representation="particles", tokens=10_001)


@pytest.mark.parametrize("space", [mf.Circle(), mf.Sphere()], ids=["circle", "sphere"])
def test_sums_over_pairs_are_the_series_where_these_have_digits(space):
    """Velocity and divergence: two formulas for one field."""
    problem = problem_of(space, -4.0, 1.0)
    points = space.random_points(300, np.random.default_rng(2))
    masses = np.full(300, 1.0 / 300)
    interaction = represent(problem, Options(name="characteristics", tolerance=1e-2)).interaction
    field = interaction.field(space.moments(points, masses, interaction.degree))
    assert sums_pairs(problem, len(points))
    summed = velocity_and_divergence(problem, interaction, points, masses)
    for found, expected in zip(summed, field.velocity_and_divergence(points), strict=True):
        assert found == pytest.approx(expected, abs=1e-11)


def test_masses_known_to_rounding_are_not_enough():
    """The same density as coefficients: its value opposite the mass is below its rounding."""
    law = mf.von_mises_fisher(20.0).build(mf.Circle())
    problem = mf.Problem(
        mf.Circle(), mf.exponential(-40.0), mf.SA, mf.from_density(law.coefficients)
    )
    with pytest.raises(SimulationError, match="digits of Z are lost"):
        mf.simulate(problem, until=0.5, save=2, representation="characteristics")
    nodes = represent(problem, Options(name="characteristics"))
    share = noise_share(problem, nodes.cells.points, nodes.masses, nodes.initial, 0.0, nodes.cells)
    assert share > 1e-6


def test_resumed_nodes_keep_the_formula_of_the_law():
    """Coefficients of the file alone would change masses opposite the mean."""
    problem = problem_of(mf.Circle(), -40.0, 20.0)
    begun = represent(problem, Options(name="characteristics"))
    again = resumed_characteristics(problem, begun.state, begun.fixed, tolerance=TOLERANCE)
    assert np.array_equal(again.masses, begun.masses)
