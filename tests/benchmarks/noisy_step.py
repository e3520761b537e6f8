"""What does noise cost a token, beside the two velocities of the step?

Prints, for the circle (beta 9) and the sphere (beta 10), nanoseconds of processor time per token,
medians of interleaved rounds, of

    step        one noisy step of order two
    velocities  its two right-hand sides alone
    numbers     its normals, two halves
    moves       the noise's two moves alone
    table       on the sphere, the table of angles of a new step size (once a run)

Run: python tests/benchmarks/noisy_step.py [--tokens 100000] [--threads 2]
"""

from __future__ import annotations

import numpy as np
from side_by_side import Call, options, side_by_side, use_threads

import meanfield as mf
from meanfield.carriers.particles import ParticleRepresentation
from meanfield.engines.harmonics import heat
from meanfield.schemes.brownian import BrownianPath
from meanfield.schemes.stochastic import stochastic
from meanfield.spaces import MANIFOLDS

STEP, DIFFUSIVITY = 0.05, 0.02


def calls(name: str, beta: float, tokens: int) -> dict[str, Call]:
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
    timed: dict[str, Call] = {
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
    parser = options(__doc__, threads=True)
    parser.add_argument("--tokens", type=int, default=100_000)
    given = parser.parse_args()
    use_threads(given.threads)
    columns = ("step", "velocities", "numbers", "moves", "table")
    print(f"{given.tokens} tokens, {given.threads} thread(s); ns per token")
    print(f"{'':8}" + "".join(f"{name:>12}" for name in columns))
    for name, beta in (("circle", 9.0), ("sphere", 10.0)):
        times = side_by_side(calls(name, beta, given.tokens), 5 if given.quick else 15)
        medians = {key: 1e9 * found.seconds / given.tokens for key, found in times.items()}
        noise = (medians["numbers"] + medians["moves"]) / medians["velocities"]
        row = "".join(f"{value:12.1f}" for value in medians.values())
        print(f"{name:8}{row}   noise / velocities = {noise:.2f}", flush=True)


if __name__ == "__main__":
    main()
