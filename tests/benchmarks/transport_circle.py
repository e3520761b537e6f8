"""Costs of exact distances on the circle, next to sorting the points.

Question: does a distance cost more than the sort it needs? First table: W_1 of n equally weighted
points against a density of degree 1024 or less must take at most 2.5 times `np.argsort` of the
points, with an error of at most 1e-10; processor time on one thread, median (quartiles) of
interleaved rounds. The error is that against a reference which shares
nothing with the package but the Fourier sums at points. Second table, for information: the other
pairs, in units of `np.argsort` and of POT's `wasserstein_circle` (which has no densities, and is
wrong in a share of clustered cases).

Run: python tests/benchmarks/transport_circle.py [--quick]
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import ive
from side_by_side import Call, options, side_by_side, use_threads

import meanfield as mf
from meanfield.transport.circle.wasserstein import wasserstein_circle

CIRCLE = mf.Circle()
TURN = 2.0 * np.pi


def densities() -> dict[str, np.ndarray]:
    """Coefficients: white up to degree 1024, and a von Mises density."""
    rng = np.random.default_rng(0)
    white = rng.normal(size=1025) + 1j * rng.normal(size=1025)
    white *= 0.45 / np.abs(white[1:]).sum()  # stays positive
    white[0] = 1.0
    k = np.arange(1025)
    return {"white, degree 1024": white, "von Mises, kappa 9": ive(k, 9.0) / ive(0, 9.0) + 0j}


def clouds(n: int, coefficients: np.ndarray) -> dict[str, np.ndarray]:
    """Points: uniform, from about the density, and in five clusters across several laps."""
    rng = np.random.default_rng(n)
    grid = np.linspace(0.0, TURN, 8193)
    values = np.maximum(CIRCLE.evaluate(coefficients, 0.5 * (grid[1:] + grid[:-1])), 0.0)
    levels = np.append(0.0, np.cumsum(values) / values.sum())
    return {
        "uniform": CIRCLE.random_points(n, rng),
        "from the density": np.interp(rng.random(n), levels, grid),
        "5 clusters, lifted": rng.integers(-10, 10, n) * 1.3 + 1e-3 * rng.normal(size=n),
    }


def reference_w1(angles: np.ndarray, coefficients: np.ndarray) -> float:
    """W_1 by Fourier sums at the points, and by halving where F - G crosses its median."""
    k = np.arange(1, len(coefficients))
    once = np.append(0.0, coefficients[1:] / (1j * k))
    twice = np.append(0.0, coefficients[1:] / (1j * k) ** 2)
    x = np.sort(angles % TURN)
    n = len(x)
    level = np.arange(1, n + 1) / n
    end = np.append(x[1:], x[0] + TURN)

    def distribution(theta: np.ndarray) -> np.ndarray:
        if not len(theta):
            return theta
        return theta / TURN + CIRCLE.evaluate(once, theta) / TURN

    at_x, primitive = distribution(x), CIRCLE.evaluate(twice, x) / TURN
    top, bottom = level - at_x, level - np.append(at_x[1:], at_x[0] + 1.0)

    def areas(alpha: float) -> tuple[float, float]:
        whole = (end - x) * (level - alpha - 0.5 * (end + x) / TURN)
        whole -= np.append(primitive[1:], primitive[0]) - primitive
        lengths = end - x
        balance = lengths[bottom >= alpha].sum() - lengths[top <= alpha].sum()
        cut = np.flatnonzero((top > alpha) & (bottom < alpha))
        low, high = x[cut].copy(), end[cut].copy()
        for _ in range(60):
            middle = 0.5 * (low + high)
            above = level[cut] - distribution(middle) > alpha
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        balance += np.sum(2.0 * low - x[cut] - end[cut])
        before = (low - x[cut]) * (level[cut] - alpha - 0.5 * (low + x[cut]) / TURN)
        if len(cut):
            before -= CIRCLE.evaluate(twice, low) / TURN - primitive[cut]
        total = np.abs(whole)
        total[cut] = before - (whole[cut] - before)
        return float(total.sum()), float(balance)

    alpha = brentq(lambda a: areas(a)[1], bottom.min() - 1e-9, top.max() + 1e-9, xtol=1e-13)
    return areas(alpha)[0]


def bar(sizes: list[int], rounds: int) -> None:
    print(f"{'n':>9}  {'density':20}{'points':20}{'W1':>9}{'W1 / argsort':>20}{'error':>9}")
    for n in sizes:
        for name, coefficients in densities().items():
            density = mf.Density(CIRCLE, coefficients)
            for cloud, angles in clouds(n, coefficients).items():
                measure = mf.Measure(CIRCLE, angles)

                def distance(m: mf.Measure = measure, d: mf.Density = density) -> float:
                    return wasserstein_circle(m, d, p=1)

                taken = side_by_side(
                    {"sort": lambda a=angles: np.argsort(a), "W1": distance}, rounds
                )
                error = abs(distance() - reference_w1(angles, coefficients))
                print(
                    f"{n:9,}  {name:20}{cloud:20}{1e3 * taken['W1'].seconds:7.2f}ms"
                    f"{taken['W1'].over(taken['sort']):>20}{error:9.0e}",
                    flush=True,
                )


def others(sizes: list[int], rounds: int) -> None:
    import ot

    print(f"\n{'n':>9}  {'pair':36}{'time':>10}{'/ argsort':>20}{'/ POT':>20}")
    for n in sizes:
        rng = np.random.default_rng(n)
        x, y = CIRCLE.random_points(n, rng), CIRCLE.random_points(n, rng)
        weights = rng.dirichlet(np.ones(n))
        density = mf.Density(CIRCLE, densities()["white, degree 1024"])
        equal, weighted = mf.Measure(CIRCLE, x), mf.Measure(CIRCLE, x, weights)
        second = mf.Measure(CIRCLE, y)
        pairs = {
            "W1 weighted points, density": (weighted, density, 1),
            "W2 points, density": (equal, density, 2),
            "W2 weighted points, density": (weighted, density, 2),
            "W1 points, points": (equal, second, 1),
            "W2 points, points": (equal, second, 2),
            "W1 weighted points, points": (weighted, second, 1),
            "W2 weighted points, points": (weighted, second, 2),
        }
        actions: dict[str, Call] = {"argsort": lambda x=x: np.argsort(x)}
        for name, (a, b, p) in pairs.items():
            actions[name] = lambda a=a, b=b, p=p: wasserstein_circle(a, b, p)
        for p in (1, 2):
            actions[f"POT {p}"] = lambda x=x, y=y, p=p: ot.wasserstein_circle(
                x / TURN, y / TURN, p=p
            )
        taken = side_by_side(actions, rounds)
        for name, (_, _, p) in pairs.items():
            mine = taken[name]
            pot = mine.over(taken[f"POT {p}"]) if name.endswith("s, points") else ""
            print(
                f"{n:9,}  {name:36}{1e3 * mine.seconds:8.1f}ms"
                f"{mine.over(taken['argsort']):>20}{pot:>20}",
                flush=True,
            )


def main() -> None:
    quick = options(__doc__).parse_args().quick
    use_threads(1)
    bar([100_000, 1_000_000], 5 if quick else 15)
    others([100_000] if quick else [1_000, 100_000, 1_000_000], 5)


if __name__ == "__main__":
    main()
