"""Cost of tangents and adjoints of a density run, beside its own right-hand side.

A step has twelve stages. For K columns, forwards or backwards, a stage takes its F(f) and F' or
its transpose K times; the engine's own transport, which plain runs call, is the unit. Whoever has
nothing but that takes 2 K + 2 of them: K pairs of differences, or a product and its slopes for
each column. Interleaved rounds on one thread, processor time, ratios as median (quartiles):

    forward    F and K tangents of one stage, over transport
    adjoint    F and K adjoints of one stage, over transport

and a gradient with respect to 20 parameters (twenty modes of the initial density, then entries of
two heads) over the 40 runs of central differences.

Run: python tests/benchmarks/tangents.py [--quick]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from side_by_side import options, side_by_side, use_threads

import meanfield as mf
from meanfield.bases.coordinates import coordinates
from meanfield.bases.grid import Grid
from meanfield.fields.interactions import AnyInteraction, interaction_of, transport
from meanfield.fields.linearised import LinearisedFlow

DEGREES = {"circle": 128, "sphere": 32}
MATRICES = np.array([[[0.9, 0.7], [-0.4, 0.5]], [[0.8, 0.3], [-0.6, 1.1]]])


ProblemOf = Callable[[np.ndarray], mf.Problem]


def smooth(space: mf.Circle | mf.Sphere, degree: int, count: int) -> np.ndarray:
    of = coordinates(space.dimension, degree)
    sizes = np.exp(-0.5 * of.vector_degrees)
    numbers = np.random.default_rng(0).standard_normal((count, of.size))
    return of.to_coefficients(numbers * sizes)


def stage(field: AnyInteraction, grid: Grid, f: np.ndarray, rows: np.ndarray, how: str) -> None:
    """F and the derivative, or its transpose, at one density."""
    at = LinearisedFlow(field, grid, f)
    _ = at.transport
    getattr(at, how)(rows)


def columns(rounds: int) -> None:
    print("manifold flow    K   transport us          forward / it          adjoint / it")
    for space in (mf.Circle(), mf.Sphere()):
        degree = DEGREES[space.name]
        f = 0.2 * smooth(space, degree, 1)[0]
        f[0] = 1.0
        head = mf.Head(score=np.diag([1.0, 0.5, 0.2][: space.ambient]))
        problems = {
            "USA": mf.Problem(space, mf.exponential(5.0), mf.USA),
            "SA": mf.Problem(space, mf.exponential(5.0), mf.SA),
            "heads": mf.Problem(space, mf.Attention([head], "none", beta=2.0)),
        }
        for name, problem in problems.items():
            field = interaction_of(problem)
            own = transport(field, degree)
            for count in (1, 4, 16):
                rows = smooth(space, degree, count)

                at = partial(stage, field, space.grid(degree), f, rows)
                calls = {
                    "own": partial(own, f, False),
                    "forward": partial(at, "derivative"),
                    "adjoint": partial(at, "adjoint"),
                }
                times = side_by_side(calls, rounds)
                unit = times["own"]
                print(
                    f"{space.name:8} {name:6}{count:3d} {unit.seconds * 1e6:12.1f} "
                    f"{times['forward'].over(unit):>21} {times['adjoint'].over(unit):>21}",
                    flush=True,
                )


def modes(p: np.ndarray) -> mf.Problem:
    law = mf.from_density([1.0, 0.2, *(p[:10] + 1j * p[10:])])
    return mf.Problem(mf.Circle(), mf.exponential(5.0), mf.SA, law)


def heads(p: np.ndarray) -> mf.Problem:
    scores = MATRICES[0] + p[:8].reshape(2, 2, 2)
    values = MATRICES[1] + p[8:16].reshape(2, 2, 2)
    both = [mf.Head(score=s, value=v) for s, v in zip(scores, values, strict=True)]
    law = mf.from_density([1.0, 0.2, *p[16:]])
    return mf.Problem(mf.Circle(), mf.Attention(both, beta=3.0), initial=law)


def sphere(p: np.ndarray) -> mf.Problem:
    law = mf.perturbed_uniform([[l, 1, 0.02 + p[l]] for l in range(2, 12)])
    drift = mf.LinearDrift(p[11:].reshape(3, 3))
    return mf.Problem(mf.Sphere(), mf.exponential(5.0 + p[0]), mf.SA, law, drift=drift)


def gradients(rounds: int) -> None:
    print("\nparameters        gradient s    40 runs of the same degree / gradient")
    at = np.full(20, 0.01)

    def second_moment(moments: np.ndarray) -> float:
        return float(abs(moments[2]) ** 2)

    cases = {"modes": (modes, 1.0, 96), "heads": (heads, 1.0, 96), "sphere": (sphere, 0.5, 32)}
    for name, (problem, until, degree) in cases.items():

        def swept(problem: ProblemOf = problem, until: float = until, degree: int = degree) -> None:
            mf.gradient(problem, at, second_moment, until=until, degree=degree, tolerance=1e-7)

        def forty(problem: ProblemOf = problem, until: float = until, degree: int = degree) -> None:
            for n in range(40):
                p = at.copy()
                p[n // 2] += 1e-4 * (-1) ** n
                mf.simulate(
                    problem(p), until, save=2, representation="density", max_degree=degree,
                    tolerance=1e-7,
                )  # fmt: skip

        times = side_by_side({"swept": swept, "forty": forty}, rounds)
        ratio = times["forty"].over(times["swept"])
        print(f"{name:14} {times['swept'].seconds:13.3f} {ratio:>30}", flush=True)


def main() -> None:
    arguments = options(__doc__).parse_args()
    use_threads(1)
    columns(5 if arguments.quick else 15)
    gradients(3 if arguments.quick else 7)


if __name__ == "__main__":
    main()
