"""How long does a run of an ensemble take, and how much longer by direct sums?

Runs of N uniform tokens are carried to twice the onset time, their clusters counted at one and two
onset times. Processor time on one thread, interleaved rounds:

    ours      fields from moments, as `meanfield ensemble` runs it
    direct    the same runs, steps and counts, with the compiled sum over pairs, median (quartiles)
    counting  share of the cluster rule in ours
    K         degree of the moments that matter above the tolerance of the steps

and the largest difference between the clusters' centres of the two; inf where their counts differ.
Run: python tests/benchmarks/ensembles.py [--quick]
"""

from __future__ import annotations

import statistics
import time
from unittest import mock

import numpy as np
from side_by_side import options, side_by_side, use_threads

import meanfield as mf
from meanfield.fields import engines
from meanfield.spaces.circle.circle import Circle
from meanfield.spaces.manifold import Manifold
from meanfield.spaces.sphere.sphere import Sphere
from meanfield.studies import ensemble as ensembles
from meanfield.studies.ensemble import EnsembleOptions, ensemble_plan
from meanfield.studies.ensemble_results import ClusterTable
from meanfield.studies.study import Runs

TOLERANCE = 1e-6
SPACES = {"circle": Circle, "sphere": Sphere}


def problem(space: str, beta: float) -> mf.Problem:
    return mf.Problem(SPACES[space](), mf.exponential(beta), mf.USA)


def _all_are_few(space: Manifold, degree: int) -> int:
    return 10**9


def run(case: mf.Problem, tokens: int, number: int, direct: bool) -> ClusterTable:
    plan = ensemble_plan(case, EnsembleOptions((tokens,)), tolerance=TOLERANCE)
    # Below this many points a representation sums over pairs.
    few = _all_are_few if direct else engines.direct_sum_limit
    with mock.patch.object(engines, "direct_sum_limit", few):
        return plan.run(Runs(tokens, range(number, number + 1)))


def counting(case: mf.Problem, tokens: int) -> float:
    """Seconds that the cluster rule takes of one run."""
    spent = 0.0
    honest = ensembles.clusters

    def timed(*arguments: object, **named: object) -> object:
        nonlocal spent
        began = time.process_time()
        result = honest(*arguments, **named)  # type: ignore[arg-type]
        spent += time.process_time() - began
        return result

    with mock.patch.object(ensembles, "clusters", timed):
        run(case, tokens, 0, direct=False)
    return spent


def apart(first: ClusterTable, second: ClusterTable) -> float:
    """Largest distance between centres of the same clusters; inf where counts differ."""
    if not np.array_equal(first.counts, second.counts):
        return float("inf")
    differences = np.abs(first.centre - second.centre)
    return float(np.nanmax(np.minimum(differences, np.abs(2.0 * np.pi - differences))))


def compare(space: str, beta: float, tokens: int, rounds: int) -> None:
    case = problem(space, beta)
    result: dict[bool, list[ClusterTable]] = {False: [], True: []}

    def one(direct: bool) -> None:
        result[direct].append(run(case, tokens, len(result[direct]), direct))

    times = side_by_side(
        {"ours": lambda: one(False), "direct": lambda: one(True)}, rounds, least=0.0
    )
    furthest = max(apart(*pair) for pair in zip(result[False], result[True], strict=True))
    ours = times["ours"]
    share = statistics.median(counting(case, tokens) for _ in range(3)) / ours.seconds
    degree = case.kernel.degree(case.manifold.dimension, TOLERANCE)
    print(
        f"{space:>7} {beta:5g} {tokens:7d} {degree:4d} {1e3 * ours.seconds:9.1f} "
        f"{times['direct'].over(ours):>20} {100 * share:8.1f} % {furthest:9.1e}",
        flush=True,
    )


def main() -> None:
    quick = options(__doc__).parse_args().quick
    use_threads(1)
    print("  space  beta  tokens    K   ours ms        direct / ours   counting     apart")
    cases = [("circle", 9.0, 1000), ("circle", 25.0, 1000), ("sphere", 5.0, 1000)]
    cases.append(("sphere", 10.0, 1000))
    if not quick:
        cases += [("circle", 81.0, 1000), ("circle", 9.0, 4000), ("sphere", 5.0, 4000)]
    for space, beta, tokens in cases:
        rounds = 9 if space == "circle" else 5
        compare(space, beta, tokens, rounds if tokens <= 1000 else 3)


if __name__ == "__main__":
    main()
