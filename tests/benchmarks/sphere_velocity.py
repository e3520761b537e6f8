"""How fast is the velocity of tokens on the sphere, beside bare ducc0 and the sum over pairs?

For several beta and numbers of tokens, interleaved rounds on the same number of threads, processor
time (several threads: wall time below it), ratios as median (quartiles):

    ours      velocity as particle runs have it: fields, or pairs where they are faster
    ducc0     its adjoint synthesis and gradient synthesis alone, angles given, as accurate
    direct    the compiled sum over all pairs; above 8,000 tokens scaled by n^2 (*)

Run: python tests/benchmarks/sphere_velocity.py [--quick] [--threads 2]
"""

from __future__ import annotations

import ducc0
import numpy as np
from side_by_side import Call, options, side_by_side, use_threads

import meanfield as mf
from meanfield.engines.harmonics.angles import angles_of
from meanfield.engines.harmonics.transforms import EPSILON
from meanfield.engines.threads import threads
from meanfield.fields import engines
from meanfield.fields.mean_field import interaction
from meanfield.spaces.sphere.sphere import Sphere

_MOST_PAIRS = 8000


def ours(points: np.ndarray, beta: float) -> Call:
    field = interaction(mf.Problem(Sphere(), mf.exponential(beta), mf.USA))
    if len(points) < engines.direct_sum_limit(Sphere(), field.degree):
        return direct(points, beta)

    return lambda: engines.velocity(field, points, None)


def bare(points: np.ndarray, beta: float) -> Call:
    degree = mf.exponential(beta).degree(2)
    locations, _ = angles_of(points)
    masses = np.full((1, len(points)), 1.0 / len(points))
    common = {"lmax": degree, "loc": locations, "epsilon": EPSILON, "nthreads": threads()}

    def run() -> object:
        alm = ducc0.sht.adjoint_synthesis_general(map=masses, spin=0, **common)
        return ducc0.sht.synthesis_general(alm=alm, spin=1, mode="DERIV1", **common)

    return run


def direct(points: np.ndarray, beta: float) -> Call:
    return lambda: engines.pair_velocity(Sphere(), mf.exponential(beta), points, None, False)


def compare(count: int, beta: float, rounds: int) -> None:
    points = Sphere().random_points(count, np.random.default_rng(0))
    fewer = points[:_MOST_PAIRS]
    times = side_by_side(
        {"ours": ours(points, beta), "ducc0": bare(points, beta), "direct": direct(fewer, beta)},
        rounds,
    )
    times["direct"] = times["direct"].scaled((count / len(fewer)) ** 2)
    star = "*" if count > len(fewer) else " "
    mine = times["ours"]
    print(
        f"{beta:5g} {mf.exponential(beta).degree(2):6d} {count:8d} {mine.seconds * 1e3:9.3f} "
        f"{times['ducc0'].over(mine):>23} {times['direct'].over(mine):>25}{star}",
        flush=True,
    )
    if threads() > 1:
        print(
            f"{'wall':>21} {np.median(mine.wall) * 1e3:9.3f} "
            f"{times['ducc0'].wall_over(mine):>23} {times['direct'].wall_over(mine):>25}{star}",
            flush=True,
        )


def main() -> None:
    arguments = options(__doc__, threads=True).parse_args()
    use_threads(arguments.threads)
    print(f"ducc0 {ducc0.__version__}, {threads()} thread(s), epsilon {EPSILON:g}")
    print(f"{'beta':>5} {'degree':>6} {'tokens':>8} {'ours ms':>9} {'ducc0 / ours':>23}"
          f" {'direct / ours':>25}")  # fmt: skip
    counts = (1000, 1_000_000) if arguments.quick else (300, 1000, 2000, 10_000, 100_000, 1_000_000)
    for count in counts:
        for beta in (5.0, 10.0, 50.0) if arguments.quick else (1.0, 5.0, 10.0, 50.0):
            compare(count, beta, 5 if arguments.quick else 9)


if __name__ == "__main__":
    main()
