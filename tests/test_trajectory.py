"""The time loop: saving, stopping, going on."""

import gc
import re
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from parameters import refused

import meanfield as mf
from meanfield.carriers import (
    DensityRepresentation,
    Options,
    ParticleRepresentation,
    Representation,
    represent,
)
from meanfield.carriers.schemes import explicit
from meanfield.errors import SimulationError
from meanfield.snapshot import Checkpoint
from meanfield.trajectory import trajectory

LAW = mf.perturbed_uniform([[1, 0.1, 0.05], [2, 0.0, 0.15], [3, -0.12, 0.05]])
TOKENS = mf.from_points(np.random.default_rng(0).uniform(0, 6, 250))
SHARP, SPHERE = mf.exponential(5.0), mf.Sphere()
ON_SPHERE = mf.perturbed_uniform([[2, 1, 0.15], [3, -2, 0.1], [1, 0, 0.05]])
POINTS = SPHERE.random_points(900, np.random.default_rng(2))
CROWD, FEW = mf.from_points(POINTS), mf.from_points(np.vstack([[0.0, 0.0, 1.0], POINTS[:11]]))
# Problems with their ends; densities USA double their degree before it.
CASES = {
    "density USA": (mf.Problem(mf.Circle(), SHARP, mf.USA, LAW), 20.0),
    "density SA": (mf.Problem(mf.Circle(), SHARP, mf.SA, LAW), 3.0),
    "particles USA": (mf.Problem(mf.Circle(), SHARP, mf.USA, TOKENS), 20.0),
    "particles SA": (mf.Problem(mf.Circle(), SHARP, mf.SA, TOKENS), 5.0),
    "density USA, sphere": (mf.Problem(SPHERE, SHARP, mf.USA, ON_SPHERE), 20.0),
    "density SA, sphere": (mf.Problem(SPHERE, SHARP, mf.SA, ON_SPHERE), 2.0),
    "few tokens, sphere": (mf.Problem(SPHERE, mf.exponential(3.0), mf.SA, FEW), 4.0),
    "many tokens, sphere": (mf.Problem(SPHERE, SHARP, mf.USA, CROWD), 20.0),
}
ON_CIRCLE = [*CASES][:4]


def snapshots(name: str, times, start: Checkpoint | None = None, tolerance: float = 1e-9) -> list:
    """Snapshots of a problem at the times, from the beginning or from a checkpoint."""
    problem = CASES[name][0]
    carrier = represent(problem, Options(tolerance=tolerance))
    if start is not None:
        carrier = replace(carrier, state=start.state)
    return list(trajectory(problem, carrier, times, tolerance=tolerance, start=start))


@pytest.mark.slow
@pytest.mark.parametrize("name", ON_CIRCLE)
def test_saving_never_changes_the_steps(name):
    """Moments at common times are equal to the bit, however many others are saved."""
    times = np.linspace(0.0, CASES[name][1], 41)
    few, many = snapshots(name, times[::20]), snapshots(name, times)
    for a, b in zip(few, many[::20], strict=True):
        assert a.time == b.time
        assert np.array_equal(a.moments, b.moments)
        # Saved times take right-hand sides of their own.
        assert a.diagnostics | {"evaluations": 0} == b.diagnostics | {"evaluations": 0}


@pytest.mark.parametrize("name", ON_CIRCLE)
def test_end_never_changes_the_steps(name):
    """A longer run passes through the same states: no step is cut at the end."""
    times = np.array([0.4, 1.0]) * CASES[name][1]
    short, long = snapshots(name, times[:1]), snapshots(name, times)
    assert np.array_equal(short[0].moments, long[0].moments)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, which, tolerance",
    [(name, [k], 1e-9) for name, k in zip(ON_CIRCLE, (1, 13, 29, 1), strict=True)]
    + [(name, [5, 15, 25], 1e-7) for name in [*CASES][4:]],
)
def test_checkpoints_continue_equal_to_the_bit(name, which, tolerance):
    """From any snapshot's checkpoint the rest of the run is the same, counts included."""
    times = np.linspace(0.0, CASES[name][1], 31)
    whole = snapshots(name, times, tolerance=tolerance)
    for k in which:
        resumed = snapshots(name, times[k:], whole[k].checkpoint, tolerance)
        for a, b in zip(whole[k:], resumed, strict=True):
            assert np.array_equal(a.moments, b.moments)
            assert np.array_equal(a.checkpoint.state, b.checkpoint.state)
            # The first saved time is computed again.
            assert a.diagnostics | {"evaluations": 0} == b.diagnostics | {"evaluations": 0}
            assert a.checkpoint.step == b.checkpoint.step
    if growth := {"density USA": 4, "density USA, sphere": 2}.get(name):
        # The run crosses a change of representation.
        assert whole[-1].diagnostics["degree"] >= growth * whole[0].diagnostics["degree"]


