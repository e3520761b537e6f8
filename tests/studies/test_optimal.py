"""Optimal configurations: energies of another program, proofs, runs, and who computes."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import meanfield as mf

SPHERE = mf.Sphere()
# Least P known at beta = 2, 5, 10, 25, of another program.
KNOWN = {
    5: (0.979688543412, 0.042132335034719, 0.00026434127899166, 7.2421097640031e-11),
    6: (1.6789703155056, 0.080991563778313, 0.00054480534061069, 1.6665532638015e-10),
    7: (2.7612675512874, 0.22565030156776, 0.0042724793143514, 3.0507770400007e-8),
    8: (4.0284144729902, 0.3891122951505, 0.0095651075804023, 1.4714798755563e-7),
    9: (5.5657560405414, 0.63871952315205, 0.021974491538813, 9.9461140634023e-7),
    10: (7.3585091756232, 0.98886224975663, 0.046949992478714, 5.8926658751e-6),
    11: (9.434458489667, 1.4735270022431, 0.091322309497035, 2.2702672574e-5),
    12: (11.700451611591, 1.913178303506, 0.11924964982386, 2.9875771294868e-5),
    13: (14.281742436256, 2.6527044160357, 0.23634905391267, 0.00024903147746),
    14: (17.079117855033, 3.4006408624683, 0.34219033383928, 0.00049234005016),
    15: (20.134204591311, 4.2800083790078, 0.4900074361672, 0.00097207634185),
    16: (23.428276233362, 5.2542089438053, 0.66891967684238, 0.0018944726430885),
    17: (26.97530316265, 6.342183623298, 0.89233393148025, 0.0031013167549815),
    18: (30.764572837126, 7.5249933657061, 1.1589806395278, 0.0055917978610372),
    19: (34.807610733289, 8.8572691763936, 1.5000239966479, 0.010171330819986),
    20: (39.088245272549, 10.241704744767, 1.8293054531193, 0.013586719794414),
}
GAPS = {5: 0.020614762, 8: 0.14801716, 12: 0.77942735, 17: 5.979787e-5}
BETAS = (2.0, 5.0, 10.0, 25.0)


def agrees(n: int, beta: float, starts: int) -> None:
    """Not above what is known, nor below without a word, nor below what is certain."""
    found = mf.optimal_configuration(SPHERE, n, beta, starts=starts)
    assert found.pair_energy == pytest.approx(KNOWN[n][BETAS.index(beta)], rel=1e-9)
    assert found.lower_bound <= found.pair_energy and found.energy > found.uniform_energy
    assert found.gradient <= 1e-12 and found.gap > 0


@pytest.mark.parametrize(("n", "starts"), [(5, 4), (8, 4), (12, 3), (17, 4)])
def test_energies_and_gaps_are_those_of_another_program(n: int, starts: int) -> None:
    """A local minimum, or an energy that is rounding at beta = 25."""
    for beta in BETAS if n < 17 else (5.0,):
        agrees(n, beta, starts)
    found = mf.optimal_configuration(SPHERE, n, 5.0, starts=starts)
    assert found.gap == pytest.approx(GAPS[n], rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("n", KNOWN)
def test_all_energies_are_those_of_another_program(n: int) -> None:
    """The whole table."""
    for beta in BETAS:
        agrees(n, beta, 40)


@pytest.mark.parametrize("space", [mf.Circle(), SPHERE, mf.Sphere(5)])
def test_nothing_is_below_what_is_proved(space: mf.Sphere) -> None:
    """Sharp configurations: starts reach their energy, and none is below."""
    for n in {2: (2, 5, 16), 3: (3, 6), 5: (4, 10, 16)}[space.ambient]:
        found = mf.optimal_configuration(space, n, 3.0, starts=4)
        assert found.proved and found.lower_bound == found.pair_energy
        assert found.found >= 1
        assert found.minima[0][0] == pytest.approx(found.pair_energy, rel=1e-12)
        assert found.gap > 0 and found.design == found.sharp.design
        found.measure.manifold.check_points(found.points)


def test_who_computes_does_not_matter() -> None:
    """Starts depend on their numbers alone; more of them never end higher."""
    with ThreadPoolExecutor(2) as pool:
        other = mf.optimal_configuration(SPHERE, 9, 10.0, starts=6, executor=pool)
    found = mf.optimal_configuration(SPHERE, 9, 10.0, starts=6)
    np.testing.assert_array_equal(found.points, other.points)
    assert found.minima == other.minima and sum(count for _, count in found.minima) == 6
    assert mf.optimal_configuration(SPHERE, 9, 10.0, starts=2).pair_energy >= found.pair_energy


def test_repulsive_tokens_come_to_rest_in_a_minimum() -> None:
    """A run from random tokens falls to the energy of the search, and stands still there."""
    problem = mf.Problem(
        SPHERE, mf.exponential(2.0), mf.Flow(strength=-1.0), mf.normal_tokens(6, seed=3)
    )
    run = mf.simulate(problem, until=500.0, save=20, representation="particles", tolerance=1e-8)
    energies = run.observables["energy"]
    found = mf.optimal_configuration(SPHERE, 6, 2.0, starts=2)
    assert (np.diff(energies) < 1e-15).all()
    assert energies[-1] == pytest.approx(found.energy, rel=1e-13)
    assert mf.cluster_rates(problem, run.measures[-1]).drift < 1e-10


def test_small_changes_die_out_at_the_rate_of_the_gap() -> None:
    """Slowest mode of the icosahedron at beta = 5, in a run: 0.0129905 in scaled time."""
    found = mf.optimal_configuration(SPHERE, 12, 5.0, starts=0)
    flow = mf.Flow(strength=-1.0)
    rates = mf.cluster_rates(mf.Problem(SPHERE, mf.exponential(5.0), flow), found.measure)
    assert found.relaxation_rate == pytest.approx(0.0129905, abs=5e-8)
    assert rates.escape[3] == pytest.approx(-found.relaxation_rate, rel=1e-10)
    start = mf.from_points(found.points + 1e-6 * rates.modes[3])
    problem = mf.Problem(SPHERE, mf.exponential(5.0), flow, start)
    run = mf.simulate(problem, until=100.0, save=2, representation="particles", tolerance=1e-13)
    away = [np.abs(measure.points - found.points).max() for measure in run.measures]
    rate = np.log(away[0] / away[-1]) / 100.0
    assert rate == pytest.approx(found.relaxation_rate, rel=1e-4)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"manifold": mf.Axial(4)}, r"spheres, got Axial\(4\): take mf.Circle"),
        ({"manifold": mf.Space(3)}, r"spheres, got Space\(3\)"),
        ({"tokens": 1}, "tokens must be at least 2"),
        ({"beta": 301.0}, "beta must be positive, at most 300, got 301"),
        ({"beta": -1.0}, "beta must be positive, at most 300, got -1"),
        ({"starts": 0}, "5 tokens on the sphere is not proved: starts must be at least 1"),
        ({"tolerance": 1.0}, "tolerance must lie between 1e-13 and 1e-3, got 1"),
        ({"tokens": 5000}, "matrices of 10000 rows, .* at most 2000, take fewer tokens"),
    ],
)
def test_what_is_no_search_is_refused(given, message: str) -> None:
    """In one line that says what to do."""
    with pytest.raises(ValueError, match=message):
        mf.optimal_configuration(**({"manifold": SPHERE, "tokens": 5, "beta": 5.0} | given))
