"""Characteristics as a representation: their cells, their limits, their refusals."""

from dataclasses import replace

import numpy as np
import pytest
from parameters import refused, together
from snapshots import snapshots

import meanfield as mf
from meanfield.carriers.characteristics import (
    CharacteristicsRepresentation,
    characteristics,
    resumed_characteristics,
)
from meanfield.trajectory import trajectory

SPACES = {"circle": mf.Circle(), "sphere": mf.Sphere()}
LAWS = {
    "circle": mf.perturbed_uniform([[3, 0.2, 0.1], [1, 0.0, -0.1]]),
    "sphere": mf.perturbed_uniform([[2, 0, 0.2], [3, -1, 0.1]]),
}


def problem_of(
    name: str = "circle", flow: mf.Flow = mf.USA, beta: float = 5.0, law: mf.Law | None = None
) -> mf.Problem:
    return mf.Problem(SPACES[name], mf.exponential(beta), flow, law or LAWS[name])


def carrier_of(problem: mf.Problem, tolerance: float = 1e-7) -> CharacteristicsRepresentation:
    return characteristics(problem, problem.initial_measure(), tolerance=tolerance)


def positions(carrier: CharacteristicsRepresentation, state: np.ndarray) -> np.ndarray:
    n = len(carrier.masses)
    return (state[:-n].reshape(n, -1) / carrier.scale[:, None]).reshape(carrier.cells.points.shape)


def log_stretch(carrier: CharacteristicsRepresentation, state: np.ndarray) -> np.ndarray:
    return np.asarray(state[-len(carrier.masses) :] / carrier.scale)


def with_positions(
    carrier: CharacteristicsRepresentation, points: np.ndarray, stretch: np.ndarray | float = 0.0
) -> np.ndarray:
    positions = points.reshape(len(carrier.masses), -1) * carrier.scale[:, None]
    return np.concatenate([positions.ravel(), stretch * carrier.scale])


@pytest.mark.parametrize("name", SPACES)
def test_beginning_has_the_moments_of_the_density(name):
    """All that a run stores; nodes at their labels, masses that sum to 1, nothing stretched."""
    carrier = carrier_of(problem_of(name))
    measure, degree = carrier.problem.initial_measure(), carrier.problem.moment_degree
    moments = carrier.moments(carrier.state, degree)
    np.testing.assert_allclose(moments, measure.moments(degree), rtol=0, atol=1e-12)
    assert carrier.masses.sum() == pytest.approx(1.0, abs=1e-15)
    points = carrier.cells.points
    np.testing.assert_allclose(positions(carrier, carrier.state), points, rtol=0, atol=2e-15)
    density = SPACES[name].evaluate(measure.coefficients, points)
    np.testing.assert_allclose(carrier.density(carrier.state), density, rtol=1e-15)
    assert carrier.failure(0.0, carrier.state) is None
    assert carrier.adapt(0.0, carrier.state) is None


@pytest.mark.parametrize("degree", [3, 300])
def test_beginning_resolves_the_density(degree):
    """A steep datum takes more panels: its highest mode must come out right."""
    carrier = carrier_of(problem_of(law=mf.perturbed_uniform([[degree, 0.5, 0.0]])), 1e-10)
    assert abs(carrier.moments(carrier.state, degree)[degree] - 0.25) < 1e-12
    assert (len(carrier.cells.bounds) > 60) == (degree == 300)


EVERYWHERE = 0.013 + 2.0 * np.pi * np.arange(24) / 24


@pytest.mark.parametrize(
    ("name", "concentration", "means"),
    [
        ("circle", 1e5, [2.3691944901923447]),
        ("circle", 1e6, [0.27479939]),
        ("circle", 1e7, [3.0]),
        ("sphere", 2e3, [[0.3, -0.5, 0.81]]),
        pytest.param("sphere", 2e4, [[0.3, -0.5, 0.81]], marks=pytest.mark.slow),
        # Six of these means were lost at 1e5, fourteen at 1e6.
        pytest.param("circle", 1e5, EVERYWHERE, marks=pytest.mark.slow),
        pytest.param("circle", 1e6, EVERYWHERE, marks=pytest.mark.slow),
        pytest.param("circle", 3e6, EVERYWHERE, marks=pytest.mark.slow),
    ],
)
def test_beginning_finds_a_peak(name, concentration, means):
    """A narrow one may lie between all nodes that there are at first: half the mass was lost."""
    for mean in means:
        law = mf.mixture([(0.5, SPACES[name].origin, 4.0), (0.5, mean, concentration)])
        problem = problem_of(name, beta=4.0, law=law)
        carrier, degree = carrier_of(problem, 1e-8), problem.moment_degree
        error = carrier.moments(carrier.state, degree) - problem.initial_measure().moments(degree)
        # A tenth of the tolerance, and rounding of a density as high as that.
        assert np.abs(error).max() < 2e-9