@pytest.mark.parametrize("name", ON_CIRCLE)
def test_times_are_those_asked_for(name):
    """Exactly, in order, the start included."""
    times = [0.0, 0.1, 0.1000001, 2.0]
    assert [s.time for s in snapshots(name, times)] == times


def test_right_hand_sides_get_the_time_across_restarts_of_the_clock():
    """In a frame that turns by sin t the same tokens would move by the time since a restart."""

    class InTurningFrame(ParticleRepresentation):
        def rhs(self, time: float, state: np.ndarray) -> np.ndarray:
            return super().rhs(time, state) - np.cos(time)

    # Steps are a millionth of this time, and the clock starts again after the first.
    begin = 1e6
    problem = mf.Problem(mf.Circle(), mf.exponential(5.0), mf.SA, TOKENS)
    state = problem.initial_measure().points
    start = Checkpoint(begin, state, step=0.1)
    times = begin + np.array([1.0, 3.0])
    still, turning = (
        list(trajectory(problem, kind(problem, state), times, tolerance=1e-10, start=start))
        for kind in (ParticleRepresentation, InTurningFrame)
    )
    assert turning[-1].checkpoint.epoch > begin
    for first, second in zip(still, turning, strict=True):
        turn = np.sin(second.time) - np.sin(begin)
        turned_back = second.moments * np.exp(-1j * turn * np.arange(len(second.moments)))
        # Times near 1e6 are known to 1e-10, and so is a frame that turns by as much.
        np.testing.assert_allclose(turned_back, first.moments, rtol=0, atol=2e-8)


HOOKS = ("rhs", "remainder", "largest_step", "adapt", "failure", "diagnostics")


@pytest.mark.slow
@pytest.mark.parametrize("carrier", [ParticleRepresentation, DensityRepresentation])
@pytest.mark.parametrize("diffusivity", [0.0, 0.05])
def test_every_hook_gets_the_time(carrier, diffusivity):
    """Explicit, exponential and stochastic steps, before and after a restart of the clock."""
    calls: list[float] = []

    def watched(name: str):
        def hook(self, time: float, state: np.ndarray):
            calls.append(time)
            return getattr(carrier, name)(self, time, state)

        return hook

    spy = type("Spy", (carrier,), {n: watched(n) for n in HOOKS if hasattr(carrier, n)})
    flow, begin = mf.Flow(normalized=True, diffusivity=diffusivity), 1e6
    law = TOKENS if carrier is ParticleRepresentation else LAW
    problem = mf.Problem(mf.Circle(), SHARP, flow, law)
    measure = problem.initial_measure()
    if carrier is ParticleRepresentation:
        state = measure.points
        started = spy(problem, state, step=0.01 if diffusivity else None)
    else:
        state = mf.Circle().resize(measure.coefficients, 64)
        started = spy(problem, state, 1e-9, 256)
    # The epoch is that of an earlier restart, or the next step makes one.
    for epoch in (begin, 0.0):
        start = Checkpoint(begin - epoch, state, step=0.01, epoch=epoch)
        times = [begin + 0.5, begin + 2.0]
        *_, last = trajectory(problem, started, times, tolerance=1e-9, start=start)
        assert last.checkpoint.epoch >= begin
        assert begin <= min(calls) <= max(calls) < begin + 4.0
        assert max(calls) >= begin + 2.0


