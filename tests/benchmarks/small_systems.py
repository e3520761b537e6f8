"""How fast are many small systems at once, beside one after the other and beside JAX?

Systems of 32 uniform tokens, softmax at beta = 5, carried to t = 10 with steps of error 1e-6.
Processor time on one thread, interleaved rounds; ratios are median (quartiles).

    ours      all at once, each with steps of its own, as `mf.ensemble` moves them
    alone     one after the other, as `mf.simulate` moves them
    JAX       diffrax's Dopri5 under jax.vmap, with the same norm of the error; compiled before
    JAX, 8    the same, eight systems at a time by jax.lax.map: they fit the cache, and fewer wait
              for the one with the shortest steps

Run: python tests/benchmarks/small_systems.py [--quick]
"""

from __future__ import annotations

import os

# JAX would take all cores; it reads this when it is loaded.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import numpy as np
from side_by_side import Call, optional, options, side_by_side, use_threads

import meanfield as mf
from meanfield.studies.token_runs import moved_by_moments, moved_together

BETA, TOKENS, TOLERANCE = 5.0, 32, 1e-6
TIMES = np.array([10.0])
jax, diffrax = optional("jax"), optional("diffrax")
if jax:
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")


def ours(problem: mf.Problem, start: np.ndarray) -> Call:
    def run() -> np.ndarray:
        end = np.empty_like(start)
        for numbers, _, x in moved_together(problem, start, TIMES, TOLERANCE):
            end[numbers] = x
        return end

    return run


def alone(problem: mf.Problem, start: np.ndarray) -> Call:
    space = problem.manifold

    def run() -> np.ndarray:
        ends = []
        for x in start:
            [end] = moved_by_moments(
                problem, mf.Measure(space, space.points_of(x)), TIMES, TOLERANCE
            )
            ends.append(space.vectors(end.points))
        return np.array(ends)

    return run


def by_jax(start: np.ndarray, at_once: int | None = None) -> Call:
    xp = jax.numpy

    def velocity(_, x, __):  # type: ignore[no-untyped-def]
        means = jax.nn.softmax(BETA * x @ x.T) @ x
        return means - (means * x).sum(axis=1)[:, None] * x

    def solve(x):  # type: ignore[no-untyped-def]
        control = diffrax.PIDController(
            rtol=0.0, atol=TOLERANCE, norm=lambda e: xp.sqrt((e**2).sum(axis=-1)).max()
        )
        term, method = diffrax.ODETerm(velocity), diffrax.Dopri5()
        return diffrax.diffeqsolve(
            term, method, 0.0, TIMES[0], None, x, stepsize_controller=control
        ).ys[-1]

    size = at_once or len(start)
    compiled = jax.jit(lambda x: jax.lax.map(solve, x, batch_size=size))
    x = xp.asarray(start)
    return lambda: np.asarray(compiled(x))


def main() -> None:
    quick = options(__doc__).parse_args().quick
    use_threads(1)
    count = 256 if quick else 1024
    print(f"{count} systems of {TOKENS} tokens")
    print(f"{'space':>10} {'by':>6} {'CPU s':>8} {'/ ours':>20}  largest distance from ours")
    for space in (mf.Circle(), mf.Sphere(), mf.Sphere(128)):
        problem = mf.Problem(space, mf.exponential(BETA), mf.SA)
        points = space.random_points(count * TOKENS, np.random.default_rng(0))
        start = space.vectors(points).reshape(count, TOKENS, -1)
        calls = {"ours": ours(problem, start), "alone": alone(problem, start)}
        if jax and diffrax:
            calls |= {"JAX": by_jax(start), "JAX, 8": by_jax(start, 8)}
        ends = {name: call() for name, call in calls.items()}
        times = side_by_side(calls, 3 if quick else 5, least=0.0, warm_up=False)
        for name, end in ends.items():
            apart = np.linalg.norm(end - ends["ours"], axis=2).max()
            print(
                f"{space.name:>10} {name:>6} {times[name].seconds:8.3f}"
                f" {times[name].over(times['ours']):>20}  {apart:.0e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