@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
@pytest.mark.parametrize("name", SPACES)
def test_right_hand_side_is_velocity_and_its_divergence(name, flow):
    """Velocity as the mean field has it; lengths of vectors do not count, nor change the rest."""
    carrier = carrier_of(problem_of(name, flow))
    points = carrier.cells.points
    scale = 1.0 if name == "circle" else np.linspace(0.5, 2.0, len(points))[:, None]
    found = carrier.rhs(0.0, with_positions(carrier, points * scale))
    mean_field = carrier.interaction
    field = mean_field.field(SPACES[name].moments(points, carrier.masses, mean_field.degree))
    velocity, divergence = field.velocity_and_divergence(points)
    np.testing.assert_allclose(positions(carrier, found), velocity * scale, rtol=0, atol=1e-12)
    np.testing.assert_allclose(log_stretch(carrier, found), divergence, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", SPACES)
def test_cells_split_where_the_map_bends(name):
    """Positions, log stretch and moments stay what they were; tails fall."""
    carrier = carrier_of(problem_of(name))
    points = carrier.cells.points

    def image(at: np.ndarray) -> np.ndarray:
        if name == "circle":
            return np.asarray(at + 2 * np.arctan2(0.5 * np.sin(at), 1 - 0.5 * np.cos(at)))
        return SPACES[name].retract(at + np.array([0.0, 0.3, 0.4]))[0]

    stretch = 0.2 * np.cos(points if name == "circle" else points[:, 0])
    state = with_positions(carrier, image(points), stretch)
    finer = carrier.refined(state, state)
    assert len(finer.cells.bounds) > len(carrier.cells.bounds)
    found = positions(finer, finer.state)
    np.testing.assert_allclose(found, image(finer.cells.points), rtol=0, atol=1e-6)
    labels = finer.cells.points if name == "circle" else finer.cells.points[:, 0]
    expected = 0.2 * np.cos(labels)
    np.testing.assert_allclose(log_stretch(finer, finer.state), expected, rtol=0, atol=1e-5)
    before = carrier.diagnostics(0.0, state)["error"]
    assert finer.diagnostics(0.0, finer.state)["error"] < 0.1 * before
    expected = carrier.moments(state, 8)
    np.testing.assert_allclose(finer.moments(finer.state, 8), expected, rtol=0, atol=1e-6)


def test_cells_split_where_a_rejected_step_leads():
    """Nodes at their labels do not show that a step bends the map: it would be refused."""
    carrier = carrier_of(problem_of())
    points = carrier.cells.points
    assert carrier.refined(carrier.state, carrier.state) is None
    bent = points + 2 * np.arctan2(0.8 * np.sin(points), 1 - 0.8 * np.cos(points))
    rejected = with_positions(carrier, bent, np.zeros(len(points)))
    finer = carrier.refined(carrier.state, rejected)
    assert len(finer.cells.bounds) > len(carrier.cells.bounds)
    at = positions(finer, finer.state)
    np.testing.assert_allclose(at, finer.cells.points, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_loose_nodes_on_the_sphere_take_the_degrees_that_they_resolve():
    """Velocities of all degrees take twice as long, and differ by less than a step errs."""
    everything = carrier_of(problem_of("sphere", mf.SA, 6.0), 1e-4)
    carrier = replace(everything, enough=1e-4)
    degrees = carrier.interaction.degree, everything.interaction.degree
    assert degrees == (17, 27)
    assert carrier_of(problem_of(), 1e-4).interaction.degree == 25
    # Both at a place where clusters are: all nodes near two points.
    points = carrier.cells.points * [0.1, 0.1, 1.0]
    points /= np.sqrt((points**2).sum(axis=1))[:, None]
    state = with_positions(carrier, points)
    velocities = [positions(each, each.rhs(0.0, state)) for each in (carrier, everything)]
    errors = np.abs(velocities[0] - velocities[1]).max(axis=1)
    assert 0.0 < carrier.masses @ errors < 1e-6


@pytest.mark.parametrize("name", SPACES)
def test_cells_join_where_their_image_has_shrunk(name):
    """All mass in one place: far fewer nodes, the same measure to the tolerance."""
    carrier = carrier_of(problem_of(name), 1e-4)
    place = 2.0 if name == "circle" else np.array([0.6, 0.0, 0.8])
    points = place + 1e-8 * (carrier.cells.points - place)
    state = with_positions(carrier, points, np.log(1e-8))
    last = carrier
    while (fewer := last.adapt(0.0, state)) is not None:
        last, state = fewer, fewer.state
    # What is left is what the initial density needs.
    assert len(last.masses) <= 0.5 * len(carrier.masses)
    assert last.masses.sum() == pytest.approx(1.0, abs=1e-15)
    expected = SPACES[name].moments(np.array([place]), None, 8)
    np.testing.assert_allclose(last.moments(state, 8), expected, rtol=0, atol=1e-6)


def test_cells_whose_join_would_be_unresolved_stay():
    """A mass in two places, no cell of any length: a joined one across the jump would bend."""
    carrier = carrier_of(problem_of())
    jump = carrier.cells.bounds[5, 0]
    points = np.where(carrier.cells.points < jump, 1.0, 2.0)
    found = carrier.adapt(0.0, with_positions(carrier, points))
    assert np.any(found.cells.bounds[:, 0] == jump)
    assert set(np.round(positions(found, found.state), 9)) == {1.0, 2.0}


def test_cells_too_long_for_the_kernel_split():
    """An affine map has no tail, but the fastest wave of the kernel has on its image."""
    carrier = carrier_of(problem_of())
    state = with_positions(carrier, 3.0 * carrier.cells.points)
    finer = carrier.adapt(0.0, state)
    assert len(finer.cells.bounds) == 2 * len(carrier.cells.bounds)


@pytest.mark.parametrize("name", SPACES)
def test_folded_labels_are_refused(name):
    """A state by hand whose labels have changed their order is no flow."""
    carrier = carrier_of(problem_of(name))
    mirrored = -carrier.cells.points
    reason = carrier.failure(0.0, with_positions(carrier, mirrored))
    assert "labels fold in cell" in reason and "Check the state" in reason


def test_failure_says_how_much_is_unresolved():
    """A tail above the tolerance must not be trusted; below it may be."""
    carrier = carrier_of(problem_of())
    cells = carrier.cells
    wave = np.polynomial.legendre.Legendre.basis(15)(np.polynomial.legendre.leggauss(16)[0])
    mass = carrier.masses[:16].sum()
    for size, failed in ((0.9e-7, False), (1.1e-7, True)):
        points = cells.points.copy()
        points[:16] += size / mass * wave
        reason = carrier.failure(0.0, with_positions(carrier, points))
        assert (reason is not None) == failed
    expected = f"under-resolved: on {len(points)} nodes a cell leaves 1.1"
    assert reason.startswith(expected)


@pytest.mark.slow
def test_nodes_stop_at_the_largest_number():
    """Then nothing is refined, and the run ends with one line that says where."""
    problem = problem_of(flow=mf.SA, beta=9.0)
    carrier = characteristics(problem, problem.initial_measure(), tolerance=1e-10, max_nodes=500)
    stream = trajectory(problem, carrier, np.linspace(0, 20, 21), tolerance=1e-10)
    match = r"under-resolved: on \d+ nodes a cell leaves .*; raise tolerance or max_nodes"
    nodes = []
    with pytest.raises(mf.SimulationError, match=match):
        for snapshot in stream:
            nodes.append(snapshot.diagnostics["nodes"])
    assert len(nodes) > 1
    assert max(nodes) <= 500


@pytest.mark.parametrize("flow", [mf.USA, mf.Flow(True, -2.0)])
def test_steps_are_a_share_of_the_growth_time_near_uniform(flow):
    """Elsewhere they end at the stability limit 5 / contraction, as for particles."""
    carrier = carrier_of(problem_of(flow=flow))
    rate = np.abs(mf.growth_rates(carrier.problem, 30)).max()
    limit = 5.0 / abs(flow.strength)
    small = replace(LAWS["circle"].build(mf.Circle()), coefficients=np.array([1.0, 0.09]))
    large = replace(small, coefficients=np.array([1.0, 0.11]))
    for measure, expected in ((small, min(0.35 / rate, limit)), (large, limit)):
        found = characteristics(carrier.problem, measure, tolerance=1e-7)
        assert found.largest_step(0.0, found.state) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("flow", [mf.USA, mf.SA, mf.Flow(False, -1.0)])
def test_dissipation_is_the_rate_of_the_energy(flow):
    """The dissipation equals dE/dt from the moments of two states close in time."""
    carrier = carrier_of(problem_of(flow=flow), 1e-10)
    mean_field, state = carrier.interaction, carrier.state
    w, energies = mean_field.potential_multipliers / flow.strength, []
    for shift in (-1e-4, 1e-4):
        m = carrier.moments(state + shift * carrier.rhs(0.0, state), mean_field.degree)
        energies.append(0.5 * mf.Circle().inner(w * m, m))
    rate = (energies[1] - energies[0]) / 2e-4
    # The difference quotient is of order two.
    assert carrier.diagnostics(0.0, state)["energy_dissipation"] == pytest.approx(rate, rel=1e-7)


@together(
    "problem, max_nodes, message",
    [
        # Before anything is allocated for them.
        (problem_of("sphere", beta=1e6), 10**6, "the kernel needs degree 8890, at most .* sphere"),
        # Nodes within the limit would leave out the peak.
        (problem_of(law=mf.mixture([(0.5, 0.0, 1.0), (0.5, 1.0, 1e7)])), 500,
         r"needs \d+ nodes or more, max_nodes is 500: raise it"),
        (problem_of(law=mf.perturbed_uniform([[40, 0.5, 0]])), 200,
         r"needs 3\d\d nodes or more, max_nodes is 200: raise it"),
    ],
)  # fmt: skip
def test_what_characteristics_cannot_carry_is_refused(problem, max_nodes, message):
    """Runs would be wrong, or fill the memory, without a word."""
    options = {"tolerance": 1e-7, "max_nodes": max_nodes}
    refused(message, characteristics, problem, problem.initial_measure(), **options)


def test_points_and_states_that_do_not_fit_are_refused():
    """Points have no density; positions and log stretch are two numbers a node on the circle."""
    carrier = carrier_of(problem_of())
    points, message = mf.Measure(mf.Circle(), [0.0, 1.0]), "needs an initial density, got points. U"
    refused(message, characteristics, carrier.problem, points, tolerance=1e-7, error=TypeError)
    n = len(carrier.masses)
    given = carrier.problem, carrier.state[:n], carrier.fixed
    message = rf"state has shape \({n},\), expected \({2 * n},\)"
    refused(message, resumed_characteristics, *given, tolerance=1e-7)


def test_densities_beyond_floating_point_stay_finite():
    """A cluster that has contracted for 1,000 time units."""
    carrier = carrier_of(problem_of())
    state = with_positions(carrier, carrier.cells.points, -1000.0)
    assert np.all(np.isfinite(carrier.density(state)))


@pytest.mark.parametrize("name", SPACES)
def test_errors_count_by_the_mass_of_the_node(name):
    """Fully above a tenth of the mean mass, in proportion below; light nodes lose no digits."""
    law = mf.von_mises_fisher(40.0, mean=0.5 if name == "circle" else [0.0, 0.6, 0.8])
    carrier = carrier_of(problem_of(name, law=law))
    share = carrier.masses / carrier.masses.mean()
    heavy = share > 0.1
    assert 0.05 < heavy.mean() < 0.95
    np.testing.assert_allclose(carrier.scale[heavy], 1.0, rtol=0)
    light = ~heavy & (share > 1e-8)
    np.testing.assert_allclose(carrier.scale[light], 10.0 * share[light], rtol=1e-6)
    assert carrier.scale.min() > 0
    begin = positions(carrier, carrier.state)
    np.testing.assert_allclose(begin, carrier.cells.points, rtol=0, atol=2e-15)


def test_nodes_without_attention_do_not_shorten_steps():
    """Opposite a concentrated measure Z is 1e-10, and velocities are rounding errors over it."""
    law = mf.mixture([(0.6, 0.3, 10.0), (0.4, 1.5, 10.0)])
    problem = problem_of(flow=mf.SA, beta=25.0, law=law)
    (last,) = snapshots(problem, [5.0], name="characteristics")
    # Without the scale 63,000.
    assert last.diagnostics["steps"] < 100
