"""Velocity of n tokens on the circle: how fast beside NUFFT libraries and the direct sum.

    v_i = -sum_j w_j e^{beta (cos d_ij - 1)} sin d_ij,    equal weights, K degrees kept

First table: medians of interleaved rounds, new plans in every call since tokens move, all on
the same number of threads:

    ours      moments, multipliers, gradient: as a run calls it
    finufft   plans of type 1 and 2, setpts and execute
    ducc0     one plan for both, or the functions without plan: whichever is faster
    direct    the compiled sum over pairs, measured at n <= 8000 and scaled by n^2
    stream    reading the angles twice and writing an array once

The NUFFTs are asked for a tolerance of 1e-12. Errors are against the direct sum at 200 tokens,
relative to the largest velocity. Second table: the methods by number of tokens, which is where
the crossovers in the package come from. Run: python tests/benchmarks/circle_velocity.py [--quick]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial

import ducc0
import finufft
import numpy as np
import scipy.special

from meanfield.compute.compiled import njit
from meanfield.compute.threads import map_chunks, set_threads, threads
from meanfield.manifolds.circle import points as circle_points
from meanfield.manifolds.circle.pairs import exponential_velocity_circle
from meanfield.manifolds.circle.points import cells, recurrence

TOLERANCE = 1e-12
BETAS = (1.0, 9.0, 81.0)
_DIRECT_TOKENS = 8000

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


def ours(angles: np.ndarray, attention: np.ndarray, beta: float, normalized: bool) -> Velocity:
    """Velocity through the package's moments and gradient."""

    def velocity() -> np.ndarray:
        field = attention * circle_points.moments(angles, None, len(attention) - 1)
        return circle_points.gradient(field / beta, angles, field if normalized else None)

    return velocity


def by_finufft(angles: np.ndarray, attention: np.ndarray, beta: float) -> Velocity:
    """Velocity through finufft's plans."""
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


@njit(fastmath=True, cache=False)
def _read(values):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


@njit(cache=False)
def _copy(values, out):  # type: ignore[no-untyped-def]
    for i in range(values.size):
        out[i] = values[i]
    return 0.0


def stream(angles: np.ndarray) -> Velocity:
    """Two reads and one write of n doubles."""
    out = np.empty_like(angles)
    chunks = max(1, min(16, angles.size // 32768))
    parts = [
        slice(angles.size * i // chunks, angles.size * (i + 1) // chunks) for i in range(chunks)
    ]

    def run() -> np.ndarray:
        map_chunks(lambda i: _read(angles[parts[i]]), chunks)
        map_chunks(lambda i: _copy(angles[parts[i]], out[parts[i]]), chunks)
        return out

    return run


def medians(calls: dict[str, Velocity], rounds: int) -> dict[str, float]:
    """Median seconds of each call; each round runs all of them in turn."""
    repeats = {}
    for name, call in calls.items():
        call()
        began = time.perf_counter()
        call()
        repeats[name] = int(np.clip(5e-3 / (time.perf_counter() - began), 1, 50))
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            began = time.perf_counter()
            for _ in range(repeats[name]):
                call()
            times[name].append((time.perf_counter() - began) / repeats[name])
    return {name: statistics.median(values) for name, values in times.items()}


def compare(count: int, beta: float, kind: str, rounds: int) -> None:
    """Print one line of the first table."""
    angles, attention = tokens(count, kind), multipliers(beta)
    few = angles[:_DIRECT_TOKENS]
    calls = {
        "ours": ours(angles, attention, beta, False),
        "normalized": ours(angles, attention, beta, True),
        "finufft": by_finufft(angles, attention, beta),
        "plan": by_ducc0(angles, attention, beta, True),
        "functions": by_ducc0(angles, attention, beta, False),
        "stream": stream(angles),
        "direct": lambda: exponential_velocity_circle(few, None, beta, False),
    }
    some = np.linspace(0, count - 1, 200).astype(int)
    exact = exponential_velocity_circle(angles, None, beta, False, angles[some])
    errors = {
        name: np.abs(calls[name]()[some] - exact).max() / np.abs(exact).max()
        for name in ("ours", "finufft", "plan")
    }
    seconds = medians(calls, rounds)
    mine, ducc = seconds["ours"], min(seconds["plan"], seconds["functions"])
    direct = seconds["direct"] * (count / few.size) ** 2
    print(
        f"{beta:5g} {count:9d} {kind:>8} {len(attention) - 1:4d} {mine * 1e6:10.1f} "
        f"{mine / count * 1e9:8.2f} {seconds['finufft'] / mine:8.1f} {ducc / mine:7.1f} "
        f"{direct / mine:9.3g} {mine / seconds['stream']:7.1f} "
        f"{seconds['normalized'] / mine:6.2f}  "
        + " ".join(f"{errors[name]:8.1e}" for name in ("ours", "finufft", "plan")),
        flush=True,
    )


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
        calls[f"ours{name}"] = ours(angles, attention, beta, normalized)
        if angles.size <= _DIRECT_TOKENS:
            direct = partial(exponential_velocity_circle, angles, None, beta, normalized)
            calls[f"direct{name}"] = direct
    return calls


def crossovers(beta: float, counts: list[int], rounds: int) -> None:
    """Print lines of the second table: microseconds of each method."""
    for count in counts:
        seconds = medians(methods(tokens(count, "mixed"), multipliers(beta), beta), rounds)
        columns = ["products moments", "cells moments"]
        columns += [
            f"{method} {task}"
            for task in ("values", "quotient")
            for method in ("products", "deep", "shallow")
        ]
        columns += ["ours", "direct", "ours SA", "direct SA"]
        entries = (f"{seconds[c] * 1e6:8.0f}" if c in seconds else 8 * " " for c in columns)
        print(f"{beta:5g} {count:9d} " + " ".join(entries), flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="two sizes, three rounds")
    parser.add_argument("--threads", type=int, default=threads())
    arguments = parser.parse_args()
    set_threads(arguments.threads)
    rounds = 3 if arguments.quick else 9
    print(f"{threads()} thread(s). Columns x: time of the other / ours; stream: ours / stream.")
    print(
        " beta         n   tokens    K         us ns/token finufft x ducc0 x  direct x  stream"
        " SA/USA  errors: ours, finufft, ducc0"
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
