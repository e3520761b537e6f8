"""A density and tokens under heads with matrices, compared with theory and sums over pairs.

One head rotates, one reflects, two compete, and one on the sphere has no symmetry. If uniform is
stationary, a small mode must grow at the complex rate of `mf.linear_operator`. The density must
agree with weighted nodes that move by sums over all pairs, without code of the package. Distances
W1 of tokens drawn from the density must fall like N^{-1/2}. Draws heads.png (short.png).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from attention_matrices.head_figure import Case, save_figure
from attention_matrices.quantiles import at_quantiles
from claims import Claim, Errors, near_zero
from scipy.integrate import solve_ivp

import meanfield as mf
from meanfield.runfile import load_config
from meanfield.runfile.config import Config

SECONDS = 180, 40
FOLDER = Path(__file__).parent
AMPLITUDE = 1e-6
"""Amplitude of the mode whose rate is measured; the error is of second order in it."""


@dataclass(frozen=True)
class Setting:
    """Settings for a run file."""

    name: str  # of the run file
    nodes: int  # of the sums over pairs; on the sphere, in each direction
    until: float  # end of these sums, up to which the nodes resolve the density
    expected: complex | None  # leading eigenvalue by a formula; None if uniform is not stationary


def main(short: bool) -> list[Claim]:
    """Run, check, draw."""
    settings = [
        Setting("rotation", 400, 2.0, rotating_rate(5.0, 0.6, 3)),
        Setting("reflection", 400, 2.0, reflecting_rate(5.0, 3)),
        Setting("competition", 400, 1.2, competing_rate(5)),
        Setting("general", 14 if short else 24, 0.4 if short else 0.8, None),
    ]
    cases: list[Case] = []
    claims: list[Claim] = []
    for setting in settings:
        began = time.perf_counter()
        config = load_config(FOLDER / f"{setting.name}.toml")
        on_sphere = config.problem.manifold.name == "sphere"
        times = config.times
        if short and on_sphere:
            times = times[times <= 0.8 + 1e-12]
        # Distances on the sphere are linear programmes, so sizes are smaller.
        sizes = (100, 400) if on_sphere else (100, 1000)
        sizes = sizes if short else (*sizes, 1600 if on_sphere else 10_000)
        draws = (2 if on_sphere else 4) if short else (3 if on_sphere else 16)
        few = (2 if short else 4) if on_sphere else None
        case = carried(config, times, sizes, draws, few)
        claims += near_zero(rate_checks(setting, case.run.problem))
        claims += near_zero(pair_check(setting, config))
        claims += distance_claims(case)
        cases.append(case)
        print(f"{case.title}: {time.perf_counter() - began:.0f} s", flush=True)
        print(case.table(), flush=True)
    energy = cases[1].run.observables["energy"]
    fall = float(np.max(-np.diff(energy), initial=0.0))
    claims += near_zero({"a reflecting head: largest fall of the energy": (fall, 1e-9)})
    save_figure(cases, FOLDER / ("short.png" if short else "heads.png"))
    return claims


def carried(
    config: Config, times: np.ndarray, sizes: tuple[int, ...], draws: int, few: int | None
) -> Case:
    """Runs of the density and of tokens, drawn or at quantiles (circle), and their distances."""
    problem, title = config.problem, config.title
    options = {"save": list(times), "until": float(times[-1])}
    limit = mf.simulate(
        problem,
        **options,
        representation=config.options.name,
        tolerance=config.options.tolerance,
    )
    compared = range(0, len(times), max(1, (len(times) - 1) // (few or 24)))
    drawn, random = [], {}
    for tokens in sizes:
        rows = []
        for seed in range(draws):
            run = mf.simulate(
                problem, **options, representation="particles", tokens=tokens, seed=seed,
                tolerance=1e-8,
            )  # fmt: skip
            rows.append(distances(limit, run, compared))
            drawn += [run] if seed == 0 else []
        random[tokens] = np.array(rows)
    regular = {}
    if problem.manifold.name == "circle":
        for tokens in sizes:
            start = mf.from_points(at_quantiles(limit.measures[0], tokens))
            run = mf.simulate(
                replace(problem, initial=start), **options, representation="particles",
                tolerance=1e-8,
            )  # fmt: skip
            regular[tokens] = distances(limit, run, compared)
    return Case(title, limit, drawn, np.asarray(times)[list(compared)], random, regular)


def distances(limit: mf.Run, run: mf.Run, compared: range) -> list[float]:
    """W1 between two runs at the compared saved times; of brackets, the middle."""
    return [
        float(mf.wasserstein(run.measures[i], limit.measures[i], tolerance=0.1)) for i in compared
    ]


def rotating_rate(beta: float, angle: float, k: int) -> complex:
    """Rate of degree k for B = 1 and V a rotation, with softmax (docs/attention.md)."""
    from scipy.special import iv, ivp

    value = np.exp(1j * angle)
    rate = k**2 / beta * iv(k, beta) * value.real
    rate -= 1j * value.imag * k * (ivp(k, beta) + iv(1, beta))
    return complex(
        rate / iv(0, beta) + 1j * k * value.imag * iv(1, beta) * iv(k, beta) / iv(0, beta) ** 2
    )


def reflecting_rate(beta: float, k: int) -> complex:
    """Rate of cos k theta for B = V = diag(1, -1), which equals that for B = V = 1."""
    from scipy.special import iv

    return complex(k**2 * iv(k, beta) / iv(0, beta) / beta)


def competing_rate(k: int) -> complex:
    """Rate of degree k for the two heads of competition.toml: the sum over heads."""
    return 1.5 * reflecting_rate(9.0, k) - 0.5 * reflecting_rate(2.0, k)


def rate_checks(setting: Setting, problem: mf.Problem) -> Errors:
    """Errors of the leading eigenvalue and of the growth rate of a small mode in a run."""
    operator = mf.linear_operator(problem)
    if setting.expected is None:
        print(f"{setting.name}: {operator}")
        return {f"{setting.name}: has rates about uniform": (float(operator.stationary), 0.0)}
    found = operator.eigenvalues[0]
    start = operator.perturbed(0, AMPLITUDE)
    small = replace(problem, initial=mf.from_density(start.coefficients))
    end = 2.0
    run = mf.simulate(small, until=end, save=2, representation="density", tolerance=1e-13)
    # Parts of the perturbation along the mode and its conjugate.
    basis = np.stack([operator.vectors[:, 0], operator.vectors[:, 0].conj()], axis=1)
    if not operator.travelling[0]:
        basis = basis[:, :1]
    parts = [
        np.linalg.lstsq(basis, operator.to_vector(each.coefficients), rcond=None)[0][0]
        for each in run.measures
    ]
    # The phase of the logarithm is the one closest to the eigenvalue.
    measured = np.log(parts[1] / parts[0]) / end
    measured += 2j * np.pi / end * np.round((found - measured).imag * end / (2 * np.pi))
    print(f"{setting.name}: rate {measured:.10f}, eigenvalue {found:.10f} ({operator.describe()})")
    formula = complex(setting.expected)
    formula = complex(formula.real, abs(formula.imag))
    size = abs(formula)
    return {
        f"{setting.name}: eigenvalue minus its formula, relative": (
            float(abs(found - formula) / size),
            1e-10,
        ),
        f"{setting.name}: measured rate minus the eigenvalue, relative": (
            float(abs(measured - found) / size),
            1e-6,
        ),
    }


def pair_check(setting: Setting, config: Config) -> Errors:
    """Largest difference between moments of the density and of nodes moved by sums over pairs."""
    problem, end = config.problem, setting.until
    space = problem.manifold
    initial = problem.initial.build(space)
    if space.dimension == 1:
        points = 2.0 * np.pi * np.arange(setting.nodes) / setting.nodes
        weights = np.full(setting.nodes, 1.0 / setting.nodes)
        x = np.stack([np.cos(points), np.sin(points)], axis=1)
    else:
        heights, of_heights = np.polynomial.legendre.leggauss(setting.nodes)
        around = np.arange(2 * setting.nodes) * np.pi / setting.nodes
        height, angle = (a.ravel() for a in np.meshgrid(heights, around, indexing="ij"))
        ring = np.sqrt(1.0 - height**2)
        x = np.stack([ring * np.cos(angle), ring * np.sin(angle), height], axis=1)
        points = x
        weights = np.repeat(0.5 * of_heights, 2 * setting.nodes) / (2 * setting.nodes)
    masses = weights * initial(points)
    heads = [
        (np.array(head.score), np.array(head.value))
        for head in attention_of(config).matrices(x.shape[1])
    ]

    def moved(_: float, flat: np.ndarray) -> np.ndarray:
        tokens = flat.reshape(x.shape)
        velocity = np.zeros_like(tokens)
        for score, value in heads:
            weight = np.exp(tokens @ score @ tokens.T) * masses
            velocity += weight @ tokens @ value.T / weight.sum(axis=1)[:, None]
        velocity -= (velocity * tokens).sum(axis=1)[:, None] * tokens
        return velocity.ravel()

    last = solve_ivp(moved, (0.0, end), x.ravel(), "DOP853", rtol=1e-10, atol=1e-12).y[:, -1]
    y = last.reshape(x.shape)
    y /= np.sqrt((y**2).sum(axis=1))[:, None]
    run = mf.simulate(
        problem, until=end, save=2, representation="density", tolerance=config.options.tolerance
    )
    degree = 12 if space.dimension == 1 else 4
    tokens = mf.Measure(space, np.arctan2(y[:, 1], y[:, 0]) if y.shape[1] == 2 else y, masses)
    difference = run.measures[-1].moments(degree) - tokens.moments(degree)
    # On the sphere the nodes limit the accuracy.
    allowed = 1e-8 if space.dimension == 1 else 1e-5
    name = f"{setting.name}: moments at t = {end:g} minus those of sums over pairs"
    return {name: (float(np.abs(difference).max()), allowed)}


def attention_of(config: Config) -> mf.Attention:
    """Heads of a run file."""
    attention = config.problem.attention
    assert attention is not None
    return attention


def distance_claims(case: Case) -> list[Claim]:
    """Claims on exponents of W1 in N at the middle time: -1/2 for draws, -1 for quantiles."""
    claims = []
    for name, of_size, exponent, allowed in (
        ("draws", {n: np.mean(rows, axis=0) for n, rows in case.random.items()}, -0.5, 0.3),
        ("quantiles", case.regular, -1.0, 0.2),
    ):
        if not of_size:
            continue
        sizes = np.log(list(of_size))
        halfway = np.log([rows[len(case.times) // 2] for rows in of_size.values()])
        slope = float(np.polyfit(sizes, halfway, 1)[0])
        what = f"{case.title.lower()}: exponent of W1 of {name} in N"
        claims.append(Claim(what, exponent, slope, allowed))
    return claims
