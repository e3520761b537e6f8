"""Optimal configurations: energies of another program, proofs, runs, and who computes."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.papers import optimal
from meanfield.papers.configurations import pair_energy

SPHERE = mf.Sphere()
BETAS = (2.0, 5.0, 10.0, 25.0)
# Least P known, n = 2 ... 24, of another program up to n = 20.
FILE = Path(__file__).parents[2] / "experiments" / "optimal_configurations" / "known.csv"
ENERGIES = {int(n): row for n, *row in np.loadtxt(FILE, delimiter=",", skiprows=1)}
GAPS = {5: 0.020614762, 8: 0.14801716, 12: 0.77942735, 17: 5.979787e-5}


@pytest.mark.slow
@pytest.mark.parametrize("n", ENERGIES)
def test_energies_and_gaps_are_those_of_another_program(n):
    """A local minimum, an energy that is rounding at beta = 25, or one below what is certain."""
    for beta, energy in zip(BETAS, ENERGIES[n], strict=True):
        optimum = mf.optimal_configuration(SPHERE, n, beta, starts=40)
        assert optimum.pair_energy == pytest.approx(energy, rel=1e-9)
        assert optimum.lower_bound <= optimum.pair_energy
        assert optimum.energy > optimum.uniform_energy
        assert optimum.gradient <= 1e-12 and optimum.gap > 0
        if beta == 5.0 and n in GAPS:
            assert optimum.gap == pytest.approx(GAPS[n], rel=1e-6)


@pytest.mark.parametrize(("space", "tokens", "beta", "starts", "least"), [
    (mf.Circle(), (2, 5, 16), 3.0, 4, 1), (mf.Sphere(2), (2, 5, 16), 3.0, 4, 1),
    (SPHERE, (3, 6), 3.0, 4, 1), (mf.Sphere(5), (4, 10, 16), 3.0, 4, 1),
    # At beta = 5 they all come there.
    pytest.param(mf.Circle(), (4, 9, 16), 5.0, 100, 100, marks=pytest.mark.slow),
    pytest.param(SPHERE, (2, 3, 4, 6, 12), 5.0, 100, 100, marks=pytest.mark.slow),
])  # fmt: skip
def test_nothing_is_below_what_is_proved(space, tokens, beta, starts, least):
    """Sharp configurations: starts reach their energy, and none is below."""
    for n in tokens:
        optimum = mf.optimal_configuration(space, n, beta, starts=starts)
        assert optimum.proved and optimum.lower_bound == optimum.pair_energy
        assert least <= optimum.found <= sum(count for _, count in optimum.minima) == starts
        assert optimum.minima[0][0] == pytest.approx(optimum.pair_energy, rel=1e-12)
        assert optimum.gap > 0 and optimum.design == optimum.sharp.design
        optimum.measure.manifold.check_points(optimum.points)


def test_who_computes_does_not_matter():
    """Starts depend on their numbers alone; more of them never end higher."""
    with ThreadPoolExecutor(2) as pool:
        other = mf.optimal_configuration(SPHERE, 9, 10.0, starts=6, executor=pool)
    optimum = mf.optimal_configuration(SPHERE, 9, 10.0, starts=6)
    np.testing.assert_array_equal(optimum.points, other.points)
    assert optimum.minima == other.minima and sum(count for _, count in optimum.minima) == 6
    assert mf.optimal_configuration(SPHERE, 9, 10.0, starts=2).pair_energy >= optimum.pair_energy


def test_saddles_are_left():
    """The cube is stationary, and no minimum: Newton's method alone would stay there."""
    cube = mf.configuration("cube").build(SPHERE).points
    result, beside = optimal._polished(SPHERE, cube, 5.0, 1e-12)
    assert result is not None and beside is not None and result.gradient < 1e-14
    assert pair_energy(beside, 5.0) < result.pair_energy
    assert mf.optimal_configuration(SPHERE, 8, 5.0, starts=2).pair_energy < result.pair_energy


def test_searches_that_end_nowhere_say_so(monkeypatch):
    """A configuration that is no minimum would be handed out; so would a gap that takes days."""
    monkeypatch.setattr(optimal, "_NEWTON_STEPS", 1)
    message = "none of 2 starts came within tolerance = 1e-12 of a min"
    refused(message, mf.optimal_configuration, SPHERE, 5, 5.0, starts=2)
    large = mf.optimal_configuration(mf.Sphere(23), 4600, 5.0, starts=0)
    assert large.energy == pytest.approx(0.011498597595, abs=6e-13) and large.design == 7
    refused("the gap takes matrices of 101200 rows", lambda: large.gap)


def test_repulsive_tokens_come_to_rest_in_a_minimum():
    """A run from random tokens falls to the energy of the search, and stands still there."""
    flow, law = mf.Flow("none", strength=-1.0), mf.normal_tokens(6, seed=3)
    problem = mf.Problem(SPHERE, mf.exponential(2.0), flow, law)
    run = mf.simulate(problem, until=500.0, save=20, representation="particles", tolerance=1e-8)
    energies = run.observables["energy"]
    optimum = mf.optimal_configuration(SPHERE, 6, 2.0, starts=2)
    assert (np.diff(energies) < 1e-15).all()
    assert energies[-1] == pytest.approx(optimum.energy, rel=1e-13)
    assert mf.cluster_rates(problem, run.measures[-1]).drift < 1e-10


def test_small_changes_die_out_at_the_rate_of_the_gap():
    """Slowest mode of the icosahedron at beta = 5, in a run: 0.0129905 in scaled time."""
    optimum = mf.optimal_configuration(SPHERE, 12, 5.0, starts=0)
    flow = mf.Flow("none", strength=-1.0)
    rates = mf.cluster_rates(mf.Problem(SPHERE, mf.exponential(5.0), flow), optimum.measure)
    assert optimum.relaxation_rate == pytest.approx(0.0129905, abs=5e-8)
    assert rates.escape[3] == pytest.approx(-optimum.relaxation_rate, rel=1e-10)
    start = mf.from_points(optimum.points + 1e-6 * rates.modes[3])
    problem = mf.Problem(SPHERE, mf.exponential(5.0), flow, start)
    run = mf.simulate(problem, until=100.0, save=2, representation="particles", tolerance=1e-13)
    away = [np.abs(measure.points - optimum.points).max() for measure in run.measures]
    rate = np.log(away[0] / away[-1]) / 100.0
    assert rate == pytest.approx(optimum.relaxation_rate, rel=1e-4)


def test_what_is_no_search_is_refused():
    """In one line that says what to do."""
    search = mf.optimal_configuration
    refused(r"spheres, got Axial\(4\): take mf.Circle", search, mf.Axial(4), 5, 5.0)
    refused(r"spheres, got Euclidean\(3\)", search, mf.Euclidean(3), 5, 5.0)
    refused("tokens must be at least 2", search, SPHERE, 1, 5.0)
    refused("beta must be positive, at most 300, got 301", search, SPHERE, 5, 301.0)
    refused("beta must be positive, at most 300, got -1", search, SPHERE, 5, -1.0)
    message = "5 tokens on the sphere is not proved: starts must be at least 1"
    refused(message, search, SPHERE, 5, 5.0, starts=0)
    message = "tolerance must lie between 1e-13 and 1e-3, got 1"
    refused(message, search, SPHERE, 5, 5.0, tolerance=1.0)
    message = "matrices of 10000 rows, .* at most 2000, take fewer tokens"
    refused(message, search, SPHERE, 5000, 5.0)
