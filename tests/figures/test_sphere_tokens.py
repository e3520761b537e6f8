"""Tokens on pictures of the sphere: which, where they start, how they move."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import PathCollection

import meanfield as mf
from meanfield.figures.data.projections import Mollweide, directions
from meanfield.figures.data.sphere import sphere_panel
from meanfield.figures.data.tokens import (
    equal_masses,
    followed,
    run_interaction,
    some_tokens,
    tokens_of,
)

SPHERE = mf.Sphere()
LAW = mf.perturbed_uniform([[2, 0, 0.1], [1, 1, 0.3]])
PROBLEM = mf.Problem(SPHERE, mf.exponential(beta=2.0), mf.USA, LAW)


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
    density = LAW.build(SPHERE)
    moments = mf.Measure(SPHERE, equal_masses(density, 300)).moments(4)
    assert np.abs(moments - density.moments(4)).max() < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
def test_tokens_of_a_density_move_with_it(flow):
    """Dots that do not move with the colours below them would show here."""
    # 0.01: that of 300 tokens at the start, above, grown by e.
    run = mf.simulate(replace(PROBLEM, flow=flow), until=4.0, save=9)
    points = tokens_of(run)
    assert len(points) == 9 and SPHERE.distance(points[0], points[-1]).max() > 0.15
    measured = mf.Measure(SPHERE, points[-1]).moments(3)
    assert np.abs(measured - run.measures[-1].moments(3)).max() < 0.01
    assert np.abs(measured - run.measures[0].moments(3)).max() > 0.1


@pytest.mark.slow
def test_tokens_of_maps_at_chosen_times_follow_all_saved_moments():
    """A spline through the moments of three maps would lead them astray, 150 degrees by the end."""
    run = mf.simulate(PROBLEM, until=4.0, save=9)
    drawn = run.plot("map", times=[4.0]).findobj(PathCollection)
    whole = sphere_panel(run, 8, Mollweide(), 40, tokens_of(run)[8])
    assert len(whole.tokens) == 300
    assert any(np.array_equal(dots.get_offsets(), whole.tokens) for dots in drawn)


def test_followed_tokens_are_those_of_a_particle_run():
    """The independent check: tokens carried along by the particle solver."""
    # A heavy cluster that no token moves, and light tokens that fall into it.
    tokens = directions(np.array([0.0, 0.5, -1.0]), np.array([0.0, 0.4, 0.2]))
    heavy = replace(PROBLEM, initial=mf.from_points(tokens, [1.0 - 2e-9, 1e-9, 1e-9]))
    run = mf.simulate(heavy, 4.0, save=17, representation="particles", tolerance=1e-10)
    moved = followed(run, run_interaction(run), tokens)
    exact = np.array([measure.points for measure in run.measures])
    assert SPHERE.distance(moved, exact).max() < 1e-5
    assert SPHERE.distance(exact[0], exact[-1]).max() > 0.2  # they did move


@pytest.mark.parametrize("what", [{"diffusivity": 0.01}, {"kernel": "mine"}])
def test_tokens_whose_motion_is_unknown_are_not_drawn(what):
    """Dots would move in another field than the density."""
    run = mf.simulate(PROBLEM, until=0.5, save=2)
    assert len(tokens_of(run)[0]) == 300
    attributes = {name: value for name, value in run.attributes.items() if name != "config"}
    other = replace(run, attributes=attributes | what, source_problem=None)
    assert [len(points) for points in tokens_of(other)] == [0, 0]
