"""How fast is the density's right-hand side, beside SciPy's FFT and the bare transforms?

Prints, for several degrees, medians of interleaved rounds of

    ours      DensityRepresentation.rhs, as a run calls it
    scipy     the same right-hand side written with scipy.fft and numpy
    bare      the transforms alone that it needs: one complex and one real (USA), two real (SA),
              with the fastest library calls that this package has at hand

and the ratios scipy / ours and ours / bare. Run: python tests/benchmarks/density_rhs.py
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import ducc0
import numpy as np
import rocket_fft  # noqa: F401
import scipy
import scipy.fft

import meanfield as mf
from meanfield.compute.compiled import njit
from meanfield.manifolds.circle.grid import alias_free_size
from meanfield.representations.density import DensityRepresentation


@njit(cache=False)
def _ifft(values):  # type: ignore[no-untyped-def]
    return np.fft.ifft(values)


@njit(cache=False)
def _rfft(values):  # type: ignore[no-untyped-def]
    return np.fft.rfft(values)


@njit(cache=False)
def _irfft(values, size):  # type: ignore[no-untyped-def]
    return np.fft.irfft(values, size)


def nodes(representation: DensityRepresentation) -> int:
    """Nodes that the transforms need: 2 K + H, or 3 K where the velocity is a quotient."""
    felt, degree = representation.interaction, representation.grid.max_degree
    return alias_free_size(degree, felt.degree if felt.attention_multipliers is None else degree)


def scipy_rhs(representation: DensityRepresentation) -> Callable[[np.ndarray], np.ndarray]:
    """Right-hand side through scipy.fft, well written: nothing is allocated twice."""
    felt = representation.interaction
    degree = representation.grid.max_degree
    size = nodes(representation)
    modes = 1j * np.arange(degree + 1)
    slope = modes[: felt.degree + 1] * felt.potential_multipliers
    attention = felt.attention_multipliers

    def rhs(c: np.ndarray) -> np.ndarray:
        low = c[: felt.degree + 1]
        f = scipy.fft.irfft(c, size, norm="forward")
        f *= scipy.fft.irfft(slope * low, size, norm="forward")
        if attention is not None:
            f /= scipy.fft.irfft(attention * low, size, norm="forward")
        return -modes * scipy.fft.rfft(f, norm="forward", overwrite_x=True)[: degree + 1]

    return rhs


def bare_transforms(size: int, normalized: bool) -> Callable[[], None]:
    """The transforms alone, each by the faster of rocket-fft and ducc0."""
    rng = np.random.default_rng(0)
    real = rng.normal(size=size)
    full, half = real + 1j * real, np.fft.rfft(real)
    out, out_real, out_half = np.empty_like(full), np.empty_like(real), np.empty_like(half)
    choices: list[list[Callable[[], object]]] = [
        [lambda: _ifft(full), lambda: ducc0.fft.c2c(full, forward=False, out=out)],
        [lambda: _rfft(real), lambda: ducc0.fft.r2c(real, out=out_half)],
    ]
    if normalized:
        choices.append(
            [
                lambda: _irfft(half, size),
                lambda: ducc0.fft.c2r(half, lastsize=size, forward=False, out=out_real),
            ]
        )
    best = [min(pair, key=lambda call: _seconds(call, 200)) for pair in choices]

    def run() -> None:
        for call in best:
            call()

    return run


def _seconds(call: Callable[[], object], repeat: int) -> float:
    call()
    began = time.perf_counter()
    for _ in range(repeat):
        call()
    return (time.perf_counter() - began) / repeat


def measure(degree: int, normalized: bool, rounds: int) -> list[float]:
    """Median seconds of ours, scipy and bare."""
    flow = mf.SA if normalized else mf.USA
    problem = mf.Problem(mf.Circle(), mf.exponential(9.0), flow)
    # Three peaks, positive everywhere as in runs, whose spectrum has a floor of rounding as theirs
    # has: no denormal numbers.
    k = np.arange(degree + 1)
    peaks = sum(w * np.exp(-1j * k * x) for w, x in ((0.4, 0.3), (0.3, 2.0), (0.3, 4.1)))
    c = peaks * np.exp(-0.05 * k) + 1e-17 * np.exp(1j * k**2)
    c[0] = 1.0
    representation = DensityRepresentation(problem, c, 1e-10, degree)
    other = scipy_rhs(representation)
    difference = np.abs(representation.rhs(0.0, c) - other(c)).max()
    assert difference < 1e-12 * degree, difference
    calls = [
        lambda: representation.rhs(0.0, c),
        lambda: other(c),
        bare_transforms(nodes(representation), normalized),
    ]
    repeat = max(20, 200_000 // degree)
    times: list[list[float]] = [[], [], []]
    for _ in range(rounds):
        for i, call in enumerate(calls):
            times[i].append(_seconds(call, repeat))
    return [statistics.median(t) for t in times] + [nodes(representation)]


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="two degrees, few rounds")
    quick = options.parse_args().quick
    print(f"scipy {scipy.__version__}, numpy {np.__version__}; microseconds")
    print(f"{'degree':>6} {'nodes':>6} {'flow':>4} {'ours':>8} {'scipy':>8} {'bare':>8}"
          f" {'scipy/ours':>10} {'ours/bare':>9}")  # fmt: skip
    for normalized in (False, True):
        for degree in (128, 1024) if quick else (128, 256, 512, 1024, 2048, 4096, 16384):
            ours, other, bare, size = measure(degree, normalized, 3 if quick else 11)
            print(
                f"{degree:6d} {size:6.0f} {'SA' if normalized else 'USA':>4} {ours * 1e6:8.1f}"
                f" {other * 1e6:8.1f} {bare * 1e6:8.1f} {other / ours:10.2f} {ours / bare:9.2f}"
            )


if __name__ == "__main__":
    main()
