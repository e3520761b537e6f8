"""Adaptive sweeps: how many runs do phase diagrams need, and is the boundary that of all runs?

Two diagrams on an equal grid, once whole and once adaptive: noisy order over beta and diffusivity,
and the number of clusters over beta and time. Members where the adaptive diagram differs from the
whole one are counted.

Run: python tests/benchmarks/adaptive_sweep.py [--count 65] [--quick]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import meanfield as mf

COARSE = {"representation": {"tolerance": 1e-4}}


def noisy(count: int) -> tuple[mf.Problem, dict[str, str], str, dict[str, float]]:
    law = mf.perturbed_uniform([[1, 0.2, 0.0]])
    problem = mf.Problem(mf.Circle(), mf.exponential(1.0), mf.SA, law)
    over = {"problem.beta": f"0.5:4:{count}", "problem.diffusivity": f"0.1:1:{count}"}
    return problem, over, "order_parameter@0.3", {"end": 40.0, "save": 2}


def forming(count: int) -> tuple[mf.Problem, dict[str, str], str, dict[str, float]]:
    """Number of clusters of a density on the circle, none before they have separated."""
    law = mf.perturbed_uniform([[1, 0.03, 0.01], [2, 0.02, 0.0], [3, 0.0, -0.02], [4, 0.02, 0.01]])
    problem = mf.Problem(mf.Circle(), mf.exponential(1.0), mf.USA, law)
    over = {"problem.beta": f"1:9:{count}", "time.end": f"1:64:{count}:log"}
    return problem, over, "clusters", {"save": 2}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=65, help="values of each parameter")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    count = 17 if options.quick else options.count
    print(f"{'diagram':10} {'members':>8} {'run':>6} {'ratio':>6} {'differ':>7}")
    for diagram in (noisy, forming):
        problem, over, goal, time = diagram(count)
        name, _, level = goal.partition("@")
        sides = []
        with TemporaryDirectory() as place:
            for adaptive in (None, goal):
                sweep = mf.sweep(
                    problem, over, folder=Path(place) / str(adaptive), time=time, workers=2,
                    adaptive=adaptive, **COARSE,
                )  # fmt: skip
                values = np.nan_to_num(sweep.values(name))
                sides.append(values > float(level) if level else values)
        done = sum(member.status == "completed" for member in sweep.members)
        differ = int((sides[0] != sides[1]).sum())
        row = f"{sides[0].size:8} {done:6} {sides[0].size / done:6.1f} {differ:7}"
        print(f"{diagram.__name__:10} {row}")


if __name__ == "__main__":
    main()
