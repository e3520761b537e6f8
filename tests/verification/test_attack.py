"""Every carrier against direct sums, on random problems (`attack`, `wide_attack`).

A carrier may end with a reason; what it saves is right, whatever the law, the flow and beta.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from attack import ALLOWED, PROBLEMS, Attack, attack, truth_of
from dense_attack import PROBLEMS as DENSE_PROBLEMS
from dense_attack import dense
from label_quadrature import Labels, circle_points, sphere_points
from lagrangian import DEGREE, Motion, carried, harmonics, pair_velocity, ring_velocity
from wide_attack import PROBLEMS as WIDE_PROBLEMS
from wide_attack import wide
from wide_case import Case, of_measure

import meanfield as mf
from meanfield.carriers import Options, hand_over_rule, represent
from meanfield.simulation import Evolution, evolve
from meanfield.trajectory import SimulationError, trajectory

WHAT = "random problems against labels moved by direct sums, in tolerances"
# Every carrier, kind of law and manifold in few seconds.
EVERYDAY = (7, 8, 10, 14, 21, 27)
PARTS = 50
WIDE = "random problems of every other kind against direct sums, in tolerances that may grow"
# Heads, masks, axial densities, layers, stages, R^d.
WIDE_EVERYDAY = (0, 1, 2, 5, 6, 19, 11)
# Drawn frequencies, densities through layers, stages of heads.
DENSE_EVERYDAY = (2, 11, 6)
# CPU seconds of one run after which it is judged by what it has saved.
PATIENCE = 8.0


class _Patience(Exception):
    """The run takes longer than a test should."""


def run_out(stream, patience):
    """Items of a stream as far as it goes, for so many CPU seconds, and how it ended."""
    start, items = time.process_time(), []

    def watch() -> None:
        if time.process_time() - start > patience:
            raise _Patience

    try:
        items.extend(stream(watch))
    except (SimulationError, ValueError) as error:
        return items, str(error)
    except _Patience:
        return items, f"{patience:g} s are over"
    return items, "completed"


def limits(case: Attack) -> dict[str, int]:
    """On the sphere runs that need more take minutes; they end with the reason."""
    if case.motion.manifold == "circle":
        return {}
    return {"max_degree": 127 if case.carrier == "auto" else 255, "max_nodes": 60_000}


def problem_of(case: Attack) -> mf.Problem:
    name, *parts = case.law
    makers: dict[str, Callable[..., Any]] = {
        "modes": mf.perturbed_uniform,
        "mixture": mf.mixture,
        "points": mf.from_points,
    }
    motion = case.motion
    manifold = mf.Circle() if motion.manifold == "circle" else mf.Sphere()
    flow = mf.Flow(motion.normalized, motion.strength)
    return mf.Problem(manifold, mf.exponential(motion.beta), flow, makers[name](*parts))


def errors(case: Attack, patience: float = PATIENCE) -> tuple[np.ndarray, str]:
    """Errors in tolerances at the saved times whose truth is known, and how the run ended."""
    space = case.motion.manifold
    degree = DEGREE[space]

    def compared(moments: np.ndarray) -> np.ndarray:
        if space == "circle":
            return moments[: degree + 1]
        c, s = mf.Sphere().unpacked(moments)
        l, m = np.tril_indices(degree + 1)
        return c[l, m] + 1j * s[l, m]

    def run(watch: Callable[[], None]) -> Iterator[np.ndarray]:
        problem = problem_of(case)
        options = Options(name=case.carrier, tolerance=case.tolerance, **limits(case))
        stream = trajectory(
            problem,
            represent(problem, options),
            case.times,
            tolerance=case.tolerance,
            watch=watch,
            hand_over=hand_over_rule(problem, options),
        )
        yield from (compared(snapshot.moments) for snapshot in stream)

    result, end = run_out(run, patience)
    if not result:
        return np.zeros(0), end
    expected = truth_of(case)
    sure = expected.doubt[: len(result)] <= 0.1 * ALLOWED * case.tolerance
    apart = np.abs(np.array(result) - expected.moments[: len(result)])
    return apart[sure].max(axis=-1, initial=0.0) / case.tolerance, end


@pytest.mark.slow
@pytest.mark.parametrize("seed", EVERYDAY)
def test_random_problems_are_right(seed, verified):
    """Each of these runs to its end and is judged there."""
    result, end = errors(attack(seed), patience=np.inf)
    assert end == "completed"
    assert len(result) == 3
    verified("independent methods", WHAT, result, ALLOWED)


@pytest.mark.parametrize("manifold", ["circle", "sphere"])
def test_direct_sums_know_two_tokens(manifold):
    """The oracle first: USA, beta to 0, the half angle a obeys (tan a)' = -(tan a)."""
    apart, end = 2.0, 1.5
    points = np.array([[1.0, 0.0, 0.0], [np.cos(apart), np.sin(apart), 0.0]])
    labels, motion = Labels(points, np.array([0.5, 0.5])), Motion(manifold, 1e-14, False, 1.0)
    result = carried(labels, motion, np.array([end]), np.eye(3))[0]
    half = np.arctan(np.tan(apart / 2) * np.exp(-end))
    ends = circle_points(apart / 2 + np.array([-half, half]))
    np.testing.assert_allclose(result, harmonics(ends, manifold).mean(axis=1), rtol=0, atol=1e-12)


