"""Characteristics on the circle through the collapse to Dirac measures."""

import numpy as np
import pytest
from exact_solutions import poisson_radius

import meanfield as mf
from meanfield.carriers import characteristics, density
from meanfield.carriers import label_refinement as refinement
from meanfield.carriers.characteristics import (
    CharacteristicsRepresentation,
    resumed_characteristics,
)
from meanfield.snapshot import Snapshot
from meanfield.trajectory import trajectory

# Near uniform, six modes, no symmetry.
MODES = [
    [1, 0.03, 0.01], [2, -0.02, 0.02], [3, 0.02, -0.02], [4, 0.01, 0.02], [5, 0.02, 0.01],
    [6, -0.01, 0.02],
]  # fmt: skip
# Scaled times at which a density still resolves them with degree 4096 at most, and at which all
# clusters have a spread below 1e-6.
STEEP = {
    (4.0, False): 35.0, (9.0, False): 50.0, (25.0, False): 75.0, (4.0, True): 7.0, (9.0, True): 5.0,
    (25.0, True): 5.0,
}  # fmt: skip
COLLAPSED = {
    (4.0, False): 400.0, (9.0, False): 580.0, (25.0, False): 600.0, (4.0, True): 30.0,
    (9.0, True): 20.0, (25.0, True): 20.0,
}  # fmt: skip


def near_uniform(beta: float, normalized: bool) -> mf.Problem:
    law = mf.perturbed_uniform(MODES)
    return mf.Problem(mf.Circle(), mf.exponential(beta), mf.Flow(normalized), law)


def snapshots(problem, times, tolerance):
    carrier = characteristics(problem, problem.initial_measure(), tolerance=tolerance)
    return trajectory(problem, carrier, times, tolerance=tolerance)


def moments(problem: mf.Problem, times: list[float] | np.ndarray, tolerance: float) -> np.ndarray:
    """Moments to degree 12."""
    return np.array([s.moments[:13] for s in snapshots(problem, times, tolerance)])


def restored(problem: mf.Problem, snapshot: Snapshot) -> CharacteristicsRepresentation:
    here = snapshot.checkpoint
    return resumed_characteristics(problem, here.state, here.fixed, tolerance=1e-10)


def spread(measure: mf.Measure, beta: float) -> float:
    """Largest root mean square distance from the centre of a cluster, within its radius."""
    radius = 0.25 / np.sqrt(beta)
    angles, mass = measure.points, measure.mass.copy()
    worst = 0.0
    while mass.sum() > 1e-3:
        apart = np.angle(np.exp(1j * (angles - angles[np.argmax(mass)])))
        near = np.abs(apart) < radius
        centre = np.average(apart[near], weights=mass[near])
        worst = max(worst, np.sqrt(np.average((apart[near] - centre) ** 2, weights=mass[near])))
        mass[np.abs(apart) < 4 * radius] = 0.0
    return worst


@pytest.mark.slow
@pytest.mark.parametrize("beta, normalized", STEEP)
def test_characteristics_agree_with_the_density(beta, normalized, verified):
    """Two methods without a common line, 1e-11 apart in every stored moment while both resolve."""
    problem = near_uniform(beta, normalized)
    times = np.linspace(0.0, STEEP[beta, normalized], 4)
    initial = problem.initial_measure()
    other = density(problem, initial, tolerance=1e-13)
    expected = np.array([s.moments for s in trajectory(problem, other, times, tolerance=1e-13)])
    values = np.array([s.moments for s in snapshots(problem, times, 1e-13)])
    assert np.abs(expected[-1, 1:13]).max() > 0.2
    what = "characteristics against density in steep runs, circle"
    verified("independent methods", what, values - expected, 1e-11)


@pytest.mark.slow
def test_characteristics_go_on_from_a_running_density():
    """The density of a later time as the initial one: what `auto` does."""
    problem = near_uniform(4.0, True)
    start = density(problem, problem.initial_measure(), tolerance=1e-13)
    *_, last = trajectory(problem, start, [5.0], tolerance=1e-13)
    assert isinstance(last.measure, mf.Density)
    carrier = characteristics(problem, last.measure, tolerance=1e-13)
    *_, end = trajectory(problem, carrier, [15.0], tolerance=1e-13)
    expected = moments(problem, [20.0], 1e-13)[0]
    np.testing.assert_allclose(end.moments[:13], expected, rtol=0, atol=1e-11)


