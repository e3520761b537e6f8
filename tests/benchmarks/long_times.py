"""How long do tokens take to scaled time 1e12, and atoms to 1e60, beside stiff solvers?

1,000 random tokens on the circle, beta = 25, USA, to 1e6 and to 1e12: simulate with representation
"auto" at tolerances 1e-6 and 1e-10; beside it, at relative tolerance 1e-6,

    LSODA        SciPy's, with our right-hand side, and then with its Jacobian
    LSODA pairs  the same with the compiled sum over pairs, once
    CVODE        scikit-sundae's BDF with GMRES, our right-hand side and no Jacobian

Processor time on one thread, interleaved rounds; ratios to ours at tolerance 1e-6, median
(quartiles). The last column is how far a token ends from ours. To 1e12 only what gets there in
seconds is run. Then 12 atoms at beta = 81 to 1e60, and 100,000 tokens to 1e12, by ours alone.
Run: python tests/benchmarks/long_times.py [--quick]
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp
from side_by_side import optional, options, side_by_side, use_threads

import meanfield as mf
from meanfield.carriers.particles import ParticleRepresentation
from meanfield.engines.pairs.circle import exponential_velocity_circle

BETA, TOLERANCE = 25.0, 1e-6
sksundae = optional("sksundae")

Velocity = Callable[[np.ndarray], np.ndarray]
End = Callable[[], np.ndarray]


def tokens(count: int) -> mf.Problem:
    angles = np.random.default_rng(0).uniform(0, 2 * np.pi, count)
    return mf.Problem(mf.Circle(), mf.exponential(BETA), mf.USA, mf.from_points(angles))


def ours(problem: mf.Problem, end: float, tolerance: float = 1e-10) -> End:
    """Points at the end, with 121 states saved on the way."""
    times = np.geomspace(1.0, end, 121)
    times[-1] = end

    def run() -> np.ndarray:
        done = mf.simulate(problem, until=end, save=times, tolerance=tolerance)
        return np.asarray(done.measures[-1].points)

    return run


def jacobian(angles: np.ndarray) -> np.ndarray:
    """dv_i / dtheta_j by matrix products, v_i = -1/n sum_j e^{beta (cos d_ij - 1)} sin d_ij."""
    cosine, sine = np.cos(angles), np.sin(angles)
    along = np.outer(cosine, cosine) + np.outer(sine, sine)
    slope = np.exp(BETA * (along - 1.0)) * (along - BETA * (1.0 - along * along)) / len(angles)
    slope[np.diag_indices_from(slope)] -= slope.sum(axis=1)
    return slope


def by_lsoda(
    start: np.ndarray, end: float, velocity: Velocity, slope: Velocity | None = None
) -> End:
    def run() -> np.ndarray:
        solution = solve_ivp(
            lambda _, x: velocity(x),
            (0.0, end),
            start,
            "LSODA",
            t_eval=[end],
            rtol=TOLERANCE,
            atol=TOLERANCE,
            jac=slope and (lambda _, x: slope(x)),
        )
        assert solution.success, solution.message
        return np.asarray(solution.y[:, -1])

    return run


def by_cvode(start: np.ndarray, end: float, velocity: Velocity) -> End:
    from sksundae.cvode import CVODE

    def rhs(_: float, x: np.ndarray, out: np.ndarray) -> None:
        out[:] = velocity(x)

    solver = CVODE(
        rhs,
        method="BDF",
        rtol=TOLERANCE,
        atol=TOLERANCE,
        linsolver="gmres",
        max_num_steps=10**7,
    )
    return lambda: np.asarray(solver.solve(np.array([0.0, end]), start).y[-1])


def apart(result: np.ndarray, reference: np.ndarray) -> float:
    distance = mf.Circle().distance(result[:, None], reference[None])
    return float(distance.min(axis=1).max())


def compare(end: float, rounds: int) -> None:
    problem = tokens(1000)
    start = problem.initial_measure().points
    particles = ParticleRepresentation(problem, start)

    def fields(x: np.ndarray) -> np.ndarray:
        return particles.rhs(0.0, x)

    def pairs(x: np.ndarray) -> np.ndarray:
        return exponential_velocity_circle(x, None, BETA, False)

    calls = {"ours, 1e-6": ours(problem, end, TOLERANCE), "ours, 1e-10": ours(problem, end)}
    if end <= 1e6:
        calls["LSODA"] = by_lsoda(start, end, fields)
    calls["LSODA, Jacobian"] = by_lsoda(start, end, fields, jacobian)
    if sksundae:
        calls["CVODE"] = by_cvode(start, end, fields)
    last: dict[str, np.ndarray] = {}

    def storing(name: str, call: End) -> Callable[[], None]:
        return lambda: last.__setitem__(name, call())

    def show(calls: dict[str, End], rounds: int, warm_up: bool = True) -> None:
        mine = "ours, 1e-6"
        texts = {name: storing(name, call) for name, call in calls.items()}
        times = side_by_side(texts, rounds, least=0.3, warm_up=warm_up)
        for name, result in times.items():
            print(
                f"{end:6.0e} {name:>16} {result.seconds:9.3f} {result.over(times[mine]):>21} "
                f"{apart(last[name], last['ours, 1e-10']):8.0e}",
                flush=True,
            )

    show(calls, rounds)
    if end <= 1e6:
        pairwise = by_lsoda(start, end, pairs)
        show({"ours, 1e-6": calls["ours, 1e-6"], "LSODA pairs": pairwise}, 1, warm_up=False)


def main() -> None:
    quick = options(__doc__).parse_args().quick
    use_threads(1)
    rounds = 3 if quick else 7
    print("   end               by     CPU s      / ours at 1e-6     apart")
    for end in (1e6, 1e12):
        compare(end, rounds)
    law = mf.from_points(
        2 * np.pi * np.arange(12) / 12 + 0.05 * np.sin(np.arange(12)), name="atoms"
    )
    atoms = mf.Problem(mf.Circle(), mf.exponential(81.0), mf.USA, law)
    calls = {"12 atoms at beta = 81 to 1e60": ours(atoms, 1e60)}
    if not quick:
        calls["100,000 tokens to 1e12"] = ours(tokens(100_000), 1e12)
    for name, times in side_by_side(calls, rounds).items():
        print(f"{name}: {times.seconds:.2f} s")


if __name__ == "__main__":
    main()
