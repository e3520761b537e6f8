"""Random layers: random value matrices compared with exact laws of two and eight tokens.

The share of pairs that end antipodal, under layers by the law of their overlap, and under Heun
steps for the Stratonovich equation; layers also with half the step. The lifetime of antipodal
clusters with masses 1/3 and 2/3. The mean overlap of eight orthogonal tokens in many dimensions,
minus its limit. Prints numbers beside expected ones, and draws random_layers.png with the
probability over beta and d.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from claims import Claim
from scipy.integrate import solve_ivp

from meanfield.fields.blocks import unit_vectors
from meanfield.figures.draw.axes import COUNT, ENERGY, INK, ORDER, style
from meanfield.figures.draw.figures import new_figure, write_figure
from meanfield.papers.random_layers import (
    antipodal_probability,
    cluster_lifetime,
    mean_overlap,
    overlap_coefficients,
    simplex_overlap,
)

SECONDS = 700, 60
FOLDER = Path(__file__).parent
STEP, UNTIL = 0.02, 1.0 - 1e-4
PAIRS = ((2, 0.5), (3, 1.0), (3, 2.0))
FAR = 1.0 - 1e-6
LAYERED = tuple((d, beta) for d in (2, 3, 4) for beta in (0.5, 1.0, 2.0)) + ((16, 2.0),)
LIFETIMES = (1.0, 2.0, 3.0)
DIMENSIONS = (8, 32, 128)


def means(x: np.ndarray, beta: float, masses: np.ndarray) -> np.ndarray:
    """Attention averages of tokens x (runs, n, d)."""
    weights = masses * np.exp(beta * (x @ x.swapaxes(1, 2) - 1.0))
    return weights / weights.sum(axis=2, keepdims=True) @ x


def heun(x: np.ndarray, beta: float, masses: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Tokens after one Heun step with value matrices (runs, d, d)."""

    def tangent(x: np.ndarray) -> np.ndarray:
        u = means(x, beta, masses) @ noise
        return u - (u * x).sum(axis=2, keepdims=True) * x

    first = tangent(x)
    return unit_vectors(x + 0.5 * (first + tangent(unit_vectors(x + first))))


def layered_overlap(r: np.ndarray, d: int, beta: float, step: float, rng) -> np.ndarray:
    """Overlaps of pairs after one layer, exact in law, without matrices.

    Entries of V m_1 and V m_2 are independent normal pairs with covariance s_ij / d. Two of them
    lie in the plane of x_1 and x_2; products of the others have Wishart's law (Bartlett's factors).
    """
    b = 1.0 / (1.0 + np.exp(beta * (1.0 - r)))
    p = 2.0 * b * (1.0 - b)
    s_11, s_12 = 1.0 - p + p * r, p + (1.0 - p) * r
    size = np.sqrt(step / d)
    one = np.sqrt(s_11) * size
    both = s_12 / s_11 * one
    own = np.sqrt((1.0 - 2.0 * p) * (1.0 - r) * (1.0 + r) / s_11) * size
    z = rng.standard_normal((5, len(r)))
    across = np.sqrt((1.0 - r) * (1.0 + r))
    first = (1.0 + one * z[0], one * z[1])
    second = (r + both * z[0] + own * z[2], across + both * z[1] + own * z[3])
    t = np.sqrt(rng.chisquare(d - 2, len(r))) if d > 2 else 0.0
    t_2 = rng.chisquare(d - 3, len(r)) if d > 3 else 0.0
    mixed = both * t + own * z[4] if d > 2 else 0.0
    squares = first[0] ** 2 + first[1] ** 2 + (one * t) ** 2
    others = second[0] ** 2 + second[1] ** 2 + mixed**2 + own**2 * t_2
    product = first[0] * second[0] + first[1] * second[1] + one * t * mixed
    return product / np.sqrt(squares * others)


def layered_share(d: int, beta: float, step: float, runs: int) -> float:
    """Share of initially orthogonal pairs that reach R = -FAR before FAR under layers."""
    rng, r, antipodal = np.random.default_rng([d, int(10 * beta)]), np.zeros(runs), 0
    while len(r):
        r = layered_overlap(r, d, beta, step, rng)
        antipodal += int((r < -FAR).sum())
        r = r[np.abs(r) < FAR]
    return antipodal / runs


def antipodal_share(d: int, beta: float, runs: int) -> float:
    """Share of initially orthogonal pairs that reach R = -UNTIL before UNTIL by Heun steps."""
    rng, half = np.random.default_rng([d, int(10 * beta)]), np.array([0.5, 0.5])
    x, antipodal = np.broadcast_to(np.eye(2, d), (runs, 2, d)), 0
    while len(x):
        noise = rng.standard_normal((len(x), d, d)) * math.sqrt(STEP / d)
        x = heun(x, beta, half, noise)
        overlap = (x[:, 0] * x[:, 1]).sum(axis=1)
        antipodal += int((overlap < -UNTIL).sum())
        x = x[np.abs(overlap) < UNTIL]
    return antipodal / runs


