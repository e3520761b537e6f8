"""Right-hand side of characteristics: does it cost more than twice the bare work on its nodes?

The bare work is moments of the nodes and the velocity there: what any particle code must do. The
right-hand side also needs the divergence of the velocity, which is one more transform. Medians of
interleaved rounds.

Run: python tests/benchmarks/characteristics_rhs.py [--manifold sphere] [--quick]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

import meanfield as mf
from meanfield.representations.characteristics import CharacteristicsRepresentation

BETAS = {"circle": (1.0, 9.0, 81.0), "sphere": (2.0, 6.0, 25.0)}
NODES = {"circle": (500, 2_000, 8_000, 100_000), "sphere": (10_000, 100_000, 1_000_000)}
MODES = {"circle": [[3, 0.2, 0.1]], "sphere": [[3, 1, 0.1], [2, 0, 0.1]]}


def carrier(problem: mf.Problem, nodes: int) -> CharacteristicsRepresentation:
    """Characteristics on equal cells, about so many nodes, moved for a while."""
    space = problem.space
    length = 1.0
    cells = space.label_cells(length)
    while len(cells.weights) < nodes:
        length *= 0.97
        cells = space.label_cells(length)
    state = np.concatenate([np.ravel(cells.points), np.zeros(len(cells.weights))])
    measure = problem.initial_measure()
    assert isinstance(measure, mf.Density)
    found = CharacteristicsRepresentation(
        problem, state, cells, measure, tolerance=1e-10, max_nodes=len(state)
    )
    speed = np.abs(found.rhs(0.0, state)).max()
    for _ in range(10):
        state = state + 0.05 / speed * found.rhs(0.0, state)
    return CharacteristicsRepresentation(
        problem, state, cells, measure, tolerance=1e-10, max_nodes=len(state)
    )


def bare(found: CharacteristicsRepresentation) -> Callable[[], np.ndarray]:
    """Moments and velocity of the same nodes."""
    measure = found.measure(found.state)
    space, felt = found.problem.space, found.interaction

    def velocity() -> np.ndarray:
        moments = space.moments(measure.points, measure.weights, felt.degree)
        return felt.field(moments).velocity(measure.points)

    return velocity


def seconds(work: Callable[[], object]) -> float:
    """Time of one call."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--manifold", choices=sorted(BETAS), default="circle")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    space = {"circle": mf.Circle(), "sphere": mf.Sphere()}[options.manifold]
    law = mf.perturbed_uniform(MODES[options.manifold])
    print("flow  beta    nodes  degree  bare [ms]  right-hand side [ms]  ratio")
    worst = 0.0
    for name, flow in (("USA", mf.USA), ("SA", mf.SA)):
        for beta in BETAS[options.manifold]:
            for nodes in NODES[options.manifold][: 2 if options.quick else None]:
                found = carrier(mf.Problem(space, mf.exponential(beta), flow, law), nodes)
                plain = bare(found)
                rounds = max(5, int((3e4 if options.quick else 2e5) / nodes))
                times: tuple[list[float], list[float]] = ([], [])
                for _ in range(min(rounds, 100)):
                    times[0].append(seconds(plain))
                    times[1].append(seconds(lambda f=found: f.rhs(0.0, f.state)))
                one, all_ = (statistics.median(times[k]) for k in range(2))
                worst = max(worst, all_ / one)
                print(
                    f"{name:4s} {beta:5g} {len(found.masses):8d} {found.interaction.degree:7d} "
                    f"{1e3 * one:10.3f} {1e3 * all_:21.3f} {all_ / one:6.2f}"
                )
    print(f"largest ratio {worst:.2f}")


if __name__ == "__main__":
    main()
