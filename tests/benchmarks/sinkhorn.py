"""Cost of doubly stochastic attention, beside softmax and beside Anderson's iteration.

Interleaved rounds, processor time, ratios as median (quartiles), for one head with B = V = 1:

    softmax   right-hand side of a density (degree 64 or 32), or velocity of tokens, with Sinkhorn's
              weights over the same with softmax
    Anderson  with weights by Anderson's iteration over those by Newton's, and both residuals

Run: python tests/benchmarks/sinkhorn.py [--quick]
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from side_by_side import options, side_by_side, use_threads

import meanfield as mf
from meanfield.engines import sinkhorn
from meanfield.fields import balanced
from meanfield.fields.heads import HeadsInteraction, heads_interaction
from meanfield.spaces import Manifold

_DEGREES = {"circle": 64, "sphere": 32}


def interaction(space: Manifold, beta: float, normalization: str) -> HeadsInteraction:
    """One head with B = V = 1."""
    attention = mf.Attention([mf.Head()], normalization, beta=beta)
    return heads_interaction(mf.Problem(space, attention))


def by_anderson(run: Callable[[], object]) -> object:
    """The same without Newton's method."""
    kept = sinkhorn.FEW, balanced.FEW, balanced._MOST_ROWS
    sinkhorn.FEW, balanced.FEW, balanced._MOST_ROWS = 0, 0, 0
    try:
        return run()
    finally:
        sinkhorn.FEW, balanced.FEW, balanced._MOST_ROWS = kept


def compare(space: Manifold, beta: float, count: int | None, rounds: int) -> None:
    """Print the line of a density, or of a count of tokens."""
    balanced_one, softmax = (interaction(space, beta, each) for each in ("sinkhorn", "softmax"))
    if count is None:
        degree = _DEGREES[space.name]
        f = space.resize(mf.von_mises_fisher(2.0).build(space).coefficients, degree)
        transports = [each.transport(degree) for each in (balanced_one, softmax)]
        one, other = ((lambda each=each: each(f, False)) for each in transports)
    else:
        points = space.random_points(count, np.random.default_rng(0))
        one, other = (
            (lambda each=each: each.of_points(points, None).velocity(points))
            for each in (balanced_one, softmax)
        )
    difference = np.abs(one() - by_anderson(one)).max()
    times = side_by_side(
        {"sinkhorn": one, "softmax": other, "Anderson": lambda: by_anderson(one)}, rounds
    )
    print(f"{space.name} beta {beta:g} {'density' if count is None else f'{count} tokens':>12}   "
          f"ours {times['sinkhorn'].seconds * 1e6:6.0f} us   "
          f"/ softmax {times['sinkhorn'].over(times['softmax']):>20}   "
          f"Anderson / ours {times['Anderson'].over(times['sinkhorn']):>20}   "
          f"difference {difference:.0e}", flush=True)  # fmt: skip


def main() -> None:
    """Print the table."""
    given = options(__doc__).parse_args()
    use_threads(1)
    for space in (mf.Circle(), mf.Sphere()):
        for beta in (9.0,) if given.quick else (1.0, 9.0, 25.0):
            for count in (None, 32, 100, 300, 1_000, 2_000, 5_000):
                compare(space, beta, count, 5 if given.quick else 11)


if __name__ == "__main__":
    main()
