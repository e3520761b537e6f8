"""Attention from moments and from random features: errors over the number of features, d = 2, 3, 8.

Velocities of a pair of tokens at any angle, and of 64 random tokens, from harmonics up to a degree,
and from trigonometric and positive random features. Errors of harmonics must be below the certified
bound, and those of random features must match their variance. Prints which features are fewest in
which dimension. Draws moments.png (short.png).
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from claims import Claim, Errors, near_zero
from scipy.special import eval_gegenbauer

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.figures.draw.axes import ENERGY, MUTED, ORDER, style, title_above
from meanfield.figures.draw.figures import new_figure, write_figure
from meanfield.papers.truncation import positive_variance, trigonometric_variance

SECONDS = 90, 2
FOLDER = Path(__file__).parent
BETA, DIMENSIONS, TOKENS = 5.0, (2, 3, 8), 64
ANGLES = np.linspace(0.0, np.pi, 2001)
POSITIVE = "#6f4fa3"
# Kernel errors of the table, as shares of the largest weight.
ERRORS = (1e-1, 1e-2, 1e-4, 1e-8)
ROWS = [(2, 1.0), (2, 5.0), (2, 25.0), (3, 5.0), (3, 25.0), (4, 5.0), (8, 1.0), (8, 5.0), (16, 1.0),
        (16, 5.0), (64, 1.0), (64, 5.0)]  # fmt: skip
Points = tuple[FloatArray, FloatArray]


def problem(d: int, beta: float = BETA) -> mf.Problem:
    """Unnormalised attention on S^{d-1}."""
    return mf.Problem(mf.Circle() if d == 2 else mf.Sphere(d), mf.exponential(beta), mf.USA)


def slopes(d: int, degree: int, s: FloatArray) -> FloatArray:
    """Slope W' of the potential up to a degree, sum_l w_l (2 l + d - 2) C_{l-1}^{d/2}(s)."""
    w = mf.exponential(BETA).potential_multipliers(d - 1, degree)
    total = np.zeros_like(s)
    for l in range(1, degree + 1):
        total += w[l] * (2 * l + d - 2) * eval_gegenbauer(l - 1, 0.5 * d, s)
    return total


def exact(s: FloatArray) -> FloatArray:
    """Kernel W'(s) = e^{beta s - beta}."""
    return np.asarray(np.exp(BETA * (s - 1.0)))


def drawn_tokens(d: int) -> FloatArray:
    """Random tokens, the same in all comparisons."""
    tokens = np.random.default_rng(d).normal(size=(TOKENS, d))
    return np.asarray(tokens / np.linalg.norm(tokens, axis=1, keepdims=True))


def largest_error(tokens: FloatArray, lost: FloatArray) -> float:
    """Largest error sum_j lost_ij P_i x_j / n of a velocity, for errors `lost` of the kernel."""
    sums = lost @ tokens / len(tokens)
    along = (sums * tokens[: len(sums)]).sum(axis=1, keepdims=True)
    return float(np.linalg.norm(sums - along * tokens[: len(sums)], axis=1).max())


def of_harmonics(d: int, degrees: FloatArray) -> tuple[FloatArray, ...]:
    """Features; certified bounds, errors of the worst pair and of tokens, relative to speed."""
    tokens, s = drawn_tokens(d), np.cos(ANGLES)
    rows = []
    for degree in map(int, degrees):
        kept = mf.truncation(problem(d), degree)
        pair = np.abs((slopes(d, degree, s) - exact(s)) * np.sin(ANGLES)).max()
        gram = np.clip(tokens @ tokens.T, -1.0, 1.0)
        many = largest_error(tokens, slopes(d, degree, gram) - exact(gram))
        rows.append((kept.features, *(np.array([kept.velocity_error, pair, many])
                                      / kept.largest_speed)))  # fmt: skip
    return tuple(np.array(rows).T)


def of_random(d: int, counts: FloatArray, draws: int, positive: bool) -> tuple[FloatArray, ...]:
    """Features; exact r.m.s. error of the worst pair; r.m.s. of draws for this pair, for tokens."""
    rng, tokens, s = np.random.default_rng(100 + d), drawn_tokens(d), np.cos(ANGLES)
    speed, gram = mf.truncation(problem(d), 1).largest_speed, exact(tokens @ tokens.T)
    variance = positive_variance if positive else trigonometric_variance
    rows = []
    for count in map(int, counts):
        predicted = np.sqrt(variance(BETA, s, count)) * np.sin(ANGLES)
        worst = int(predicted.argmax())
        pair = np.zeros((2, d))
        pair[0, 0], pair[1, :2] = 1.0, (s[worst], math.sin(ANGLES[worst]))
        errors, many = [], []
        for _ in range(draws):
            omega = math.sqrt(BETA) * rng.standard_normal((count, d))
            many.append(largest_error(tokens, estimate(tokens, omega, positive) - gram))
            errors.append(estimate(pair, omega, positive)[0, 1] - exact(s[worst]))
        measured = np.sqrt(np.mean(np.square(errors))) * math.sin(ANGLES[worst])
        rows.append((count if positive else 2 * count, predicted[worst] / speed, measured / speed,
                     np.sqrt(np.mean(np.square(many))) / speed))  # fmt: skip
    return tuple(np.array(rows).T)


