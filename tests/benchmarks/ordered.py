"""Cost of a causal mask, by running moments and by pairs.

Velocities of tokens that attend to the ones before them, softmax, B = V = 1, beta = 9. Interleaved
rounds on one thread, ratios as median (quartiles):

    pairs / running     products over all pairs up to the diagonal, over moments that run along
    running / unmasked  running moments over the moments of all tokens at once

Run: python tests/benchmarks/ordered.py [--quick]
"""

from __future__ import annotations

import numpy as np
from side_by_side import options, side_by_side, use_threads

import meanfield as mf
from meanfield.fields.heads import heads_interaction
from meanfield.fields.ordered import ordered_velocity
from meanfield.spaces import Manifold


def compare(space: Manifold, tokens: int, rounds: int) -> None:
    masked = heads_interaction(mf.Problem(space, mf.Attention(beta=9.0, mask="causal")))
    points = space.random_points(tokens, np.random.default_rng(1))
    calls = {
        "running": lambda: ordered_velocity(masked, points, None, far=False),
        "unmasked": lambda: masked.of_points(points, None).velocity(points),
    }
    if tokens <= 10_000:
        calls["pairs"] = lambda: space.project(points, masked.output(space.vectors(points), None))
    times = side_by_side(calls, rounds)
    line = f"{space.name:>7} {tokens:>9,}   ours {times['running'].seconds * 1e3:8.1f} ms"
    if "pairs" in calls:
        line += f"   pairs / running {times['pairs'].over(times['running'])}"
    print(f"{line}   running / unmasked {times['running'].over(times['unmasked'])}", flush=True)


def main() -> None:
    arguments = options(__doc__).parse_args()
    use_threads(1)
    for space in (mf.Circle(), mf.Sphere()):
        for tokens in (10_000, 100_000) if arguments.quick else (10_000, 100_000, 1_000_000):
            compare(space, tokens, 3 if arguments.quick else 7)


if __name__ == "__main__":
    main()