@pytest.mark.slow
def test_moments_converge_through_the_collapse():
    """Beyond the reach of any grid; a tenth of the tolerance changes 1e-11. The rest is slow."""
    problem = near_uniform(4.0, True)
    times = np.linspace(0.0, COLLAPSED[4.0, True], 6)
    fine, coarse = (moments(problem, times, tolerance) for tolerance in (1e-13, 1e-12))
    np.testing.assert_allclose(coarse, fine, rtol=0, atol=5e-11)


@pytest.mark.slow
@pytest.mark.parametrize("beta, normalized", COLLAPSED)
def test_moments_converge_until_clusters_are_points(beta, normalized, monkeypatch, verified):
    """To 1e-10 against ten times the tolerance; to 1e-11 against cells that split far earlier."""
    problem = near_uniform(beta, normalized)
    times = np.linspace(0.0, COLLAPSED[beta, normalized], 21)
    fine = list(snapshots(problem, times, 1e-13))
    measure = fine[-1].measure
    assert isinstance(measure, mf.Measure)
    assert spread(measure, beta) < 1e-6
    expected = np.array([s.moments[:13] for s in fine])
    np.testing.assert_allclose(moments(problem, times, 1e-12), expected, rtol=0, atol=1e-10)
    monkeypatch.setattr(refinement, "SPLIT_EARLY", 1e-4)
    finer = list(snapshots(problem, times, 1e-13))
    nodes = [max(s.diagnostics["nodes"] for s in run) for run in (fine, finer)]
    assert nodes[1] > 1.1 * nodes[0]
    values = np.array([s.moments[:13] for s in finer])
    what = "characteristics against finer cells until clusters are points, circle"
    verified("independent methods", what, values - expected, 1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("normalized, time, degree, expected", [
    (False, 0.15, 3, 0.631918519058), (False, 0.15, 6, 0.450080486078),
    (False, 0.2, 3, 0.885520644728), (False, 0.2, 6, 0.833860283393),
    (True, 4.0, 3, 0.624547295921), (True, 4.0, 6, 0.306681961904),
])  # fmt: skip
def test_symmetric_trajectory_equals_the_table(normalized, time, degree, expected, verified):
    """Printed to 12 digits, from 1 + 0.1 cos 3 theta at beta = 5."""
    law = mf.perturbed_uniform([[3, 0.1, 0.0]])
    problem = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.Flow(normalized), law)
    scaled = time * (1.0 if normalized else np.exp(5.0))
    result = moments(problem, [scaled], 1e-13)[0, degree]
    what = "printed moments, carried by characteristics, circle, symmetric start"
    verified("exact solutions", what, result - expected, 1e-12)


@pytest.mark.slow
def test_asymmetric_trajectory_equals_the_table(verified):
    """Printed to 11 digits; a density of degree 4096 does not resolve it to 1e-12."""
    law = mf.perturbed_uniform(
        [[1, 0.1, 0.0], [2, 0.0, 0.05], [3, -0.08 * np.cos(0.5), 0.08 * np.sin(0.5)]]
    )
    problem = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA, law)
    expected = [
        0.09086510073 + 0.01251338549j, 0.01189494911 - 0.17450954084j,
        -0.66229463275 - 0.44231145403j, -0.08554757303 - 0.24017843829j,
    ]  # fmt: skip
    result = moments(problem, [0.2 * np.exp(5.0)], 1e-13)[0, 1:5]
    # Half a unit of the last digit of each part.
    what = "printed moments, carried by characteristics, circle, asymmetric start"
    verified("exact solutions", what, np.subtract(result, expected), 1e-11)