def estimate(points: FloatArray, omega: FloatArray, positive: bool) -> FloatArray:
    """Kernel matrix of points as a product of random features."""
    scores = points @ omega.T
    if positive:
        features = np.exp(scores - BETA)
    else:
        features = np.concatenate([np.cos(scores), np.sin(scores)], axis=1)
    return np.asarray(features @ features.T / len(omega))


def table() -> list[tuple[int, float, list[tuple[float, float, float, str]]]]:
    """Numbers of harmonics, trigonometric and positive features, and which are fewest.

    Errors of random features are root mean squares, at the similarity where these are largest.
    """
    rows = []
    for d, beta in ROWS:
        found = []
        for error in ERRORS:
            needed = (
                mf.truncation(problem(d, beta), error=error).features,
                2 * math.ceil(float(trigonometric_variance(beta, -1.0, 1)) / error**2),
                math.ceil(float(positive_variance(beta, 1.0, 1)) / error**2),
            )
            names = ("harmonics", "trigonometric", "positive")
            found.append((*map(float, needed), names[int(np.argmin(needed))]))
        rows.append((d, beta, found))
    return rows


def main(short: bool) -> list[Claim]:
    """Compute, check, draw."""
    draws = 20 if short else 200
    counts = np.round(np.geomspace(10, 1000 if short else 10_000, 5 if short else 9))
    checks: Errors = {}
    shown = {}
    for d in DIMENSIONS:
        harmonics = of_harmonics(d, np.arange(1, 19))
        waves, raised = (of_random(d, counts, draws, positive) for positive in (False, True))
        shown[d] = harmonics, waves, raised
        certified, pair, tokens = harmonics[1:]
        over = np.maximum(pair, tokens) / (certified + 1e-13)
        checks[f"d = {d}: largest error of harmonics over the bound"] = float(over.max()), 1.0
        # Relative standard error of a root mean square, 1 / sqrt(2 draws) of normal errors.
        off = np.abs(waves[2] / waves[1] - 1.0).max() * math.sqrt(2.0 * draws)
        checks[f"d = {d}: trigonometric features from their variance, standard errors"] = (
            float(off),
            4.0,
        )
        loose = (certified / np.maximum(pair, 1e-300))[pair > 1e-10]
        print(f"d = {d}: bound over the worst pair, {loose.min():.2f} to {loose.max():.2f}")
    print("features for a kernel error of " + ", ".join(f"{error:g}" for error in ERRORS))
    for d, beta, found in table():
        cells = [f"{h:.3g} {t:.3g} {p:.3g} {name}" for h, t, p, name in found]
        print(f"d = {d:2d}, beta = {beta:2g}: " + "; ".join(cells))
    save_figure(FOLDER / ("short.png" if short else "moments.png"), shown)
    return near_zero(checks)


def save_figure(path: Path, shown: dict[int, tuple[tuple[FloatArray, ...], ...]]) -> None:
    """Draw errors over features, one panel for each dimension."""
    with style():
        figure = new_figure((12.6, 4.6))
        panels = figure.subplots(1, len(shown), sharey=True)
        for axes, (d, (harmonics, waves, raised)) in zip(panels, shown.items(), strict=True):
            features, certified, pair, tokens = harmonics
            visible = pair > 2e-13
            axes.loglog(features, certified, color=ORDER, label="harmonics, certified")
            axes.loglog(features[visible], pair[visible], "o", markersize=4, color=ORDER,
                        label="measured, worst pair")  # fmt: skip
            axes.loglog(features[visible], tokens[visible], ".", markersize=4, color=MUTED,
                        label=f"measured, {TOKENS} tokens")  # fmt: skip
            for (count, predicted, measured, _), colour, name in (
                (waves, ENERGY, "trigonometric"),
                (raised, POSITIVE, "positive"),
            ):
                axes.loglog(count, predicted, "--", color=colour, label=f"{name}, r.m.s.")
                axes.loglog(count, measured, "o", markersize=4, markerfacecolor="none",
                            color=colour, label=f"{name}, draws")  # fmt: skip
            axes.set(xlabel="features", xlim=(2.5, 4e6 if d == 8 else 4e4), ylim=(1e-13, 1e5))
            title_above(axes, f"d = {d}", f"$\\beta = {BETA:g}$")
        panels[0].set(ylabel="error of a velocity / largest speed")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)
        write_figure(figure, path)
