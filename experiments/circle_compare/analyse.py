"""Distance of N tokens from the density on the circle: exponent in N, and growth.

The exponent of the mean distance near half the onset time of the smallest systems must be
-1/2. From the uniform law linear theory has the growth of W_2 in closed form,

    E W_2^2(t) = (2 / n) sum_k e^{2 lambda_k t} / k^2,

which the largest systems must follow in their linear phase. Draws compare.png.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from claims import Claim
from commands import compare

import meanfield as mf
from meanfield.runfile import load_config
from meanfield.store.study_file import read_result

SECONDS = 180, 20
FOLDER = Path(__file__).parent
RUN_FILE = FOLDER / "run.toml"
SHORT = ["compare.tokens=[100, 1000, 10000]", "compare.runs=20", "time.end=24.0"]
UNIFORM = ['initial={name="uniform"}', "compare.metric=W2", "compare.runs=40"]
DEGREES = 3000  # truncation leaves out at most 1 / 3000 of the sum


def main(short: bool) -> list[Claim]:
    """Run, check, draw."""
    compare(FOLDER, "run-compare.h5", SHORT if short else [], "--plot", FOLDER / "compare.png")
    # Only the largest systems, to half their own onset time.
    largest = 10_000 if short else 100_000
    until = [f"compare.tokens=[{largest}]", f"time.end={24.0 if short else 30.0}", "time.save=5"]
    compare(FOLDER, "uniform-compare.h5", UNIFORM + until)
    study = read_result(FOLDER / "run-compare.h5", "comparison")
    growth, expected = uniform_growth()
    print("\nfrom the uniform law: growth of the root mean square W2, and that of linear theory")
    for row in zip(
        read_result(FOLDER / "uniform-compare.h5", "comparison").times,
        growth,
        expected,
        strict=True,
    ):
        print("t = {:5.1f}  {:7.4f}  {:7.4f}".format(*row))
    error = float(np.abs(growth / expected - 1.0).max())
    return [
        Claim(f"exponent of W1 at t = {study.exponent_time:g}", -0.5, study.exponent, 0.05),
        Claim("growth of W2, relative error", 0.0, error, 0.1),
    ]


def uniform_growth() -> tuple[np.ndarray, np.ndarray]:
    """Root mean square W_2 relative to time 0: measured, and by linear theory."""
    study = read_result(FOLDER / "uniform-compare.h5", "comparison")
    squares = (study.distances[0] ** 2).mean(axis=0)
    k = np.arange(1, DEGREES + 1)
    rates = mf.growth_rates(load_config(RUN_FILE).problem, DEGREES)[1:]
    series = (np.exp(2.0 * rates * study.times[:, None]) / k**2).sum(axis=1)
    return np.sqrt(squares / squares[0]), np.sqrt(series / series[0])
