"""Atoms that begin near an unstable balance meet when they should, however near they begin."""

import numpy as np
import pytest
from parameters import each

import meanfield as mf
from meanfield.observables.clusters import cluster_radius


def first_merge(problem: mf.Problem, until: float, tolerance: float) -> float:
    run = mf.simulate(problem, until=until, save=2, tolerance=tolerance)
    return next(event.time for event in run.events if event.kind == "merge")


@pytest.mark.slow
@each(
    "name, flow, mass",
    [
        ("circle", mf.USA, 0.5), ("circle", mf.USA, 1e-6), ("circle", mf.SA, 1e-3),
        ("sphere", mf.SA, 1e-6),
    ],
    gap=[1.0, 1e-3, 1e-6],
)  # fmt: skip
def test_nearly_opposite_atoms_meet_at_the_time_of_the_formula(name, flow, mass, gap):
    """The growing mode is below the tolerance at first: times would be 2e-6 off."""
    points = np.array([0.0, np.pi - gap])
    space: mf.Circle | mf.Sphere = mf.Circle()
    if name == "sphere":
        space = mf.Sphere()
        points = np.array([[1.0, 0.0, 0.0], [-np.cos(gap), np.sin(gap), 0.0]])
    law = mf.from_points(points, np.array([1.0 - mass, mass]), name="atoms")
    problem = mf.Problem(space, mf.exponential(4.0), flow, law)
    exact = mf.two_cluster_time(problem, np.pi - gap, cluster_radius(4.0), (1.0 - mass, mass))
    # Some tolerances of a step, and the rounding of an angle near pi as a share of the gap.
    allowed = 1e-9 + np.spacing(np.pi) / gap
    assert first_merge(problem, 1.1 * exact, 1e-10) == pytest.approx(exact, rel=allowed)


@pytest.mark.slow
def test_any_balance_is_left_when_it_should_be():
    """Three at equal spacing: no pair of them is opposite, but they hardly move and part."""
    points = np.array([0.0, 2.0 * np.pi / 3.0, 4.0 * np.pi / 3.0 + 1e-6])
    law = mf.from_points(points, name="atoms")
    problem = mf.Problem(mf.Circle(), mf.exponential(2.0), mf.USA, law)
    fine = first_merge(problem, 1e3, 1e-13)
    assert first_merge(problem, 1e3, 1e-10) == pytest.approx(fine, rel=2e-9)
