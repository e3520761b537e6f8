"""Brackets of distances on the sphere: how wide, how long?

Question: is the bracket of n = 10^5 tokens against a density at most 5 % wide at distances from 0.3
on, within 60 s on two cores, and does a comparison of tokens with their own law end within 120 s?
First table: tokens from a law at about the given distance from the uniform measure, against the
uniform measure; the distance 0 is their own law. CPU seconds are of all threads: on a busy machine
half of them, not the time, is what two free cores would take at best. Second table: points against
points, next to POT's network simplex on the full matrix (which is given the matrix).

Run: python tests/benchmarks/transport_sphere.py [--quick]
"""

from __future__ import annotations

import time

import numpy as np
from side_by_side import options

import meanfield as mf
from meanfield.measures import Density, Measure
from meanfield.transport.sphere.wasserstein import wasserstein_sphere

SPHERE = mf.Sphere()
UNIFORM = Density(SPHERE, np.array([1.0 + 0.0j]))
# Normal vectors about (0, 0, shift), normalised: W_1 to uniform is 0.05, 0.3 and 1 or so.
SHIFTS = {"0 (own law)": 0.0, "0.05": 0.085, "0.3": 0.5, "1": 2.0}


def tokens(n: int, shift: float, seed: int) -> Measure:
    rng = np.random.default_rng(seed)
    return Measure(SPHERE, rng.normal(size=(n, 3)) + [0.0, 0.0, shift])


def brackets(sizes: list[int]) -> None:
    print("       n     distance  p     lower     upper    width    time     CPU")
    for n in sizes:
        for name, shift in SHIFTS.items():
            for p in (1, 2):
                measure = tokens(n, shift, n)
                start, used = time.perf_counter(), time.process_time()
                distance = wasserstein_sphere(measure, UNIFORM, p)
                taken, used = time.perf_counter() - start, time.process_time() - used
                print(
                    f"{n:8,} {name:>12} {p:2} {distance.lower:9.5f} {distance.upper:9.5f}"
                    f"{100.0 * distance.width / distance.upper:7.1f}% {taken:7.1f}s {used:6.1f}s",
                    flush=True,
                )


def exact(sizes: list[int]) -> None:
    import ot

    print(f"\n{'n':>8} {'p':>2} {'W_p':>9} {'width':>8} {'POT differs':>12} {'time':>8} {'POT':>8}")
    for n in sizes:
        first, second = tokens(n, 0.0, 1), tokens(n, 0.3, 2)
        chord = np.linalg.norm(first.points[:, None] - second.points[None], axis=2)
        angle = 2.0 * np.arcsin(np.minimum(0.5 * chord, 1.0))
        for p in (1, 2):
            seconds: list[list[float]] = [[], []]
            for _ in range(3):
                start = time.perf_counter()
                distance = wasserstein_sphere(first, second, p)
                middle = time.perf_counter()
                value = float(ot.emd2(first.mass, second.mass, angle**p, numItermax=10**8))
                seconds[0].append(middle - start)
                seconds[1].append(time.perf_counter() - middle)
            print(
                f"{n:8,} {p:2} {distance.value:9.5f} {distance.width:8.0e} "
                f"{abs(value ** (1 / p) - distance.value):12.0e}"
                f"{np.median(seconds[0]):8.2f}s{np.median(seconds[1]):8.2f}s",
                flush=True,
            )


def main() -> None:
    quick = options(__doc__).parse_args().quick
    wasserstein_sphere(tokens(100, 0.0, 0), tokens(100, 0.0, 1))  # compile
    wasserstein_sphere(tokens(100, 0.0, 0), UNIFORM)
    brackets([1_000] if quick else [1_000, 10_000, 100_000])
    exact([500, 1_000] if quick else [500, 1_000, 2_000, 4_000])


if __name__ == "__main__":
    main()
