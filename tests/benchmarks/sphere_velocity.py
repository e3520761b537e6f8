"""How fast is the velocity of tokens on the sphere, beside bare ducc0 and the sum over pairs?

Prints, for several beta and numbers of tokens, medians of interleaved rounds of

    ours      moments, multipliers and gradient, as particle runs call them
    bare      ducc0's adjoint synthesis and gradient synthesis alone, angles given, all threads
    pairs     the compiled sum over all pairs; from 20,000 tokens extrapolated (*)

then the number of tokens from which the transforms beat the pairs.
Run: python tests/benchmarks/sphere_velocity.py
On a machine that is busy: --cpu, which compares processor time on one thread.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import ducc0
import numpy as np

import meanfield as mf
from meanfield.compute.threads import set_threads, threads
from meanfield.interaction import interaction
from meanfield.manifolds.sphere.angles import angles_of
from meanfield.manifolds.sphere.sphere import Sphere
from meanfield.manifolds.sphere.transforms import EPSILON

_MOST_PAIRS = 20_000
_clock = time.perf_counter


def ours(points: np.ndarray, beta: float) -> Callable[[], object]:
    """Velocity through the package."""
    felt = interaction(mf.Problem(Sphere(), mf.exponential(beta), mf.USA))
    return lambda: felt.velocity(points, None)


def bare(points: np.ndarray, beta: float) -> Callable[[], object]:
    """The two transforms alone, on all threads."""
    degree = mf.exponential(beta).degree(2)
    locations, _ = angles_of(points)
    masses = np.full((1, len(points)), 1.0 / len(points))
    common = {
        "lmax": degree,
        "loc": locations,
        "epsilon": EPSILON,
        "nthreads": threads(),
    }

    def run() -> object:
        alm = ducc0.sht.adjoint_synthesis_general(map=masses, spin=0, **common)
        return ducc0.sht.synthesis_general(alm=alm, spin=1, mode="DERIV1", **common)

    return run


def pairs(points: np.ndarray, beta: float) -> Callable[[], object]:
    """Sum over all pairs."""
    return lambda: Sphere().pairwise_velocity(points, None, mf.exponential(beta), False)


def medians(calls: list[Callable[[], object]], rounds: int, least: float) -> list[float]:
    """Median seconds of each call, rounds interleaved, each of at least `least` seconds."""
    repeats = []
    for call in calls:
        call()
        began = _clock()
        call()
        repeats.append(max(1, int(least / (_clock() - began))))
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for i, call in enumerate(calls):
            began = _clock()
            for _ in range(repeats[i]):
                call()
            times[i].append((_clock() - began) / repeats[i])
    return [statistics.median(t) for t in times]


def has_pairs() -> bool:
    """Whether the sum over pairs is there."""
    try:
        pairs(np.eye(3), 1.0)()
    except ImportError:
        return False
    return True


def crossover(beta: float, rounds: int) -> float:
    """Tokens from which moments are faster than pairs, by bisection on a logarithmic scale."""
    low, high = 30, 10_000
    while high > 1.1 * low:
        count = int(np.sqrt(low * high))
        points = Sphere().random_points(count, np.random.default_rng(0))
        one, other = medians([ours(points, beta), pairs(points, beta)], rounds, 0.01)
        low, high = (low, count) if one < other else (count, high)
    return float(np.sqrt(low * high))


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="one beta, few rounds")
    options.add_argument("--cpu", action="store_true", help="one thread, its processor time")
    given = options.parse_args()
    quick = given.quick
    if given.cpu:
        global _clock
        _clock = time.process_time
        set_threads(1)
    rounds, with_pairs = 3 if quick else 7, has_pairs()
    print(f"ducc0 {ducc0.__version__}, {threads()} threads, epsilon {EPSILON:g}; milliseconds")
    print(f"{'beta':>5} {'degree':>6} {'tokens':>8} {'ours':>9} {'bare':>9} {'pairs':>11}"
          f" {'ours/bare':>9} {'pairs/ours':>10}")  # fmt: skip
    for beta in (10.0,) if quick else (1.0, 10.0, 50.0):
        for count in (10_000, 1_000_000) if quick else (300, 1000, 10_000, 100_000, 1_000_000):
            points = Sphere().random_points(count, np.random.default_rng(0))
            one, two = medians([ours(points, beta), bare(points, beta)], rounds, 0.02)
            summed = np.nan
            if with_pairs:
                fewer = points[:_MOST_PAIRS]
                (seconds,) = medians([pairs(fewer, beta)], 3, 0.02)
                summed = seconds * (count / len(fewer)) ** 2
            star = "*" if count > _MOST_PAIRS else " "
            print(
                f"{beta:5g} {mf.exponential(beta).degree(2):6d} {count:8d} {one * 1e3:9.3f}"
                f" {two * 1e3:9.3f} {summed * 1e3:10.2f}{star} {one / two:9.2f}"
                f" {summed / one:10.2f}"
            )
    if with_pairs:
        for beta in (10.0,) if quick else (1.0, 10.0, 50.0):
            print(f"beta {beta:g}: pairs are faster below {crossover(beta, rounds):.0f} tokens")


if __name__ == "__main__":
    main()
