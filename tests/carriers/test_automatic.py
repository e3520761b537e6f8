"""Hand-overs between representations."""

from dataclasses import replace
from itertools import groupby, pairwise

import numpy as np
import pytest

import meanfield as mf
from meanfield.carriers import Options, characteristics, hand_over_rule, represent
from meanfield.carriers.automatic import largest_degree
from meanfield.carriers.schemes import usual_scheme
from meanfield.measures import Measure
from meanfield.schemes import Start
from meanfield.trajectory import trajectory

MODES = [[1, 0.01, 0.02], [2, -0.02, 0.01], [3, 0.03, 0.01], [4, 0.0, -0.02], [5, 0.01, 0.01]]
LAW = mf.perturbed_uniform(MODES)


def problem_of(law=LAW, beta: float = 9.0, flow: mf.Flow = mf.SA) -> mf.Problem:
    return mf.Problem(mf.Circle(), mf.exponential(beta), flow, law)


def snapshots(problem: mf.Problem, times, **options) -> list:
    chosen = Options(**options)
    carrier, rule = represent(problem, chosen), hand_over_rule(problem, chosen)
    steps = {"tolerance": chosen.step_tolerance, "hand_over": rule}
    return list(trajectory(problem, carrier, times, **steps))


@pytest.fixture(scope="module", params=[mf.USA, mf.SA], ids=["USA", "SA"])
def run(request) -> mf.Run:
    times = [0.0, *np.geomspace(0.1, 1e9, 61)[:-1], 1e9]
    return mf.simulate(problem_of(flow=request.param), until=1e9, save=times)


@pytest.mark.slow
def test_density_characteristics_atoms_follow_each_other(run):
    """All three occur, in this order, and each hand-over is written down."""
    names = [name for name, _ in groupby(run.representation)]
    assert names == ["density", "characteristics", "atoms"]
    texts = [event.text for event in run.events if event.kind == "hand-over"]
    expected = [f"{one} -> {other}" for one, other in pairwise(names)]
    assert [text.partition(":")[0] for text in texts] == expected


@pytest.mark.slow
def test_mass_is_conserved_at_every_hand_over(run):
    """Exactly: weights sum to 1 to rounding."""
    assert np.abs(run.moments[:, 0] - 1.0).max() < 1e-14
    for measure in run.measures:
        if isinstance(measure, Measure):
            assert measure.mass.sum() == pytest.approx(1.0, abs=1e-14)


@pytest.mark.slow
def test_energy_never_falls_across_hand_overs(run):
    """A hand-over that lost accuracy would show as a drop."""
    assert np.diff(run.observables["energy"]).min() > -1e-11


@pytest.mark.slow
def test_one_cluster_is_left(run):
    """To the last Dirac."""
    assert len(run.measures[-1].points) == 1
    assert run.observables["energy"][-1] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
def test_auto_agrees_with_each_representation_in_its_own_range(flow):
    """To 1e-9: density while resolved, characteristics through the collapse, atoms after it."""
    problem = problem_of(flow=flow)
    early, middle, late = (5.0, 12.0, 60.0) if flow.normalized else (40.0, 100.0, 1500.0)
    auto = snapshots(problem, [early, middle, late, 1e4], tolerance=1e-11)
    for name, times in (("density", [early]), ("characteristics", [early, middle, late])):
        carried = snapshots(problem, times, name=name, tolerance=1e-11)
        for one, other in zip(auto[: len(times)], carried, strict=True):
            assert np.abs(one.moments - other.moments).max() < 1e-9
    assert [s.representation for s in auto[1:]] == ["characteristics", "atoms", "atoms"]
    later = mf.from_points(auto[2].measure.points, auto[2].measure.weights, name="atoms")
    alone = snapshots(problem_of(later, flow=flow), [1e4 - late], name="atoms")
    assert np.abs(auto[3].moments - alone[0].moments).max() < 1e-9