def exit_times(beta: float, runs: int) -> np.ndarray:
    """Times at which antipodal clusters of masses 1/3 and 2/3 on S^2 first have R > 0."""
    rng, masses = np.random.default_rng(int(beta)), np.array([1.0, 2.0]) / 3.0
    x = np.broadcast_to(np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]), (runs, 2, 3))
    times, left, layer = np.zeros(runs), np.arange(runs), 0
    while len(left):
        noise = rng.standard_normal((len(left), 3, 3)) * math.sqrt(STEP / 3)
        x, layer = unit_vectors(x + means(x, beta, masses) @ noise), layer + 1
        out = (x[:, 0] * x[:, 1]).sum(axis=1) > 0.0
        times[left[out]] = STEP * layer
        x, left = x[~out], left[~out]
    return times


def mean_overlaps(d: int, runs: int, layers: int = 200) -> np.ndarray:
    """Mean overlap of eight orthogonal tokens at beta = 1 and time 1, for each run.

    For eight averages m, V m has the law of C Z / sqrt(d), where C C^T has the products of the
    averages and Z (8, d) is normal.
    """
    rng, pairs = np.random.default_rng(d), np.triu_indices(8, 1)
    x = np.broadcast_to(np.eye(8, d), (runs, 8, d))
    for _ in range(layers):
        m = means(x, 1.0, np.ones(8))
        # The small diagonal keeps the products positive definite despite rounding.
        root = np.linalg.cholesky(m @ m.swapaxes(1, 2) + 1e-14 * np.eye(8))
        x = unit_vectors(x + root @ rng.standard_normal((runs, 8, d)) / math.sqrt(layers * d))
    return (x @ x.swapaxes(1, 2))[:, pairs[0], pairs[1]].mean(axis=1)


