"""Positions: growth of waves over positions under windows, biases and rotary embeddings.

On a ring of positions let the weights have Fourier coefficients C(q). A perturbation of degree l
and wavenumber q grows at lambda_l C(q), and under a rotary embedding of frequency Omega at

    (l / 2) (I_{l-1} C(q - (l-1) Omega) - I_{l+1} C(q - (l+1) Omega)) / I_0.

Lines are these formulas, dots are runs of labelled densities. On the interval e^{t L} has the
influence of a perturbation at one position on the last one. Draws positions.png.

Near one point x deviations of tokens obey d_i' = sum_j p_ij (d_j - d_i), p_ij = W_ij / (Z_i + c),

    W_ij = w_ij e^{beta (g_ij - 1)} / sum_k w_ik / n,    g_ij = <R(s_i) x, R(s_j) x>

The slowest mode has the rate of collapse, and the last row of e^{3 P} has the share of each
position in the last token at t = 3. Draws choices.png.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from claims import Claim, near_zero
from scipy.linalg import expm
from scipy.special import ive

import meanfield as mf
from meanfield.figures.draw.axes import COUNT, ENERGY, INK, ORDER, style
from meanfield.figures.draw.figures import new_figure, write_figure

SECONDS = 30, 20
FOLDER = Path(__file__).parent
LABELS = 32
UNTIL = 1.0
AMPLITUDE = 1e-6


def differences(count: int) -> np.ndarray:
    """Differences s_i - s_j in [-1/2, 1/2] of the middles of cells on a ring."""
    s = (np.arange(count) + 0.5) / count
    return (s[:, None] - s + 0.5) % 1.0 - 0.5


def gaussian(u: np.ndarray) -> np.ndarray:
    """Gaussian weights of width 0.1."""
    return np.exp(-(u**2) / (2.0 * 0.1**2))


def window(u: np.ndarray) -> np.ndarray:
    """Shares of cells within a window of width 0.2."""
    return np.clip(0.2 * LABELS + 0.5 - np.abs(u) * LABELS, 0.0, 1.0)


def coefficient(weights: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Fourier coefficient C(q) of the first row of weights, at wavenumbers q."""
    u = differences(LABELS)[0]
    return (weights[0] * np.cos(np.multiply.outer(q, u))).sum(axis=-1) / weights[0].sum()


def formula(beta: float, l: int, strength: float, omega: float, weights: np.ndarray, q):
    """Growth rate of degree l at wavenumbers q."""
    below, zero, above = ive([l - 1, 0, l + 1], beta)
    sums = below * coefficient(weights, q - (l - 1) * omega)
    return strength * 0.5 * l * (sums - above * coefficient(weights, q - (l + 1) * omega)) / zero


def measured(beta: float, l: int, strength: float, omega: float, weights: np.ndarray, wave: int):
    """Growth rate of degree l in a run from a small helix."""
    s = (np.arange(LABELS) + 0.5) / LABELS
    parts = np.zeros((LABELS, l + 1), dtype=complex)
    parts[:, 0], parts[:, l] = 1.0, AMPLITUDE * np.exp(2j * np.pi * wave * s)
    of = mf.Attention(beta=beta, strength=strength, mask=weights, rotary=mf.Rotary(omega))
    problem = mf.Problem(mf.Circle(), of, initial=mf.from_labels(parts))
    run = mf.simulate(problem, UNTIL, save=2, tolerance=1e-13)
    return float(np.log(np.abs(run.measures[-1].parts[:, l] / parts[:, l])).mean() / UNTIL)


RINGS = (
    ("Gaussian 0.1", gaussian, 1.0),
    ("window 0.2", window, 1.0),
    ("window 0.2, $V=-1$", window, -1.0),
)
FREQUENCIES = (0.0, 2.0 * np.pi, 4.0 * np.pi)
INTERVALS = (
    ("Gaussian 0.25", lambda u: np.exp(-8.0 * u**2)),
    ("ALiBi of both sides, 4", lambda u: np.exp(-4.0 * np.abs(u))),
    ("window 0.3", lambda u: np.clip((0.3 - np.abs(u)) * len(u) + 0.5, 0.0, 1.0)),
)
# Masks by name, and numbers of labels.
ERRORS = {
    "Gaussian 0.25": (mf.Bias(lambda u: -8.0 * u**2), (16, 64)),
    "window 0.3": (mf.Window(0.3), (32, 64)),
    "window 0.07": (mf.Window(0.07), (64,)),
}


