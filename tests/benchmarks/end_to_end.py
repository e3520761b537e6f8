"""How long does a simulation take, beside what one would write with SciPy, or JAX and diffrax?

n uniform tokens, USA, carried to twice the onset time at tolerance 1e-8. Processor seconds on one
thread each, interleaved rounds; ratios are median (quartiles).

    ours      mf.simulate with representation "particles"
    auto      mf.simulate with representation "auto"
    NumPy     velocities by matrix products, n^2, with SciPy's solve_ivp, DOP853
    JAX       the same products compiled by jax.jit, with diffrax's Tsit5; compiled before

The last column is the largest distance of a token from ours at the end: errors of the tolerance
grow while clusters form. Run: python tests/benchmarks/end_to_end.py [--quick] [--beta 9 25]
"""

from __future__ import annotations

import os
from collections.abc import Callable

# JAX would take all cores; it reads this when it is loaded.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import numpy as np
from scipy.integrate import solve_ivp
from side_by_side import optional, options, side_by_side, use_threads

import meanfield as mf

TOLERANCE = 1e-8
SPACES = {"circle": mf.Circle, "sphere": mf.Sphere}
jax, diffrax = optional("jax"), optional("diffrax")
if jax:
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")

End = Callable[[float], np.ndarray]


def ours(problem: mf.Problem, representation: str) -> End:
    def run(end: float) -> np.ndarray:
        done = mf.simulate(
            problem, until=end, save=2, representation=representation, tolerance=TOLERANCE
        )
        return np.asarray(done.measures[-1].points)

    return run


def velocity(points, beta, xp):  # type: ignore[no-untyped-def]
    """Sum over all pairs by matrix products, of angles (n,) or unit vectors (n, 3)."""
    angles = points.ndim == 1
    x = xp.stack([xp.cos(points), xp.sin(points)], axis=1) if angles else points
    sums = xp.exp(beta * (x @ x.T - 1.0)) @ x / len(points)
    if angles:
        return x[:, 0] * sums[:, 1] - x[:, 1] * sums[:, 0]
    return sums - (sums * x).sum(axis=1)[:, None] * x


def by_scipy(points: np.ndarray, beta: float) -> End:
    def rhs(_: float, state: np.ndarray) -> np.ndarray:
        return np.ravel(velocity(state.reshape(points.shape), beta, np))

    def run(end: float) -> np.ndarray:
        solution = solve_ivp(
            rhs, (0.0, end), points.ravel(), "DOP853", rtol=TOLERANCE, atol=TOLERANCE, t_eval=[end]
        )
        return np.asarray(solution.y[:, -1]).reshape(points.shape)

    return run


def by_jax(points: np.ndarray, beta: float) -> End:
    term = diffrax.ODETerm(lambda _, x, __: velocity(x, beta, jax.numpy))

    @jax.jit
    def solve(start, end):  # type: ignore[no-untyped-def]
        result = diffrax.diffeqsolve(
            term,
            diffrax.Tsit5(),
            0.0,
            end,
            None,
            start,
            stepsize_controller=diffrax.PIDController(rtol=TOLERANCE, atol=TOLERANCE),
            max_steps=100_000,
        )
        return result.ys[-1]

    return lambda end: np.asarray(solve(jax.numpy.asarray(points), end))


def compare(space: str, beta: float, count: int, rounds: int) -> None:
    manifold = SPACES[space]()
    points = manifold.random_points(count, np.random.default_rng(0))
    problem = mf.Problem(manifold, mf.exponential(beta), mf.USA, mf.from_points(points))
    end = 2.0 * mf.onset_time(problem, count)
    calls = {
        "ours": ours(problem, "particles"),
        "auto": ours(problem, "auto"),
        "NumPy": by_scipy(points, beta),
    }
    if jax and diffrax:
        calls["JAX"] = by_jax(points, beta)
    last: dict[str, np.ndarray] = {}

    def storing(name: str, call: End) -> Callable[[], None]:
        return lambda: last.__setitem__(name, call(end))

    for call in calls.values():
        call(0.01 * end)  # compile
    storing_calls = {name: storing(name, call) for name, call in calls.items()}
    times = side_by_side(storing_calls, rounds, least=0.3, warm_up=False)
    for name in calls:
        apart = "merged"
        if last[name].shape == last["ours"].shape:
            apart = f"{manifold.distance(last[name], last['ours']).max():.0e}"
        print(
            f"{space:>7} {beta:5g} {count:7d} {end:9.1f} {name:>6} {times[name].seconds:10.3f}"
            f"  {times[name].over(times['ours']):>20} {apart:>8}",
            flush=True,
        )


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--tokens", type=int, default=2000)
    parser.add_argument("--beta", type=float, nargs="+", default=[9.0, 25.0])
    parser.add_argument("--manifold", choices=sorted(SPACES), nargs="+", default=sorted(SPACES))
    chosen = parser.parse_args()
    use_threads(1)
    print("  space  beta  tokens       end     by      CPU s                / ours    apart")
    for space in chosen.manifold:
        for beta in chosen.beta[: 1 if chosen.quick else None]:
            compare(space, beta, chosen.tokens, 1 if chosen.quick else 5)


if __name__ == "__main__":
    main()
