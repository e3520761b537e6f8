"""Distance of N tokens from the density on the sphere: exponents in N, and growth.

Moments of independent tokens have errors of order n^{-1/2}, and so has the negative Sobolev
distance, at every time before the onset. W_1 includes all degrees, and on the sphere falls like
sqrt(ln n / n): a fit over 100 to 4,000 tokens gives about -0.44. From the uniform law linear theory
has the growth of the Sobolev distance in closed form,

    E H^2(t) = (1 / n) sum_{l = 1}^{12} (2 l + 1) e^{2 lambda_l t} / (l (l + 1)).

Draws compare.png and w1.png.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from claims import Claim
from commands import compare

import meanfield as mf
from meanfield.runfile import load_config
from meanfield.store.study_file import read_result

SECONDS = 240, 45
FOLDER = Path(__file__).parent
RUN_FILE = FOLDER / "run.toml"
SHORT = ["compare.tokens=[100, 1000, 10000]", "compare.runs=16"]
# W_1 at one time before the onset of the smallest systems, t = 64.8.
W1 = ["compare.metric=W1", "compare.tokens=[100, 400, 1600, 4000]", "compare.runs=10"]
W1_SHORT = ["compare.metric=W1", "compare.tokens=[50, 100, 200, 400]", "compare.runs=8"]
W1_TIME = ["time.end=30", "time.save=2"]
UNIFORM = ['initial={name="uniform"}', "compare.runs=40", "time.save=5"]
DEGREES = 12


def main(short: bool) -> list[Claim]:
    """Run, check, draw."""
    w1 = (W1_SHORT if short else W1) + W1_TIME
    # Only large systems, for linear theory.
    uniform = [*UNIFORM, f"compare.tokens=[{2_000 if short else 20_000}]"]
    compare(FOLDER, "run-compare.h5", SHORT if short else [], "--plot", FOLDER / "compare.png")
    compare(FOLDER, "w1-compare.h5", w1, "--plot", FOLDER / "w1.png")
    compare(FOLDER, "uniform-compare.h5", uniform)
    sobolev, exact = (
        read_result(FOLDER / f"{name}-compare.h5", "comparison") for name in ("run", "w1")
    )
    growth, expected = uniform_growth()
    print("\nfrom the uniform law: growth of the root mean square distance, and linear theory")
    for row in zip(
        read_result(FOLDER / "uniform-compare.h5", "comparison").times,
        growth,
        expected,
        strict=True,
    ):
        print("t = {:5.1f}  {:7.4f}  {:7.4f}".format(*row))
    error = float(np.abs(growth / expected - 1.0).max())
    return [
        Claim(
            f"exponent of the Sobolev distance at t = {sobolev.exponent_time:g}",
            -0.5,
            sobolev.exponent,
            0.05,
        ),
        Claim(f"exponent of W1 at t = {exact.exponent_time:g}", -0.44, exact.exponent, 0.05),
        Claim("growth of the distance, relative error", 0.0, error, 0.1),
    ]


def uniform_growth() -> tuple[np.ndarray, np.ndarray]:
    """Root mean square distance relative to time 0: measured, and by linear theory."""
    study = read_result(FOLDER / "uniform-compare.h5", "comparison")
    squares = (study.distances[0] ** 2).mean(axis=0)
    l = np.arange(1, DEGREES + 1)
    rates = mf.growth_rates(load_config(RUN_FILE).problem, DEGREES)[1:]
    weights = (2 * l + 1) / (l * (l + 1))
    series = (weights * np.exp(2.0 * rates * study.times[:, None])).sum(axis=1)
    return np.sqrt(squares / squares[0]), np.sqrt(series / series[0])