LINEAR = mf.Problem(mf.Circle(), mf.linear(), mf.USA)
BY_RHS = {"tolerance": 1e-8, "scheme": lambda problem, carrier: explicit}


def test_noise_is_never_left_out():
    """A carrier with a name of its own would take the steps that know no noise."""
    problem = replace(LINEAR, flow=mf.Flow("none", diffusivity=0.1), initial=TOKENS)
    with pytest.raises(ValueError, match="no scheme is known for stub that diffuse"):
        list(trajectory(problem, Stub(lambda t, y: -y), [0.1], tolerance=1e-8))


@dataclass(frozen=True)
class Stub(Representation):
    slope: object
    verdict: object = None
    name: str = "stub"
    state: np.ndarray = field(default_factory=lambda: np.ones(1))
    tolerance: float = 1e-10

    def rhs(self, time: float, state: np.ndarray) -> np.ndarray:
        return self.slope(time, state)

    def measure(self, state: np.ndarray) -> mf.Measure:
        return mf.Measure(mf.Circle(), np.zeros(1))

    def moments(self, state: np.ndarray, max_degree: int) -> np.ndarray:
        return np.full(max_degree + 1, state[0], dtype=complex)

    def failure(self, time: float, state: np.ndarray) -> str | None:
        return self.verdict(state) if self.verdict else None

    def diagnostics(self, time: float, state: np.ndarray) -> dict[str, float]:
        return {"tail": 0.02}


def run_stub(stub: Stub, tolerance: float = 1e-8) -> tuple[list, SimulationError | None]:
    """Snapshots at 51 times, and the error that ended them."""
    entries = []
    try:
        for snapshot in trajectory(LINEAR, stub, np.linspace(0, 5, 51), tolerance=tolerance):
            entries.append(snapshot)
    except SimulationError as error:
        return entries, error
    return entries, None


def test_vanishing_step_ends_the_run():
    """The solution of y' = y^2 ends at t = 1: what comes before is valid and was yielded."""
    rows, error = run_stub(Stub(lambda t, y: y**2))
    assert error.time == pytest.approx(1.0, abs=1e-4)
    assert len(rows) in (10, 11)
    assert rows[9].moments[0].real == pytest.approx(10.0, rel=1e-5)


def test_step_below_rounding_says_so():
    """A jump that no step resolves: raise the tolerance."""
    rows, error = run_stub(Stub(lambda t, y: 1.0 if y[0] < 1.55 else 1e30 * np.cos(1e20 * y)))
    assert rows[-1].time == pytest.approx(0.5)
    assert "the step became too small: the tolerance cannot be reached, raise it" in str(error)


def test_state_that_is_not_finite_ends_the_run_with_its_tail():
    """A NaN at once: SciPy would try steps of length NaN for ever."""
    rows, error = run_stub(Stub(lambda t, y: y * np.nan))
    assert "state became non-finite (last spectral tail 0.02): raise max_degree" in str(error)
    assert (error.time, error.step, len(rows)) == (0.0, 0, 1)


def test_nan_on_the_way_ends_the_run():
    """NaN must never be yielded; steps shrink until the run ends where it begins."""
    rows, error = run_stub(Stub(lambda t, y: np.where(y < 2.0, y, np.nan)))
    assert np.all(np.isfinite([snapshot.moments[0] for snapshot in rows]))
    assert error.time == pytest.approx(np.log(2.0), abs=1e-9)
    assert len(rows) == 7


def test_failed_step_is_shortened_before_the_run_ends():
    """The end is known to a thousandth of a step: here y = 2 is reached at ln 2."""
    stub = Stub(lambda t, y: y, lambda y: "too large" if y[0] > 2.0 else None)
    rows, error = run_stub(stub)
    assert error.reason == "too large"
    assert np.log(2.0) - 1e-3 <= error.time <= np.log(2.0) + 1e-9
    assert [s.time for s in rows] == pytest.approx(np.arange(7) * 0.1)


