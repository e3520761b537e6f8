"""Velocity of n tokens on the circle: how fast beside NUFFT libraries and the direct sum.

    v_i = -sum_j w_j e^{beta (cos d_ij - 1)} sin d_ij,    equal weights, K degrees kept

First table: interleaved rounds on the same number of threads, processor time (several threads:
wall time below it), ratios as median (quartiles):

    ours      moments, multipliers, gradient: as a run calls it
    finufft   plans of type 1 and 2 made before; setpts and execute, since tokens move
    ducc0     one plan for both, or the functions without plan: whichever is faster
    direct    the compiled sum over pairs, measured at n <= 8000 and scaled by n^2

The NUFFTs are asked for a tolerance of 1e-12. Errors are against the direct sum at 200 tokens,
relative to the largest velocity. Second table: the methods by number of tokens, which is where
the crossovers in the package come from.
Run: python tests/benchmarks/circle_velocity.py [--quick] [--threads 2]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import ducc0
import numpy as np
import scipy.special
from side_by_side import optional, options, side_by_side, use_threads

import meanfield as mf
from meanfield.engines import fourier as circle_points
from meanfield.engines.fourier import cells, recurrence
from meanfield.engines.pairs.circle import exponential_velocity_circle
from meanfield.engines.threads import threads
from meanfield.fields import engines
from meanfield.fields.mean_field import interaction

TOLERANCE = 1e-12
BETAS = (1.0, 9.0, 81.0)
_DIRECT_TOKENS = 8000
finufft = optional("finufft")

Velocity = Callable[[], np.ndarray]


def tokens(count: int, kind: str) -> np.ndarray:
    """Half of the tokens uniform, half in three clusters; or all in clusters; or in order."""
    rng = np.random.default_rng(0)
    clustered = rng.choice([-2.0, 0.3, 1.5], count) + 0.1 * rng.normal(size=count)
    if kind == "clusters":
        return np.asarray(rng.choice([-2.0, 0.3, 1.5], count) + 1e-6 * rng.normal(size=count))
    mixed = np.where(np.arange(count) % 2, clustered, rng.uniform(-np.pi, np.pi, count))
    return np.asarray(np.sort(mixed) if kind == "sorted" else mixed)


def multipliers(beta: float) -> np.ndarray:
    """Multipliers of the scaled attention up to the degree where l a_l falls below 1e-16."""
    l = np.arange(1, 4096)
    carried = l * scipy.special.ive(l, beta)
    last = int(l[carried > 1e-16 * carried.max()].max())
    return np.asarray(scipy.special.ive(np.arange(last + 1), beta))


def ours(angles: np.ndarray, beta: float, flow: mf.Flow) -> Velocity:
    field = interaction(mf.Problem(mf.Circle(), mf.exponential(beta), flow))
    return lambda: engines.velocity(field, angles, None)


def by_finufft(angles: np.ndarray, attention: np.ndarray, beta: float) -> Velocity:
    degree = len(attention) - 1
    k = np.arange(-degree, degree + 1)
    factor = 1j * k * attention[abs(k)] / beta
    masses = np.full(angles.size, 1.0 / angles.size, dtype=complex)
    first, second = (
        finufft.Plan(kind, (len(k),), eps=TOLERANCE, isign=sign, nthreads=threads())
        for kind, sign in ((1, -1), (2, 1))
    )

    def velocity() -> np.ndarray:
        first.setpts(angles)
        second.setpts(angles)
        return np.asarray(second.execute(factor * first.execute(masses)).real)

    return velocity


def by_ducc0(angles: np.ndarray, attention: np.ndarray, beta: float, planned: bool) -> Velocity:
    """Velocity through ducc0's non-uniform transforms."""
    degree = len(attention) - 1
    k = np.arange(-degree - 1, degree + 1)  # an even length, which ducc0 prefers
    factor = 1j * k * np.append(0.0, attention[abs(k[1:])]) / beta
    masses = np.full(angles.size, 1.0 / angles.size, dtype=complex)
    grid, coordinates = (len(k),), angles[:, None]
    common = {"coord": coordinates, "epsilon": TOLERANCE, "nthreads": threads()}

    def with_plan() -> np.ndarray:
        plan = ducc0.nufft.plan(nu2u=True, grid_shape=grid, **common)
        modal = plan.nu2u(forward=True, points=masses)
        return np.asarray(plan.u2nu(forward=False, grid=factor * modal).real)

    def without() -> np.ndarray:
        modal = np.empty(grid, dtype=complex)
        ducc0.nufft.nu2u(points=masses, out=modal, forward=True, **common)
        return np.asarray(ducc0.nufft.u2nu(grid=factor * modal, forward=False, **common).real)

    return with_plan if planned else without


