"""An ensemble of particle runs: how long, and how much faster than by direct sums?

Runs of N uniform tokens are carried to twice the onset time, their clusters counted at one and two
onset times. First the whole ensemble of 1,000 runs of 1,000 tokens (circle, beta = 9, USA) on two
processes, their start included. Then, a run on one thread, medians of interleaved rounds:

    ours      fields from moments, as `meanfield ensemble` runs it
    direct    the same runs, steps and counts, with the compiled sum over pairs
    counting  share of the cluster rule in ours
    K         degree of the moments: what is felt above the tolerance of the steps

and the largest difference between the clusters' centres of the two; inf where their counts differ.
Run: python tests/benchmarks/ensembles.py [--quick]
"""

from __future__ import annotations

import argparse
import statistics
import time
from functools import partial
from unittest import mock

import numpy as np

import meanfield as mf
from meanfield.compute.threads import set_threads
from meanfield.manifolds.circle.circle import Circle
from meanfield.manifolds.manifold import Manifold
from meanfield.manifolds.sphere.sphere import Sphere
from meanfield.studies import cluster_runs
from meanfield.studies.cluster_runs import RunBlock, block_clusters
from meanfield.studies.cluster_table import ClusterTable
from meanfield.studies.executors.processes import worker_pool

TOLERANCE = 1e-6
SPACES = {"circle": Circle, "sphere": Sphere}


def problem(space: str, beta: float) -> mf.Problem:
    """USA from uniform tokens."""
    return mf.Problem(SPACES[space](), mf.exponential(beta), mf.USA)


def whole(runs: int) -> float:
    """Seconds of the ensemble on two processes."""
    began = time.perf_counter()
    with worker_pool(2) as executor:
        made = mf.ensemble(
            partial(problem, "circle", 9.0), tokens=1000, runs=runs, executor=executor
        )
    seconds = time.perf_counter() - began
    print(f"{runs} runs of 1000 tokens, two processes: {seconds:.1f} s; {made!r}")
    return seconds


def _all_are_few(space: Manifold, degree: int) -> int:
    return 10**9


def run(case: mf.Problem, tokens: int, number: int, direct: bool) -> tuple[float, ClusterTable]:
    """Seconds of one run, and its clusters."""
    times = np.array([1.0, 2.0]) * mf.onset_time(case, tokens)
    block = RunBlock(
        case, tokens, range(number, number + 1), times, "particles", seed=0, tolerance=TOLERANCE
    )
    # Below this many points a representation sums over pairs.
    few = _all_are_few if direct else type(case.space).few_points
    with mock.patch.object(type(case.space), "few_points", few):
        began = time.perf_counter()
        table = block_clusters(block)
        return time.perf_counter() - began, table


def counting(case: mf.Problem, tokens: int) -> float:
    """Seconds that the cluster rule takes of one run."""
    spent = 0.0
    honest = cluster_runs.clusters

    def timed(*arguments: object, **named: object) -> object:
        nonlocal spent
        began = time.perf_counter()
        found = honest(*arguments, **named)  # type: ignore[arg-type]
        spent += time.perf_counter() - began
        return found

    with mock.patch.object(cluster_runs, "clusters", timed):
        run(case, tokens, 0, direct=False)
    return spent


def compare(space: str, beta: float, tokens: int, rounds: int) -> None:
    """One line of the table."""
    case = problem(space, beta)
    for direct in (False, True):
        run(case, 200, 0, direct)  # compile
    seconds: dict[bool, list[float]] = {False: [], True: []}
    apart = 0.0
    for number in range(rounds):
        tables = {}
        for direct in (False, True):
            spent, tables[direct] = run(case, tokens, number, direct)
            seconds[direct].append(spent)
        if np.array_equal(tables[False].counts, tables[True].counts):
            differences = np.abs(tables[False].centre - tables[True].centre)
            around = np.minimum(differences, np.abs(2.0 * np.pi - differences))
            apart = max(apart, float(np.nanmax(around)))
        else:
            apart = float("inf")
    ours, sums = (statistics.median(seconds[direct]) for direct in (False, True))
    share = statistics.median(counting(case, tokens) for _ in range(5)) / ours
    degree = case.kernel.degree(case.manifold.dimension, TOLERANCE)
    print(
        f"{space:>7} {beta:5g} {tokens:7d} {degree:4d} {1e3 * ours:9.1f} "
        f"{1e3 * sums:10.1f} {sums / ours:7.1f} {100 * share:8.1f} % {apart:9.1e}"
    )


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    set_threads(1)
    whole(100 if arguments.quick else 1000)
    rounds = 3 if arguments.quick else 7
    print("\n  space  beta  tokens    K   ours ms  direct ms   ratio  counting    apart")
    cases = [("circle", 9.0, 1000), ("sphere", 5.0, 1000)]
    if not arguments.quick:
        cases += [("circle", 81.0, 1000), ("circle", 9.0, 4000), ("sphere", 5.0, 4000)]
    for space, beta, tokens in cases:
        compare(space, beta, tokens, rounds if tokens <= 1000 else 3)


if __name__ == "__main__":
    main()
