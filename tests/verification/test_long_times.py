"""Atoms to the last merge: closed forms, published configurations, stiff references."""

import math
from functools import cache

import numpy as np
import pytest
from parameters import each
from scipy.integrate import solve_ivp

import meanfield as mf
from meanfield.engines.pairs.circle import exponential_velocity_circle
from meanfield.observables.clusters import cluster_radius

KINETIC = [0.06219714, 0.21432297, 1.81912262, 2.91107101, -3.09524835]
STAIRCASE = math.log(2000) / math.sqrt(2000) * np.array([0.0, 0.25, 1.0, 2.0, 3.5])
SEVEN = 2 * np.pi * np.arange(7) / 7 + 0.1 * np.sin(3.0 * np.arange(7) ** 2)
TWELVE = 2 * np.pi * np.arange(12) / 12 + 0.05 * np.sin(5.0 * np.arange(12) ** 2)


@cache
def run_of(angles: tuple, beta: float, flow: mf.Flow, end: float, tolerance=1e-10):
    law = mf.from_points(np.array(angles), name="atoms")
    problem = mf.Problem(mf.Circle(), mf.exponential(beta), flow, law)
    times = np.geomspace(1e-3, end, 1 + 4 * int(math.log10(end) + 3))
    times[-1] = end
    return mf.simulate(problem, until=end, save=times, tolerance=tolerance)


def slow(*values):
    """More of the same: not every day."""
    return pytest.param(*values, marks=pytest.mark.slow)


def merges(run) -> list:
    return [event for event in run.events if event.kind == "merge"]


@pytest.mark.slow
@each(
    "flow", [mf.USA, mf.SA], mass=[0.5, 0.9, 1.0 - 1e-6], beta=[1.0, slow(5.0), slow(25.0), 100.0]
)
def test_two_atoms_meet_at_the_time_of_the_closed_form(beta, mass, flow, verified):
    """Any mass: the merge event against quadrature of the pair's equation."""
    start = 2.0 * np.pi / 3.0
    law = mf.from_points([0.3, 0.3 + start], np.array([mass, 1.0 - mass]), name="atoms")
    problem = mf.Problem(mf.Circle(), mf.exponential(beta), flow, law)
    exact = mf.two_cluster_time(problem, start, cluster_radius(beta), (mass, 1.0 - mass))
    run = mf.simulate(problem, until=2.0 * exact, save=2, tolerance=1e-13)
    what = "merging time of two atoms, circle, relative"
    verified("exact solutions", what, merges(run)[0].time / exact - 1, 1e-9)


@pytest.mark.parametrize(("beta", "start", "published"), [
    (1.0, 2 * np.pi / 3, 2.4657476968), (5.0, 2 * np.pi / 3, 2.8393709166),
    (5.0, np.pi / 2, 0.2361724529), (10.0, np.pi / 2, 0.1024452894),
])  # fmt: skip
def test_two_atoms_reach_cosine_0999_at_the_published_times(beta, start, published, verified):
    """USA in paper time: the gap at that time is arccos 0.999."""
    law = mf.from_points([0.0, start], np.array([0.2, 0.8]), name="atoms")
    problem = mf.Problem(mf.Circle(), mf.exponential(beta), mf.USA, law)
    run = mf.simulate(problem, until=published, save=[published], unit="paper", tolerance=1e-13)
    # Near cos = 0.999 the cosine moves at 0.002 e^beta a unit of paper time; ten digits are given.
    allowed = 0.002 * math.exp(beta) * 1e-10 + 1e-12
    cosine = np.cos(np.diff(run.measures[0].points))[0]
    what = "cosine of two atoms at the published times, circle"
    verified("exact solutions", what, cosine - 0.999, allowed)


@pytest.mark.slow
def test_kinetic_figure(verified):
    """Pairs merge (cos > 0.999) at the printed times, energies on the way."""
    law = mf.from_points(KINETIC, name="atoms")
    problem = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.SA, law)
    times = [0.0, 1.267, 2.410, 5.0, 5.194, 20.0, 100.0, 300.0, 328.364042, 400.0]
    run = mf.simulate(problem, until=400.0, save=times, tolerance=1e-12)
    energy = dict(zip(times, run.observables["energy"], strict=True))
    printed = {0.0: 0.359712, 5.0: 0.519307, 20.0: 0.520330, 100.0: 0.520399, 300.0: 0.522379}
    for time, value in printed.items():
        what = "published configuration of five tokens: printed energies"
        verified("exact solutions", what, energy[time] - value, 5.1e-7)
    assert energy[400.0] == pytest.approx(1.0, abs=1e-12)
    # The clusters are 0.4 and 0.6; 1e-5 in time is 1e-8 in the cosine there.
    points = run.measures[8].points
    assert len(points) == 2
    what = "published configuration of five tokens: cosine at the last merge"
    verified("exact solutions", what, np.cos(points[1] - points[0]) - 0.999, 2e-8)
    for time in (1.267, 2.410, 5.194):
        cosines = np.cos(np.subtract.outer(*2 * [run.measures[times.index(time)].points]))
        assert np.abs(cosines - 0.999).min() < 2e-6  # times are given to three digits


