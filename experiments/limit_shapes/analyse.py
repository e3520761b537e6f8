"""Run tokens of R^d without layer normalisation, and hold their limit shapes against theory.

Three theorems on tokens rescaled, z = e^{-tV} x: with V = 1 a polytope, with a simple leading
eigenvalue hyperplanes, with V = 1 on a plane a polytope there times what is left. Then a line,
whose attention becomes Boolean, and V = -1, under which tokens fall to 0 like powers. Prints each
number beside its expectation and draws limit_shapes.png.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

import meanfield as mf
from meanfield.outputs.plots.figures import new_figure, write_figure
from meanfield.outputs.plots.style import style
from meanfield.runs import Run
from meanfield.theory.limit_shapes import LimitShape, hull_volume

FOLDER = Path(__file__).parent
SIX = [(2, 0.3), (-1.5, 1.2), (-0.4, -1.8), (0.5, 0.6), (0.2, -0.3), (-0.6, 0.4)]
LINE = [[-1.2], [-0.3], [0.1], [0.4], [1.5]]
# By LSODA at 1e-11.
VERTICES = [
    [1.980834873366, 0.300221225290],
    [-1.474972159385, 1.180104171659],
    [-0.394245769216, -1.779553028990],
]
LEVELS = [-1.469201065497, 1.980745346979]
LAST_OF_LINE = [-1.019132439168, -0.986577885497, 1.356601914686, 1.372508826571, 1.402956651737]
LARGEST = {1.0: 1.07616701, 5.0: 0.56460294, 20.0: 0.30184645}
TOKENS = 24
# Values, and the dimension of the tokens.
DRAWN = {
    "V = 1": (1.0, 2),
    r"V = \mathrm{diag}(1, 0.4)": ([1.0, 0.4], 2),
    r"V = \mathrm{diag}(1, 1, 0.3)": ([1.0, 1.0, 0.3], 3),
}


def run_of(value: float | list[float], points: np.ndarray | list, until: float, save: int) -> Run:
    """Tokens of one softmax head with beta = 1."""
    attention = mf.Attention([mf.Head(value=value)], beta=1.0)
    space = mf.Space(np.shape(points)[1])
    problem = mf.Problem(space, attention, initial=mf.from_points(points))
    return mf.simulate(problem, until, save=save, tolerance=1e-12)


def shape_of(run: Run, time: float) -> LimitShape:
    """Limit shape at a saved time."""
    return mf.limit_shape(run.problem, run.measures[run.index_of(time)], time)


def main() -> int:
    """Run, check, draw."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--short", action="store_true", help="the same: it takes seconds")
    options.parse_args()
    polytope, planes = run_of(1.0, SIX, 10.0, 21), run_of([1.0, 0.4], SIX, 16.0, 3)
    line, falling = run_of(1.0, LINE, 4.0, 5), run_of(-1.0, SIX, 20.0, 21)
    pair = run_of(-1.0, [[0.6, 0.8], [-0.6, -0.8]], 10.0, 2)
    for run in (polytope, planes, line, falling):
        print(shape_of(run, run.time[-1]), end="\n\n")
    shapes = [shape_of(polytope, time) for time in polytope.time]
    volumes = np.array([hull_volume(each.points) for each in shapes])
    largest = [np.linalg.norm(falling.measures[falling.index_of(t)].points, axis=1).max()
               for t in LARGEST]  # fmt: skip
    square = float(np.square(pair.measures[-1].points[0]).sum())
    checks = {
        "polytope: vertices minus those of LSODA": (
            np.abs(shapes[-1].points[:3] - VERTICES).max(), 1e-8),
        "polytope: largest growth of the area": (np.diff(volumes).max(), 1e-11),
        "polytope: attention at t = 5 from Boolean": (shapes[10].attention_error, 1e-6),
        "hyperplanes: levels minus those of LSODA": (
            np.abs(shape_of(planes, 16.0).levels - LEVELS).max(), 1e-8),
        "line: tokens minus those of LSODA": (
            np.abs(shape_of(line, 4.0).points[:, 0] - LAST_OF_LINE).max(), 1e-8),
        "line: attention at t = 3 from Boolean": (shape_of(line, 3.0).attention_error, 1e-8),
        "origin: largest lengths minus those of LSODA": (
            np.abs(np.array(largest) - list(LARGEST.values())).max(), 1e-7),
        "origin: |x|^2 of a pair at t = 10": (abs(square - 0.048333020689), 1e-9),
    }  # fmt: skip
    for name, (found, allowed) in checks.items():
        print(f"{name}: {found:.2e} (allowed {allowed:.0e})")
    draw()
    return int(any(not found <= allowed for found, allowed in checks.values()))


def draw() -> None:
    """Paths of more tokens under each of the three theorems."""
    rng = np.random.default_rng(3)
    with style():
        figure = new_figure((13.0, 4.4))
        for axes, (name, (value, d)) in zip(figure.subplots(1, 3), DRAWN.items(), strict=True):
            run = run_of(value, 2.0 * rng.standard_normal((TOKENS, d)), 6.0, 61)
            theorem = shape_of(run, 6.0).theorem
            run.plot("hulls", ax=axes, title=f"${name}$: {theorem}")
    write_figure(figure, FOLDER / "limit_shapes.png")


if __name__ == "__main__":
    sys.exit(main())
