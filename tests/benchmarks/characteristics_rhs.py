"""Right-hand side of characteristics: does it cost more than twice the bare work on its nodes?

The bare work is moments of the nodes and the velocity there: what any particle code must do. The
right-hand side also needs the divergence of the velocity, which is one more transform. Processor
time on one thread, interleaved rounds.

Run: python tests/benchmarks/characteristics_rhs.py [--manifold sphere] [--quick]
"""

from __future__ import annotations

import numpy as np
from side_by_side import Call, options, side_by_side, use_threads

import meanfield as mf
from meanfield.carriers.characteristics import CharacteristicsRepresentation
from meanfield.spaces.label_cells import label_cells

BETAS = {"circle": (1.0, 9.0, 81.0), "sphere": (2.0, 6.0, 25.0)}
NODES = {"circle": (500, 2_000, 8_000, 100_000), "sphere": (10_000, 100_000, 1_000_000)}
MODES = {"circle": [[3, 0.2, 0.1]], "sphere": [[3, 1, 0.1], [2, 0, 0.1]]}


def carrier(problem: mf.Problem, nodes: int) -> CharacteristicsRepresentation:
    """Characteristics on equal cells, about so many nodes, moved for a while."""
    space = problem.manifold
    length = 1.0
    cells = label_cells(space, length)
    while len(cells.weights) < nodes:
        length *= 0.97
        cells = label_cells(space, length)
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


def bare(found: CharacteristicsRepresentation) -> Call:
    """Moments and velocity of the same nodes."""
    measure = found.measure(found.state)
    space, felt = found.problem.manifold, found.interaction

    def velocity() -> np.ndarray:
        moments = space.moments(measure.points, measure.weights, felt.degree)
        return felt.field(moments).velocity(measure.points)

    return velocity


def main() -> None:
    """Print the table."""
    parser = options(__doc__)
    parser.add_argument("--manifold", choices=sorted(BETAS), default="circle")
    given = parser.parse_args()
    use_threads(1)
    space = {"circle": mf.Circle(), "sphere": mf.Sphere()}[given.manifold]
    law = mf.perturbed_uniform(MODES[given.manifold])
    print("flow  beta    nodes  degree  bare [ms]  right-hand side / bare")
    for name, flow in (("USA", mf.USA), ("SA", mf.SA)):
        for beta in BETAS[given.manifold]:
            for nodes in NODES[given.manifold][: 2 if given.quick else None]:
                found = carrier(mf.Problem(space, mf.exponential(beta), flow, law), nodes)
                times = side_by_side(
                    {"bare": bare(found), "all": lambda f=found: f.rhs(0.0, f.state)}, 9
                )
                print(
                    f"{name:4s} {beta:5g} {len(found.masses):8d} {found.interaction.degree:7d} "
                    f"{1e3 * times['bare'].seconds:10.3f} "
                    f"{times['all'].over(times['bare']):>23}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