def first_correction(n: int, beta: float, time: float) -> float:
    """Coefficient of 1 / d in the mean overlap of n orthogonal tokens, by linearised noise.

    Overlaps q have the drift F + G / d and the covariance D / d. With the derivatives J and F'' of
    F at the limit gamma,

        e' = J e + G + F''[C] / 2,    C' = J C + C J^T + D.
    """
    rows, columns = np.triu_indices(n, 1)
    size, h = len(rows), 1e-3
    eye = np.eye(size)

    def products(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:  # of tokens, of means
        x = np.broadcast_to(np.eye(n), (*q.shape[:-1], n, n)).copy()
        x[..., rows, columns] = x[..., columns, rows] = q
        weights = np.exp(beta * (x - 1.0))
        weights /= weights.sum(axis=-1, keepdims=True)
        return x, weights @ x @ weights.swapaxes(-1, -2)

    def drifts(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x, s = products(q)
        own = np.diagonal(s, axis1=-2, axis2=-1)
        half = 0.5 * x * (own[..., :, None] + own[..., None, :])
        both = s - half, (x**2 - 2.0) * s + half
        return both[0][..., rows, columns], both[1][..., rows, columns]

    def covariance(q: np.ndarray) -> np.ndarray:
        x, s = products(q)
        # dq_ij = <u_i, x_j - q x_i> + <u_j, x_i - q x_j>: coefficients (pair, of u, of x).
        a, pairs = np.zeros((size, n, n)), np.arange(size)
        a[pairs, rows, columns] = a[pairs, columns, rows] = 1.0
        a[pairs, rows, rows] = a[pairs, columns, columns] = -q
        return np.einsum("pia,ab,qjb,ij->pq", a, x, a, s, optimize=True)

    def speed(_: float, state: np.ndarray) -> np.ndarray:
        q, mean, c = np.full(size, state[0]), state[1], state[2:].reshape(size, size)
        f, g = drifts(q)
        j = (drifts(q + h * eye)[0] - drifts(q - h * eye)[0]).T / (2.0 * h)
        sizes, axes = np.linalg.eigh(c)
        bent = drifts(q + h * axes.T)[0] + drifts(q - h * axes.T)[0] - 2.0 * f
        growth = j.sum(axis=1).mean() * mean + g.mean() + 0.5 * (sizes @ bent).mean() / h**2
        return np.concatenate([[f.mean(), growth], (j @ c + c @ j.T + covariance(q)).ravel()])

    run = solve_ivp(speed, (0.0, time), np.zeros(2 + size**2), rtol=1e-6, atol=1e-9)
    return float(run.y[1, -1])


def main(short: bool) -> list[Claim]:
    """Run, check, draw."""
    runs, claims, stays = 1_000 if short else 10_000, [], {}
    for d, beta in LAYERED:
        exact = antipodal_probability(d, beta, until=FAR)
        for step in (0.05,) if short else (0.05, 0.025):
            # Three standard errors; the larger step has a visible error in d = 16.
            within = 3.0 * math.sqrt(exact * (1.0 - exact) / (10 * runs))
            within += 0.002 if step == 0.05 else 0.0
            here = layered_share(d, beta, step, 10 * runs)
            name = f"d = {d}, beta = {beta:g}, layers of step {step:g}: share antipodal"
            claims.append(Claim(name, exact, here, within))
    for d, beta in PAIRS:
        exact = antipodal_probability(d, beta, interpretation="stratonovich", until=UNTIL)
        here = antipodal_share(d, beta, runs)
        # Three standard errors, and an error of the step, which detects exits late.
        within = 3.0 * math.sqrt(exact * (1.0 - exact) / runs) + 0.002
        claims.append(
            Claim(f"d = {d}, beta = {beta:g}, Heun: share antipodal", exact, here, within)
        )
    for beta in LIFETIMES:
        times = exit_times(beta, runs // 10)
        # The mean overshoot of layers beyond R = 0 is 0.5826 steps (Chernoff, Siegmund).
        _, (variance,) = overlap_coefficients(3, beta, np.zeros(1), 1.0 / 3.0)
        exact = cluster_lifetime(3, beta, 1.0 / 3.0, overlap=0.5826 * math.sqrt(variance * STEP))
        stays[beta] = times.mean()
        within = 3.0 * times.std() / math.sqrt(len(times)) + 0.01 * exact
        name = f"masses 1/3 and 2/3, d = 3, beta = {beta:g}: mean time to R > 0"
        claims.append(Claim(name, exact, stays[beta], within))
    (limit,), correction = simplex_overlap(8, 1.0, np.array([1.0])), first_correction(8, 1.0, 1.0)
    for d in DIMENSIONS:
        overlaps = mean_overlaps(d, runs // 5)
        error = d * overlaps.std() / math.sqrt(len(overlaps))
        # Three standard errors, and the next term.
        within = 3.0 * error + 2.0 / d
        name = f"d = {d}: d x (mean overlap - limit) of eight tokens"
        claims.append(Claim(name, correction, d * (overlaps.mean() - limit), within))
    # Two tokens have an exact mean at every d; extrapolation removes the next term.
    (limit,) = simplex_overlap(2, 1.0, np.array([1.0]))
    low, high = (d * (mean_overlap(d, 1.0, 1.0) - limit) for d in (100, 200))
    name = "d x (mean overlap - limit) of two tokens as d -> infinity"
    claims.append(Claim(name, first_correction(2, 1.0, 1.0), 2.0 * high - low, 1e-3))
    draw(stays, short)
    return claims


def draw(stays: dict, short: bool) -> None:
    """Draw the probability to end antipodal over beta and d, and lifetimes of clusters."""
    dimensions, betas = range(2, 17), np.linspace(0.0, 3.0, 11 if short else 41)
    table = [[antipodal_probability(d, float(b)) for b in betas] for d in dimensions]
    with style():
        figure = new_figure((9.5, 4.0))
        phases, times = figure.subplots(1, 2)
        image = phases.pcolormesh(betas, dimensions, table, cmap="Blues", vmin=0.0, vmax=0.5)
        figure.colorbar(image, ax=phases, label="probability to end antipodal")
        fine = np.linspace(0.0, 3.0, 300)
        for edge, colour, label in (
            (2.0 + np.cosh(2.0 * fine), ENERGY, r"layers: $d-2=\cosh 2\beta$"),
            (0.5 * (3.0 + np.exp(2.0 * fine)), COUNT, r"Stratonovich: $2d-3=e^{2\beta}$"),
        ):
            inside = edge <= dimensions[-1]
            phases.plot(fine[inside], edge[inside], color=colour, label=label)
        phases.set(xlabel=r"$\beta$", ylabel="$d$")
        phases.legend(loc="upper left", frameon=True)
        beta = np.linspace(0.2, 4.0, 20)
        for mass, colour in ((1.0 / 3.0, ORDER), (0.45, ENERGY)):
            lives = [cluster_lifetime(3, float(b), mass) for b in beta]
            odds = abs(math.sinh(math.log(mass / (1.0 - mass))))
            factor = 3.0 * math.pi / (4.0 * math.sqrt(2.0) * odds)  # B(1, 1/2) = 2
            times.semilogy(beta, lives, color=colour, label=f"masses {mass:.2f}, {1 - mass:.2f}")
            times.semilogy(beta, factor * np.exp(2.0 * beta), color=colour, ls=":")
        times.semilogy([*stays], [*stays.values()], "o", color=INK, ms=4)
        times.set(xlabel=r"$\beta$", ylabel="mean time from $R=-1$ to $R=0$, $d=3$")
        times.legend(loc="upper left")
    write_figure(figure, FOLDER / "random_layers.png")
