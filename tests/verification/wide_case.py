"""Shared parts of `wide_attack`: random laws and heads, summaries, and truths by `core`.

A truth maps a tolerance and a disturbance of the start to summaries at the times. No carrier is
blamed for errors that the problem itself magnifies: they are divided by the factor by which small
disturbances of the start have grown.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import core
import numpy as np
from core import Points, Problem, attention, unit

import meanfield as mf

Array = np.ndarray
Truth = Callable[[float, float], list[Array]]
INF = float("inf")
_SHIFT = 1e-6


@dataclass(frozen=True)
class Case:
    """One problem, what carries it, and its truth; `words` say what it is."""

    words: str
    problem: mf.Problem
    times: Array
    truth: Truth
    options: dict[str, Any] = field(default_factory=dict)
    axial: bool = False
    count: Callable[[], int | None] = lambda: None

    def expected(self) -> tuple[list[Array], list[float]]:
        exact, moved = self.truth(1e-13, 0.0), self.truth(1e-11, _SHIFT)
        grown = [max(1.0, _apart(a, b) / _SHIFT) for a, b in zip(exact, moved, strict=True)]
        return exact, list(np.maximum.accumulate(grown))


def _apart(first: Array, second: Array) -> float:
    return float(np.abs(first - second).max())


def summary(x: Array, mass: Array, axial: bool = False) -> Array:
    """Means of x, x x^T and x_i^3; of axial measures of the powers of the last component."""
    if axial:
        return np.array([mass @ x[:, -1] ** k for k in (1, 2, 3)])
    return np.concatenate([mass @ x, ((mass[:, None] * x).T @ x).ravel(), mass @ x**3])


def of_measure(measure: Any, axial: bool) -> Array:
    space = measure.manifold
    if isinstance(measure, mf.Density):
        grid = space.grid(max(measure.max_degree, 8))
        mass = grid.weights * grid.to_nodal(space.resize(measure.coefficients, grid.max_degree))
        points = grid.points
    else:
        points, mass = measure.points, measure.mass
    return summary(space.vectors(points), mass, axial)


def disturbed(start: Points, shift: float) -> Points:
    """Points moved at random by about `shift`."""
    noise = np.random.default_rng(1).normal(size=start.y.shape)
    return start._replace(y=start.y + shift * noise)


def flown(
    stages: list[tuple[float, Problem]], start: Points, times: Array, weight: Any = None,
    axial: bool = False, least: float = 0.0, **how: Any,
) -> Truth:  # fmt: skip
    """Truth of points that a flow carries; `weight` are their shares, by default the masses."""
    share = start.mass if weight is None else weight
    sphere = stages[0][1].sphere

    def truth(tolerance: float, shift: float) -> list[Array]:
        beginning = disturbed(start, shift)
        beginning = beginning._replace(y=unit(beginning.y) if sphere else beginning.y)
        ends = core.evolve(stages, beginning, times, max(tolerance, least), **how)
        return [summary(end, share, axial) for end in ends]

    return truth


def sphere_of(d: int) -> Any:
    """Circle, sphere, or the sphere of R^d."""
    return {2: mf.Circle(), 3: mf.Sphere()}.get(d) or mf.Sphere(d)


def law_of(space: Any, start: Points) -> Any:
    weights = None if np.ptp(start.mass) == 0.0 else start.mass
    return mf.from_points(space.points_of(start.y), weights)


def random_tokens(rng: Any, d: int, n: int, equal: bool = False) -> Points:
    """Weighted tokens at positions 1/n ... 1."""
    mass = np.full(n, 1 / n) if equal else rng.dirichlet(np.ones(n))
    return Points(unit(rng.normal(size=(n, d))), mass, (np.arange(n) + 1.0) / n)


def random_heads(rng: Any, d: int) -> list[tuple[Array, Array]]:
    """One to three heads (B, V)."""
    size = 10 ** rng.uniform(-0.5, 0.5)
    count = int(rng.integers(1, 4))
    return [(size * rng.normal(size=(d, d)), rng.normal(size=(d, d)) / count) for _ in range(count)]


def attention_of(pairs: list[tuple[Array, Array]], how: str, **options: Any) -> mf.Attention:
    return mf.Attention([mf.Head(score=b, value=v) for b, v in pairs], how, beta=1.0, **options)


def log_scale(pairs: list[tuple[Array, Array]]) -> float:
    """Logarithm of the largest weight, which scaled time makes 1."""
    return max(float(np.linalg.norm(b, 2)) for b, _ in pairs)


def identity_head(beta: float, d: int) -> list[tuple[Array, Array]]:
    """Head of e^{beta <x, y>}."""
    return [(beta * np.eye(d), np.eye(d))]


def kernel_of(beta: float, d: int, flow: mf.Flow, scale: float) -> Problem:
    pairs = [(b, flow.strength * v) for b, v in identity_head(beta, d)]
    return Problem([attention(pairs, "softmax" if flow.normalized else "none", scale)])


def random_beta(rng: Any, least: float = 0.3, most: float = 12.0) -> float:
    return round(float(np.exp(rng.uniform(np.log(least), np.log(most)))), 3)


def random_tolerance(rng: Any) -> float:
    """Tolerance from 1e-11 to 1e-6."""
    return float(f"{10 ** rng.uniform(-11, -6):.1e}")


def circle_law(rng: Any) -> tuple[Any, Callable[[Array], Array]]:
    a, b = rng.normal(size=(2, 3))
    size = rng.uniform(0.1, 0.8) / np.abs([a, b]).sum()
    modes = [[k, float(size * a[k - 1]), float(size * b[k - 1])] for k in (1, 2, 3)]
    return mf.perturbed_uniform(
        modes
    ), lambda t: 1 + sum(c * np.cos(k * t) + s * np.sin(k * t) for k, c, s in modes)


def circle_nodes(density: Callable[[Array], Array], count: int) -> Points:
    angles = 2 * np.pi * np.arange(count) / count
    return Points(np.column_stack([np.cos(angles), np.sin(angles)]), density(angles) / count)


def position_points(density, rate, power=1, count=10, n=40):
    """Densities 1 + s^power (f - 1) at Gauss nodes s, their weights, and the mask e^{-rate s}.

    Collocation: what s attends to is the integral over (0, s) of the polynomial through the nodes.
    """
    s, w = np.polynomial.legendre.leggauss(count)
    s, w, parts = (s + 1) / 2, w / 2, []
    # Row i: integrals over (0, s_i) of the polynomial that is 1 at s_j and 0 at other nodes.
    basis = np.linalg.inv(np.polynomial.legendre.legvander(2 * s - 1, count - 1))
    inner = s[:, None] * s
    at = np.polynomial.legendre.legvander(2 * inner - 1, count - 1) @ basis
    shares = np.einsum("q,iq,iqj->ij", w, np.exp(-rate * (s[:, None] - inner)), at)
    shares /= shares.sum(axis=1, keepdims=True)
    for each in s:
        parts.append(circle_nodes(lambda t, each=each: 1 + each**power * (density(t) - 1), n))
    label = np.repeat(np.arange(count), n)
    start = Points(
        *(np.concatenate(each) for each in zip(*(p[:2] for p in parts), strict=True)), label
    )
    return start, np.repeat(w, n) * start.mass, lambda mine, others: shares[mine, others]
