"""What does a run with many saved times cost, beside one that saves its begin and end?

n uniform tokens, USA, beta = 9, carried to twice the onset time at tolerance 1e-8. Processor
seconds on one thread, interleaved rounds; ratios are median (quartiles).

    bare      observables = ["order_parameter"]
    usual     observables by default

Run: python tests/benchmarks/saved_times.py [--quick]
"""

from __future__ import annotations

from functools import partial

import numpy as np
from side_by_side import options, side_by_side, use_threads

import meanfield as mf

FEW, MANY = 2, 121


def main() -> None:
    """Print the table."""
    parser = options(__doc__)
    parser.add_argument("--tokens", type=int, default=2000)
    given = parser.parse_args()
    use_threads(1)
    print(f"{'space':6} {'':6} {FEW:4d} saves, s {f'{MANY} / {FEW}':>20} {'right-hand sides':>17}")
    for manifold in (mf.Circle(), mf.Sphere()):
        points = manifold.random_points(given.tokens, np.random.default_rng(0))
        problem = mf.Problem(manifold, mf.exponential(9.0), mf.USA, mf.from_points(points))
        end = 2.0 * mf.onset_time(problem, given.tokens)
        for name, chosen in (("bare", {"observables": ["order_parameter"]}), ("usual", {})):
            calls = {
                save: partial(
                    mf.simulate,
                    problem,
                    until=end,
                    save=save,
                    representation="particles",
                    tolerance=1e-8,
                    **chosen,
                )
                for save in (FEW, MANY)
            }
            counts = [int(call().diagnostics["evaluations"][-1]) for call in calls.values()]
            times = side_by_side(calls, 3 if given.quick else 11, warm_up=False)
            print(
                f"{manifold.name:6} {name:6} {times[FEW].seconds:13.3f}"
                f" {times[MANY].over(times[FEW]):>20} {counts[0]:8d} {counts[1]:8d}",
                flush=True,
            )


if __name__ == "__main__":
    main()