def compare(count: int, beta: float, kind: str, rounds: int) -> None:
    angles, attention = tokens(count, kind), multipliers(beta)
    few = angles[:_DIRECT_TOKENS]
    calls = {
        "ours": ours(angles, beta, mf.USA),
        "SA": ours(angles, beta, mf.SA),
        "plan": by_ducc0(angles, attention, beta, True),
        "functions": by_ducc0(angles, attention, beta, False),
        "direct": lambda: exponential_velocity_circle(few, None, beta, False),
    }
    if finufft:
        calls["finufft"] = by_finufft(angles, attention, beta)
    some = np.linspace(0, count - 1, 200).astype(int)
    exact = exponential_velocity_circle(angles, None, beta, False, angles[some])
    errors = " ".join(
        f"{np.abs(calls[name]()[some] - exact).max() / np.abs(exact).max():8.1e}"
        for name in ("ours", "plan", "finufft")
        if name in calls
    )
    times = side_by_side(calls, rounds)
    times["direct"] = times["direct"].scaled((count / few.size) ** 2)
    times["ducc0"] = min(times["plan"], times["functions"], key=lambda result: result.seconds)
    mine = times["ours"]
    others = [name for name in ("finufft", "ducc0", "direct", "SA") if name in times]
    ratios = " ".join(f"{times[name].over(mine):>23}" for name in others)
    print(
        f"{beta:5g} {count:9d} {kind:>8} {len(attention) - 1:4d} {mine.seconds * 1e6:10.1f} "
        f"{mine.seconds / count * 1e9:8.2f} {ratios}  {errors}",
        flush=True,
    )
    if threads() > 1:
        ratios = " ".join(f"{times[name].wall_over(mine):>23}" for name in others)
        print(f"{'wall':>29} {np.median(mine.wall) * 1e6:10.1f} {'':8} {ratios}", flush=True)


def methods(angles: np.ndarray, attention: np.ndarray, beta: float) -> dict[str, Velocity]:
    """Both methods for each task, and the velocity by the package and by pairs."""
    degree = len(attention) - 1
    field = attention * circle_points.moments(angles, None, degree)
    calls: dict[str, Velocity] = {}
    calls["products moments"] = partial(recurrence.moments, angles, None, degree)
    calls["cells moments"] = partial(cells.moments, angles, None, degree)
    for task, series in (("values", [field]), ("quotient", [field, field])):
        calls[f"products {task}"] = partial(recurrence.evaluate, series, angles)
        calls[f"deep {task}"] = partial(cells.evaluate, series, angles, depth=2)
        calls[f"shallow {task}"] = partial(cells.evaluate, series, angles, depth=1)
    for name, normalized in (("", False), (" SA", True)):
        calls[f"ours{name}"] = ours(angles, beta, mf.SA if normalized else mf.USA)
        if angles.size <= _DIRECT_TOKENS:
            direct = partial(exponential_velocity_circle, angles, None, beta, normalized)
            calls[f"direct{name}"] = direct
    return calls


def crossovers(beta: float, counts: list[int], rounds: int) -> None:
    """Print lines of the second table: microseconds of each method."""
    for count in counts:
        calls = methods(tokens(count, "mixed"), multipliers(beta), beta)
        times = side_by_side(calls, rounds, least=0.005)
        columns = ["products moments", "cells moments"]
        columns += [
            f"{method} {task}"
            for task in ("values", "quotient")
            for method in ("products", "deep", "shallow")
        ]
        columns += ["ours", "direct", "ours SA", "direct SA"]
        entries = (f"{times[c].seconds * 1e6:8.0f}" if c in times else 8 * " " for c in columns)
        print(f"{beta:5g} {count:9d} " + " ".join(entries), flush=True)


def main() -> None:
    arguments = options(__doc__, threads=True).parse_args()
    use_threads(arguments.threads)
    rounds = 5 if arguments.quick else 9
    print(f"{threads()} thread(s); columns x: processor time of the other over ours")
    print(
        " beta         n   tokens    K         us ns/token "
        + " ".join(f"{name + ' x':>23}" for name in ("finufft", "ducc0", "direct", "SA"))
        + "  errors: ours, ducc0, finufft"
    )
    counts = [1000, 1_000_000] if arguments.quick else [1000, 10_000, 100_000, 1_000_000]
    for count in counts:
        for beta in BETAS:
            compare(count, beta, "mixed", rounds)
    if not arguments.quick:
        compare(1_000_000, 9.0, "clusters", rounds)
        compare(1_000_000, 9.0, "sorted", rounds)
        for beta in BETAS:
            compare(10_000_000, beta, "mixed", 3)
    print("\nMicroseconds by method: products; cells of 16 coefficients; cells of 8")
    print(
        " beta         n          moments                     values                   quotient"
        "     ours   direct  ours SA directSA"
    )
    sizes = [100, 10_000] if arguments.quick else [50, 100, 200, 500, 1000]
    sizes += [] if arguments.quick else [2000, 4000, 8000, 16_000, 30_000, 60_000, 120_000]
    for beta in BETAS:
        crossovers(beta, sizes, rounds)


if __name__ == "__main__":
    main()
