"""What does a step of the exponential method cost, beside its five right-hand sides' transforms?

Prints, for both manifolds, flows and two beta, processor time on one thread, medians of interleaved
rounds, of

    step      one step of fixed length of the density's equation with diffusion, all included
    bare      five calls of transport, the transforms or convolutions that the step needs
    weights   the table of weights, made anew only when the step changes

and the ratios step / bare and weights / step. Run: python tests/benchmarks/exponential_step.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
from side_by_side import Times, options, side_by_side, use_threads

import meanfield as mf
from meanfield.arrays import ModalArray
from meanfield.carriers import DensityRepresentation
from meanfield.carriers.schemes import usual_scheme
from meanfield.engines.steps.exponential_weights import tables
from meanfield.schemes import Start

_STEP = 2.0**-6


def initial(problem: mf.Problem, degree: int) -> ModalArray:
    """A positive density, its spectrum decaying to a floor of rounding: no denormal numbers."""
    sizes = np.maximum(1e-3 * np.exp(-0.2 * np.arange(degree + 1)), 1e-17)
    sizes[0] = 1.0
    ones = problem.manifold.resize(np.ones(1, complex), degree) * 0.0 + 1.0
    return problem.manifold.convolve(sizes, ones)


def measure(problem: mf.Problem, degree: int, rounds: int) -> dict[str, Times]:
    """Times of a step, of its five transforms, and of a table of weights."""
    state = initial(problem, degree)
    carrier = DensityRepresentation(problem, state, tolerance=1e-10, max_degree=degree)
    stepper: Any = usual_scheme(problem, carrier)(
        carrier, Start(0.0, state, _STEP), 1e9, lambda rhs: rhs
    )
    transport = carrier.interaction.transport(degree)
    rates = problem.manifold.convolve(mf.growth_rates(problem, degree), np.ones(len(state)))
    make = tables(rates.real.copy())

    def step() -> None:
        # From the same state every time: no tails that decay to denormal numbers.
        stepper.time, stepper.state = 0.0, state
        assert stepper.step(_STEP)
        assert stepper.attempts == 1

    def bare() -> None:
        for _ in range(5):  # stages
            transport(state, False)

    return side_by_side({"step": step, "bare": bare, "weights": lambda: make(_STEP)}, rounds)


def main() -> None:
    """Print the table."""
    parser = options(__doc__)
    parser.add_argument("--degree", type=int, default=1024)
    given = parser.parse_args()
    use_threads(1)
    print(f"degree {given.degree}, milliseconds")
    print(f"{'':6} {'flow':>4} {'beta':>5} {'step':>9} {'step / bare':>20} {'weights / step':>20}")
    for manifold in (mf.Circle(), mf.Sphere()):
        rounds = 3 if manifold.dimension == 2 else 9 if given.quick else 51
        for normalized in (False, True):
            for beta in (5.0, 100.0):
                flow = mf.Flow(normalized=normalized, diffusivity=0.01)
                problem = mf.Problem(manifold, mf.exponential(beta), flow)
                times = measure(problem, given.degree, rounds)
                step = times["step"]
                print(
                    f"{manifold.name:6} {'SA' if normalized else 'USA':>4} {beta:5.0f}"
                    f" {1e3 * step.seconds:9.4f} {step.over(times['bare']):>20}"
                    f" {times['weights'].over(step):>20}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
