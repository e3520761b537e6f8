"""Runs that are killed, interrupted, stopped, or fail: the file is whole, the result the same.

A helper process loads everything once and forks a run for each fault, so that many fit into
seconds. Runs write every snapshot at once: most faults strike while the file is being written.
"""

import random
import signal
from collections import Counter

import numpy as np
import pytest
from children import CIRCLE, STOPPING, at_calls, chain, traced

KILL = signal.SIGKILL
CONFIG = CIRCLE.replace("end = 2.0", "end = 5.0")


def options(*values):
    return [option for value in values for option in ("--set", value)]


PARTICLES = options("representation.name=particles", "representation.tokens=40")
NOISE = options("problem.diffusivity=0.05", "time.step=0.25")
DIFFUSION = options("problem.diffusivity=0.02")
CHARACTERISTICS = options("representation.name=characteristics")
LOG = options("time.end=1e5", "time.spacing=log", "time.first=2")
AUTO = [*options("problem.normalization=softmax"), *LOG]
ATOMS = options("initial={name='atoms', angles=[0.0, 0.4, 1.0, 2.5], weights=[0.1, 0.2, 0.3, 0.4]}")
SPHERE = options("problem.manifold=sphere", "initial.modes=[[1, 0, 0.1], [3, -2, 0.05]]")
BALL = options("problem.manifold=sphere", "time.end=3.0")
SHORT = options("time.end=3.0", "time.save=3", "representation.tolerance=1e-4")
POINTS = options("initial={name='atoms', points=[[0, 0, 1], [0, 1, 0.2], [1, 0.1, 0]]}")
TOKENS = options("initial={name='tokens', file='tokens.npy'}", "representation.name=auto")
HEADS = options(
    "problem.normalization=softmax",
    "heads=[{score = [[0.9, -0.4], [0.7, 0.5]], value = [[0, -1], [1, 0.5]]}, {value = -0.5}]",
)
STAGES = options(
    "stages=[{end = 1.3}, {end = 2.6, beta = 2.0}, {normalization = 'softmax', strength = 2}]"
)
LAYERS = options(
    "layers.count=8",
    "layers.step=0.2",
    "layers.placement=pre",
    "stages=[{end = 3}, {beta = 3.0}]",
    "time=",
)
CAUSAL = options("problem.normalization=softmax", "problem.mask=causal")
# A start that does not fall off with the frequency is resolved to no smaller tolerance.
FREQUENCIES = options(
    "frequencies={law='lorentzian', width=0.1}",
    "time.end=2.0",
    "time.save=5",
    "representation.tolerance=1e-3",
)
AXIAL = options("problem.manifold=sphere:8", "initial.modes=[[1, 0.3], [2, 0.2]]")
MANY = options("problem.manifold=sphere:16", "initial={name='normal_tokens', tokens=20}")
FLAT = options("problem.manifold=space:2", "problem.normalization=softmax")
DRIVEN = options("drift.matrix=[0.3, -0.2]", "feed_forward.activation='tanh'")
SINKHORN = options("problem.normalization=sinkhorn", "time.save=3")
CASES = {
    "density": [],
    "two heads": HEADS,
    "particles with two heads": HEADS + PARTICLES,
    "stages": STAGES,
    "noisy particles in stages": PARTICLES + NOISE + STAGES,
    "layers of tokens": PARTICLES + LAYERS,
    "causal tokens": PARTICLES + CAUSAL,
    "causal layers": CAUSAL + SHORT,
    "tokens with frequencies": PARTICLES + FREQUENCIES,
    "frequencies": FREQUENCIES,
    "axial density": AXIAL,
    "tokens of many dimensions": MANY,
    "tokens of the plane": FLAT + options("initial={name='normal_tokens', tokens=20}"),
    "driven density": DRIVEN,
    "doubly stochastic": SINKHORN,
    "density with diffusion": DIFFUSION,
    "characteristics": CHARACTERISTICS,
    "atoms": ATOMS,
    "auto": AUTO,
    "particles": PARTICLES,
    "noisy particles": PARTICLES + NOISE,
    "density, sphere": SPHERE + SHORT,
    "density with diffusion, sphere": SPHERE + SHORT + DIFFUSION,
    "characteristics, sphere": SPHERE + SHORT + CHARACTERISTICS,
    "atoms, sphere": BALL + POINTS,
    "auto, sphere": BALL + TOKENS + LOG,
    "particles, sphere": SPHERE + SHORT + PARTICLES,
    "noisy particles, sphere": SPHERE + SHORT + PARTICLES + NOISE,
}
PARTS = 8

pytestmark = traced


def start_run(folder, case):
    tokens = np.random.default_rng(1).normal(size=(150, 3))
    np.save(folder / "tokens.npy", tokens)
    return chain(folder, CONFIG, CASES[case])


