"""Characteristics on the sphere: exact solutions, the density, refinement, rotation, mass."""

from dataclasses import replace

import numpy as np
import pytest
from exact_solutions import hyperbolic_poisson_moments, hyperbolic_poisson_radius
from oracles import gauss_nodes, harmonics
from scipy.spatial.transform import Rotation

import meanfield as mf
from meanfield.carriers import characteristics, density
from meanfield.carriers.characteristics import resumed_characteristics
from meanfield.snapshot import Snapshot
from meanfield.trajectory import trajectory

SPHERE = mf.Sphere()
AXIS = np.array([0.48, -0.6, -0.64])
TURN = Rotation.from_quat([0.1, -0.4, 0.7, 0.2]).as_matrix()
# No symmetry; every degree up to 4.
MODES = [[1, 0, 0.1], [2, 1, 0.12], [2, -2, 0.08], [3, -2, 0.1], [4, 3, 0.05]]
# The start of the experiment sphere_clusters.
NEAR_UNIFORM = [
    [1, 0, 0.02], [2, 1, 0.03], [3, -2, 0.03], [4, 3, 0.03], [4, -4, 0.02], [5, 2, 0.02],
]  # fmt: skip


def problem_of(beta: float, flow: mf.Flow, modes: list = MODES) -> mf.Problem:
    return mf.Problem(SPHERE, mf.exponential(beta), flow, mf.perturbed_uniform(modes))


def carried(problem, times, tolerance, steps=None):
    """Snapshots as characteristics; steps may have a tolerance of their own."""
    carrier = characteristics(problem, problem.initial_measure(), tolerance=tolerance)
    return list(trajectory(problem, carrier, times, tolerance=steps or tolerance))


def low_moments(snapshots: list[Snapshot]) -> np.ndarray:
    """Moments to degree 8, shape (times, 45)."""
    return np.array([SPHERE.resize(s.moments, 8) for s in snapshots])


def dense(problem: mf.Problem, times: list[float], max_degree: int) -> list[Snapshot]:
    carrier = density(problem, problem.initial_measure(), tolerance=1e-12, max_degree=max_degree)
    return list(trajectory(problem, carrier, times, tolerance=1e-12))


def poisson_problem(flow: mf.Flow) -> mf.Problem:
    """The linear kernel from a hyperbolic Poisson density about a generic axis."""
    # 0.1^l l falls below rounding at degree 20.
    profile = hyperbolic_poisson_moments(0.1, 24)
    coefficients = SPHERE.convolve(profile, harmonics(AXIS[None], 24)[0].conj())
    return mf.Problem(SPHERE, mf.linear(), flow, mf.from_density(coefficients))


