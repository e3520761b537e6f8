"""Truth from the equation alone: labels on a quadrature, moved by direct sums over all pairs.

    dx_i/dt = strength P_{x_i} sum_j m_j a_ij x_j (/ sum_j m_j a_ij with SA),
    a_ij = exp(beta <x_i, x_j> - |beta|),    m_j = f_0(label) * quadrature weight.

All terms are positive and none is below e^{-2 |beta|}: nothing cancels and nothing underflows.
No line of the package is used; points of the circle are unit vectors in the plane z = 0.
"""

from dataclasses import dataclass

import numpy as np
from label_quadrature import Array, Labels, light_dropped, sphere_points
from scipy.integrate import solve_ivp
from scipy.special import i0e, i1e, sph_harm_y

DEGREE = {"circle": 12, "sphere": 8}
"""Moments are compared up to this degree."""


@dataclass(frozen=True)
class Motion:
    manifold: str
    beta: float
    normalized: bool
    strength: float


def turned(points: Array, fold: int) -> Array:
    """Points (n, 3) and their rotations about z, (fold n, 3)."""
    angles = 2 * np.pi * np.arange(fold) / fold
    c, s, zero = np.cos(angles), np.sin(angles), 0.0 * angles
    turns = np.array([[c, s, zero], [-s, c, zero], [zero, zero, zero + 1.0]]).transpose(2, 0, 1)
    return (points @ turns).reshape(-1, 3)


def pair_velocity(points: Array, labels: Labels, motion: Motion) -> Array:
    """Velocity of points (n, 3) by direct sums."""
    others, mass = turned(points, labels.fold), np.tile(labels.mass, labels.fold)
    weights = motion.beta * (points @ others.T)
    weights -= abs(motion.beta)
    np.exp(weights, out=weights)
    pull = weights @ (mass[:, None] * others)
    if motion.normalized:
        pull /= (weights @ mass)[:, None]
    pull -= points * (points * pull).sum(axis=1, keepdims=True)
    return motion.strength * pull


def ring_velocity(theta: Array, labels: Labels, motion: Motion) -> Array:
    """Velocity of rings about the axis, their sums over longitudes by Bessel functions.

    The mean over phi of exp(beta s s' cos phi) is I_0, of cos phi times it I_1.
    """
    u, s, beta = np.cos(theta), np.sin(theta), motion.beta
    crossed = np.outer(s, s)
    weights = labels.mass * np.exp(beta * np.outer(u, u) + abs(beta) * (crossed - 1.0))
    mean, first = weights * i0e(beta * crossed), weights * i1e(beta * crossed)
    # Tangent vector (cos, -sin) of theta on (mean s' cos phi, u').
    pull = u * (first @ s) - s * (mean @ u)
    return motion.strength * (pull / mean.sum(axis=1) if motion.normalized else pull)


def harmonics(points: Array, manifold: str) -> Array:
    """Values of the harmonics whose means are compared, (functions, n), complex.

    Circle: e^{-ik theta}, k = 0 ... 12. Sphere: real harmonics C_lm + i S_lm of mean square 1,
    without Condon-Shortley phase, rows (l, m) with l = 0 ... 8, m = 0 ... l.
    """
    x, y, z = points.T
    phi = np.arctan2(y, x)
    if manifold == "circle":
        return np.exp(-1j * np.outer(np.arange(DEGREE[manifold] + 1), phi))
    rows = []
    theta = np.arctan2(np.hypot(x, y), z)
    for l in range(DEGREE[manifold] + 1):
        for m in range(l + 1):
            scale = np.sqrt(4 * np.pi) * (-1.0) ** m * (np.sqrt(2.0) if m else 1.0)
            rows.append(scale * sph_harm_y(l, m, theta, phi))
    return np.array(rows)


def moments(state: Array, labels: Labels, manifold: str, frame: Array) -> Array:
    """Means of the harmonics over the labels, `frame` the rotation of all points."""
    if labels.points.ndim == 1:
        count = 2 * DEGREE[manifold] + 2
        phi = 2 * np.pi * np.arange(count) / count
        points = sphere_points(state[:, None], phi).reshape(-1, 3)
        mass = np.repeat(labels.mass, count) / count
    else:
        points = turned(state / np.linalg.norm(state, axis=1, keepdims=True), labels.fold)
        mass = np.tile(labels.mass, labels.fold)
    return harmonics(points @ frame.T, manifold) @ mass


def carried(labels, motion, times, frame, tolerance=1e-13):
    """Moments at the times, (times, functions). From time to time: nothing is interpolated."""
    shape = labels.points.shape
    velocity = ring_velocity if labels.points.ndim == 1 else pair_velocity

    def rhs(_: float, state: Array) -> Array:
        points = state.reshape(shape)
        if len(shape) == 2:
            points = points / np.linalg.norm(points, axis=1, keepdims=True)
        return velocity(points, labels, motion).ravel()

    state, before, result = labels.points.ravel(), 0.0, []
    for time in times:
        if time > before:
            solution = solve_ivp(
                rhs, (before, time), state, method="DOP853", rtol=tolerance, atol=tolerance
            )
            if not solution.success:
                raise ArithmeticError(solution.message)
            state, before = solution.y[:, -1], time
        result.append(moments(state.reshape(shape), labels, motion.manifold, frame))
    return np.array(result)


@dataclass(frozen=True)
class Truth:
    """Moments at the times, and how far two numbers of labels differ at each."""

    moments: Array
    doubt: Array
    labels: int


def truth(quadrature, motion, times, frame, wanted, pairs=3000000):
    """Moments on finer and finer quadratures until two agree to `wanted`, or too many pairs.

    `quadrature(level)` has twice the labels of the level before; one without limit of its own
    (given tokens) is its own refinement, and its doubt that of the time steps.
    """
    labels = light_dropped(quadrature(0))
    result = carried(labels, motion, times, frame)
    doubt = np.full(len(times), np.inf)
    for level in range(1, 8):
        finer = light_dropped(quadrature(level))
        exact = len(finer.points) == len(labels.points)
        if finer.pairs > pairs and not exact:
            break
        # Tokens are exact; their doubt is that of the steps.
        better = carried(finer, motion, times, frame, 1e-12 if exact else 1e-13)
        doubt = np.abs(better - result).max(axis=1)
        labels = finer
        if not exact:
            result = better
        if exact or doubt[-1] <= wanted:
            break
    return Truth(result, doubt, len(labels.points))