def label_errors(mask: mf.Bias | mf.Window, counts: tuple[int, ...]) -> list[tuple[float, float]]:
    """Estimated error of each number of labels, and its difference from 192 labels."""
    law = mf.from_labels(
        lambda s: mf.from_density([1.0, 0.15 * np.exp(-1.5j * s), -0.1j * s, 0.05 * np.exp(0.5j)])
    )
    problem = mf.Problem(mf.Circle(), mf.Attention(beta=4.0, mask=mask), initial=law)
    many = mf.simulate(problem, 0.6, save=2, labels=192).moments[-1, 1:9]
    runs = [mf.simulate(problem, 0.6, save=2, labels=n, tolerance=1e-2) for n in counts]
    errors = [np.abs(run.moments[-1, 1:9] - many).max() for run in runs]
    return [(run.diagnostics["label_error"].max(), e) for run, e in zip(runs, errors, strict=True)]


def influence(mask: np.ndarray, labels: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Positions, and the last row of e^{3 C}, where C is the matrix over its rate."""
    problem = mf.Problem(mf.Circle(), mf.Attention(beta=5.0, mask=mask))
    modes = mf.position_modes(problem, 3, labels)
    rate = mf.growth_rates(problem, 3)[3]
    return modes.positions, expm(3.0 * modes.matrix.real / rate)[-1]


TOKENS, DIMENSION, BETA = 32, 16, 2.0
# The point, a unit vector with equal parts in all planes, and a direction of deviations.
POINT = np.full(DIMENSION, DIMENSION**-0.5)
ASIDE = np.tile([1.0, -1.0], DIMENSION // 2) * DIMENSION**-0.5
TIME = 3.0


def _alibi(slope: float, causal: bool) -> mf.Bias:
    return mf.Bias(lambda u: -slope * np.abs(u), causal=causal)


# Name, values on the axis, values with runs, and options of attention for a value and a mask.
CHOICES = (
    (
        "window",
        np.linspace(0.1, 0.9, 17),
        (0.1, 0.3, 0.9),
        lambda w, causal: {"mask": mf.Window(w, causal=causal)},
    ),
    (
        "ALiBi slope",
        np.linspace(0.0, 16.0, 17),
        (0.0, 4.0, 16.0),
        lambda slope, causal: {"mask": _alibi(slope, causal)},
    ),
    (
        "RoPE base",
        np.geomspace(1.0, 1e4, 17),
        (1.0, 100.0, 1e4),
        lambda base, causal: {
            "mask": _alibi(0.0, causal),
            "rotary": mf.Rotary(length=TOKENS, base=base),
        },
    ),
    (
        "sink",
        np.linspace(0.0, 2.0, 17),
        (0.0, 0.5, 2.0),
        lambda c, causal: {"mask": _alibi(0.0, causal), "sink": c},
    ),
)


def near_one_point(options: dict) -> np.ndarray:
    """Matrix P - diag(sum_j p_ij) of deviations of tokens from one point."""
    s = (np.arange(TOKENS) + 0.5) / TOKENS
    u = s[:, None] - s
    mask = options["mask"]
    if isinstance(mask, mf.Window):
        w = (np.abs(u) < mask.width - 1e-9).astype(float)
    else:
        w = np.exp(mask.function(u))
    w = np.where(u >= 0.0, w, 0.0) if mask.causal else w
    rotary = options.get("rotary")
    omega = np.zeros(1) if rotary is None else rotary.length * rotary.base ** (
        -2.0 * np.arange(DIMENSION // 2) / DIMENSION
    )  # fmt: skip
    g = np.cos(np.multiply.outer(u, omega)).mean(axis=-1)
    W = w / w.sum(axis=1)[:, None] * np.exp(BETA * (g - 1.0))
    p = W / (W.sum(axis=1)[:, None] + options.get("sink", 0.0))
    return p - np.diag(p.sum(axis=1))


def slowest(options: dict) -> tuple[float, np.ndarray]:
    """Rate and profile of the slowest deviation other than a common motion."""
    values, vectors = np.linalg.eig(near_one_point(options))
    order = np.argsort(-values.real)
    return -values[order[1]].real, vectors[:, order[1]].real


def collapse(options: dict) -> float:
    """Rate of collapse in a run from the slowest profile."""
    profile = slowest(options)[1]
    x = POINT + AMPLITUDE * profile[:, None] * ASIDE
    law = mf.from_points(x / np.linalg.norm(x, axis=1)[:, None])
    problem = mf.Problem(mf.Sphere(DIMENSION), mf.Attention(beta=BETA, **options), initial=law)
    run = mf.simulate(problem, UNTIL, save=2, tolerance=1e-13)
    left = run.measures[-1].points @ ASIDE / AMPLITUDE
    return float(-np.log(left @ profile / (profile @ profile)) / UNTIL)


def main(short: bool) -> list[Claim]:
    """Run, check, draw."""
    waves = (0, 3) if short else (0, 1, 2, 3, 4, 5)
    lines = [
        (label, 5.0, 3, strength, 0.0, weights(differences(LABELS)))
        for label, weights, strength in RINGS
    ]
    helices = [
        (
            rf"$L = {omega / np.pi:.0f}\pi$" if omega else "$L = 0$",
            4.0,
            2,
            1.0,
            omega,
            gaussian(differences(LABELS)),
        )
        for omega in FREQUENCIES
    ]
    dots, worst = {}, {}
    for name, cases, first in (("waves", lines, 0), ("helices", helices, -2)):
        for case in cases:
            for wave in (each + first for each in waves):
                found = measured(*case[1:], wave)
                dots[name, case[0], wave] = found
                error = abs(found - formula(*case[1:], np.array(2.0 * np.pi * wave)))
                worst[name] = max(worst.get(name, 0.0), float(error))
    s = (np.arange(16) + 0.5) / 16
    row = influence(np.exp(-8.0 * (s[:, None] - s) ** 2))[1]
    draw(lines, helices, dots)
    rates = {}
    for name, _, shown, make in CHOICES:
        for value in shown:
            rates[name, value] = collapse(make(value, False))
            error = abs(rates[name, value] - slowest(make(value, False))[0])
            worst["collapse"] = max(worst.get("collapse", 0.0), error)
    draw_choices(rates)
    collapsed = worst.pop("collapse")
    # Allowed errors are the tolerance over the amplitude.
    checks = {f"rates of {name} on a ring": (error, 5e-7) for name, error in worst.items()}
    checks["rates of collapse"] = (collapsed, 5e-6)
    for name, (mask, counts) in ERRORS.items():
        for count, (estimate, error) in zip(counts, label_errors(mask, counts), strict=True):
            print(f"{name}, {count} labels: estimate {estimate:.1e}, error of the mean {error:.1e}")
            # Rounding and errors in time of both runs are of order 1e-12.
            checks[f"mean of {count} labels, {name}"] = (error, max(estimate, 1e-11))
    return [
        *near_zero(checks),
        Claim("influence of the first position on the last", 0.26557529, row[0], 1e-8),
        Claim("influence of the last on itself", 2.80932322, row[-1], 1e-8),
    ]


def draw(lines: list, helices: list, dots: dict) -> None:
    """Draw rates over wavenumbers, and influence over positions."""
    with style():
        figure = new_figure((12.0, 3.6))
        left, middle, right = figure.subplots(1, 3)
        for name, axes, cases, q in (
            ("waves", left, lines, np.linspace(0.0, 5.0, 300)),
            ("helices", middle, helices, np.linspace(-2.0, 5.0, 300)),
        ):
            axes.axhline(0.0, color=INK, lw=0.6)
            for case, colour in zip(cases, (ORDER, ENERGY, COUNT), strict=True):
                rates = formula(*case[1:], 2.0 * np.pi * q)
                axes.plot(q, rates, color=colour, label=case[0])
                found = {
                    wave: y for (n, label, wave), y in dots.items() if (n, label) == (name, case[0])
                }
                inside = [wave for wave in found if q[0] <= wave <= q[-1]]
                axes.plot(inside, [found[wave] for wave in inside], "o", color=colour, ms=4)
            axes.set(xlabel=r"wavenumber of position $q/2\pi$", ylabel="growth rate")
            axes.legend(loc="upper right")
        left.set_title(r"$\beta=5$, degree 3")
        middle.set_title(r"rotary, $\beta=4$, degree 2, Gaussian 0.1")
        for (label, mask), colour in zip(INTERVALS, (ORDER, ENERGY, COUNT), strict=True):
            s = (np.arange(64) + 0.5) / 64
            positions, row = influence(mask(s[:, None] - s))
            row[-1] -= 1.0  # without the perturbation itself
            right.plot(positions, 64.0 * row, color=colour, label=label)
        right.set(xlabel="position of the cause", ylabel="density of $e^{3C} - 1$, last position")
        right.set_ylim(0.0, None)
        right.set_title(r"influence after $\lambda t = 3$")
        right.legend(loc="upper left")
    write_figure(figure, FOLDER / "positions.png")


def draw_choices(rates: dict) -> None:
    """Draw rates of collapse, and shares of positions in the last token, by choice."""
    s = (np.arange(TOKENS) + 0.5) / TOKENS
    with style():
        figure = new_figure((12.0, 5.6))
        axes = figure.subplots(2, len(CHOICES))
        for (name, values, shown, make), above, below in zip(CHOICES, *axes, strict=True):
            above.plot(values, [slowest(make(v, False))[0] for v in values], color=INK)
            above.plot(shown, [rates[name, v] for v in shown], "o", color=INK, ms=4)
            above.set(xlabel=name, ylabel="rate of collapse", ylim=(0.0, None))
            if name == "RoPE base":
                above.set_xscale("log")
            for value, colour in zip(shown, (ORDER, ENERGY, COUNT), strict=True):
                kept = expm(TIME * near_one_point(make(value, True)))[-1]
                below.plot(s, TOKENS * kept, color=colour, label=f"{value:g}")
            below.set(xlabel="position", ylabel="share in the last token", ylim=(0.0, None))
            below.legend(title=f"{name}, causal")
    write_figure(figure, FOLDER / "choices.png")
