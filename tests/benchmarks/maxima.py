"""Cost of counting the maxima of random fields with proof, and how often a grid is wrong.

Processor time on one thread for 10,000 Gaussian fields, interleaved rounds, beside what one would
write: on the circle, changes of sign of the derivative from + to - on a grid of 16 or 32 points a
degree, one stacked inverse FFT for all fields; on the sphere, for each field a transform to a grid
of three points a degree and wavelength, local maxima among eight neighbours. These may be wrong;
"differ" tells how often. The last column holds ours against a judge without a grid, on the circle:
roots of the algebraic polynomial of Phi', eigenvalues of a companion matrix, for some fields.
Run: python tests/benchmarks/maxima.py [--quick]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import ducc0
import numpy as np
import scipy.fft
from side_by_side import options, side_by_side, use_threads

import meanfield as mf
from meanfield.spaces.maxima import count_maxima, gaussian_fields

LOOPED, ROOTS = 50, 500

Counts = Callable[[np.ndarray], np.ndarray]


def by_signs(fields: np.ndarray, points: int) -> np.ndarray:
    """Maxima on the circle from signs of the derivative on a grid."""
    degree = fields.shape[1] - 1
    slopes = scipy.fft.irfft(1j * np.arange(degree + 1) * fields, points * degree, axis=1)
    rising = slopes > 0.0
    return np.asarray((rising & ~np.roll(rising, -1, axis=1)).sum(axis=1))


def by_roots(fields: np.ndarray) -> np.ndarray:
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


def compare(
    name: str, space: mf.Circle | mf.Sphere, fields: np.ndarray, others: dict[str, Counts]
) -> None:
    counts = count_maxima(space, fields)
    for other, count in others.items():
        # A transform over all fields pays off on the circle; on the sphere there is a loop.
        some = fields if space.name == "circle" else fields[:LOOPED]
        calls = {"ours": lambda: count_maxima(space, fields), "other": partial(count, some)}
        times = side_by_side(calls, 5, least=0.0)
        theirs = times["other"].scaled(len(fields) / len(some))
        differ = 100.0 * np.mean(count(some) != counts[: len(some)])
        roots = "-"
        if space.name == "circle":
            wrong = int((by_roots(fields[:ROOTS]) != counts[:ROOTS]).sum())
            roots = f"{wrong}/{ROOTS}"
        ours = times["ours"].seconds * 10_000 / len(fields)
        print(
            f"{name:26} {ours:8.3f} {other:>10} {theirs.over(times['ours']):>20} "
            f"{differ:8.2f} % {roots:>8}",
            flush=True,
        )


def main() -> None:
    arguments = options(__doc__).parse_args()
    use_threads(1)
    print(f"{'fields':26} {'ours s':>8} {'other':>10} {'other / ours':>20} {'differ':>10} roots")
    signs: dict[str, Counts] = {f"{n} points": partial(by_signs, points=n) for n in (16, 32)}
    cases: list[tuple[str, mf.Circle | mf.Sphere, np.ndarray, dict[str, Counts]]] = [
        ("circle, degrees 1 to 10", mf.Circle(), np.ones(11), signs),
        ("circle, degrees 1 to 30", mf.Circle(), np.ones(31), signs),
        ("sphere, degree 12", mf.Sphere(), np.eye(13)[12], {"grid": by_grid}),
        ("sphere, degrees 1 to 12", mf.Sphere(), np.ones(13), {"grid": by_grid}),
    ]
    if not arguments.quick:
        smooth = np.exp(-(np.arange(26.0) ** 2) / 60)
        cases.append(("sphere, degree 25, smooth", mf.Sphere(), smooth, {"grid": by_grid}))
    for name, space, variances, others in cases:
        variances[0] = 0.0
        count = 10_000 if space.name == "circle" else 500
        fields = gaussian_fields(space, variances, count, np.random.default_rng(0))
        compare(name, space, fields, others)


if __name__ == "__main__":
    main()
