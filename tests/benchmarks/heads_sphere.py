"""What do general heads on the sphere cost, beside one zonal kernel and sums over pairs?

Interleaved rounds on the same number of threads, processor time (several threads: wall time below
it), ratios as median (quartiles), for random scores of one largest singular value beta:

    density   right-hand side of degree 127 with one softmax head, over the zonal one (SA)
    tokens    velocity of 100,000 tokens with two softmax heads, over the zonal one (SA);
              direct: the same summed over all pairs, 4,000 of them scaled by n^2, over ours
    table     seconds to make the table of a head, its size and its degrees

Run: python tests/benchmarks/heads_sphere.py [--quick] [--threads 2]
"""

from __future__ import annotations

import math
import time

import numpy as np
from side_by_side import options, side_by_side, use_threads

import meanfield as mf
from meanfield.attention import HeadMatrices
from meanfield.compute.compiled import njit
from meanfield.compute.threads import chunk_bounds, map_chunks, threads
from meanfield.fields import engines
from meanfield.fields.mean_field import interaction
from meanfield.fields.sphere.heads import SphereHead, head_table, transport, velocity
from meanfield.manifolds.sphere import coefficients as packing

_SPHERE = mf.Sphere()
_TOKENS, _PAIRED = 100_000, 4000
_DEGREE = 127


def heads(beta: float) -> list[HeadMatrices]:
    """Two heads with random matrices."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(2):
        score, value = rng.normal(size=(2, 3, 3))
        found.append(HeadMatrices(beta * score / np.linalg.norm(score, 2), value))
    return found


@njit(error_model="numpy")
def _sums(targets, points, score, value, out):  # type: ignore[no-untyped-def]
    """Add P_x V m / G by a loop over all pairs; e^{<z, y> - |z|} does not overflow."""
    for i in range(len(targets)):
        z = targets[i] @ score
        size = math.sqrt(z[0] ** 2 + z[1] ** 2 + z[2] ** 2)
        a, b, c, total = 0.0, 0.0, 0.0, 0.0
        for j in range(len(points)):
            x, y, w = points[j, 0], points[j, 1], points[j, 2]
            term = math.exp(z[0] * x + z[1] * y + z[2] * w - size)
            a, b, c, total = a + term * x, b + term * y, c + term * w, total + term
        mean = value @ np.array([a / total, b / total, c / total])
        out[i] += mean - (targets[i] @ mean) * targets[i]


def direct(given: list[HeadMatrices], points: np.ndarray) -> np.ndarray:
    """Velocity of tokens in their own field, summed over pairs."""
    found = np.zeros_like(points)
    bounds = chunk_bounds(len(points), 16)
    for head in given:
        score, value = (np.ascontiguousarray(each) for each in head)

        def chunk(i: int, score: np.ndarray = score, value: np.ndarray = value) -> None:
            part = slice(bounds[i], bounds[i + 1])
            _sums(points[part], points, score, value, found[part])

        map_chunks(chunk, 16)
    return found


def by_series(tables: list[SphereHead], points: np.ndarray) -> np.ndarray:
    """The same through moments."""
    moments = _SPHERE.moments(points, None, max(table.degree for table in tables))
    return velocity([table.fields(moments) for table in tables], points)


def density() -> np.ndarray:
    """One with a decaying spectrum."""
    rng = np.random.default_rng(1)
    count = packing.count_of(_DEGREE)
    c = rng.normal(size=count) + 1j * rng.normal(size=count)
    c[: _DEGREE + 1] = c[: _DEGREE + 1].real
    c = packing.convolve(0.1 * np.exp(-0.2 * np.arange(_DEGREE + 1)), c)
    c[0] = 1.0
    return c


def compare(beta: float, rounds: int) -> None:
    """Print the lines of one beta."""
    given = heads(beta)
    start = time.perf_counter()
    tables = [head_table(head, True, 0.0) for head in given]
    seconds = (time.perf_counter() - start) / len(tables)
    size = max(sum(block.table.nbytes for block in table.blocks) for table in tables)
    degrees = ", ".join(f"{table.degree} to {table.out_degree}" for table in tables)
    print(f"beta {beta:g}: tables of degree {degrees}, {size / 1e6:.1f} MB, {seconds:.2f} s each")
    felt = interaction(mf.Problem(_SPHERE, mf.exponential(beta), mf.SA))
    f = density()
    zonal, ours = engines.transport(felt, _DEGREE), transport(tables[:1], _DEGREE)
    points = _SPHERE.random_points(_TOKENS, np.random.default_rng(2))
    fewer = points[:_PAIRED]
    difference = np.abs(direct(given, fewer) - by_series(tables, fewer)).max()
    times = side_by_side(
        {
            "zonal density": lambda: zonal(f, False),
            "density": lambda: ours(f),
            "zonal tokens": lambda: engines.velocity(felt, points, None),
            "tokens": lambda: by_series(tables, points),
            "direct": lambda: direct(given, fewer),
        },
        rounds,
    )
    times["direct"] = times["direct"].scaled((_TOKENS / _PAIRED) ** 2)
    for first, second in (
        ("density", "zonal density"),
        ("tokens", "zonal tokens"),
        ("direct", "tokens"),
    ):
        mine = times["tokens" if first == "direct" else first]
        wall = f"   wall {times[first].wall_over(times[second])}" if threads() > 1 else ""
        print(f"  {first:>8} / {second:<14} {times[first].over(times[second]):>22}   "
              f"ours {mine.seconds * 1e3:8.2f} ms{wall}", flush=True)  # fmt: skip
    print(f"  largest difference from direct sums {difference:.1e}")


def main() -> None:
    """Print the table."""
    given = options(__doc__, threads=True).parse_args()
    use_threads(given.threads)
    print(f"{threads()} thread(s), density of degree {_DEGREE}, {_TOKENS:,} tokens, two heads")
    for beta in (10.0,) if given.quick else (1.0, 10.0, 50.0, 100.0):
        compare(beta, 5 if given.quick else 7)


if __name__ == "__main__":
    main()
