"""Cost of saved times, beside the run itself.

The same run with 2 and with 121 saved times: with clusters and energy, which every run has, and
with the usual observables (peaks ...) too. Processor seconds on one thread, interleaved rounds;
ratios are median (quartiles). Evaluations of the right-hand side stand beside them. Then one save
of a million tokens with the usual observables, uniform and in five clusters.

Run: python tests/benchmarks/saved_times.py [--quick]
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from side_by_side import options, side_by_side, use_threads

import meanfield as mf
from meanfield.carriers.particles import particles
from meanfield.observables import USUAL_OBSERVABLES, observe

SAVES = 121


def problems() -> dict[str, tuple[mf.Problem, dict[str, object]]]:
    """Problems with the options of their runs, which all end at t = 6."""
    circle, sphere, many = mf.Circle(), mf.Sphere(), mf.Sphere(7)
    on_circle = mf.perturbed_uniform([[3, 0.1, 0.0], [1, 0.02, 0.3]])
    on_sphere = mf.perturbed_uniform([[2, 0, 0.1]])
    tokens: dict[str, object] = {"representation": "particles", "tolerance": 1e-8}
    noisy = mf.Flow(normalized=False, diffusivity=0.05)
    return {
        "circle, 2,000 tokens": (
            mf.Problem(circle, mf.exponential(9.0), mf.USA), tokens | {"tokens": 2000}
        ),
        "sphere, 2,000 tokens": (
            mf.Problem(sphere, mf.exponential(5.0), mf.USA), tokens | {"tokens": 2000}
        ),
        "S^6, 300 tokens, softmax": (
            mf.Problem(many, mf.exponential(5.0), mf.SA), tokens | {"tokens": 300}
        ),
        "circle, density": (mf.Problem(circle, mf.exponential(9.0), mf.USA, on_circle), {}),
        "circle, noisy density": (mf.Problem(circle, mf.exponential(9.0), noisy, on_circle), {}),
        "sphere, density": (mf.Problem(sphere, mf.exponential(5.0), mf.USA, on_sphere), {}),
    }  # fmt: skip


def run(problem: mf.Problem, saves: int, options: dict[str, object]) -> Callable[[], mf.Run]:
    return lambda: mf.simulate(problem, until=6.0, save=saves, progress=False, **options)


def save(problem: mf.Problem, tokens: mf.Measure) -> float:
    """Least processor seconds of three saves."""
    carrier, seconds = particles(problem, tokens), []
    for _ in range(3):
        begin = time.process_time()
        measure, moments, _ = carrier.at_saved_time(0.0, carrier.state, problem.moment_degree)
        observe(problem, measure, moments, USUAL_OBSERVABLES)
        seconds.append(time.process_time() - begin)
    return min(seconds)


def million(space: mf.Circle | mf.Sphere, width: float) -> mf.Measure:
    """Tokens about five random points; uniform for an infinite width."""
    rng, d = np.random.default_rng(0), space.ambient
    centres = rng.standard_normal((5, d))
    centres /= np.linalg.norm(centres, axis=1)[:, None]
    vectors = rng.standard_normal((1_000_000, d))
    if np.isfinite(width):
        vectors = centres[rng.integers(5, size=len(vectors))] + width * vectors
    return mf.Measure(space, space.points_of(vectors))


def main() -> None:
    chosen = options(__doc__).parse_args()
    use_threads(1)
    print(f"{'':26} {'2 saves, s':>10} {f'{SAVES}: few observables':>22} {'usual ones':>22}"
          f" {'evaluations':>12}")  # fmt: skip
    for name, (problem, arguments) in problems().items():
        few = arguments | {"observables": []}
        calls = {
            "two": run(problem, 2, few),
            "few": run(problem, SAVES, few),
            "usual": run(problem, SAVES, arguments),
        }
        times = side_by_side(calls, 3 if chosen.quick else 9, least=0.1)
        two = times["two"]
        counts = [int(call().diagnostics["evaluations"][-1]) for call in list(calls.values())[:2]]
        print(
            f"{name:26} {two.seconds:10.4f} {times['few'].over(two):>22}"
            f" {times['usual'].over(two):>22} {counts[0]:>5d} {counts[1]:>6d}",
            flush=True,
        )
    for name in ("circle, 2,000 tokens", "sphere, 2,000 tokens"):
        problem, _ = problems()[name]
        space = problem.manifold
        uniform, clustered = (save(problem, million(space, width)) for width in (np.inf, 0.01))
        print(f"{space.name}, 10^6 tokens: a save takes {uniform:.2f} s,"
              f" in five clusters {clustered:.2f} s")  # fmt: skip


if __name__ == "__main__":
    main()