@each("flow", [mf.USA, mf.SA], beta=[*map(slow, [500.0, 1000.0, 1500.0, 2000.0, 3000.0, 4000.0])])
def test_staircase_figure(beta, flow, verified):
    """Plateaus 0.28 (not at 500), 0.44, 0.52, 1 and the printed first energies."""
    run = run_of(tuple(STAIRCASE), beta, flow, 1e150)
    energy = run.observables["energy"]
    # At 500 the first step is a bend at 0.281, within 1e-4 of 0.28 nowhere for long.
    for level in [0.44, 0.52, 1.0] if beta == 500.0 else [0.28, 0.44, 0.52, 1.0]:
        there = np.flatnonzero(np.abs(energy - level) < 1e-4)
        what = "published staircase of five atoms: energies of its plateaus"
        verified("exact solutions", what, np.median(energy[there]) - level, 1e-4)
        assert len(there) >= 5  # more than a decade of time at four a decade
        assert np.all(np.diff(there) == 1)
    if beta in (500.0, 4000.0):
        assert energy[0] == pytest.approx({500.0: 0.2524, 4000.0: 0.2022}[beta], abs=1e-3)
    if beta == 4000.0 and flow.normalized:
        assert 1e142 < merges(run)[-1].time < 1e144


@pytest.mark.parametrize(
    ("angles", "beta", "end"), [(SEVEN, 25.0, 1e30), slow(TWELVE, 81.0, 1e90)], ids=["7", "12"]
)
@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
class TestToTheLastMerge:
    """Seven atoms at beta = 25, twelve at 81."""

    @pytest.mark.slow
    def test_one_atom_is_left(self, angles, beta, end, flow):
        """Every pair met, each once."""
        run = run_of(tuple(angles), beta, flow, end)
        assert len(merges(run)) == len(angles) - 1
        assert len(run.measures[-1].points) == 1

    @pytest.mark.slow
    def test_energy_never_falls(self, angles, beta, end, flow):
        """dE/dt is a mean square velocity; the rounding of E is 1e-15."""
        assert np.diff(run_of(tuple(angles), beta, flow, end).observables["energy"]).min() > -2e-15

    def test_plateaus_are_sums_of_squared_masses(self, angles, beta, end, flow, verified):
        """Far-apart clusters have no cross terms: e^{beta (cos d - 1)} is below 1e-9 there."""
        run = run_of(tuple(angles), beta, flow, end)
        times = [event.time for event in merges(run)]
        checked = 0
        for time, energy, measure in zip(
            run.time, run.observables["energy"], run.measures, strict=True
        ):
            gaps = np.subtract.outer(measure.points, measure.points)
            off = ~np.eye(len(measure.points), dtype=bool)
            cross = np.exp(beta * (np.cos(gaps[off]) - 1.0)).sum()
            if time > times[0] and cross < 1e-12:
                what = "energy of atoms between merges: sum of squared masses, circle"
                verified("exact solutions", what, energy - (measure.mass**2).sum(), 1e-12)
                checked += 1
        assert checked > 10

    @pytest.mark.slow
    def test_rotation_of_the_start_changes_nothing(self, angles, beta, end, flow, verified):
        """Times of merges; rounding of the angles is amplified by beta at each."""
        one = merges(run_of(tuple(angles), beta, flow, end, 1e-12))
        other = merges(run_of(tuple(np.asarray(angles) + 1.234), beta, flow, end, 1e-12))
        assert [e.mass for e in one] != []
        for first, second in zip(one, other, strict=True):
            what = "times of merges of rotated atoms, circle, relative"
            verified("symmetry", what, first.time / second.time - 1, 1e-8)
            assert sorted(first.mass) == pytest.approx(sorted(second.mass), abs=1e-14)


@pytest.mark.slow
def test_merge_history_of_tokens_is_that_of_a_stiff_solver(verified):
    """40 tokens, beta = 25, USA: positions of Radau without any merging, at 1e4 and 1e6."""
    angles = np.random.default_rng(5).uniform(0, 2 * np.pi, 40)
    problem = mf.Problem(
        mf.Circle(), mf.exponential(25.0), mf.USA, mf.from_points(angles, name="tokens")
    )
    times = [1e3, 1e4, 1e6]
    run = mf.simulate(problem, until=1e6, save=times)
    solution = solve_ivp(
        lambda t, y: exponential_velocity_circle(y, None, 25.0, False), (0.0, 1e6), angles, "Radau",
        t_eval=times, rtol=1e-10, atol=1e-11,
    )  # fmt: skip
    assert run.representation[-1] == "atoms" and len(run.measures[-1].points) < 8
    for measure, tokens in zip(run.measures, solution.y.T, strict=True):
        nearest = mf.Circle().distance(tokens[:, None], measure.points[None])
        what = "merging atoms against a stiff solver of all tokens, circle"
        verified("independent methods", what, nearest.min(axis=1), 1e-6)
        counted = np.bincount(nearest.argmin(axis=1), minlength=len(measure.points)) / 40
        assert counted == pytest.approx(measure.mass, abs=1e-12)
