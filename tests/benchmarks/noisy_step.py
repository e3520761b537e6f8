"""What does noise cost a token, beside the two velocities of the step?

Prints, for the circle (beta 9) and the sphere (beta 10), nanoseconds per token, medians of
interleaved rounds, of

    step        one noisy step of order two
    velocities  its two right-hand sides alone
    numbers     its normals, two halves
    moves       the noise's two moves alone
    table       on the sphere, the table of angles of a new step size (once a run)

Run: python tests/benchmarks/noisy_step.py [--tokens 100000] [--threads 1]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

import meanfield as mf
from meanfield.compute.threads import set_threads, threads
from meanfield.integrators.brownian import BrownianPath
from meanfield.integrators.stochastic import stochastic
from meanfield.manifolds import MANIFOLDS
from meanfield.manifolds.sphere import heat
from meanfield.representations.particles import ParticleRepresentation

STEP, DIFFUSIVITY = 0.05, 0.02


def calls(name: str, beta: float, tokens: int) -> dict[str, Callable[[], object]]:
    """What is timed on a manifold."""
    space = MANIFOLDS[name]()
    points = space.random_points(tokens, np.random.default_rng(0))
    problem = mf.Problem(space, mf.exponential(beta), mf.USA)
    rhs = ParticleRepresentation(problem, points.ravel()).rhs
    shape = (tokens,) if space.dimension == 1 else (tokens, 2)

    def noise(state: np.ndarray, time: float, normals: np.ndarray) -> np.ndarray:
        return space.diffuse(state.reshape(points.shape), DIFFUSIVITY * time, normals).ravel()

    stepper = stochastic(rhs, noise, shape, 0.0, points.ravel(), step=STEP, seed=0)
    path = BrownianPath(0, shape)
    normals, state = path.normals(0, 0), points.ravel()
    timed: dict[str, Callable[[], object]] = {
        "step": stepper.step,
        "velocities": lambda: (rhs(0.0, state), rhs(0.0, state)),
        "numbers": lambda: path.halves(1),
        "moves": lambda: (noise(state, STEP, normals), noise(state, STEP, normals)),
    }
    if space.dimension == 2:
        timed["table"] = lambda: heat.turns.__wrapped__(DIFFUSIVITY * STEP / 2)
    return timed


def main() -> None:
    """Print one row a manifold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=threads())
    chosen = parser.parse_args()
    set_threads(chosen.threads)
    print(f"{chosen.tokens} tokens, {threads()} threads; ns per token")
    print(
        f"{'':8}" + "".join(f"{n:>12}" for n in ("step", "velocities", "numbers", "moves", "table"))
    )
    for name, beta in (("circle", 9.0), ("sphere", 10.0)):
        timed = calls(name, beta, chosen.tokens)
        seconds: dict[str, list[float]] = {key: [] for key in timed}
        for run in range(chosen.rounds + 1):
            for key, call in timed.items():
                began = time.perf_counter()
                call()
                if run:  # the first one compiles
                    seconds[key].append(time.perf_counter() - began)
        medians = {key: 1e9 * statistics.median(s) / chosen.tokens for key, s in seconds.items()}
        noise = (medians["numbers"] + medians["moves"]) / medians["velocities"]
        row = "".join(f"{value:12.1f}" for value in medians.values())
        print(f"{name:8}{row}   noise / velocities = {noise:.2f}")


if __name__ == "__main__":
    main()
