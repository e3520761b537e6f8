"""What does a step of the exponential method cost, beside its five right-hand sides' transforms?

Prints, for both manifolds, flows and two beta, medians of interleaved rounds of

    step      one step of fixed length of the density's equation with diffusion, all included
    bare      five calls of grid.advection, the transforms or convolutions that the step needs
    weights   the table of weights, made anew only when the step changes

and the ratios step / bare and weights / step. Run: python tests/benchmarks/exponential_step.py
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import meanfield as mf
from meanfield.arrays import ModalArray
from meanfield.integrators import Start
from meanfield.integrators.exponential import STAGES
from meanfield.integrators.exponential_weights import tables
from meanfield.representations import DensityRepresentation

_STEP = 2.0**-6


def initial(problem: mf.Problem, degree: int) -> ModalArray:
    """A positive density, its spectrum decaying to a floor of rounding: no denormal numbers."""
    sizes = np.maximum(1e-3 * np.exp(-0.2 * np.arange(degree + 1)), 1e-17)
    sizes[0] = 1.0
    ones = problem.space.resize(np.ones(1, complex), degree) * 0.0 + 1.0
    return problem.space.convolve(sizes, ones)


def measure(problem: mf.Problem, degree: int, rounds: int) -> tuple[float, float, float]:
    """Median seconds of a step, of its five transforms, and of a table of weights."""
    state = initial(problem, degree)
    carrier = DensityRepresentation(problem, state, tolerance=1e-10, max_degree=degree)
    stepper: Any = carrier.stepper(Start(0.0, state, _STEP), 1e9, lambda rhs: rhs)
    mean_field = carrier.interaction.field(state)
    rates = problem.space.convolve(mf.growth_rates(problem, degree), np.ones(len(state)))
    make = tables(rates.real.copy())

    def step() -> None:
        # From the same state every time: no tails that decay to denormal numbers.
        stepper.time, stepper.state = 0.0, state
        assert stepper.step(_STEP)
        assert stepper.attempts == 1

    def bare() -> None:
        for _ in range(STAGES):
            carrier.grid.advection(state, mean_field.potential, mean_field.partition)

    calls: list[Callable[[], object]] = [step, bare, lambda: make(_STEP)]
    # The circle works in this thread: what other processes take does not count. Rounds are short,
    # so that the clock of the processor changes between them rather than in them.
    single = problem.space.dimension == 1
    repeat, clock = (10, time.thread_time) if single else (1, time.perf_counter)
    times: list[list[float]] = [[], [], []]
    for _ in range(rounds):
        for spent, call in zip(times, calls, strict=True):
            spent.append(_seconds(call, repeat, clock))
    whole, five, table = (statistics.median(spent) for spent in times)
    return whole, five, table


def _seconds(call: Callable[[], object], repeat: int, clock: Callable[[], float]) -> float:
    call()
    began = clock()
    for _ in range(repeat):
        call()
    return (clock() - began) / repeat


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--degree", type=int, default=1024)
    options.add_argument("--quick", action="store_true", help="few rounds")
    given = options.parse_args()
    print(f"degree {given.degree}, milliseconds")
    print(f"{'':6} {'flow':>4} {'beta':>5} {'step':>9} {'bare':>9} {'weights':>9}"
          f" {'step/bare':>9} {'weights/step':>12}")  # fmt: skip
    for manifold in (mf.Circle(), mf.Sphere()):
        rounds = (51 if given.quick else 501) if manifold.dimension == 1 else 3
        for normalized in (False, True):
            for beta in (5.0, 100.0):
                flow = mf.Flow(normalized=normalized, diffusivity=0.01)
                problem = mf.Problem(manifold, mf.exponential(beta), flow)
                step, bare, table = measure(problem, given.degree, rounds)
                print(
                    f"{manifold.name:6} {'SA' if normalized else 'USA':>4} {beta:5.0f}"
                    f" {1e3 * step:9.4f} {1e3 * bare:9.4f} {1e3 * table:9.4f}"
                    f" {step / bare:9.2f} {table / step:12.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
