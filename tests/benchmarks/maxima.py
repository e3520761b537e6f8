"""Times of counting maxima of random fields, next to the obvious ways.

Question: what does it cost to count the maxima of 10,000 Gaussian fields, and is it worth more than
a loop? On the circle the loop takes the roots of the algebraic polynomial of Phi' (a companion
matrix for each field); on the sphere, for each field a transform to a grid of three points a degree
and wavelength, local maxima among eight neighbours, which may be wrong: the last column tells how
often. The loops run over fewer fields, in units of 10,000.

    python tests/benchmarks/maxima.py [--fields 2000] [--rounds 3]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import ducc0
import numpy as np

import meanfield as mf

LOOPED = 50


def by_roots(fields: np.ndarray) -> np.ndarray:
    """Maxima on the circle from companion matrices."""
    counts = []
    for field in fields:
        k = np.arange(1, len(field))
        slopes = 1j * k * field[1:]
        roots = np.roots(np.concatenate([slopes[::-1], [0.0], np.conj(slopes)]))
        roots = roots[np.abs(np.abs(roots) - 1.0) < 1e-7]
        curvature = -(roots[:, None] ** k @ (k**2 * field[1:])).real
        counts.append(int((curvature < 0).sum()))
    return np.array(counts)


def by_grid(fields: np.ndarray) -> np.ndarray:
    """Maxima on the sphere among the neighbours of equiangular grids."""
    degree = mf.Sphere().degree_of(fields[0])
    rows, columns = 6 * degree, 12 * degree
    counts = []
    for field in fields:
        values = ducc0.sht.synthesis_2d(
            alm=field[None], spin=0, lmax=degree, ntheta=rows, nphi=columns, geometry="F1"
        )[0]
        # Beyond a pole lies the same ring, turned by half a circle.
        half = columns // 2
        around = np.vstack([np.roll(values[:1], half, 1), values, np.roll(values[-1:], half, 1)])
        largest = np.ones(values.shape, dtype=bool)
        for down in range(3):
            for aside in (-1, 0, 1):
                if down != 1 or aside != 0:
                    largest &= values > np.roll(around, aside, axis=1)[down : down + rows]
        counts.append(int(largest.sum()))
    return np.array(counts)


def median(action: Callable[[], np.ndarray], rounds: int) -> tuple[float, np.ndarray]:
    """Median seconds after one call to warm up, and the result."""
    result = action()
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds)), result


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fields", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{'fields':32s} {'s / 10,000':>10s} {'loop':>8s} {'ratio':>7s} {'differ':>7s}")
    cases: list[tuple[str, mf.Circle | mf.Sphere, np.ndarray, Callable]] = [
        ("circle, degrees 1 to 10", mf.Circle(), np.ones(11), by_roots),
        ("circle, degrees 1 to 30", mf.Circle(), np.ones(31), by_roots),
        ("sphere, degree 4", mf.Sphere(), np.eye(5)[4], by_grid),
        ("sphere, degree 12", mf.Sphere(), np.eye(13)[12], by_grid),
        ("sphere, degrees 1 to 12", mf.Sphere(), np.ones(13), by_grid),
        ("sphere, degree 25, smooth", mf.Sphere(), np.exp(-(np.arange(26.0) ** 2) / 60), by_grid),
    ]
    for name, manifold, variances, loop in cases:
        variances[0] = 0.0
        # A transform over the whole array must be paid off, so circles get all 10,000.
        count = 10_000 if manifold.name == "circle" else options.fields
        fields = manifold.gaussian_fields(variances, count, np.random.default_rng(0))
        ours, counts = median(lambda m=manifold, f=fields: m.count_maxima(f), options.rounds)
        theirs, others = median(lambda f=fields, g=loop: g(f[:LOOPED]), options.rounds)
        ours, theirs = ours * 10_000 / count, theirs * 10_000 / LOOPED
        differ = int((counts[:LOOPED] != others).sum())
        print(f"{name:32s} {ours:10.2f} {theirs:8.1f} {theirs / ours:7.1f} {differ:4d}/{LOOPED}")


if __name__ == "__main__":
    main()