@pytest.mark.parametrize(
    "times, tolerance",
    [([0.0, 1.5, 3.0], 1e-7), pytest.param([1.5, 4.0, 10.0], 1e-8, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("flow", [mf.USA, mf.SA])
def test_poisson_density_is_carried_exactly(flow, times, tolerance, verified):
    """Moments of the closed-form solution, from near uniform to a Dirac measure (slow)."""
    result = low_moments(carried(poisson_problem(flow), times, tolerance))
    turned = harmonics(AXIS[None], 8)[0].conj()
    radii = hyperbolic_poisson_radius(np.array(times), 0.1)
    expected = [SPHERE.convolve(hyperbolic_poisson_moments(r, 8), turned) for r in radii]
    # Fewer than twenty steps, which add up to less than their tolerance.
    what = "hyperbolic Poisson density as characteristics, sphere, to a Dirac measure"
    verified("exact solutions", what, result - expected, tolerance)
    assert radii[-1] > (0.5 if times[-1] == 3.0 else 0.999)


@pytest.mark.slow
def test_poisson_density_at_the_nodes_is_exact(verified):
    """The density comes from the divergence along the path: a wrong sign or term would show."""
    problem = poisson_problem(mf.SA)
    here = carried(problem, [3.5], 1e-8)[-1].checkpoint
    carrier = resumed_characteristics(problem, here.state, here.fixed, tolerance=1e-8)
    radius = float(hyperbolic_poisson_radius(here.time, 0.1))
    measure = carrier.measure(here.state)
    u = measure.points @ AXIS
    expected = ((1 - radius**2) / (1 - 2 * radius * u + radius**2)) ** 2
    what = "hyperbolic Poisson density at the nodes of characteristics, sphere, relative"
    verified("exact solutions", what, carrier.density(here.state) / expected - 1, 1e-7)
    # From far below to far above uniform.
    assert radius > 0.5
    assert expected.min() < 0.15
    assert expected.max() > 5.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "flow, beta, modes, end, tolerance",
    [
        (mf.SA, 1.0, MODES, 1.5, 1e-8),
        (mf.USA, 1.0, MODES, 5.0, 1e-8),
        # While clusters form: all of degree 127 is needed at the end.
        pytest.param(mf.SA, 6.0, NEAR_UNIFORM, 3.5, 1e-10, marks=pytest.mark.slow),
    ],
)
def test_characteristics_equal_the_density(flow, beta, modes, end, tolerance, verified):
    """Two methods that share nothing but the transforms, before the density is full."""
    problem = problem_of(beta, flow, modes)
    result, expected = carried(problem, [end], tolerance, 1e-11), dense(problem, [end], 127)
    # Cells are far more exact than they say, as sums; steps add a few of their tolerances.
    what = "characteristics against density" + (" while clusters form" if beta == 6.0 else "")
    error = low_moments(result) - low_moments(expected)
    verified("independent methods", f"{what}, sphere", error, 1e-10)
    start = SPHERE.resize(problem.initial_measure().coefficients, 8)
    assert np.abs(low_moments(result)[0] - start).max() > 0.1
    if beta == 6.0:
        assert expected[-1].measure.max_degree == 127
        assert result[-1].diagnostics["nodes"] < 2e5


@pytest.mark.slow
def test_stated_error_is_above_the_true_one():
    """The error of coarse cells, known from fine ones, is below what the run says of itself."""
    problem = problem_of(2.0, mf.SA)
    coarse = carried(problem, [3.5], 1e-2, 1e-8)[-1]
    fine = carried(problem, [3.5], 1e-4, 1e-8)[-1]
    true = np.abs(low_moments([coarse]) - low_moments([fine])).max()
    # Quadrature gains where interpolation is known to lose: within a factor of ten thousand.
    assert 1e-8 < true < coarse.diagnostics["error"] < 1e4 * true
    assert fine.diagnostics["nodes"] > coarse.diagnostics["nodes"]
    assert fine.diagnostics["error"] < 0.01 * coarse.diagnostics["error"]


@pytest.mark.slow
def test_turned_start_turns_the_run(verified):
    """Faces, edges and corners of the cube must not show."""
    problem = problem_of(2.0, mf.SA)
    start = problem.initial_measure().coefficients

    def turned(coefficients: np.ndarray, degree: int) -> np.ndarray:
        x, w = gauss_nodes(12)
        twice = np.where(np.arange(len(coefficients)) <= degree, 1.0, 2.0)
        values = (harmonics(x @ TURN, degree) @ (twice * coefficients)).real
        return (w * values) @ harmonics(x, degree).conj()

    moved = replace(problem, initial=mf.from_density(turned(start, 4)))
    plain, result = (low_moments(carried(p, [3.0], 1e-8))[0] for p in (problem, moved))
    what = "turned characteristics stay turned, sphere"
    verified("symmetry", what, result - turned(plain, 8), 3e-8)
    assert np.abs(result - plain).max() > 0.1


@pytest.mark.slow
def test_mass_is_exact_and_density_positive_through_a_collapse():
    """Cells split and join on the way: no mass is lost, and none is made."""
    problem = problem_of(1.0, mf.SA, [[1, 0, 0.3], [2, 1, 0.1]])
    run = carried(problem, [0.0, 3.0, 6.0, 25.0], 1e-3)
    for snapshot in run:
        assert abs(snapshot.measure.mass.sum() - 1.0) < 1e-15
        assert abs(snapshot.moments[0] - 1.0) < 1e-14
        assert snapshot.diagnostics["density_min"] > 0
    count = [s.diagnostics["nodes"] for s in run]
    assert max(count) > count[0] > count[-1]
    # One point carries all: moments of modulus sqrt(2 l + 1) at degree l.
    sizes = SPHERE.sizes_by_degree(run[-1].moments)[:9]
    np.testing.assert_allclose(sizes, np.sqrt(2 * np.arange(9) + 1), rtol=1e-9)


@pytest.mark.slow
def test_density_hands_over_to_characteristics():
    """Continued from a density of high degree, they do what the density goes on to do."""
    problem = problem_of(2.0, mf.SA)
    before, after = dense(problem, [2.0, 3.0], 127)
    taken = replace(problem, initial=mf.from_density(before.measure.coefficients))
    result = carried(taken, [0.0, 1.0], 1e-8)
    np.testing.assert_allclose(low_moments(result), low_moments([before, after]), rtol=0, atol=1e-8)
