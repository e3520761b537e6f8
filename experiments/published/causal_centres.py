"""Tokens under a causal mask: clusters form at the centres of Renyi's parking."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from claims import Claim
from matplotlib.figure import Figure

import meanfield as mf
from meanfield.arrays import FloatArray
from meanfield.figures.draw.axes import ENERGY, FAINT, INK, MUTED
from meanfield.observables.cosines import greedy_centres, strong_centres
from meanfield.papers.random_tokens import expected_centres
from published.entry import Progress, Reproduction, unfollowed
from published.spheres import token_paths

BETA, TOKENS = 64.0, 200
SEPARATION = 4.0 / np.sqrt(BETA)
TIMES = (0.0, 25.0, 75.0, 125.0, 150.0)
NEAR = 0.05
"""Gap that separates clusters, and distance within which a token is at a centre."""
# Seed of a prompt that loses a strong centre between t = 75 and 125.
SHOWN = 13


def compute(
    short: bool = False, published: bool = False, progress: Progress = unfollowed
) -> Reproduction:
    """Numbers of centres of many prompts, their displacements, and paths of one prompt."""
    prompts, draws = (1, 60) if short else (20, 2000)
    counts = np.array([len(strong_centres(prompt(seed), SEPARATION)) for seed in range(draws)])
    greedy = np.array([len(greedy_centres(prompt(seed), SEPARATION)) for seed in range(draws)])
    error = counts.std(ddof=1) / np.sqrt(draws)
    expected = expected_centres(mf.Circle(), TOKENS, SEPARATION)
    times = TIMES[:3] if short else TIMES
    strong, groups, gathered, first = [], [], [], []
    for seed in progress(range(prompts), prompts, "prompts"):
        start = prompt(seed)
        angles = moved(start, times)
        away = np.abs(angles - start)
        centres = greedy_centres(start, SEPARATION)
        first.append(away[:, 0].max())
        strong.append(away[1:, strong_centres(start, SEPARATION)].max(axis=1))
        groups.append([_clusters(row) for row in angles[1:]])
        gathered.append([_at_centres(row, centres) for row in angles[1:]])
    largest, number = np.array(strong), np.mean(groups, axis=0)
    reached = np.mean(gathered, axis=0)
    numbers = [
        Claim(f"mean number of strong centres of {draws} prompts", float(np.pi / SEPARATION),
               float(counts.mean()), float(4.0 * error),
               "one over the mass of a cap; within four standard errors", printed=True),
        Claim("(1 - (1 - q)^n) / q, q the mass of a cap", float(np.pi / SEPARATION), expected,
               1e-6, "1 / q, many tokens", printed=True),
        Claim(f"mean number of greedy centres of {draws} prompts", None, float(greedy.mean())),
        Claim("largest displacement of the first token", 0.0, float(max(first)), 1e-13,
               "rounding of some 600 steps"),
        Claim("median of the largest displacement of a strong centre, t = 75",
               "to the eye at rest", float(np.median(largest[:, 1])),
               why="the source calls them nearly fixed", printed=True),
    ]  # fmt: skip
    why = "SciPy's DOP853 at 1e-10, attention written a second time"
    numbers.append(
        Claim("largest distance of a token from a second integration, t = 5", 0.0,
               _distance(prompt(SHOWN), 5.0), 1e-5, why)
    )  # fmt: skip
    if not short:
        merged = (largest[:, 3] > 0.3) & (largest[:, 1] < 0.3)
        numbers.append(
            Claim("share of prompts one of whose strong centres merges, t = 75 to 150",
                   "one is in the figure", float(merged.mean()),
                   why=f"of {prompts} prompts; moved by more than 0.3", printed=True)
        )  # fmt: skip
    for i, time in enumerate(times[1:]):
        own = largest[:, i]
        numbers += [
            Claim(f"largest displacement of a strong centre, mean over prompts, t = {time:g}",
                   None, float(own.mean())),
            Claim(f"the same, largest over prompts, t = {time:g}", None, float(own.max())),
            Claim(f"clusters, gaps above {NEAR:g}, t = {time:g}", None, float(number[i])),
            Claim(f"share of tokens within {NEAR:g} of a centre's token, t = {time:g}", None,
                   float(reached[i])),
        ]  # fmt: skip
    start, save = prompt(SHOWN), np.linspace(0.0, np.sqrt(times[-1]), 5 if short else 200) ** 2
    wanted = np.unique(np.concatenate([save, times]))
    data = {
        "time": wanted, "angles": moved(start, tuple(wanted.tolist())), "times": np.array(times),
        "strong": np.array(strong_centres(start, SEPARATION)),
        "greedy": np.array(greedy_centres(start, SEPARATION)),
    }  # fmt: skip
    return Reproduction(tuple(numbers), data)


def draw(figure: Figure, reproduction: Reproduction) -> None:
    """Tokens on the circle at five times, and their paths over the square root of time."""
    data = reproduction.data
    figure.set_size_inches(10.5, 6.4)
    grid = figure.add_gridspec(2, len(data["times"]), height_ratios=(1.0, 1.6))
    rest = np.setdiff1d(data["greedy"], data["strong"])
    others = np.setdiff1d(np.arange(TOKENS), data["greedy"])
    around = np.linspace(0.0, 2.0 * np.pi, 201)
    for column, time in enumerate(data["times"]):
        axes = figure.add_subplot(grid[0, column])
        now = data["angles"][int(np.argmin(np.abs(data["time"] - time)))]
        axes.plot(np.cos(around), np.sin(around), color=FAINT, linewidth=0.8)
        axes.plot(np.cos(now), np.sin(now), "o", color=MUTED, markersize=3)
        for which, colour, size in ((rest, INK, 5.0), (data["strong"], ENERGY, 6.0)):
            axes.plot(np.cos(now[which]), np.sin(now[which]), "o", color=colour, markersize=size)
        axes.set_aspect("equal")
        axes.axis("off")
        axes.set_title(f"$t = {time:g}$")
    axes = figure.add_subplot(grid[1, :])
    for which, colour, width, label in (
        (others, FAINT, 0.5, "other tokens"),
        (rest, INK, 1.4, "other greedy centres"),
        (data["strong"], ENERGY, 1.4, "strong centres"),
    ):
        shown = np.mod(data["angles"][:, which] + np.pi, 2.0 * np.pi) - np.pi
        shown[1:][np.abs(np.diff(shown, axis=0)) > np.pi] = np.nan
        lines = axes.plot(np.sqrt(data["time"]), shown / np.pi, color=colour, linewidth=width)
        lines[0].set_label(f"{len(which)} {label}")
    axes.set_xticks(np.sqrt(data["times"]), [f"{tick:g}" for tick in data["times"]])
    axes.set(
        xlabel="time, on an axis of its square root",
        xlim=(0.0, np.sqrt(data["times"][-1])),
        ylim=(-1.0, 1.0),
    )
    axes.set_ylabel("angle / π")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=3)


def prompt(seed: int) -> FloatArray:
    """Independent uniform angles of a prompt."""
    return np.random.default_rng(seed).uniform(-np.pi, np.pi, TOKENS)


def moved(angles: FloatArray, save: tuple[float, ...]) -> FloatArray:
    """Unwrapped angles at the saved times."""
    attention = mf.Attention([mf.Head()], "softmax", beta=BETA, mask="causal")
    problem = mf.Problem(mf.Circle(), attention, initial=mf.from_points(angles))
    run = mf.simulate(problem, until=save[-1], save=list(save), tolerance=1e-8)
    return token_paths(run)


def _distance(angles: FloatArray, until: float) -> float:
    """Largest distance of a token from a solution by SciPy."""
    from scipy.integrate import solve_ivp

    seen = np.tri(TOKENS, dtype=bool)

    def velocity(_: float, x: FloatArray) -> FloatArray:
        away = x[:, None] - x
        weights = np.where(seen, np.exp(BETA * (np.cos(away) - 1.0)), 0.0)
        return -np.asarray((weights * np.sin(away)).sum(axis=1) / weights.sum(axis=1))

    other = solve_ivp(velocity, (0.0, until), angles, "DOP853", rtol=1e-10, atol=1e-10)
    return float(np.abs(other.y[:, -1] - moved(angles, (0.0, until))[-1]).max())


def _clusters(angles: FloatArray) -> int:
    """Number of groups of tokens that gaps above `NEAR` separate."""
    ordered = np.sort(np.mod(angles, 2.0 * np.pi))
    gaps = np.diff(ordered, append=ordered[0] + 2.0 * np.pi)
    return max(1, int((gaps > NEAR).sum()))


def _at_centres(angles: FloatArray, centres: npt.NDArray[np.int64]) -> float:
    """Share of tokens within `NEAR` of one of the centres."""
    away = np.abs(np.angle(np.exp(1j * (angles[:, None] - angles[centres]))))
    return float((away.min(axis=1) < NEAR).mean())
