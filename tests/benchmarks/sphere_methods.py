"""From how many tokens on are transforms faster than solid harmonics, and these than pairs?

For the degrees of the table `solid._CROSSOVERS`: tokens at which moments cost the same by either
method of `engines.harmonics.points` (--: never up to 100,000), and at which a velocity of solid
harmonics alone, which pass over the tokens once, costs as much as the faster moments and
gradients by transforms. Then tokens at which a velocity costs as much as the sum over pairs,
`direct_sum_limit`.
Processor time of one thread, medians of interleaved rounds, bisection on a logarithmic scale.
Run: python tests/benchmarks/sphere_methods.py
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from side_by_side import Call, options, side_by_side, use_threads

import meanfield as mf
from meanfield.engines.harmonics import solid, tokens, transforms
from meanfield.fields import engines
from meanfield.fields.mean_field import Interaction
from meanfield.spaces.sphere.sphere import Sphere


def ratio(first: Call, second: Call) -> float:
    times = side_by_side({"first": first, "second": second}, 5, least=0.01)
    return times["second"].over(times["first"]).median


def crossover(calls: Callable[[np.ndarray], tuple[Call, Call]], low: int, high: int) -> str:
    """Tokens at which both calls cost the same; the first is faster for fewer."""

    def faster(count: int) -> bool:
        points = Sphere().random_points(count, np.random.default_rng(0))
        return ratio(*calls(points)) > 1.0

    if faster(high):
        return "--"
    while high > 1.15 * low:
        middle = int(np.sqrt(low * high))
        low, high = (middle, high) if faster(middle) else (low, middle)
    return f"{np.sqrt(low * high):.0f}"


def main() -> None:
    quick = options(__doc__).parse_args().quick
    use_threads(1)
    kernel = mf.exponential(10.0)
    problem = mf.Problem(Sphere(), kernel, mf.USA)
    table = solid._CROSSOVERS
    solid._CROSSOVERS = ((100, np.inf, np.inf),)  # chosen below
    print(f"{'degree':>6} {'moments':>8} {'velocity':>8} {'pairs':>6}")
    for degree in (21, 48) if quick else (11, *(degree for degree, _, _ in table)):
        multipliers = np.ones(degree + 1)
        mean_field = Interaction(problem, degree, multipliers, None)

        def moments(points: np.ndarray, degree: int = degree) -> tuple[Call, Call]:
            return (
                lambda: solid.moments(points, None, degree),
                lambda: transforms.moments(points, None, degree),
            )

        limit = crossover(moments, 300, 100_000)
        few = np.inf if limit == "--" else float(limit)

        def velocities(
            points: np.ndarray, degree: int = degree, few: float = few, w: np.ndarray = multipliers
        ) -> tuple[Call, Call]:
            method = solid if len(points) <= few else transforms

            def by_transforms() -> np.ndarray:
                field = Sphere().convolve(w, method.moments(points, None, degree))
                return transforms.gradient(field, points, None)

            return lambda: tokens.own_velocity(points, None, w), by_transforms

        def pairs(
            points: np.ndarray, mean_field: Interaction = mean_field, degree: int = degree
        ) -> tuple[Call, Call]:
            return (
                lambda: engines.pair_velocity(Sphere(), kernel, points, None, False),
                lambda: engines.velocity(mean_field, points, None),
            )

        velocity = crossover(velocities, 300, 100_000)
        print(f"{degree:6d} {limit:>8} {velocity:>8} {crossover(pairs, 30, 3000):>6}", flush=True)


if __name__ == "__main__":
    main()