def poisson(flow: mf.Flow) -> tuple[mf.Problem, CharacteristicsRepresentation]:
    """The linear kernel, and characteristics from the Poisson density of radius 0.1."""
    problem = mf.Problem(mf.Circle(), mf.linear(), flow)
    initial = mf.Density(mf.Circle(), 0.1 ** np.arange(24.0))
    return problem, characteristics(problem, initial, tolerance=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("flow", [mf.USA, mf.SA], ids=["USA", "SA"])
def test_exact_solution_through_the_collapse(flow, verified):
    """c_k = r^k while 1 - r falls from 0.9 to 5e-16, and f at the nodes is the Poisson kernel."""
    # Characteristics are x = 2 atan(s tan(label / 2)) with s the quotient of (1 - r) / (1 + r) now
    # and at the start, so J = dx/dlabel = s / (cos^2 + s^2 sin^2) of half the label.
    problem, carrier = poisson(flow)
    times = np.array([2.0, 8.0, 16.0, 24.0, 32.0, 40.0])
    for snapshot in trajectory(problem, carrier, times, tolerance=1e-12):
        radius = float(poisson_radius(np.array([snapshot.time]), start=0.1)[0])
        exact = radius ** np.arange(13.0)
        what = "Poisson density as characteristics, circle, until 1 - r = 5e-16"
        verified("exact solutions", what, snapshot.moments[:13] - exact, 1e-11)
        result = restored(problem, snapshot)
        time = snapshot.checkpoint.time
        grown = 99.0 * np.exp(-time)
        # 1 - (1 + grown)^(-1/2), to relative accuracy.
        gap = -np.expm1(-0.5 * np.log1p(grown))
        s = gap / (2.0 - gap) * 1.1 / 0.9
        half = 0.5 * result.cells.points
        log_stretch = np.log(s) - np.log(np.cos(half) ** 2 + (s * np.sin(half)) ** 2)
        error = np.abs(np.log(result.base) - log_stretch - np.log(result.density(result.state)))
        # Mean over the measure. From 1 - r = 1e-13 on cells have joined.
        assert result.masses @ error < (1e-10 if time < 30 else 1e-2)
        if time < 10:
            # At the positions themselves, where rounding of these does not matter yet.
            sine = np.sin(0.5 * result.measure(result.state).points)
            kernel = gap * (2.0 - gap) / (gap**2 + 4.0 * (1.0 - gap) * sine**2)
            np.testing.assert_allclose(result.density(result.state), kernel, rtol=1e-7)


@pytest.mark.slow
def test_nodes_grow_like_the_logarithm_of_the_steepness():
    """Each eight time units steepen e^8 times and take the same number of panels, about 22."""
    problem, carrier = poisson(mf.USA)
    stream = trajectory(problem, carrier, [8.0, 16.0, 24.0], tolerance=1e-12)
    cells = [s.diagnostics["cells"] for s in stream]
    first, second = np.diff(cells)
    assert 15 < first < 45
    assert second < 1.1 * first


@pytest.mark.slow
def test_mean_of_the_unwrapped_angles_is_conserved(verified):
    """USA pulls equally both ways; the masses remember where each node has gone. SA does not."""
    drifts = []
    for normalized in (False, True):
        problem = near_uniform(4.0, normalized)
        end = COLLAPSED[4.0, True] if normalized else 60.0
        means = [s.measure.mass @ s.measure.points for s in snapshots(problem, [0.0, end], 1e-12)]
        drifts.append(abs(means[1] - means[0]))
    what = "mean unwrapped angle of characteristics without softmax, circle"
    verified("invariants", what, drifts[0], 1e-11)
    assert drifts[1] > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("normalized", [False, True])
def test_symmetry_survives_the_collapse(normalized, verified):
    """From modes 3 and 6 nothing but multiples of 3 grows, though panels know no symmetry."""
    law = mf.perturbed_uniform([[3, 0.1, 0.02], [6, 0.0, 0.05]])
    problem = mf.Problem(mf.Circle(), mf.exponential(9.0), mf.Flow(normalized), law)
    result = moments(problem, [12.0 if normalized else 60.0], 1e-12)[0]
    k = np.arange(13)
    assert np.abs(result[3]) > 0.85
    verified("symmetry", "3-fold symmetry of characteristics, circle", result[k % 3 != 0], 1e-11)


@pytest.mark.slow
def test_rotated_start_rotates_the_run(verified):
    """Panels begin at angle 0 whatever the measure: moments must not know it."""
    turn, end = 1.234, [12.0]
    rotated = []
    for k, cosine, sine in MODES:
        mode = (cosine - 1j * sine) * np.exp(-1j * k * turn)
        rotated.append([k, mode.real, -mode.imag])
    problem = near_uniform(9.0, True)
    other = mf.Problem(problem.manifold, problem.kernel, mf.SA, mf.perturbed_uniform(rotated))
    expected = moments(problem, end, 1e-12) * np.exp(-1j * turn * np.arange(13))
    what = "rotated characteristics stay rotated, circle"
    verified("symmetry", what, moments(other, end, 1e-12) - expected, 2e-11)
