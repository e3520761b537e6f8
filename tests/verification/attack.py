"""Random problems for every carrier, as plain data with a truth: see `lagrangian`.

Laws are sharp, sparse, symmetric, touch zero, or are tokens; beta is -40 ... 100; SA, USA and
both repulsive; times are a tenth to four times the growth time. No line of the package is used.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from label_quadrature import (
    Array,
    Labels,
    at_modes,
    circle_labels,
    circle_points,
    ring_labels,
    sphere_labels,
    sphere_points,
)
from lagrangian import Motion, Truth, truth
from scipy.special import ive

PROBLEMS = 200
# What is promised: no carrier is off by more than this many tolerances.
ALLOWED = 100.0


@dataclass(frozen=True)
class Attack:
    """One random problem.

    `law` is ("modes", list), ("mixture", list of weight, mean, concentration) or
    ("points", points, weights) in the package's conventions.
    """

    seed: int
    motion: Motion
    kind: str
    law: tuple[Any, ...]
    carrier: str
    tolerance: float
    times: Array

    def __repr__(self) -> str:
        m = self.motion
        flow = ("SA" if m.normalized else "USA") + ("" if m.strength > 0 else " repulsive")
        return (
            f"{self.seed}: {m.manifold} {flow} beta={m.beta:.3g} {self.kind} {self.carrier} "
            f"tol={self.tolerance:.1e} t={self.times[-1]:.3g}"
        )


def attack(seed: int) -> Attack:
    """Problem number `seed`."""
    rng = np.random.default_rng([14, seed])
    manifold = "circle" if rng.random() < 0.6 else "sphere"
    negative = rng.random() < 0.3
    beta = -(10.0 ** rng.uniform(-0.3, 1.6021)) if negative else 10.0 ** rng.uniform(-0.5, 2.0)
    normalized, strength = rng.random() < 0.6, 1.0 if rng.random() < 0.75 else -1.0
    motion = Motion(manifold, float(round(beta, 4)), bool(normalized), strength)
    kinds = ["modes", "sparse", "symmetric", "zero", "sharp", "mixture", "tokens"]
    kind = str(rng.choice(kinds, p=[0.15, 0.15, 0.15, 0.15, 0.18, 0.12, 0.1]))
    law = _LAWS[kind](rng, manifold)
    smooth = law[0] == "modes"
    carriers = ["density", "characteristics", "auto"] if kind != "tokens" else ["particles", "auto"]
    if kind == "tokens":
        carriers.append("atoms")
    carrier = str(rng.choice(carriers))
    unit = _growth_time(motion) if smooth else min(_growth_time(motion), 2.0)
    end = unit * (0.1 + 3.9 * rng.random() ** 1.5)
    if carrier == "auto":
        end *= rng.choice([1.0, 2.0])
    tolerance = float(f"{10.0 ** rng.uniform(-12.0, -6.0):.1e}")
    return Attack(seed, motion, kind, law, carrier, tolerance, end * np.array([0.3, 0.65, 1.0]))


def truth_of(problem: Attack, pairs: int = 3_000_000) -> Truth:
    """Its moments, with their doubt; judged are `ALLOWED` tolerances, a tenth is wanted."""
    frame = _frame(problem)
    wanted = 0.1 * ALLOWED * problem.tolerance
    return truth(
        lambda level: _quadrature(problem, level),
        problem.motion,
        problem.times,
        frame,
        wanted,
        pairs,
    )


def _growth_time(motion: Motion) -> float:
    """Inverse of the largest rate, growing or not, of the uniform state."""
    beta, l = abs(motion.beta), np.arange(1, 60)
    half = 0.0 if motion.manifold == "circle" else 0.5
    scale = 1.0 if motion.manifold == "circle" else math.sqrt(np.pi / (2 * beta))
    rates = l * (l + 2 * half) * scale * ive(l + half, beta) / beta
    if motion.normalized:
        rates /= scale * ive(half, beta)
    return float(1.0 / rates.max())


def _modes(rng: np.random.Generator, manifold: str, degrees: Array, size: float) -> list[Any]:
    """Random modes of these degrees, their amplitudes `size` together."""
    parts = rng.normal(size=(len(degrees), 2))
    parts *= size / np.abs(parts).sum()
    if manifold == "circle":
        return [[int(k), float(a), float(b)] for k, (a, b) in zip(degrees, parts, strict=True)]
    modes = []
    for l, (a, b) in zip(degrees, parts, strict=True):
        m = int(rng.integers(-l, l + 1))
        modes.append([int(l), m, float(a if abs(a) > abs(b) else b)])
    return modes


def _lowered(modes: list[Any], manifold: str, lowest: float) -> list[Any]:
    """Modes scaled so that the density falls to `lowest` on a fine grid."""
    angles = 2 * np.pi * np.arange(4096) / 4096
    if manifold == "circle":
        grid = circle_points(angles)
    else:
        theta, phi = np.meshgrid(np.linspace(0, np.pi, 181), angles[::16], indexing="ij")
        grid = sphere_points(theta.ravel(), phi.ravel())
    factor = (1 - lowest) / (1 - at_modes(modes, grid, manifold).min())
    head = 1 if manifold == "circle" else 2
    return [[*mode[:head], *(factor * np.array(mode[head:])).tolist()] for mode in modes]


def _few(rng: np.random.Generator, manifold: str) -> tuple[Any, ...]:
    degrees = np.unique(rng.integers(1, 9, size=rng.integers(1, 6)))
    modes = _modes(rng, manifold, degrees, 10.0 ** rng.uniform(-2, -0.4))
    return ("modes", _lowered(modes, manifold, rng.uniform(0.2, 0.95)))


def _sparse(rng: np.random.Generator, manifold: str) -> tuple[Any, ...]:
    """High degrees with gaps between them; on the sphere of a single order or zonal."""
    if manifold == "circle":
        degrees = np.unique(rng.choice([1, 7, 11, 13, 14, 17, 23, 29, 37], size=2))
        return ("modes", _lowered(_modes(rng, manifold, degrees, 0.3), manifold, 0.6))
    m = int(rng.choice([0, 5, 7, 9, 11]))
    l = m + int(rng.integers(0 if m else 3, 4 if m else 12))
    return ("modes", _lowered([[l, m, float(rng.choice([-0.2, 0.2]))]], manifold, 0.6))


def _symmetric(rng: np.random.Generator, manifold: str) -> tuple[Any, ...]:
    """k-fold; on the sphere zonal, k-fold about the axis, or a polyhedron."""
    fold = int(rng.integers(2, 9))
    if manifold == "circle":
        modes = _modes(rng, manifold, fold * np.array([1, 2, 3]), 0.5)
    elif rng.random() < 0.5:
        modes = [[l, 0, float(rng.normal())] for l in (1, 2, 3, 4)]
    else:
        modes = [[3, 2, 1.0]] if fold < 4 else [[fold, fold, 1.0], [fold + 2, fold, 0.4]]
    return ("modes", _lowered(modes, manifold, rng.uniform(0.1, 0.8)))


def _touching(rng: np.random.Generator, manifold: str) -> tuple[Any, ...]:
    if manifold == "circle":
        k = int(rng.integers(1, 6))
        phase = rng.uniform(0, 2 * np.pi)
        modes = [[k, math.cos(phase), math.sin(phase)]]
        if rng.random() < 0.5:
            # (1 + cos k)^2: a zero of order four.
            modes = [[k, 4 / 3, 0.0], [2 * k, 1 / 3, 0.0]]
        return ("modes", modes)
    l = int(rng.integers(1, 4))
    # (sin theta)^l cos l phi, or 1 + u.
    modes = [[l, l, 1.0]] if rng.random() < 0.5 else [[1, 0, 1.0]]
    return ("modes", _lowered(modes, manifold, 1e-12))


def _sharp(rng: np.random.Generator, manifold: str) -> tuple[Any, ...]:
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    parts = []
    share = [1.0] if rng.random() < 0.5 else [(w := float(rng.uniform(0.1, 0.9))), 1 - w]
    for sign, weight in zip((1.0, -1.0), share, strict=False):
        top = 5.0 if manifold == "circle" else 2.6
        mean = float(rng.uniform(0, 2 * np.pi)) if manifold == "circle" else (sign * axis).tolist()
        parts.append((weight, mean, float(f"{10.0 ** rng.uniform(1.0, top):.4g}")))
    return ("mixture", parts)


def _mixture(rng: np.random.Generator, manifold: str) -> tuple[Any, ...]:
    count = int(rng.integers(2, 4))
    weights = rng.dirichlet(np.ones(count))
    points = rng.normal(size=(count, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    angles = rng.uniform(0, 2 * np.pi, count)
    means = angles.tolist() if manifold == "circle" else points.tolist()
    top = 1.5 if manifold == "circle" else 0.9
    kappas = 10.0 ** rng.uniform(-0.5, top, count)
    return (
        "mixture",
        [(float(w), m, float(k)) for w, m, k in zip(weights, means, kappas, strict=True)],
    )


def _tokens(rng: np.random.Generator, manifold: str) -> tuple[Any, ...]:
    count = int(rng.choice([2, 3, 10, 50, 200]))
    if manifold == "circle":
        points = rng.uniform(0, 2 * np.pi, count)
    else:
        points = rng.normal(size=(count, 3))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
    weights = None if rng.random() < 0.5 else rng.dirichlet(np.full(count, 0.5))
    return ("points", points, weights)


_LAWS = {
    "modes": _few,
    "sparse": _sparse,
    "symmetric": _symmetric,
    "zero": _touching,
    "sharp": _sharp,
    "mixture": _mixture,
    "tokens": _tokens,
}


def _frame(problem: Attack) -> Array:
    """Rotation that takes the z axis to the axis of a sharp law."""
    if problem.kind != "sharp" or problem.motion.manifold == "circle":
        return np.eye(3)
    axis = np.array(problem.law[1][0][1])
    frame, _ = np.linalg.qr(np.column_stack([axis, np.eye(3)]))
    frame = frame[:, [1, 2, 0]]
    frame[:, 2] = axis
    return frame


def _quadrature(problem: Attack, level: int) -> Labels:
    """Labels and masses, twice as many at the next level; tokens are what they are."""
    kind, manifold, law = problem.law[0], problem.motion.manifold, problem.law
    if kind == "points":
        points = circle_points(law[1]) if manifold == "circle" else law[1]
        count = len(points)
        return Labels(points, np.full(count, 1 / count) if law[2] is None else law[2])
    if manifold == "circle":
        return circle_labels(law, level)
    if problem.kind == "sharp" or (kind == "modes" and all(mode[1] == 0 for mode in law[1])):
        return ring_labels(law, level)
    return sphere_labels(law, level)
