"""Cost of general heads, beside one zonal kernel and sums over pairs.

Interleaved rounds on the same number of threads, processor time (several threads: wall time below
it), ratios as median (quartiles), for random scores of one largest singular value beta:

    density   right-hand side of degree 512 (circle) or 127 (sphere) with one softmax head, over the
              zonal one (SA)
    tokens    velocity of 1,000,000 or 100,000 tokens with two softmax heads, over the zonal one;
              direct: the same summed over all pairs, 4,000 of them scaled by n^2, over ours
    table     seconds to make the table of a head, and its degrees

Run: python tests/benchmarks/heads.py [--quick] [--threads 2]
"""

from __future__ import annotations

import math
import time

import numpy as np
from side_by_side import options, side_by_side, use_threads

import meanfield as mf
from meanfield.engines.compiled import njit
from meanfield.engines.threads import chunk_bounds, map_chunks, threads
from meanfield.fields import engines
from meanfield.fields.heads import heads_interaction
from meanfield.fields.interactions import interaction_of
from meanfield.spaces import Manifold

_PAIRED = 4000
_SIZES = {"circle": (512, 1_000_000), "sphere": (127, 100_000)}


def attention(d: int, beta: float, count: int) -> mf.Attention:
    rng = np.random.default_rng(0)
    heads = []
    for _ in range(count):
        score, value = rng.normal(size=(2, d, d))
        heads.append(mf.Head(score=score / np.linalg.norm(score, 2), value=value))
    return mf.Attention(heads, beta=beta)


@njit(error_model="numpy")
def _sums(targets, points, score, value, out):  # type: ignore[no-untyped-def]
    """Add P_x V m / G by a loop over all pairs; e^{<z, y> - |z|} does not overflow."""
    d = points.shape[1]
    sums = np.empty(d)
    for i in range(len(targets)):
        z = targets[i] @ score
        size = math.sqrt(z @ z)
        total = 0.0
        sums[:] = 0.0
        for j in range(len(points)):
            inner = -size
            for a in range(d):
                inner += z[a] * points[j, a]
            term = math.exp(inner)
            total += term
            for a in range(d):
                sums[a] += term * points[j, a]
        mean = value @ (sums / total)
        out[i] += mean - (targets[i] @ mean) * targets[i]


def direct(problem: mf.Problem, points: np.ndarray) -> np.ndarray:
    x = problem.manifold.vectors(points)
    result = np.zeros_like(x)
    bounds = chunk_bounds(len(x), 16)
    assert problem.attention is not None
    for head in problem.attention.matrices(x.shape[1]):
        score, value = (np.ascontiguousarray(each) for each in head)

        def chunk(i: int, score: np.ndarray = score, value: np.ndarray = value) -> None:
            part = slice(bounds[i], bounds[i + 1])
            _sums(x[part], x, score, value, result[part])

        map_chunks(chunk, 16)
    return problem.manifold.project(points, result)


def by_series(problem: mf.Problem, points: np.ndarray) -> np.ndarray:
    return interaction_of(problem).of_points(points, None).velocity(points)


def compare(space: Manifold, beta: float, rounds: int) -> None:
    degree, tokens = _SIZES[space.name]
    zonal = mf.Problem(space, mf.exponential(beta), mf.SA)
    one, two = (mf.Problem(space, attention(space.dimension + 1, beta, n)) for n in (1, 2))
    start = time.perf_counter()
    tables = heads_interaction(two).tables
    seconds = (time.perf_counter() - start) / len(tables)
    degrees = ", ".join(str(table.degree) for table in tables)
    print(f"{space.name}, beta {beta:g}: tables of degrees {degrees}, {seconds:.2f} s each")
    law = mf.mixture([(0.4, space.origin, 3.0), (0.6, None, 8.0)]).build(space)
    f = space.resize(law.coefficients, degree)
    of_zonal, of_heads = (interaction_of(each).transport(degree) for each in (zonal, one))
    points = space.random_points(tokens, np.random.default_rng(2))
    fewer = points[:_PAIRED]
    difference = np.abs(direct(two, fewer) - by_series(two, fewer)).max()
    field = interaction_of(zonal)
    times = side_by_side(
        {
            "zonal density": lambda: of_zonal(f, False),
            "density": lambda: of_heads(f, False),
            "zonal tokens": lambda: engines.velocity(field, points, None),
            "tokens": lambda: by_series(two, points),
            "direct": lambda: direct(two, fewer),
        },
        rounds,
    )
    times["direct"] = times["direct"].scaled((tokens / _PAIRED) ** 2)
    for first, second in (
        ("density", "zonal density"),
        ("tokens", "zonal tokens"),
        ("direct", "tokens"),
    ):
        mine = times["tokens" if first == "direct" else first]
        wall = f"   wall {times[first].wall_over(times[second])}" if threads() > 1 else ""
        print(f"  {first:>8} / {second:<14} {times[first].over(times[second]):>22}   "
              f"ours {mine.seconds * 1e3:8.3f} ms{wall}", flush=True)  # fmt: skip
    print(f"  largest difference from direct sums {difference:.1e}")


def main() -> None:
    arguments = options(__doc__, threads=True).parse_args()
    use_threads(arguments.threads)
    print(f"{threads()} thread(s)")
    for space in (mf.Circle(), mf.Sphere()):
        for beta in (10.0,) if arguments.quick else (1.0, 10.0, 50.0, 100.0):
            compare(space, beta, 5 if arguments.quick else 7)


if __name__ == "__main__":
    main()
