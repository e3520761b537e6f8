"""How long do tokens take to scaled time 1e12, and atoms to 1e60, beside general stiff solvers?

Tokens at beta = 25 (USA) with representation "auto", 121 saved times, observables included; beside
them SciPy's LSODA on the same tokens to 1e6 only (it needs minutes to 1e12), and what DOP853 would
take on its stability limit, extrapolated from one right-hand side. Radau carries the atoms of the
hand-over on to 1e12 without merging any: how far apart do the two end?
Run: python tests/benchmarks/long_times.py
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp

import meanfield as mf
from meanfield.manifolds.circle.pairs import exponential_velocity_circle

BETA, END = 25.0, 1e12
# DOP853 is stable up to a step of 6.4 for tokens that have met, in 12 stages.
STAGES_PER_UNIT = 12 / 6.4


def seconds(call: Callable[[], object]) -> float:
    """Wall time of a call."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def tokens(count: int) -> mf.Problem:
    """Random tokens on the circle."""
    angles = np.random.default_rng(0).uniform(0, 2 * np.pi, count)
    return mf.Problem(mf.Circle(), mf.exponential(BETA), mf.USA, mf.from_points(angles))


def to_the_end(problem: mf.Problem) -> mf.Run:
    """Run to 1e12."""
    times = np.geomspace(1.0, END, 121)
    times[-1] = END
    return mf.simulate(problem, until=END, save=times)


def apart(problem: mf.Problem) -> float:
    """Largest distance at 1e12 from Radau, which starts from the atoms of the hand-over."""
    event = next(e for e in to_the_end(problem).events if e.kind == "hand-over")
    begin = 1.0001 * event.time
    first, last = mf.simulate(problem, until=END, save=[begin, END]).measures
    solution = solve_ivp(
        lambda t, y: exponential_velocity_circle(y, first.weights, BETA, False),
        (begin, END),
        first.points,
        "Radau",
        rtol=1e-9,
        atol=1e-10,
    )
    distance = mf.Circle().distance(solution.y[:, -1][:, None], last.points[None])
    return float(distance.min(axis=1).max())


def main() -> None:
    """Print medians and ratios."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="few rounds, 1,000 tokens only")
    quick = options.parse_args().quick
    rounds = 3 if quick else 7
    few = tokens(1000)
    to_the_end(few)
    for problem in [few] if quick else [few, tokens(100_000)]:
        count = len(problem.initial_measure().points)
        took = statistics.median(seconds(lambda p=problem: to_the_end(p)) for _ in range(rounds))
        carrier = mf.representations.represent(problem, mf.representations.Options())
        one = min(seconds(lambda c=carrier: c.rhs(0.0, c.state)) for _ in range(9))
        explicit = one * STAGES_PER_UNIT * END
        print(
            f"{count:7} tokens to 1e12: {took:.2f} s; DOP853 {explicit / 3.15e7:.2g} years, "
            f"{explicit / took:.1g} times as long"
        )
    angles = few.initial_measure().points
    stiff = seconds(
        lambda: solve_ivp(
            lambda t, y: exponential_velocity_circle(y, None, BETA, False),
            (0.0, 1e6),
            angles,
            "LSODA",
            rtol=1e-6,
            atol=1e-6,
        )
    )
    print(f"   1000 tokens by LSODA at tolerance 1e-6, to 1e6 only: {stiff:.1f} s")
    print(f"   distance from Radau at 1e12: {apart(few):.1e}")
    law = mf.from_points(
        2 * np.pi * np.arange(12) / 12 + 0.05 * np.sin(np.arange(12)), name="atoms"
    )
    atoms = mf.Problem(mf.Circle(), mf.exponential(81.0), mf.USA, law)
    took = statistics.median(
        seconds(lambda: mf.simulate(atoms, until=1e60, save=np.geomspace(1.0, 1e60, 241)))
        for _ in range(rounds)
    )
    print(f"     12 atoms at beta = 81 to 1e60: {took:.2f} s")


if __name__ == "__main__":
    main()
