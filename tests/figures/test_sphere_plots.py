"""Figures of runs on the sphere: every kind; places of colours, rings and moving tokens."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from matplotlib.collections import PathCollection
from parameters import refused

import meanfield as mf
from meanfield.figures.data.projections import Mollweide, Orthographic, directions
from meanfield.figures.data.series import equal_clusters, linear_prediction
from meanfield.figures.data.sphere import (
    chosen_times,
    densest_place,
    marked_clusters,
    sphere_panel,
    values_on,
    visible_coefficients,
)
from meanfield.figures.data.tokens import (
    equal_masses,
    followed,
    run_interaction,
    some_tokens,
    tokens_of,
)
from meanfield.figures.draw import plot, save_plot
from tests.figures.samples import FIRST_BYTES, stateless

SPHERE = mf.Sphere()
LAW = mf.perturbed_uniform([[2, 0, 0.03], [3, 1, 0.03], [4, -2, 0.03]])
PROBLEM = mf.Problem(SPHERE, mf.exponential(beta=4.0), mf.USA, LAW)
PLACES = directions(np.array([0.3, 2.0, -2.5]), np.array([0.2, -0.9, 0.8]))
WEIGHTS = np.array([0.2, 0.5, 0.3])
MIXED = mf.mixture([(mass, place, 60.0) for mass, place in zip(WEIGHTS, PLACES, strict=True)])
WIDE = mf.Problem(
    SPHERE, mf.exponential(2.0), mf.USA, mf.perturbed_uniform([[2, 0, 0.1], [1, 1, 0.3]])
)


@cache
def run_of(name):
    if name == "density":
        return mf.simulate(PROBLEM, until=8.0, save=5)
    if name == "particles":
        return mf.simulate(PROBLEM, until=8.0, save=9, representation="particles", tokens=50)
    return mf.simulate(replace(PROBLEM, initial=MIXED), until=0.01, save=2)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["overview", "map", "globe", "density"])
def test_states_are_drawn_on_the_sphere(kind):
    """Kinds that take vectors for angles would fail; large runs keep the last state only."""
    density = run_of("density")
    last = replace(density, measures=(None,) * (len(density.time) - 1) + density.measures[-1:])
    for run in (run_of("particles"), last):
        plot(run, kind, dpi=30).canvas.draw()


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".pdf", ".svg"])
def test_maps_are_written_as_vectors(suffix, tmp_path):
    """A picture inside a clipping path might fail in another format, or take megabytes."""
    path = tmp_path / f"figure{suffix}"
    save_plot(run_of("particles"), path, "map")
    assert path.read_bytes().startswith(FIRST_BYTES[suffix]) and path.stat().st_size < 2e6


@pytest.mark.parametrize("kind", ["map", "globe", "density"])
def test_maps_without_states_say_what_to_do(kind):
    """The user would not learn how to get the picture."""
    message = r"not loaded: run again with state=\"all\" \(in a run"
    refused(message, plot, stateless(run_of("density")), kind)


@pytest.mark.slow
def test_overview_without_states_shows_clusters():
    """Runs that keep no state would have no default figure."""
    panel = plot(stateless(run_of("three")), "overview").axes[0].child_axes[0]
    assert any(isinstance(c, PathCollection) and len(c.get_offsets()) for c in panel.collections)


@pytest.mark.parametrize("projection", [Mollweide(), Orthographic(PLACES[0])])
def test_colours_are_the_density_at_their_pixels(projection):
    """A picture upside down, mirrored or turned would show here."""
    # 1 + 0.3 sqrt(3) x + 0.2 sqrt(3) y: the harmonics of degree 1, by hand.
    density = mf.Density(SPHERE, SPHERE.from_modes([[1, 1, 0.3], [1, -1, 0.2]]))
    values = values_on(density, projection, 40)
    wide, high = projection.half_axes
    rows, columns = values.shape
    for row, column in [(rows // 2, 9), (3 * rows // 4, 25), (rows // 4, 14)]:
        x, y = wide * ((2 * column + 1) / columns - 1), high * ((2 * row + 1) / rows - 1)
        point = projection.to_sphere(np.array(x), np.array(y))
        expected = 1.0 + np.sqrt(3.0) * (0.3 * point[0] + 0.2 * point[1])
        assert values[row, column] == pytest.approx(expected, abs=1e-12)


def test_colours_of_tokens_are_a_positive_density_around_them():
    """Smoothing would ring, lose mass, or move tokens."""
    # 1e-5 of the peak: the heat kernel is cut where it has decayed to 1e-6.
    measure = mf.Measure(SPHERE, PLACES, WEIGHTS)
    coefficients = visible_coefficients(measure)
    values = values_on(measure, Mollweide(), 400)
    assert coefficients[0] == pytest.approx(1.0)
    assert values.min() > -1e-5 * values.max()
    # The kernel of share s is 1/s high: 0.5 % for few tokens.
    assert SPHERE.evaluate(coefficients, PLACES) == pytest.approx(WEIGHTS / 0.005, rel=0.01)


def test_rings_are_where_the_clusters_are():
    """Rings beside the clusters, or of another order, would show here."""
    centre, mass = marked_clusters(run_of("three"), 0)
    order = np.argsort(-WEIGHTS)
    assert SPHERE.distance(centre, PLACES[order]).max() < 0.02
    # The rest lies in the tails, which the rule discards.
    assert mass == pytest.approx(WEIGHTS[order], abs=0.05)
    assert len(marked_clusters(run_of("density"), 0)[0]) == 0


def test_heaviest_cluster_is_in_front():
    """The most important cluster would be behind the globe."""
    assert SPHERE.distance(densest_place(run_of("three"), 0), PLACES[1]) < 0.02
    # Without clusters: the place of highest density, up to a pixel of one degree.
    run = run_of("density")
    front = densest_place(run, 0)
    height = SPHERE.evaluate(run.measures[0].coefficients, front[None])[0]
    assert height > values_on(run.measures[0], Mollweide(), 200).max() - 1e-3


def test_maps_show_first_last_and_what_happens():
    """Panels of a measure at rest would crowd out the transitions."""
    run = run_of("particles")
    assert chosen_times(run, 1).tolist() == [8]
    assert {0, 8} <= set(chosen_times(run, 4).tolist())
    energy = np.array([0.1] * 6 + [0.3, 0.5, 0.5])
    jump = replace(run, observables=run.observables | {"energy": energy})
    assert 6 in chosen_times(jump, 4) and len(chosen_times(jump, 4)) == 4


def test_linear_prediction_follows_a_small_perturbation_on_the_sphere():
    """Sizes per degree that a rate of another degree or of one order only would not follow."""
    # 1e-3: the first correction is the square of the amplitude.
    law = mf.perturbed_uniform([[2, 0, 1e-4], [2, 1, 5e-5], [2, -2, 2e-4]])
    run = mf.simulate(replace(PROBLEM, initial=law), until=10.0, save=3, tolerance=1e-12)
    sizes = run.sizes_by_degree()[:, 2]
    assert sizes[0] == pytest.approx(np.sqrt(1e-8 + 2.5e-9 + 4e-8), rel=1e-12)
    assert linear_prediction(run, 2) == pytest.approx(sizes, rel=1e-3)
    assert sizes[-1] > 2.0 * sizes[0]  # it grew


@pytest.mark.parametrize(
    ("count", "points"),
    [
        (2, [[0, 0, 1], [0, 0, -1]]),
        (4, [[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]),
        (6, [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]]),
    ],
)
def test_energies_of_solids_are_those_of_runs(count, points):
    """The lines named 'n equal clusters' would lie elsewhere than such runs do."""
    problem = replace(PROBLEM, initial=mf.from_points(np.array(points, dtype=np.float64)))
    run = mf.simulate(problem, 0.1, save=2, representation="particles")
    # The rule asks for three tokens a cluster.
    had = run.observables | {"clusters/count": np.full(2, float(count))}
    levels = equal_clusters(replace(run, observables=had))
    assert levels == {count: pytest.approx(run.observables["energy"][0], rel=1e-12)}


@pytest.mark.slow
def test_maps_in_one_row_fill_the_figure_and_say_what_is_marked():
    """Half of the figure would be empty, and rings a riddle."""
    law = mf.von_mises_fisher(20.0, mean=[0.0, 0.6, 0.8])
    problem = mf.Problem(SPHERE, mf.exponential(3.0), mf.USA, law)
    run = mf.simulate(problem, until=1.0, save=8, representation="particles", tokens=1200, seed=0)
    three = run.plot("map", times=run.time[[0, 4, 7]])
    assert three.get_size_inches()[1] < 0.6 * run.plot("map").get_size_inches()[1]
    titles = [three.axes[0].get_title(loc=side) for side in ("left", "right")]
    assert "sphere" in titles[0] and titles[1] == "1,200 tokens, rings mark clusters"
    assert len(run.plot("globe", times=[0.0]).axes) == 1
    refused("times of kind 'map': expected 1 to 6, got 7", run.plot, "map", times=run.time[:7])
    refused(r"t = 0.3 \(scaled time\) is no saved time", run.plot, "globe", times=[0.3])


def test_tokens_that_are_drawn_are_tokens():
    """Dots where no token is, or all of a million, would show here."""
    points = SPHERE.random_points(50, np.random.default_rng(0))
    measure = mf.Measure(SPHERE, points)
    assert np.array_equal(some_tokens(measure), points)
    few = some_tokens(measure, most=7)
    assert few.shape == (7, 3) and all((points == point).all(axis=1).any() for point in few)


def test_tokens_of_a_density_start_at_equal_masses():
    """Dots would be dense where the density is not."""
    # 300 points of a lattice: moments to the mean spacing squared, a few per cent of their size.
    density = WIDE.initial.build(SPHERE)
    moments = mf.Measure(SPHERE, equal_masses(density, 300)).moments(4)
    assert np.abs(moments - density.moments(4)).max() < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
def test_tokens_of_a_density_move_with_it(flow):
    """Dots that do not move with the colours below them would show here."""
    # 0.01: that of 300 tokens at the start, above, grown by e.
    run = mf.simulate(replace(WIDE, flow=flow), until=4.0, save=9)
    points = tokens_of(run)
    assert len(points) == 9 and SPHERE.distance(points[0], points[-1]).max() > 0.15
    measured = mf.Measure(SPHERE, points[-1]).moments(3)
    assert np.abs(measured - run.measures[-1].moments(3)).max() < 0.01
    assert np.abs(measured - run.measures[0].moments(3)).max() > 0.1


@pytest.mark.slow
def test_tokens_of_maps_at_chosen_times_follow_all_saved_moments():
    """A spline through the moments of three maps would lead them astray, 150 degrees by the end."""
    run = mf.simulate(WIDE, until=4.0, save=9)
    drawn = run.plot("map", times=[4.0]).findobj(PathCollection)
    whole = sphere_panel(run, 8, Mollweide(), 40, tokens_of(run)[8])
    assert len(whole.tokens) == 300
    assert any(np.array_equal(dots.get_offsets(), whole.tokens) for dots in drawn)


def test_followed_tokens_are_those_of_a_particle_run():
    """The independent check: tokens carried along by the particle solver."""
    # A heavy cluster that no token moves, and light tokens that fall into it.
    tokens = directions(np.array([0.0, 0.5, -1.0]), np.array([0.0, 0.4, 0.2]))
    heavy = replace(WIDE, initial=mf.from_points(tokens, [1.0 - 2e-9, 1e-9, 1e-9]))
    run = mf.simulate(heavy, 4.0, save=17, representation="particles", tolerance=1e-10)
    moved = followed(run, run_interaction(run), tokens)
    exact = np.array([measure.points for measure in run.measures])
    assert SPHERE.distance(moved, exact).max() < 1e-5
    assert SPHERE.distance(exact[0], exact[-1]).max() > 0.2  # they did move


@pytest.mark.parametrize("what", [{"diffusivity": 0.01}, {"kernel": "mine"}])
def test_tokens_whose_motion_is_unknown_are_not_drawn(what):
    """Dots would move in another field than the density."""
    run = mf.simulate(WIDE, until=0.5, save=2)
    assert len(tokens_of(run)[0]) == 300
    attributes = {name: value for name, value in run.attributes.items() if name != "config"}
    other = replace(run, attributes=attributes | what, source_problem=None)
    assert [len(points) for points in tokens_of(other)] == [0, 0]
