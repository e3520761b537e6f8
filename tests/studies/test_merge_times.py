"""Times of the next merge: against closed forms, atoms, and runs of tokens."""

import numpy as np
import pytest

import meanfield as mf
from meanfield.observables.clusters import Clusters, cluster_radius
from meanfield.studies.corrected_law import LATEST, next_merges

CIRCLE, SPHERE = mf.Circle(), mf.Sphere()


@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
@pytest.mark.parametrize("angle", [0.3, 1.0, 1.4])
def test_two_clusters_meet_when_the_closed_form_says(flow, angle):
    """One pair has a quadrature: the clock, the masses or the normalisation would be wrong."""
    problem = mf.Problem(CIRCLE, mf.exponential(9.0), flow)
    pair = Clusters(np.array([0.6, 0.2]), np.array([0.0, angle]))
    exact = mf.two_cluster_time(problem, angle, cluster_radius(9.0), (0.75, 0.25))
    [times] = next_merges(problem, [pair], 2.0).values()
    # A thousand times the tolerance of a step: errors grow until the two meet.
    assert times == pytest.approx([2.0 + exact] * 3, rel=1e-2)


ANGLES = np.array([0.0, 1.0, 2.3, 3.5, 4.9])
VECTORS = np.array([[1, 0, 0], [0.6, 0.8, 0], [-0.96, 0.28, 0], [0, -0.8, 0.6], [0, 0.28, -0.96]])


@pytest.mark.parametrize(("space", "points"), [(CIRCLE, ANGLES), (SPHERE, VECTORS)], ids=str)
def test_first_merge_is_that_of_atoms(space, points):
    """Three and more clusters have no closed form; atoms have events."""
    mass = np.array([0.3, 0.25, 0.2, 0.15, 0.1])
    atoms = mf.from_points(points, weights=mass, name="atoms")
    problem = mf.Problem(space, mf.exponential(6.0), mf.SA, atoms)
    [times] = next_merges(problem, [Clusters(mass, points)], 1.0).values()
    run = mf.simulate(problem, until=2.0 * times[1], save=2)
    met = next(event.time for event in run.events if event.kind == "merge")
    assert times[1] - 1.0 == pytest.approx(met, rel=1e-2)


def test_each_number_of_clusters_has_its_own_quartiles():
    """Pairs that never meet in time would lend their infinity to others, or be left out."""
    problem = mf.Problem(CIRCLE, mf.exponential(9.0), mf.USA)
    near, far = (Clusters(np.full(2, 0.5), np.array([0.0, angle])) for angle in (0.5, np.pi))
    three, one = Clusters(np.full(3, 1 / 3), np.array([0.0, 1.0, 3.0])), Clusters(*np.ones((2, 1)))
    result = next_merges(problem, [near, far, far, three, one], 1.0)
    assert result.keys() == {2, 3} and np.isfinite(result[3]).all()
    assert np.isfinite(result[2][0]) and np.isinf(result[2][1:]).all()
    assert result[2][0] < LATEST


def test_clusters_that_rest_apart_have_no_next_merge():
    """Explicit steps towards a stable configuration would not end."""
    problem = mf.Problem(mf.Circle(), mf.exponential(-5.0), mf.USA)
    groups = [Clusters(np.array([0.5, 0.5]), np.array([0.0, np.pi]))]
    assert next_merges(problem, groups, 5.0) == {}