def test_max_degree_says_when_a_spectrum_is_full():
    """The default keeps densities of 512 degrees."""
    text = snapshots(problem_of(), [8.0], max_degree=128)[0].events[0].text
    assert text.startswith("density -> characteristics: spectral tail")
    assert text.endswith("at degree 128")


@pytest.mark.parametrize(
    "manifold, given, cells, degree",
    [
        (mf.Circle(), None, 1e-10, 512),
        (mf.Sphere(), None, 1e-4, 256),
        (mf.Sphere(), 1e-10, 1e-10, 256),
    ],
)
def test_default_of_characteristics_is_what_a_user_can_wait_for(manifold, given, cells, degree):
    """Millions of nodes on the sphere; a tolerance that is given would not be kept."""
    problem = mf.Problem(manifold, mf.exponential(5.0), mf.SA, mf.von_mises_fisher(1.0))
    options = Options(tolerance=given)
    assert options.step_tolerance == (given or 1e-10)
    assert options.cell_tolerance(problem) == cells
    assert largest_degree(problem, options) == degree
    assert represent(problem, replace(options, name="characteristics")).tolerance == cells


def test_given_tolerance_is_that_of_steps_of_characteristics():
    """By default cells that leave 1e-4 would be moved in steps of 1e-10; else as is asked."""
    problem = problem_of(flow=mf.SA)
    steps = []
    for enough in (0.0, 1e-4):
        carrier = characteristics(problem, problem.initial_measure(), tolerance=1e-4, enough=enough)
        start, scheme = Start(0.0, carrier.state), usual_scheme(problem, carrier)
        steps.append(scheme(carrier, start, 1e-10, lambda rhs: rhs).step_size)
    assert steps[1] > 2.0 * steps[0]
    sphere = replace(problem, manifold=mf.Sphere(), initial=mf.uniform())
    assert Options().enough(sphere) == 1e-4 > Options(tolerance=1e-4).enough(sphere) == 0.0


@pytest.mark.slow
def test_tokens_become_atoms_when_they_have_met():
    """Each token of a group is then its atom; moments change by less than the tolerance."""
    points = np.random.default_rng(0).uniform(0, 2 * np.pi, 500)
    problem = problem_of(mf.from_points(points))
    result = snapshots(problem, [1.0, 200.0])
    assert [s.representation for s in result] == ["particles", "atoms"]
    plain = snapshots(problem, [200.0], name="particles")
    assert np.abs(result[1].moments - plain[0].moments).max() < 1e-9


@pytest.mark.parametrize(
    ("angles", "text"),
    [([0.0, 0.1, 3.0], "3 tokens go on as 3 atoms"), ([1.0, 1.0], "2 tokens go on as one atom")],
)
def test_hand_over_says_how_many_atoms_begin(angles, text):
    """Tokens "have met in 3 places" where none has met."""
    problem = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.SA, mf.from_points(angles))
    assert text in mf.simulate(problem, 100.0, save=2).events[0].text


def test_few_slow_tokens_are_atoms_at_once():
    """Particles would creep for ever, at the steps of tokens that have met."""
    angles = np.linspace(0, 2 * np.pi, 8)[:7] + 0.01 * np.arange(7)
    result = snapshots(problem_of(mf.from_points(angles), 81.0), [1e9])
    assert result[0].representation == "atoms"
    assert result[0].diagnostics["steps"] < 1000


def test_tokens_on_their_way_are_no_atoms_yet():
    """Fifty tokens that move freely would be fifty leaves of the tree of clusters."""
    angles = np.random.default_rng(1).uniform(0, 2 * np.pi, 50)
    assert snapshots(problem_of(mf.from_points(angles)), [0.5])[0].representation == "particles"


@pytest.mark.parametrize("name", ["density", "characteristics", "particles"])
def test_named_representations_stay(name):
    """Only auto hands over."""
    law = mf.from_points([0.0, 1.0, 2.0]) if name == "particles" else LAW
    result = snapshots(problem_of(law), [6.0], name=name)
    assert result[0].representation == name and result[0].events == ()