def struck(run, **fault):
    """Strike a run as it goes on, look at what is left, and say what became of it."""
    end = run.go(**fault)
    number = fault["signal"]
    end.check(0, -KILL if number == KILL else 130)
    left = run.look()
    if number != KILL:
        assert left is None or left.status.split(" at ")[0] in ("completed", "interrupted")
    if end.status == 0:
        assert left is not None and left.status == "completed"
        run.begin_again()
        return "finished"
    return "ended"


def at_instants(run, number, count, seed):
    """Strike a run, and what goes on from there, at random instants.

    Where a run finishes before it is struck, later strikes are sooner.
    """
    rng = random.Random(seed)
    ends, longest = Counter[str](), 0.8 * run.seconds
    for _ in range(count):
        became = struck(run, signal=number, after=rng.uniform(0.0, longest))
        longest *= 0.8 if became == "finished" else 1.0
        ends[became] += 1
    run.finish()
    return ends


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return start_run(tmp_path_factory.mktemp("run"), "noisy particles")


@pytest.mark.slow
def test_few_faults_of_each_kind_cost_nothing(run, survived):
    """A power cut, Ctrl-C or the end of a queue would cost the run, or change its result."""
    run.begin_again()
    ends = at_instants(run, KILL, 2, 1)
    survived("signals", "kill at random instants: noisy particles", 2, **ends)
    ends = at_calls(
        struck, run, (KILL, signal.SIGINT), random.Random(1).sample(range(run.calls), 2)
    )
    survived("signals", "signals inside a write: noisy particles", 2, **ends)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_random_instants(tmp_path, case, survived):
    """A rarer instant would cost the run, or change its result."""
    run = start_run(tmp_path, case)
    killed = at_instants(run, KILL, 20, 2)
    assert killed["ended"] > 5
    survived("signals", f"kill at random instants: {case}", 20, **killed)
    for number in STOPPING:
        run.begin_again()
        ends = at_instants(run, number, 10, int(number))
        name = signal.Signals(number).name
        survived("signals", f"{name} at random instants: {case}", 10, **ends)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_some_calls(tmp_path, case, survived):
    """Some representation would write what it cannot go on from."""
    run = start_run(tmp_path, case)
    calls = random.Random(3).sample(range(run.calls), 20)
    ends = at_calls(struck, run, (KILL, *STOPPING), calls)
    survived("signals", f"signals inside a write: {case}", 20, **ends)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("numbers", [(KILL,), STOPPING], ids=["kill", "interrupts"])
def test_every_call(tmp_path, numbers, part, survived):
    """Between two steps of a write the file would be neither the old one nor the new one."""
    run = start_run(tmp_path, "noisy particles")
    calls = range(part, run.calls + 1, PARTS)
    ends = at_calls(struck, run, numbers, calls)
    what = "kill" if KILL in numbers else "interrupts"
    survived("signals", f"{what} at every call that changes the disk", len(calls), **ends)


@pytest.mark.slow
def test_stopped_run_goes_on(run, survived):
    """Ctrl-Z, or a batch system that makes room, would change the result or end the run."""
    for i in range(2):
        run.begin_again()
        run.go(signal=signal.SIGSTOP, after=0.3 * i * run.seconds).check(0)
        run.finish()
    survived("signals", "SIGSTOP, then SIGCONT", 2)


@pytest.mark.slow
def test_terminal_that_goes_away(run, survived):
    """A closed window would cost more than the rest of the run."""
    run.begin_again()
    # Without anything on standard error the run goes on; the signal ends it as Ctrl-C does.
    assert run.go(terminal="gone", loud=True).status == 0
    assert (result := run.look()) is not None and result.status == "completed"
    run.begin_again()
    end = run.go(terminal="gone", loud=True, signal=signal.SIGHUP, after=0.3 * run.seconds)
    assert end.status in (130, 0) and end.err == ""
    run.look()
    run.finish()
    survived("signals", "terminal that is gone, with SIGHUP and without", 2)


def failed(run, k, error):
    run.begin_again()
    end = run.go(**{"raise": [k, error]})
    left = run.look()
    if end.status == 0:
        # Where something was only tried, or tidied up.
        assert left is not None and left.status == "completed"
        run.finish()
        return "harmless"
    end.check(1, 2)
    if left is not None:
        whole = left.status == "completed" and len(left.time) == len(run.reference.time)
        assert whole or left.status == "running" and not len(left.time) or "at t = " in left.status
    run.finish()
    return "told"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "count", "seed"), [("noisy particles", 2, 1), *((case, 20, 2) for case in CASES)]
)
def test_failures_leave_a_whole_file(tmp_path, case, count, seed, survived):
    """A computer that is short of memory would cost what was computed."""
    run, rng = start_run(tmp_path, case), random.Random(seed)
    run.begin_again()
    calls = int(run.go(**{"raise": [-1, "MemoryError"]}).out)
    kinds = ("MemoryError", "OSError", "ValueError")
    ends = Counter(failed(run, rng.randrange(calls), kinds[i % 3]) for i in range(count))
    survived("exceptions", f"in any function: {case}", count, **ends)
