"""Partial synchrony: tokens with their own frequencies, compared with closed forms.

Kuramoto's model is attention without scores, v = K Im(e^{-i theta} Z). Beyond K_c = 2 / (pi g(0))
its order r has closed forms for three laws g. With scores (beta = 5, softmax) degree k grows about
incoherence at lambda_k - k Delta under Lorentz's law. So at a large spread another degree grows
fastest than without it. Draws synchronisation.png and onset.png.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from claims import Claim, near_zero
from matplotlib.figure import Figure

import meanfield as mf
from meanfield.terms.frequencies import UnimodalFrequencies

SECONDS = 60, 10
FOLDER = Path(__file__).parent
LAWS = {
    "Lorentz": mf.Lorentzian(0.5),
    "Gauss": mf.Gaussian(0.5),
    "uniform": mf.UniformSpread(0.5),
}
COLOURS = ("#2f6db5", "#c0432b", "#2a9134")
BETA, DEGREES = 5.0, (1, 2, 3, 4)


def main(short: bool) -> list[Claim]:
    """Run, check, draw."""
    tokens, ratios = (
        (300, [0.6, 1.2, 1.6, 2.5]) if short else (600, list(np.arange(0.5, 3.1, 0.25)))
    )
    print("order r over K / K_c: tokens, closed form")
    orders, worst = {}, 0.0
    for name, law in LAWS.items():
        critical = 2.0 / (np.pi * law.peak)
        found = [measured_order(law, ratio * critical, tokens) for ratio in ratios]
        known = [mf.synchronised_order(law, ratio * critical) for ratio in ratios]
        orders[name] = found
        for ratio, one, other in zip(ratios, found, known, strict=True):
            print(f"{name:8} {ratio:5.2f}  {one:.4f}  {other:.4f}")
            # Below K_c the order of n tokens is about n^{-1/2}, and is not compared.
            worst = max(worst, abs(one - other) if ratio > 1.1 else 0.0)
    draw_orders(ratios, orders)

    widths = np.array([0.05, 0.12, 0.2])
    growth = {k: [measured_growth(k, width) for width in widths] for k in DEGREES}
    rates = mf.growth_rates(mf.Problem(mf.Circle(), mf.exponential(BETA), mf.SA), max(DEGREES))
    errors = [np.nanmax(np.abs(growth[k] - (rates[k] - k * widths))) for k in DEGREES]
    draw_onset(widths, growth, rates)

    critical = [rates[k] / k for k in DEGREES]
    print("critical widths", *(f"{width:.8f}" for width in critical))
    checks = {
        "order beyond 1.1 K_c": (worst, 0.03),
        "growth about incoherence": (max(errors), 1e-6),
    }
    last = DEGREES[int(np.argmax(critical))]
    return [Claim("degree of the largest critical width", 2, last, 0), *near_zero(checks)]


def measured_order(law: UnimodalFrequencies, coupling: float, tokens: int) -> float:
    """Mean order of tokens at quantiles of the law, from t = 40 to 80."""
    omega = law.quantiles((np.arange(tokens) + 0.5) / tokens)
    problem = mf.Problem(
        mf.Circle(),
        mf.linear(),
        mf.Flow("none", strength=coupling),
        mf.from_points(np.random.default_rng(0).uniform(-1.5, 1.5, tokens)),
        frequencies=mf.GivenFrequencies(omega),
    )
    run = mf.simulate(
        problem,
        80.0,
        save=np.linspace(40.0, 80.0, 41),
        tolerance=1e-5,
        observables=["order_parameter"],
    )
    return float(run.observables["order_parameter"].mean())


def measured_growth(degree: int, width: float) -> float:
    """Growth rate of degree k from its mode lambda_k / (s + i k omega), by 96 labels."""
    rate = mf.growth_rates(mf.Problem(mf.Circle(), mf.exponential(BETA), mf.SA), degree)[degree]
    pole = rate - degree * width

    def mode(omega: float) -> mf.Law:
        amplitude = 1e-7 * rate / (pole + 1j * degree * omega)
        return mf.from_density([1.0, *[0.0] * (degree - 1), amplitude])

    # There is no mode without growth; near the onset a mode needs many labels.
    if pole <= 0.05:
        return float("nan")
    problem = mf.Problem(
        mf.Circle(),
        mf.exponential(BETA),
        mf.SA,
        mf.from_labels(mode),
        frequencies=mf.Lorentzian(width),
    )
    run = mf.simulate(problem, 2.0, save=2, labels=96)
    return float(np.log(np.abs(run.moments[1, degree] / run.moments[0, degree])) / 2.0)


def draw_orders(ratios: list[float], orders: dict[str, list[float]]) -> None:
    """Draw order against coupling: tokens as dots, closed forms as lines."""
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    fine = np.linspace(0.0, max(ratios), 601)
    for colour, (name, law) in zip(COLOURS, LAWS.items(), strict=True):
        critical = 2.0 / (np.pi * law.peak)
        axes.plot(fine, [mf.synchronised_order(law, x * critical) for x in fine], color=colour)
        axes.plot(ratios, orders[name], "o", color=colour, label=name)
    axes.set_xlabel("coupling $K / K_c$")
    axes.set_ylabel("order $r$")
    axes.set_ylim(0.0, 1.0)
    axes.legend()
    figure.savefig(FOLDER / "synchronisation.png")


def draw_onset(widths: np.ndarray, growth: dict[int, list[float]], rates: np.ndarray) -> None:
    """Draw growth rates of degrees against the width of Lorentz's law."""
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    fine = np.array([0.0, 0.3])
    for k in DEGREES:
        (line,) = axes.plot(fine, rates[k] - k * fine, label=f"$k = {k}$")
        axes.plot(widths, growth[k], "o", color=line.get_color())
    axes.axhline(0.0, color="0.5", linewidth=0.8)
    axes.set_xlim(*fine)
    axes.set_ylim(-0.2, 0.75)
    axes.set_xlabel(r"width $\Delta$ of Lorentz's law")
    axes.set_ylabel(r"growth rate $\lambda_k - k\,\Delta$")
    axes.legend()
    figure.savefig(FOLDER / "onset.png")