def test_energy_against_the_flow_ends_the_run():
    """Attracting tokens that spread have left their equation: 100 tolerances of a cluster's."""
    _, error = run_stub(Stub(lambda t, y: -y))
    assert error.time == 0.1
    assert re.match(r"energy moved against the flow by 1.8e-01 of a single cluster's", error.reason)
    small = Stub(lambda t, y: np.zeros(1) if t > 0.45 else np.full(1, -1e-7))
    assert run_stub(small)[1] is None
    # A carrier may leave more unresolved than its steps.
    coarse = Stub(lambda t, y: np.full(1, -1e-8), tolerance=1e-8)
    assert run_stub(coarse, tolerance=1e-10)[1] is None
    # Repelling ones must spread, and of points with diffusion nothing is known.
    for flow in (mf.Flow("none", strength=-1.0), mf.Flow("none", diffusivity=0.1)):
        list(trajectory(replace(LINEAR, flow=flow), Stub(lambda t, y: -y), [0.0, 0.1], **BY_RHS))


@pytest.mark.slow
def test_free_energy_against_the_flow_ends_the_run():
    """With diffusion a density spreads or gathers, but neither beyond its balance."""

    class Wrong(DensityRepresentation):
        def rhs(self, time: float, state: np.ndarray) -> np.ndarray:
            return super().rhs(time, state) - 0.3 * np.arange(65) ** 2 * state

    noisy = mf.Flow("none", diffusivity=0.3)
    problem = replace(LINEAR, flow=noisy, initial=mf.von_mises_fisher(1))
    state = mf.Circle().resize(problem.initial_measure().coefficients, 64)
    times = np.linspace(0.0, 1.0, 6)
    right = DensityRepresentation(problem, state, 1e-8, 64)
    assert len(list(trajectory(problem, right, times, tolerance=1e-8))) == 6
    with pytest.raises(SimulationError, match="energy moved against the flow"):
        list(trajectory(problem, Wrong(problem, state, 1e-8, 64), times, **BY_RHS))
    # Two schemes for one equation.
    (stiff,) = trajectory(problem, right, [1.0], tolerance=1e-8)
    (plain,) = trajectory(problem, right, [1.0], **BY_RHS)
    np.testing.assert_allclose(plain.moments, stiff.moments, rtol=0, atol=1e-7)
    assert not np.array_equal(plain.moments, stiff.moments)


@pytest.mark.slow
@pytest.mark.parametrize("representation", ["density", "particles"])
def test_end_out_of_reach_ends_the_run(representation):
    """Strong repulsion takes 1e19 steps to t = 1; the run would go on for minutes, or for ever."""
    problem = replace(CASES["density USA"][0], flow=mf.Flow("none", strength=-1e19))
    tokens = 10 if representation == "particles" else None
    reason = "steps of .*e-19 would not come to t = 1 in 1e.12 steps: lower the end time, or the st"
    with pytest.raises(SimulationError, match=reason) as ended:
        mf.simulate(problem, 1.0, save=2, representation=representation, tokens=tokens)
    assert ended.value.step == 1000


def test_largest_rates_can_be_stepped():
    """A diffusivity would overflow inside a stepper, or a smaller one be refused."""
    largest, larger = (
        replace(CASES["density USA"][0], flow=mf.Flow("none", diffusivity=diffusivity))
        for diffusivity in (1e90, 2e90)
    )
    assert mf.simulate(largest, 1.0, save=2).moments[-1, 1] == 0.0
    message = r"diffusivity = 2e\+90 must be at most 1e\+90 in modulus"
    refused(message, mf.simulate, larger, 1.0, save=2)


@pytest.mark.slow
def test_what_a_run_steps_with_goes_with_it():
    """Steppers call the run that they belong to; many runs would fill the memory."""
    from meanfield.schemes.runge_kutta import RungeKuttaStepper

    def alive() -> int:
        gc.collect()
        # Not isinstance: proxies of what is gone would answer with an error.
        return sum(type(each) is RungeKuttaStepper for each in gc.get_objects())

    problem = mf.Problem(mf.Circle(), mf.exponential(4.0), mf.USA, mf.from_points([0.0, 1.0]))
    before = alive()
    mf.simulate(problem, 1.0, save=2)
    assert alive() == before