def test_rings_are_points_on_circles():
    """Bessel functions of rings are sums over longitudes."""
    motion, theta = Motion("sphere", -9.0, True, -1.0), np.array([0.3, 1.1, 2.9])
    mass, count = np.array([0.2, 0.5, 0.3]), 64
    phi = 2 * np.pi * np.arange(count) / count
    points = sphere_points(theta[:, None], phi)
    labels = Labels(points.reshape(-1, 3), np.repeat(mass, count) / count)
    result = ring_velocity(theta, Labels(theta, mass), motion)
    # The meridian phi = 0: theta grows towards (cos theta, 0, -sin theta).
    velocity = pair_velocity(labels.points, labels, motion)[::count]
    expected = np.cos(theta) * velocity[:, 0] - np.sin(theta) * velocity[:, 2]
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_is_silently_wrong(part, verified):
    """All problems: right wherever saved and the truth is known; pytest -rP shows each."""
    for seed in range(part, PROBLEMS, PARTS):
        case = attack(seed)
        result, end = errors(case)
        print(f"{case}: {result.max(initial=0.0):.1e} tolerances at {len(result)} times, {end}")
        assert np.all(result <= ALLOWED), case
        if len(result):
            verified("independent methods", WHAT, result, ALLOWED)


def wide_errors(case: Case, patience: float = PATIENCE) -> tuple[np.ndarray, str]:
    """Errors in tolerances, as far as the problem lets errors grow, and how the run ended."""
    evolution = Evolution(case.problem, Options(**case.options), case.times)
    snapshots, end = run_out(lambda watch: evolve(evolution, watch=watch), patience)
    if not snapshots:
        return np.zeros(0), end
    expected, growth = case.expected()
    apart = [
        np.abs(of_measure(each.measure, case.axial)[: len(reference)] - reference).max() / grown
        for each, reference, grown in zip(snapshots, expected, growth, strict=False)
    ]
    count = case.count() if end == "completed" else None
    if count is not None:
        assert evolution.observe(snapshots[-1])["clusters/count"] == count
    return np.array(apart) / case.options["tolerance"], end


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kinds", "seed"),
    [(wide, seed) for seed in WIDE_EVERYDAY] + [(dense, seed) for seed in DENSE_EVERYDAY],
)
def test_random_problems_of_other_kinds_are_right(kinds, seed, verified):
    """Each of these runs to its end and is judged there."""
    result, end = wide_errors(kinds(seed), patience=np.inf)
    assert end == "completed"
    verified("independent methods", WIDE, result, ALLOWED)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(("kinds", "problems"), [(wide, WIDE_PROBLEMS), (dense, DENSE_PROBLEMS)])
def test_nothing_of_other_kinds_is_silently_wrong(kinds, problems, part, verified):
    """All problems: right wherever saved; pytest -rP shows each."""
    for seed in range(part, problems, PARTS):
        case = kinds(seed)
        result, end = wide_errors(case)
        print(f"{seed}: {case.words}: {result.max(initial=0.0):.1e} tolerances, {end}")
        assert np.all(result <= ALLOWED), (seed, case.words, result)
        if len(result):
            verified("independent methods", WIDE, result, ALLOWED)
