"""Convergence in degree, doubling of the degree, and the honest end at the largest one."""

import numpy as np
import pytest

import meanfield as mf
from meanfield.carriers import DensityRepresentation, density
from meanfield.errors import SimulationError
from meanfield.trajectory import trajectory

FLOWS = {"USA": mf.USA, "SA": mf.SA}
LAW = mf.perturbed_uniform([[1, 0.1, 0.05], [2, 0.0, 0.15], [3, -0.12, 0.05]])
# Time, in units of growth, by which about 200 degrees are felt.
END = {"USA": 2.0, "SA": 2.0}


def on_circle(flow: str, beta: float = 5.0) -> mf.Problem:
    """Asymmetric start at beta = 5."""
    return mf.Problem(mf.Circle(), mf.exponential(beta), FLOWS[flow], LAW)


def end_time(flow: str, factor: float = 1.0) -> float:
    return factor * END[flow] / mf.growth_rates(on_circle(flow)).max()


def on_sphere(flow: str) -> mf.Problem:
    """Asymmetric start at beta = 5."""
    law = mf.perturbed_uniform([[1, 0, 0.1], [1, 1, 0.05], [2, -1, 0.15], [3, 2, -0.1]])
    return mf.Problem(mf.Sphere(), mf.exponential(5.0), FLOWS[flow], law)


def moments_at_degree(problem: mf.Problem, end: float, degree: int) -> np.ndarray:
    """Moments of the low degrees at the end when the degree is held, whatever the tail says."""
    space = problem.manifold
    state = space.resize(problem.initial_measure().coefficients, degree)
    carrier = DensityRepresentation(problem, state, tolerance=10.0, max_degree=degree)
    (last,) = trajectory(problem, carrier, [end], tolerance=1e-13)
    return last.moments[:13] if space.name == "circle" else space.unpacked(last.moments)[:7, :7]


@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("space", ["circle", pytest.param("sphere", marks=pytest.mark.slow)])
def test_moments_converge_faster_than_any_power(space, flow, verified):
    """Doubling the degree must gain more digits each time, down to rounding."""
    if space == "circle":
        problem, end, degrees, finest = on_circle(flow), end_time(flow), (8, 16, 32, 64, 128), 512
    else:
        problem, degrees, finest = on_sphere(flow), (8, 16, 32, 64), 192
        end = {"USA": 1.6, "SA": 2.2}[flow] / mf.growth_rates(problem).max()
    exact = moments_at_degree(problem, end, finest)
    errors = [np.abs(moments_at_degree(problem, end, degree) - exact).max() for degree in degrees]
    orders = [np.log2(a / b) for a, b in zip(errors, errors[1:], strict=False) if b > 1e-11]
    assert len(orders) >= 2, errors
    # The measured order, 2 or 3 at first, grows without bound for a spectral method.
    assert np.all(np.diff(orders) > 0), (errors, orders)
    assert orders[-1] > 6
    what = f"clusters forming, {space}, {flow}"
    verified("convergence in degree", what, errors[-1], 2e-12, curve=(degrees, errors))


@pytest.mark.slow
@pytest.mark.parametrize("flow", FLOWS)
def test_doubling_run_equals_the_run_on_the_largest_degree(flow, verified):
    """Degrees 64 to 512 (SA: 128), against 1,024 from the start; asked are 1e-10."""
    problem = on_circle(flow)
    times = end_time(flow, 1.2) * np.array([0.25, 0.5, 0.75, 1.0])
    run = mf.simulate(
        problem, until=times[-1], save=list(times), tolerance=1e-12, representation="density"
    )
    assert run.diagnostics["degree"][0] == 64
    assert run.diagnostics["degree"][-1] >= 128
    state = mf.Circle().resize(problem.initial_measure().coefficients, 1024)
    large = DensityRepresentation(problem, state, tolerance=1e-12, max_degree=4096)
    fixed = [s.moments for s in trajectory(problem, large, times, tolerance=1e-12)]
    what = "density that doubles its degree against one of degree 1,024, circle"
    verified("independent methods", what, run.moments - fixed, 2e-11)


@pytest.mark.parametrize("flow", FLOWS)
def test_largest_degree_ends_the_run_in_time(flow):
    """Garbage after the density left the grid is what the watched tail must prevent."""
    problem = on_circle(flow)
    times = np.linspace(0.0, end_time(flow, 3.0), 31)
    small = density(problem, problem.initial_measure(), tolerance=1e-9, max_degree=64)
    entries = []
    with pytest.raises(
        SimulationError, match="under-resolved: spectral tail .* at degree 64"
    ) as raised:
        for snapshot in trajectory(problem, small, times, tolerance=1e-9):
            entries.append(snapshot)
    end = raised.value.time
    assert entries[-1].time <= end < times[len(entries)]
    assert raised.value.step > 0
    assert f"stopped at t = {end:.6g}" in str(raised.value)
    # What was yielded before is right.
    run = mf.simulate(
        problem,
        until=end,
        save=list(times[: len(entries)]),
        tolerance=1e-12,
        representation="density",
    )
    values = np.array([snapshot.moments for snapshot in entries])
    np.testing.assert_allclose(values, run.moments, rtol=0, atol=1e-8)


@pytest.mark.slow
def test_run_comes_close_to_the_limit_of_resolution():
    """The last valid time is where the tail meets the tolerance, to a thousandth of a step."""
    problem = on_circle("USA")
    ends = []
    for tolerance in (1e-6, 1e-8):
        small = density(problem, problem.initial_measure(), tolerance=tolerance, max_degree=128)
        with pytest.raises(SimulationError, match="under-resolved") as raised:
            list(trajectory(problem, small, [end_time("USA", 4.0)], tolerance=tolerance))
        ends.append(raised.value.time)
        wide = density(problem, problem.initial_measure(), tolerance=1e-11, max_degree=4096)
        (there,) = trajectory(problem, wide, [ends[-1]], tolerance=1e-11)
        tail = np.abs(there.measure.coefficients[116:129]).max()
        assert 0.5 * tolerance < tail < 1.5 * tolerance
    assert ends[0] > ends[1]


def test_start_that_is_not_resolved_fails_at_once():
    """A density that fills its degrees must not even be looked at."""
    c = 0.9 ** np.arange(65)
    problem = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.USA, mf.from_density(c))
    carrier = density(problem, problem.initial_measure(), tolerance=1e-10, max_degree=64)
    with pytest.raises(SimulationError, match="under-resolved.*stopped at t = 0, step 0") as raised:
        list(trajectory(problem, carrier, [1.0], tolerance=1e-10))
    assert raised.value.time == 0.0


@pytest.mark.parametrize("flow", FLOWS)
def test_noise_never_doubles_the_degree(flow):
    """A decaying density stays at its first degree for ever: rounding is no tail."""
    problem = mf.Problem(
        mf.Circle(), mf.exponential(60.0), mf.Flow(FLOWS[flow].normalized, -1.0), LAW
    )
    run = mf.simulate(problem, until=300.0, save=4, tolerance=1e-13, representation="density")
    assert run.diagnostics["degree"].max() == run.diagnostics["degree"][0]
